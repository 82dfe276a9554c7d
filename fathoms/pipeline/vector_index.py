"""Embedding the chunks of a corpus, as far as the cache lacks their vectors, and listing where these are.

Three things are kept: the vector of each text, so that a run that is killed has lost little; the vectors of
documents in segments (`retrieve/segments.py`), with the place of each document; and for a whole corpus the
list of these places. A run on a corpus that has a list reads no more than that. Where documents
were added, only these are embedded and written, into a new segment. A segment that is damaged or gone is
written again, of the same documents and under the same name, by as many processes at once as there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from fathoms.errors import ModelError
from fathoms.models import Embedder
from fathoms.models.caching import embed_cached
from fathoms.pipeline.preparation import Preparation
from fathoms.retrieve.segments import Segment, SegmentedVectors
from fathoms.text.fingerprints import fingerprint, flat_fingerprint
from fathoms.types import StoredValue

if TYPE_CHECKING:
    from fathoms.retrieve.segments import Floats, Vectors

_ROWS = 1 << 19
"""The most vectors of a segment, but for its last document; 805 MB of 384 numbers each."""
_TEXTS = 16_384
"""Texts that are in memory at once with their vectors, but for those of the last document."""
_PLACE = "vector-place"
_INDEX = "vector-index"


class TextsOf(NamedTuple):
    """The texts of the chunks of one document: a hash of them and of the document's name, their number, and
    what loads them."""

    digest: str
    number: int
    load: Callable[[], Sequence[str]]


_Name = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
"""The name of a segment, which is that of its folder."""


class _Place(StoredValue):
    """Where the vectors of a document are: its segment, and its first row there."""

    segment: _Name
    first: int = Field(ge=0)


class _Listed(StoredValue):
    """Where the vectors of the documents of a corpus are, as `SegmentedVectors` takes it."""

    segments: tuple[_Name, ...]
    of: tuple[int, ...]
    first: tuple[int, ...]


@dataclass
class VectorIndexer:
    """Makes the vectors of all chunks of a corpus, or takes them from the cache. The executor of `work`
    embeds where the model is a local one. A segment has about `rows` vectors, and about `texts` are embedded
    at a time."""

    embedder: Embedder
    work: Preparation
    rows: int = _ROWS
    texts: int = _TEXTS
    opened: dict[str, Segment | None] = field(default_factory=dict)
    """The segments by their names, `None` for those that are missing or damaged."""

    def index(
        self, name: str, counts: Sequence[int], documents: Callable[[], Sequence[TextsOf]]
    ) -> Vectors | None:
        """Return the vectors of the chunks of a corpus in order. `name` is a hash of all that changes a
        vector or its position, `counts` the numbers of chunks of the documents, and `documents` is called
        where the cache has no list of that name. Raises ModelError."""
        known = self.work.cache.load(_INDEX, name, _Listed.model_validate_json)
        if known is not None and (found := self._opened(known, counts)) is not None:
            return found
        parts = documents()
        with self.work.times.stage("embed"):
            try:
                listed = self._listed(parts)
                found = self._opened(listed, counts)
            except OSError as error:
                self.work.cache.full(error)
                found = None
            if found is None:  # the disk is full
                return self._in_memory(parts)
        self.work.cache.put_text(_INDEX, name, listed.model_dump_json())
        return found

    def _opened(self, listed: _Listed, counts: Sequence[int]) -> SegmentedVectors | None:
        """Open all segments of a list; `None` if one is missing or damaged."""
        segments = [self._segment(name) for name in listed.segments]
        sound = [segment for segment in segments if segment is not None]
        if len(sound) < len(segments):
            return None
        try:
            return SegmentedVectors(sound, listed.of, listed.first, counts)
        except (ValueError, IndexError):  # the list is of another corpus
            self.work.cache.damaged(_INDEX)
            return None

    def _folder(self, segment: str) -> Path:
        """The folder of a segment."""
        return self.work.cache.folder / "indexes" / segment

    def _segment(self, name: str) -> Segment | None:
        """Open a segment once, and warn if it is damaged."""
        if name not in self.opened:
            self.opened[name] = Segment.open(self._folder(name), self.work.cache)
        return self.opened[name]

    def _listed(self, documents: Sequence[TextsOf]) -> _Listed:
        """Find the places of all documents, after writing segments of those that have none. Raises OSError
        and ModelError."""
        identity = fingerprint("vectors of a document", self.embedder.identity())
        keys = [flat_fingerprint(identity, each.digest) for each in documents]
        places = self._places(keys)
        new = [(key, each) for key, each in zip(keys, documents, strict=True) if key not in places]
        progress = _Progress(self.work, sum(each.number for _, each in new))
        for part in _groups(new, self.rows):
            places |= self._write(part, progress)
        names = list(dict.fromkeys(place.segment for place in places.values()))
        widths = {each.vectors.shape[1] for name in names if (each := self._segment(name)) is not None}
        if len(widths) > 1:
            raise _changed(*sorted(widths)[:2])
        numbers = {name: number for number, name in enumerate(names)}
        nowhere = _Place.model_construct(segment=names[0] if names else "", first=0)
        found = [places.get(key, nowhere) for key in keys]  # a document without chunks is nowhere
        of = tuple(numbers.get(place.segment, 0) for place in found)
        return _Listed(segments=tuple(names), of=of, first=tuple(place.first for place in found))

    def _places(self, keys: Sequence[str]) -> dict[str, _Place]:
        """Return where the vectors of documents are, by their keys, as far as these segments are sound."""
        found: dict[str, _Place] = {}
        for key, value in self.work.cache.get_many(_PLACE, keys).items():
            try:
                found[key] = _Place.model_validate_json(value)
            except ValueError:
                self.work.cache.damaged(_PLACE)
        return {key: place for key, place in found.items() if self._segment(place.segment) is not None}

    def _write(self, part: Sequence[tuple[str, TextsOf]], progress: _Progress) -> dict[str, _Place]:
        """Write a segment of documents, a block at a time; returns their places by their keys."""
        name, documents = fingerprint("segment", [key for key, _ in part]), [each for _, each in part]
        starts = list(accumulate((each.number for each in documents), initial=0))
        Segment.write(self._folder(name), starts[-1], self._embedded(documents, progress))
        self.opened.pop(name, None)
        first = zip(part, starts, strict=False)
        places = {key: _Place.model_construct(segment=name, first=start) for (key, _), start in first}
        self.work.cache.put_many(
            _PLACE, {key: place.model_dump_json().encode() for key, place in places.items()}
        )
        return places

    def _embedded(self, documents: Iterable[TextsOf], progress: _Progress) -> Iterator[Floats]:
        """Yield the vectors of documents, some documents at a time. Raises ModelError if their vectors differ
        in length."""
        width = 0
        for part in _groups(((each.digest, each) for each in documents), self.texts):
            texts = [text for _, each in part for text in each.load()]
            numbers = [each.number for _, each in part]
            vectors = embed_cached(
                self.embedder,
                texts,
                self.work.cache,
                progress.block(len(texts)),
                executor=self.work.executor,
                parts=numbers,
            )
            if width and vectors.shape[1] != width:
                raise _changed(width, vectors.shape[1])
            width = vectors.shape[1]
            yield vectors

    def _in_memory(self, documents: Sequence[TextsOf]) -> Floats | None:
        """Return all vectors in memory, where they cannot be written; `None` if there are none."""
        import numpy as np

        progress = _Progress(self.work, sum(each.number for each in documents))
        found = list(self._embedded(documents, progress))
        return np.concatenate(found) if found else None


@dataclass
class _Progress:
    """Reports how many of all texts have been embedded."""

    work: Preparation
    total: int
    before: int = 0

    def block(self, texts: int) -> Callable[[int, int], None]:
        """Return what `embed_cached` tells its progress with a block of so many texts."""
        start, embedded = self.before, 0
        self.before += texts

        def done(count: int, new: int) -> None:
            nonlocal embedded
            self.work.times.add_items("embed", count - embedded)
            embedded = count if count < new else 0  # texts may be embedded twice (`embed_cached`)
            self.work.progress("embed", min(self.total, start + texts - new + count), self.total)

        return done


def _groups(documents: Iterable[tuple[str, TextsOf]], most: int) -> Iterator[list[tuple[str, TextsOf]]]:
    """Yield documents in groups that have so many texts, or more by those of their last document; without
    those that have none."""
    group: list[tuple[str, TextsOf]] = []
    texts = 0
    for key, each in documents:
        if each.number:
            group.append((key, each))
            texts += each.number
        if texts >= most:
            yield group
            group, texts = [], 0
    if group:
        yield group


def _changed(before: int, now: int) -> ModelError:
    """The error of an embedding model whose vectors have another length than before."""
    return ModelError(
        f"embed: some chunks have vectors of {before} numbers, others of {now}: the embedding model has"
        " changed; run again with --refresh"
    )
