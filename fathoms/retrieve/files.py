"""Whole PDF files instead of text, for models that read PDFs or images: the paper's third pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from fathoms.errors import ConfigError
from fathoms.retrieve.retriever import FileHandling, Index, Needs, Retriever, hits
from fathoms.types import OFFICE, Attachment, Chunk, Hit, Question


class Files(Retriever):
    """Sends each PDF of a question as a file, byte for byte as it is on disk, in the order of the question.

    All pages are sent, whatever `ingest.max_pages` is. If one of its files cannot be read, the question fails
    and is not asked with the remaining files. Whether the files fit into the requests of the model is checked
    for all questions before the first is asked.
    """

    kind: Literal["files"] = "files"
    by: Literal["question-files", "all"] = "question-files"
    """`question-files` sends the files that the question names, or all documents if it names none. `all`
    sends all documents with every question."""
    form: Literal["pdf", "images"] = "pdf"
    """`pdf` sends the PDF itself. `images` sends an image of each page, for models that accept images but not
    PDFs."""
    too_long: Literal["refuse", "split", "images"] = "refuse"
    """What to do if the PDFs of a question exceed the limits of one request. `refuse` does not start the run.
    `split` distributes the PDFs over several requests and merges the answers with one more request. `images`
    sends images of the pages."""
    image_dpi: int = Field(default=150, ge=36, le=600)
    """Resolution of the page images in dots per inch."""
    max_pixels: int | None = Field(default=None, ge=10_000, le=64_000_000)
    """Largest number of pixels of a page image, width times height: a page that would have more at
    `image_dpi` is rendered at a lower resolution."""

    def identity(self) -> dict[str, Any]:
        """Leave out `max_pixels` if it is not set, as before there was this option."""
        found = super().identity()
        options = {name: value for name, value in found["options"].items() if value is not None}
        return {**found, "options": options}

    @property
    def needs(self) -> Needs:
        """Always `documents`: parsing counts the pages and finds files that cannot be read."""
        return "documents"

    @property
    def files(self) -> FileHandling:
        """How the files are sent; every hit is a whole file."""
        return FileHandling(self.by, self.form, self.too_long, self.image_dpi, self.max_pixels)

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the files of each question, each with score 1 and without text.

        Raises ConfigError for an office or web document, whose pages cannot be attached.
        """
        chunks = {}
        for document in index.documents:
            if document.path.suffix.lower() in OFFICE:
                raise ConfigError(
                    f"retrieve: kind 'files' attaches PDFs, and {document.id} is none: save it as PDF, or set"
                    " retrieve: {kind: whole-document} for its text"
                )
            name, pages = document.id, tuple(range(1, (document.page_count or len(document.pages)) + 1))
            size = document.path.stat().st_size
            file = Attachment(
                document=name, pages=pages, path=document.path, sha256=document.sha256, size=size
            )
            chunks[name] = Chunk(id=f"{name}#file", document=name, pages=pages, modality="file", file=file)
        found = []
        for question in questions:
            names = question.files if self.by == "question-files" and question.files else tuple(chunks)
            found.append(hits([(chunks[name], 1.0) for name in dict.fromkeys(names) if name in chunks]))
        return found
