"""A document as a parser gives it to the cache: its facts, and the bytes under which it is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from fathoms.pdf.finishing import packed
from fathoms.runs.cache import LONGEST_TEXT, compressed, text_of
from fathoms.runs.folder import LARGEST_TEXT
from fathoms.types import Document, StoredValue


class ParsedFacts(StoredValue):
    """What is known of a parsed document: the hash of its text (`DocumentFacts`), the number of its layout
    elements by their kind, and the rest as in `Document`."""

    form: Literal[1] = 1
    sha256: str
    pages: int
    page_count: int | None = None
    warnings: tuple[str, ...] = ()
    text: str | None = None
    elements: Mapping[str, int] = Field(default_factory=dict)


@dataclass(frozen=True)
class Parsed:
    """A parsed document that nobody has to decode before it is stored.

    `document` is its JSON and `native` its native output, both `compressed` as for the cache, and `text` the
    text that runs keep, in a file of theirs. One that is too long to be stored is `large` itself.
    """

    facts: ParsedFacts
    document: bytes
    text: bytes
    native: bytes | None = None
    large: Document | None = None

    @classmethod
    def of(cls, document: Document) -> Parsed:
        """Return a document as its packed facts and texts."""
        found = packed(document.model_dump(mode="json") | {"path": document.path.name})
        facts = ParsedFacts.model_validate(found.facts)
        native = None if document.native is None else document.native.encode()
        if found.size > LARGEST_TEXT or len(native or b"") > LONGEST_TEXT:
            return cls(facts, b"", b"", large=document)
        return cls(facts, found.document, found.text, None if native is None else compressed(native))

    @classmethod
    def from_child(cls, message: Any, data: bytes) -> Parsed:
        """Take up what a child process packed; raises ValueError, TypeError or LookupError for anything
        else."""
        facts, size = ParsedFacts.model_validate(message["facts"]), int(message["size"])
        return cls(facts, data[:size], data[size:])

    def open(self, path: Path) -> Document:
        """Return the document of this file."""
        if self.large is not None:
            return self.large.model_copy(update={"path": path})
        native = None if self.native is None else text_of(self.native)
        found = Document.model_validate_json(text_of(self.document))
        return found.model_copy(update={"id": path.name, "path": path, "native": native})
