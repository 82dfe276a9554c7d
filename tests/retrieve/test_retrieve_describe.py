"""`retrieve: {kind: describe}`: a model that sees tells one that does not what is on the pages found."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter

from fathoms.errors import ConfigError, ModelError
from fathoms.experiment import load_experiment
from fathoms.ingest import PageChunker
from fathoms.models import OpenAICompatibleLLM, ScriptedModel
from fathoms.models.caller import Caller, ModelCalls
from fathoms.models.prices import Price
from fathoms.pipeline.answering import Ingested, PackedQuestion
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import BM25, AnyRetriever, Describe, Index
from fathoms.runner.budget import Budget
from fathoms.runner.estimate import Estimates, SharedReplies, added, estimate, repeated
from fathoms.runner.reservations import Reservations
from fathoms.runs.cache import Cache
from fathoms.runs.usage import sums
from fathoms.types import Chunk, Hit, Question, Record
from tests.support.project import write_pdf
from tests.support.seer import Seer, seeing

SIZES: list[tuple[int, int]] = []
QUESTIONS = [Question(id=text, text=text, category="c") for text in ("the tower?", "How tall is the tower?")]
PAGES = ["The tower is 41.5 m tall.", "Ore costs 17 crowns.", "Nothing else."]


def sizes(pictures: list[bytes], text: str) -> str:
    """What the model says: that it was shown one picture, and of which size."""
    (picture,) = pictures
    with Image.open(io.BytesIO(picture)) as image:
        SIZES.append(image.size)
    return f"seen {len(SIZES)}: "


@pytest.fixture
def seer() -> Iterator[Seer]:
    SIZES.clear()
    with seeing(sizes) as server:
        yield server


def pipeline(seer: Seer, **changes: Any) -> Pipeline:
    model = OpenAICompatibleLLM(
        base_url=f"{seer.address}/v1", model="seer", price=Price(input=1000, output=5000), max_concurrency=1
    )
    keep = changes.pop("keep_text", False)
    base: dict[str, Any] = {
        "chunk": PageChunker(max_pixels=20_000),
        "retrieve": Describe(first=BM25(top_k=1), generate=model, keep_text=keep),
        "prompt": PromptBuilder(system="", user="{context}|{question}", chunk="{text}"),
        "generate": ScriptedModel(echo=True),
    }
    return Pipeline(**{**base, **changes})


def answers(one_pipeline: Pipeline, folder: Path) -> list[Record]:
    """The records of the questions, one after the other, with nothing kept but the cache on the disk."""
    write_pdf(folder / "varn.pdf", PAGES)
    with closing(Cache(folder / "cache")) as cache:
        ingested = one_pipeline.prepare({"varn.pdf": folder / "varn.pdf"}, cache)
        hits = ingested.retrieve(QUESTIONS)

        async def ask() -> list[Record]:
            caller = Caller()
            return [await ingested.answer(each, hits[each.id], caller=caller) for each in QUESTIONS]

        return asyncio.run(ask())


@pytest.mark.slow
def test_the_model_that_answers_gets_the_description_and_no_picture(seer: Seer, tmp_path: Path) -> None:
    one_pipeline = pipeline(seer)
    one_pipeline.check()
    first, second = answers(one_pipeline, tmp_path)
    assert first.hits is not None
    assert first.prompt is not None
    (hit,) = first.hits
    assert (hit.chunk.pages, hit.chunk.text, hit.chunk.image, hit.chunk.modality) == (
        (1,),
        "seen 1:",
        None,
        "text",
    )
    assert first.prompt.messages[-1].images == ()
    assert first.answer is not None
    assert first.answer.text == "seen 1:"
    assert [call.cached for record in (first, second) for call in record.calls] == [False, True]
    ((width, height),) = SIZES
    assert 19_000 < width * height <= 20_000
    assert list(first.timings) == ["describe", "prompt", "generate"]
    found = sums([first, second])["usage_by_purpose"]["describe"]
    assert (found["calls"], found["prompt_tokens"]) == (1, 1000)
    assert found["cost"] == pytest.approx(1.05)
    (again, _) = answers(one_pipeline, tmp_path)
    assert [call.cached for call in again.calls] == [True]
    assert (again.answer and again.answer.text, len(seer.seen)) == ("seen 1:", 1)
    (both, _) = answers(pipeline(seer, keep_text=True), tmp_path)
    assert both.prompt is not None
    assert both.prompt.context == "The tower is 41.5 m tall.\n\nseen 1:"


@pytest.mark.slow
def test_a_page_that_cannot_be_described_fails_its_question_by_name(seer: Seer, tmp_path: Path) -> None:
    seer.fails = [400]
    first, second = answers(pipeline(seer), tmp_path)
    assert (first.answer, first.hits) == (None, ())
    assert first.error is not None
    assert first.error.message.startswith("page 1 of varn.pdf could not be described: ")
    assert first.error.status == 400
    assert second.answer is not None, "the next question on the page asks again"


def test_a_figure_that_was_cut_out_is_described_and_named(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "figure.png")
    picture, parsed = tmp_path / "figure.png", "LEFT 31.5 ml"
    chunk = Chunk(id="a.pdf#p3-figure1", document="a.pdf", pages=(3,), text=parsed, image=picture)
    hits = [Hit(chunk=chunk, score=1.0, rank=1)]
    index = Index((), (), None, lambda texts: np.zeros((len(texts), 2), np.float32), tmp_path)

    def described(**script: Any) -> str:
        describe = Describe(first=BM25(), generate=ScriptedModel(**script), keep_text=True)
        (hit,) = asyncio.run(describe.refine(index, QUESTIONS[0], hits, ModelCalls(Caller())))
        return hit.chunk.text

    assert described(default="A display.") == "LEFT 31.5 ml\n\nA display."
    with pytest.raises(ModelError, match=r"^figure1 on page 3 of a.pdf could not be described: on fire"):
        described(fail_on={"Describe": "on fire"})


def test_what_cannot_work_is_refused_before_the_first_question(seer: Seer) -> None:
    with pytest.raises(ConfigError, match="needs pictures of pages"):
        pipeline(seer, chunk=PageChunker()).check()
    with pytest.raises(ConfigError, match="'page-images' does not show the text of a page"):
        pipeline(seer, prompt=PromptBuilder(template="page-images")).check()


@pytest.mark.parametrize(("show", "refused"), [("text", True), ("images", False)])
def test_pictures_of_chunks_are_none_where_pages_are_searched(seer: Seer, show: str, refused: bool) -> None:
    """The hits of a search by page images have no picture of a chunk, although `chunk` renders pages."""
    embed = {"kind": "image-text", "model": "never-loaded"}
    parts = [{"kind": "bm25"}, {"kind": "visual", "show": show, "embed": embed}]
    first = {"kind": "hybrid", "of": parts}
    described = Describe.model_validate({"first": first, "generate": {"kind": "scripted"}})
    one_pipeline = pipeline(seer, chunk=PageChunker(image_dpi=40), retrieve=described)
    refusal = pytest.raises(ConfigError, match="needs pictures of pages") if refused else nullcontext()
    with refusal:
        one_pipeline.checks()["generate"]()


def test_configs_and_identity() -> None:
    config = {"kind": "describe", "first": {"kind": "bm25", "top_k": 5}, "generate": {"kind": "scripted"}}
    result: Any = TypeAdapter(AnyRetriever).validate_python(config)
    assert (result.top_k, result.needs, result.pages) == (5, "chunks", None)
    assert TypeAdapter(AnyRetriever).validate_python(result.model_dump(mode="json")) == result
    others = [{"prompt": "What?"}, {"keep_text": True}, {"generate": ScriptedModel(model="b")}]
    identities = [result.model_copy(update=other).identity() for other in others]
    assert result.identity() not in identities


@pytest.mark.slow
def test_a_description_is_estimated_once_and_not_where_it_is_kept(seer: Seer, tmp_path: Path) -> None:
    """Both questions need the one page: 2,000 tokens for a picture of which no formula is known, those of
    the prompt's characters, and a description of 500 tokens, at $1,000 and $5,000 a million."""
    write_pdf(tmp_path / "varn.pdf", PAGES)
    one_pipeline = pipeline(seer)

    def estimated() -> Estimates:
        with closing(Cache(tmp_path / "cache")) as cache:
            ingested = one_pipeline.prepare({"varn.pdf": tmp_path / "varn.pdf"}, cache)
            hits, once = ingested.retrieve(QUESTIONS), SharedReplies(ingested.index.replies)
            packed = [PackedQuestion(ingested, each, hits[each.id]) for each in QUESTIONS]
            return repeated(added(estimate(each, once) for each in packed), 3)

    before = estimated()
    found = before["describe"]
    assert (found.requests, found.pictures, found.picture_tokens, found.reply_tokens) == (1, 1, 2000, 500)
    words = len(Describe(generate=ScriptedModel()).prompt) // 4
    assert found.prompt_tokens == 2000 + words
    assert found.cost == pytest.approx(2 + words / 1000 + 2.5)
    assert before["answer"].requests == 6, "three repeats of two questions"
    assert before["answer"].pictures == 0
    answers(one_pipeline, tmp_path)
    assert set(estimated()) == {"answer"}


@pytest.mark.slow
def test_a_kept_description_is_no_measure_of_what_the_next_takes(seer: Seer, tmp_path: Path) -> None:
    """Of the two pages of a question, that of the tower is kept. The other one takes 1,000 tokens for the
    prompt and 10 for the reply, and so does the new page of the next question."""
    write_pdf(tmp_path / "varn.pdf", PAGES)
    answers(pipeline(seer), tmp_path)
    model = pipeline(seer).retrieve.called["describe"]
    retrieve = Describe(first=BM25(top_k=2), generate=model)
    one_pipeline = pipeline(seer, retrieve=retrieve, generate=ScriptedModel(default="No."))
    questions = [Question(id=text, text=text, category="c") for text in ("tower ore", "tower nothing")]

    async def ask(ingested: Ingested) -> list[float]:
        hits, budget, caller = ingested.retrieve(questions), Budget(max_cost=100), Caller()
        reservations = Reservations(budget, ingested, hits)
        found = []
        for question in questions:
            reserved = await reservations.take(question)
            assert reserved is not None
            record = await ingested.answer(question, hits[question.id], caller=caller)
            assert sorted(call.cached for call in record.calls) == [False, True]
            reservations.settle(reserved, record)
            found.append(reserved.amount.cost)
        return found

    with closing(Cache(tmp_path / "cache")) as cache:
        _, reserved = asyncio.run(ask(one_pipeline.prepare({"varn.pdf": tmp_path / "varn.pdf"}, cache)))
    assert reserved == pytest.approx(1000 * 1000 / 1e6 + 10 * 5000 / 1e6)


def test_a_run_that_only_searches_describes_nothing(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(
        "data: sample\nchunk: {kind: page, image_dpi: 50}\n"
        "retrieve: {kind: describe, first: {kind: bm25, top_k: 2}, generate: {kind: scripted}}\n"
    )
    assert load_experiment(config, retrieval_only=True).retrieve == BM25(top_k=2)  # type: ignore[union-attr]
