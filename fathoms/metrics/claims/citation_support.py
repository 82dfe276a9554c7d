"""Support of citations as in TREC 2024's RAG track: each citation supports its sentence in full, in part or
not.

Thakur et al. 2025, "Support Evaluation for the TREC 2024 RAG Track". Full support counts 1, partial support a
half. Unlike ALCE, each source is judged by itself, and part of a sentence is worth something.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal

from fathoms.metrics.claims.cited_sentences import CitedSentence, cited_sentences
from fathoms.metrics.claims.claim_metric import of_one_record
from fathoms.metrics.claims.nuggets import EXTENT, extent_of
from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.terms import Term, mean_of
from fathoms.metrics.claims.texts import ClaimsOf
from fathoms.metrics.metric import Facts, JudgedMetric, Need, Pooling
from fathoms.types import Judgement, Record, Rubric, Score


@of_one_record
def _sentences(record: Record, claims: ClaimsOf) -> tuple[CitedSentence, ...]:
    """Return the sentences of the answer, each with all sources that it cites."""
    return cited_sentences(record)


class CitationSupport(JudgedMetric):
    """Base class of both metrics. A citation of something that was not retrieved supports nothing, a picture
    cannot be judged, and an abstention has no value."""

    source: ClassVar[str] = "TREC 2024 RAG, Thakur et al. 2025"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits", "citations")
    pooling: ClassVar[Pooling] = "questions"
    splits: ClassVar[bool] = False

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"extent"})

    def judgements(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """Each sentence by each source that it cites."""
        return [
            _asks(sentence, source)
            for sentence in _sentences(record, claims)
            for source in sentence.sources
            if source.text
        ]

    def score(self, facts: Facts) -> Score:
        """Return the weighted share of supported citations or sentences."""
        found = () if facts.scores.abstained else _sentences(facts.record, facts.claims)
        rows = [(sentence, _labels(sentence, facts)) for sentence in found]
        why: dict[str, object] = {"claims": "none"}
        if rows:
            why = {"sentences": [{"claim": one.claim.text, "label": _shown(labels)} for one, labels in rows]}
        return mean_of(self.name, self.terms([labels for _, labels in rows]), why)

    @abstractmethod
    def terms(self, labels: Sequence[Sequence[str]]) -> Sequence[Term]:
        """Return what counts, given the labels of the citations of each sentence."""


class SupportPrecision(CitationSupport):
    """The mean support of the citations of an answer: 1 for full, a half for partial support, else 0."""

    kind: Literal["citation-support.precision"] = "citation-support.precision"

    def terms(self, labels: Sequence[Sequence[str]]) -> Sequence[Term]:
        """Return one term for each citation."""
        return [Term(*_span(label)) for row in labels for label in row]


class SupportRecall(CitationSupport):
    """The mean support of the sentences of an answer, each by the citation that supports it best; a sentence
    without a citation counts 0."""

    kind: Literal["citation-support.recall"] = "citation-support.recall"

    def terms(self, labels: Sequence[Sequence[str]]) -> Sequence[Term]:
        """Return one term for each sentence, by the best of its citations."""
        spans = [[_span(label) for label in row] or [(0.0, 0.0)] for row in labels]
        return [Term(max(low for low, _ in row), max(high for _, high in row)) for row in spans]


def _asks(sentence: CitedSentence, source: Premise) -> Judgement:
    """Return what is asked of a citation."""
    return Judgement(claim=sentence.claim.text, premise=source.text, rubric="extent")


def _labels(sentence: CitedSentence, facts: Facts) -> list[str]:
    """Return the label of each citation of a sentence."""
    found = [extent_of(facts.verdicts.get(_asks(sentence, source))) for source in sentence.sources]
    return [*found, "unsupported"] if sentence.unknown else found


def _span(label: str) -> tuple[float, float]:
    """Return the least and the most that a citation counts."""
    return (EXTENT[label], EXTENT[label]) if label in EXTENT else (0.0, 1.0)


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(labels) or "it cites nothing"


CITATION_SUPPORT: tuple[type[CitationSupport], ...] = (SupportPrecision, SupportRecall)
