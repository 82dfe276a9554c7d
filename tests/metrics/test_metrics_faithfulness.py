"""Faithfulness by hand: what is asked of the judge, and what its verdicts and failures make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathoms.errors import UsageError
from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import Judging
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.metrics.pooling import JudgedBy, Pool
from fathoms.metrics.registry import judged_kinds, named
from fathoms.metrics.score_records import RecordScore
from fathoms.runs.writing import new_run, trust_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Claim, Failure, Hit, Judgement, Question, Record, Reply, Verdict
from fathoms.types.run.figures import range_of
from tests.support.fault_server.server import ScriptedServer

METRIC = Faithfulness()
SAID = "The door is green."
TEXTS = ("The door is green.", "What is the door like?")
CLAIM = Claim(text=SAID, context=SAID, sentence=0)


def record(*chunks: Chunk) -> Record:
    hits = tuple(Hit(chunk=chunk, score=1.0, rank=rank) for rank, chunk in enumerate(chunks, 1))
    question = Question(id="q", text=TEXTS[1], category="A", answers=((SAID,),))
    return Record(question=question, answer=Reply(text=SAID), hits=hits)


def text(words: str) -> Chunk:
    return Chunk(id="t", document="a.pdf", pages=(1,), text=words)


def picture(path: Path) -> Chunk:
    path.write_bytes(b"a picture")
    return Chunk(id=path.name, document="a.pdf", pages=(1,), modality="image", image=path)


def verdict(label: str) -> Verdict:
    return Verdict(claim=SAID, premise="", label=label)


def test_a_claim_is_asked_of_the_text_and_of_each_picture(tmp_path: Path) -> None:
    pictures = [picture(tmp_path / name) for name in ("one.png", "two.png")]
    judgements = METRIC.judgements(record(text("Green."), *pictures), {TEXTS: (CLAIM,)})
    assert [(one.premise, one.image) for one in judgements] == [
        ("Green.", None),
        ("", tmp_path / "one.png"),
        ("", tmp_path / "two.png"),
    ]


@pytest.mark.parametrize(
    ("labels", "value", "unjudged"),
    [
        (("unsupported", "supported"), 1.0, 0),
        (("unsupported", "unsupported"), 0.0, 0),
        (("unsupported", "unparsed"), None, 1),  # the picture might show it
        (("supported", None), 1.0, 0),
        (("unsupported", None), None, 1),
    ],
)
def test_one_premise_that_supports_a_claim_is_enough(
    tmp_path: Path, labels: tuple[str | None, ...], value: float | None, unjudged: int
) -> None:
    one = record(text("Green."), picture(tmp_path / "one.png"))
    judgements = METRIC.judgements(one, {TEXTS: (CLAIM,)})
    verdicts = {key: verdict(label) for key, label in zip(judgements, labels, strict=True) if label}
    failures: dict[Judgement | tuple[str, str], Failure] = {
        key: Failure(kind="NoAnswerError", message="silent")
        for key, label in zip(judgements, labels, strict=True)
        if not label
    }
    score = METRIC.of(
        Facts(one, RecordScore(), claims={TEXTS: (CLAIM,)}, verdicts=verdicts, failures=failures)
    )
    assert (score.value, score.parts["unjudged"]) == (value, unjudged)
    if None in labels and value is None:
        assert score.why["verdicts"] == [
            {"claim": SAID, "label": "failed", "p": None, "premise": "hit 2", "premises": 2}
            | {"sentence": 0, "why": "NoAnswerError: silent"}
        ]


def test_what_a_judge_cannot_read_is_lacking(tmp_path: Path) -> None:
    gone = picture(tmp_path / "gone.png")
    (tmp_path / "gone.png").unlink()
    attached = Chunk(id="f", document="a.pdf", pages=(1,), modality="file")
    assert METRIC.lacks(record(text("Green."), gone)) == "the pictures that the model was given"
    assert METRIC.lacks(record(attached)) == "a context in text or pictures"
    assert METRIC.lacks(record()) == "retrieved chunks"
    assert METRIC.of(Facts(record(attached), RecordScore())).value is None


def test_a_picture_is_sent_and_that_of_a_run_from_elsewhere_is_not(tmp_path: Path) -> None:
    run = new_run(tmp_path / "runs", "seen", "0" * 8, {"name": "seen", "folder": "."})
    run.records.append([record(picture(tmp_path / "door.png"))])
    manifest = json.loads((run.path / "manifest.json").read_text())
    del manifest["signature"]
    (run.path / "manifest.json").write_text(json.dumps(manifest))
    with ScriptedServer(default="yes").running() as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": "scripted"}
        judging = Judging(LLMJudge.model_validate({"model": model, "claims": "sentences"}))
        with pytest.raises(UsageError, match="sends the pictures at its paths to the judge"):
            score_run(run, metrics=[METRIC], judging=judging)
        assert server.requests == 0
        trust_run(run)
        found = score_run(run, metrics=[METRIC], judging=judging).plain()
        assert server.requests == 1
    assert found["metrics"]["faithfulness"]["overall"]["value"] == 1.0


def test_an_answer_that_could_not_be_split_is_unjudged_and_its_value_may_be_any() -> None:
    """By hand: in category A, one answer of .8 and one of three sentences without claims; in B, one of .5.
    The figure is the mean of the categories, (.8 + .5) / 2, and may be anything between (.4 + .5) / 2 and
    (.9 + .5) / 2."""
    pool = Pool(METRIC)
    rows = [("1", "A", (8, 10)), ("2", "A", None), ("3", "B", (1, 2))]
    for id, category, counts in rows:
        said = "It is green. It is old. It is wide." if counts is None else id
        one = record(text("Green."))
        question = one.question.model_copy(update={"id": id, "category": category})
        one = one.model_copy(update={"question": question, "answer": Reply(text=said)})
        wanted = (said, TEXTS[1])
        claims: dict[tuple[str, str], tuple[Claim, ...]] = {}
        failures: dict[Judgement | tuple[str, str], Failure] = {}
        verdicts = {}
        if counts is None:
            failures[wanted] = Failure(kind="RateLimitError", message="429")
        else:
            claims[wanted] = tuple(
                Claim(text=f"{id} {n}", context=said, sentence=0) for n in range(counts[1])
            )
            for n, key in enumerate(METRIC.judgements(one, claims)):
                label = "supported" if n < counts[0] else "unsupported"
                verdicts[key] = Verdict(claim=key.claim, premise=key.premise, label=label)
        score = METRIC.of(Facts(one, RecordScore(), claims=claims, verdicts=verdicts, failures=failures))
        pool.add(question, score)
    found = pool.figures(JudgedBy("judge", "key")).plain()
    assert found["overall"]["value"] == pytest.approx(0.65)
    assert (found["judged"]["items"], found["judged"]["unjudged"]) == (15, 3)
    assert found["judged"]["lowest"] == pytest.approx(0.45)
    assert found["judged"]["highest"] == pytest.approx(0.7)


def test_every_metric_that_splits_texts_counts_those_that_could_not_be_split() -> None:
    """Of each metric: the same answer and gold answer, of two sentences each, without claims."""
    said = "It is green. It is old."
    one = record(text("Green."))
    question = one.question.model_copy(update={"reference": said})
    one = one.model_copy(update={"question": question, "answer": Reply(text=said), "citations": ()})
    tried = []
    for metric in named(judged_kinds()):
        if isinstance(metric, JudgedMetric) and metric.lacks(one) is None and metric.texts(one):
            score = metric.of(Facts(one, RecordScore()))
            assert score.value is None
            assert score.parts["unjudged"] == score.parts["claims"] == 2, metric.name
            assert (score.parts["lowest"], score.parts["highest"]) == range_of(metric.measured_in)
            tried.append(metric.name)
    assert {"faithfulness", "ragchecker.recall", "ragas.context-precision", "mirage.info-r"} <= set(tried)
