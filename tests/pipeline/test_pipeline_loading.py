"""A corpus that was read before: what is known of it without decoding its documents and chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import ClassVar

import pytest
from pydantic import TypeAdapter

from fathoms.errors import StoreError
from fathoms.ingest import Pdfium
from fathoms.ingest.parsers.python import PythonParser
from fathoms.models import LexicalEmbedder, ScriptedModel
from fathoms.pipeline.loading import Parts, clock
from fathoms.pipeline.parsed_documents import ParsedDocuments
from fathoms.pipeline.pipeline import Pipeline
from fathoms.retrieve import BM25, Hybrid, Oracle
from fathoms.runs.cache import Cache
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Document, Evidence, Page, Question
from tests.support.project import Project, write_pdf

CHUNKS = TypeAdapter(list[Chunk])
QUESTION = Question(id="q", text="How tall is it?", category="c")


def pdfs_of(project: Project) -> dict[str, Path]:
    return {path.name: path for path in sorted((project.path / "pdfs").glob("*.pdf"))}


def test_only_the_parts_that_are_asked_for_are_loaded() -> None:
    loaded: list[str] = []

    def load(part: int) -> list[str]:
        loaded.append(text := ("abc", "", "de")[part])
        return list(text)

    parts = Parts(load, [3, 0, 2])
    assert (len(parts), parts[4], parts[3], loaded) == (5, "e", "d", ["de"])
    assert (parts[-5], parts[1:4:2], list(parts)) == ("a", ["b", "d"], list("abcde"))
    assert loaded == ["de", "abc", ""], "each is loaded once"
    for outside in (5, -6):
        with pytest.raises(IndexError):
            parts[outside]
    with pytest.raises(StoreError, match="2 items of a corpus are expected, and the cache holds 3"):
        list(Parts(lambda part: "abc", [2]))


def test_only_the_parts_that_were_used_last_stay_in_memory() -> None:
    loaded: list[int] = []

    def load(part: int) -> list[int]:
        loaded.append(part)
        return [part] * 2

    parts = Parts(load, [2] * 4, most=4)
    assert [parts[at] for at in (0, 2, 0, 4, 0, 2)] == [0, 1, 0, 2, 0, 1]
    assert loaded == [0, 1, 2, 1], "part 1 gave way to part 2, because part 0 was used after it"
    assert list(parts) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert parts[1] == 0
    assert loaded == [0, 1, 2, 1, 0, 1, 2, 3], "reading all of them leaves those that are used in memory"


def test_the_time_of_a_search_is_without_that_of_loading_parts() -> None:
    parts = Parts(lambda part: sleep(0.2) or "abc", [3])
    whole, started = perf_counter(), clock()
    assert parts[1] == "b"
    assert clock() - started < perf_counter() - whole - 0.19


@pytest.mark.slow
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


class Raced(Cache):
    """A cache to which another process writes other chunks under the same keys, right after this one."""

    def put_text(self, kind: str, key: str, text: str, facts: str | None = None) -> bool:
        is_stored = super().put_text(kind, key, text, facts)
        if kind == "chunks":
            first, *_ = CHUNKS.validate_json(text)
            other = [first.model_copy(update={"id": "other", "text": "How tall is it?"}), first]
            super().put_text(kind, key, CHUNKS.dump_json(other).decode())
        return is_stored


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_later_run_reads_no_document_and_only_the_chunks_that_it_finds(project: Project) -> None:
    """That one document cannot be read changes nothing for the others."""
    pipeline = Pipeline(
        ingest=Pdfium(on_error="skip"), retrieve=BM25(top_k=1), generate=ScriptedModel(default="41 m")
    )
    (project.path / "pdfs" / "bad.pdf").write_bytes(b"no PDF")
    first = pipeline.prepare(pdfs_of(project), Cache())
    cache = Counting()
    again = pipeline.prepare(pdfs_of(project), cache)
    assert (len(again.failures), cache.found["document"], cache.found["chunks"]) == (1, 0, 0)
    assert again.facts == first.facts
    (hit,) = again.retrieve([QUESTION])["q"]
    assert (cache.found["document"], cache.found["chunks"]) == (0, 1)
    assert hit == first.retrieve([QUESTION])["q"][0]


def test_gold_pages_and_fused_rankings_are_found_without_reading_other_documents(project: Project) -> None:
    documents = pdfs_of(project)
    question = QUESTION.model_copy(update={"evidence": (Evidence(document="varn.pdf", page=1),)})
    found: dict[str, list[str]] = {}
    for retriever in (Oracle(), Hybrid(of=(BM25(top_k=1), BM25(top_k=1)), top_k=1)):
        pipeline = Pipeline(retrieve=retriever, generate=ScriptedModel(default="41 m"))
        pipeline.prepare(documents, Cache())
        cache = Counting()
        rows = pipeline.prepare(documents, cache).retrieve([question])["q"]
        found[retriever.kind] = [hit.chunk.document for hit in rows]
        assert cache.found["chunks"] == 1
    assert found == {"oracle": ["varn.pdf"], "hybrid": ["varn.pdf"]}


@pytest.mark.parametrize("damage", ["x'00'", "NULL", "gone"])
def test_what_is_damaged_when_it_is_asked_for_is_made_again(project: Project, damage: str) -> None:
    pipeline = Pipeline(retrieve=BM25(), generate=ScriptedModel(default="41 m"))
    documents, cache = pdfs_of(project), Cache()
    first = pipeline.prepare(documents, cache)
    expected = list(first.index.chunks), [each.text for each in first.documents]
    again = pipeline.prepare(documents, cache)
    query = "DELETE FROM sealed" if damage == "gone" else f"UPDATE sealed SET value = {damage}"
    with cache._db:
        cache._db.execute(f"{query} WHERE kind IN ('document', 'chunks')")
    assert (list(again.index.chunks), [each.text for each in again.documents]) == expected
    fresh = pipeline.prepare(documents, Counting())
    assert fresh.facts == first.facts


class WithNative(Pdfium):
    """A parser with a format of its own, which is the text of the only page."""

    native: ClassVar[str | None] = "text"

    def from_native(self, path: Path, sha256: str, native: str) -> Document:
        return Document(id="", path=path, sha256=sha256, pages=(Page(number=1, text=native),), native=native)


def test_documents_are_made_of_what_the_parser_gave_before_without_parsing_them(project: Project) -> None:
    paths, cache, parser = pdfs_of(project), Cache(), WithNative()
    hashes = cache.file_hashes(paths.values())
    keys = {name: fingerprint(parser.native_identity(), hashes[path]) for name, path in paths.items()}
    for name, key in keys.items():
        cache.put_text("native", key, f"text of {name}")
    for _ in range(2):
        found = ParsedDocuments(parser, paths, {name: hashes[path] for name, path in paths.items()}, cache)
        found.find()
        assert [each.text for each in found.sequence()] == [f"text of {name}" for name in paths]
        assert found.without_native(paths) == set()
        assert {name: found.load_with_native(name).native for name in paths} == {
            name: f"text of {name}" for name in paths
        }
        with cache._db:
            cache._db.execute("DELETE FROM sealed WHERE kind = 'document'")
        assert found.load("varn.pdf").text == "text of varn.pdf"
    with cache._db:
        cache._db.execute("DELETE FROM sealed WHERE kind = 'native' AND key = ?", (keys["varn.pdf"],))
    assert found.without_native(paths) == {"varn.pdf"}


def test_a_document_that_became_another_one_ends_the_command(project: Project) -> None:
    pipeline = Pipeline(retrieve=BM25(), generate=ScriptedModel(default="41 m"))
    cache = Cache()
    ingested = pipeline.prepare(pdfs_of(project), cache)
    with cache._db:
        cache._db.execute("DELETE FROM sealed WHERE kind = 'document'")
    name, path = next(iter(pdfs_of(project).items()))
    write_pdf(path, ["Another text."])
    with pytest.raises(StoreError, match=f"{name} is another document than when this command began"):
        list(ingested.documents)


@pytest.mark.slow
def test_a_file_that_is_replaced_before_it_is_parsed_counts_as_the_new_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    (project.path / "reader.py").write_text(
        "from pathlib import Path\n\n\ndef read(path, options):\n"
        "    Path(path).write_bytes(Path(path).read_bytes() + b'%')\n"
        "    return {'pages': [{'text': 'The tower is 41.5 m tall.'}]}\n"
    )
    pipeline = Pipeline(retrieve=BM25(), generate=ScriptedModel(default="x"))
    pipeline = pipeline.model_copy(update={"ingest": PythonParser(target="reader")})
    first, again = (pipeline.prepare(pdfs_of(project), Cache()) for _ in range(2))
    assert first.fingerprints == again.fingerprints


def test_documents_have_the_names_of_the_corpus_where_nothing_can_be_stored(project: Project) -> None:
    documents = {f"of/{name}": path for name, path in pdfs_of(project).items()}
    cache = Cache()
    cache.full(OSError("no room"))
    pipeline = Pipeline(retrieve=BM25(), generate=ScriptedModel(default="41 m"))
    ingested = pipeline.prepare(documents, cache)
    assert [document.id for document in ingested.documents] == list(documents)
    assert {chunk.document for chunk in ingested.index.chunks} == set(documents)


class Pruned(Cache):
    """A cache from which another command removes chunks as soon as they are stored."""

    def put_all(self, values: Mapping[str, Mapping[str, bytes]]) -> bool:
        return super().put_all({kind: some for kind, some in values.items() if not kind.startswith("chunk")})


def test_chunks_that_another_command_removes_are_made_again(project: Project) -> None:
    pipeline = Pipeline(retrieve=BM25(), generate=ScriptedModel(default="41 m"))
    pruned, whole = (
        list(pipeline.prepare(pdfs_of(project), cache()).index.chunks) for cache in (Pruned, Cache)
    )
    assert pruned == whole
