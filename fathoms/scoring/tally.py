"""Adds up the records of a run one by one, keeping only what its summary needs of them."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from fathoms.metrics.columns import packed, renumbered, unpacked
from fathoms.metrics.question_facts import BareQuestion, BareRecord, NumberedQuestions
from fathoms.metrics.score_records import BareScores, RecordScore
from fathoms.runs.usage import Sums
from fathoms.types import Failure, Record, Reply, ServiceReply

ENOUGH = 5
"""Of fewer answers, nobody can say that too many are the same."""
_PAGE = re.compile(r"<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]", re.IGNORECASE)


class Tally:
    """What the summary of a run needs of its records.

    `questions` are those of the records. Equal scores of records are stored once. `counts` are counts of
    records; its `unlabelled` are answers without an abstention label. `retries` counts the requests that were
    sent again, by cause. `stages` are the stages that any record has, `seconds` their times, without answers
    from the cache, and `timed` the number of the question of each time. `services` holds what the replies of
    a service say about it, with the time of each.
    """

    def __init__(self, questions: NumberedQuestions | None = None) -> None:
        self.questions = NumberedQuestions() if questions is None else questions
        self.counts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.retries: Counter[str] = Counter()
        self.sums = Sums()
        self.seconds: dict[str, array[float]] = {}
        self.timed: dict[str, array[int]] = {}
        self.stages: set[str] = set()
        self.services: list[tuple[str, ServiceReply]] = []
        self._numbers = array("i")
        self._failures: dict[int, Failure] = {}
        self._bare = BareScores()
        self._scores = array("i")
        self._said, self._golds = array("Q"), array("Q")

    def __len__(self) -> int:
        return len(self._numbers)

    def without(
        self, left_out: Collection[str]
    ) -> tuple[list[BareRecord], tuple[dict[str, RecordScore], ...]]:
        """Return the records in the order in which they were added, and the scores of each by profile,
        reduced to its figures; those of some questions are left out."""
        failures = self._failures
        plain: dict[int, BareRecord] = {}
        records, scores = [], []
        for index, number in enumerate(self._numbers):
            if left_out and self.questions[number].id in left_out:
                continue
            scores.append(self._bare.rows[self._scores[index]])
            if index in failures:
                records.append(BareRecord(self.questions[number], failures[index]))
                continue
            if number not in plain:
                plain[number] = BareRecord(self.questions[number])
            records.append(plain[number])
        return records, tuple(scores)

    def add(self, record: Record, row: Mapping[str, RecordScore]) -> None:
        """Add a record with its scores by profile."""
        answer, counts = record.answer, self.counts
        if record.error is not None:
            self._failures[len(self)] = record.error
            self.errors[record.error.kind] += 1
        number = self.questions.number(record.question)
        self._numbers.append(number)
        self._scores.append(self._bare.number(row))
        self.sums.add(record)
        self._add_calls(record)
        if record.prompt is not None and record.prompt.cuts:
            counts["cut_prompts"] += 1
        if answer is not None:
            counts["answered"] += 1
            counts["refused"] += answer.refusal is not None
            counts["cut_by_server"] += bool(answer.prompt_cut)
            counts["lacks_mark"] += answer.lacks_mark
            counts["cached"] += answer.cached
            counts["reasoned"] += bool(answer.reasoning or answer.usage.reasoning_tokens)
            self._add_text(record, answer, row)
            if "fathoms" in row and row["fathoms"].abstention is None:
                counts["unlabelled"] += 1
            if record.service is not None:
                self.services.append((record.finished or "", record.service))
        counts["searched"] += record.only_searched
        counts["unread"] += any(call.unread for call in record.calls)
        if not (timings := record.timings):
            return
        self.stages.update(timings)
        if answer is None or not answer.cached:
            for stage, seconds in {**timings, "total": sum(timings.values())}.items():
                if stage not in self.seconds:
                    self.seconds[stage], self.timed[stage] = array("d"), array("i")
                self.seconds[stage].append(seconds)
                self.timed[stage].append(number)

    def _add_calls(self, record: Record) -> None:
        """Count the calls that a record took, the answer being one of them, and those that were retried."""
        parts = record.prompt.parts if record.prompt else ()
        if not (parts or record.calls or record.retries):  # as most
            self.counts["calls"] += record.attempts > 0
            self.counts["retried"] += record.attempts > 1
            self.counts["documents_failed"] += 0
            return
        requests = 1 + sum(part.document is None for part in parts)
        self.counts["documents_failed"] += any(part.error for part in parts)
        calls = [
            (record.attempts, requests, record.retries),
            *((c.attempts, 1, c.retries) for c in record.calls),
        ]
        for attempts, requests, causes in calls:
            self.counts["calls"] += attempts > 0
            self.counts["retried"] += bool(causes) or attempts > requests
            self.retries.update(causes)

    def _add_text(self, record: Record, answer: Reply, row: Mapping[str, RecordScore]) -> None:
        """Count what nobody would call an answer: an empty text, or a page of markup. Of other texts, what is
        needed to find those that are the same is kept."""
        text = answer.text.strip()
        label = row["fathoms"].abstention if "fathoms" in row else None
        if answer.refusal is not None:
            return
        self.counts["unended"] += answer.stop_reason is None
        if label == "empty" or not text:
            self.counts["empty"] += 1
            return
        self.counts["markup"] += text.startswith("<") and _PAGE.search(text, 0, 1_000) is not None
        gold = "\n".join(sorted(str(variant) for variant in record.question.answers))
        self._said.append(_digest(" ".join(text.split()).casefold()))
        self._golds.append(_digest(gold))

    def same(self) -> int | None:
        """Return how many answers are the most frequent text, in whatever case and spacing, among the texts
        that answer questions of which no gold answer is that of half or more; `None` of too few answers."""
        if self.counts["answered"] < ENOUGH:
            return None
        often = {said: count for said, count in Counter(self._said).items() if count > 1}
        golds: dict[int, Counter[int]] = {said: Counter() for said in often}
        for said, gold in zip(self._said, self._golds, strict=True):
            if said in golds:
                golds[said][gold] += 1
        return max((n for said, n in often.items() if 2 * max(golds[said].values()) < n), default=0)

    def state(self) -> dict[str, Any]:
        """Return everything that was added as JSON values, for `extend`."""
        return {
            "questions": [
                (one.id, one.category, one.answerable, sorted(one.gold_documents)) for one in self.questions
            ],
            "counts": self.counts,
            "errors": self.errors,
            "sums": self.sums.state(),
            "seconds": {stage: packed(values) for stage, values in self.seconds.items()},
            "timed": {stage: packed(found) for stage, found in self.timed.items()},
            "stages": sorted(self.stages),
            "services": [(time, reply.model_dump(mode="json")) for time, reply in self.services],
            "numbers": packed(self._numbers),
            "failures": [(index, one.model_dump(mode="json")) for index, one in self._failures.items()],
            "rows": [
                {name: score.model_dump(mode="json") for name, score in row.items()}
                for row in self._bare.rows
            ],
            "scores": packed(self._scores),
            "retries": self.retries,
            "said": packed(self._said),
            "golds": packed(self._golds),
        }

    def extend(self, state: Mapping[str, Any]) -> Sequence[int]:
        """Add what another process has added up; returns the numbers that its questions have here."""
        shared = self.questions.sets.shared
        numbers = [
            self.questions.number(BareQuestion(id, category, answerable, shared(frozenset(documents))))
            for id, category, answerable, documents in state["questions"]
        ]
        before = len(self)
        self._failures |= {before + index: Failure.model_validate(one) for index, one in state["failures"]}
        self._numbers += renumbered(state["numbers"], self._numbers, numbers)
        rows = [
            self._bare.number({name: RecordScore.model_validate(score) for name, score in row.items()})
            for row in state["rows"]
        ]
        self._scores += renumbered(state["scores"], self._scores, rows)
        self.counts.update(state["counts"])
        self.errors.update(state["errors"])
        self.retries.update(state["retries"])
        self._said += unpacked(state["said"], self._said)
        self._golds += unpacked(state["golds"], self._golds)
        self.sums.extend(state["sums"])
        for stage, values in state["seconds"].items():
            seconds = self.seconds.setdefault(stage, array("d"))
            seconds += unpacked(values, seconds)
            timed = self.timed.setdefault(stage, array("i"))
            timed += renumbered(state["timed"][stage], timed, numbers)
        self.stages.update(state["stages"])
        self.services += [(time, ServiceReply.model_validate(reply)) for time, reply in state["services"]]
        return numbers


def _digest(text: str) -> int:
    """Return a number for a text that is the same in every process."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())
