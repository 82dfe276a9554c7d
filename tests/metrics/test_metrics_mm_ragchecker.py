"""MM-RAGChecker's metrics on hand-worked matrices, with pictures as they are and at most 3 of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import Judging
from fathoms.metrics.claims.mm_ragchecker import DeltaCP
from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Chunk, Claim, Hit, Judgement, Question, Record, Reply, Score, Verdict
from tests.support.fault_server.server import ScriptedServer

ANSWER, GOLD = "The answer.", "The gold answer."
QUESTION = Question(id="q", text="Why?", category="A", reference=GOLD, reference_claims=("G", "H", "I", "J"))
# A is right, and a picture and a text entail it; B is wrong and a picture entails it; C is right and only a
# text entails it; D is contradicted; E (twice) is neutral; K is right and not retrieved
CLAIMS = ("A", "B", "C", "D", "E", "E", "K")
LABELS = {
    ("A", "i1"): "entailment",
    ("A", "t1"): "entailment",
    ("A", "t2"): "contradiction",
    ("B", "i2"): "entailment",
    ("C", "t1"): "entailment",
    ("D", "i1"): "contradiction",
    ("A", GOLD): "entailment",
    ("C", GOLD): "entailment",
    ("K", GOLD): "entailment",
    ("E", "t4"): "entailment",  # the fourth text is never asked
    **{(gold, ANSWER): "entailment" for gold in "GHI"},
    ("G", "A"): "entailment",  # G is in the answer by A, H by B and C, and I by K
    ("H", "B"): "entailment",
    ("H", "C"): "entailment",
    ("I", "K"): "entailment",
}
BY_HAND = {
    "hallucination": 3 / 7,  # E, E and K
    "faithfulness": 3 / 7,
    "contradiction": 1 / 7,
    "claim-recall": 3 / 4,
    "context-precision": 3 / 6,
    "delta-cr": 2 / 4 - 2 / 4,
    "delta-cp": 2 / 3 - 1 / 3,
    "vis-hit@k": 2 / 3,
    "txt-missrate": 2 / 3,
    "cma": 1 / 3,
    "self-knowledge-gold": 1 / 3,
    "v-hr-gold": 1 / 4,  # of B, D, E and E, one picture entails B
    "d-hr-gold": 0.0,
}


def facts(
    folder: Path,
    changed: Mapping[tuple[str, str], str | None] | None = None,
    kinds: str = "it",
    claims: tuple[str, ...] = CLAIMS,
) -> tuple[Facts, set[tuple[str, str]]]:
    """A record with all verdicts that the metrics ask for, a few changed or missing; and what was asked."""
    hits = []
    for rank in range(1, 5):
        for kind in kinds:
            name = f"{kind}{rank}"
            image = folder / f"{name}.png" if kind == "i" else None
            if image:
                image.write_bytes(b"a picture")
            modality = "image" if image else "text"
            of = {"id": name, "document": "a.pdf", "pages": (1,), "modality": modality}
            chunk = Chunk.model_validate({**of, "text": name, "image": image})
            hits.append(Hit(chunk=chunk, score=1.0, rank=len(hits) + 1))
    record = Record(question=QUESTION, answer=Reply(text=ANSWER), hits=tuple(hits))
    split = {(ANSWER, "Why?"): tuple(Claim(text=claim) for claim in claims)}
    verdicts: dict[Judgement, Verdict] = {}
    distinct = set()
    for metric in named(["mm-ragchecker"]):
        assert isinstance(metric, JudgedMetric)
        for one in metric.judgements(record, split):
            assert not (one.image and one.premise)  # a picture as it is, without a text about it
            pair = (one.claim, one.image.stem if one.image else one.premise)
            distinct.add(pair)
            if label := {**LABELS, **(changed or {})}.get(pair, "neutral"):
                verdicts[one] = Verdict(claim=one.claim, premise=one.premise, label=label)
    return Facts(record, RecordScore(), claims=split, verdicts=verdicts), distinct


def scores(of: Facts) -> dict[str, Score]:
    return {metric.name.removeprefix("mm-ragchecker."): metric.of(of) for metric in named(["mm-ragchecker"])}


def test_all_by_hand(tmp_path: Path) -> None:
    of, wanted = facts(tmp_path)
    found = scores(of)
    assert {name: score.value for name, score in found.items()} == pytest.approx(BY_HAND)
    assert {item for _, item in wanted if item[:1] in "it"} == {"i1", "i2", "i3", "t1", "t2", "t3"}
    parts = found["context-precision"].parts
    assert (parts["items"], parts["retrieved_images"], parts["retrieved_texts"]) == (6, 4, 4)
    labels = [(row["claim"], row["label"]) for row in found["faithfulness"].why["verdicts"]]  # type: ignore[attr-defined]
    assert labels[0] == ("A", "entailment")  # it outweighs the contradiction
    assert labels[3] == ("D", "contradiction")
    # both are reported beside the difference: two of three pictures, and one of three texts
    assert DeltaCP().apart(found["delta-cp"]) == pytest.approx({"images": 2 / 3, "texts": 1 / 3})


def test_an_unread_verdict_leaves_open_only_what_it_would_decide(tmp_path: Path) -> None:
    found = scores(facts(tmp_path, {("K", "i3"): "unparsed"})[0])
    known = {name: score.value for name, score in found.items()}
    open_ones = {name for name, score in found.items() if score.parts["unjudged"]}
    assert open_ones == {
        *("hallucination", "faithfulness", "contradiction", "context-precision"),
        *("delta-cr", "delta-cp", "vis-hit@k", "cma", "self-knowledge-gold"),
    }
    assert known["hallucination"] == 2 / 6
    assert (found["hallucination"].parts["lowest"], found["hallucination"].parts["highest"]) == (2 / 7, 3 / 7)
    assert (found["self-knowledge-gold"].value, found["self-knowledge-gold"].n) == (0.0, 2)
    gain = found["delta-cp"].parts
    assert (gain["lowest"], gain["highest"]) == pytest.approx((2 / 3 - 1 / 3, 3 / 3 - 1 / 3))


def test_without_pictures_there_is_nothing_to_compare_across_modalities(tmp_path: Path) -> None:
    found = scores(facts(tmp_path, kinds="t")[0])
    missing = {name for name, score in found.items() if score.value is None}
    assert missing == {"delta-cr", "delta-cp", "vis-hit@k", "cma"}
    assert found["vis-hit@k"].why == {"lacks": "retrieved pictures"}
    assert (found["faithfulness"].value, found["context-precision"].value) == (2 / 7, 1 / 3)


def test_without_claims_and_with_two_labels(tmp_path: Path) -> None:
    empty = scores(facts(tmp_path, claims=())[0])
    assert {name for name, score in empty.items() if score.value is not None} == {"claim-recall"}
    binary = scores(facts(tmp_path, {("E", "i1"): "unsupported"})[0])
    for name in ("hallucination", "contradiction"):
        assert binary[name].why["lacks"] == "a judge with three labels (labels: three-way)"
    assert binary["faithfulness"].value == 3 / 7


def test_more_items_are_another_metric(tmp_path: Path) -> None:
    of, _ = facts(tmp_path)
    four = named(["mm-ragchecker"])[1].model_copy(update={"most_texts": 4})
    assert four.name == "mm-ragchecker.faithfulness-3-4"
    assert four.of(of).parts["unjudged"] == 4  # D, E, E and K have no verdict by the fourth text


def test_all_metrics_share_the_calls_and_pictures_are_sent(tmp_path: Path) -> None:
    (tmp_path / "i1.png").write_bytes(b"a picture")
    chunks = (
        Chunk(id="i1", document="a.pdf", pages=(1,), modality="image", image=tmp_path / "i1.png"),
        Chunk(id="t1", document="a.pdf", pages=(2,), text="t1"),
    )
    hits = tuple(Hit(chunk=chunk, score=1.0, rank=rank) for rank, chunk in enumerate(chunks, start=1))
    question = Question(id="q", text="Why?", category="A", reference=GOLD, reference_claims=("G",))
    run = new_run(tmp_path / "runs", "seen", "0" * 8, {"name": "seen", "folder": "."})
    run.records.append([Record(question=question, answer=Reply(text=ANSWER), hits=hits)])
    with ScriptedServer(default="entailment").running() as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": "scripted"}
        judge = LLMJudge.model_validate(
            {"model": model, "claims": "sentences", "claims_a_call": 1, "labels": "three-way"}
        )
        summary = score_run(run, metrics=named(["mm-ragchecker"]), judging=Judging(judge)).plain()
        # the claim of the answer by the picture, the text and the gold answer; the gold claim by the answer
        assert server.requests == 4
        score_run(run, metrics=named(["mm-ragchecker", "ragchecker.precision"]), judging=Judging(judge))
        assert server.requests == 4
    values = {name: summary["metrics"][f"mm-ragchecker.{name}"]["overall"]["value"] for name in BY_HAND}
    ones = {name for name, value in values.items() if value == 1}
    assert ones == {"faithfulness", "claim-recall", "context-precision", "vis-hit@k", "cma"}
    assert values["v-hr-gold"] is values["d-hr-gold"] is None  # no claim is wrong
