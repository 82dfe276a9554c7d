"""BM25: keyword search that ranks chunks by the words they share with the question, with bm25s."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby, islice
from pathlib import Path
from shutil import rmtree
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import package_version
from fathoms.retrieve import bm25_building, bm25_index, words
from fathoms.retrieve.indexes import load_index, store_index
from fathoms.retrieve.retriever import RANKS_TEXTS, Index, Needs, TextQuery, hits
from fathoms.runs.events import happened
from fathoms.safety.option_limits import MOST_CHUNKS
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Hit, Question

# The default pattern of bm25s drops words of one character, such as the numbers in "Table 3" and "k = 5".
_WORD = r"(?u)\w+"
_INDEX, _NAME = "bm25-index", re.compile("[0-9a-f]{32}")
"""The kind of what the cache has of which index documents have, and the form of its name."""


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

    usable_in: ClassVar[frozenset[str]] = RANKS_TEXTS

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
    tokenizer: Literal["words", "auto"] = "words"
    """How texts are split into words. `words` splits at everything but letters, digits and `_`. `auto` also
    splits Chinese, Japanese, Korean and other scripts that such a rule cannot split, and stems Arabic; texts
    may mix languages. It needs the extra `bm25-languages`."""

    def identity(self) -> dict[str, Any]:
        """Leave out the default tokenizer, so that runs from before there was another keep their
        fingerprint, and add the version of ICU's package to any other."""
        own = super().identity()
        if self.tokenizer == "words":
            del own["options"]["tokenizer"]
        else:
            own["versions"]["icu4py"] = package_version("icu4py")
        return own

    @property
    def needs(self) -> Needs:
        """Always `chunks`: BM25 needs texts and no vectors."""
        return "chunks"

    def check(self) -> None:
        """Raise MissingExtraError if bm25s, PyStemmer or what the tokenizer needs is not installed."""
        bm25_index.libraries()
        if self.tokenizer == "auto":
            words.require()

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the `top_k` chunks with the highest scores for each question."""
        searcher = index.build_once(self._key(), lambda: self._searcher(index))
        if searcher is None:
            return [() for _ in questions]
        found = []
        for query in self._words(self.queries(questions)):
            scores = searcher.get_scores_from_ids(searcher.get_tokens_ids(query))
            best = (-scores).argsort(kind="stable")[: self.top_k]
            found.append(hits([(index.chunks[at], float(scores[at])) for at in best if scores[at] > 0]))
        return found

    def index_bytes(self, index: Index) -> int | None:
        """Return the bytes of the scores of every word in every chunk; the words themselves, of which there
        is one list, are left out. `None` before the first search."""
        searcher = index.built.get(self._key())
        if searcher is None:
            return None
        return sum(int(searcher.scores[part].nbytes) for part in ("data", "indices", "indptr"))

    def _key(self) -> str:
        """The key of what is made of an index once: all that its scores depend on besides the texts."""
        options = self.model_dump(mode="json", exclude={"top_k", "query"})
        return fingerprint("bm25", self.revision, options, self.identity()["versions"])

    def prepare(self, index: Index, progress: Callable[[int, int], None]) -> None:
        """Build the index of the words and store it, unless it is there."""
        number = len(index.chunks)
        index.build_once(self._key(), lambda: self._searcher(index, lambda done: progress(done, number)))

    def _searcher(self, index: Index, report: Callable[[int], object] = lambda done: None) -> Any:
        """Return bm25s's index of all chunks, from the cache where it is there; `None` if they have no
        words. `report` is called with the number of chunks that a new index has by now."""
        folder = index.folder.with_name(fingerprint(index.folder.name, self._key()))
        read = partial(bm25_index.read, len(index.chunks))
        built = None if index.refresh else load_index(folder, read)
        if built is None:
            texts = _Texts(index.chunks, looks=self.tokenizer == "words")
            with suppress(UnicodeError):  # words that cannot be written
                write = partial(self._write, texts, report, self._known(index))
                store_index(folder, write, index.full)
                if (built := load_index(folder, read)) is not None:
                    self._supersede(index, folder)
            if built is None:  # each run builds it again
                built = bm25_index.Built(self._in_memory(texts), texts.unspaced)
        if built.unspaced and built.unspaced * 10 >= len(index.chunks):
            happened(
                "words-not-split", level=logging.WARNING, chunks=len(index.chunks), unspaced=built.unspaced
            )
        return built.searcher

    def _supersede(self, index: Index, folder: Path) -> None:
        """Note which index these documents have, and delete the one that they had before one of them changed.
        Who has that one open still reads it."""
        if index.replies is None or not index.lineage:
            return
        cache, key = index.replies.cache, fingerprint("bm25 index", index.lineage, self._key())
        before = cache.load(_INDEX, key, str)
        if before is not None and before != folder.name and _NAME.fullmatch(before):
            rmtree(folder.with_name(before), ignore_errors=True)
        cache.put_text(_INDEX, key, folder.name)

    def _write(
        self, texts: _Texts, report: Callable[[int], object], known: bm25_building.Known | None, folder: Path
    ) -> None:
        """Build the index of texts in an empty folder."""
        weighting = bm25_building.Weighting(self.method, self.k1, self.b)
        files = bm25_building.build(texts.parts(), self._split, weighting, folder, report, known=known)
        bm25_index.write(files, self._empty(), texts.unspaced, folder)

    def _known(self, index: Index) -> bm25_building.Known | None:
        """What was counted of documents before, split as here; nothing where there is no cache."""
        if index.replies is None:
            return None
        options = self.model_dump(mode="json", include={"stemmer", "stopwords", "tokenizer"})
        of = fingerprint("bm25 words", self.revision, options, self.identity()["versions"])
        return bm25_building.KnownIn(index.replies.cache, of)

    def _in_memory(self, texts: Iterable[str]) -> Any:
        """Build the index of texts with bm25s alone; `None` if they have no words."""
        tokens = self._words(list(texts))
        if not any(tokens):
            return None
        searcher = self._empty()
        searcher.index(tokens, show_progress=False)
        return searcher

    def _empty(self) -> Any:
        """Return bm25s's object without an index."""
        library, _ = bm25_index.libraries()
        return library.BM25(k1=self.k1, b=self.b, method=self.method, dtype="float64")

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        """Split each text: lower-cased words in order, without stop words, stemmed as configured."""
        found: list[list[str]] = self._tokenized(texts, return_ids=False)
        return found

    def _split(self, texts: Sequence[str]) -> tuple[list[list[int]], dict[str, int]]:
        """Return the same words as numbers, and the number of each word."""
        found = self._tokenized(texts, return_ids=True)
        return found.ids, found.vocab

    def _tokenized(self, texts: Sequence[str], *, return_ids: bool) -> Any:
        """Return texts split into words by the library bm25s."""
        library, stemming = bm25_index.libraries()
        pattern = _WORD
        if self.tokenizer == "auto":
            stem: Callable[[str], str] = str
            if self.stemmer != "none":
                stem = stemming.Stemmer("arabic").stemWord
            texts, pattern = [" ".join(words.split(text, stem)) for text in texts], r"\S+"
        return library.tokenize(
            list(texts),
            token_pattern=pattern,
            stopwords=self.stopwords if self.stopwords != "none" else [],
            stemmer=stemming.Stemmer(self.stemmer) if self.stemmer != "none" else None,
            return_ids=return_ids,
            show_progress=False,
        )


class _Texts:
    """The texts of chunks, one after another. Once they were read, `unspaced` is the number of those that
    have a script without spaces between words, if it `looks` for them."""

    def __init__(self, chunks: Iterable[Chunk], *, looks: bool) -> None:
        self._chunks, self._looks = chunks, looks
        self.unspaced = 0

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.parts())

    def parts(self) -> Iterator[list[str]]:
        """Yield the texts of each document, some at a time."""
        self.unspaced = 0
        for _, chunks in groupby(self._chunks, lambda chunk: chunk.source):
            while texts := [chunk.indexed for chunk in islice(chunks, bm25_building.BLOCK)]:
                if self._looks:
                    self.unspaced += sum(
                        not text.isascii() and words.UNSPACED.search(text) is not None for text in texts
                    )
                yield texts
