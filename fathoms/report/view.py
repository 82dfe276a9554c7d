"""Reads a scored run from disk as plain JSON values, for the reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, StoreError, UsageError
from fathoms.runs.folder import read_checked
from fathoms.runs.views import read_views, require_all, view_names


@dataclass(frozen=True)
class RunView:
    """One scored run.

    `questions` is a function that reads the question views from disk one by one, again at every call.
    `reviews` are rating files outside the run's folder.
    """

    run: str
    path: Path | None
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    questions: Callable[[], Iterable[dict[str, Any]]]
    reviews: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The name given in the configuration, or the run's id if there is none."""
        return str(self.summary.get("name") or self.manifest.get("name") or self.run)

    @property
    def model(self) -> str | None:
        """The model that answered, `None` if the run does not say."""
        model = self.summary.get("model")
        return None if model is None else str(model)

    @property
    def pipeline(self) -> str:
        """The pipeline regardless of the model, as named by the importer of published results, or the run's
        name."""
        return str(self.manifest.get("pipeline") or self.name)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the data set in its own order, including those that were not asked."""
        return tuple(map(str, self.summary.get("categories") or ()))

    @property
    def ingest(self) -> Mapping[str, Any]:
        """What came of reading the documents: counts, and `warnings` and `failures` by document. Empty if
        none were read."""
        return (self.manifest.get("data") or {}).get("ingest") or {}

    def profile(self, scores: str | None = None) -> str:
        """Return `scores`, or with `None` the run's headline profile.

        Raises UsageError if `scores` is not the name of a profile, and DataError if the run was not scored
        under it.
        """
        profiles = self.summary.get("profiles") or {}
        wanted = scores or self.summary.get("profile")
        if wanted in profiles:
            return str(wanted)
        if scores:
            check_profile(scores)
        if not profiles:
            raise DataError(f"{self.run} has no scores: run 'fathoms score {self.run}'")
        raise DataError(no_such_scores(self.run, str(wanted), profiles))

    def figures(self, scores: str | None = None) -> dict[str, Any]:
        """Return the scores under one profile, as in `profiles` of `summary.json`; raises as `profile`
        does."""
        return dict(self.summary["profiles"][self.profile(scores)])

    def question_file(self, question: str) -> Path | None:
        """Return the file with the view of one question, `None` if the run is not on disk."""
        if self.path is None:
            return None
        file, old = (self.path / "questions" / name for name in view_names(question))
        return old if old != file and not file.exists() and old.exists() else file


def load(run_dir: Path) -> RunView:
    """Read a run directory; raises StoreError if it is not a run or is not scored yet."""
    if not os.path.lexists(run_dir / "manifest.json"):
        raise StoreError(f"{run_dir} is not a run: it has no manifest.json")
    if not os.path.lexists(run_dir / "summary.json"):
        raise StoreError(f"{run_dir} has no summary.json: run 'fathoms score {run_dir}'")
    manifest = read_checked(run_dir, "manifest.json", "manifest")
    summary = read_checked(run_dir, "summary.json", "summary")
    run = str(manifest.get("run") or run_dir.name)
    return RunView(run, run_dir, manifest, summary, lambda: read_questions(run_dir, summary))


def no_such_scores(run: str, wanted: str, there: Iterable[str]) -> str:
    """Build the error message for a run that was not scored under a profile, with the command that scores
    it."""
    sentence = f"{run} has no scores '{wanted}' (there are: {', '.join(there)})"
    if wanted == "released":
        return f"{sentence}; only imported results have them"
    return f"{sentence}: run 'fathoms score {run} --profile {wanted}'"


def check_profile(scores: str) -> None:
    """Raise UsageError, with a suggestion, if no profile has this name."""
    from fathoms.config import suggest
    from fathoms.metrics.profiles import PROFILES
    from fathoms.metrics.score_records import RELEASED

    names = [*(profile.name for profile in PROFILES), RELEASED]
    if scores not in names:
        raise UsageError(f"there are no scores '{scores}'{suggest(scores, names)}")


def read_questions(run_dir: Path, summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every question view of a run, in the order of the file names.

    Raises StoreError after the last view if their number differs from the count in the summary.
    """
    found = 0
    for view in read_views(run_dir):
        found += len(view["repeats"])
        yield view
    require_all(run_dir, summary, found)
