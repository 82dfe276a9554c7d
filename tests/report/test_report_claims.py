"""The claim view: each claim of an answer with its verdict and the source that decided, worked by hand."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fathoms.answers.citations import parse_citations
from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import Judging
from fathoms.metrics.registry import named
from fathoms.models import ScriptedModel
from fathoms.report.html import payload, report_html
from fathoms.report.html.claims import shown_claims
from fathoms.report.question import question_panel
from fathoms.runs.documents import keep_documents
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run, trust_run
from fathoms.scoring import score_run
from fathoms.text.amounts import measured
from fathoms.types import Chunk, Document, Evidence, Hit, Page, Question, Record, Reply
from fathoms.types.run.rows import ScoredRepeat
from tests.support.report_browser import Watched, chromium, eventually, texts, unfold, watch
from tests.support.report_page import detail_of, unpacked

Json = dict[str, Any]
TEXTS = ("Ore is dear in Lune. The tower is 41 m tall.", "The door is green. The tower has a clock.")
GOLD = ("The tower is 41 m tall.", "It was built in 1900.", "The tower has a clock.")
SAID = ("The tower is 41 m tall [1].", "<script>alert(1)</script> rules.", "The door is blue [2].")
UNREAD = ("It has a mast.", "A flag flies.")
ANSWER = " ".join((*SAID, *UNREAD))
# What a claim contains decides, whatever it is compared with; of the others, the words.
LABELS = {"blue": "contradiction", "mast": "unparsed", "flag": "failed", "41 m tall [1]": "entailment"}
IDS = ["entailment", "neutral", "contradiction", "unparsed", "failed"]


def record() -> Record:
    hits = tuple(
        Hit(chunk=Chunk(id=f"c{nth}", document="a.pdf", pages=(nth,), text=text), score=1 / nth, rank=nth)
        for nth, text in enumerate(TEXTS, 1)
    )
    question = Question(
        id="q1",
        text="How tall is the tower?",
        category="A",
        files=("a.pdf",),
        reference_claims=GOLD,
        evidence=(Evidence(document="a.pdf", page=1), Evidence(document="a.pdf", page=2)),
    )
    citations = parse_citations(ANSWER, hits)
    return Record(question=question, hits=hits, answer=Reply(text=ANSWER), citations=citations)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of one answer with five claims, whose judge has one verdict of each kind."""
    folder = tmp_path_factory.mktemp("claims")
    config = {"judge": {"kind": "scripted", "labels": "three-way", "labels_by": LABELS}}
    one_run = new_run(
        folder / "runs", "tower", "0" * 8, {"name": "tower", "config": config, "folder": ".", "data": {}}
    )
    pages = tuple(Page(number=nth, text=text) for nth, text in enumerate(TEXTS, 1))
    keep_documents(one_run, [Document(id="a.pdf", path=Path("a.pdf"), sha256="", pages=pages)])
    one_run.records.append([record()])
    trust_run(one_run)
    return one_run


def compared(run: Run, *metrics: str) -> dict[tuple[str, str], list[Json]]:
    """The claims in the question file by whose they are and what they were compared with."""
    score_run(run, metrics=named(metrics))
    (repeat,) = next(iter(Run.scored(run.path).questions())).repeats
    return {(one["of"], one["by"]): one["claims"] for one in repeat.claims["compared"]}


def labels(rows: list[Json]) -> list[str]:
    return [row["label"] for row in rows]


MIRAGE = ("mirage.info-f1-collection", "mirage.cite-p-reference", "mirage.cite-f1-collection")
FAMILIES = {
    ("ragchecker",): {
        ("answer", "retrieved"): IDS,
        ("answer", "gold answer"): IDS,
        ("gold", "retrieved"): ["entailment", "neutral", "entailment"],
        ("gold", "answer"): ["entailment", "neutral", "neutral"],
    },
    MIRAGE: {
        ("answer", "gold pages"): IDS,
        ("answer", "cited gold pages"): ["entailment", "neutral", "contradiction", "neutral", "neutral"],
        ("gold", "gold pages"): ["entailment", "neutral", "entailment"],
    },
    ("alce",): {
        ("answer", "cited sources"): ["entailment", "neutral", "contradiction", "neutral", "neutral"],
    },
    ("ragas.faithfulness", "ragas.context-recall"): {
        ("answer", "context"): IDS,
        ("gold", "context"): ["entailment", "neutral", "entailment"],
    },
    ("mm-ragchecker",): {("answer", "retrieved"): IDS},
    ("faithfulness",): {("answer", "context"): IDS},
    ("ragchecker.noise-relevant",): {("answer", "retrieved"): IDS, ("answer", "gold answer"): IDS},
}


@pytest.mark.parametrize("metrics", FAMILIES, ids=lambda names: names[0])
def test_every_family_keeps_what_it_compared(run: Run, metrics: tuple[str, ...]) -> None:
    found = compared(run, *metrics)
    for pair, expected in FAMILIES[metrics].items():
        assert labels(found[pair]) == expected, pair


F1S = {
    "ragchecker.f1": ("ragchecker.precision", "ragchecker.recall"),
    "mirage.info-f1-reference": ("mirage.info-p-reference", "mirage.info-r"),
    "mirage.cite-f1-collection": ("mirage.cite-p-collection", "mirage.cite-r"),
    "alce.citation-f1": ("alce.citation-precision", "alce.citation-recall"),
}


def test_precision_and_recall_stand_beside_an_f1_that_is_asked_for_alone(run: Run) -> None:
    score_run(run, metrics=named(list(F1S)))
    alone = Run.scored(run.path).metrics()
    shown, _ = unpacked(report_html([Run.scored(run.path)]))
    score_run(run, metrics=named([*F1S, *(name for names in F1S.values() for name in names)]))
    together = Run.scored(run.path).metrics()
    for f1, names in F1S.items():
        halves = {part: figure.value for part, figure in alone[f1].parts.items()}
        expected = {
            part: together[name].overall.value
            for part, name in zip(("precision", "recall"), names, strict=True)
            if together[name].overall.value is not None
        }
        assert halves == expected, f1
        assert together[f1].parts == {}  # both have rows of their own
        table = shown["metrics"][0]
        printed = {row[0]: row[2].split(" [")[0] for row in table["rows"]}
        assert {part: printed[f"{f1}, {part}"] for part in halves} == {
            part: measured(value, "share") for part, value in halves.items()
        }
    # of five claims one is supported by a page that its sentence cites; of three, one by the gold answer
    assert alone["mirage.cite-f1-collection"].parts["precision"].value == 1 / 5
    assert alone["ragchecker.f1"].parts["precision"].value == 1 / 3


def page_claims(run: Run) -> Json:
    """The claims of the first run's question as the page holds them."""
    _, chunks = unpacked(report_html([Run.scored(run.path)]))
    found, _ = detail_of(chunks, 0, "q1")
    claims: Json = found["repeats"][0]["claims"]
    return claims


QUOTES = {
    # the second text decides about the third claim, by words that are not the sentence most like it
    r"door is green\. .*Claim: The door is blue": (
        '{"quote": "The tower has a clock", "label": "contradiction"}'
    ),
    r"Claim: The tower is 41 m tall": '{"quote": "is 41 m  tall", "label": "entailment"}',
    r"Claim: It has a mast": '{"quote": "It has a mast", "label": "entailment"}',
}


def test_the_words_that_a_judge_quotes_are_shown_where_they_stand_in_the_text(run: Run) -> None:
    model = ScriptedModel(patterns=QUOTES, default='{"quote": "", "label": "neutral"}')
    judge = LLMJudge(model=model, labels="three-way", claims="sentences", quote=True)
    score_run(run, metrics=named(["ragchecker.faithfulness"]), judging=Judging(judge=judge))
    (found,) = page_claims(run)["compared"]
    near = [
        (row["quoted"], TEXTS[row["near"]["rank"] - 1][slice(*row["near"]["at"])])
        for row in found["claims"]
        if row.get("quoted")
    ]
    # "is 41 m  tall" has a space too many, which white space may; nothing says that there is a mast
    assert near == [(True, "is 41 m tall"), (True, "The tower has a clock")]
    assert "is not in the source: 'It has a mast'" in found["claims"][3]["why"]


def test_each_claim_has_its_mark_its_words_in_the_answer_and_the_passage_that_decided(run: Run) -> None:
    score_run(run, metrics=named(["ragchecker"]))
    claims = page_claims(run)
    pairs = [("answer", "retrieved"), ("answer", "gold answer"), ("gold", "answer"), ("gold", "retrieved")]
    assert sorted((one["of"], one["by"]) for one in claims["compared"]) == sorted(pairs)
    (found,) = [one for one in claims["compared"] if (one["of"], one["by"]) == pairs[0]]
    rows = found["claims"]
    assert [row["mark"] for row in rows] == [
        *("supported", "unsupported", "contradicted", "unparsed", "not judged")
    ]
    assert [ANSWER[slice(*row["said"])] for row in rows] == [*SAID, *UNREAD]
    assert all(row["verbatim"] for row in rows)
    near = [row.get("near") and TEXTS[row["near"]["rank"] - 1][slice(*row["near"]["at"])] for row in rows]
    # of the text that decided, the sentence with most of the words; the script has no word of any text
    assert near == ["The tower is 41 m tall.", None, "The tower is 41 m tall.", None, None]
    (gold,) = [one for one in claims["compared"] if (one["of"], one["by"]) == pairs[2]]
    assert [row["mark"] for row in gold["claims"]] == ["supported", "unsupported", "unsupported"]
    judging = claims["judging"]
    # five claims, of which one has no verdict, against two texts and the gold answer; three against as many
    assert (judging["verdicts"], judging["lists"], judging["cost"]) == (4 * 3 + 3 * 3, 0, "$0.00")


def test_what_is_no_claim_stays_with_its_metric_and_the_terminal_shows_both(run: Run) -> None:
    score_run(run, metrics=named(["ragchecker.faithfulness", "argue.sentence-support"]))
    view = next(iter(Run.scored(run.path).questions()))
    (repeat,) = view.repeats
    assert "verdicts" not in repeat.metrics["ragchecker.faithfulness"].get("why", {})
    assert repeat.metrics["argue.sentence-support"]["why"]["sentences"][0]["label"] == "supported"
    console = Console(width=2000, record=True, file=io.StringIO())
    console.print(*question_panel(view))
    shown = console.export_text()
    assert (
        "claims of the answer, compared with retrieved: entailment: The tower is 41 m tall [1]. (hit" in shown
    )
    assert " | contradiction: The door is blue [2]. (hit 1) | unparsed: It has a mast. (hit 1) | " in shown


def test_claims_are_left_out_where_shortened_texts_are_not_enough(run: Run) -> None:
    score_run(run, metrics=named(["ragchecker"]))
    whole, small = payload([Run.scored(run.path)]), payload([Run.scored(run.path)], size=100)
    assert not whole.warnings
    assert "shortened" in small.warnings[0]
    (data,) = [chunk.data for chunk in small.chunks if chunk.name == "d0-0"]
    found = json.loads(gzip.decompress(base64.b64decode(data)))["questions"]["q1"]["repeats"]
    assert [repeat["claims"] for repeat in found] == [{"left_out": True}]


def test_both_kinds_of_hallucination_stand_beside_faithfulness_and_ask_for_nothing(run: Run) -> None:
    score_run(run, metrics=named(["ragchecker.faithfulness"]))
    again = score_run(run, metrics=named(["ragchecker.faithfulness"])).plain()
    # of five claims, three are judged: one is entailed, one contradicted, one neither
    kinds = [again["metrics"][f"{kind}-hallucination"] for kind in ("intrinsic", "extrinsic")]
    assert [(kind["overall"]["value"], kind["asked"]) for kind in kinds] == [(1 / 3, False)] * 2
    assert again["metrics"]["answer-length"]["overall"]["value"] == len(ANSWER.split())
    judging = again["judging"]
    # asked again for what failed, by two texts, and for what could not be read
    assert (judging["asked"], judging["failed"]) == (4, 2)
    fields = {"verdicts": 8, "lists": 0, "cost": 0.0, "seconds": None}
    assert {key: judging["kept"][key] for key in fields} == fields


@pytest.fixture(scope="module")
def written(run: Run) -> str:
    """The address of the report of the run, scored by RAGChecker."""
    score_run(run, metrics=named(["ragchecker"]))
    file = run.path.parent / "report.html"
    file.write_text(report_html([Run.scored(run.path)]), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def watched() -> Iterator[Watched]:
    for browser in chromium():
        yield from watch(browser)


@pytest.mark.slow
def test_a_colleague_reads_filters_and_walks_through_the_claims(written: str, watched: Watched) -> None:
    page: Any = watched.open(written, "view=question&id=q1")
    answer = texts(page, ".claimed")[0]
    assert answer == (
        "The tower is 41 m tall [1].✓1 <script>alert(1)</script> rules.○2 The door is blue [2].✗3"
        " It has a mast.?4 A flag flies.\u20135"
    )
    heads = texts(page, ".claims[aria-label] > li > p:first-child")
    assert [head.split(" p ")[0].removesuffix(" In the answer") for head in heads] == [
        *("✓ supported", "○ unsupported", "✗ contradicted", "? unparsed", "\u2013 not judged")
    ]
    first, script, door, mast, flag = texts(page, ".claims[aria-label] > li")
    assert "Supported by text 1 (a.pdf, page 1)." in first
    assert "Ore is dear in Lune. The tower is 41 m tall." in first
    assert "None of 2 retrieved texts supports it." in script
    assert "Contradicted by text 1 (a.pdf, page 1); nothing supports it." in door
    assert "could not be read" in mast
    assert "scripted failure of the judge" in flag
    assert texts(page, "article.card h5")[0] == "Claims of the gold answer that the answer misses: 2 of 3"
    missed = texts(page, "h5 + ol.claims > li")
    assert ["missed" in line for line in missed] == [True, True]
    assert "It was built in 1900. It is not in any retrieved text." in missed[0]
    assert ["It stands in text 2 (a.pdf, page 2)." in line for line in missed] == [False, True]
    (column,) = texts(page, "article.card")
    assert "Judging these claims took 21 verdicts: tokens not known, cost $0.00" in column
    assert "How texts were split: claims by sentences: " in column
    assert page.locator("main script").count() == 0  # `watched` fails, too, if the alert opened
    walks_by_keyboard(page)
    page.goto(f"{written}#view=overview")
    unfold(page).wait_for_selector("#claims tbody")
    rows = texts(page, "#claims tbody tr")
    assert rows[0].startswith("tower the answer, compared with each retrieved text 5 1 20 % 1 20 % 1 20 %")
    assert any(row.startswith("tower 0.33 [") and row.count("n 1") == 2 for row in rows)
    page.goto(f"{written}#view=questions&claims=missed")
    page.wait_for_selector("#claims")
    assert texts(page, "#claims option") == [
        *("any", "supported (1)", "contradicted (1)", "unsupported (1)", "unparsed (1)", "not judged (1)"),
        "missed (1)",
    ]
    assert texts(page, "#live") == ["1 question of 1"]


def walks_by_keyboard(page: Any) -> None:
    """Go from the answer to a claim and back, and filter."""
    page.locator("#said-0-3").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "claim-0-3"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "said-0-3"
    page.locator("#mark-0-contradicted").focus()
    page.keyboard.press("Enter")
    eventually(page, "document.querySelectorAll('.claims[aria-label] > li').length === 1")
    assert texts(page, ".claimed")[0].count("✗3") == 1
    assert "✓1" not in texts(page, ".claimed")[0]
    page.locator("#mark-0-").click()
    page.locator("#against-0").select_option("gold answer")
    eventually(page, "document.body.innerText.includes('Supported by gold answer')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize(
    ("found", "three"),
    [(["unparsed", "failed"], None), (["unparsed", "unsupported"], False), (["neutral", "unparsed"], True)],
)
def test_only_a_label_tells_how_many_labels_a_judge_has(found: list[str], three: bool | None) -> None:
    rows = [{"claim": "It is red.", "label": label} for label in found]
    repeat = ScoredRepeat.model_validate(
        {
            "answer": {"text": "It is red."},
            "claims": {"compared": [{"of": "answer", "by": "retrieved", "claims": rows}]},
        }
    )
    shown = shown_claims(repeat, record().question, {})
    assert shown
    assert shown["compared"][0]["three"] is three


def test_a_claim_in_other_words_is_tied_to_its_sentence() -> None:
    answer = "\U0001f41f The tower is tall. It was built in 1900. It is red. It is red."
    rows = [
        ("It is red.", 3),  # the second of two like sentences
        ("The tower was built in 1900.", 1),
        ("The tower is tall", None),  # an imported claim has no sentence, and these words stand there
        ("Red it is", None),
        ("Nobody knows.", None),
        ("beyond", 9),
    ]
    repeat = ScoredRepeat.model_validate(
        {
            "answer": {"text": answer},
            "claims": {
                "compared": [
                    {"of": "answer", "by": "retrieved", "claims": [
                        {"claim": claim, "label": "neutral", "sentence": sentence} for claim, sentence in rows
                    ]}
                ]
            },
        }
    )  # fmt: skip
    found = shown_claims(repeat, record().question, {})
    assert found
    encoded = answer.encode("utf-16-le")
    said = [
        (
            row.get("said") and encoded[2 * row["said"][0] : 2 * row["said"][1]].decode("utf-16-le"),
            row.get("verbatim", False),
            row.get("guessed", False),
        )
        for row in found["compared"][0]["claims"]
    ]
    assert said == [
        ("It is red.", True, False),
        ("It was built in 1900.", False, False),
        ("The tower is tall", True, False),
        ("It is red.", False, True),
        (None, False, False),
        (None, False, False),
    ]
    assert found["compared"][0]["claims"][0]["said"][1] == len(encoded) // 2
