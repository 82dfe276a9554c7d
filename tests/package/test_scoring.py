"""From a run on disk to its scores: by hand, with failures, repeats and what cannot be answered."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fathoms.errors import ConfigError, DataError
from fathoms.executors import LocalExecutor
from fathoms.metrics.aggregate import summarise
from fathoms.metrics.profiles import scored_under
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import Scores, Scoring
from fathoms.report.worst import question_tables
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.question_lines import file_name
from fathoms.runs.question_tables import QuestionTables
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.runs.verdicts import verdict_text
from fathoms.runs.writing import new_run, trust_run, write_manifest
from fathoms.scoring import score_run
from fathoms.scoring.measures import measuring, own_metrics, read_measures
from fathoms.scoring.questions import QuestionScorer, Rules
from fathoms.scoring.shares import (
    WORTH,
    ScoreJob,
    Share,
    shares_of,
    started_early,
    working,
)
from fathoms.scoring.stored_verdicts import Found
from fathoms.scoring.work import ScoreWork, score_shares
from fathoms.types import Failure, Question, Record, Reply, Usage
from fathoms.types.run.manifest import Manifest


def question(name: str, category: str, *answers: str, answerable: bool = True) -> Question:
    variants = tuple((answer,) for answer in answers)
    return Question(id=name, text=name, category=category, answers=variants, answerable=answerable)


def answered(one_question: Question, text: str, repeat: int = 0) -> Record:
    usage = Usage(prompt_tokens=10, completion_tokens=2)
    return Record(
        question=one_question, repeat=repeat, answer=Reply(text=text, usage=usage), timings={"generate": 2}
    )


def failed(one_question: Question) -> Record:
    return Record(question=one_question, error=Failure(kind="ModelError", message="timed out"))


RECORDS = [
    answered(question("a1", "A", "41.5"), "It is 41.5 m."),
    answered(question("a2", "A", "green"), "It is red."),
    failed(question("a3", "A", "blue")),
    answered(question("b1", "B", "17"), "I do not know; the context does not say."),
    answered(question("b2", "B", answerable=False), "It is Mr Smith."),
]


def make(tmp_path: Path, records: list[Record] = RECORDS, **data: object) -> Run:
    run = new_run(tmp_path, "x", "0" * 16, {"model": "m", "config": {}, "data": {"name": "d", **data}})
    run.records.append(records)
    return run


def test_score_run_gives_the_scores_worked_by_hand(tmp_path: Path) -> None:
    summary = score_run(make(tmp_path)).plain()
    figures = summary["profiles"]["fathoms"]
    # A: (1 + 0 + 0) / 3, B: 0 / 1; the failure is no hallucination and no abstention
    assert figures["categories"]["A"]["correctness"] == pytest.approx(1 / 3)
    assert figures["categories"]["A"]["hallucination"] == 0.5
    assert figures["categories"]["B"]["correctness"] == 0.0
    assert figures["categories"]["B"]["hallucination"] == 0.5  # b2 answers what has no answer
    assert figures["overall"]["correctness"] == pytest.approx(1 / 6)
    assert figures["overall"]["micro_correctness"] == 0.25
    assert (figures["overall"]["n"], figures["overall"]["hallucination_n"]) == (4, 4)
    assert figures["abstention_table"] == {
        "answerable": {"answered": 2, "abstained": 1},
        "unanswerable": {"answered": 1, "abstained": 0},
    }
    assert summary["counts"] == {
        "questions": 5,
        "asked": 5,
        "answered": 4,
        "searched": 0,
        "errors": 1,
        "refused": 0,
        "unanswerable": 1,
        "unanswered": 0,
        "cut_prompts": 0,
        "cut_by_server": 0,
        "cached": 0,
        "reasoned": 0,
        "empty": 0,
        "markup": 0,
        "calls": 5,
        "retried": 0,
    }
    assert summary["errors"] == {"ModelError": 1}
    assert summary["usage"] == {"prompt_tokens": 40, "completion_tokens": 8}
    assert summary["seconds"]["generate"] == 2.0
    assert summary["complete"]


@pytest.mark.parametrize(("kind", "counted"), [("openai-compatible", 4), ("llamaindex", None)])
def test_replies_without_a_finish_reason_are_said(tmp_path: Path, kind: str, counted: int | None) -> None:
    """Where none of the replies of a kind has one that not every server gives, nothing is known."""
    manifest = {"model": "m", "config": {"generate": {"kind": kind}}, "data": {"name": "d"}}
    run = new_run(tmp_path, "x", "0" * 16, manifest)
    run.records.append(RECORDS)
    summary = score_run(run).plain()
    said = "4 of 4 replies have no finish reason: the text may have been cut"
    assert summary["counts"].get("unended") == counted
    assert (said in summary["warnings"]) == (counted is not None)


def test_repeats_are_averaged_within_their_question(tmp_path: Path) -> None:
    first, second = question("a1", "A", "yes"), question("a2", "A", "yes")
    records = [answered(first, "yes"), answered(first, "no", 1), answered(second, "yes")]
    figures = score_run(make(tmp_path, records)).plain()["profiles"]["fathoms"]
    assert figures["overall"]["micro_correctness"] == 0.75
    assert figures["overall"]["n"] == 2


def test_seconds_by_stage_average_repeats_and_leave_out_the_cache(tmp_path: Path) -> None:
    """a1 took 1 and 3 s, a2 took 5 s and retrieved in 1 s, and a3 came from the cache."""
    first, second, third = (question(name, "A", "yes") for name in ("a1", "a2", "a3"))
    took = [
        answered(first, "yes").model_copy(update={"timings": {"generate": 1.0}}),
        answered(first, "yes", 1).model_copy(update={"timings": {"generate": 3.0}}),
        answered(second, "yes").model_copy(update={"timings": {"retrieve": 1.0, "generate": 5.0}}),
    ]
    cached = answered(third, "yes").model_copy(update={"answer": Reply(text="yes", cached=True)})
    stages = score_run(make(tmp_path, [*took, cached])).plain()["seconds"]["stages"]
    assert list(stages) == ["retrieve", "generate", "total"]
    assert [(found["value"], found["n"]) for found in stages.values()] == [(1.0, 1), (3.5, 2), (4.0, 2)]


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    sizes = {"A": 3, "B": 4, "C": 2}
    summary = score_run(make(tmp_path, category_sizes=sizes, categories=list(sizes), questions=9)).plain()
    assert summary["complete"] is False
    assert summary["incomplete"] == [
        "no question of C was asked",
        "not all questions were asked: 2 of 4 in B",
    ]
    assert summary["categories"] == ["A", "B", "C"]


def test_verdicts_are_kept_and_not_made_again(tmp_path: Path) -> None:
    run = make(tmp_path)
    score_run(run)
    stored = run.verdicts("abstention")
    assert {verdict.label for verdict in stored.values()} == {"statement", "abstention"}
    # another label in the file wins over the classifier: it is not asked again
    turned = {key: verdict.model_copy(update={"label": "abstention"}) for key, verdict in stored.items()}
    run.verdicts("abstention").add({key: verdict_text(key, one) for key, one in turned.items()})
    assert score_run(run).plain()["profiles"]["fathoms"]["overall"]["hallucination"] == 0.0


@pytest.mark.slow
def test_the_headline_profile(tmp_path: Path) -> None:
    assert score_run(make(tmp_path)).plain()["profile"] == "fathoms"
    assert score_run(make(tmp_path, name="fathoms-rag")).plain()["profile"] == "paper"
    assert score_run(make(tmp_path), ["profile=released-code"]).plain()["profile"] == "released-code"


def test_what_cannot_be_scored(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nothing to score"):
        score_run(make(tmp_path, []))
    with pytest.raises(ConfigError, match="did you mean 'abstention'"):
        score_run(make(tmp_path), ["abstentoin.unit=answer"])


@pytest.mark.slow
def test_the_exemplars_go_along_with_the_run(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("statement: [It is red.]\nabstention: [It is 41.5 m.]\n")
    run = make(tmp_path / "runs")
    write_manifest(
        run,
        Manifest.model_validate(
            {**run.manifest.plain(), "config": {"scoring": {"abstention": {"exemplars": str(own)}}}}
        ),
    )
    trust_run(run)
    table = score_run(run).plain()["profiles"]["fathoms"]["abstention_table"]
    assert table["answerable"] == {"answered": 2, "abstained": 1}
    own.unlink()
    for path in (run.path / "verdicts").glob("abstention.json"):
        path.unlink()
    assert score_run(run).plain()["profiles"]["fathoms"]["abstention_table"] == table


def test_a_refusal_is_neither_abstention_nor_hallucination(tmp_path: Path) -> None:
    refused = Reply(text="The colour is", stop_reason="SAFETY", refusal="SAFETY")
    silent = Reply(text="", refusal="refusal")
    records = [
        Record(question=question("a1", "A", "green"), answer=refused),
        Record(question=question("a2", "A", "blue"), answer=silent),
        Record(question=question("a3", "A", "colour"), answer=refused),
        Record(question=question("a4", "A", answerable=False), answer=refused),
        answered(question("a5", "A", "red"), "It is red."),
    ]
    run = make(tmp_path, records)
    summary = score_run(run).plain()
    figures = summary["profiles"]["fathoms"]
    assert summary["counts"]["refused"] == 4
    assert summary["counts"]["answered"] == 5
    # 0, 0, 1 (the text that came until the refusal is scored as any) and 1, over the four with an answer
    assert figures["overall"]["correctness"] == 0.5
    assert figures["overall"]["hallucination"] == 0.0
    assert figures["abstention_table"] == {
        "answerable": {"answered": 1, "abstained": 0},
        "unanswerable": {"answered": 0, "abstained": 0},
    }
    views = {view["question"]["id"]: view["repeats"][0] for view in run.views()}
    assert views["a1"]["scores"]["fathoms"]["abstention"] == "refusal"
    assert {verdict.claim for verdict in run.verdicts("abstention").values()} == {"It is red."}


def shared(run: Run, setup: dict[str, object], killed: int, reported: list[int]) -> QuestionScorer:
    """Score a run by two processes, of which some are `killed`, in small shares, and note the progress."""
    manifest, rules = run.manifest, Rules(Scoring(), scored_under("fathoms"), "fathoms")
    questions: dict[str, list[Entry]] = {}
    for (wanted, _), entry in run.records.entries().items():
        questions.setdefault(wanted, []).append(entry)
    metrics = own_metrics(run, manifest)
    assert started_early(1, Scoring(), metrics) == []
    assert started_early(2 * WORTH, Scoring(), named(["semantic-similarity"])) == []
    shares = [
        Share([entries], file_name(number) if number % 2 else None)
        for number, entries in enumerate(questions.values())
    ]
    job = ScoreJob(run, manifest, rules, metrics, shares, reported.append)
    assert job.can_be_shared
    assert not replace(job, metrics=[*metrics, *named(["semantic-similarity"])]).can_be_shared
    scorer, stages = job.scorer()
    started = started_early(2 * WORTH, Scoring(), metrics)  # as many as there are cores, or none
    with working(2, started) as children:
        assert children[: len(started)] == started[:2]
        for child in children[:killed]:
            child.kill()
        work = ScoreWork(run, job.setup(stages) | setup, children)
        assert score_shares(scorer, shares, work, LocalExecutor(2)) is not None
    assert not any(child.alive for child in [*started, *children])
    return scorer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setup", "killed"),
    [({}, 0), ({}, 1), ({"run": "nowhere"}, 0)],
    ids=["by processes", "by one that is left", "by processes that end"],
)
def test_shares_add_up_to_the_whole(setup: dict[str, object], killed: int, tmp_path: Path) -> None:
    """Each process has its own numbers for questions and scores, which become those of the whole."""
    many = [
        answered(
            question(f"{kind}{n}", kind, str(n % 3)).model_copy(update={"reference": REFERENCE}),
            f"It is {(n + repeat) % 4}, of {n}.",
            repeat,
        )
        for n in range(9)
        for kind in "AB"
        for repeat in range(2)
    ]
    records = [*many, *RECORDS, failed(question("c", "C", "x"))]
    alone, together = make(tmp_path / "one", records), make(tmp_path / "other", records)
    for run in (alone, together):
        write_manifest(
            run, Manifest.model_validate({**run.manifest.plain(), "config": {"metrics": ["rouge-l"]}})
        )
        trust_run(run)
    summary = score_run(alone).plain()
    assert summary["metrics"]["rouge-l"]["overall"]["value"] > 0
    reported: list[int] = []
    setup = {name: str(tmp_path / str(value)) for name, value in setup.items()}
    scorer = shared(together, setup, killed, reported)
    assert [one.id for one in scorer.tally.questions] == list(dict.fromkeys(r.question.id for r in records))
    assert len(scorer.tally) == reported[-1] == len(records)
    assert reported == sorted(reported)
    assert scorer.verdicts.keys() == alone.verdicts("abstention").keys()
    figures = {name: pool.figures().plain() for name, pool in scorer.pools.items()}
    for name, found in summary["metrics"].items():
        assert {key: found[key] for key in figures[name]} == figures[name], name
    records, rows = scorer.tally.without(())
    scores = Scores(Scoring(), rows, {})
    fathoms = {key: one for key, one in summary["profiles"]["fathoms"].items() if key != "funnel"}
    assert summarise(records, scores)["fathoms"].plain() == fathoms
    files, lines = (
        {view["question"]["id"]: [one["metrics"] for one in view["repeats"]] for view in run.views()}
        for run in (alone, together)
    )
    assert {path.suffix for path in (together.path / "questions").iterdir()} == {".json", ".jsonl"}
    assert files == lines
    # the report that follows does not read the questions again: what it needs of them came with their scores
    metrics = ["rouge-l", "unknown", "truthfulness"]
    read = QuestionTables("fathoms", list(summary["metrics"]))
    for view in together.brief_questions():
        read.add(view)
    # here the questions stand in lines and in files by turns
    assert sorted(scorer.tables.lines(metrics)) == sorted(read.lines(metrics))
    again = question_tables(Run(alone.path), "fathoms")
    assert list(alone.tables["fathoms"].lines(metrics)) == list(again.lines(metrics))


def judged_run(tmp_path: Path) -> Run:
    """A run with a judge that has been scored. Questions of different shares have the same verdicts."""
    records = [
        answered(
            question(f"{kind}{n}", kind).model_copy(update={"text": "How tall?", "reference": REFERENCE}),
            f"It is tall. It is {n % 3} m tall.",
            repeat,
        )
        for n in range(7)
        for kind in "AB"
        for repeat in range(2)
    ]
    run = make(tmp_path, [*records, failed(question("c", "C"))])
    config = {"judge": {"kind": "scripted"}, "metrics": ["ragchecker"]}
    write_manifest(run, Manifest.model_validate({**run.manifest.plain(), "config": config}))
    trust_run(run)
    assert score_run(run).plain()["judging"]["asked"] > 0
    return run


REFERENCE = "It is tall. It is 2 m tall."


def files(run: Run) -> dict[str, bytes]:
    """All files of a run that scoring writes."""
    found = {path: path for path in run.path.rglob("*") if path.is_file()}
    return {str(path.relative_to(run.path)): path.read_bytes() for path in found}


@pytest.mark.slow
def test_processes_find_the_verdicts_that_a_run_holds(tmp_path: Path) -> None:
    run = judged_run(tmp_path)
    manifest, rules = run.manifest, Rules(Scoring(), scored_under("fathoms"), "fathoms")
    metrics = measuring(read_measures(manifest).metrics, StoredDocuments(run, manifest))
    questions: dict[str, list[Entry]] = {}
    for (wanted, _), entry in run.records.entries().items():
        questions.setdefault(wanted, []).append(entry)
    shares = shares_of(questions, (), size=3)
    job = ScoreJob(run, manifest, rules, metrics, shares)

    def scored(setup: dict[str, object]) -> Found | None:
        scorer, stages = job.scorer()
        with working(2) as children:
            work = ScoreWork(run, job.setup(stages, judged=True) | setup, children)
            return score_shares(scorer, shares, work, LocalExecutor(2))

    found, journal = scored({}), run.path / "verdicts" / "judge.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    assert found is not None
    assert sorted(found.verdicts) == sorted(json.loads(line)["key"] for line in lines)
    assert sorted(one.label for one in found.verdicts.values()) == sorted(
        json.loads(line)["result"]["label"] for line in lines
    )
    assert scored({"run": str(tmp_path / "nowhere")}) is None  # the processes end


@pytest.mark.slow
def test_a_judged_run_is_the_same_by_several_processes(tmp_path: Path) -> None:
    run = judged_run(tmp_path)
    before = score_run(run).plain(), files(run)
    again = score_run(run, worth=3).plain(), files(run)
    assert again == before
    assert before[0]["judging"]["found"] > 0
    assert before[0]["metrics"]["ragchecker.f1"]["judged"]["items"] > 0
    journal = run.path / "verdicts" / "judge.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    judging = score_run(run, worth=3).plain()["judging"]
    assert (judging["asked"], judging["found"]) == (1, before[0]["judging"]["found"] - 1)
    assert files(run).keys() == before[1].keys()
