"""Metrics of several runs of one command, as scores of questions that `fathoms gate` and `fathoms compare`
take like those of any metric.

- `position-gap`: an answer is correct with the gold at the best place, minus with the gold at the worst. Both
  places are chosen on one half of the questions, and the other half has the values (`report.positions`). The
  runs differ in `retrieve.position` alone.
- `gpd-go-gap`: an answer is correct with gold and distractors, minus with gold alone. The runs are the
  settings `gold` and `gold+distractors`.

A run has the values of the runs that were made with it and lie in the same folder. Correct is decided as in
the tables of a report: by the judge's grade where this run and all of those have one, else by phrase recall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from fathoms.compare.question_scores import GPD_GO_GAP, POSITION_GAP, MetricKind, QuestionScores, read_scores
from fathoms.errors import StoreError
from fathoms.report.graded import JUDGED, by_which, graded_questions
from fathoms.report.paired import best_and_worst
from fathoms.report.positions import PLACES, rest_of, setting_of
from fathoms.runs.finding import list_runs
from fathoms.runs.metadata import SETTING
from fathoms.runs.run import Run

UNIT = "score -1 to 1"


def read_all_scores(run: Run, profile: str | None = None) -> QuestionScores:
    """Read the scores of a run as `read_scores` does, with the metrics of the runs that were made with it."""
    scores = read_scores(run, profile)
    if setting_of(run) is None and SETTING not in run.manifest.sweep.cell:
        return scores
    together = [each for each in _runs_of_sweep(run) if scores.profile in each.summary.profiles]
    for metric, runs in ((POSITION_GAP, _by_place(run, together)), (GPD_GO_GAP, _by_setting(run, together))):
        if len(runs) > 1:
            scores = _with(scores, metric, runs)
    return scores


def _runs_of_sweep(run: Run) -> Iterator[Run]:
    """Yield the scored runs of the same command in the same folder, this one included. Runs that cannot be
    read are left out."""
    sweep = run.manifest.sweep.id
    for other in list_runs(run.path.parent) if sweep else ():
        if other.path == run.path:
            yield run
            continue
        with suppress(StoreError):
            found = Run.scored(other.path)
            if found.manifest.sweep.id == sweep and found.summary.profiles:
                yield found


def _by_place(own: Run, together: Sequence[Run]) -> dict[str, Run]:
    """Return the runs that differ from one in the place of the gold alone, by that place, first to last."""
    mine = setting_of(own)
    if mine is None or mine[1] == 0:
        return {}
    found = {
        setting[0]: run
        for run in together
        if (setting := setting_of(run)) is not None and setting[1] == mine[1] and rest_of(run) == rest_of(own)
    }
    return {place: found[place] for place in PLACES if place in found}


def _by_setting(own: Run, together: Sequence[Run]) -> dict[str, Run]:
    """Return the runs with gold alone and with distractors beside it that differ from one in their setting
    alone; none if one of them is missing."""
    found = {run.manifest.sweep.cell.get(SETTING): run for run in together if _cell(run) == _cell(own)}
    pair = ("gold", "gold+distractors")
    return {name: found[name] for name in pair} if found.keys() >= set(pair) else {}


def _cell(run: Run) -> dict[str, object]:
    """Return what distinguishes a run from the others of its command, without its setting."""
    return {key: value for key, value in run.manifest.sweep.cell.items() if key != SETTING}


def _with(scores: QuestionScores, metric: str, runs: Mapping[str, Run]) -> QuestionScores:
    """Return scores with a metric of several runs; without it if the runs have too few questions."""
    judged = JUDGED in scores.metrics and by_which(list(runs.values()))[0]
    correct = {
        name: {
            one.id: one.shares["correct"]
            for one in graded_questions(run, judged=judged, profile=scores.profile)
        }
        for name, run in runs.items()
    }
    values = dict(_values(metric, correct))
    if not values:
        return scores
    kind = scores.metrics[JUDGED] if judged else MetricKind()  # by the same rules as these
    direction = "lower" if metric == POSITION_GAP else "higher"
    failed = sum(run.summary.counts.errors or 0 for run in runs.values())
    counted = {"failed calls in its runs": failed} if failed else {}
    shares = (
        [found.share for run in runs.values() if (found := run.summary.metrics[JUDGED].judged)]
        if judged
        else []
    )
    kind = kind.model_copy(
        update={
            "direction": direction,
            "unit": UNIT,
            "counted": counted,
            "unjudged": max(shares, default=0.0),
        }
    )
    questions = {
        id: one.model_copy(update={"values": {**one.values, metric: (values[id],) if id in values else ()}})
        for id, one in scores.questions.items()
    }
    return scores.model_copy(update={"questions": questions, "metrics": {**scores.metrics, metric: kind}})


def _values(metric: str, correct: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield the value of each question that has one."""
    first, second = list(correct.values())[:2]
    ids = first.keys() & second.keys()
    if metric == POSITION_GAP:
        if (found := best_and_worst(correct)) is None:
            return
        first, second, ids = correct[found.worst], correct[found.best], set(found.on)
    for id in ids:
        yield id, second[id] - first[id]
