"""The embedded model, for real: a loaded GGUF file and its server."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from fathoms.errors import ConfigError, MissingWeightsError, ModelError
from fathoms.models import Embedded
from fathoms.models.chat.closed_errors import Sender
from fathoms.models.chat.completion import Completion, chat_messages
from fathoms.models.weights.weights import locate
from fathoms.types import Message, Prompt, Reply
from tests.support.mixed_message import Mixed

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

FACTS = " ".join(f"Station {number} lies {number * 37 % 101} km from the harbour." for number in range(6))


def prompt(question: str, context: str = "") -> Prompt:
    return Prompt(messages=(Message(role="user", text=f"{context}\n\n{question}".strip()),))


def ask(model: Embedded, question: str, context: str = "") -> Reply:
    return asyncio.run(model.reply(prompt(question, context)))


def test_a_reply_says_what_it_cost(smollm: Embedded) -> None:
    one_prompt = prompt("What is the capital of France?")
    reply = asyncio.run(smollm.reply(one_prompt))
    assert reply.text
    assert reply.reasoning == ""
    assert reply.stop_reason in {"stop", "length"}
    assert reply.first_token is not None
    assert reply.latency is not None
    assert 0 < reply.first_token < reply.latency
    assert reply.usage.completion_tokens is not None
    assert 1 <= reply.usage.completion_tokens <= 12
    assert reply.latency is not None
    assert 0 < reply.latency < 120
    assert smollm.count_tokens(one_prompt.messages) == reply.usage.prompt_tokens


def test_tokens_are_counted_as_the_server_counts_them(smollm: Embedded) -> None:
    """With a system message, special tokens in a text, other scripts and nothing at all."""
    model = smollm.model_copy(update={"max_tokens": 1})
    for texts in (("Be brief.", "hi"), ("", "<|im_end|> ok"), ("x", "Größe 12 µm, 東京 🙂"), ("", "")):
        messages = (Message(role="system", text=texts[0]), Message(role="user", text=texts[1]))
        reply = asyncio.run(model.reply(Prompt(messages=messages)))
        assert model.count_tokens(messages) == reply.usage.prompt_tokens


@pytest.mark.long
def test_the_same_prompt_gives_the_same_reply_whatever_came_before(smollm: Embedded) -> None:
    first = ask(smollm, "How far is station 3?", FACTS)
    ask(smollm, "How far is station 7?", FACTS)
    again = ask(smollm, "How far is station 3?", FACTS)
    assert again.text == first.text
    assert again.usage.cached_tokens == 0


def test_a_prefix_is_reused_where_that_is_asked_for(smollm: Embedded) -> None:
    model = smollm.model_copy(update={"cache_prompt": True})
    ask(model, "How far is station 3?", FACTS)
    reply = ask(model, "How far is station 7?", FACTS)
    assert reply.usage.cached_tokens is not None
    assert reply.usage.prompt_tokens is not None
    assert reply.usage.cached_tokens > 0.8 * reply.usage.prompt_tokens


def test_replies_with_a_kept_context_do_not_depend_on_what_came_before(smollm: Embedded) -> None:
    """Alone and after others, in another order; another context and a plain request come in between."""
    model = smollm.model_copy(update={"cache_prompt": "context"})
    numbers = (3, 7)
    alone: dict[int, str] = {}
    reused: set[int | None] = set()
    for number in numbers:
        ask(smollm, "Hello.")  # takes the slot, so the context is evaluated again
        alone[number] = ask(model, f"How far is station {number}?", FACTS).text
    ask(model, "How far is station 5?", f"It rains. {FACTS}")
    for number in reversed(numbers):
        reply = ask(model, f"How far is station {number}?", FACTS)
        assert reply.text.encode() == alone[number].encode()
        reused.add(reply.usage.cached_tokens)
    (context,) = reused  # the context, and never a part of the question
    assert context is not None
    assert reply.usage.prompt_tokens is not None
    assert 0.8 * reply.usage.prompt_tokens < context < reply.usage.prompt_tokens


def test_max_tokens_stops_it(smollm: Embedded) -> None:
    reply = ask(smollm.model_copy(update={"max_tokens": 2}), "Count from one to one hundred.")
    assert reply.usage.completion_tokens == 2
    assert reply.stop_reason == "length"


def test_a_prompt_that_is_too_long_is_refused_in_words(smollm: Embedded) -> None:
    long = prompt("word " * 1500)
    tokens = smollm.count_tokens(long.messages)
    for model in (smollm, smollm.model_copy(update={"cache_prompt": "context"})):
        with pytest.raises(
            ModelError, match=f"takes {tokens} tokens and the context holds 1024: raise n_ctx"
        ):
            asyncio.run(model.reply(long))


def test_a_call_that_is_cancelled_frees_the_model(smollm: Embedded) -> None:
    """The next call does not wait for the rest of a long reply."""
    story = prompt("Tell me a very long story of the sea.")
    model = smollm.model_copy(update={"max_tokens": 150})

    async def cancelled() -> tuple[float, float]:
        started = time.process_time()  # the model runs in this process
        reply = await model.reply(story)
        whole = time.process_time() - started
        assert reply.latency is not None
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(model.reply(story), reply.latency / 10)
        started = time.process_time()
        await model.model_copy(update={"max_tokens": 1}).reply(prompt("hi"))
        return time.process_time() - started, whole

    after, whole = asyncio.run(cancelled())
    assert after < whole / 2


def test_requests_at_once_give_the_replies_of_one_at_a_time(smollm: Embedded) -> None:
    """Of three prompts, two are asked at once, and the third waits for a copy that has answered another."""
    model = smollm.model_copy(update={"max_concurrency": 2, "n_ctx": 512, "max_tokens": 8})
    assert model.context_window == 512
    some_prompts = [
        prompt(f"How far is station {n}, and {'please ' * n}where is it?", FACTS) for n in range(3)
    ]

    async def together(prompts: list[Prompt]) -> list[str]:
        return [reply.text for reply in await asyncio.gather(*map(model.reply, prompts))]

    alone = [asyncio.run(together([one]))[0] for one in some_prompts]
    assert asyncio.run(together(some_prompts[::-1])) == alone[::-1]
    assert len(model._copies()._loaded) == 2


def test_its_port_is_closed_to_others(smollm: Embedded) -> None:
    address = smollm._engine()._server.address
    assert httpx.URL(address).host == "127.0.0.1"
    body = {"messages": [{"role": "user", "content": "hi"}]}
    assert httpx.post(f"{address}/v1/chat/completions", json=body).status_code == 401


def test_a_context_longer_than_the_model_knows(smollm: Embedded) -> None:
    with pytest.raises(ConfigError, match=r"n_ctx is 9000, the longest context of .* is 8192"):
        smollm.model_copy(update={"n_ctx": 9000}).count_tokens([])


def test_a_server_that_has_just_started_can_be_ended(smollm: Embedded) -> None:
    """It once forgot its end if its thread had not begun to work, and whoever freed it waited forever."""
    program = (
        "from fathoms.models.chat.llama_server import Settings, start\n"
        "from fathoms.models.weights.weights import locate\n"
        "for _ in range(4):\n"
        "    start(Settings(str(locate('smollm2-135m')), None, 64, 1), 'key')\n"
    )
    subprocess.run([sys.executable, "-c", program], timeout=90, check=True)


@pytest.mark.parametrize("size", [0, 100, 3_000_000])
def test_damaged_weights(smollm: Embedded, tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(locate("smollm2-135m").read_bytes()[:size])
    with pytest.raises(ModelError, match=r"cut\.gguf could not be loaded"):
        ask(Embedded(model=str(path)), "hi")


def test_weights_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingWeightsError):
        Embedded().check()
    with pytest.raises(ConfigError, match="no such file"):
        Embedded(model=str(tmp_path / "none.gguf")).check()


def test_identity_is_of_the_weights_not_of_their_name(smollm: Embedded) -> None:
    by_path = smollm.model_copy(update={"model": str(locate("smollm2-135m"))})
    assert by_path.identity() == smollm.identity()
    assert smollm.model_copy(update={"threads": 1, "max_concurrency": 3}).identity() == smollm.identity()
    for change in ({"temperature": 0.5}, {"model": "qwen2.5-coder-1.5b"}, {"cache_prompt": True}):
        assert smollm.model_copy(update=change).identity() != smollm.identity()


@pytest.mark.parametrize(
    "ending", ["sys.exit(7)", pytest.param("raise KeyboardInterrupt", marks=pytest.mark.long)]
)
def test_it_is_quiet_and_ends_with_the_process(smollm: Embedded, ending: str) -> None:
    program = (
        "import asyncio, sys\n"
        "from fathoms.models import Embedded\n"
        "from fathoms.types import Message, Prompt\n"
        "model = Embedded(n_ctx=256, max_tokens=2, threads=1)\n"
        "asyncio.run(model.reply(Prompt(messages=(Message(role='user', text='hi'),))))\n"
        f"{ending}\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.stdout == ""
    if "exit" in ending:
        assert (done.returncode, done.stderr) == (7, "")
    else:
        assert done.returncode == -signal.SIGINT
        assert done.stderr.rstrip().endswith("KeyboardInterrupt")


def test_a_prompt_is_never_cut(smollm: Embedded) -> None:
    assert ask(smollm, "hi").prompt_cut is False


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "42", "reasoning_content": "six times seven"}, "42", "six times seven"),
        ({"content": "<think>six times seven</think>42"}, "42", "six times seven"),
        ({"content": "<think>cut off"}, "", "cut off"),
        ({"content": None, "reasoning_content": "cut off"}, "", "cut off"),
    ],
)
def test_reasoning_is_kept_apart(message: dict[str, str | None], text: str, reasoning: str) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    completion = Completion(Sender("it", None, "", None))
    completion.hear(answer, 0.1)
    reply = completion.reply()
    assert (reply.text, reply.reasoning) == (text, reasoning)


def test_images_need_a_projector(smollm: Embedded, picture: Path, tmp_path: Path) -> None:
    shown = Prompt(messages=(Message(role="user", text="What is this?", images=(picture,)),))
    with pytest.raises(ConfigError, match="smollm2-135m accepts no images: set mmproj"):
        smollm.check_images()
    smollm.model_copy(update={"mmproj": "a.gguf"}).check_images()
    with pytest.raises(ModelError, match="smollm2-135m accepts no images: set mmproj"):
        asyncio.run(smollm.reply(shown))
    assert smollm.count_tokens(shown.messages) is None
    with pytest.raises(ConfigError, match="no such file"):
        smollm.model_copy(update={"mmproj": str(tmp_path / "none.gguf")}).check()
    (tmp_path / "bad.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"bad\.gguf could not be loaded"):
        smollm.model_copy(update={"mmproj": str(tmp_path / "bad.gguf")}).check()


def test_the_server_itself_refuses_images_without_a_projector(smollm: Embedded, picture: Path) -> None:
    """The images reach it as they should: it says what it lacks."""
    body = {"messages": chat_messages([Message(role="user", text="What is this?", images=(picture,))])}
    with pytest.raises(ModelError, match="image input is not supported"):
        asyncio.run(smollm._engine().complete(body))


def test_it_accepts_no_pdfs(smollm: Embedded, mixed: Mixed) -> None:
    with pytest.raises(ModelError, match="smollm2-135m accepts no PDFs"):
        asyncio.run(smollm.model_copy(update={"mmproj": "a.gguf"}).reply(mixed.prompt))


def in_child(smollm: Embedded) -> Embedded:
    return smollm.model_copy(update={"process": "child"})


@pytest.mark.long
def test_a_child_says_the_same(smollm: Embedded) -> None:
    child = in_child(smollm)
    assert child.identity() == smollm.identity()
    assert ask(child, "How far is station 3?", FACTS).text == ask(smollm, "How far is station 3?", FACTS).text
    assert child.count_tokens(prompt("hi").messages) == smollm.count_tokens(prompt("hi").messages)


def test_a_child_that_dies_costs_one_question(smollm: Embedded) -> None:
    child = in_child(smollm)
    before = ask(child, "How far is station 3?", FACTS)

    async def killed() -> Reply:
        wanted = child.model_copy(update={"max_tokens": 900}).reply(prompt("Tell me a very long story."))
        task = asyncio.create_task(wanted)
        pid = child._engine()._server.child.pid
        idle = cpu_seconds(pid)
        while cpu_seconds(pid) < idle + 0.2:  # until it works on the story
            await asyncio.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        return await task

    with pytest.raises(ModelError, match=r"broke off: .*its process ended \(SIGKILL\) and is started again"):
        asyncio.run(killed())
    assert ask(child, "How far is station 3?", FACTS).text == before.text


@pytest.mark.parametrize("size", [0, 3_000_000])
def test_damaged_weights_in_a_child(smollm: Embedded, tmp_path: Path, size: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(locate("smollm2-135m").read_bytes()[:size])
    with pytest.raises(ModelError, match=r"cut\.gguf could not be loaded"):
        Embedded(model=str(path), process="child").check()


@pytest.mark.parametrize(
    "ending",
    [pytest.param("sys.exit(7)", marks=pytest.mark.long), "os.kill(os.getpid(), signal.SIGKILL)"],
)
def test_a_child_ends_with_its_parent(smollm: Embedded, ending: str) -> None:
    program = (
        "import os, signal, sys\n"
        "from fathoms.models import Embedded\n"
        "model = Embedded(n_ctx=256, process='child', threads=1)\n"
        "model.check()\n"
        "print(model._engine()._server.child.pid, flush=True)\n"
        f"{ending}\n"
    )
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stderr == ""
    child = int(done.stdout)
    end = time.monotonic() + 120
    while alive(child):
        assert time.monotonic() < end, "it outlived its parent"
        time.sleep(0.05)


def cpu_seconds(pid: int) -> float:
    """What a process has used of the CPU."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def alive(pid: int) -> bool:
    """Whether a process runs (one that ended and that nobody waited for does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except OSError:
        return False
