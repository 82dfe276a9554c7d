"""Stages, their fingerprints, and what the cache saves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.errors import ConfigError, DocumentError
from fathoms.ingest import PageChunker, Pdfium, PyMuPDF
from fathoms.models import Embedded, LexicalEmbedder, ScriptedModel
from fathoms.models.prices import Price
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import ClosedBook, Dense, Rerank
from fathoms.retrieve.llm_reranker import LLMReranker
from fathoms.runs.cache import Cache
from fathoms.runs.usage import billed, sums
from fathoms.types import Question, Record
from tests.support.project import Project, write_pdf

STAGES = ["parse", "chunk", "embed", "retrieve", "prompt", "generate"]


def pipeline(**changes: object) -> Pipeline:
    base = {
        "chunk": PageChunker(),
        "embed": LexicalEmbedder(),
        "retrieve": Dense(top_k=2),
        "generate": ScriptedModel(echo=True),
    }
    return Pipeline(**{**base, **changes})  # type: ignore[arg-type]


def changed(one: Pipeline, other: Pipeline, hashes: dict[str, str] | None = None) -> list[str]:
    """The stages whose fingerprints differ."""
    old, new = one.fingerprints({"a.pdf": "1"}), other.fingerprints(hashes or {"a.pdf": "1"})
    return [stage for stage in STAGES if old.get(stage) != new.get(stage)]


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({"ingest": Pdfium(max_pages=3)}, "parse"),
        ({"embed": LexicalEmbedder(dimension=512)}, "embed"),
        ({"retrieve": Dense(top_k=5)}, "retrieve"),
        ({"prompt": PromptBuilder(system="Be kind.")}, "prompt"),
        ({"generate": ScriptedModel(default="x", echo=True)}, "generate"),
    ],
)
def test_a_change_reaches_its_stage_and_those_after_it(change: dict[str, object], first: str) -> None:
    assert changed(pipeline(), pipeline(**change)) == STAGES[STAGES.index(first) :]


def test_what_changes_no_answer_changes_no_fingerprint() -> None:
    quick = pipeline(ingest=Pdfium(timeout=5, memory_mb=512), generate=ScriptedModel(echo=True, latency=1))
    assert changed(pipeline(), quick) == []


def test_a_changed_document_changes_every_stage() -> None:
    assert changed(pipeline(), pipeline(), {"a.pdf": "2"}) == STAGES


def test_closed_book_reads_nothing(project: Project) -> None:
    closed = pipeline(retrieve=ClosedBook())
    assert list(closed.fingerprints({"a.pdf": "1"})) == ["retrieve", "prompt", "generate"]
    assert closed.fingerprints({"a.pdf": "1"}) == closed.fingerprints({"b.pdf": "2"})
    ingested = closed.prepare({"gone.pdf": project.path / "gone.pdf"}, Cache())
    assert (len(ingested.documents), len(ingested.index.chunks)) == (0, 0)


@pytest.mark.slow
def test_the_citations_of_an_answer_are_stored(project: Project) -> None:
    scripted_model = ScriptedModel(default="It is 41 m tall. [1] Nobody lives there. [9]")
    ready = pipeline(generate=scripted_model).prepare(documents(project), Cache())
    question = Question(id="q", text="How tall is it?", category="c")
    hits = ready.retrieve([question])["q"]
    record = asyncio.run(ready.answer(question, hits))
    assert record.answer is not None
    assert record.citations is not None
    assert [(cited.label, cited.ranks, cited.document) for cited in record.citations] == [
        ("1", (1,), hits[0].chunk.document),
        ("9", (), None),
    ]
    sentences = [record.answer.text[slice(*cited.sentence)] for cited in record.citations if cited.sentence]
    assert sentences == ["It is 41 m tall.", "Nobody lives there."]


def documents(project: Project) -> dict[str, Path]:
    return {path.name: path for path in sorted((project.path / "pdfs").glob("*.pdf"))}


@pytest.mark.slow
def test_the_cache_saves_parsing_and_embedding(project: Project) -> None:
    heard: list[str] = []
    cache = Cache()
    first = pipeline().prepare(documents(project), cache, progress=lambda stage, *_: heard.append(stage))
    assert set(heard) == {"parse", "chunk", "embed"}
    heard.clear()
    again = pipeline().prepare(documents(project), cache, progress=lambda stage, *_: heard.append(stage))
    assert heard == []
    assert list(again.documents) == list(first.documents)
    assert list(again.index.chunks) == list(first.index.chunks)
    assert np.array_equal(again.index.vectors, first.index.vectors)  # type: ignore[arg-type]
    result = {name: took.pop("made") for name, took in first.times.report().items()}
    assert result == {"parse": 3, "chunk": 3, "embed": 3}  # pages, pages, texts
    assert [took["made"] for took in again.times.report().values()] == [0, 0]  # the index was built before
    assert {**again.report(), "times": {}} == {**first.report(), "times": {}}


@pytest.mark.slow
def test_only_the_new_document_is_parsed(project: Project) -> None:
    cache = Cache()
    pipeline().prepare(documents(project), cache)
    write_pdf(project.path / "pdfs" / "new.pdf", ["A third one."])
    heard: list[tuple[str, int, int]] = []
    report = pipeline().prepare(documents(project), cache, progress=lambda *step: heard.append(step)).report()
    assert [step for step in heard if step[0] == "parse"] == [("parse", 3, 3)]
    assert (report["documents"], report["pages"]) == (3, 4)


@pytest.mark.slow
def test_a_renamed_or_moved_copy_is_not_parsed_again(project: Project) -> None:
    cache = Cache()
    pipeline().prepare(documents(project), cache)
    moved = {"copy.pdf": (project.path / "pdfs" / "varn.pdf").rename(project.path / "copy.pdf")}
    heard: list[str] = []
    found = pipeline().prepare(moved, cache, progress=lambda stage, *_: heard.append(stage))
    assert "parse" not in heard
    assert {chunk.document for chunk in found.index.chunks} == {"copy.pdf"}


@pytest.mark.slow
def test_an_answer_carries_its_way(project: Project) -> None:
    ingested = pipeline().prepare(documents(project), Cache())
    question = Question(id="q", text="How tall is the tower?", category="c")
    hits = ingested.retrieve([question])["q"]
    assert [(hit.chunk.document, hit.chunk.pages, hit.rank) for hit in hits[:1]] == [("varn.pdf", (1,), 1)]
    record = asyncio.run(ingested.answer(question, hits))
    assert record.answer is not None
    assert "The Varn tower is 41.5 m tall." in record.answer.text
    assert list(record.fingerprints) == STAGES
    assert set(record.timings) == {"prompt", "generate"}


def reranked(project: Project, **options: Any) -> Record:
    """A question whose three candidates are graded by a scripted model, of which the best one is kept."""
    grader = ScriptedModel(default="1", price=Price(input=1000, output=5000), **options)
    retriever = Rerank(first=Dense(), by=LLMReranker(generate=grader, prompt="{question} {passage}"), top_k=1)
    ingested = pipeline(retrieve=retriever).prepare(documents(project), Cache())
    question = Question(id="q", text="How tall is the tower?", category="c")
    return asyncio.run(ingested.answer(question, ingested.retrieve([question])["q"]))


@pytest.mark.slow
def test_a_language_model_reranks_before_the_answer(project: Project) -> None:
    record = reranked(project, replies={"ore costs": "9"})
    assert record.hits is not None
    assert [(hit.chunk.document, hit.score, hit.rank) for hit in record.hits] == [("lune.pdf", 9.0, 1)]
    assert record.prompt is not None
    assert "ore costs 17 crowns" in record.prompt.context
    assert list(record.timings) == ["rerank", "prompt", "generate"]
    assert record.attempts == 1
    assert [(call.purpose, call.attempts, call.error) for call in record.calls] == [("rerank", 1, None)] * 3
    # three grades of one word, and prompts of 5 words of question each and 20 words of pages
    found = sums([record])["usage_by_purpose"]["rerank"]
    assert (found["calls"], found["prompt_tokens"], found["completion_tokens"]) == (3, 35, 3)
    assert found["cost"] == pytest.approx(35 * 0.001 + 3 * 0.005)


@pytest.mark.slow
def test_a_question_whose_reranking_fails_is_a_failure_with_what_it_cost(project: Project) -> None:
    record = reranked(project, fail_on={"ore costs": "on fire"}, max_concurrency=1)
    assert (record.answer, record.prompt, record.hits) == (None, None, ())
    assert record.error is not None
    assert (record.error.kind, record.error.message) == ("ModelError", "the reranker failed: on fire")
    assert record.calls[-1].error is not None
    assert len(billed(record)) == len(record.calls) - 1


@pytest.mark.slow
def test_a_prompt_is_cut_to_the_models_window(project: Project) -> None:
    small = pipeline(generate=ScriptedModel(echo=True, context_window=55, max_tokens=10))
    ingested = small.prepare(documents(project), Cache())
    question = Question(id="q", text="How tall is the tower?", category="c")
    record = asyncio.run(ingested.answer(question, ingested.retrieve([question])["q"]))
    assert record.prompt is not None
    assert record.prompt.cuts
    assert record.prompt.tokens is not None
    assert record.prompt.tokens <= 45


@pytest.mark.slow
def test_a_model_that_cannot_take_the_question_is_a_failure(project: Project) -> None:
    tiny = pipeline(generate=ScriptedModel(context_window=12, max_tokens=10))
    ingested = tiny.prepare(documents(project), Cache())
    record = asyncio.run(ingested.answer(Question(id="q", text="Why?", category="c"), ()))
    assert record.answer is None
    assert record.error is not None
    assert record.error.kind == "PromptTooLongError"


@pytest.mark.slow
def test_an_unreadable_document(project: Project) -> None:
    (project.path / "pdfs" / "lune.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    with pytest.raises(DocumentError, match=r"lune.pdf"):
        pipeline().prepare(documents(project), Cache())
    left = pipeline(ingest=Pdfium(on_error="skip")).prepare(documents(project), Cache())
    assert [failure.document for failure in left.failures] == ["lune.pdf"]
    assert [document.id for document in left.documents] == ["varn.pdf"]


@pytest.mark.slow
def test_documents_that_failed_before_do_not_shift_the_vectors(project: Project) -> None:
    cache = Cache()
    hurried = pipeline(ingest=Pdfium(on_error="skip", timeout=0.001))
    assert len(hurried.prepare(documents(project), cache).failures) == 2
    ingested = pipeline().prepare(documents(project), cache)
    question = Question(id="q", text="What does ore cost in Lune?", category="c")
    assert ingested.retrieve([question])["q"][0].chunk.document == "lune.pdf"


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"no array at all"])
def test_a_damaged_index_is_made_again(project: Project, damage: bytes) -> None:
    cache = Cache()
    pipeline().prepare(documents(project), cache)
    (path,) = cache.folder.glob("indexes/*/vectors.npy")
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert pipeline().prepare(documents(project), cache).index.vectors is not None
    assert path.read_bytes() == whole


def test_a_reply_that_fills_the_window_is_refused_before_the_first_question() -> None:
    with pytest.raises(ConfigError, match="leaves no room in a context of 100"):
        pipeline(generate=ScriptedModel(context_window=100, max_tokens=100)).check()


@pytest.mark.slow
def test_a_timeout_keeps_what_there_was(project: Project) -> None:
    slow = pipeline(generate=ScriptedModel(latency=30))
    ingested = slow.prepare(documents(project), Cache())
    question = Question(id="q", text="Why?", category="c")
    record = asyncio.run(ingested.answer(question, (), timeout=2))
    assert record.error is not None
    assert (record.error.kind, record.answer) == ("Timeout", None)
    assert record.prompt is not None
    assert list(record.fingerprints) == STAGES


@pytest.mark.slow
def test_a_model_without_sight_is_found_before_the_first_question(smollm: Embedded) -> None:
    shown = pipeline(chunk=PageChunker(image_dpi=50), generate=smollm)
    with pytest.raises(ConfigError, match="mmproj"):
        shown.check()
    pipeline(chunk=PageChunker(), generate=smollm).check()
    pipeline(chunk=PageChunker(image_dpi=50), retrieve=ClosedBook(), generate=smollm).check()


@pytest.mark.slow
def test_a_document_that_cannot_be_rendered_is_one_that_cannot_be_read(tmp_path: Path) -> None:
    """MuPDF reads a PDF that was cut off before its trailer; PDFium, which renders, does not."""
    pytest.importorskip("pymupdf")
    write_pdf(tmp_path / "whole.pdf", ["one"])
    write_pdf(tmp_path / "cut.pdf", ["two"])
    data = (tmp_path / "cut.pdf").read_bytes()
    (tmp_path / "cut.pdf").write_bytes(data[: data.rindex(b"trailer")])
    documents = {name: tmp_path / name for name in ("whole.pdf", "cut.pdf")}
    shown = pipeline(chunk=PageChunker(image_dpi=20), ingest=PyMuPDF(on_error="skip"))
    ingested = shown.prepare(documents, Cache(tmp_path / "cache"))
    assert [failure.document for failure in ingested.failures] == ["cut.pdf"]
    assert [(chunk.document, chunk.image is not None) for chunk in ingested.index.chunks] == [
        ("whole.pdf", True)
    ]
    strict = shown.model_copy(update={"ingest": PyMuPDF()})
    with pytest.raises(DocumentError, match=r"cut\.pdf"):
        strict.prepare(documents, Cache(tmp_path / "cache"))
