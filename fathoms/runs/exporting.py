"""Copies a run with everything it refers to, so that the copy can be read, scored and reported anywhere."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from fathoms.errors import StoreError, UsageError
from fathoms.paths import temporary_folder
from fathoms.runs.blobs import QUESTIONS, Blobs
from fathoms.runs.documents import copy_documents
from fathoms.runs.folder import open_file
from fathoms.runs.run import Run
from fathoms.runs.writing import locked

_OF_THE_WRITER = frozenset({".lock", ".writer"})


def export_run(run: Run, target: Path) -> Run:
    """Write a complete copy of a run as the new folder `target`, with the parsed documents and the
    questions that it shares with other runs; returns the copy.

    The copy appears when it is complete. Raises UsageError where `target` exists or another process is
    writing to the run, and StoreError where something cannot be read or written.
    """
    if os.path.lexists(target):
        raise UsageError(f"{target} already exists: name another folder")
    with locked(run):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary_folder(target.parent) as unfinished:
                for name in _files(run.path):
                    (unfinished / name).parent.mkdir(parents=True, exist_ok=True)
                    with open_file(run.path, name) as source, (unfinished / name).open("xb") as copy:
                        shutil.copyfileobj(source, copy)
                copy_documents(run, Run(unfinished))
                questions, beside = run.manifest.data.questions_copy, Blobs(run.path.parent, QUESTIONS)
                if questions is not None and questions in beside:
                    Blobs(unfinished).put(beside.get(questions))
                unfinished.rename(target)
        except OSError as error:
            raise StoreError(f"{target} cannot be written: {error.strerror or error}") from error
    return Run(target)


def _files(folder: Path) -> Iterator[str]:
    """Yield the files of a run as paths relative to its folder, without those of a running writer."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in _OF_THE_WRITER:
            yield path.relative_to(folder).as_posix()
