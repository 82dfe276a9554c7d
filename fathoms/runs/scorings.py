"""The earlier scorings of a run: the summaries and scores by other versions of its questions, in `scorings/`.

A run is scored by one version of its questions at a time, that of `summary.json`. When another version takes
its place, the summary and the table of scores before are kept under the sha256 of its question file. Such a
scoring is a run of its own for comparisons: `RUN@SCORING`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path

from fathoms.errors import StoreError, UsageError
from fathoms.runs.folder import read_file, read_part, write_file
from fathoms.runs.order import is_run
from fathoms.runs.run import Run, read_manifest, read_summary
from fathoms.runs.score_table import ScoreTable, copy_table, read_copied_table
from fathoms.text.amounts import figure
from fathoms.types.run.part import Json
from fathoms.types.run.rows import BriefQuestion
from fathoms.types.run.summary import Summary

FOLDER = "scorings"
OWN = "own"
"""The version of the questions of a run that does not say which question file it was made with."""
_SHORTEST = 4
"""The fewest digits of a hash that name a scoring."""
_NAME = re.compile(r"([0-9a-f]{64}|own)\.json")


def version_of(run_dir: Path, summary: Summary) -> str:
    """Return which version of the questions a run was scored by: the sha256 of the question file."""
    own = read_manifest(run_dir).data.questions_sha256
    found = f"{(summary.questions.sha256 if summary.questions else own) or OWN}.json"
    return found.removesuffix(".json") if _NAME.fullmatch(found) else OWN


def keep_scoring(run_dir: Path, new: Summary) -> None:
    """Keep the summary of a run, and its scores, which others are about to replace, where these are by
    another version of the questions."""
    before = read_summary(run_dir)
    if before is not None and (version := version_of(run_dir, before)) != version_of(run_dir, new):
        write_file(run_dir, f"{FOLDER}/{version}.json", read_file(run_dir, "summary.json"))
        copy_table(run_dir, f"{FOLDER}/{version}")


def earlier_scorings(run_dir: Path) -> dict[str, Summary]:
    """Return the summaries by other versions of the questions than the current one, by version."""
    if not os.path.lexists(run_dir / FOLDER):
        return {}
    summary = read_summary(run_dir)
    current = f"{version_of(run_dir, summary)}.json" if summary else ""
    names = [path.name for path in sorted((run_dir / FOLDER).iterdir()) if _NAME.fullmatch(path.name)]
    return {
        name.removesuffix(".json"): read_part(run_dir, f"{FOLDER}/{name}", Summary)
        for name in names
        if name != current
    }


def open_scored(reference: str, out: Path) -> Run:
    """Find a run as `Run.open` does, or after `@` and a version of its questions, the run as that version
    scored it. Raises UsageError where there is none."""
    before, _, scoring = reference.rpartition("@")
    if not before or is_run(Path(reference)) or is_run(out / reference):
        return Run.open(reference, out)
    return scored_by(Run.open(before, out), scoring)


def scored_by(run: Run, wanted: str) -> Run:
    """Return a run as another version of its questions scored it. That is named by its question file, by the
    beginning of the file's sha256, or `own` for the questions that the run was made with.

    Raises UsageError where there is no such scoring, or are several.
    """
    known = earlier_scorings(run.path)
    current = version_of(run.path, run.summary)
    known[current] = run.summary
    found = [
        version
        for version, summary in known.items()
        if wanted == (summary.questions.file if summary.questions else OWN)
        or (len(wanted) >= _SHORTEST and version.startswith(wanted))
    ]
    if len(found) != 1:
        listed = ", ".join(f"{_file(summary)} ({version[:12]})" for version, summary in known.items())
        why = "several scorings" if found else "no scoring"
        raise UsageError(f"{run.id} has {why} called '{wanted}'; it was scored by {listed}")
    (version,) = found
    return run if version == current else EarlierScoring(run.path, version, known[version])


class EarlierScoring(Run):
    """A run as another version of its questions scored it: its figures and its scores, without what the files
    of the questions say of each answer."""

    def __init__(self, path: Path, version: str, summary: Summary) -> None:
        super().__init__(path, summary=summary, views=self.no_questions)
        self.id = f"{path.name}@{version[:12]}"
        self.version = version

    @property
    def original_id(self) -> str:
        """The id of the run, with the version."""
        return self.id

    @cached_property
    def scores(self) -> ScoreTable:
        """The scores of all answers; raises StoreError where an earlier fathoms did not keep them."""
        if (found := read_copied_table(self.path, f"{FOLDER}/{self.version}")) is None:
            raise StoreError(
                f"{self.id}: the scores of its questions are not there, only its figures: 'fathoms score"
                f" {self.path.name} --questions {_file(self.summary)}' makes them"
            )
        return found

    def some_questions(self, ids: Collection[str]) -> dict[str, BriefQuestion]:
        """Return nothing: what is there of the questions is their scores."""
        return {}

    def no_questions(self) -> Iterator[Json]:
        """Raise UsageError, in place of what the files of the questions say."""
        raise UsageError(
            f"{self.id} is an earlier scoring, which has only figures and scores: 'fathoms score"
            f" {self.path.name} --questions {_file(self.summary)}' makes it the present one"
        )


def _file(summary: Summary) -> str:
    """The question file of a scoring."""
    return (summary.questions.file if summary.questions else None) or OWN


def scoring_sentence(version: str, summary: Summary) -> str:
    """Say by which questions an earlier scoring was made, and what came of it."""
    by = summary.questions.file if summary.questions else None
    means = summary.profiles[summary.profile].overall if summary.profile in summary.profiles else None
    figures = [
        f"{metric} {figure(value)}"
        for metric in ("correctness", "hallucination")
        if means and (value := means.mean(metric)) is not None
    ]
    which = f" ({version[:12]})" if version != OWN else ""
    return f"scored before by {by or 'its own questions'}{which}: {', '.join(figures) or 'no figures'}"
