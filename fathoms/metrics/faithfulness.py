"""Faithfulness: whether what an answer says is supported by the context that the model was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.claims.claim_metric import not_split
from fathoms.metrics.claims.compared import claim_rows
from fathoms.metrics.claims.expected import SupportedShare
from fathoms.metrics.claims.matrix import Grid
from fathoms.metrics.claims.premises import CONTEXT, Premise, retrieved
from fathoms.metrics.metric import Facts, Need
from fathoms.metrics.said import judged_text
from fathoms.types import Claim, Judgement, Record, Score


class OfContext(SupportedShare):
    """Base class of faithfulness under its names: the share of the claims of an answer that the context in
    the prompt supports."""

    source: ClassVar[str] = "RAGAS, Es et al. 2024"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "hits")

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks; attached files are no context that a judge can read."""
        lacking = super().lacks(record)
        if lacking is not None:
            return lacking
        pictures = _pictures(record)
        if any(not picture.image.is_file() for picture in pictures if picture.image):
            return "the pictures that the model was given"
        return None if pictures or _text(record) else "a context in text or pictures"

    def texts(self, record: Record) -> Sequence[tuple[str, str]]:
        """The answer with its question: its claims are what is judged."""
        return [(judged_text(record), record.question.in_conversation)] if record.answer else []

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Each claim of the answer against the text of the context, and against each picture in it."""
        return [
            judgement
            for text in self.texts(record)
            for row in _grid(record, claims.get(text, ())).judgements
            for judgement in row
        ]

    def score(self, facts: Facts) -> Score:
        """Return the share of supported claims."""
        (text,) = self.texts(facts.record)
        if text not in facts.claims:
            return not_split(self, facts, text)
        matrix = _grid(facts.record, facts.claims[text]).judged(facts.verdicts)
        facts.compared.append(matrix)
        listed = claim_rows([matrix], facts.failures)
        return self.share(matrix, {"verdicts": listed} if listed else {"claims": "none"})


class Faithfulness(OfContext):
    """The share of the claims of an answer that the context in the prompt supports (RAGAS, Es et al. 2024).

    The context is the packed text of the prompt, or the retrieved texts where the prompt is not known.
    Retrieved pictures are judged one by one: a claim is supported if the text or any picture supports it. An
    answer without a claim, such as an abstention, has no faithfulness; the library ragas gives NaN for it.
    """

    kind: Literal["faithfulness"] = "faithfulness"


def _text(record: Record) -> str:
    """Return the text that the answer should rest on."""
    if record.prompt is not None and record.prompt.context:
        return record.prompt.context
    return "\n\n".join(hit.chunk.text for hit in record.hits or () if hit.chunk.modality == "text")


def _grid(record: Record, claims: tuple[Claim, ...]) -> Grid:
    """Return claims against the text of the context, and against each picture in it."""
    text = _text(record)
    whole = (Premise(text, place=CONTEXT),) if text else ()
    return Grid(claims, (*whole, *_pictures(record)), by="context")


def _pictures(record: Record) -> tuple[Premise, ...]:
    """Return the retrieved pictures as premises, best first."""
    return tuple(one for one in retrieved(record.hits or ()) if one.image)
