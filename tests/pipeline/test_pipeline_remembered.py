"""A corpus that was read before: what is known of it without decoding its documents and chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import sleep

import pytest
from pydantic import TypeAdapter

from fathoms.errors import StoreError
from fathoms.ingest import Pdfium
from fathoms.ingest.parsers.python import PythonParser
from fathoms.models import LexicalEmbedder, ScriptedModel
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.remembered import Parts, clock, stored
from fathoms.retrieve import BM25
from fathoms.runs.cache import Cache
from fathoms.types import Chunk, Question
from tests.support.project import Project

CHUNKS = TypeAdapter(list[Chunk])
QUESTION = Question(id="q", text="How tall is it?", category="c")


def pdfs_of(project: Project) -> dict[str, Path]:
    return {path.name: path for path in sorted((project.path / "pdfs").glob("*.pdf"))}


def test_only_the_parts_that_are_asked_for_are_loaded() -> None:
    loaded: list[str] = []

    def load(text: str) -> list[str]:
        loaded.append(text)
        return list(text)

    parts = Parts([lambda text=text: load(text) for text in ("abc", "", "de")], [3, 0, 2])
    assert (len(parts), parts[4], parts[3], loaded) == (5, "e", "d", ["de"])
    assert (parts[-5], parts[1:4:2], list(parts)) == ("a", ["b", "d"], list("abcde"))
    assert loaded == ["de", "abc", ""], "each is loaded once"
    for outside in (5, -6):
        with pytest.raises(IndexError):
            parts[outside]
    with pytest.raises(StoreError, match="2 items of a corpus are expected, and the cache holds 3"):
        list(Parts([lambda: "abc"], [2]))


def test_the_time_of_a_search_is_without_that_of_loading_parts() -> None:
    parts, started = Parts([lambda: sleep(0.2) or "abc"], [3]), clock()
    assert parts[1] == "b"
    assert clock() - started < 0.1


def test_what_is_remembered_holds_for_the_very_bytes_in_the_cache(project: Project) -> None:
    """Other chunks under the same keys, as another version could make them, are found and counted."""
    pipeline = Pipeline(embed=LexicalEmbedder(), generate=ScriptedModel(default="41 m"))
    documents, cache = pdfs_of(project), Cache()
    first = pipeline.prepare(documents, cache)
    again = pipeline.prepare(documents, cache)
    assert isinstance(again.index.chunks, Parts)
    assert again.retrieve([QUESTION]) == first.retrieve([QUESTION])
    assert again.index.folder == first.index.folder

    chunks = list(first.index.chunks)
    extra = chunks[0].model_copy(update={"id": "extra", "text": "How tall is it? 41 m."})
    (key,) = (
        key
        for (key,) in cache._db.execute("SELECT key FROM sealed WHERE kind = 'chunks'").fetchall()
        if cache.load("chunks", key, CHUNKS.validate_json)[0].document == chunks[0].document  # type: ignore[index]
    )
    own = [chunk for chunk in chunks if chunk.document == chunks[0].document]
    cache.put_text("chunks", key, CHUNKS.dump_json([*own, extra]).decode())
    other = pipeline.prepare(documents, cache)
    assert other.report()["chunks"] == first.report()["chunks"] + 1
    assert other.retrieve([QUESTION])["q"][0].chunk.id == "extra"

    assert stored(cache, {"a.pdf": "not there"}, {}, None) is None


class Raced(Cache):
    """A cache to which another process writes other chunks under the same keys, right after this one."""

    def put_text(self, kind: str, key: str, text: str) -> None:
        super().put_text(kind, key, text)
        if kind == "chunks":
            first, *_ = CHUNKS.validate_json(text)
            other = [first.model_copy(update={"id": "other", "text": "How tall is it?"}), first]
            super().put_text(kind, key, CHUNKS.dump_json(other).decode())


def test_what_two_processes_make_at_once_is_never_mixed(project: Project) -> None:
    pipeline = Pipeline(retrieve=BM25(), generate=ScriptedModel(default="41 m"))
    documents = pdfs_of(project)
    pipeline.prepare(documents, Raced()).retrieve([QUESTION])
    for _ in range(2):
        later = pipeline.prepare(documents, Cache())
        assert later.report()["chunks"] == len(list(later.index.chunks)) == 2 * len(documents)
        assert later.retrieve([QUESTION])["q"][0].chunk.id == "other"


class Finding(PythonParser):
    """The same parser, which now looks for pictures."""

    finds = frozenset({"picture"})
    revision = 99


def test_what_a_parser_looks_for_is_remembered_for_it_alone(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    (project.path / "reader.py").write_text(
        "def read(path, options):\n    return {'pages': [{'text': 'The tower is 41.5 m tall.'}]}\n"
    )
    reported = [
        Pipeline(retrieve=BM25(), generate=ScriptedModel(default="x"))
        .model_copy(update={"ingest": parser})
        .prepare(pdfs_of(project), Cache())
        .report()["pictures"]
        for _ in range(2)
        for parser in (PythonParser(target="reader"), Finding(target="reader"))
    ]
    assert reported == [None, 0, None, 0]


class Counting(Cache):
    """A cache that counts the values that are read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        found = super().get_many(kind, keys)
        self.found[kind] += len(found)
        return found


def test_beside_an_unreadable_document_the_others_are_read_once(project: Project) -> None:
    pipeline = Pipeline(
        ingest=Pdfium(on_error="skip"), retrieve=BM25(), generate=ScriptedModel(default="41 m")
    )
    documents = pdfs_of(project)
    (project.path / "pdfs" / "bad.pdf").write_bytes(b"no PDF")
    pipeline.prepare(pdfs_of(project), Cache())
    cache = Counting()
    assert len(pipeline.prepare(pdfs_of(project), cache).failures) == 1
    assert (cache.found["document"], cache.found["chunks"]) == (len(documents), len(documents))
