"""Scores a run by the questions of a later one beside it, so that the two can be compared.

The answers, verdicts and documents are those of the run; its scores stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fathoms.compare.question_scores import QuestionScores, read_scores
from fathoms.errors import UsageError
from fathoms.judges.journal import NAME
from fathoms.metrics.metric import Metric
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.registry import named
from fathoms.paths import temporary_folder
from fathoms.runs.folder import link_file, read_file, write_file
from fathoms.runs.run import Run, read_summary
from fathoms.runs.writing import locked
from fathoms.scoring.gold import NewGold
from fathoms.scoring.measures import read_measures
from fathoms.scoring.run import score_run
from fathoms.text.ids import looks_derived
from fathoms.types.run.summary import NewQuestions, Summary

_JUDGED = f"verdicts/{NAME}"
_NOT_COPIED = ("questions", ".lock", ".writer")


def rescored(run: Run, newest: Run, profile: str | None = None) -> tuple[QuestionScores, NewQuestions]:
    """Return the scores of a run by the questions of the `newest` one, and what differs between these.

    Verdicts of a judge that the run does not hold are obtained, and added to those that it holds. Raises
    DataError if the runs have no question in common, and UsageError as `score_run` does.
    """
    before = read_summary(run.path) or Summary()
    headline = profile or before.profile
    settings = [f"profile={headline}"] if headline in {one.name for one in PROFILES} else []
    with locked(run), _copied(run) as copy:
        summary = score_run(copy, settings, _requested_metrics(run, before), gold=_gold(newest))
        scores = read_scores(copy, profile)
    assert summary.questions is not None
    return scores.model_copy(update={"runs": (run.id,)}), summary.questions


def _requested_metrics(run: Run, summary: Summary) -> list[Metric]:
    """Return the metrics by which a run was scored on request. Those of a user's function are left out,
    because a summary does not say where the function is."""
    own = {metric.name for metric in read_measures(run.manifest).metrics}
    found: list[Metric] = []
    for name, figures in summary.metrics.items():
        if figures.asked and name not in own:
            with suppress(UsageError):
                found += named([name])
    return found


def _gold(run: Run) -> NewGold:
    """Return the questions of a run as it was scored last."""
    scored = Run.scored(run.path)
    data = scored.manifest.data
    said = (scored.summary.questions or data).written_ids
    questions = [view.question for view in scored.questions()]
    derived = [
        one.id
        for one in questions
        if not (said or (said is None and not looks_derived(one.id, one.category)))
    ]
    version = scored.summary.questions.sha256 if scored.summary.questions else data.questions_sha256
    return NewGold(run.id, version or "", questions, derived)


@contextmanager
def _copied(run: Run) -> Iterator[Run]:
    """Give a copy of a run without its question files, beside the documents that it shares with others. New
    verdicts of the copy become those of the run."""
    with temporary_folder(run.path.parent) as folder:
        copy = Run(folder)
        copy.id = run.id
        for path in run.path.rglob("*"):
            name = path.relative_to(run.path)
            if name.parts[0] not in _NOT_COPIED and path.is_file() and not path.is_symlink():
                link_file(folder, str(name), path)
        yield copy
        there, new = run.path / _JUDGED, folder / _JUDGED
        # where both are one file, what was added to one is in the other already
        if new.exists() and not (there.exists() and new.samefile(there)):
            write_file(run.path, _JUDGED, read_file(folder, _JUDGED))
