"""The earlier scorings of a run: the summaries by other versions of its questions, in `scorings/`.

A run is scored by one version of its questions at a time, that of `summary.json`. When another version takes
its place, the summary before is kept under the sha256 of its question file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fathoms.runs.folder import read_file, read_part, write_file
from fathoms.runs.run import read_manifest, read_summary
from fathoms.text.amounts import figure
from fathoms.types.run.summary import Summary

FOLDER = "scorings"
OWN = "own"
"""The version of the questions of a run that does not say which question file it was made with."""
_NAME = re.compile(r"([0-9a-f]{64}|own)\.json")


def version_of(run_dir: Path, summary: Summary) -> str:
    """Return which version of the questions a run was scored by: the sha256 of the question file."""
    own = read_manifest(run_dir).data.questions_sha256
    found = f"{(summary.questions.sha256 if summary.questions else own) or OWN}.json"
    return found.removesuffix(".json") if _NAME.fullmatch(found) else OWN


def keep_scoring(run_dir: Path, new: Summary) -> None:
    """Keep the summary of a run that another one is about to replace, where that one is by another version of
    the questions."""
    before = read_summary(run_dir)
    if before is not None and (version := version_of(run_dir, before)) != version_of(run_dir, new):
        write_file(run_dir, f"{FOLDER}/{version}.json", read_file(run_dir, "summary.json"))


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
