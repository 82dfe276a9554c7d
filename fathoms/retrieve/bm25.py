"""BM25: the chunks that share the rarest words with the question, by bm25s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import MissingExtraError
from fathoms.retrieve.base import Corpus, Needs, TextQuery, hits
from fathoms.safety.limits import MOST_CHUNKS
from fathoms.types import Hit, Question

_WORD = r"(?u)\w+"  # "Table 3" and "k = 5" are two words each: a single character counts


class BM25(TextQuery):
    """Okapi BM25 (Robertson et al., TREC-3, 1994): the sum over the words t of the question of

        idf(t) * tf / (tf + k1 * (1 - b + b * length / mean length))

    with tf and length counted in words of the chunk; a word that stands twice in the question counts
    twice. The variants differ in the idf (Kamphuis et al., Which BM25 Do You Mean?, ECIR 2020), where n of
    N chunks hold the word:

    - `lucene`: ln(1 + (N - n + 0.5) / (n + 0.5)), always positive;
    - `robertson`: ln((N - n + 0.5) / (n + 0.5)), but 0 where that is negative: a word that stands in half
      of the chunks counts nothing;
    - `atire`: ln(N / n), and the fraction times k1 + 1.

    A chunk that scores 0 is no hit; equal scores keep the order of the chunks.
    """

    packages: ClassVar[tuple[str, ...]] = ("bm25s", "pystemmer")

    kind: Literal["bm25"] = "bm25"
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """How many chunks a question gets; fewer where fewer share a word with it."""
    method: Literal["lucene", "robertson", "atire"] = "lucene"
    """The variant."""
    k1: float = Field(default=1.5, ge=0, le=1_000_000)
    """How soon more of the same word stops to count; 0 counts presence alone."""
    b: float = Field(default=0.75, ge=0, le=1)
    """How much a long chunk is held against it; 0 is not at all."""
    stemmer: Literal["english", "none"] = "english"
    """Words are compared by their stems (Snowball), or as they stand. Case never counts."""
    stopwords: Literal["english", "none"] = "english"
    """The 33 commonest English words are left out, or none."""

    @property
    def needs(self) -> Needs:
        """Texts alone."""
        return "chunks"

    def check(self) -> None:
        """Raise MissingExtraError where bm25s or its stemmer is not here."""
        _libraries()

    def search(self, corpus: Corpus, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """The `top_k` chunks of the highest scores for every question."""
        words = self._words([chunk.indexed for chunk in corpus.chunks])
        if not any(words):
            return [() for _ in questions]
        library, _ = _libraries()
        index = library.BM25(k1=self.k1, b=self.b, method=self.method, dtype="float64")
        index.index(words, show_progress=False)
        found = []
        for query in self._words(self.queries(questions)):
            scores = index.get_scores_from_ids(index.get_tokens_ids(query))
            best = (-scores).argsort(kind="stable")[: self.top_k]
            found.append(hits([(corpus.chunks[at], float(scores[at])) for at in best if scores[at] > 0]))
        return found

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text that count, in order."""
        library, stemming = _libraries()
        words: list[list[str]] = library.tokenize(
            list(texts),
            token_pattern=_WORD,
            stopwords=self.stopwords if self.stopwords != "none" else [],
            stemmer=stemming.Stemmer(self.stemmer) if self.stemmer != "none" else None,
            return_ids=False,
            show_progress=False,
        )
        return words


def _libraries() -> tuple[Any, Any]:
    """bm25s and the Snowball stemmer, or the command that installs them."""
    try:
        import bm25s
        import Stemmer
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "bm25s", "bm25", "BM25") from error
    return bm25s, Stemmer
