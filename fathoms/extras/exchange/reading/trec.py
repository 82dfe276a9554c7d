"""Imports runs in the format of TREC: what was retrieved for each query, and which of it is relevant.

A line of a run is `QUERY Q0 ID RANK SCORE TAG`, and one of the relevance judgments (qrels) is
`QUERY 0 ID RELEVANCE`, in words that are separated by white space. `corpora/page_ids.py` says how an id names
a document and a page; an id of another tool is a document without pages.

The order of the hits is that of the ranks where they are different in each query, as the TREC guidelines ask.
Otherwise it is that of the scores, and of the lines where scores are equal. (trec_eval and ir_measures read
the scores alone, in single precision, and order equal ones by id.)

A query without a line retrieved nothing, which is the only way to say so in this format. A relevance of 1 or
more makes gold evidence, and one above 1 is kept as its grade. Places with a relevance of 0
or less are not evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fathoms.corpora.page_ids import place_of, text_of
from fathoms.errors import DataError, QuestionsError, amount
from fathoms.importers.imported import SHOWN, Imported
from fathoms.importers.rows import require_name
from fathoms.safety.inputs import LARGEST_IMPORT, read_text
from fathoms.types import Chunk, Evidence, Hit, Question, Record
from fathoms.types.run.part import LARGEST


@dataclass(frozen=True)
class _Retrieved:
    """One line of a run."""

    line: int
    id: str
    rank: int
    score: float

    def hit(self, rank: int) -> Hit:
        document, pages = place_of(self.id)
        chunk = Chunk(id=self.id, document=document, pages=pages, whole=False)
        return Hit(chunk=chunk, score=self.score, rank=rank)


@dataclass
class _Lines:
    """The usable lines of a file by query, in the order of the file; `tags` are the names of its runs."""

    by_query: dict[str, list[_Retrieved]] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)


def read_trec(path: Path, qrels: Path, questions: Sequence[Question] | None = None) -> Imported:
    """Read a run with the judgments of its queries, as records without an answer.

    Without `questions`, the queries of the judgments and of the run are the questions, with their ids as
    texts. The gold evidence is that of the judgments; evidence of `questions` on a page that is judged
    relevant keeps its quote, box, step and modality, and where pages are judged, evidence without one stays.
    Raises a DataError that lists all unusable lines with `file:line`, and a DataError if no query of the run
    is among the questions.
    """
    retrieved = _read_run(path)
    relevant, grades = _read_qrels(qrels)
    warnings = []
    if grades:
        warnings.append(f"{qrels}: {grades} judgments have a relevance above 1: only ndcg uses it")
    if questions is None:
        ids = dict.fromkeys((*relevant, *retrieved.by_query))
        for query in ids:
            require_name(f"{qrels if query in relevant else path}: the query", query)
        questions = [Question(id=query, text=query, category="Uncategorised") for query in ids]
    judged = [_with_evidence(question, relevant.get(question.id, {})) for question in questions]
    known = {question.id for question in judged}
    if not known & retrieved.by_query.keys():
        raise DataError(f"{path}: none of its {len(retrieved.by_query)} queries is among the questions")
    for query, lines in retrieved.by_query.items():
        if query not in known:
            warnings.append(f"{path}:{lines[0].line}: no question '{query[:80]}'")
    for query in relevant.keys() - known:
        warnings.append(f"{qrels}: no question '{query[:80]}'")
    if unjudged := [question.id for question in judged if not relevant.get(question.id)]:
        warnings.append(
            f"{qrels}: nothing is relevant for {_some(unjudged)}: retrieval has no figures for them"
        )
    silent = [question.id for question in judged if question.id not in retrieved.by_query]
    if silent:
        warnings.append(f"{path}: no line for {_some(silent)}: they count as questions that found nothing")
    if unordered := _unordered(retrieved.by_query):
        warnings.append(
            f"{path}: the scores of {_some(unordered)} are not in the order of the ranks, which counts here;"
            " trec_eval and ir_measures go by the scores"
        )
    records = [_record(question, retrieved.by_query.get(question.id, ())) for question in judged]
    tag = next(iter(retrieved.tags)) if len(retrieved.tags) == 1 else None
    return Imported(
        path.stem, None, tuple(records), tuple(judged), tuple(warnings), tag, left_out=len(silent)
    )


def _record(question: Question, lines: Sequence[_Retrieved]) -> Record:
    """Return what was found for a question, best first."""
    ordered = _ordered(lines)
    return Record(question=question, hits=tuple(one.hit(at) for at, one in enumerate(ordered, start=1)))


def _ordered(lines: Sequence[_Retrieved]) -> list[_Retrieved]:
    """Return the lines of a query, best first."""
    if len({one.rank for one in lines}) == len(lines):
        return sorted(lines, key=lambda one: one.rank)
    return sorted(lines, key=lambda one: -one.score)


def _unordered(by_query: Mapping[str, Sequence[_Retrieved]]) -> list[str]:
    """Return the queries in which a lower rank has a higher score."""
    found = []
    for query, lines in by_query.items():
        scores = [one.score for one in _ordered(lines)]
        if scores != sorted(scores, reverse=True):
            found.append(query)
    return found


def _with_evidence(question: Question, relevant: Mapping[str, int]) -> Question:
    """Return the question with the relevant places as its evidence, those of its own evidence first."""
    grades = {
        (document, page): grade
        for name, grade in relevant.items()
        for document, pages in [place_of(name)]
        for page in (pages or (None,))
    }
    of_pages = bool(grades) and all(page is not None for _, page in grades)  # says nothing of other evidence
    evidence = []
    for item in question.evidence:
        grade = grades.get((item.document, item.page))
        if grade is None and not (of_pages and item.page is None):
            continue
        same = grade in (None, item.relevance or 1)
        evidence.append(item if same else item.model_copy(update={"relevance": grade}))
    own = {(item.document, item.page) for item in question.evidence}
    evidence += [
        Evidence(document=document, page=page, relevance=grade if grade > 1 else None)
        for (document, page), grade in grades.items()
        if (document, page) not in own
    ]
    return question.model_copy(update={"evidence": tuple(evidence)})


def _read_run(path: Path) -> _Lines:
    """Read a run; raises QuestionsError."""
    found, complaints = _Lines(), []
    seen: dict[tuple[str, str], int] = {}
    for line, words in _words(path):
        place = f"{path}:{line}"
        if len(words) != 6:
            complaints.append(f"{place}: {len(words)} words instead of the six QUERY Q0 ID RANK SCORE TAG")
            continue
        query, _, item, rank, score, tag = words
        try:
            one = _Retrieved(line, item, int(rank), float(score))
            if not abs(one.score) <= LARGEST:
                raise ValueError
        except ValueError:
            complaints.append(f"{place}: expected a rank and a finite score, not '{rank[:20]} {score[:20]}'")
            continue
        if (first := seen.setdefault((query, item), line)) != line:
            complaints.append(f"{place}: '{item[:80]}' is a hit of '{query[:80]}' on line {first} already")
            continue
        found.by_query.setdefault(text_of(query), []).append(one)
        found.tags.add(text_of(tag))
    if complaints:
        raise QuestionsError(complaints)
    return found


def _read_qrels(path: Path) -> tuple[dict[str, dict[str, int]], int]:
    """Read the relevant ids of each query with their relevance, and count those with one above 1; raises
    QuestionsError."""
    found: dict[str, dict[str, int]] = {}
    complaints: list[str] = []
    grades = 0
    for line, words in _words(path):
        try:
            query, _, item, relevance = words
            grade = int(relevance)
        except ValueError:
            complaints.append(f"{path}:{line}: expected QUERY 0 ID RELEVANCE with a whole number at the end")
            continue
        judged = found.setdefault(text_of(query), {})
        if grade > 0:
            judged[item] = grade
        grades += grade > 1
    if complaints:
        raise QuestionsError(complaints)
    return found, grades


def _words(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of each line that has any, with its number."""
    for number, line in enumerate(read_text(path, LARGEST_IMPORT).split("\n"), start=1):
        if words := line.split():
            yield number, words


def _some(ids: Sequence[str]) -> str:
    """Name a few of the ids, and say how many there are."""
    more = f" and {len(ids) - SHOWN} more" if len(ids) > SHOWN else ""
    return f"{amount(len(ids), 'question')} ({', '.join(ids[:SHOWN])}{more})"
