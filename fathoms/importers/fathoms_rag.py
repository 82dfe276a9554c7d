"""Imports the result files that FATHOMS-RAG released: one JSON file per model with 93 answers each.

Two scripts wrote these files. They differ in how they normalise hyphens, and can be told apart by the key of
the hallucination flag: `evaluator.py` wrote `suspected_hallucination`, `reprocess.py` wrote `hallucinating`.
Each record names its script in `fingerprints["scorer"]`; the released score and flag are kept in `released`.

In the files, a failed call has its error text in place of the answer. These texts become `Record.error`:

| text (upper or lower case) | written by |
|---|---|
| `timed out` | the API scripts, after their retries |
| `rate limit exceeded` | Claude's script |
| `error: ...` | Claude's script: any other exception |
| `error occurred`, `error occurred during query` | the evaluator, the LlamaIndex script |
| `rag system not initialized` | the LlamaIndex script |
| `request failed: ...`, `ollama error 500: ...`, `no response received` | the Docling script |

An empty answer counts as an answer. There are three forms of retrieved context: texts
`File: NAME\\nContent: ...` (the Docling pipeline), which are kept as the context of the prompt; chunks whose
content is cut at 500 characters (the LlamaIndex pipeline), which are kept as hits; and none (the closed APIs,
whose retrieval is not known).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from fathoms.answers.citations import all_citations
from fathoms.config import dotted, misread
from fathoms.corpora.rows import checked_name
from fathoms.errors import DataError
from fathoms.importers.imported import Imported, fold_space, missing_warning
from fathoms.safety.inputs import LARGEST_IMPORT, parse_json, read_text
from fathoms.text.ids import question_ids
from fathoms.types import Chunk, Failure, Hit, Prompt, Question, Record, Reply

_ERROR_TEXT = re.compile(
    r"timed out|rate limit exceeded|error occurred( during query)?|error:.*|rag system not initialized"
    r"|request failed: .*|ollama error \d+:.*|no response received",
    re.IGNORECASE | re.DOTALL,
)
PIPELINES = ("LlamaIndex RAG", "Docling with EasyOCR", "Closed")
"""The pipelines of the paper, in the order of its Table II."""
_CUT = 500
"""Characters at which the released files cut the content of a chunk; a cut one ends in `...`."""

_Key = tuple[str, frozenset[str]]


class _ResultPart(BaseModel):
    """Base class of the parts of a result file; unknown keys are ignored, and numbers must be finite."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class _RetrievedChunk(_ResultPart):
    """One retrieved chunk. `page_number` may be the word `Unknown`. The relevance is either in
    `relevance_score` or in `score`."""

    chunk_id: int
    file_name: str
    page_number: int | str
    relevance_score: float | None = None
    score: float | None = None
    content: str


class _Response(_ResultPart):
    """One answer with its question, retrieved context and scores."""

    category: Annotated[str, AfterValidator(checked_name)]
    question: str
    required_files: tuple[str, ...] = ()
    rag_context: tuple[_RetrievedChunk, ...] | tuple[str, ...] = ()
    pred_answer: str
    ground_truth: tuple[tuple[str, ...], ...] = ()
    correctness_score: float | None = None
    suspected_hallucination: bool | None = None
    hallucinating: bool | None = None

    @property
    def key(self) -> _Key:
        """The text and files of the question, which identify it."""
        return fold_space(self.question), frozenset(self.required_files)


class _ResultFile(_ResultPart):
    """A result file with all its responses and the model that gave them."""

    model: str
    api_model: str | None = None
    responses: tuple[_Response, ...]


def read_result_files(paths: Sequence[Path], questions: Sequence[Question] | None = None) -> list[Imported]:
    """Read released files, and those below folders, in the order of the pipelines in the paper.

    A question has one id in all of them, and one text where some of them reword it.
    """
    found: list[Imported] = []
    known: dict[str, Question] = {}
    for path in chain.from_iterable(result_files(path)[0] if path.is_dir() else [path] for path in paths):
        found.append(read_result_file(path, questions, tuple(known.values())))
        known |= {question.id: question for question in found[-1].questions}
    if not found:
        raise DataError(f"no result file of FATHOMS-RAG is in {' and '.join(map(str, paths))}")
    return sorted(found, key=lambda one: PIPELINES.index(str(one.pipeline)))


def result_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the result files below a folder, at any depth as in the authors' repository, and its other JSON
    files, which have no `responses`."""
    paths = sorted(folder.rglob("*.json"))
    found = [path for path in paths if '"responses"' in read_text(path, LARGEST_IMPORT)]
    return found, [path for path in paths if path not in found]


def read_result_file(
    path: Path, questions: Sequence[Question] | None = None, known: Sequence[Question] = ()
) -> Imported:
    """Read one released file and match its answers to `questions` by question text and files.

    Without `questions`, the questions are taken from the file, with the same ids as a question file in that
    order would get, except those that are `known` from other files. An answer without a question and a
    question without an answer belong together if category, files and gold answer are equal: the authors
    reworded some questions between their runs. If there are two answers to a question, the first is kept;
    answers to unknown questions are left out. Questions with equal text and files get their answers in file
    order. Warnings report all of these cases. Raises DataError for a file that is not in this format, naming
    the place of the error, and for a file that answers none of the questions.
    """
    file = _parse(path)
    if questions is None:
        questions = _own_questions(file.responses, known)
    warnings = [
        f"{path}: {', '.join(ids)} have the same text and files: they get its answers in order"
        for ids in _alike(questions)
    ]
    records: dict[str, Record] = {}
    for number, (response, meant) in enumerate(
        zip(file.responses, _matches(file.responses, questions), strict=True), start=1
    ):
        place = f"{path}: response {number}"
        if meant is None:
            warnings.append(f"{place} answers no question of the data set: {_quote(response)}")
        elif meant.id in records:
            warnings.append(f"{place} is a second answer to {meant.id}: {_quote(response)}")
        else:
            records[meant.id] = _record(meant, response)
            warnings += _differences(place, meant, response)
    if not records:
        raise DataError(
            f"{path}: none of its {len(file.responses)} answers matches the questions of the data set"
        )
    warnings += missing_warning(path, questions, records, only_searched=False)
    found = tuple(records.values())
    if cut := sum(any(not hit.chunk.whole for hit in record.hits or ()) for record in found):
        warnings.append(f"{path}: the chunks of {cut} answers are cut at {_CUT} characters by the file")
    # The pipelines of Table I of the paper differ in the form of the retrieved context.
    contexts = [response.rag_context[0] for response in file.responses if response.rag_context]
    llamaindex, docling, pipeline = PIPELINES  # closed APIs do not tell what they retrieved
    if contexts:
        pipeline = docling if isinstance(contexts[0], str) else llamaindex
    model = file.api_model or file.model
    return Imported(path.stem, model, found, tuple(questions), tuple(warnings), pipeline)


def _parse(path: Path) -> _ResultFile:
    """Read and validate the file; raises DataError that names the place of the first error."""
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path))
    try:
        file = _ResultFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise DataError(f"{path}: not a FATHOMS-RAG result file: {place}: {first['msg']}") from error
    for key, what in misread(file, data):
        raise DataError(f"{path}: not a FATHOMS-RAG result file: {dotted(key)}: {what}")
    return file


def _own_questions(responses: Sequence[_Response], known: Sequence[Question]) -> list[Question]:
    """Return the questions of the file without duplicates: those that are `known`, and then the others."""
    matches = _matches(responses, known)
    first: dict[_Key, _Response] = {}
    for response, match in zip(responses, matches, strict=True):
        if match is None:
            first.setdefault(response.key, response)
    answered = {match.id for match in matches if match}
    categories = [*(one.category for one in known), *(one.category for one in first.values())]
    ids = question_ids(categories)[len(known) :]
    return [question for question in known if question.id in answered] + [
        Question(
            id=own_id,
            text=response.question,
            category=response.category,
            files=response.required_files,
            answers=response.ground_truth,
        )
        for own_id, response in zip(ids, first.values(), strict=True)
    ]


def _by_key(questions: Sequence[Question]) -> dict[_Key, list[Question]]:
    """Return the questions by their text and files."""
    found: dict[_Key, list[Question]] = {}
    for question in questions:
        found.setdefault((fold_space(question.text), frozenset(question.files)), []).append(question)
    return found


def _alike(questions: Sequence[Question]) -> list[list[str]]:
    """Return the ids of questions that cannot be told apart."""
    return [[question.id for question in same] for same in _by_key(questions).values() if len(same) > 1]


def _matches(responses: Sequence[_Response], questions: Sequence[Question]) -> list[Question | None]:
    """Return the question of each response; `None` where it has none."""
    by_key = _by_key(questions)
    turns = {key: iter(same) for key, same in by_key.items()}
    found = [
        next(turns[response.key], by_key[response.key][-1]) if response.key in by_key else None
        for response in responses
    ]
    answered = {question.id for question in found if question}
    left = [question for question in questions if question.id not in answered and question.answers]
    for number, response in enumerate(responses):
        if found[number] is None and (alike := [one for one in left if _rewords(response, one)]):
            nearest = max(alike, key=lambda one: SequenceMatcher(None, one.text, response.question).ratio())
            found[number] = nearest
            left.remove(nearest)
    return found


def _rewords(response: _Response, question: Question) -> bool:
    """Return whether a response to another text is about the same part of the same files."""
    return (response.category, set(response.required_files), response.ground_truth) == (
        question.category,
        set(question.files),
        question.answers,
    )


def _record(question: Question, response: _Response) -> Record:
    """Convert one response to a record."""
    failed = _ERROR_TEXT.fullmatch(response.pred_answer.strip()) is not None
    flag = response.suspected_hallucination
    scorer = "evaluator.py" if response.hallucinating is None else "reprocess.py"
    flag = response.hallucinating if flag is None else flag
    texts = [text for text in response.rag_context if isinstance(text, str)]
    hits = _hits(response.rag_context)
    return Record(
        question=question,
        hits=hits,
        prompt=Prompt(messages=(), context="\n\n".join(texts)) if texts else None,
        answer=None if failed else Reply(text=response.pred_answer),
        error=Failure(kind="ModelError", message=response.pred_answer) if failed else None,
        citations=None if failed else all_citations(response.pred_answer, hits, None),
        fingerprints={"scorer": scorer},
        released={
            "correctness": response.correctness_score,
            "hallucination": None if flag is None else float(flag),
        },
    )


def _hits(context: Sequence[_RetrievedChunk | str]) -> tuple[Hit, ...] | None:
    """Return the retrieved chunks in the order of the file, best first; `None` if the file lists none."""
    hits = []
    for rank, row in enumerate(context, start=1):
        if isinstance(row, str):
            continue
        pages = (row.page_number,) if isinstance(row.page_number, int) else ()
        name = f"{row.file_name}:{row.page_number}:{row.chunk_id}"
        score = row.relevance_score if row.relevance_score is not None else row.score or 0.0
        whole = len(row.content) <= _CUT
        chunk = Chunk(id=name, document=row.file_name, pages=pages, text=row.content, whole=whole)
        hits.append(Hit(chunk=chunk, score=score, rank=rank))
    return tuple(hits) or None


def _differences(place: str, question: Question, response: _Response) -> Iterator[str]:
    """Yield a warning for each difference between file and data set; the values of the data set are used."""
    if response.key[0] != fold_space(question.text):
        texts = [f"'{fold_space(text)}'" for text in (response.question, question.text)]
        yield f"{place} is taken as the answer to {question.id}, which it rewords: {' for '.join(texts)}"
    if response.category != question.category:
        yield f"{place}: category '{response.category}', but '{question.category}' in the data set"
    if response.ground_truth != question.answers:
        yield f"{place}: the gold answer of {question.id} differs from the one in the data set"


def _quote(response: _Response) -> str:
    """Return the beginning of the question and its files, for a warning."""
    return f"'{fold_space(response.question)[:80]}' ({', '.join(response.required_files) or 'no files'})"
