"""Pictures described by a model that sees, over a real socket: once, with their cost, never by nothing."""

from __future__ import annotations

import asyncio
import io
import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from fathoms.errors import ModelError
from fathoms.models import OpenAICompatibleLLM, ScriptedModel
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import Caller, ModelCalls
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.models.describing import Describer
from fathoms.models.prices import Price
from fathoms.runs.cache import Cache
from fathoms.types import Call
from tests.support.seer import Seer, seeing

COLOURS = {(255, 0, 0): "A red page.", (0, 0, 255): "A blue page."}


def colours(pictures: list[bytes], text: str) -> str:
    """What the model says: the colour of the one picture that it is shown."""
    (picture,) = pictures
    pixel = Image.open(io.BytesIO(picture)).convert("RGB").getpixel((3, 3))
    return COLOURS[pixel] if text == "Which colour?" else ""  # type: ignore[index]


def painted(folder: Path, name: str) -> Path:
    path = folder / f"{name}.png"
    Image.new("RGB", (8, 8), name).save(path)
    return path


def described(
    seer: Seer, folder: Path, *pictures: Path, prompt: str = "Which colour?"
) -> tuple[list[str], list[Call]]:
    """The descriptions of pictures that are asked for at once, in a process that has only the cache."""
    model = OpenAICompatibleLLM(
        base_url=f"{seer.address}/v1", model="seer", price=Price(input=1000, output=5000), max_concurrency=2
    )
    calls: list[Call] = []

    async def all_at_once() -> list[str]:
        caller = Caller(ProviderCalls(ExecutionSettings(max_attempts=2, first_wait=0.01)))
        result = (
            describer.description(picture, picture.stem, ModelCalls(caller, done=calls))
            for picture in pictures
        )
        return await asyncio.gather(*result)

    with closing(Cache(folder / "cache")) as cache:
        describer = Describer(model, prompt, ReplyCache(cache))
        return asyncio.run(all_at_once()), calls


def test_a_picture_is_described_once_and_paid_once(tmp_path: Path) -> None:
    """1,000 tokens of prompt at $1,000 a million and 10 of reply at $5,000 are $1.05."""
    red, blue = painted(tmp_path, "red"), painted(tmp_path, "blue")
    moved = Path(shutil.copy(red, tmp_path / "elsewhere.png"))
    with seeing(colours) as seer:
        words, calls = described(seer, tmp_path, red, blue, moved)
        assert words == ["A red page.", "A blue page.", "A red page."]
        sent = [picture for pictures, _ in seer.seen for picture in pictures]
        assert sorted(sent) == sorted([red.read_bytes(), blue.read_bytes()])
        assert sorted(call.cached for call in calls) == [False, False, True]
        assert sum(call.cost or 0 for call in calls if not call.cached) == pytest.approx(2.10)
        assert {(call.purpose, call.usage.prompt_tokens) for call in calls} == {("describe", 1000)}
        words, calls = described(seer, tmp_path, red, blue)
        assert words == ["A red page.", "A blue page."]
        assert [(call.cached, call.attempts) for call in calls] == [(True, 0), (True, 0)]
        assert len(seer.seen) == 2
        with pytest.raises(ModelError):  # another prompt is another description, and this one has no answer
            described(seer, tmp_path, red, prompt="What is it?")
        assert len(seer.seen) == 3


def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    red = painted(tmp_path, "red")
    with seeing(colours) as seer:
        seer.fails = [503]
        words, calls = described(seer, tmp_path, red)
        assert (words, [call.attempts for call in calls]) == (["A red page."], [2])


def test_a_failed_description_is_named_and_asked_for_again(tmp_path: Path) -> None:
    red = painted(tmp_path, "red")
    replies = ["", "  \n", "A red page."]
    with seeing(lambda pictures, text: replies.pop(0)) as seer:
        for _ in range(2):
            with pytest.raises(ModelError, match=r"^red could not be described: the model replied with no"):
                described(seer, tmp_path, red)
        seer.fails = [503, 503]
        with pytest.raises(ModelError, match=r"^red could not be described: .*503") as raised:
            described(seer, tmp_path, red)
        assert raised.value.status == 503
        assert described(seer, tmp_path, red)[0] == ["A red page."]
        with pytest.raises(ModelError, match=r"^gone could not be described: its picture cannot be read"):
            described(seer, tmp_path, tmp_path / "gone.png")


def test_a_cut_off_description_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = ScriptedModel(default="a page of many words", max_tokens=2)
    with closing(Cache(tmp_path / "cache")) as cache:
        one = Describer(model, "What?", ReplyCache(cache))
        red = painted(tmp_path, "red")
        with caplog.at_level("WARNING", logger="fathoms.run"):
            assert asyncio.run(one.description(red, "page 1 of a.pdf", ModelCalls(Caller()))) == "a page"
        (event,) = [record.__dict__["facts"] for record in caplog.records]
        assert event == {"event": "description-cut", "picture": "page 1 of a.pdf", "stop_reason": "length"}
        without = replace(one, replies=None)
        assert asyncio.run(without.description(red, "page 1", ModelCalls(Caller()))) == "a page"
