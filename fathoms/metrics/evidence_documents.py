"""How many of the documents that hold the evidence reach each stage, for questions over several documents.

The evidence documents of a question are the different documents of its gold pages; a question with fewer than
two has none of these figures, because its gold pages say the same.

| stage | an evidence document has reached it if |
|---|---|
| `parsed` | it was parsed and has text |
| `retrieved` | a hit is of it |
| `prompt` | a chunk of it is in a prompt, after packing |
| `combined` | its partial answer is in the prompt that combines them (`retrieve: {kind: each-document}`) |
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Literal

from fathoms.metrics.gold_pages import chunks_in_prompt
from fathoms.metrics.metric import Facts, Metric, Need, shared_score
from fathoms.metrics.retrieval.gold import gold_of
from fathoms.types import Question, Record, Score

LEAST = 2
TOO_FEW = "evidence in at least two documents"
Documents = frozenset[str] | None
"""The evidence documents that reached a stage, `None` where that is not known."""


def evidence_documents(question: Question) -> frozenset[str]:
    """Return the different documents of the gold pages of a question."""
    return frozenset([document for document, _ in gold_of(question).pages])


def _documents(record: Record, names: Iterable[str | None]) -> Documents:
    """Return the evidence documents among some; `None` if one of them is not known and may be one that is
    missing."""
    wanted, found = evidence_documents(record.question), set(names)
    return None if None in found and not wanted <= found else wanted & found


class EvidenceDocumentStage(Metric):
    """Base class of the share of evidence documents that reach a stage."""

    needs: ClassVar[tuple[Need, ...]] = ()
    group: ClassVar[str] = "evidence documents"
    source: ClassVar[str] = "fathoms, docs/funnel.md"
    unknown: ClassVar[str]
    """What a run must have for this stage to be known."""

    @abstractmethod
    def reached(self, facts: Facts) -> Documents:
        """Return the documents that have reached the stage, `None` if that is not known."""

    def lacks(self, record: Record) -> str | None:
        """Say that the evidence of a question is in fewer than two documents."""
        is_over_many = len(evidence_documents(record.question)) >= LEAST
        return None if is_over_many else TOO_FEW

    def score(self, facts: Facts) -> Score:
        """Return the share, with the documents that did not reach the stage as the reason."""
        wanted, found = evidence_documents(facts.record.question), self.reached(facts)
        if found is None:
            return shared_score(self.name, None, 0, lacks=self.unknown)
        missing = "; ".join(sorted(wanted - found))
        why: dict[str, object] = {"missing": missing} if missing else {}
        parts: dict[str, float | None] = {"reached": len(found), "documents": len(wanted)}
        value = len(found) / len(wanted)
        return Score(metric=self.name, value=value, n=len(wanted), parts=parts, why=why)

    def counted(self, score: Score) -> dict[str, int]:
        """Count the documents, and those that have reached the stage."""
        return {name: int(value or 0) for name, value in score.parts.items()}


class EvidenceDocumentParsed(EvidenceDocumentStage):
    """The share of the evidence documents that were parsed and have text."""

    unknown: ClassVar[str] = "the parsed gold documents"

    kind: Literal["evidence-document-parsed"] = "evidence-document-parsed"

    def reached(self, facts: Facts) -> Documents:
        """Return the documents with text."""
        wanted = evidence_documents(facts.record.question)
        starts = {name: facts.texts.page_starts(name) if facts.texts else None for name in wanted}
        return None if None in starts.values() else frozenset(name for name in wanted if starts[name])


class EvidenceDocumentRetrieved(EvidenceDocumentStage):
    """The share of the evidence documents of which a chunk was retrieved."""

    unknown: ClassVar[str] = "retrieved chunks with known documents"

    kind: Literal["evidence-document-retrieved"] = "evidence-document-retrieved"

    def reached(self, facts: Facts) -> Documents:
        """Return the documents of the hits."""
        hits = facts.record.hits
        return None if hits is None else _documents(facts.record, (hit.chunk.document for hit in hits))


class EvidenceDocumentInPrompt(EvidenceDocumentStage):
    """The share of the evidence documents of which a chunk is in a prompt, after packing."""

    unknown: ClassVar[str] = "a prompt whose chunks are known"

    kind: Literal["evidence-document-in-prompt"] = "evidence-document-in-prompt"

    def reached(self, facts: Facts) -> Documents:
        """Return the documents in the prompt."""
        chunks = chunks_in_prompt(facts.record)
        return None if chunks is None else _documents(facts.record, (chunk.document for chunk, _ in chunks))


class EvidenceDocumentCombined(EvidenceDocumentStage):
    """The share of the evidence documents whose partial answer is in the prompt that combines them. It is
    known of runs that ask each document by itself."""

    unknown: ClassVar[str] = "documents that were each asked by itself"

    kind: Literal["evidence-document-combined"] = "evidence-document-combined"

    def reached(self, facts: Facts) -> Documents:
        """Return the documents whose answers were combined."""
        record = facts.record
        parts = [part for part in record.prompt.parts if part.document] if record.prompt else []
        if not parts or record.answer is None:
            return None
        return _documents(record, (part.document for part in parts if part.is_combined))
