"""Quote selection as MMDocRAG measures it: its released answers, and cases worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.metrics.metric import Facts
from fathoms.metrics.pooling import Pool
from fathoms.metrics.quotes.groups import places_of
from fathoms.metrics.quotes.selection import selected
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Chunk, Evidence, Failure, Hit, Question, Quote, Record, Reply, Score

SEVEN = (
    *("mmdocrag.image-precision", "mmdocrag.image-recall", "mmdocrag.image-f1"),
    *("mmdocrag.text-precision", "mmdocrag.text-recall", "mmdocrag.text-f1", "mmdocrag.overall-f1"),
)
GOLD = ("text1", "text3", "image2")
QUESTION = Question(
    id="q",
    text="?",
    category="A",
    quotes=tuple(
        Quote(id=f"{modality}{n}", modality=modality, gold=f"{modality}{n}" in GOLD)
        for modality, count in (("text", 12), ("image", 8))
        for n in range(1, count + 1)
    ),
    metadata={"question_type": "Causal", "evidence_modality_type": "Chart, Text"},
)


def record(answer: str | None, question: Question = QUESTION, hits: tuple[Hit, ...] | None = None) -> Record:
    reply = None if answer is None else Reply(text=answer)
    error = Failure(kind="Timeout", message="late") if answer is None else None
    return Record(question=question, answer=reply, error=error, hits=hits)


def scored(name: str, one: Record) -> Score:
    (metric,) = named([name])
    return metric.of(Facts(one, RecordScore()))


def figures(records: list[Record], *names: str) -> dict[str, dict[str, object]]:
    found = {}
    for metric in named(names):
        pool = Pool(metric)
        for one in records:
            pool.add(one.question, metric.of(Facts(one, RecordScore())))
        found[metric.name] = pool.figures().plain()
    return found


def shares(records: list[Record], *names: str) -> list[float]:
    return [round(100 * one["overall"]["value"], 1) for one in figures(records, *names).values()]  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "published"),
    [
        ("gpt-4.1", [77.8, 80.9, 79.3, 42.2, 59.4, 49.4, 68.3]),
        pytest.param("deepseek-v3", [None] * 6 + [61.1], marks=pytest.mark.long),
        pytest.param("qwen2.5-72b", [None] * 6 + [59.1], marks=pytest.mark.long),
    ],
)
def test_the_published_numbers_come_out_of_the_released_answers(
    shared: Path, model: str, published: list[float | None]
) -> None:
    folder = shared / "mmdocrag"
    gold = [json.loads(line) for line in (folder / "gold_quotes_eval.jsonl").read_text().splitlines()]
    questions = {
        row["q_id"]: Question(
            id=str(row["q_id"]),
            text="?",
            category="A",
            quotes=tuple(
                Quote(id=id, modality="image" if id[0] == "i" else "text", gold=True)
                for id in row["gold_quotes"]
            ),
        )
        for row in gold
    }
    path = folder / "responses" / f"{model}_pure-text_quotes20_response.jsonl"
    rows = map(json.loads, path.read_text().splitlines())
    records = [record(row["response"], questions[row["q_id"]]) for row in rows]
    found = shares(records, *SEVEN)
    assert [
        ours if paper is not None else None for ours, paper in zip(found, published, strict=True)
    ] == published
    if model == "gpt-4.1":
        # (79.29 + 49.36) / 2 of 5226 / 6591 and 3068 / 6216
        assert shares(records, "mmdocrag.mean-f1") == [64.3]


CITES: dict[str, tuple[str, set[str]]] = {
    "none": ("I do not know.", set()),
    "both": ("Tall [1]. ![the tower](image2)", {"text1", "image2"}),
    "repeated": ("Tall [1] [1]. ![a](image2) ![b](image2) [1]", {"text1", "image2"}),
    "does-not-exist": ("Tall [99].", {"text 99, which does not exist"}),
    "a-picture-cited-as-a-text": ("See [image2], image2 and ![it](image 2).", set()),
    "a-text-cited-as-a-picture": ("See ![it](text1) (1).", set()),
    "thoughts": ("<think>Perhaps [5] or (image7).</think>\n\nTall [1].", {"text1"}),
    "thoughts-without-an-opening-tag": ("[5]</think>[1]", {"text1"}),
    "thoughts-that-were-cut-off": ("<think>Perhaps [5]", set()),
    "two-thoughts": ("a [2]</think>\n\nb [1] </think>\n\n[3]", {"text3"}),
    "timed-thoughts": ("Thought for 12 seconds\n\nTall [1].", {"text1"}),
    "no-thoughts": ("It burns for 40 seconds\n\nTall [1].", {"text1"}),
    "lists-as-released": ("Tall [1, 3] [1][3].", {"text1", "text3"}),
}


@pytest.mark.parametrize(("answer", "expected"), CITES.values(), ids=CITES)
def test_what_an_answer_cites(answer: str, expected: set[str]) -> None:
    assert {id for _, id in selected(record(answer)).cited} == expected


def test_a_number_of_thousands_of_digits_is_a_wrong_quote() -> None:
    assert len(selected(record(f"[{'9' * 5000}]")).cited) == 1


def test_one_answer_by_hand() -> None:
    """Gold are text1, text3 and image2; cited are text1, text 99, image2 and image5."""
    one = record("Tall [1] [99] ![a](image2) ![b](image5).")
    values = {name: scored(name, one).value for name in SEVEN}
    assert list(values.values()) == pytest.approx([1 / 2, 1, 2 / 3, 1 / 2, 1 / 2, 1 / 2, 4 / 7])
    found = scored("mmdocrag.overall-f1", one)
    assert {name: found.parts[name] for name in ("right", "cited", "gold")} == {
        "right": 2,
        "cited": 4,
        "gold": 3,
    }
    assert found.why == {"wrong": "image5, text 99, which does not exist", "missed": "text3"}
    assert scored("mmdocrag.text-precision", record("Nothing.")).value is None
    assert scored("mmdocrag.mean-f1", one).value is None


def test_counts_are_pooled_and_a_failed_call_misses_its_gold() -> None:
    records = [
        record("Tall [1] [99] ![a](image2) ![b](image5)."),
        record(None, QUESTION.model_copy(update={"id": "p"})),
    ]
    # pictures: 1 right of 2 cited and 2 gold; texts: 1 right of 2 cited and 4 gold
    assert shares(records, *SEVEN) == [50.0, 50.0, 50.0, 50.0, 25.0, 33.3, 28.6]
    assert shares(records, "mmdocrag.mean-f1") == [41.7]
    assert scored("mmdocrag.overall-f1", record(None)).value == 0


def test_without_gold_there_is_no_value() -> None:
    plain = Question(id="q", text="?", category="A")
    assert scored("mmdocrag.image-f1", record("[1]", plain)).why == {"lacks": "gold quotes"}
    assert scored("mmdocrag.image-f1", record(None, plain)).why == {"lacks": "an answer"}


def test_shuffled_candidates_are_cited_by_their_places() -> None:
    """The texts stand first, and pictures are counted by themselves."""
    order = ["text3", "text1", "text2", "image2", "image1"]
    hits = tuple(
        Hit(
            chunk=Chunk(id=f"q#{id}", document="", pages=(), modality="image" if id[0] == "i" else "text"),
            score=1,
            rank=rank,
        )
        for rank, id in enumerate(order, start=1)
    )
    one = selected(record("Tall [1] [4] ![a](image1).", hits=hits))
    assert {id for _, id in one.cited} == {"text3", "text 4, which does not exist", "image2"}
    assert one.places == {("text", "text3"): 1, ("text", "text1"): 2, ("image", "image2"): 1}


def test_real_retrieval_is_measured_by_gold_pages() -> None:
    question = Question(
        id="q",
        text="?",
        category="A",
        evidence=(
            Evidence(document="a.pdf", page=3, modality="text"),
            Evidence(document="a.pdf", page=4, modality="table"),
        ),
    )
    chunks = [
        ("a.pdf", (3,), "text"),
        ("a.pdf", (9,), "text"),
        ("a.pdf", (4,), "image"),
        ("a.pdf", (4,), "text"),
    ]
    hits = tuple(
        Hit(chunk=Chunk(id=f"c{n}", document=name, pages=pages, modality=kind), score=1, rank=n)  # type: ignore[arg-type]
        for n, (name, pages, kind) in enumerate(chunks, start=1)
    )

    def values(answer: str) -> list[float | None]:
        return [scored(name, record(answer, question, hits)).value for name in SEVEN]

    assert values("[1] ![t](image1)") == [1, 1, 1, 1, 1, 1, 1]
    assert values("[1] [2]") == pytest.approx([None, 0, 0, 1 / 2, 1, 2 / 3, 1 / 2])
    assert values("[4]")[-1] == pytest.approx(2 / 3)  # the text of the gold page stands for the page
    assert values("[3]")[-1] == 0  # a picture is not cited by its rank
    parts = scored("mmdocrag.overall-f1", record("[1]", question, hits)).parts
    assert {"modality of evidence table", "modality of evidence text"} < parts.keys()
    unknown = question.model_copy(update={"evidence": (Evidence(document="a.pdf", page=3),)})
    assert scored("mmdocrag.overall-f1", record("[1]", unknown, hits)).value == 1
    assert scored("mmdocrag.text-f1", record("[1]", unknown, hits)).why == {
        "lacks": "the modality of the gold evidence"
    }


def test_quotes_of_a_question_count_only_where_they_were_shown() -> None:
    """With real retrieval, gold pages do, and nothing was shown where nothing was found."""
    assert scored("mmdocrag.overall-f1", record("[1]", QUESTION)).value == pytest.approx(2 / 4)  # imported
    assert scored("mmdocrag.overall-f1", record("[1]", QUESTION, ())).value == 0
    found = (Hit(chunk=Chunk(id="c1", document="a.pdf", pages=(3,)), score=1, rank=1),)
    assert scored("mmdocrag.overall-f1", record("[1]", QUESTION, found)).why == {"lacks": "gold quotes"}
    both = QUESTION.model_copy(update={"evidence": (Evidence(document="a.pdf", page=3),)})
    assert scored("mmdocrag.overall-f1", record("[1]", both, found)).value == 1
    assert scored("mmdocrag.text-f1", record("[1]", both, found)).why == {
        "lacks": "the modality of the gold evidence"
    }


def test_the_figures_of_places_modalities_kinds_and_numbers() -> None:
    records = [record("Tall [1]."), record("Tall [3] ![a](image2).", QUESTION.model_copy(update={"id": "p"}))]
    found = figures(records, "mmdocrag.text-recall", "mmdocrag.image-recall", "mmdocrag.overall-f1")
    parts = {
        name: {part: one["value"] for part, one in figure["parts"].items()}  # type: ignore[attr-defined]
        for name, figure in found.items()
    }
    assert parts["mmdocrag.text-recall"] == {"place 1": 0.5, "place 3": 0.5, "third front": 0.5}
    assert parts["mmdocrag.image-recall"] == {"place 2": 0.5, "third front": 0.5}
    mean = pytest.approx((2 / 4 + 4 / 5) / 2)
    names = ("gold in texts and pictures", "gold quotes 3", "modality of evidence Chart")
    assert parts["mmdocrag.overall-f1"] == dict.fromkeys(
        [*names, "modality of evidence Text", "question type Causal"], mean
    )


def test_of_many_candidates_places_behind_the_twentieth_are_pooled() -> None:
    """Gold at 3, 20, 21 and 30 of 60 texts, of which 20 and 21 are cited: half of the range 21 to 30, one of
    two at the front (1 to 20), and one of two in the middle (21 to 40)."""
    gold = (3, 20, 21, 30)
    quotes = tuple(Quote(id=f"text{n}", text="t", gold=n in gold) for n in range(1, 61))
    question = Question(id="q", text="?", category="c", quotes=quotes)
    record = Record(question=question, answer=Reply(text="[20] [21]"), hits=None)
    places = {"place 3": 0, "place 20": 1, "place 21-30": 0.5}
    assert places_of(selected(record)) == {**places, "third front": 0.5, "third middle": 0.5}


@pytest.mark.parametrize(
    ("size", "last_of_thirds"),
    [(20, (7, 14, 20)), (50, (17, 34, 50)), (100, (34, 67, 100)), (8, (3, 6, 8)), (2, ())],
)
def test_the_thirds_of_candidates(size: int, last_of_thirds: tuple[int, ...]) -> None:
    """By hand: of 8 candidates, 1 to 3 are the front, 4 to 6 the middle, and 7 and 8 the end."""
    quotes = tuple(Quote(id=f"text{n}", text="t", gold=n in last_of_thirds) for n in range(1, size + 1))
    cited = " ".join(f"[{n}]" for n in last_of_thirds[1:2])
    question = Question(id="q", text="?", category="c", quotes=quotes)
    found = places_of(selected(Record(question=question, answer=Reply(text=cited), hits=None)))
    thirds = {
        name.removeprefix("third "): value for name, value in found.items() if name.startswith("third ")
    }
    assert thirds == ({"front": 0, "middle": 1, "end": 0} if last_of_thirds else {})


def test_thirds_are_not_known_of_gold_quotes_alone() -> None:
    alone = QUESTION.model_copy(update={"quotes": tuple(one for one in QUESTION.quotes if one.gold)})
    assert places_of(selected(record("[1]", alone))) == {"place 1": 1, "place 2": 0, "place 3": 0}
