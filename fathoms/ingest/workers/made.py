"""Files that are made of a PDF (images of pages, parts), in a child process, and kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from fathoms.config import fingerprint
from fathoms.ingest.parsers.base import PdfParser
from fathoms.ingest.workers.readers import parse_in_child
from fathoms.paths import publish, sealed, temporary_folder
from fathoms.runs.cache import tell_damage
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
    state = sealed(own)
    if state == "damaged":
        tell_damage(maker.folder.name, f"the files in {own} are damaged and are made again")
    if state != "sound":
        with temporary_folder(maker.folder) as unfinished:
            parse_in_child(maker.model_copy(update={"folder": unfinished}), document.path)
            publish(unfinished, own)
    return own
