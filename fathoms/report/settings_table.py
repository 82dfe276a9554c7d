"""The table of one pipeline in several settings (`fathoms run --settings`), after Double-Bench (Shen et al.
2025): how many answers are correct, partly correct and incorrect, and how much of the way from closed-book to
oracle retrieval wins.

By a judge's grade from 0 to 10, 7 or more is correct and 3 or less is incorrect. Where the runs have no
grade, phrase recall decides: 1 is correct and 0 is incorrect. A failed call is incorrect. Unanswerable
questions and answers without a verdict are in no row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fathoms.metrics.columns import column_of
from fathoms.metrics.correctness_judged import CORRECT, WRONG
from fathoms.metrics.pooling import pooled
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.pipeline.settings import CELL
from fathoms.report.leaderboard import bracket, figure
from fathoms.runs.reading import ScoredRun
from fathoms.runs.views import ScoredQuestion, ScoredRepeat, scored_question

KINDS = ("correct", "partial", "incorrect")
JUDGED = "correctness-judged"
_KEYS = {"language": "language", "doc_type": "document type"}
_RESAMPLES = 2_000


@dataclass(frozen=True)
class SettingsRow:
    """The answers to one group of questions in one setting: figures with `value`, `low`, `high` and `n` by
    kind."""

    group: str
    setting: str
    figures: Mapping[str, Mapping[str, Any]]

    @property
    def n(self) -> int:
        """The number of questions."""
        return int(self.figures["correct"]["n"])

    def cells(self) -> tuple[str, ...]:
        """The texts of the row: group, setting, the three shares with their intervals, and the questions."""
        shares = (self.figures[kind] for kind in KINDS)
        texts = (figure(one["value"]) + bracket(_bounds(one)) for one in shares)
        return (self.group, self.setting, *texts, str(self.n))


@dataclass(frozen=True)
class SettingsTable:
    """The rows of the runs of one sweep, all questions first, and the `notes` below them. `won` is the share
    of the distance from closed-book to oracle that retrieval wins, with its interval; `None` where it is not
    known."""

    rows: tuple[SettingsRow, ...]
    notes: tuple[str, ...]
    won: Mapping[str, float | None] | None

    HEADER = ("questions", "setting", *KINDS, "n")

    def as_json(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        rows = [{"group": row.group, "setting": row.setting, **row.figures} for row in self.rows]
        return {"rows": rows, "won_by_retrieval": self.won, "notes": list(self.notes)}


def settings_table(runs: Sequence[ScoredRun]) -> SettingsTable | None:
    """Return the table of runs that differ in their setting; `None` if they do not."""
    named = {str(run.manifest.sweep.cell[CELL]): run for run in runs if CELL in run.manifest.sweep.cell}
    if len(named) < 2 or len(named) < len(runs) or len({run.manifest.sweep.id for run in runs}) > 1:
        return None
    judged = all(JUDGED in run.summary.metrics for run in runs)
    graded = {setting: list(_graded(run, judged=judged)) for setting, run in named.items()}
    groups = dict.fromkeys(group for rows in graded.values() for one in rows for group in one.groups)
    order = sorted(groups, key=lambda group: (group[0], group[1]))
    rows = [
        row
        for group in order
        for setting, found in graded.items()
        if (row := _row(group[1], setting, [one for one in found if group in one.groups])) is not None
    ]
    by = f"by the judge's grade ({CORRECT} or more, {WRONG} or less)" if judged else "by phrase recall (1, 0)"
    notes = [f"correct and incorrect {by}; [low, high]: 95 % intervals for other questions; n: questions"]
    won, sentence = _won(graded)
    return SettingsTable(tuple(rows), (*notes, *filter(None, [sentence])), won)


Group = tuple[int, str]
"""A group of questions: its place among the kinds of groups, and its name."""


@dataclass(frozen=True)
class _Graded:
    """A question with the mean grades of its answers: the share that is correct, partly correct and
    incorrect."""

    id: str
    documents: frozenset[str]
    groups: frozenset[Group]
    shares: Mapping[str, float]


def _graded(run: ScoredRun, *, judged: bool) -> Iterator[_Graded]:
    """Yield the questions of a run that have a graded answer."""
    profile = run.profile(None)
    for view in run.views():
        question = scored_question(view)
        found = [_kind(repeat, profile, judged=judged) for repeat in question.repeats]
        known = [kind for kind in found if kind is not None]
        if known and question.question.answerable:
            shares = {kind: known.count(kind) / len(known) for kind in KINDS}
            asked = question.question
            yield _Graded(asked.id, asked.gold_documents, frozenset(_groups(question)), shares)


def _kind(repeat: ScoredRepeat, profile: str, *, judged: bool) -> str | None:
    """Return whether an answer is correct, partly correct or incorrect; `None` if it is not graded."""
    if repeat.error is not None:
        return "incorrect"
    if judged:
        score = repeat.metrics.get(JUDGED)
        if score is None or score.value is None:
            return None
        return (
            "correct" if score.value == 1 else "partial" if (score.parts or {}).get("partly") else "incorrect"
        )
    recall = repeat.scores[profile].correctness if profile in repeat.scores else None
    if recall is None:
        return None
    return "correct" if recall == 1 else "incorrect" if recall == 0 else "partial"


def _groups(view: ScoredQuestion) -> Iterator[Group]:
    """Yield the groups of a question: all, its hops, and its language, type of document and modalities."""
    question = view.question
    yield 0, "all"
    hops = max(len(gold_of(question).hops), question.hops or 1, len(question.steps))
    yield 1, "single hop" if hops == 1 else "multi hop"
    for place, (key, name) in enumerate(_KEYS.items(), start=2):
        if (value := question.metadata.get(key)) is not None:
            yield place, f"{name} {value}"
    modalities = {item.modality for item in question.evidence if item.modality}
    if not modalities and (value := question.metadata.get("modality")) is not None:
        modalities = {str(value)}
    for modality in modalities:
        yield 9, f"modality {modality}"


def _row(group: str, setting: str, graded: Sequence[_Graded]) -> SettingsRow | None:
    """Return the row of the questions of one group; `None` if there are none."""
    if not graded:
        return None
    figures = {}
    for kind in KINDS:
        scores = [("", one.documents, [one.shares[kind]]) for one in graded]
        figures[kind] = pooled(column_of(scores), "questions", "share")["overall"]
    return SettingsRow(group, setting, figures)


def _bounds(found: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval of a figure."""
    low, high = found.get("low"), found.get("high")
    return None if low is None or high is None else (low, high)


def _won(graded: Mapping[str, Sequence[_Graded]]) -> tuple[dict[str, float | None] | None, str | None]:
    """Return the share of the distance from closed-book to oracle that retrieval wins, over the questions
    that all three settings answered, with a percentile bootstrap interval over these questions, and a
    sentence on it."""
    import numpy as np

    oracle = next((name for name in ("oracle", "oracle-extract") if name in graded), None)
    if oracle is None or not {"closed-book", "rag"} <= graded.keys():
        return None, None
    names = ("closed-book", "rag", oracle)
    correct = [{one.id: one.shares["correct"] for one in graded[name]} for name in names]
    shared = sorted(set.intersection(*map(set, correct)))
    if not shared:
        return None, None
    rows = np.array([[found[id] for id in shared] for found in correct])
    low, mine, high = rows.mean(axis=1)
    if high <= low:
        return (
            None,
            f"{oracle} is not better than closed-book on {len(shared)} questions: there is nothing to win",
        )
    drawn = np.random.default_rng(0).integers(0, len(shared), (_RESAMPLES, len(shared)))
    means = rows[:, drawn].mean(axis=2)
    distance = means[2] - means[0]
    ratios = (means[1] - means[0])[distance > 0] / distance[distance > 0]
    won: dict[str, float | None] = {"value": float((mine - low) / (high - low)), "n": len(shared)}
    # where the distance can be 0, the ratio has no bounds
    bounded = len(ratios) == _RESAMPLES
    won |= dict(
        zip(
            ("low", "high"),
            np.quantile(ratios, (0.025, 0.975)).tolist() if bounded else (None, None),
            strict=True,
        )
    )
    text = figure(won["value"]) + bracket(_bounds(won))
    return won, (
        f"retrieval wins {text} of the distance from closed-book ({figure(low)}) to {oracle} ({figure(high)})"
        f" on the {len(shared)} questions that all three have"
    )
