"""Stores imported answers as a run on disk, so that they can be scored and compared like any run, and parses
the PDFs behind them, which estimate what the other pipeline read."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from fathoms import __version__
from fathoms.corpora.pdfs import find_pdfs
from fathoms.corpora.versions import keep_questions
from fathoms.errors import DataError
from fathoms.importers.imported import Imported
from fathoms.ingest import Pdfium, PyMuPDF, parse_all
from fathoms.pipeline.external.names import TextPlaces
from fathoms.runs.documents import keep_documents
from fathoms.runs.metadata import variants_among
from fathoms.runs.people import GRADES_FILE, Grade, append_said
from fathoms.runs.run import Run
from fathoms.runs.views import refusal
from fathoms.runs.writing import new_run
from fathoms.text.fingerprints import fingerprint_of_list
from fathoms.types import Document, Question
from fathoms.types.run.manifest import Data, Manifest


@dataclass(frozen=True)
class ParsedFolder:
    """The parsed documents of a folder.

    `parser` is the name and version of the parser, `warnings` are sentences for the user, and `folder` is an
    absolute path.
    """

    documents: tuple[Document, ...] = ()
    parser: str | None = None
    warnings: tuple[str, ...] = ()
    folder: Path | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the documents."""
        return tuple(document.id for document in self.documents)

    @cached_property
    def texts(self) -> TextPlaces | None:
        """The places of texts in the documents; `None` without documents."""
        return TextPlaces(self.documents) if self.documents else None


NO_DOCUMENTS = ParsedFolder()
"""The value for an import without a folder of documents."""


def parse_folder(folder: Path, parser: Pdfium | PyMuPDF, workers: int = 2) -> ParsedFolder:
    """Parse every PDF in a folder and its subfolders, each in its own process.

    A PDF that cannot be read is left out with a warning. Raises UsageError if the folder does not exist,
    DataError if it contains no readable PDF, and MissingExtraError if the parser is not installed.
    """
    paths, warnings = find_pdfs(folder)
    outcomes = parse_all(parser, list(paths.values()), workers=workers)
    documents = tuple(item for item in outcomes if isinstance(item, Document))
    failures = [str(item) for item in outcomes if not isinstance(item, Document)]
    if not documents:
        raise DataError("\n".join([f"{folder} contains no readable PDF", *failures]))
    repaired = [f"{item.id}: {warning}" for item in documents for warning in item.warnings]
    return ParsedFolder(documents, parser.title, (*warnings, *failures, *repaired), folder.absolute())


def keep(imported: Imported, data: str, out: Path, parsed: ParsedFolder = NO_DOCUMENTS) -> Run:
    """Write imported answers as a new, unscored run under `out`, and return the run.

    `data` is the name of the data set. The parsed documents are stored with the run: the funnel needs them.
    Claims and verdicts that came with the answers are stored as those of the judge of the run, and people's
    grades as those of a review.
    """
    sizes = Counter(question.category for question in imported.questions)
    questions: dict[str, Question] = {}
    repeats = 1
    for record in imported.records:
        if (why := refusal(record)) is not None:
            raise DataError(f"{imported.name}: the answer to '{record.question.id}' cannot be kept: {why}")
        questions[record.question.id] = record.question
        repeats = max(repeats, record.repeat + 1)
    judged = imported.judged
    judge = {"judge": judged.judge.model_dump(mode="json")} if judged else {}
    config = {**judge, **({"metrics": list(imported.metrics)} if imported.metrics else {})}
    manifest = Manifest(
        model=imported.model,
        pipeline=imported.pipeline,
        imported=True,
        repeats=repeats,
        config=config,
        data=Data(
            name=data,
            questions_copy=keep_questions(out, imported.questions, ()),
            questions=len(imported.questions),
            categories=tuple(sizes),
            category_sizes=dict(sizes),
            population=dict(imported.population) or None,
            asked=len(questions),
            variants=variants_among(questions.values()) or None,
            warnings=(*imported.warnings, *parsed.warnings),
            parser=parsed.parser,
            folder=str(parsed.folder) if parsed.folder else None,
        ),
        versions={"fathoms": __version__},
    )
    state = fingerprint_of_list(record.model_dump(mode="json") for record in imported.records)
    run = new_run(out, imported.name, state, manifest)
    keep_documents(run, parsed.documents)
    with run.records.appending() as journal:
        for record in imported.records:
            journal.add(record)
        journal.sync()
    if judged:
        judged.store(run.path)
    now = datetime.now(UTC).isoformat()
    for reviewer, by_question in imported.grades.items():
        for question, grade in by_question.items():
            said = Grade(run=run.id, question=question, reviewer=reviewer, seed=0, time=now, grade=grade)
            append_said(run.path / GRADES_FILE, said)
    return run
