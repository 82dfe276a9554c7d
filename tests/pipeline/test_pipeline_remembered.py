"""A corpus that was read before: what is known of it without decoding its documents and chunks."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from fathoms.models import LexicalEmbedder, ScriptedModel
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.remembered import Parts, stored
from fathoms.runs.cache import Cache
from fathoms.types import Chunk, Question
from tests.support.project import Project

CHUNKS = TypeAdapter(list[Chunk])


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


def test_what_is_remembered_holds_for_the_very_bytes_in_the_cache(project: Project) -> None:
    """Other chunks under the same keys, as another version could make them, are found and counted."""
    pipeline = Pipeline(embed=LexicalEmbedder(), generate=ScriptedModel(default="41 m"))
    documents: dict[str, Path] = {path.name: path for path in sorted((project.path / "pdfs").glob("*.pdf"))}
    cache, question = Cache(), Question(id="q", text="How tall is it?", category="c")
    first = pipeline.prepare(documents, cache)
    again = pipeline.prepare(documents, cache)
    assert isinstance(again.index.chunks, Parts)
    assert again.retrieve([question]) == first.retrieve([question])
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
    assert other.retrieve([question])["q"][0].chunk.id == "extra"

    assert stored(cache, {"a.pdf": "not there"}, {}, None) is None
