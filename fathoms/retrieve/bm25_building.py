"""Builds the index of BM25 in bounded memory: the words of the texts go through files, block by block.

The result has the very numbers of `bm25s.BM25.index`, which holds all words of all texts in memory. What
grows with the texts is, in memory, the vocabulary and 8 bytes a text, and on the disk 12 bytes for each text
and each of its different words, and while it is built 28 bytes more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

BLOCK = 1000
"""So many texts are split into words at a time."""
BUCKET = 1 << 19
"""So many pairs of a text and one of its words are sorted at a time, or as many as one word has, or one in
`_MOST_BUCKETS` of all."""
_MOST_BUCKETS = 256
"""How many files are open at once."""
Split = Callable[[Sequence[str]], tuple[list[list[int]], dict[str, int]]]
"""Splits texts into words: returns the numbers of the words of each text, and the number of each word."""
_COUNTED = [("text", "<i4"), ("word", "<i4"), ("times", "<i4")]
_SCORED = [("text", "<i4"), ("word", "<i4"), ("score", "<f8")]


@dataclass(frozen=True)
class Weighting:
    """The options of BM25, which are described there."""

    method: Literal["lucene", "robertson", "atire"]
    k1: float
    b: float

    def idf(self, texts: int, having: int) -> float:
        """Return the weight of a word, given the number of all texts and of those that have it."""
        if self.method == "lucene":
            return math.log(1 + (texts - having + 0.5) / (having + 0.5))
        if self.method == "robertson":
            return math.log(max(1, (texts - having + 0.5) / (having + 0.5)))
        return math.log(texts / having)

    def tf(self, times: Floats, lengths: Floats, mean_length: float) -> Floats:
        """Return the parts of the scores that depend on how often the words occur, and on the lengths of the
        texts."""
        if self.method == "atire":
            rest = self.k1 * (1 - self.b + self.b * lengths / mean_length)
            return (times * (self.k1 + 1)) / (times + rest)
        return times / (self.k1 * ((1 - self.b) + self.b * lengths / mean_length) + times)


@dataclass(frozen=True)
class Files:
    """What was built: the number of texts, the number of each word, and three files of NumPy with the scores
    by word: the scores and their texts in the order of words and texts, and where those of each word begin
    (and the last ones end)."""

    texts: int
    words: dict[str, int]
    data: Path
    indices: Path
    indptr: Path


def build(
    texts: Iterable[str],
    split: Split,
    weighting: Weighting,
    folder: Path,
    report: Callable[[int], object] = lambda done: None,
    *,
    block: int = BLOCK,
    bucket: int = BUCKET,
) -> Files:
    """Build the index of texts in an empty folder. `report` is called with the number of texts that were
    split so far. Raises OSError."""
    import numpy as np

    words: dict[str, int] = {}
    counted = folder / "counted"
    lengths = _count(texts, split, words, counted, report, block)
    having = np.zeros(len(words), np.int64)
    for part in _parts(counted, bucket):
        having += np.bincount(part["word"], minlength=len(words))
    ends = np.cumsum(having)
    firsts = _firsts(ends, max(bucket, int(having.sum()) // _MOST_BUCKETS))
    buckets = [folder / f"bucket{number}" for number in range(len(firsts))]
    idfs = {number: weighting.idf(len(lengths), number) for number in np.unique(having).tolist()}
    idf = np.array([idfs[number] for number in having.tolist()], np.float64)
    parts = _parts(counted, bucket)
    _score(parts, lengths, idf, weighting, dict(zip(firsts, buckets, strict=True)))
    counted.unlink()
    files = Files(len(lengths), words, folder / "data", folder / "indices", folder / "indptr.npy")
    np.save(files.indptr, np.concatenate([np.zeros(1, np.int64), ends]))
    with files.data.open("wb") as data, files.indices.open("wb") as indices:
        _head(data, int(having.sum()), "<f8")
        _head(indices, int(having.sum()), "<i4")
        for path in buckets:
            rows = np.fromfile(path, _SCORED)
            rows = rows[np.argsort(rows["word"], kind="stable")]  # the texts of a word stay in order
            np.ascontiguousarray(rows["score"]).tofile(data)
            np.ascontiguousarray(rows["text"]).tofile(indices)
            path.unlink()
    return files


def _count(
    texts: Iterable[str],
    split: Split,
    words: dict[str, int],
    counted: Path,
    report: Callable[[int], object],
    size: int,
) -> Floats:
    """Write how often each text has each of its words into a file, text by text; returns the numbers of words
    of the texts. New words are added to `words`."""
    import numpy as np

    lengths, rest, done = [], iter(texts), 0
    with counted.open("wb") as file:
        while block := list(islice(rest, size)):
            rows, own = split(block)
            found, long = _counts(rows, _numbers(own, words), done)
            found.tofile(file)
            lengths.append(long)
            report(done := done + len(block))
    return np.concatenate([np.zeros(0), *lengths])


def _score(
    parts: Iterable[NDArray[Any]],
    lengths: Floats,
    idf: Floats,
    weighting: Weighting,
    buckets: dict[int, Path],
) -> None:
    """Write the score of each text and word into the file of the bucket that the word belongs to; buckets are
    given by their first words."""
    import numpy as np

    mean, firsts = float(lengths.sum()) / max(1, len(lengths)), list(buckets)
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in buckets.values()]
        for part in parts:
            scored = np.empty(len(part), _SCORED)
            scored["text"], scored["word"] = part["text"], part["word"]
            tf = weighting.tf(part["times"].astype(np.float64), lengths[part["text"]], mean)
            scored["score"] = idf[part["word"]] * tf
            of = np.searchsorted(firsts, part["word"], side="right") - 1
            for number in np.unique(of).tolist():
                scored[of == number].tofile(files[number])


def _numbers(own: dict[str, int], words: dict[str, int]) -> Ints:
    """Return the number among all words of each word of a block, given its number in the block; new words get
    the next numbers, in the order of the alphabet."""
    import numpy as np

    numbers = np.zeros(len(own), np.int64)
    for word in sorted(own):
        numbers[own[word]] = words.setdefault(word, len(words))
    return numbers


def _counts(rows: Sequence[Sequence[int]], numbers: Ints, first: int) -> tuple[NDArray[Any], Floats]:
    """Return how often each word occurs in each text of a block, by text, and the numbers of words of the
    texts. `first` is the number of the first text."""
    import numpy as np

    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    flat = np.fromiter((word for row in rows for word in row), np.int64, int(lengths.sum()))
    keys = np.repeat(np.arange(first, first + len(rows)), lengths) << 32 | numbers[flat]
    pairs, times = np.unique(keys, return_counts=True)
    found = np.empty(len(pairs), _COUNTED)
    found["text"], found["word"], found["times"] = pairs >> 32, pairs & 0xFFFFFFFF, times
    return found, lengths.astype(np.float64)


def _parts(path: Path, bucket: int) -> Iterator[NDArray[Any]]:
    """Yield the pairs of a text and a word that were counted, some at a time."""
    import numpy as np

    with path.open("rb") as file:
        while len(part := np.fromfile(file, _COUNTED, -(-bucket // 4))):
            yield part


def _firsts(ends: Ints, bucket: int) -> list[int]:
    """Return the first word of each bucket, given where the pairs of each word end."""
    import numpy as np

    found: list[int] = []
    at, before = 0, 0
    while at < len(ends):
        found.append(at)
        at = max(at + 1, int(np.searchsorted(ends, before + bucket, side="right")))
        before = int(ends[at - 1])
    return found


def _head(file: Any, rows: int, form: str) -> None:
    """Write the head of a file of NumPy with one column."""
    from numpy.lib.format import write_array_header_1_0

    write_array_header_1_0(file, {"descr": form, "fortran_order": False, "shape": (rows,)})
