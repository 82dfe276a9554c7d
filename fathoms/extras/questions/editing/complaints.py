"""What is wrong with a mended question, field by field, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.corpora.places import Places
from fathoms.errors import DataError, QuestionsError
from fathoms.extras.questions import document_rules
from fathoms.extras.questions.checking import RULES
from fathoms.extras.questions.editing.fields import Edited
from fathoms.extras.questions.finding import Subject
from fathoms.extras.questions.other_forms import other_forms
from fathoms.extras.questions.texts import Texts
from fathoms.types import Question

OF_SETS = frozenset({"duplicate", "same-text", "skipped", "few-questions", "empty-category"})
"""The rules that look at more than one question."""
PDF_RULES = frozenset(
    rule.code for rule in RULES if rule.find in (*vars(document_rules).values(), other_forms)
)
"""The rules that compare a question with the text of documents."""
TO_CONFIRM = frozenset({"phrase-absent", "phrase-elsewhere", "quote-absent", "given-away", "unknown-unit"})
"""The warnings for which a mended question is saved only if the person says so once more."""
ADVICE = {
    "phrase-absent": "Copy the words from the page; if the answer stands in a picture or has to be worked"
    " out, save it anyway.",
    "phrase-elsewhere": "Add that page to the evidence, or take the words from the pages of the evidence.",
    "quote-absent": "Copy the words from the text of the page as they stand there, or remove the quote.",
    "page-beyond": "Give a page that the document has.",
    "unknown-file": "Choose one of the documents.",
    "unanswerable-with-answers": "Remove the answers, or tick that the documents answer it.",
    "given-away": "Leave the answer out of the question.",
    "cited-answer": "Let the question ask for what stands there, or add 'reading: raw' to its file.",
    "bare-number": "Prefer an answer with a unit or a name.",
    "other-forms": "Add the other form as another accepted answer.",
    "narrow-phrase": "Add another accepted answer in other words.",
}
_SHOWN_AT = {"files": "evidence"}
"""Keys that the page does not show, and the fields at which it shows what is wrong with them."""
_FIELDS = "|".join(Edited.model_fields)
_AT_FIELD = re.compile(rf"(?P<field>{_FIELDS})(?P<rest>(?:\.\w+)*): (?P<message>.*)", re.DOTALL)
_ABOUT = re.compile(rf"'?(?P<field>{_FIELDS})\b")


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong: the field, the index in it and the part of that item, such as `quote`, where
    they are known, what is wrong, and what to do. One that `stops` has to be mended; of others, a person may
    say that they are no mistake."""

    message: str
    field: str = ""
    index: int | None = None
    part: str = ""
    advice: str = ""
    stops: bool = True
    code: str = "invalid"


@dataclass(frozen=True)
class Checker:
    """Checks single questions against the documents, as `fathoms questions check` does with a whole set."""

    path: Path
    paths: Mapping[str, Path]
    failures: Mapping[str, str]
    texts: Texts

    def complaints(self, question: Question) -> list[Complaint]:
        """Return what the rules say of a question; without documents, only those that need none."""
        subject = Subject(self.path, (question,), Places((1,)), (), self.paths, self.failures, self.texts)
        skipped = OF_SETS if self.paths else OF_SETS | PDF_RULES
        return [
            Complaint(
                found.message,
                _SHOWN_AT.get(str(found.key[0]), str(found.key[0])) if found.key else "",
                next((part for part in found.key if isinstance(part, int)), None),
                str(found.key[2]) if found.key[:1] == ("evidence",) and len(found.key) > 2 else "",
                ADVICE.get(rule.code, ""),
                rule.severity == "error",
                rule.code,
            )
            for rule in RULES
            if rule.code not in skipped
            for found in rule.find(subject)
        ]


def of_error(error: DataError) -> Iterator[Complaint]:
    """Yield what the rules of question files say of the fields of one question."""
    texts = error.complaints if isinstance(error, QuestionsError) else (str(error),)
    for line in (line for text in texts for line in text.splitlines()):
        said = line.removeprefix("question: ")
        if found := _AT_FIELD.fullmatch(said):
            index, _, part = found["rest"].removeprefix(".").partition(".")
            number = int(index) if index.isdecimal() else None
            yield Complaint(found["message"], found["field"], number, part.partition(".")[0])
        else:
            about = _ABOUT.match(said)
            yield Complaint(said, about["field"] if about else "")
