"""Reads one run from start to end, one question at a time, into index rows, details and totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import ceil, floor
from statistics import fmean
from typing import Any

from fathoms.report.html.chunks import Details
from fathoms.report.html.claims import ClaimCounts
from fathoms.report.html.detail import Pictures, background, detail
from fathoms.report.html.questions import Questions
from fathoms.report.html.texts import start
from fathoms.report.metrics_table import is_shown, page_metrics
from fathoms.report.text import gold
from fathoms.runs.disagreements import disagreements
from fathoms.runs.question_tables import QuestionTables, mean
from fathoms.runs.run import Run
from fathoms.runs.views import scored_question
from fathoms.text.amounts import figure
from fathoms.types.run.part import Json
from fathoms.types.run.rows import AnswerScores, ScoredQuestion, ScoredRepeat

ANSWER = 280
EXAMPLE = 500
DISAGREEMENTS = 100
"""The most answers of a run that are listed because phrase recall and a judge differ."""
COLUMNS = ("correctness", "hallucination", "outcome", "lost", "answer")
FAILED = ("wrong", "abstained", "partial", "answered the unanswerable", "error", "refused")
"""The outcomes of questions that were not answered rightly, the most telling first."""
TELLING = 5
"""The most failed questions of a run that the first screen shows."""
_CONTEXT = ("hits", "rounds", "tools", "prompt", "calls")
"""The keys of a repeat that the index does not need, and that take most of the time of reading a question."""


@dataclass
class Sums:
    """What is collected over the answers of a run: times, costs and errors.

    Times are in seconds and leave out answers from the cache; costs are in US dollars, `None` if not known.
    `errors` maps each kind to its number and first message.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    whole: list[float] = field(default_factory=list)
    first_token: list[float] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, repeat: ScoredRepeat) -> None:
        """Add one answer or failure."""
        if error := repeat.error:
            count, example = self.errors.get(error.kind, (0, start(error.message, EXAMPLE)))
            self.errors[error.kind] = (count + 1, example)
        if answer := repeat.answer:
            self.costs.append(answer.cost)
            if answer.first_token is not None and not answer.cached:
                self.first_token.append(answer.first_token)
        taken = seconds_of(repeat)
        if taken is not None:
            self.whole.append(taken)
            for stage, value in repeat.timings.items():
                self.seconds.setdefault(stage, []).append(value)

    def remove(self, repeat: ScoredRepeat) -> None:
        """Take out an answer or failure that was added before."""
        if error := repeat.error:
            count, example = self.errors.pop(error.kind)
            if count > 1:
                self.errors[error.kind] = (count - 1, example)
        if answer := repeat.answer:
            self.costs.remove(answer.cost)
            if answer.first_token is not None and not answer.cached:
                self.first_token.remove(answer.first_token)
        taken = seconds_of(repeat)
        if taken is not None:
            self.whole.remove(taken)
            for stage, value in repeat.timings.items():
                self.seconds[stage].remove(value)


class IndexedRun:
    """The index rows of one run, collected question by question.

    `rows` maps a question's place to its columns, the values of `COLUMNS` and then those of the `further`
    metrics; `numbers` maps it to its chunk's number. `sums` and `claims` are over all answers.
    """

    def __init__(self, run: Run, profile: str, questions: Questions) -> None:
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.numbers: dict[int, int] = {}
        self.sums = Sums()
        self.claims = ClaimCounts()
        shown = page_metrics(run, profile).items()
        self.further = tuple(name for name, found in shown if is_shown(run, name, found))
        self.disagreements: list[dict[str, Any]] = []
        self._run, self._profile, self._questions = run, profile, questions

    def add(
        self,
        view: ScoredQuestion,
        new: Sequence[ScoredRepeat] | None = None,
        old: Sequence[ScoredRepeat] = (),
    ) -> tuple[str, int]:
        """Add a question, and return its id in this report and its place. A question that was added before is
        replaced; `new` are those of its repeats that are not in the sums yet, by default all, and `old` are
        those in the sums that no longer count, because the question was asked again."""
        name, place = self._questions.place(view.question, self._run)
        for repeat in old:
            self.sums.remove(repeat)
        for repeat in view.repeats if new is None else new:
            self.sums.add(repeat)
        self.rows[place] = self._row(view)
        self.claims.add(place, view.repeats)
        for found in disagreements(view, self._profile):
            if len(self.disagreements) < DISAGREEMENTS:
                self.disagreements.append(
                    {
                        "id": name,
                        "answer": start(found.answer, ANSWER),
                        "gold": start(gold(view.question), ANSWER),
                        "correctness": figure(found.correctness),
                        "judged": figure(found.judged),
                    }
                )
        return name, place

    def _row(self, view: ScoredQuestion) -> tuple[Any, ...]:
        """Return the columns of a question, in the order of COLUMNS; scores are means over the repeats."""
        scores = [repeat.under(self._profile) for repeat in view.repeats]
        answers = [repeat.answer for repeat in view.repeats if repeat.answer]
        return (
            rounded(mean([row.correctness for row in scores])),
            rounded(mean([row.hallucination for row in scores])),
            outcome(view, scores),
            lost_at(scores),
            start(answers[0].text, ANSWER) if answers else None,
            *(rounded(mean(view.values(metric, self._profile))) for metric in self.further),
        )

    def standing(self) -> dict[str, Any]:
        """Return how many of the answerable questions were answered fully right, how many questions each
        stage lost most of, and a few failures: those of the worst stage first, of each category in turn."""
        rows = {place: dict(zip(COLUMNS, row, strict=False)) for place, row in self.rows.items()}
        questions = {place: self._questions.row(place) for place in rows}
        failed = [place for place, row in rows.items() if row["outcome"] in FAILED]
        lost = Counter(row["lost"] for place in failed if (row := rows[place])["lost"])
        worst = max(lost, key=lost.__getitem__, default=None)

        def telling(place: int) -> tuple[bool, int]:
            return rows[place]["lost"] != worst, FAILED.index(rows[place]["outcome"])

        seen: Counter[str] = Counter()
        turns = {}
        for place in sorted([place for place in failed if place in self.numbers] or failed, key=telling):
            turns[place] = (telling(place)[0], seen[questions[place]["category"]])
            seen[questions[place]["category"]] += 1
        shown = ("outcome", "lost", "answer")
        return {
            "right": sum(row["outcome"] == "correct" for row in rows.values()),
            "answerable": sum(row["answerable"] is not False for row in questions.values()),
            "failed": len(failed),
            "lost": dict(lost),
            "telling": [
                {**questions[place], **{name: rows[place][name] for name in shown}}
                for place in sorted(turns, key=turns.__getitem__)[:TELLING]
            ],
        }

    def columns(self, order: Sequence[int]) -> dict[str, Any]:
        """Return the run's part of the index.

        A question that the run was not asked has `None` in every column and -1 as its chunk.
        """
        nothing = (None,) * (len(COLUMNS) + len(self.further))
        rows = [self.rows.get(place, nothing) for place in order]
        columns: dict[str, Any] = {name: [row[number] for row in rows] for number, name in enumerate(COLUMNS)}
        columns["metrics"] = {
            name: [row[number] for row in rows] for number, name in enumerate(self.further, len(COLUMNS))
        }
        if self.claims.by_question:
            columns["claims"] = [self.claims.by_question.get(place) for place in order]
        return columns | {"detail": [self.numbers.get(place, -1) for place in order]}


def index_run(
    run: Run,
    profile: str,
    questions: Questions,
    details: Details,
    pictures: Pictures,
    chosen: Collection[str] | None = None,
) -> IndexedRun:
    """Read all questions of a run once, add the details of those `chosen`, by default of all, to `details`,
    and collect the lines of the run's table of questions."""
    indexed, of = IndexedRun(run, profile, questions), background(run, profile, pictures)
    tables = QuestionTables(profile, run.summary.metrics)
    for view in run.views():
        if chosen is not None and view["question"]["id"] not in chosen:
            question = light_question(view)
            indexed.add(question)
        else:
            question = scored_question(view)
            name, place = indexed.add(question)
            shown = detail(question, details.pool, of)
            indexed.numbers[place] = details.add(name, whole_detail(run, question, name, shown))
        tables.add(question)
    details.close()
    run.tables[profile] = tables
    return indexed


def light_question(view: Json) -> ScoredQuestion:
    """Convert a question without what its index does not need, which takes half the time."""
    for repeat in view["repeats"]:
        for name in _CONTEXT:
            repeat.pop(name, None)
    return scored_question(view)


def whole_detail(run: Run, view: ScoredQuestion, name: str, shown: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a question with its id in the report and the file of the run that has it."""
    file = run.question_file(view.question.id)
    return {"id": name, **shown, "file": f"questions/{file.name}"}


def seconds_of(repeat: ScoredRepeat) -> float | None:
    """Return how many seconds an answer took: the sum of its stages, or else the latency of the reply.

    It is `None` for a reply from the cache, or if neither is known.
    """
    answer = repeat.answer
    if answer and answer.cached:
        return None
    if repeat.timings:
        return sum(repeat.timings.values())
    return answer.latency if answer else None


def known_mean(values: Sequence[float | None]) -> float | None:
    """Return the mean, or `None` if any value is not known."""
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def spread(values: Sequence[float]) -> dict[str, Any] | None:
    """Return the mean, median, 95th percentile and number of some values; `None` without values.

    Percentiles are interpolated linearly (Hyndman & Fan 1996, type 7).
    """
    if not values:
        return None
    ordered = sorted(values)
    return {
        "mean": rounded(fmean(ordered)),
        "p50": rounded(quantile(ordered, 0.5)),
        "p95": rounded(quantile(ordered, 0.95)),
        "n": len(ordered),
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile of sorted values, interpolated linearly."""
    at = (len(ordered) - 1) * share
    low, high = ordered[floor(at)], ordered[ceil(at)]
    return low + (high - low) * (at - floor(at))


def rounded(value: float | None) -> float | None:
    """Round to seven decimal places, which is more than the page shows and halves the size."""
    return None if value is None else round(value, 7)


def outcome(view: ScoredQuestion, scores: Sequence[AnswerScores]) -> str:
    """Return the outcome of a question; `scores` holds those of each repeat under one profile.

    If repeats disagree, correctness is their mean, and the question counts as abstained if at least half of
    the repeats with a known abstention label abstained.
    """
    if all(repeat.only_searched for repeat in view.repeats):
        return "only searched for"
    if all(repeat.error for repeat in view.repeats):
        return "error"
    if all(repeat.answer.refusal is not None for repeat in view.repeats if repeat.answer):
        return "refused"
    correctness = mean([row.correctness for row in scores])
    abstained = mean([row.abstained for row in scores])  # the share of repeats with a known label
    if not view.question.answerable:
        if abstained is None:
            return "not scored"
        return "right to abstain" if abstained >= 0.5 else "answered the unanswerable"
    if correctness is None:  # for example a gold answer that is only a text
        return "abstained" if abstained is not None and abstained >= 0.5 else "not scored"
    if correctness == 0:
        return "abstained" if abstained is not None and abstained >= 0.5 else "wrong"
    return "correct" if correctness == 1 else "partial"


def lost_at(scores: Sequence[AnswerScores]) -> str | None:
    """Return the stage that lost most of the gold answer, the earliest if several tie; `None` if nothing was
    lost or no funnel is known."""
    losses: dict[str, float] = {}
    for row in scores:
        for stage, value in row.funnel.lost.items() if row.funnel else ():
            losses[stage] = losses.get(stage, 0.0) + value
    worst = max(losses, key=losses.__getitem__, default=None)
    return worst if worst is not None and losses[worst] > 0 else None
