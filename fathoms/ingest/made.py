"""Files that are made of a PDF (images of pages, parts), in a child process, and kept."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from fathoms.config import fingerprint
from fathoms.ingest.child import parse_in_child
from fathoms.ingest.parser import PdfParser
from fathoms.types import Document


class FileMaker(PdfParser):
    """Writes files into `folder`; a parser that finds no text, with a parser's limits."""

    neutral: ClassVar[frozenset[str]] = PdfParser.neutral | {"folder"}

    folder: Path

    def reader_options(self) -> dict[str, Any]:
        """With the folder, which changes nothing in the files."""
        return {**super().reader_options(), "folder": str(self.folder)}


def made(maker: FileMaker, document: Document) -> Path:
    """The folder, below the maker's own, with the files of this document; made where it is not there yet.

    Raises DocumentError as a parser does.
    """
    own = maker.folder / fingerprint(maker.identity(), document.sha256)
    if not own.is_dir():
        maker.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=maker.folder) as unfinished:
            parse_in_child(maker.model_copy(update={"folder": Path(unfinished)}), document.path)
            _publish(Path(unfinished), own)
    return own


def _publish(unfinished: Path, own: Path) -> None:
    """Give finished files their place at once; who came first is right."""
    finished = unfinished / "finished"
    files = list(unfinished.iterdir())
    finished.mkdir()
    for file in files:
        file.replace(finished / file.name)
    try:
        finished.rename(own)
    except OSError:
        shutil.rmtree(finished)
        if not own.is_dir():
            raise
