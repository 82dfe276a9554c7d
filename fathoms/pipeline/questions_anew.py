"""Embedding questions for a search whose time is measured: never from the cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.embed.process import embed_questions
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.pipeline.ingest_times import IngestTimes
from fathoms.pipeline.page_index import QUESTIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathoms.models import PageEmbedder

    Vectors = NDArray[np.float32]


@dataclass
class QuestionsAnew:
    """Embeds texts of questions anew, although the cache may have their vectors, and adds what a server took
    to `times`. `calling` are the retries and rate limits of its requests.

    Where a request fails, the vectors that arrived before are held for the next call with their texts, so
    that they are not paid for twice.
    """

    embedder: PageEmbedder
    calling: ExecutionSettings
    times: IngestTimes
    _held: dict[str, Vectors] = field(default_factory=dict)

    def __call__(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vectors of each text, float32 of shape (vectors, width); raises the errors of the
        embedder."""
        there = {text: self._held.pop(text) for text in dict.fromkeys(texts) if text in self._held}
        missing = [text for text in dict.fromkeys(texts) if text not in there]

        def arrived(first: int, vectors: Sequence[Vectors]) -> None:
            there.update(zip(missing[first : first + len(vectors)], vectors, strict=True))

        how, started = EmbeddingCalls(self.calling, keep=arrived), time.perf_counter()
        try:
            if missing:
                there |= dict(zip(missing, embed_questions(self.embedder, missing, how), strict=True))
        except BaseException:
            self._held |= there
            raise
        finally:
            self.times.asked(QUESTIONS, time.perf_counter() - started, how)
        return [there[text] for text in texts]
