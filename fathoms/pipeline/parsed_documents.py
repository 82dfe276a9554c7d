"""The parsed documents of a corpus: they lie in the cache, and this process keeps only their facts.

A corpus may have more documents than fit into memory, and a run of a few questions needs few of them. So each
document is stored as soon as it is parsed, and is loaded when it is asked for.
"""

from __future__ import annotations

import functools
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.errors import DocumentError, StoreError
from fathoms.ingest import ElementKind, PdfParser, parse_in_child
from fathoms.ingest.workers.parallel import Outcome, ParseWork
from fathoms.pdf.parsed import Parsed, ParsedFacts
from fathoms.pipeline.known_facts import BATCH, known_facts
from fathoms.pipeline.loading import Parts
from fathoms.pipeline.preparation import Preparation
from fathoms.runs.cache import FACTS, Cache, compressed
from fathoms.runs.events import happened
from fathoms.text.fingerprints import fingerprints_after
from fathoms.types import Document, DocumentFacts


class ParsedDocuments:
    """The documents of a corpus by name, in order. `facts` are of those that can be loaded, and `failures`
    are those that cannot be read.

    `hashes` has the sha256 of each file that exists; of a file that was replaced before it was parsed, that
    of the new one. What the cache does not store, as on a full disk, is kept in memory. The documents of
    `spared` stop nothing if they cannot be read.
    """

    def __init__(
        self,
        parser: PdfParser,
        paths: Mapping[str, Path],
        hashes: Mapping[str, str],
        cache: Cache,
        spared: Collection[str] = (),
    ) -> None:
        self.facts: dict[str, ParsedFacts] = {}
        self.failures: list[DocumentError] = []
        self.hashes = dict(hashes)
        self._parser, self._paths, self._cache, self._spared = parser, paths, cache, spared
        self._native_key = fingerprints_after(parser.native_identity())
        self._key = functools.cache(fingerprints_after(parser.identity()))  # by the sha256 of the file
        self._in_memory: dict[str, Document] = {}

    def find(self) -> None:
        """Take up the documents that the cache holds, or that it can make of the parser's native output."""
        keys = {name: self._key(sha256) for name, sha256 in self.hashes.items()}

        def decoded(text: str) -> ParsedFacts:
            parsed = Parsed.of(Document.model_validate_json(text))
            self._cache.put_all({"text": self._text(parsed)})
            return parsed.facts

        known = known_facts(self._cache, "document", list(dict.fromkeys(keys.values())), ParsedFacts, decoded)
        self.facts |= {name: known[key] for name, key in keys.items() if key in known}
        lacking = [name for name in keys if name not in self.facts and self._parser.native is not None]
        for start in range(0, len(lacking), BATCH):
            for name, document in self._from_native(lacking[start : start + BATCH]).items():
                self._keep({name: Parsed.of(document)})

    def parse(self, work: Preparation, again: Collection[str] = ()) -> None:
        """Parse the documents that are not found, and those of `again`, and store them as they come, many
        short ones together. Only what is stored is reported as parsed. Raises as `leave_out` does."""
        new = [name for name in self._paths if name not in self.facts or name in again]
        if not new:
            return
        self._parser.require()
        ended = total = len(self._paths)
        ended -= len(new)
        events = ParseEvents(total, ended)

        def tell(name: str, outcome: Outcome, seconds: float) -> None:
            nonlocal ended
            ended += 1
            if isinstance(outcome, Parsed):
                work.times.add_items("parse", outcome.facts.pages)
            events.tell(name, outcome, seconds)
            work.progress("parse", ended, total)

        outcomes = ParseOutcomes(self._keep, tell)
        paths = [self._paths[name] for name in new]
        try:
            work.executor.run(
                ParseWork(self._parser, self._cache.file_hash),
                paths,
                lambda at, *outcome: outcomes.done(new[at], *outcome),
                partial(work.progress, "page"),
                outcomes.keep,
                keep=False,
            )
        finally:
            outcomes.keep()
        failed = outcomes.failed
        self.leave_out([failed[name].named(name) for name in new if name in failed])

    def leave_out(self, failures: Sequence[DocumentError]) -> None:
        """Leave out documents that cannot be read. Where `ingest.on_error` is `fail`, raises one
        DocumentError that names them all if a question may need one of them, and if no document is left."""
        self.failures += failures
        for failure in failures:
            self.facts.pop(failure.document, None)
        needed = {failure.document for failure in failures}.difference(self._spared if self.facts else ())
        if needed and self._parser.on_error == "fail":
            raise DocumentError.stopping(failures)

    def _keep(self, documents: Mapping[str, Parsed]) -> None:
        """Put documents into the cache together, each with its facts, its text for the runs that will keep
        it, and the parser's native output if there is one."""
        values: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        for parsed in documents.values():
            for kind, key, value in self._values(parsed):
                values[kind][key] = value
        is_stored = self._cache.put_all(values)
        for name, parsed in documents.items():
            self.facts[name] = parsed.facts
            self.hashes[name] = parsed.facts.sha256
            if parsed.large is not None or not is_stored:
                self._in_memory[name] = self._named(name, parsed.open(self._paths[name]))

    def _values(self, parsed: Parsed) -> Iterator[tuple[str, str, bytes]]:
        """Yield what the cache holds of a document, by kind and key."""
        facts = parsed.facts
        key = self._key(facts.sha256)
        if parsed.large is None:
            yield "document", key, parsed.document
            yield FACTS["document"], key, compressed(facts.model_dump_json().encode())
        for name, text in self._text(parsed).items():
            yield "text", name, text
        if parsed.native is not None:
            yield "native", self._native_key(facts.sha256), parsed.native

    def _text(self, parsed: Parsed) -> dict[str, bytes]:
        """Return the text that runs will keep of a document by its hash, if it has pages."""
        name = parsed.facts.text
        return {name: parsed.text} if name and parsed.facts.pages and parsed.large is None else {}

    def load(self, name: str) -> Document:
        """Return a document. One that is damaged, or that was removed since it was found, is parsed again.
        Raises DocumentError, and StoreError where that makes another document."""
        if name in self._in_memory:
            return self._in_memory[name]
        found = self._cache.load("document", self._key(self.facts[name].sha256), Document.model_validate_json)
        if found is None:
            rebuilt = self._from_native([name]) if self._parser.native is not None else {}
            found = rebuilt.get(name) or parse_in_child(self._parser, self._paths[name])
            self._keep_again(name, found)
        return self._named(name, found)

    def load_with_native(self, name: str) -> Document:
        """Return a document with the parser's native output; raises as `load` does."""
        if name in self._in_memory:
            return self._in_memory[name]
        key = self._native_key(self.facts[name].sha256)
        native = self._cache.get_text("native", key)
        if native is not None:
            return self.load(name).model_copy(update={"native": native})
        found = parse_in_child(self._parser, self._paths[name])
        self._keep_again(name, found)
        return self._named(name, found)

    def _keep_again(self, name: str, document: Document) -> None:
        """Put a document into the cache that was known before; raises StoreError if it is another one now."""
        facts = self.facts[name]
        self._keep({name: Parsed.of(document)})
        if self.facts[name] != facts:
            raise changed(name)

    def _named(self, name: str, document: Document) -> Document:
        """Return a document under the name and the path that it has in this corpus; a parser knows only its
        file, and the cache may have it from another place."""
        return document.model_copy(update={"id": name, "path": self._paths[name]})

    def without_native(self, names: Collection[str]) -> set[str]:
        """Return those documents whose native output of the parser is not in the cache."""
        keys = {name: self._native_key(self.facts[name].sha256) for name in names}
        stored = self._cache.stored_keys("native", list(keys.values()))
        rest = [key for key in keys.values() if key not in stored]
        for start in range(0, len(rest), BATCH):  # a shared cache may have them
            stored |= self._cache.get_many("native", rest[start : start + BATCH]).keys()
        return {name for name, key in keys.items() if key not in stored}

    def _from_native(self, names: Sequence[str]) -> dict[str, Document]:
        """Make documents of the parser's native output, as far as the cache has it."""

        def read(name: str, native: str) -> Document:  # errors of the conversion count as damage, too
            return self._parser.from_native(self._paths[name], self.hashes[name], native)

        keys = {name: self._native_key(self.hashes[name]) for name in names}
        found = self._cache.load_many("native", {key: partial(read, name) for name, key in keys.items()})
        return {name: found[key] for name, key in keys.items() if key in found}

    def sequence(self) -> Parts[Document]:
        """Return all documents in order; each is loaded when it is first used."""
        names = self.names()
        pages = [self.facts[name].pages for name in names]
        return Parts(lambda at: (self.load(names[at]),), [1] * len(names), pages)

    def names(self) -> list[str]:
        """Return the names of the documents that can be loaded, in order."""
        return [name for name in self._paths if name in self.facts]

    def bare(self, name: str) -> Document:
        """Return a document without its pages and their text, which is all that rendering needs."""
        facts = self.facts[name]
        return Document(
            id=name,
            path=self._paths[name],
            sha256=facts.sha256,
            pages=(),
            warnings=facts.warnings,
            page_count=facts.page_count or facts.pages,
        )

    def stated(self, names: Iterable[str] | None = None) -> tuple[DocumentFacts, ...]:
        """Return what a run states of each document, or of some of them, in order."""
        return tuple(
            DocumentFacts(id=name, sha256=one.sha256, pages=one.pages, warnings=one.warnings, text=one.text)
            for name in (self.names() if names is None else names)
            for one in (self.facts[name],)
        )

    def total(self, kind: ElementKind) -> int | None:
        """Count the elements of a kind; `None` where the parser does not look for them."""
        if self.facts and kind not in self._parser.finds:
            return None
        return sum(facts.elements.get(kind, 0) for facts in self.facts.values())


def changed(name: str) -> StoreError:
    """Return the error for a document that became another one while it was used."""
    return StoreError(f"{name} is another document than when this command began: start the command again")


class ParseEvents:
    """Reports each document that was parsed, or failed, as an event.

    `total` are all documents of the corpus and `done` those that were there before. Besides its own facts, an
    event has those of the corpus: documents `done`, `left` and `failed`, documents `per_second` since the
    start, and the `slowest` so far with its seconds.
    """

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._processed = total, done, 0
        self._failed = 0
        self._slowest, self._slowest_seconds = "", -1.0
        self._started = time.monotonic()

    def tell(self, name: str, outcome: Parsed | DocumentError, seconds: float) -> None:
        """Report the outcome of a document, which took so many seconds with its worker."""
        self._done += 1
        self._processed += 1
        if seconds > self._slowest_seconds:
            self._slowest, self._slowest_seconds = name, seconds
        if isinstance(outcome, Parsed):
            happened("document-parsed", document=name, pages=outcome.facts.pages, **self._facts(seconds))
            return
        self._failed += 1
        why = {"kind": outcome.reason, "error": outcome.detail}
        happened("document-failed", level=logging.WARNING, document=name, **self._facts(seconds), **why)

    def _facts(self, seconds: float) -> dict[str, Any]:
        """The seconds of a document, and the facts of the corpus."""
        passed = time.monotonic() - self._started
        return {
            "seconds": round(seconds, 3),
            "done": self._done,
            "left": self._total - self._done,
            "failed": self._failed,
            "per_second": round(self._processed / passed, 3) if passed > 0 else None,
            "slowest": self._slowest,
            "slowest_seconds": round(self._slowest_seconds, 3),
        }


_SECONDS = 0.2
"""The most seconds that a document waits to be stored together with others: a transaction takes as long as
storing one document."""


class ParseOutcomes:
    """Gives documents to `store`, and reports each only when it is stored, so that nothing reported is lost
    if this process is killed. `failed` are the files that could not be read, by name."""

    def __init__(
        self, store: Callable[[Mapping[str, Parsed]], None], tell: Callable[[str, Outcome, float], Any]
    ) -> None:
        self.failed: dict[str, DocumentError] = {}
        self._store, self._tell = store, tell
        self._waiting: dict[str, tuple[Parsed, float]] = {}
        self._stored_at = time.monotonic()

    def done(self, name: str, outcome: Outcome, seconds: float) -> None:
        """Take the outcome of a file, which a worker had for so many seconds."""
        if isinstance(outcome, DocumentError):
            self.failed[name] = outcome
            self._tell(name, outcome, seconds)
            return
        self._waiting[name] = outcome, seconds
        if time.monotonic() - self._stored_at > _SECONDS:
            self.keep()

    def keep(self) -> None:
        """Store the documents that wait."""
        if self._waiting:
            self._store({name: parsed for name, (parsed, _) in self._waiting.items()})
        stored, self._waiting = self._waiting, {}
        for name, (parsed, seconds) in stored.items():
            self._tell(name, parsed, seconds)
        self._stored_at = time.monotonic()
