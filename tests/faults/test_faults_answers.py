"""Every fault with every provider: what is recorded and scored, and that it harms no other question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import fathoms
from fathoms.runs.journal import Journal
from fathoms.runs.run import Run
from tests.support import faulty
from tests.support.fault_server.faults import FAULTS
from tests.support.fault_server.server import ScriptedServer
from tests.support.faulty import Outcome

pytestmark = pytest.mark.slow  # hangs are waited for

SILENCE, QUESTION_TIMEOUT, ATTEMPTS, LARGE = 3.0, 10.0, 2, 1_000_000
VALUES = {"latency": "=0.2", "drip": "=0.1", "429": "=0.05", "429-ms": "=20", "large": f"={LARGE}"}
PLAYED = [fault for fault in FAULTS if fault != "restart"]
"""A restart is the whole server's: it has tests of its own."""

# what a question ends with, and after how many attempts
OUTCOMES = {
    "latency": "answered 1",
    "hang": "NoAnswerError 2",
    "stall": "NoAnswerError 2",
    "drip": "Timeout 1",
    "reset": "NoAnswerError 2",
    "cut": "NoAnswerError 2",
    "drop": "NoAnswerError 2",
    "close": "answered 1",
    "429": "RateLimitError 2",
    "429-ms": "RateLimitError 2",
    "status": "ModelError 2",
    "echo": "ModelError 1",
    "error": "ModelError 1",
    "html": "ModelError 1",
    "empty": "ModelError 1",
    "truncated": "ModelError 1",
    "blank": "answered 1",
    "null": "ModelError 1",
    "number": "ModelError 1",
    "usage": "answered 1",
    "choices": "ModelError 1",
    "large": "answered 1",
    "utf8": "ModelError 1",
}
# a stream without its end broke off, and is asked again; null in a piece of a stream is a piece without text;
# an error with a code of 5xx in it is a temporary one, as if it were the status
DIFFERENT = {
    "openai-compatible": {"null": "answered 1", "choices": "NoAnswerError 2", "error": "ModelError 2"},
    "ollama": {"null": "answered 1", "error": "ModelError 2"},
    "http": {},
    "http-stream": {"null": "answered 1", "empty": "NoAnswerError 2"},
    # as openai-compatible, but a reply without a grade is of no use
    "reranker": {
        "blank": "ModelError 1",
        "null": "ModelError 1",
        "choices": "NoAnswerError 2",
        "error": "ModelError 2",
    },
    # as openai-compatible, but a reply without a label is asked for once more
    "judge": {
        "blank": "unparsed 2",
        "null": "unparsed 2",
        "choices": "NoAnswerError 2",
        "error": "ModelError 2",
    },
}
RECOVERS = ("hang", "stall", "reset", "cut", "drop", "429", "429-ms", "status")
"""Faults after which asking again helps."""
WRONG = {"blank", "null"}
"""Faults of which an answer without a word may come."""


@dataclass(frozen=True)
class Played:
    """A run over all faults with one provider, with what became of each question by its text."""

    provider: str
    path: Path
    outcomes: dict[str, Outcome]
    asked: Callable[[str], int]

    def score(self, text: str) -> float | None:
        """The correctness of an answer, or the faithfulness where a judge is what fails."""
        view = faulty.views(self.path)[text]
        if self.provider == "judge":
            value: float | None = view["metrics"]["faithfulness"]["value"]
            return value
        scores = view["scores"]["fathoms"]
        if view["error"] is not None:
            assert (scores["hallucination"], scores["abstained"]) == (None, None)
        correctness: float = scores["correctness"]
        return correctness


FIRST = "Is anybody there?"
"""A question that nothing is asked of: the first call makes the client, which takes its time."""


def always(fault: str) -> str:
    return f"What of <{fault}>?"


def once(fault: str) -> str:
    return f"What of <{fault} once>?"


def control(fault: str) -> str:
    return f"And what after {fault}?"


@pytest.fixture(scope="module")
def all_played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Played]]]:
    """The runs of all providers, side by side: most of their time is spent waiting."""
    path = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(faulty.CALLERS)) as threads:
        patch.setenv("FATHOMS_CACHE_DIR", str(path / "cache"))
        yield {provider: threads.submit(play, provider, path / provider) for provider in faulty.CALLERS}


@pytest.fixture(scope="module", params=faulty.CALLERS)
def played(request: pytest.FixtureRequest, all_played: dict[str, Future[Played]]) -> Played:
    return all_played[request.param].result()


def play(provider: str, path: Path) -> Played:
    """One question at a time: one that fails once, one that always does, and one that nothing is wrong with,
    after which the provider counts as there again."""
    path.mkdir()
    texts = [FIRST] + [
        text
        for fault in PLAYED
        for text in (*([once(fault)] if fault in RECOVERS else []), always(fault), control(fault))
    ]
    rules = [
        rule
        for fault in PLAYED
        for rule in (
            f"{fault}{VALUES.get(fault, '')}@<{fault}>",
            f"{fault}{VALUES.get(fault, '')}@<{fault} once>*1",
        )
    ]
    with ScriptedServer(rules, default=faulty.said(provider)).running() as server:
        limits = {"silence": SILENCE, "question_timeout": QUESTION_TIMEOUT, "max_attempts": ATTEMPTS}
        if provider == "judge":
            run, outcomes = faulty.judge(path, texts, server, **limits)
        else:
            project = faulty.faulty_project(path, texts)
            text = faulty.config(provider, server.address, **limits)
            run = Run(fathoms.run(project.write("faulty.yaml", text), out=path / "runs").path)
            outcomes = [faulty.outcome(provider, record) for record in run.records.all()]
    return Played(provider, run.path, {outcome.text: outcome for outcome in outcomes}, server.count)


def test_every_fault_has_its_outcome(played: Played) -> None:
    expected = {**OUTCOMES, **DIFFERENT[played.provider]}
    found = {fault: str(played.outcomes[always(fault)]) for fault in PLAYED}
    assert {fault: end for fault, end in found.items() if expected[fault] != end} == {}


def test_every_attempt_was_a_call(played: Played) -> None:
    calls = {fault: played.asked(f"<{fault}>") for fault in PLAYED}
    assert calls == {fault: played.outcomes[always(fault)].attempts for fault in PLAYED}


def test_failed_questions_score_zero_and_answered_ones_as_usual(played: Played) -> None:
    """Where the judge fails, nothing is known of the answer."""
    failed = None if played.provider == "judge" else 0
    for fault in PLAYED:
        outcome = played.outcomes[always(fault)]
        wrong = outcome.error is not None or outcome.reply == "unparsed" or fault in WRONG
        assert played.score(always(fault)) == (failed if wrong else 1), fault


def test_a_fault_that_happens_once_is_retried_and_answered(played: Played) -> None:
    outcomes = {fault: played.outcomes[once(fault)] for fault in RECOVERS}
    assert {fault: str(outcome) for fault, outcome in outcomes.items()} == dict.fromkeys(
        RECOVERS, "answered 2"
    )
    assert {outcome.reply for outcome in outcomes.values()} == {faulty.expected_reply(played.provider)}


def test_no_other_question_is_harmed(played: Played) -> None:
    found = {fault: str(played.outcomes[control(fault)]) for fault in PLAYED}
    assert {fault: end for fault, end in found.items() if end != "answered 1"} == {}
    assert {played.score(control(fault)) for fault in PLAYED} == {1}


def test_the_status_and_the_wait_are_recorded(played: Played) -> None:
    errors = {fault: played.outcomes[always(fault)].error for fault in ("429", "429-ms", "status", "echo")}
    found = {fault: error and (error.status, error.retry_after) for fault, error in errors.items()}
    if played.provider == "ollama":  # whose client drops the headers
        assert [status for status, _ in found.values()] == [429, 429, 500, 401]  # type: ignore[misc]
    else:
        expected = {"429": (429, 0.05), "429-ms": (429, 0.02), "status": (500, None), "echo": (401, None)}
        assert found == expected


def test_malformed_token_counts_are_unknown(played: Played) -> None:
    outcome = played.outcomes[always("usage")]
    if outcome.error is not None:
        assert played.provider == "ollama"  # its client takes numbers only
    else:
        assert (outcome.reply, outcome.tokens) == (faulty.expected_reply(played.provider), None)


def test_a_long_answer_is_kept_whole(played: Played) -> None:
    if played.provider in ("reranker", "judge"):
        pytest.skip("of the reply of a reranker or a judge, only the grade or the label is kept")
    assert len(played.outcomes[always("large")].reply or "") == LARGE
    lines = (played.path / "journal.jsonl").read_bytes().splitlines()
    assert max(map(len, lines)) < LARGE + 100_000  # it stands there once


def test_hanging_questions_end_at_their_time_limit(played: Played) -> None:
    for fault in ("hang", "stall"):
        seconds = played.outcomes[always(fault)].seconds
        assert ATTEMPTS * SILENCE <= seconds < ATTEMPTS * SILENCE + 30, fault
    seconds = played.outcomes[always("drip")].seconds
    assert QUESTION_TIMEOUT - 1 <= seconds < QUESTION_TIMEOUT + 30


def test_files_stay_readable(played: Played) -> None:
    lines = faulty.journal(played.path)
    assert len(lines) == len(faulty.views(played.path)) == len(played.outcomes)
    failed = sum(outcome.error is not None for outcome in played.outcomes.values())
    summary = faulty.summary(played.path)
    assert summary["complete"]
    if played.provider == "judge":
        verdicts = Journal(played.path / "verdicts" / "judge.jsonl")
        assert sum(1 for _ in verdicts) == len(lines) - failed
        assert summary["judging"]["failed"] == failed
        return
    counts = summary["counts"]
    assert (counts["errors"], counts["answered"]) == (failed, len(lines) - failed)
    assert f"{failed}" in (played.path / "report.md").read_text()
