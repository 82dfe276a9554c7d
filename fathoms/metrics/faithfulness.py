"""Faithfulness: whether what an answer says is supported by the context that the model was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from fathoms.metrics.claims.base import not_split
from fathoms.metrics.claims.shares import share_of
from fathoms.metrics.metric import Facts, JudgedMetric, Need
from fathoms.types import Claim, Judgement, Record, Score, Verdict


class OfContext(JudgedMetric):
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
        if any(not picture.is_file() for picture in pictures):
            return "the pictures that the model was given"
        return None if pictures or _text(record) else "a context in text or pictures"

    def texts(self, record: Record) -> Sequence[tuple[str, str]]:
        """The answer."""
        return [(record.answer.text, record.question.text)] if record.answer else []

    def judgements(
        self, record: Record, claims: Mapping[tuple[str, str], tuple[Claim, ...]]
    ) -> Sequence[Judgement]:
        """Each claim of the answer against the text of the context, and against each picture in it."""
        return [
            judgement
            for text in self.texts(record)
            for claim in claims.get(text, ())
            for judgement in _premises(claim, record)
        ]

    def score(self, facts: Facts) -> Score:
        """Return the share of supported claims."""
        (text,) = self.texts(facts.record)
        if text not in facts.claims:
            return not_split(self.name, facts, text)
        supports: list[bool | None] = []
        listed: list[dict[str, object]] = []
        for claim in facts.claims[text]:
            asked = _premises(claim, facts.record)
            verdict = _best([facts.verdicts.get(judgement) for judgement in asked])
            supports.append(verdict.supports if verdict else None)
            if verdict is not None:
                why = {"why": verdict.why} if verdict.why else {}
                listed.append({"claim": claim.text, "label": verdict.label, "p": verdict.p, **why})
            else:
                failures = [facts.failures[one] for one in asked if one in facts.failures]
                why = {"why": f"{failures[0].kind}: {failures[0].message}"} if failures else {}
                listed.append({"claim": claim.text, "label": "failed", "p": None, **why})
        return share_of(self.name, supports, {"verdicts": listed} if listed else {"claims": "none"})


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


def _premises(claim: Claim, record: Record) -> list[Judgement]:
    """Return one judgement of a claim for the text, and one for each picture."""
    text, asked = _text(record), Judgement(claim=claim.text, context=claim.context)
    return [
        *([asked.model_copy(update={"premise": text})] if text else []),
        *(asked.model_copy(update={"image": picture}) for picture in _pictures(record)),
    ]


def _pictures(record: Record) -> list[Path]:
    """Return the retrieved pictures."""
    return [hit.chunk.image for hit in record.hits or () if hit.chunk.image]


def _best(verdicts: Sequence[Verdict | None]) -> Verdict | None:
    """Return a verdict that supports the claim, else one that is missing or unreadable, as it might support
    it, else any."""
    order = {True: 0, None: 1, False: 2}
    return min(verdicts, key=lambda verdict: order[verdict.supports if verdict else None], default=None)
