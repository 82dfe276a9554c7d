"""A run as the report sees it: plain JSON values, read from disk without what made the run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, StoreError, UsageError
from fathoms.runs.store import read_checked, read_views, require_all, view_names


@dataclass(frozen=True)
class RunView:
    """One scored run. `questions` reads the question views one by one, anew at every call; `reviews` are
    files of ratings that are not in the run's folder."""

    run: str
    path: Path | None
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    questions: Callable[[], Iterable[dict[str, Any]]]
    reviews: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The name its config gives the run, or else the run's id."""
        return str(self.summary.get("name") or self.manifest.get("name") or self.run)

    @property
    def model(self) -> str | None:
        """The model that answered, `None` where the run did not say."""
        model = self.summary.get("model")
        return None if model is None else str(model)

    @property
    def pipeline(self) -> str:
        """Which pipeline it is, whatever the model: as an importer names it, or else the run's name."""
        return str(self.manifest.get("pipeline") or self.name)

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the data set in its own order, also those that were not asked."""
        return tuple(map(str, self.summary.get("categories") or ()))

    @property
    def ingest(self) -> Mapping[str, Any]:
        """What came of the documents: counts, and `warnings` and `failures` by document. Empty where there
        were none."""
        return (self.manifest.get("data") or {}).get("ingest") or {}

    def profile(self, scores: str | None = None) -> str:
        """`scores`, or the run's headline profile.

        Raises UsageError where `scores` names no profile, and DataError where the run has no such scores.
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
        """The figures of one profile, as `summary.json` keeps them under `profiles`."""
        return dict(self.summary["profiles"][self.profile(scores)])

    def question_file(self, question: str) -> Path | None:
        """Where the view of one question is on disk."""
        if self.path is None:
            return None
        file, old = (self.path / "questions" / name for name in view_names(question))
        return old if old != file and not file.exists() and old.exists() else file


def load(run_dir: Path) -> RunView:
    """Read a run directory; raises StoreError where it is not one, or is not scored yet."""
    if not os.path.lexists(run_dir / "manifest.json"):
        raise StoreError(f"{run_dir} is not a run: it has no manifest.json")
    if not os.path.lexists(run_dir / "summary.json"):
        raise StoreError(f"{run_dir} has no summary.json: run 'fathoms score {run_dir}'")
    manifest = read_checked(run_dir, "manifest.json", "manifest")
    summary = read_checked(run_dir, "summary.json", "summary")
    run = str(manifest.get("run") or run_dir.name)
    return RunView(run, run_dir, manifest, summary, lambda: read_questions(run_dir, summary))


def no_such_scores(run: str, wanted: str, there: Iterable[str]) -> str:
    """The sentence for a run that was not scored under a profile, with the command that does it."""
    sentence = f"{run} has no scores '{wanted}' (there are: {', '.join(there)})"
    if wanted == "released":
        return f"{sentence}; only imported results have them"
    return f"{sentence}: run 'fathoms score {run} --profile {wanted}'"


def check_profile(scores: str) -> None:
    """Raise UsageError, with what may have been meant, where no profile has this name."""
    from fathoms.config import suggest
    from fathoms.metrics.profiles import PROFILES
    from fathoms.metrics.score_records import RELEASED

    names = [*(profile.name for profile in PROFILES), RELEASED]
    if scores not in names:
        raise UsageError(f"there are no scores '{scores}'{suggest(scores, names)}")


def read_questions(run_dir: Path, summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every question view of a run, in the order of the file names.

    Raises StoreError at the end where they are not as many as the summary counts.
    """
    found = 0
    for view in read_views(run_dir):
        found += len(view["repeats"])
        yield view
    require_all(run_dir, summary, found)
