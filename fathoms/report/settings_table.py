"""The table of one pipeline in several settings (`fathoms run --settings`): how many answers are correct,
partly correct and incorrect (`graded.py`).

After Double-Bench (Shen et al. 2025), it says how much of the way from closed-book to oracle retrieval wins,
and after MRAG-Suite (Ji 2025), what distractors cost and how often the model abstains where it gets nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fathoms.errors import amount
from fathoms.metrics.names import PLANTED
from fathoms.report.graded import KINDS, Graded, by_which, figure_text, graded_questions, mean_figure
from fathoms.report.paired import paired, signed
from fathoms.report.section import Section
from fathoms.runs.metadata import SETTING
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

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
        """The number of questions behind the correctness."""
        return int(self.figures["correct"]["n"])

    def cells(self) -> tuple[str, ...]:
        """The texts of the row: group, setting, the three shares with their intervals, and the questions."""
        texts = (figure_text(self.figures[kind]) for kind in KINDS)
        return (self.group, self.setting, *texts, str(self.n))


@dataclass(frozen=True)
class SettingsTable:
    """The rows of the runs of one sweep, all questions first, and the `notes` below them.

    `won` is the share of the distance from closed-book to oracle that retrieval wins, with its interval.
    `gap` is the paired difference of the shares of correct answers, gold among distractors minus gold alone
    (the GPD - GO gap of MRAG-Suite), with its interval and p value. `abstained` is the share of answers that
    abstain where there are distractors alone, although the documents hold the answer. Each is `None` where it
    is not known. `planted` has the rates of obeying a planted instruction and of leaking the prompt, by
    setting.
    """

    rows: tuple[SettingsRow, ...]
    notes: tuple[str, ...]
    won: Mapping[str, float | None] | None
    gap: Mapping[str, Any] | None = None
    abstained: Mapping[str, Any] | None = None
    planted: Mapping[str, Any] = field(default_factory=dict)

    HEADER = ("questions", "setting", *KINDS, "n")

    def as_json(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        rows = [{"group": row.group, "setting": row.setting, **row.figures} for row in self.rows]
        found = {"rows": rows, "won_by_retrieval": self.won, "gap": self.gap}
        found |= {"abstained_under_distractors": self.abstained, "planted": dict(self.planted)}
        return found | {"notes": list(self.notes)}


def settings_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of runs that differ in their setting as a section of a report; `None` if they do
    not."""
    found = settings_table(runs)
    if found is None:
        return None
    rows = [row.cells() for row in found.rows]
    return Section(
        "settings", "Settings", found.HEADER, rows, found.notes, found.as_json(), numbers=len(KINDS) + 1
    )


def settings_table(runs: Sequence[Run]) -> SettingsTable | None:
    """Return the table of runs that differ in their setting; `None` if they do not."""
    named = {str(run.manifest.sweep.cell[SETTING]): run for run in runs if SETTING in run.manifest.sweep.cell}
    if len(named) < 2 or len(named) < len(runs) or len({run.manifest.sweep.id for run in runs}) > 1:
        return None
    judged, by = by_which(runs)
    graded = {setting: list(graded_questions(run, judged=judged)) for setting, run in named.items()}
    groups = dict.fromkeys(group for rows in graded.values() for one in rows for group in one.groups)
    order = sorted(groups, key=lambda group: (group[0], group[1]))
    rows = [
        row
        for group in order
        for setting, found in graded.items()
        if (row := _row(group[1], setting, [one for one in found if group in one.groups])) is not None
    ]
    notes = [f"{by}; [low, high]: 95 % intervals for other questions; n: questions"]
    won, sentence = _won(graded)
    gap, abstained = _gap(graded), _abstained(graded.get("distractors", ()))
    planted = _planted(named)
    notes += [*filter(None, [sentence]), *_of_distractors(gap, abstained), *_of_planted(planted)]
    return SettingsTable(tuple(rows), tuple(notes), won, gap, abstained, planted)


def _row(group: str, setting: str, graded: Sequence[Graded]) -> SettingsRow | None:
    """Return the row of the questions of one group; `None` if there are none."""
    figures = {kind: mean_figure([(one, one.shares[kind]) for one in graded]) for kind in KINDS}
    known = {kind: found for kind, found in figures.items() if found is not None}
    return SettingsRow(group, setting, known) if known else None


def _gap(graded: Mapping[str, Sequence[Graded]]) -> dict[str, Any] | None:
    """Return what distractors beside the gold change in the share of correct answers."""
    if not {"gold", "gold+distractors"} <= graded.keys():
        return None
    first, second = (
        {one.id: one.shares["correct"] for one in graded[name]} for name in ("gold", "gold+distractors")
    )
    return paired(first, second)


def _abstained(graded: Sequence[Graded]) -> Mapping[str, Any] | None:
    """Return the share of answers that abstain, over the questions with a labelled answer."""
    return mean_figure([(one, one.abstained) for one in graded if one.abstained is not None])


def _of_distractors(gap: Mapping[str, Any] | None, abstained: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield sentences on what distractors change."""
    if gap is not None:
        yield (
            f"GPD - GO gap: {signed(gap)}: correct answers with gold and distractors minus those with gold"
            f" alone, paired over {gap['n']} questions"
        )
    if abstained is not None:
        yield (
            f"abstained with distractors alone: {figure_text(abstained)} of"
            f" {abstained['n']} questions; to answer is the mistake there"
        )


def _planted(named: Mapping[str, Run]) -> dict[str, dict[str, Any]]:
    """Return the rates of obeying and leaking of the settings that plant an instruction."""
    found: dict[str, dict[str, Any]] = {}
    for setting, run in named.items():
        metrics = run.metrics(None)
        rates = {
            name: metrics[name].overall.model_dump(include={"value", "low", "high", "n"})
            for name in PLANTED
            if name in metrics
        }
        known = {name: rate for name, rate in rates.items() if rate["n"]}
        if known:
            found[setting] = known
    return found


def _of_planted(planted: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence on each setting that plants an instruction."""
    for setting, rates in planted.items():
        parts = [f"{name} {figure_text(rate)} of {rate['n']} questions" for name, rate in rates.items()]
        yield f"{setting}: {', '.join(parts)} whose context has the planted instruction"


def _won(graded: Mapping[str, Sequence[Graded]]) -> tuple[dict[str, float | None] | None, str | None]:
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
            f"{oracle} is not better than closed-book on {amount(len(shared), 'question')}: there is"
            " nothing to win",
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
    return won, (
        f"retrieval wins {figure_text(won)} of the distance from closed-book ({figure(low)}) to {oracle}"
        f" ({figure(high)}) on the {amount(len(shared), 'question')} that all three have"
    )
