"""Faithfulness: whether what an answer says is supported by the context that the model was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.metric import Facts, JudgedMetric, Need, share_of
from fathoms.types import Claim, Judgement, Record, Score


class Faithfulness(JudgedMetric):
    """The share of the claims of an answer that the context in the prompt supports (RAGAS, Es et al. 2024).

    The context is the packed text of the prompt, or the retrieved texts where the prompt is not known. An
    answer without a claim, such as an abstention, has no faithfulness; the library ragas gives NaN for it.
    """

    source: ClassVar[str] = "RAGAS, Es et al. 2024"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits")

    kind: Literal["faithfulness"] = "faithfulness"

    def texts(self, record: Record) -> Sequence[tuple[str, str]]:
        """The answer."""
        return [(record.answer.text, record.question.text)] if record.answer else []

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Each claim of the answer against the context."""
        premise = _context(record)
        return [
            Judgement(claim=claim.text, context=claim.context, premise=premise)
            for text in self.texts(record)
            for claim in claims.get(text, ())
        ]

    def score(self, facts: Facts) -> Score:
        """Return the share of supported claims."""
        (text,) = self.texts(facts.record)
        if text not in facts.claims:
            return Score(metric=self.name, value=None, n=0, why={"lacks": "claims, because the judge failed"})
        asked = self.judgements(facts.record, facts.claims)
        verdicts = [facts.verdicts.get(judgement) for judgement in asked]
        listed = [
            {"claim": one.claim, "label": verdict.label if verdict else "failed", "p": verdict and verdict.p}
            for one, verdict in zip(asked, verdicts, strict=True)
        ]
        return share_of(self.name, verdicts, {"verdicts": listed} if listed else {"claims": "none"})


def _context(record: Record) -> str:
    """Return the text that the answer should rest on."""
    if record.prompt is not None and record.prompt.context:
        return record.prompt.context
    return "\n\n".join(hit.chunk.text for hit in record.hits or ())
