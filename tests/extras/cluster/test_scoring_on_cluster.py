"""Scoring by the workers of a cluster: the files of a run are those that one machine writes, to the byte."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fathoms.errors import StoreError
from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.journal import NAME, VerdictJournal
from fathoms.judges.scripted import ScriptedJudge
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import Scoring
from fathoms.models.caller import Caller
from fathoms.runs.documents import keep_documents
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run, trust_run
from fathoms.scoring import score_run
from fathoms.scoring.measures import own_metrics
from fathoms.scoring.questions import Rules
from fathoms.scoring.shares import ScoreJob, Share
from fathoms.scoring.work import ScoreWork, SentWork, score_shares
from fathoms.types import (
    Chunk,
    Document,
    Evidence,
    Failure,
    Hit,
    Judgement,
    Page,
    Question,
    Record,
    Reply,
    Verdict,
)
from tests.package.test_scoring import files, judged_run
from tests.support.away import Away
from tests.support.fact_checkers import minicheck

pytestmark = pytest.mark.slow  # hundreds of questions, and processes of their own

DOCUMENTS, QUESTIONS = 270, 340


def document(number: int) -> Document:
    text = f"Gauge {number} read {number} metres. " + "Nobody had opened a gate. " * 20
    pages = (Page(number=1, text="Rivers."), Page(number=2, text=text))
    return Document(id=f"d{number}.pdf", path=Path("d.pdf"), sha256=f"{number:064}", pages=pages)


def record(number: int) -> Record:
    """An answer whose gold page is in one document, and whose long text was found in another."""
    gold, found = number % DOCUMENTS, (7 * number) % DOCUMENTS
    question = Question(
        id=f"q{number}",
        text=f"What did gauge {gold} read?",
        category="AB"[number % 2],
        answers=((f"{gold} metres",),),
        reference=f"It read {gold} metres.",
        evidence=(Evidence(document=f"d{gold}.pdf", page=2),),
    )
    if number % 50 == 7:
        return Record(question=question, error=Failure(kind="ModelError", message="timed out"))
    page = document(found).pages[1]
    hit = Hit(rank=1, chunk=Chunk(id="c", document=f"d{found}.pdf", pages=(2,), text=page.text), score=1.0)
    return Record(question=question, hits=(hit,), answer=Reply(text=f"It read {found} metres, I think."))


def run_in(folder: Path, answers: int = QUESTIONS, **config: object) -> Run:
    config = config or {"metrics": ["rouge-l", "bleu", "retrieval"]}
    documents = [document(number) for number in range(DOCUMENTS)]
    data = {"name": "d", "asked_ids": [f"q{number}" for number in range(answers)]}
    run = new_run(folder, "x", "0" * 16, {"model": "m", "config": config, "data": data})
    run.records.append(map(record, range(answers)))
    keep_documents(run, documents)
    trust_run(run)
    return run


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, bytes]]:
    """A run that this machine has scored, and its files."""
    run = run_in(tmp_path_factory.mktemp("scored"))
    score_run(run)
    return run, files(run)


def test_a_run_is_scored_to_the_byte_by_workers_without_its_disk(
    scored: tuple[Run, dict[str, bytes]],
) -> None:
    run, expected = scored
    assert any(name.startswith("blobs/") for name in expected)
    for path in [run.path / "summary.json", *(run.path / "questions").iterdir()]:
        path.unlink()
    away, reported = Away(2), []
    score_run(run, on_done=lambda done, total: reported.append(done), executor=away)
    away.close()
    assert files(run) == expected
    assert away.done["ScoreWork"] > 1


def test_what_a_worker_was_not_sent_is_scored_on_the_machine_of_the_run(
    scored: tuple[Run, dict[str, bytes]],
) -> None:
    run, manifest = scored[0], scored[0].manifest
    rules = Rules(Scoring(), PROFILES, "fathoms")
    share, away = Share([[entry] for entry in list(run.records.entries().values())[:10]]), Away(1)
    job = ScoreJob(run, manifest, rules, own_metrics(run, manifest), [share])
    scorer, stages = job.scorer()
    work = ScoreWork(run, job.setup(stages))
    forgetful = Forgetful(run, work.setup)
    (known,), (unknown,) = away.run(work, [share]), away.run(forgetful, [share])
    assert known.found["tally"]
    assert unknown == (None, {})
    score_shares(scorer, [share], forgetful, away)
    away.close()
    assert len(scorer.tally) == 10


class Forgetful(ScoreWork):
    """Sends no documents."""

    def for_workers(self) -> SentWork:
        return replace(super().for_workers(), files={})


def test_verdicts_that_a_run_holds_are_found_by_workers_too(tmp_path: Path) -> None:
    run = judged_run(tmp_path)
    before = score_run(run).plain(), files(run)
    away = Away(2)
    again = score_run(run, worth=3, executor=away).plain(), files(run)
    assert again == before
    assert away.done == {"ScoreWork": 8}
    journal = run.path / "verdicts" / "judge.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    assert score_run(run, worth=3, executor=away).plain()["judging"]["asked"] == 1
    away.close()


def test_a_local_model_judges_on_the_workers(tmp_path: Path) -> None:
    """A judge with random weights gives the same labels, in batches that end in any order."""
    model = minicheck(tmp_path / "model")
    judge = {"kind": "nli", "model": str(model), "checker": "minicheck", "batch_size": 2}
    found = []
    for name, executor in (("here", None), ("there", Away(2))):
        run = run_in(tmp_path / name, answers=9, metrics=["faithfulness"], judge=judge)
        summary = score_run(run, executor=executor).plain()
        lines = (run.path / "verdicts" / "judge.jsonl").read_text().splitlines()
        verdicts = [json.loads(line) for line in lines]
        results = {one["key"]: {**one["result"], "seconds": None} for one in verdicts}
        found.append((summary["metrics"]["faithfulness"]["overall"], results, summary["judging"]["asked"]))
    assert found[0] == found[1]
    assert found[0][2] == 4
    assert executor is not None
    assert executor.done == {"JudgeWork": 4}


class LocalJudge(ScriptedJudge):
    """Stands for a judge that is a local model, which takes a moment for each label."""

    @property
    def is_local(self) -> bool:
        return True

    def judge_here(self, judgements: Sequence[Judgement]) -> list[Verdict | Failure]:
        time.sleep(0.02)
        return [
            Verdict(claim=one.claim, premise=one.premise, label="supported", cost=0.0) for one in judgements
        ]


def test_judging_on_workers_ends_soon_after_the_journal_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / NAME).symlink_to("nowhere")  # no journal is written through a link
    away = Away(1)
    bench = Bench(LocalJudge(), VerdictJournal(tmp_path), Caller(), Spending(), executor=away)
    some_judgements = [
        Judgement(claim=f"Gauge {number} reads 1.", premise="Nobody knows.") for number in range(60)
    ]
    with pytest.raises(StoreError, match="cannot be written"):
        asyncio.run(bench.ask(some_judgements, Judged()))
    assert away.done["JudgeWork"] < 30


def test_what_a_killed_worker_was_sent_is_removed_by_the_next_one(tmp_path: Path) -> None:
    program = "import os, sys\nfrom fathoms.extras.cluster.worker import worker_folder\n"
    program += "with worker_folder() as folder:\n    (folder / 'd.pdf').touch()\n"
    program += "    print(folder, oct(folder.stat().st_mode & 0o777), len(os.listdir(folder.parent)))\n"
    program += "    sys.stdout.flush()\n    if sys.argv[1:]:\n        os._exit(9)\n"

    def worker(*arguments: str) -> tuple[int, list[str]]:
        command, environment = [sys.executable, "-c", program, *arguments], {"TMPDIR": str(tmp_path)}
        done = subprocess.run(
            command, env=os.environ | environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout.split()

    status, [killed, *_] = worker("killed")
    assert status == 9
    assert [path.name for path in Path(killed).iterdir()] == ["d.pdf"]
    status, [folder, mode, folders] = worker()
    assert (status, mode, folders) == (0, "0o700", "1")  # that of the killed worker is gone
    assert folder != killed
    assert list(tmp_path.iterdir()) == []
