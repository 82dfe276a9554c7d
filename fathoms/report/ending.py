"""Formats how a run ended as one line, for logs and for scripts that search them.

    demo: correctness 0.19 (50 questions, 1 failed), $0.42, 3 min: OK
    search: retrieval only (50 questions, 0 failed), $0.00, 3 s: OK
    faith: correctness 0.40 (50 questions, 0 failed, 12 judged only in part), $0.42, 3 min: PARTIAL
    down: no answers (50 questions, 50 failed: could not reach 127.0.0.1:8000), cost not known, 3 min: FAILED
    login: correctness 0.00 (50 questions, 0 failed, 50 pages of HTML), $0.42, 3 min: OK
    broken: correctness 0.40 (15 questions, 5 failed: HTTP 500), $0.42, 3 min: FAILED
    busy: correctness 0.40 (50 questions, 0 failed, 2 of 50 calls retried: 429 x 2), $0.42, 3 min: OK
    night: correctness 0.50 (50 questions, 2 failed, not read: lune.pdf), $0.42, 3 min: FAILED

The last word is `OK`, `FAILED` (the command failed, or more questions failed than allowed), `STOPPED` (the
budget was used up), `INTERRUPTED` (by a signal) or `PARTIAL` (questions were left out because documents or
answers are missing, or more answers than may fail are judged only in part).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fathoms.errors import amount_of, some_of
from fathoms.report.text import plain, shorten
from fathoms.runs.run import Run
from fathoms.runs.usage import besides_answers, total
from fathoms.text.amounts import dollars, duration, figure
from fathoms.types import Failure
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import known_cost
from fathoms.types.run.summary import Summary

_HTML = re.compile(r"not JSON but ['\"](\\[nrt]|\s)*<")
_REFUSED = re.compile("connection ?refused", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:https?://)([^\s/'\"<>]{1,200})")
_CAUSE = 60
Verdict = Literal["OK", "FAILED", "STOPPED", "INTERRUPTED", "PARTIAL"]


@dataclass(frozen=True)
class Ending:
    """The end of one run.

    `correctness` is in [0, 1], and `None` if the run was not scored or correctness does not apply. `cost` is
    in US dollars, with embedding and judging, and `None` if it is not known; with `is_local`, only a model of
    this machine is asked. `requested` and `done` count a question once for each repeat. `left_out` counts the
    questions that could not be asked, `unread` names documents that were not read, and of `unjudged` answers,
    a part has no verdict of the judge. `replies` says what is wrong with the replies as a whole: that most of
    them are no answers, and how many calls were retried. `causes` are those of the failures, the most
    frequent one first.
    """

    name: str
    verdict: Verdict
    requested: int
    done: int
    failed: int
    repeats: int = 1
    left_out: int = 0
    unread: tuple[str, ...] = ()
    unjudged: int = 0
    replies: tuple[str, ...] = ()
    causes: tuple[tuple[str, int], ...] = ()
    correctness: float | None = None
    cost: float | None = None
    seconds: float | None = None
    retrieval_only: bool = False
    is_local: bool = False

    @property
    def line(self) -> str:
        """The line, as in the example of the module."""
        score = f"correctness {figure(self.correctness)}"
        if self.failed and self.failed == self.done:
            score = "no answers"
        if self.retrieval_only:
            score = "retrieval only"
        unread = f", not read: {plain(some_of(self.unread, 3))}" if self.unread else ""
        unjudged = f", {self.unjudged} judged only in part" if self.unjudged else ""
        replies = "".join(f", {plain(what)}" for what in self.replies)
        parts = [
            f"{score} ({self._questions}, {self.failed} failed{self._why}{replies}{unjudged}{unread})",
            "local model" if self.is_local else "cost not known" if self.cost is None else dollars(self.cost),
            "time not known" if self.seconds is None else duration(self.seconds),
        ]
        return f"{plain(self.name)}: {', '.join(parts)}: {self.verdict}"

    @property
    def _why(self) -> str:
        """The causes of the failures, such as `: HTTP 500` or `: 3 HTTP 500, 2 timeout`."""
        return f": {plain(listed_causes(self.causes))}" if self.causes else ""

    @property
    def missing(self) -> str:
        """What a run that is PARTIAL lacks, as a sentence."""
        every = self.requested // self.repeats + self.left_out
        parts = [
            f"{self.left_out} of {every} questions were left out because documents or answers are missing"
            if self.left_out
            else "",
            f"documents were not read: {plain(some_of(self.unread))}" if self.unread else "",
            amount_of(self.unjudged, "answers are judged only in part") if self.unjudged else "",
        ]
        return "; ".join(filter(None, parts)) or self.line

    @property
    def _questions(self) -> str:
        """The number of questions, one of `50 questions`, `17 of 50 questions` and `50 questions x 3`."""
        times = f" x {self.repeats}" if self.repeats > 1 else ""
        every = self.requested + self.left_out * self.repeats
        if self.done < every:
            return f"{self.done} of {every} questions"
        number = self.requested // self.repeats
        return f"{number} question{'' if number == 1 else 's'}{times}"


def is_local(config: Mapping[str, Any]) -> bool:
    """Return whether a model of this machine answers in a configuration, so that no call costs money."""
    generate = config.get("generate") or {}
    if not isinstance(generate, Mapping) or generate.get("price"):
        return False
    if generate.get("kind") in ("embedded", "ollama"):  # the cost of Ollama elsewhere is not known
        return True
    address = str(generate.get("base_url"))
    if generate.get("kind") != "openai-compatible":
        return False
    # imported here, because it imports all models, which takes a third of the time of `show`
    from fathoms.models.prices import on_this_machine

    return on_this_machine(address)


def is_refused(message: str) -> bool:
    """Return whether an error is that nothing listens at an address."""
    return _REFUSED.search(message) is not None


def cause_of(failure: Failure) -> str:
    """Return why a call failed, in a few words."""
    said = failure.message
    if failure.status is not None:
        return f"HTTP {failure.status}"
    if failure.kind == "Timeout":
        return "timeout"
    if "no service is there" in said or is_refused(said):
        found = _ADDRESS.search(said)
        return f"could not reach {found[1].rstrip(':.,')}" if found else "connection refused"
    if " not JSON but " in said:
        return "HTML instead of JSON" if _HTML.search(said) else "no JSON"
    return shorten(said, _CAUSE)


def failures_of(run: Run) -> Iterator[Failure]:
    """Yield the failures of a run."""
    failed = (entry for entry in run.records.entries().values() if entry.failed)
    for record in run.records.read(failed, light=True):
        if record.error is not None:
            yield record.error


def causes_of(failures: Iterable[Failure]) -> tuple[tuple[str, int], ...]:
    """Count the causes of failed calls, the most frequent one first. A document that was not read is named by
    itself."""
    return tuple(Counter(cause_of(one) for one in failures if one.kind != "DocumentError").most_common())


def listed_causes(causes: Sequence[tuple[str, int]]) -> str:
    """List causes with their numbers, a single one without: `HTTP 500`, or `3 HTTP 500, 2 timeout`."""
    if len(causes) == 1:
        return causes[0][0]
    return some_of([f"{count} {cause}" for cause, count in causes], 3)


def ending(
    manifest: Manifest,
    summary: Summary | None,
    verdict: Verdict,
    requested: int,
    done: int,
    failures: Iterable[Failure] = (),
) -> Ending:
    """Build the end of a run from its manifest and its failures, and from its summary if it was scored."""
    # what a vendor takes for calls without a reply is not known
    answers = known_cost(manifest.totals.cost, done, manifest.totals.errors)
    besides = besides_answers(manifest, summary)
    return Ending(
        name=manifest.name or "",
        verdict=verdict,
        requested=requested,
        done=done,
        failed=manifest.totals.errors,
        repeats=manifest.repeats,
        left_out=len(manifest.data.left_out) if manifest.data.is_partial else 0,
        unread=tuple(manifest.data.ingest.failures) if manifest.data.ingest else (),
        unjudged=summary.judging.unjudged if summary and summary.judging else 0,
        replies=(*summary.counts.rubbish, *filter(None, [summary.retried])) if summary else (),
        causes=causes_of(failures),
        correctness=summary.headline.correctness if summary else None,
        cost=total([answers, besides]),
        is_local=not manifest.totals.cost
        and besides == 0
        and is_local(manifest.config)
        and (manifest.totals.cost == 0 or (manifest.config.get("generate") or {}).get("kind") == "embedded"),
        seconds=manifest.totals.seconds,
        retrieval_only=summary.retrieval_only if summary else manifest.retrieval_only,
    )
