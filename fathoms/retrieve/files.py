"""The PDFs of a question themselves, for models that read them: the paper's third pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from fathoms.retrieve.base import Corpus, FileHandling, Needs, Retriever, hits
from fathoms.types import Attachment, Chunk, Document, Hit, Question


class Files(Retriever):
    """Every PDF of a question as a file, byte for byte as it is on disk, in the order of the question.

    All its pages count, whatever `ingest.max_pages` says. A question with a file that cannot be read fails:
    it is not asked with less. What a model takes in one request is checked for all questions before the
    first is asked.
    """

    kind: Literal["files"] = "files"
    by: Literal["question-files", "all"] = "question-files"
    """The files that the question names (all documents for a question that names none), or all documents
    for every question."""
    form: Literal["pdf", "images"] = "pdf"
    """The PDF itself, or an image of each page, for models that see and take no PDF."""
    too_long: Literal["refuse", "split", "images"] = "refuse"
    """What is done with a question whose PDFs are more than the model takes in one request: `refuse` to
    run; `split` them over several requests, with one more that merges the answers; or show the `images` of
    their pages."""
    image_dpi: int = Field(default=150, ge=36, le=600)
    """Dots an inch of the images."""

    @property
    def needs(self) -> Needs:
        """Documents as parsed: that counts their pages, and finds what cannot be read."""
        return "documents"

    @property
    def files(self) -> FileHandling:
        """Every hit is a whole file."""
        return FileHandling(self.by, self.form, self.too_long, self.image_dpi)

    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The files of every question, each with score 1; the text is not known, for the model reads it."""
        made = {document.id: _attached(document) for document in corpus.documents}
        found = []
        for question in questions:
            names = question.files if self.by == "question-files" and question.files else tuple(made)
            found.append(hits([(made[name], 1.0) for name in dict.fromkeys(names) if name in made]))
        return found


def _attached(document: Document) -> Chunk:
    """A document as the file that it is."""
    pages = tuple(range(1, (document.page_count or len(document.pages)) + 1))
    file = Attachment(
        document=document.id,
        pages=pages,
        path=document.path,
        sha256=document.sha256,
        size=document.path.stat().st_size,
    )
    return Chunk(id=f"{document.id}#file", document=document.id, pages=pages, modality="file", file=file)
