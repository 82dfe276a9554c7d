"""The pictures of candidate quotes, which question files name by paths below their own folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fathoms.corpora.pdfs import leads_out
from fathoms.errors import DataError
from fathoms.paths import sha256_file
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Question


def with_pictures(questions: Sequence[Question], path: Path) -> tuple[Question, ...]:
    """Return the questions with absolute paths of the pictures of their quotes. `path` is that of the
    question file, or of the folder of a set in several files.

    Whether the pictures are there is not checked, because only a model that sees needs them. Raises DataError
    for a picture that is a link to a place outside of the folder.
    """
    folder = (path if path.is_dir() else path.parent).resolve()
    return tuple(_placed(question, folder) for question in questions)


def pictures_sha256(questions: Sequence[Question]) -> str | None:
    """Return a hash of the files of all pictures of quotes; `None` if there are none."""
    paths = sorted({quote.image for one in questions for quote in one.quotes if quote.image is not None})
    hashes = [sha256_file(path) for path in paths if path.is_file()]
    return fingerprint("pictures of quotes", hashes) if hashes else None


def _placed(question: Question, folder: Path) -> Question:
    """Return a question with absolute paths of its pictures."""
    if not any(quote.image for quote in question.quotes):
        return question
    placed = []
    for quote in question.quotes:
        if quote.image is not None:
            at = folder / quote.image
            if leads_out(at, folder):
                raise DataError(
                    f"question {question.id}: the picture of the quote '{quote.id}' is a link to a place"
                    f" outside of {folder}: copy the file into the folder of the question file"
                )
            quote = quote.model_copy(update={"image": at})
        placed.append(quote)
    return question.model_copy(update={"quotes": tuple(placed)})
