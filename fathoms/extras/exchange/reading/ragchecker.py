"""Imports files of RAGChecker, its inputs and its outputs.

    {"results": [{"query_id": "0", "query": "...", "gt_answer": "...", "response": "...",
                  "retrieved_context": [{"doc_id": "000", "text": "..."}]}]}

| key of a result | becomes |
|---|---|
| `query_id`, `query`, `gt_answer` | the id and the text of the question, and its gold answer |
| `response`, `retrieved_context` | the answer and the hits; `doc_id` is the document |
| `response_claims`, `gt_answer_claims` | the claims of the answer and of the gold answer |
| `answer2response`, `response2answer` | verdicts of these claims against the gold answer and the answer |
| `retrieved2response`, `retrieved2answer` | the same against each passage, a list for each claim |
| `metrics` | released scores |

A claim is a text or a list of texts, such as a triplet, which are joined by spaces. The labels are
`Entailment`, `Neutral` and `Contradiction`; any other text is a verdict that could not be read, and null is
a missing one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fathoms.errors import DataError, amount
from fathoms.extras.exchange.reading.contexts import named_contexts
from fathoms.extras.exchange.reading.foreign import ForeignRow, Options, found_hits, imported, numbers, usable
from fathoms.importers.imported import Imported
from fathoms.importers.rows import Row
from fathoms.judges.imported import ImportedJudge, ImportedVerdicts
from fathoms.metrics.claims.matrix import Grid
from fathoms.metrics.claims.ragchecker import (
    answer_by_gold,
    answer_by_hits,
    gold_by_answer,
    gold_by_hits,
)
from fathoms.metrics.claims.texts import Text, answer_text
from fathoms.safety.inputs import LARGEST_IMPORT, parse_json, read_text
from fathoms.types import Claim, Judgement, Record, Verdict

_LABELS = ("entailment", "neutral", "contradiction")


def _joined(claim: Any) -> Any:
    """Return the parts of a triplet as one text."""
    parts = isinstance(claim, list) and all(isinstance(part, str) for part in claim)
    return " ".join(claim) if parts else claim


_Name = Annotated[str, BeforeValidator(lambda name: str(name) if isinstance(name, int) else name)]
_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]
_Claim = Annotated[_Text, BeforeValidator(_joined)]
_Labels = list[str | None]


class _Passage(BaseModel):
    """A retrieved passage as RAGChecker's files give it."""

    doc_id: _Name = ""
    text: _Text


class _Result(BaseModel):
    """One result of the file."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    query_id: _Name | None = None
    query: _Text
    gt_answer: str = ""
    response: str
    retrieved_context: list[_Passage] | None = None
    response_claims: list[_Claim] | None = None
    gt_answer_claims: list[_Claim] | None = None
    answer2response: _Labels | None = None
    response2answer: _Labels | None = None
    retrieved2response: list[_Labels] | None = None
    retrieved2answer: list[_Labels] | None = None
    metrics: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _has_a_label_for_each(self) -> _Result:
        """Check that each claim has a label, and in a matrix one for each passage."""
        passages = len(self.retrieved_context or ())
        for name, of in _CLAIMS.items():
            labels, claims = getattr(self, name), getattr(self, of) or ()
            if labels is None or not labels:
                continue
            if len(labels) != len(claims):
                raise ValueError(
                    f"'{name}' has {amount(len(labels), 'label')} for {amount(len(claims), 'claim')} of"
                    f" '{of}'"
                )
            for at, row in enumerate(labels if name.startswith("retrieved2") else ()):
                if len(row) != passages:
                    raise ValueError(
                        f"'{name}[{at}]' has {amount(len(row), 'label')} for {amount(passages, 'passage')}"
                    )
        return self


_CLAIMS = {
    "answer2response": "response_claims",
    "response2answer": "gt_answer_claims",
    "retrieved2response": "response_claims",
    "retrieved2answer": "gt_answer_claims",
}
_GRIDS = {
    "answer2response": answer_by_gold,
    "response2answer": gold_by_answer,
    "retrieved2response": answer_by_hits,
    "retrieved2answer": gold_by_hits,
}


def read_ragchecker(path: Path) -> Imported:
    """Read a file of RAGChecker. Results that cannot be used are left out and named in warnings.

    Raises DataError if the file is none of RAGChecker, or if none of its results can be used.
    """
    data = parse_json(read_text(path, LARGEST_IMPORT), str(path), nan_as_null=True)
    results = data.get("results") if isinstance(data, dict) else None
    if not isinstance(results, list):
        raise DataError(f"{path}: expected an object with a list of 'results': this is no file of RAGChecker")
    parsed: dict[str, _Result] = {}

    def read(number: int, value: Any) -> ForeignRow:
        result = _Result.model_validate(value)
        id = result.query_id or str(number)
        parsed.setdefault(id, result)  # of two results for one question, the first one is imported
        return _row(number, id, result)

    rows, complaints = usable(enumerate(results, start=1), read, path, "result")
    found = imported(path, rows, complaints, Options())
    if not any(result.response_claims is not None for result in parsed.values()):
        return found
    imported_verdicts, conflicts = _imported_verdicts(
        [(record, parsed[record.question.id]) for record in found.records]
    )
    more = [f"{path}: {conflict}" for conflict in conflicts]
    return replace(
        found, judged=imported_verdicts, metrics=("ragchecker",), warnings=(*found.warnings, *more)
    )


def _row(number: int, id: str, result: _Result) -> ForeignRow:
    """Convert a result to a row with its question."""
    passages = result.retrieved_context
    texts, ids = [one.text for one in passages or ()], [one.doc_id for one in passages or ()]
    row = Row(
        number,
        id,
        result.query,
        what="result",
        answer=result.response,
        hits=found_hits(None if passages is None else named_contexts(texts, ids)),
        released=numbers(result.metrics or {}),
    )
    claims = tuple(result.gt_answer_claims or ())
    return ForeignRow(row, reference=result.gt_answer or None, reference_claims=claims)


def _imported_verdicts(judged: Sequence[tuple[Record, _Result]]) -> tuple[ImportedVerdicts, list[str]]:
    """Return the claims and verdicts of the results, and a message if the file contradicts itself."""
    claims: dict[Text, tuple[Claim, ...]] = {}
    verdicts: dict[Judgement, Verdict] = {}
    conflicts = 0
    for record, result in judged:
        text = answer_text(record)
        if text is not None and result.response_claims is not None:
            claims[text] = tuple(Claim(text=claim) for claim in result.response_claims)
        for name, grid in _GRIDS.items():
            for judgement, label in _labelled(grid(record, claims), getattr(result, name) or ()):
                verdict = Verdict(claim=judgement.claim, premise=judgement.premise, label=_read(label))
                conflicts += verdicts.setdefault(judgement, verdict).label != verdict.label
    several = f"labels that contradict an earlier one of the same claim and text, which counts: {conflicts}"
    return ImportedVerdicts(ImportedJudge(by="RAGChecker"), claims, verdicts), [several] if conflicts else []


def _labelled(grid: Grid, labels: Sequence[Any]) -> Iterator[tuple[Judgement, str]]:
    """Yield each judgement of a grid that has a label with it."""
    for row, given in zip(grid.judgements, labels, strict=False):
        for judgement, label in zip(row, given if isinstance(given, list) else [given], strict=False):
            if label is not None:
                yield judgement, label


def _read(label: str) -> str:
    """Return a label in our own form."""
    return label.lower() if label.lower() in _LABELS else "unparsed"
