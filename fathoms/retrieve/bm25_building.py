"""Builds the index of BM25 in bounded memory: the words of the texts go through files, block by block.

The result has the very numbers of `bm25s.BM25.index`, which holds all words of all texts in memory. What
grows with the texts is, in memory, the vocabulary and 8 bytes a text, and on the disk 12 bytes for each text
and each of its different words, and while it is built 28 bytes more. What is counted of the texts of a
document stays for the next index, so that a document that changed is the only one that is split again; the
scores depend on all texts, and are computed again.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import flat_fingerprint

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
_WORDS = "bm25-words"
"""The kind of what the cache has of the words of texts."""
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


class Counts(NamedTuple):
    """What was counted of some texts: their words, how often each text has each of them (texts and words are
    numbered from 0), and the numbers of words of the texts."""

    words: list[str]
    rows: NDArray[Any]
    lengths: Floats

    def packed(self) -> bytes:
        """Return the counts as compressed bytes, for `unpacked`."""
        head = json.dumps([len(self.lengths), *self.words]).encode()
        body = self.lengths.astype("<f8").tobytes() + self.rows.tobytes()
        return zlib.compress(head + b"\n" + body, 1)

    @classmethod
    def unpacked(cls, data: bytes, texts: int) -> Counts | None:
        """Return the counts of so many texts from bytes; `None` if they are of others."""
        import numpy as np

        try:
            head, _, body = zlib.decompress(data).partition(b"\n")
            number, *words = json.loads(head)
            rows = np.frombuffer(body[8 * texts :], _COUNTED)
        except (ValueError, TypeError, zlib.error):
            return None
        return cls(words, rows, np.frombuffer(body[: 8 * texts], "<f8")) if number == texts else None


class Known:
    """A store of counts of parts of the texts, by the hash of these. This one is always empty."""

    def load(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return the packed counts that are stored, by key."""
        return {}

    def save(self, counted: Mapping[str, bytes]) -> None:
        """Store packed counts by key."""


@dataclass(frozen=True)
class KnownIn(Known):
    """A store of counts in a cache, for one way to split texts, which `of` names."""

    cache: Cache
    of: str

    def load(self, keys: Sequence[str]) -> Mapping[str, bytes]:
        """Return what the cache has."""
        names = {flat_fingerprint(self.of, key): key for key in keys}
        return {names[name]: found for name, found in self.cache.get_many(_WORDS, list(names)).items()}

    def save(self, counted: Mapping[str, bytes]) -> None:
        """Store it in the cache."""
        self.cache.put_many(_WORDS, {flat_fingerprint(self.of, key): one for key, one in counted.items()})


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
    parts: Iterable[Sequence[str]],
    split: Split,
    weighting: Weighting,
    folder: Path,
    report: Callable[[int], object] = lambda done: None,
    *,
    known: Known | None = None,
    block: int = BLOCK,
    bucket: int = BUCKET,
) -> Files:
    """Build the index of texts in an empty folder, given in parts, such as those of each document. `report`
    is called with the number of texts that were split so far; `known` has what was counted of parts before.
    Raises OSError."""
    import numpy as np

    words: dict[str, int] = {}
    counted = folder / "counted"
    lengths = _count(parts, split, words, counted, report, block, known or Known())
    having = np.zeros(len(words), np.int64)
    for part in _parts(counted, bucket):
        having += np.bincount(part["word"], minlength=len(words))
    ends = np.cumsum(having)
    firsts = _firsts(ends, max(bucket, int(having.sum()) // _MOST_BUCKETS))
    buckets = [folder / f"bucket{number}" for number in range(len(firsts))]
    idfs = {number: weighting.idf(len(lengths), number) for number in np.unique(having).tolist()}
    idf = np.array([idfs[number] for number in having.tolist()], np.float64)
    _score(_parts(counted, bucket), lengths, idf, weighting, dict(zip(firsts, buckets, strict=True)))
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
    parts: Iterable[Sequence[str]],
    split: Split,
    words: dict[str, int],
    counted: Path,
    report: Callable[[int], object],
    size: int,
    known: Known,
) -> Floats:
    """Write how often each text has each of its words into a file, text by text; returns the numbers of words
    of the texts. New words are added to `words`, of some parts at a time in the order of the alphabet."""
    import numpy as np

    lengths, done = [np.zeros(0)], 0
    with counted.open("wb") as file:
        for group in _groups(parts, size):
            found = _counted(group, split, known)
            for word in sorted({word for one in found for word in one.words}):
                words.setdefault(word, len(words))
            for one in found:
                rows = one.rows.copy()
                rows["word"] = np.array([words[word] for word in one.words], np.int64)[rows["word"]]
                rows["text"] += done
                rows.tofile(file)
                lengths.append(one.lengths)
                done += len(one.lengths)
            report(done)
    return np.concatenate(lengths)


def _groups(parts: Iterable[Sequence[str]], size: int) -> Iterator[list[Sequence[str]]]:
    """Yield parts of at most `size` texts, so many at a time that they have as many together."""
    group: list[Sequence[str]] = []
    for part in parts:
        for start in range(0, len(part), size):
            group.append(part[start : start + size])
            if sum(map(len, group)) >= size:
                yield group
                group = []
    if group:
        yield group


def _counted(group: Sequence[Sequence[str]], split: Split, known: Known) -> list[Counts]:
    """Return the counts of each part; those that are not known are split together."""
    keys = [_key(part) for part in group]
    parts = dict(zip(keys, group, strict=True))
    before = {key: Counts.unpacked(data, len(parts[key])) for key, data in known.load(list(parts)).items()}
    found = {key: counts for key, counts in before.items() if counts is not None}
    new = {key: part for key, part in parts.items() if key not in found}
    if new:
        rows, own = split([text for part in new.values() for text in part])
        names = {number: word for word, number in own.items()}
        at = 0
        for key, part in new.items():
            found[key] = _counts(rows[at : at + len(part)], names)
            at += len(part)
        known.save({key: found[key].packed() for key in new})
    return [found[key] for key in keys]


def _key(part: Sequence[str]) -> str:
    """Return the hash of texts, each with its length, so that no two lists of texts have the same."""
    texts = [text.encode("utf-8", "surrogatepass") for text in part]
    return sha256(b"".join(b"%d\n%b" % (len(text), text) for text in texts)).hexdigest()


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


def _counts(rows: Sequence[Sequence[int]], names: Mapping[int, str]) -> Counts:
    """Return how often each word occurs in each text, given the numbers of its words and their names."""
    import numpy as np

    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    flat = np.fromiter((word for row in rows for word in row), np.int64, int(lengths.sum()))
    used, own = np.unique(flat, return_inverse=True)
    keys = np.repeat(np.arange(len(rows)), lengths) << 32 | own
    pairs, times = np.unique(keys, return_counts=True)
    found = np.empty(len(pairs), _COUNTED)
    found["text"], found["word"], found["times"] = pairs >> 32, pairs & 0xFFFFFFFF, times
    return Counts([names[number] for number in used.tolist()], found, lengths.astype(np.float64))


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
