"""PDFs of a question as files: whole, in parts, as images, or refused before anything is asked."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from PIL import Image

from fathoms.errors import ConfigError, DocumentError
from fathoms.ingest import PageChunker, Pdfium
from fathoms.models import AnthropicLLM, FileLimits, ImageLimits, LlamaIndexLLM, ScriptedModel
from fathoms.pipeline.answering import Ingested, merged_reply
from fathoms.pipeline.attachments import Fitting, in_requests
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import BM25, Files
from fathoms.runs.cache import Cache
from fathoms.types import Attachment, Chunk, Document, Hit, Part, Prompt, Question, Record, Reply, Usage
from tests.support.project import write_pdf

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


def record_of(ready: Ingested, about: Question) -> Record:
    return asyncio.run(ready.answer(about, ready.retrieve([about])[about.id]))


def text_of(path: Path) -> list[str]:
    with pdfium.PdfDocument(path) as document:
        return [page.get_textpage().get_text_range() for page in document]


def test_the_files_of_the_question_go_as_they_are_on_disk(documents: dict[str, Path]) -> None:
    record = record_of(ingested(documents, Files()), question("short.pdf", "long.pdf"))
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


@pytest.mark.slow
def test_a_question_without_files_gets_all(documents: dict[str, Path]) -> None:
    found = ingested(documents, Files()).retrieve([question()])["q"]
    assert [hit.chunk.document for hit in found] == ["long.pdf", "short.pdf"]


@pytest.mark.slow
def test_too_much_is_refused_before_anything_is_asked(documents: dict[str, Path]) -> None:
    ready = ingested(documents, Files(), max_pages=4)
    with pytest.raises(ConfigError) as refused:
        ready.retrieve([question("short.pdf", name="fits"), question("long.pdf", name="long-one")])
    said = str(refused.value)
    assert said.startswith("1 question has more attached than the model takes in one request (4 pages)")
    assert "long-one: long.pdf: 5 pages" in said
    assert "fits" not in said
    assert "retrieve.too_long" in said


@pytest.mark.slow
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
    record = record_of(ready, question("long.pdf", "short.pdf"))
    assert record.answer is not None
    assert record.answer.text == "merged: long.pdf"
    assert record.prompt is not None
    first, second, third = record.prompt.parts
    sent = [part.prompt.messages[0] for part in (first, second, third)]
    assert [[file.pages for file in message.files] for message in sent] == [
        [(1, 2)],
        [(3, 4)],
        [(5,), (1,)],  # the last part leaves room for the other file, which goes whole
    ]
    assert text_of(sent[1].files[0].path) == LONG[2:4]
    assert sent[2].files[1].path == documents["short.pdf"]
    assert [part.reply.text for part in record.prompt.parts] == ["one and two", "three and four", "the rest"]
    merging = record.prompt.messages[0].text
    assert "long.pdf, pages 3-4:\nthree and four" in merging
    assert "long.pdf, pages 5-5; short.pdf, pages 1-1:\nthe rest" in merging
    assert "Question: What is it?" in merging
    # three parts of 2, 2 and 1 words of context before the three of the question, and the merging prompt
    words = sum(len(message.text.split(" ")) for message in sent)
    assert record.answer.usage.prompt_tokens == words + len(merging.split(" "))
    assert record.hits is not None
    assert [hit.rank for hit in record.hits] == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_part_is_halved_until_its_bytes_fit(documents: dict[str, Path], tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_a_single_page_that_is_too_large_is_refused(documents: dict[str, Path]) -> None:
    class Small(ScriptedModel):
        @property
        def file_limits(self) -> FileLimits:
            return FileLimits(None, 10)

    pipeline = Pipeline(retrieve=Files(too_long="split"), generate=Small())
    ready = pipeline.prepare(documents, Cache(documents["long.pdf"].parent / "cache"))
    with pytest.raises(ConfigError, match="a single page is too large"):
        ready.retrieve([question("short.pdf")])


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"form": "images"}, {"too_long": "images"}])
def test_pages_go_as_images(documents: dict[str, Path], options: dict[str, Any]) -> None:
    record = record_of(ingested(documents, Files(**options, image_dpi=36), max_pages=4), question("long.pdf"))
    assert record.prompt is not None
    (message,) = record.prompt.messages
    assert message.files == ()
    assert len(message.images) == 5
    assert all(image.read_bytes().startswith(b"\x89PNG") for image in message.images)
    assert record.hits is not None
    assert [hit.chunk.pages for hit in record.hits] == [(1,), (2,), (3,), (4,), (5,)]


@pytest.mark.slow
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
    prompt = PromptBuilder(template="attached")
    Pipeline(retrieve=Files(form="images"), prompt=prompt, generate=model).check()


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
    last = Reply(text="c", usage=Usage(prompt_tokens=5, completion_tokens=2), latency=0.5, first_token=0.1)
    whole = merged_reply(parts, last)
    assert (whole.text, whole.refusal, whole.latency, whole.cost) == ("c", None, 3.5, None)
    assert whole.first_token is None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (12, None)


@pytest.mark.slow
def test_all_pages_of_a_file_count_whatever_the_parser_reads(documents: dict[str, Path]) -> None:
    def prepared(retrieve: Files) -> Ingested:
        model = ScriptedModel(max_pages=4)
        pipeline = Pipeline(ingest=Pdfium(max_pages=1), retrieve=retrieve, generate=model)
        return pipeline.prepare(documents, Cache(documents["long.pdf"].parent / "cache"))

    with pytest.raises(ConfigError, match=r"long.pdf: 5 pages"):
        prepared(Files()).retrieve([question("long.pdf")])
    parts = prepared(Files(too_long="split")).retrieve([question("long.pdf")])["q"]
    assert [hit.chunk.pages for hit in parts] == [(1, 2, 3, 4), (5,)]
    shown = prepared(Files(form="images", image_dpi=36)).retrieve([question("long.pdf")])["q"]
    assert [hit.chunk.pages for hit in shown] == [(1,), (2,), (3,), (4,), (5,)]


@pytest.mark.slow
def test_a_question_with_a_file_that_cannot_be_read_is_not_asked_with_less(
    documents: dict[str, Path],
) -> None:
    documents["broken.pdf"] = documents["long.pdf"].with_name("broken.pdf")
    documents["broken.pdf"].write_bytes(b"%PDF-1.4 and no more")
    model = ScriptedModel(default="asked")
    pipeline = Pipeline(ingest=Pdfium(on_error="skip"), retrieve=Files(), generate=model)
    ready = pipeline.prepare(documents, Cache(documents["long.pdf"].parent / "cache"))
    failed = record_of(ready, question("short.pdf", "broken.pdf"))
    assert failed.answer is None
    assert failed.error is not None
    assert failed.error.kind == "DocumentError"
    assert "broken.pdf" in failed.error.message
    assert failed.attempts == 0
    other = record_of(ready, question("short.pdf", name="other"))
    assert other.answer is not None


@pytest.mark.slow
def test_a_page_that_cannot_be_cut_fails_its_question_alone(documents: dict[str, Path]) -> None:
    def cut(document: Document, first: int, length: int) -> Attachment:
        raise DocumentError(document.id, "damaged", "page 3 cannot be imported")

    ready = ingested(documents, Files())
    fitting = Fitting(
        FileLimits(2, None),
        "pdf",
        "split",
        {document.id: document for document in ready.documents},
        cut,
        lambda document: {},
    )
    found = ready.retrieve([question("long.pdf"), question("short.pdf", name="fine")])
    fitted = fitting.fit(found)
    assert (fitted["q"], len(fitted["fine"])) == ((), 1)
    assert fitting.failures["q"].detail == "page 3 cannot be imported"


@pytest.mark.slow
def test_a_failed_part_keeps_the_answers_before_it(documents: dict[str, Path]) -> None:
    ready = ingested(
        documents,
        Files(too_long="split"),
        max_pages=2,
        replies={"(1, 2)": "one and two"},
        fail_on={"(3, 4)": "boom"},
        prompt={"user": "{context} {question}", "chunk": "({pages})", "separator": ""},
    )
    record = record_of(ready, question("long.pdf"))
    assert record.error is not None
    assert record.error.message == "boom"
    assert record.prompt is not None
    assert record.prompt.messages[0].files[0].pages == (3, 4)
    assert [part.reply.text for part in record.prompt.parts] == ["one and two"]
    assert record.attempts == 2


@pytest.mark.slow
def test_images_are_split_too(documents: dict[str, Path]) -> None:
    class Sees(ScriptedModel):
        @property
        def file_limits(self) -> FileLimits:
            return FileLimits(None, None, images=3)

    model = Sees(replies={"by itself": "merged"}, default="a part")
    pipeline = Pipeline(
        retrieve=Files(form="images", too_long="split", image_dpi=36),
        prompt=PromptBuilder(template="attached"),
        generate=model,
    )
    ready = pipeline.prepare(documents, Cache(documents["long.pdf"].parent / "cache"))
    record = record_of(ready, question("long.pdf"))
    assert record.prompt is not None
    assert [len(part.prompt.messages[0].images) for part in record.prompt.parts] == [3, 2]
    assert "long.pdf, pages 1-3:\na part" in record.prompt.messages[0].text


def test_a_refused_part_is_no_answer_and_not_the_end() -> None:
    refused = Part(prompt=Prompt(messages=()), reply=Reply(text="", refusal="SAFETY"))
    merging = PromptBuilder(template="attached").pack_merge(question(), [([hit(1, 2, 0)], refused)])
    assert "a, pages 1-2:\n(no answer: SAFETY)" in merging.messages[0].text


def test_uploaded_files_and_images_weigh_what_is_sent() -> None:
    # 90 bytes as base64 are 120, and nothing where they are uploaded before
    assert len(in_requests([hit(1, 1, 0), hit(2, 1, 90)], FileLimits(None, 119, file_weight=4 / 3))) == 2
    assert len(in_requests([hit(1, 1, 0), hit(2, 1, 90)], FileLimits(None, 120, file_weight=4 / 3))) == 1
    assert len(in_requests([hit(1, 1, 500), hit(2, 1, 500)], FileLimits(None, 9, file_weight=0))) == 1


def test_the_default_prompt_is_refused(documents: dict[str, Path]) -> None:
    with pytest.raises(ConfigError, match="template: attached"):
        Pipeline(retrieve=Files(), generate=ScriptedModel()).check()


@pytest.mark.slow
def test_page_images_obey_the_limits_of_each(documents: dict[str, Path], tmp_path: Path) -> None:
    """Of the two questions, only the longer one sends more than two images in a request."""
    ready = ingested(documents, Files())
    wanted_for = ready.retrieve([question("long.pdf", name="long"), question("short.pdf", name="short")])
    reported: list[dict[str, int]] = []

    def render(document: Document, **bounds: int) -> dict[int, Path]:
        reported.append(bounds)
        return {1: tmp_path / "long.pdf"}

    fitting = Fitting(
        FileLimits(None, None, image_weight=4 / 3),
        "images",
        "refuse",
        {document.id: document for document in ready.documents},
        lambda *part: pytest.fail("nothing is cut"),
        render,
        ImageLimits(side=8000, many=2, side_of_many=2000, size=4_000_000),
    )
    fitting.fit(wanted_for)
    assert reported == [
        {"max_side": 2000, "max_bytes": 3_000_000},
        {"max_side": 8000, "max_bytes": 3_000_000},
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("top_k", "side"), [(20, 2503), (21, 2000)])
def test_retrieved_page_images_obey_them_too(tmp_path: Path, top_k: int, side: int) -> None:
    """Anthropic takes 2,000 pixels on a side in a request with more than 20 images; A4 at 214 dpi has
    2,503."""
    write_pdf(tmp_path / "a.pdf", ["A single page."])
    pipeline = Pipeline(
        chunk=PageChunker(image_dpi=214),
        retrieve=BM25(top_k=top_k),
        prompt=PromptBuilder(template="page-images"),
        generate=AnthropicLLM(model="claude-x"),
    )
    ready = pipeline.prepare({"a.pdf": tmp_path / "a.pdf"}, Cache(tmp_path / "cache"))
    (image,) = [chunk.image for chunk in ready.index.chunks]
    assert image is not None
    with Image.open(image) as opened:
        assert max(opened.size) == side


def test_more_retrieved_images_than_the_model_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    pipeline = Pipeline(
        chunk=PageChunker(max_pixels=1_000_000),
        retrieve=BM25(top_k=101),
        generate=AnthropicLLM(model="claude-x"),
    )
    with pytest.raises(ConfigError, match=r"101 page images are more than the 100 that the model takes"):
        pipeline.checks()["generate"]()
