"""Citations after the fact: a sentence that cites nothing cites the source that is nearest to it.

MiRAGE (Martin et al. 2025) does this for systems that cite nothing or little, so that the metrics of
citations can be computed for them at all. Metrics with such citations have names that say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from fathoms.metrics.metric import JudgedMetric
from fathoms.models import Embedder, LexicalEmbedder, TextEmbedder
from fathoms.types import Record

_CITATIONS = "citations"


def nearest(embed: TextEmbedder, sentence: str, texts: Sequence[str]) -> int | None:
    """Return the place of the text with the highest cosine to a sentence; `None` if none has anything in
    common with it."""
    if not texts:
        return None
    first, *others = embed.embed([sentence, *texts])
    cosines = [float(first @ other) for other in others]
    best = max(range(len(texts)), key=cosines.__getitem__)
    return best if cosines[best] > 0 else None


class CitesPostHoc(JudgedMetric):
    """Base class of the metrics of citations that can also be computed for an answer that cites nothing."""

    cite: Literal["written", "post-hoc"] = "written"
    """Whether only the citations of the answer count, or a sentence without any cites the retrieved text that
    is nearest to it (`NAME-post-hoc`)."""
    embed: Embedder = Field(default=LexicalEmbedder(), validate_default=True)
    """The embedder that finds the nearest text for `cite: post-hoc`."""

    @property
    def name(self) -> str:
        """The name, marked where citations were added."""
        return f"{super().name}-post-hoc" if self.cite == "post-hoc" else super().name

    def identity(self) -> dict[str, Any]:
        """Extend the identity by that of the embedder, where it is used."""
        found = super().identity()
        return found | {"embed": self.embed.identity()} if self.cite == "post-hoc" else found

    def check(self) -> None:
        """Check the embedder, where it is used; raises its errors."""
        super().check()
        if self.cite == "post-hoc":
            self.embed.check()

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks; citations are only needed if none are added."""
        lacking = super().lacks(record)
        places = [citation.sentence for citation in record.citations or ()]
        if lacking is None and places and not any(places):
            lacking = "citations that are written in the answer"
        added = self.cite == "post-hoc" and lacking is not None and lacking.startswith(_CITATIONS)
        return None if added else lacking

    @property
    def adds_by(self) -> Embedder | None:
        """The embedder that finds sources for sentences without one; `None` if only written citations
        count."""
        return self.embed if self.cite == "post-hoc" else None
