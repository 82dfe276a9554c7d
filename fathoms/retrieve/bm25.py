"""BM25: keyword search that ranks chunks by the words they share with the question, with bm25s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import MissingExtraError
from fathoms.retrieve.base import Index, Needs, TextQuery, hits
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.types import Hit, Question

# The default pattern of bm25s drops words of one character, such as the numbers in "Table 3" and "k = 5".
_WORD = r"(?u)\w+"


class BM25(TextQuery):
    """Okapi BM25 (Robertson et al., TREC-3, 1994). The score of a chunk is the sum over the words t of the
    question of

        idf(t) * tf / (tf + k1 * (1 - b + b * length / mean length))

    where tf is how often t occurs in the chunk and length is the number of words in the chunk. A word that
    occurs twice in the question counts twice. The variants differ in the idf (Kamphuis et al., Which BM25 Do
    You Mean?, ECIR 2020). With N chunks, n of which contain the word, it is:

    - `lucene`: ln(1 + (N - n + 0.5) / (n + 0.5)), which is always positive;
    - `robertson`: ln((N - n + 0.5) / (n + 0.5)), or 0 if that is negative: a word that occurs in at least
      half of the chunks has no weight;
    - `atire`: ln(N / n); the fraction is also multiplied by k1 + 1.

    A chunk with score 0 is not returned. Chunks with equal scores keep their order in the index.
    """

    packages: ClassVar[tuple[str, ...]] = ("bm25s", "pystemmer")

    kind: Literal["bm25"] = "bm25"
    top_k: int = Field(default=3, ge=1, le=MOST_CHUNKS)
    """Number of chunks per question. There are fewer if fewer chunks share a word with the question."""
    method: Literal["lucene", "robertson", "atire"] = "lucene"
    """The BM25 variant, which decides how the weight of a word (its idf) is computed."""
    k1: float = Field(default=1.5, ge=0, le=1_000_000)
    """Saturation of the term frequency: the lower it is, the less repetitions of a word add. With 0, only the
    presence of a word counts."""
    b: float = Field(default=0.75, ge=0, le=1)
    """Strength of the length normalisation, which lowers the scores of long chunks; 0 turns it off."""
    stemmer: Literal["english", "none"] = "english"
    """`english` compares words by their Snowball stems, `none` compares whole words. Case is always
    ignored."""
    stopwords: Literal["english", "none"] = "english"
    """`english` ignores the 33 most common English words, `none` keeps all words."""

    @property
    def needs(self) -> Needs:
        """Always `chunks`: BM25 needs texts and no vectors."""
        return "chunks"

    def check(self) -> None:
        """Raise MissingExtraError if bm25s or PyStemmer is not installed."""
        _libraries()

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` chunks with the highest scores for each question."""
        words = self._words([chunk.indexed for chunk in index.chunks])
        if not any(words):
            return [() for _ in questions]
        library, _ = _libraries()
        searcher = library.BM25(k1=self.k1, b=self.b, method=self.method, dtype="float64")
        searcher.index(words, show_progress=False)
        found = []
        for query in self._words(self.queries(questions)):
            scores = searcher.get_scores_from_ids(searcher.get_tokens_ids(query))
            best = (-scores).argsort(kind="stable")[: self.top_k]
            found.append(hits([(index.chunks[at], float(scores[at])) for at in best if scores[at] > 0]))
        return found

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        """Tokenize each text: lower-cased words in order, without stop words, stemmed as configured."""
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
    """Import bm25s and PyStemmer; raises MissingExtraError if one is not installed."""
    try:
        import bm25s
        import Stemmer
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "bm25s", "bm25", "BM25") from error
    return bm25s, Stemmer
