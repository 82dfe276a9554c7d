"""PDFs of a question as files: whole, in parts, as images, or refused before anything is asked."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from support import write_pdf

from fathoms.answering import Ingested, summed
from fathoms.attachments import in_requests
from fathoms.cache import Cache
from fathoms.errors import ConfigError
from fathoms.models import FileLimits, LlamaIndexLLM, ScriptedModel
from fathoms.pipeline import Pipeline
from fathoms.prompt import PromptBuilder
from fathoms.retrieve import Files
from fathoms.types import Attachment, Chunk, Hit, Question, Record, Reply, Usage

LONG = [f"This is page {number} of the long one." for number in range(1, 6)]


@pytest.fixture
def documents(tmp_path: Path) -> dict[str, Path]:
    write_pdf(tmp_path / "long.pdf", LONG)
    write_pdf(tmp_path / "short.pdf", ["A single page."])
    return {path.name: path for path in sorted(tmp_path.glob("*.pdf"))}


def question(*files: str, name: str = "q") -> Question:
    return Question(id=name, text="What is it?", category="c", files=files)


def ingested(documents: dict[str, Path], retrieve: Files, **model: Any) -> Ingested:
    prompt = PromptBuilder(template="attached", **model.pop("prompt", {}))
    pipeline = Pipeline(retrieve=retrieve, prompt=prompt, generate=ScriptedModel(**model))
    pipeline.check()
    return pipeline.prepare(documents, Cache(documents["long.pdf"].parent / "cache"))


def asked(ready: Ingested, about: Question) -> Record:
    return asyncio.run(ready.answer(about, ready.retrieve([about])[about.id]))


def text_of(path: Path) -> list[str]:
    with pdfium.PdfDocument(path) as document:
        return [page.get_textpage().get_text_range() for page in document]


def test_the_files_of_the_question_go_as_they_are_on_disk(documents: dict[str, Path]) -> None:
    record = asked(ingested(documents, Files()), question("short.pdf", "long.pdf"))
    assert record.prompt is not None
    (message,) = record.prompt.messages
    assert message.text == "What is it?"
    assert [file.path for file in message.files] == [documents["short.pdf"], documents["long.pdf"]]
    assert [file.pages for file in message.files] == [(1,), (1, 2, 3, 4, 5)]
    for file in message.files:
        data = file.path.read_bytes()
        assert (file.sha256, file.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert record.hits is not None
    assert [(hit.chunk.modality, hit.chunk.text, hit.rank) for hit in record.hits] == [
        ("file", "", 1),
        ("file", "", 2),
    ]
    assert record.prompt.context == ""


def test_a_question_without_files_gets_all(documents: dict[str, Path]) -> None:
    found = ingested(documents, Files()).retrieve([question()])["q"]
    assert [hit.chunk.document for hit in found] == ["long.pdf", "short.pdf"]


def test_too_much_is_refused_before_anything_is_asked(documents: dict[str, Path]) -> None:
    ready = ingested(documents, Files(), max_pages=4)
    with pytest.raises(ConfigError) as refused:
        ready.retrieve([question("short.pdf", name="fits"), question("long.pdf", name="long-one")])
    said = str(refused.value)
    assert said.startswith("1 questions have more attached than the model takes in one request (4 pages)")
    assert "long-one: long.pdf: 5 pages" in said
    assert "fits" not in said
    assert "retrieve.too_long" in said


def test_too_much_is_split_and_merged(documents: dict[str, Path]) -> None:
    ready = ingested(
        documents,
        Files(too_long="split"),
        max_pages=2,
        replies={
            "by itself": "merged: long.pdf",
            "(1, 2)": "one and two",
            "(3, 4)": "three and four",
            "(5)(1)": "the rest",
        },
        prompt={"user": "{context} {question}", "chunk": "({pages})", "separator": ""},
    )
    record = asked(ready, question("long.pdf", "short.pdf"))
    assert record.answer is not None
    assert record.answer.text == "merged: long.pdf"
    assert record.prompt is not None
    first, second, third = record.prompt.parts
    assert [[file.pages for file in part.messages[0].files] for part in (first, second, third)] == [
        [(1, 2)],
        [(3, 4)],
        [(5,), (1,)],  # the last part leaves room for the other file, which goes whole
    ]
    assert text_of(second.messages[0].files[0].path) == LONG[2:4]
    assert third.messages[0].files[1].path == documents["short.pdf"]
    merging = record.prompt.messages[0].text
    assert "long.pdf, pages 3-4:\nthree and four" in merging
    assert "long.pdf, pages 5-5; short.pdf, pages 1-1:\nthe rest" in merging
    assert "Question: What is it?" in merging
    # three parts of 2, 2 and 1 words of context before the three of the question, and the merging prompt
    words = sum(len(part.messages[0].text.split(" ")) for part in (first, second, third))
    assert record.answer.usage.prompt_tokens == words + len(merging.split(" "))
    assert record.hits is not None
    assert [hit.rank for hit in record.hits] == [1, 2, 3, 4]


def test_a_part_is_halved_until_its_bytes_fit(documents: dict[str, Path], tmp_path: Path) -> None:
    from fathoms.attachments import Fitting

    ready = ingested(documents, Files())
    sizes = {1: 900, 2: 1100, 3: 1500, 5: 2100}

    def cut(document: Any, first: int, length: int) -> Attachment:
        pages = tuple(range(first, first + length))
        return Attachment(document=document.id, pages=pages, path=tmp_path, sha256="", size=sizes[length])

    fitting = Fitting(
        FileLimits(None, 1200),
        "pdf",
        "split",
        {document.id: document for document in ready.documents},
        cut,
        lambda document: {},
    )
    whole = ready.retrieve([question("long.pdf")])
    assert whole["q"][0].chunk.file is not None
    assert whole["q"][0].chunk.file.size > 1200
    parts = fitting.fit(whole)["q"]
    assert [hit.chunk.pages for hit in parts] == [(1, 2), (3, 4), (5,)]


def test_a_single_page_that_is_too_large_is_refused(documents: dict[str, Path]) -> None:
    class Small(ScriptedModel):
        @property
        def file_limits(self) -> FileLimits:
            return FileLimits(None, 10)

    pipeline = Pipeline(retrieve=Files(too_long="split"), generate=Small())
    ready = pipeline.prepare(documents, Cache(documents["long.pdf"].parent / "cache"))
    with pytest.raises(ConfigError, match="a single page is too large"):
        ready.retrieve([question("short.pdf")])


@pytest.mark.parametrize("options", [{"form": "images"}, {"too_long": "images"}])
def test_pages_go_as_images(documents: dict[str, Path], options: dict[str, Any]) -> None:
    record = asked(ingested(documents, Files(**options, image_dpi=36), max_pages=4), question("long.pdf"))
    assert record.prompt is not None
    (message,) = record.prompt.messages
    assert message.files == ()
    assert len(message.images) == 5
    assert all(image.read_bytes().startswith(b"\x89PNG") for image in message.images)
    assert record.hits is not None
    assert [hit.chunk.pages for hit in record.hits] == [(1,), (2,), (3,), (4,), (5,)]


def test_a_pdf_that_fits_is_not_shown_as_images(documents: dict[str, Path]) -> None:
    found = ingested(documents, Files(too_long="images"), max_pages=5).retrieve([question("long.pdf")])
    assert [hit.chunk.modality for hit in found["q"]] == ["file"]


def hit(rank: int, pages: int, size: int) -> Hit:
    file = Attachment(document="a", pages=tuple(range(1, pages + 1)), path=Path("a"), sha256="", size=size)
    return Hit(chunk=Chunk(id=str(rank), document="a", pages=file.pages, file=file), score=1, rank=rank)


def test_requests_are_filled_in_order() -> None:
    hits = [hit(1, 3, 10), hit(2, 2, 10), hit(3, 1, 90), hit(4, 1, 20)]
    limits = FileLimits(pages=5, size=100)
    assert [[item.rank for item in request] for request in in_requests(hits, limits)] == [[1, 2], [3], [4]]
    assert in_requests(hits, None) == [tuple(hits)]
    assert in_requests([], limits) == [()]


def test_a_model_that_takes_no_files_is_refused() -> None:
    model = LlamaIndexLLM(target="llama_index.core.llms:MockLLM")
    with pytest.raises(ConfigError, match="takes no PDFs"):
        Pipeline(retrieve=Files(), generate=model).check()
    Pipeline(retrieve=Files(form="images"), generate=model).check()


def test_the_limits_count_where_files_are_attached() -> None:
    def state(retrieve: Files, pages: int) -> dict[str, str]:
        return Pipeline(retrieve=retrieve, generate=ScriptedModel(max_pages=pages)).fingerprints({"a": "1"})

    assert state(Files(), 5)["retrieve"] != state(Files(), 6)["retrieve"]
    assert state(Files(), 5)["parse"] == state(Files(), 6)["parse"]


def test_the_sum_of_replies_knows_what_all_parts_know() -> None:
    parts = [
        Reply(text="a", usage=Usage(prompt_tokens=3, completion_tokens=1), latency=1.0, refusal="SAFETY"),
        Reply(text="b", usage=Usage(prompt_tokens=4), latency=2.0),
    ]
    last = Reply(text="c", usage=Usage(prompt_tokens=5, completion_tokens=2), latency=0.5)
    whole = summed(parts, last)
    assert (whole.text, whole.refusal, whole.latency, whole.cost) == ("c", "SAFETY", 3.5, None)
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (12, None)
