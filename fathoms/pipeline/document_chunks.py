"""The chunks of a corpus: they lie in the cache, and this process keeps only facts of those of a document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from fathoms.ingest import Chunker
from fathoms.ingest.workers.chunking import ChunkWork, Item
from fathoms.pipeline.known_facts import known_facts
from fathoms.pipeline.parsed_documents import ParsedDocuments, changed
from fathoms.pipeline.preparation import Preparation
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprints_after
from fathoms.types import Chunk, Document, StoredValue

_CHUNKS = TypeAdapter(list[Chunk])
_FORM = "with boxes"
"""The form of the chunks in the cache, which is part of their key: those without boxes are made again. No
text of a chunk has changed with it, so the fingerprints of runs and the cached vectors stay valid."""


class ChunkFacts(StoredValue):
    """What is known of the chunks of a document: their number, and a hash of their ids and of the texts by
    which they are found."""

    form: Literal[1] = 1
    number: int
    digest: str

    @classmethod
    def of(cls, chunks: Sequence[Chunk]) -> ChunkFacts:
        """Return the facts of chunks."""
        digest = hashlib.sha256()
        for chunk in chunks:
            for text in (chunk.id, chunk.indexed):
                data = text.encode("utf-8", "surrogatepass")
                digest.update(b"%d:" % len(data))
                digest.update(data)
        return cls(number=len(chunks), digest=digest.hexdigest())


class DocumentChunks:
    """The chunks of each document of a corpus by its name. `facts` are of those that can be loaded. What the
    cache does not store, as on a full disk, stays in memory."""

    def __init__(self, chunker: Chunker, parser: object, parsed: ParsedDocuments, cache: Cache) -> None:
        self.facts: dict[str, ChunkFacts] = {}
        self._chunker, self._parsed, self._cache = chunker, parsed, cache
        self._key_of = fingerprints_after((chunker.identity(), parser))
        self._in_memory: dict[str, list[Chunk]] = {}

    def find(self) -> None:
        """Take up the chunks that the cache holds (`known_facts`)."""
        names = {self._key(name): name for name in self._parsed.names() if name not in self.facts}

        def decoded(text: str) -> ChunkFacts:
            return ChunkFacts.of(_CHUNKS.validate_json(text))

        known = known_facts(self._cache, "chunks", list(names), ChunkFacts, decoded)
        self.facts |= {names[key]: facts for key, facts in known.items()}

    def _key(self, name: str) -> str:
        """The key of the chunks of a document in the cache."""
        return self._key_of(name, self._parsed.facts[name].sha256, _FORM)

    def unreadable(self) -> set[str]:
        """Return the documents that must be parsed to be chunked, because the chunker reads the parser's
        native output and the cache does not hold it."""
        if self._chunker.reads is None:
            return set()
        self.find()
        return self._parsed.without_native(self._parsed.facts.keys() - self.facts.keys())

    def make(self, work: Preparation) -> None:
        """Chunk the documents whose chunks are not found, and store each as it comes."""
        self.find()
        names = self._parsed.names()
        new = self._parsed.stated(name for name in names if name not in self.facts)
        ended = len(names) - len(new)

        def done(at: int, chunks: list[Chunk], seconds: float) -> None:
            nonlocal ended
            ended += 1
            self._keep(new[at].id, chunks)
            work.times.add_items("chunk", new[at].pages)
            work.progress("chunk", ended, len(names))

        work.executor.run(ChunkWork(self._chunker, self._document), new, done, keep=False)
        # another process may have stored others since, which are then used; what it has removed since, `load`
        # makes again
        own = {facts.id: self.facts.pop(facts.id) for facts in new if facts.id not in self._in_memory}
        self.find()
        self.facts = own | self.facts

    def _document(self, item: Item) -> Document:
        """The document with all that the chunker reads."""
        if self._chunker.reads is None:
            return self._parsed.load(item.id)
        return self._parsed.load_with_native(item.id)

    def _keep(self, name: str, chunks: list[Chunk]) -> None:
        """Put chunks into the cache with their facts."""
        facts = self.facts[name] = ChunkFacts.of(chunks)
        text = json.dumps([chunk.model_dump(mode="json") for chunk in chunks])
        if not self._cache.put_text("chunks", self._key(name), text, facts.model_dump_json()):
            self._in_memory[name] = chunks

    def load(self, name: str) -> list[Chunk]:
        """Return the chunks of a document. Those that are damaged, or that were removed since they were
        found, are made again. Raises StoreError where they are not the same."""
        if name in self._in_memory:
            return self._in_memory[name]
        facts, key = self.facts[name], self._key(name)
        found = self._cache.load("chunks", key, _CHUNKS.validate_json)
        if found is None:
            found = self._chunker.chunk(self._document(self._parsed.bare(name)))
            self._keep(name, found)
        if ChunkFacts.of(found) != facts:
            self._keep(name, found)  # with its own facts
            raise changed(name)
        return found


@dataclass(frozen=True)
class ChunksOf:
    """The chunks of one document: those of its text, to which the images of their pages are added where there
    are some, and `more`, which are those of its figures and tables."""

    name: str
    texts: DocumentChunks
    images: Mapping[int, Path] | None
    more: Sequence[Chunk]

    @property
    def facts(self) -> ChunkFacts:
        """The facts of all of them."""
        own = self.texts.facts[self.name]
        if not self.more:
            return own
        more = ChunkFacts.of(self.more)
        digest = hashlib.sha256((own.digest + more.digest).encode()).hexdigest()
        return ChunkFacts(number=own.number + more.number, digest=digest)

    def load(self) -> list[Chunk]:
        """Return them; raises as `DocumentChunks.load` does."""
        found = self.texts.load(self.name)
        if self.images is not None:
            found = [chunk.model_copy(update={"image": self.images.get(chunk.pages[0])}) for chunk in found]
        return [*found, *self.more]

    def indexed(self) -> list[str]:
        """Return the texts by which they are found; raises as `load` does."""
        return [chunk.indexed for chunk in self.load()]
