"""Functions and objects as pipelines: what they get, what they may return, and what they may do to us."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ConfigError, FathomsError
from fathoms.pipeline.external import Python, calls
from fathoms.runs.cache import Cache
from fathoms.safety.importing import importable
from fathoms.types import Citation, Question, Record, Usage

QUESTION = Question(id="t-1", text="How tall?", category="Text", files=("a.pdf",), answers=(("the gold",),))
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a module; its name, which no other test uses."""
    names: list[str] = []

    def _write(text: str) -> str:
        name = f"pipeline_{abs(hash((tmp_path, len(names))))}"
        (tmp_path / f"{name}.py").write_text(text)
        names.append(name)
        return name

    yield _write
    for name in names:
        sys.modules.pop(name, None)


def ask(tmp_path: Path, target: str, timeout: float = 20, **options: Any) -> Record:
    pipeline = Python(target=target, **options).at(tmp_path)
    connected = pipeline.prepare({}, Cache(tmp_path / "cache"))
    return asyncio.run(connected.answer(QUESTION, (), timeout=timeout))


def said(record: Record) -> str:
    assert record.answer is not None, record.error
    return record.answer.text


KINDS = {
    "function": ("def answer(question): return 'said ' + question", ":answer"),
    "any-name": ("def reply(question): return 'said ' + question", ":reply"),
    "async": ("async def answer(question): return 'said ' + question", ":answer"),
    "lambda": ("import asyncio\nanswer = lambda q: asyncio.sleep(0.01, 'said ' + q)", ":answer"),
    "class": ("class Rag:\n    def answer(self, question): return 'said ' + question", ":Rag"),
    "object": ("class Rag:\n    def answer(self, question): return 'said ' + question\nrag = Rag()", ":rag"),
    "method": ("class Rag:\n    def ask(self, question): return 'said ' + question\nrag = Rag()", ":rag.ask"),
    "module": ("def answer(question): return 'said ' + question", ""),
    "answer": (
        "from fathoms import Answer\ndef answer(question): return Answer(answer='said ' + question)",
        ":answer",
    ),
    "dict": ("def answer(question): return {'answer': 'said ' + question, 'more': 1}", ":answer"),
}


@pytest.mark.parametrize("name", KINDS)
def test_functions_methods_and_coroutines_can_answer(tmp_path: Path, write: Write, name: str) -> None:
    text, suffix = KINDS[name]
    record = ask(tmp_path, write(text) + suffix)
    assert said(record) == "said How tall?"
    assert (record.hits, record.citations) == (None, None)


def test_everything_that_can_be_told(tmp_path: Path, write: Write) -> None:
    name = write("""
def answer(question, files=()):
    return {
        "answer": "x",
        "contexts": [{"text": "a", "document": files[0], "page": 2, "score": 0.5}, "b"],
        "citations": [],
        "usage": {"prompt_tokens": 3},
        "reasoning": "because",
    }
""")
    record = ask(tmp_path, f"{name}:answer")
    assert [(hit.chunk.document, hit.chunk.pages, hit.score) for hit in record.hits or ()] == [
        ("a.pdf", (2,), 0.5),
        (None, (), 0.5),
    ]
    assert record.citations == ()
    assert record.answer is not None
    assert (record.answer.usage, record.answer.reasoning) == (Usage(prompt_tokens=3), "because")


def test_citations(tmp_path: Path, write: Write) -> None:
    name = write("def answer(q): return {'answer': 'x', 'citations': [{'document': 'a.pdf', 'page': 3}]}")
    assert ask(tmp_path, f"{name}:answer").citations == (Citation(document="a.pdf", page=3),)


def test_a_class_has_options_and_ingests_once(tmp_path: Path, write: Write, monkeypatch: Any) -> None:
    monkeypatch.setenv("STYLE", "loud")
    (tmp_path / "a.pdf").write_bytes(b"one")
    name = write("""
class Rag:
    def __init__(self, style, times=1):
        self.style, self.times, self.seen = style, times, []
    async def ingest(self, documents):
        self.seen += [(d.id, d.path.read_bytes().decode(), len(d.sha256)) for d in documents]
    async def answer(self, question):
        return f"{self.style} {self.times} {self.seen}"
""")
    pipeline = Python(target=f"{name}:Rag", options={"style": "${STYLE}", "times": 2}).at(tmp_path)
    connected = pipeline.prepare({"a.pdf": tmp_path / "a.pdf"}, Cache(tmp_path / "cache"))
    records = [asyncio.run(connected.answer(QUESTION, ())) for _ in range(2)]
    assert {said(record) for record in records} == {"loud 2 [('a.pdf', 'one', 64)]"}
    assert connected.report()["documents"] == 1


def test_an_async_pipeline_stays_on_one_loop(tmp_path: Path, write: Write) -> None:
    """What it opens while it ingests belongs to a loop, and is used by every answer."""
    name = write("""
import asyncio
class Rag:
    async def ingest(self, documents):
        self.queue, self.loop = asyncio.Queue(), asyncio.get_running_loop()
    async def answer(self, question):
        assert asyncio.get_running_loop() is self.loop
        self.queue.put_nowait(question)
        return await self.queue.get()
""")
    pipeline = Python(target=f"{name}:Rag").at(tmp_path)
    connected = pipeline.prepare({}, Cache(tmp_path / "cache"))
    assert {said(asyncio.run(connected.answer(QUESTION, ()))) for _ in range(2)} == {"How tall?"}


RAISED = {
    "raises": ("def answer(q):\n    raise KeyError('no such')", "KeyError", "'no such' (", ".py:2)"),
    "silent": ("def answer(q):\n    raise ValueError", "ValueError", "no message (", ".py:2)"),
    "async": ("async def answer(q):\n    raise OSError('gone')", "OSError", "gone (", ".py:2)"),
    "exits": ("import sys\ndef answer(q):\n    sys.exit(3)", "SystemExit", "3 (", ".py:3)"),
    "async-exits": ("import sys\nasync def answer(q):\n    sys.exit(3)", "SystemExit", "3 (", ".py:3)"),
    "cancels": (
        "import asyncio\nasync def answer(q):\n    raise asyncio.CancelledError",
        "CancelledError",
        "no message (",
        ".py:3)",
    ),
    "stops": ("def answer(q):\n    raise StopIteration", "StopIteration", "no message (", ".py:2)"),
    "times-out": ("def answer(q):\n    raise TimeoutError('its own')", "TimeoutError", "its own (", ".py:2)"),
    "no-text": (
        "class Odd(Exception):\n    def __str__(self): raise OSError\ndef answer(q): raise Odd",
        "Odd",
        "its message cannot be shown (",
        ".py:3)",
    ),
    "no-parameter": ("def answer(): pass", "TypeError", "positional argument", ")"),
    "none": ("def answer(q): pass", "ModelError", "answer returned None: expected a str", ""),
    "list": ("def answer(q): return ['x']", "ModelError", "a value of type list", ""),
    "no-answer": ("def answer(q): return {'reply': 'x'}", "ModelError", "answer: Field required", ""),
    "page-0": (
        "def answer(q): return {'answer': 'x', 'contexts': [{'text': 'a', 'page': 0}]}",
        "ModelError",
        "contexts.0.page: ",
        "",
    ),
    "nan": (
        "def answer(q): return {'answer': 'x', 'cost': float('nan')}",
        "ModelError",
        "cost: ",
        "",
    ),
}


@pytest.mark.parametrize("name", RAISED)
def test_what_it_does_wrong_is_the_failure_of_the_question(tmp_path: Path, write: Write, name: str) -> None:
    text, kind, start, end = RAISED[name]
    record = ask(tmp_path, f"{write(text)}:answer")
    assert record.error is not None
    assert record.error.kind == kind
    assert start in record.error.message
    assert record.error.message.endswith(end)
    assert (record.answer, record.hits) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "import time\ndef answer(q): time.sleep(30)",
        "import time\nasync def answer(q): time.sleep(30)",
        "import asyncio\nasync def answer(q): await asyncio.sleep(30)",
    ],
    ids=["sync", "async-blocking", "async"],
)
def test_one_that_hangs_holds_up_nothing(tmp_path: Path, write: Write, text: str) -> None:
    started = time.perf_counter()
    record = ask(tmp_path, f"{write(text)}:answer", timeout=0.2)
    assert time.perf_counter() - started < 25
    assert record.error is not None
    assert (record.error.kind, record.error.message) == ("Timeout", "no answer within 0.2 s")


@pytest.mark.parametrize("late", [False, True])
def test_a_coroutine_that_comes_when_nobody_waits_any_more_is_closed(late: bool) -> None:
    """The call is cancelled before its function returns, or when the loop has not seen yet that it has."""
    calls._loop.cache_clear()  # another test may have made the shared one hang
    result: list[Any] = []
    go_on = threading.Event()

    async def never_started() -> None: ...

    def answer() -> Any:
        go_on.wait(20)
        result.append(never_started())
        return result[0]

    async def main() -> None:
        call = asyncio.create_task(calls.Functions().acall(answer))
        await asyncio.sleep(0)
        if late:
            go_on.set()
            time.sleep(0.2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    go_on.set()
    for _ in range(2000):
        if result and inspect.getcoroutinestate(result[0]) == inspect.CORO_CLOSED:
            return
        time.sleep(0.01)
    pytest.fail("it is open")


BAD = {
    "raises": ("x = 1\nx / 0\n", ":answer", "fails: ZeroDivisionError: division by zero ("),
    "syntax": ("def answer(q:\n", ":answer", "fails: SyntaxError: "),
    "exits": ("raise SystemExit(3)\n", ":answer", "fails: SystemExit: 3 ("),
    "imports": ("import no_such_package_here\n", ":answer", "No module named 'no_such_package_here' ("),
    "name": ("def reply(q): pass\n", ":answer", ") has no 'answer'"),
    "no-function": ("answer = 3\n", ":answer", "is not a function, and has no function 'answer'"),
    "class": ("class Rag: pass\n", ":Rag", "has no function 'answer'"),
}


@pytest.mark.parametrize("name", BAD)
def test_targets_that_cannot_be_imported(tmp_path: Path, write: Write, name: str) -> None:
    text, suffix, message = BAD[name]
    module = write(text)
    with pytest.raises(ConfigError) as caught:
        Python(target=module + suffix).at(tmp_path)
    assert message in str(caught.value)
    assert name in ("name", "no-function", "class") or f"{module}.py:" in str(caught.value)


def test_options_need_a_class_and_a_module_its_place(tmp_path: Path, write: Write) -> None:
    with pytest.raises(ConfigError, match="is not a class"):
        Python(target=f"{write('def answer(q): pass')}:answer", options={"a": 1}).at(tmp_path)
    with pytest.raises(ConfigError, match=f"there is no module 'nowhere_at_all'.*{tmp_path}"):
        Python(target="nowhere_at_all:answer").at(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "class Rag:\n    def __init__(self): raise OSError('no index')\n    def answer(self, q): pass",
        "class Rag:\n    def ingest(self, all): raise OSError('no index')\n    def answer(self, q): pass",
    ],
    ids=["made", "ingest"],
)
def test_one_that_cannot_be_made_ready_ends_the_run(tmp_path: Path, write: Write, text: str) -> None:
    pipeline = Python(target=f"{write(text)}:Rag").at(tmp_path)
    with pytest.raises(FathomsError, match=r":Rag: OSError: no index \(.*\.py:\d\)"):
        pipeline.prepare({}, Cache(tmp_path / "cache"))


def test_the_path_is_as_it_was(tmp_path: Path, write: Write) -> None:
    """Also where a module is imported only by an answer."""
    before = list(sys.path)
    other = write("told = 'by the other'")
    name = write(f"def answer(q):\n    from {other} import told\n    return told")
    assert said(ask(tmp_path, f"{name}:answer")) == "by the other"
    assert sys.path == before


def test_two_modules_of_one_name_are_refused(tmp_path: Path, write: Write) -> None:
    name = write("def answer(q): return 'one'")
    Python(target=f"{name}:answer").at(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / f"{name}.py").write_text("def answer(q): return 'two'")
    with pytest.raises(ConfigError, match=f"two modules are called '{name}'"):
        Python(target=f"{name}:answer").at(other)


def test_the_fingerprint_is_of_the_source(tmp_path: Path, write: Write, monkeypatch: Any) -> None:
    monkeypatch.setenv("PIPELINE_KEY", "sk-planted-0123456789")
    text = "class Rag:\n    def __init__(self, **o): pass\n    def answer(self, q): return 'x'"
    name = write(text)

    def identity(**options: Any) -> dict[str, Any]:
        return Python(target=f"{name}:Rag", options=options).at(tmp_path).identity()

    one = identity(top_k=3, api_key="${PIPELINE_KEY}")
    assert "planted" not in str(one)
    assert identity(top_k=3, api_key="${PIPELINE_KEY}") == one
    assert identity(top_k=4, api_key="${PIPELINE_KEY}") != one
    (tmp_path / f"{name}.py").write_text(text.replace("'x'", "'y'"))
    sys.modules.pop(name)  # as in another process
    assert identity(top_k=3, api_key="${PIPELINE_KEY}") != one


def test_code_that_changed_since_it_was_imported_is_refused(tmp_path: Path, write: Write) -> None:
    helper = write("told = 'old'")
    name = write(f"def answer(q):\n    from {helper} import told\n    return told")
    pipeline = Python(target=f"{name}:answer").at(tmp_path)
    state = pipeline.identity()
    assert said(ask(tmp_path, f"{name}:answer")) == "old"
    for edited in (helper, name):
        path = tmp_path / f"{edited}.py"
        text = path.read_text()
        path.write_text(text.replace("told", "tola"))
        with pytest.raises(ConfigError, match=f"'{edited}' .* has changed since it was imported"):
            pipeline.check()
        assert pipeline.identity() == state  # of the code that answers
        path.write_text(text)
        pipeline.check()


def test_a_reloaded_module_is_the_new_code(tmp_path: Path, write: Write) -> None:
    name = write("def answer(q): return 'one'")
    pipeline = Python(target=f"{name}:answer").at(tmp_path)
    state = pipeline.identity()
    (tmp_path / f"{name}.py").write_text("def answer(q): return 'the other'")
    with importable(tmp_path):
        importlib.reload(sys.modules[name])
    pipeline.check()
    assert pipeline.identity() != state
    connected = pipeline.prepare({}, Cache(tmp_path / "cache"))
    assert said(asyncio.run(connected.answer(QUESTION, ()))) == "the other"


def test_folders_do_not_share_modules(tmp_path: Path) -> None:
    """Neither a target in a namespace package nor a helper is taken from another configuration's folder."""
    for folder in ("a", "b"):
        (tmp_path / folder / "spaced").mkdir(parents=True)
        (tmp_path / folder / "spaced" / "main.py").write_text(f"def answer(q): return '{folder}'")
        (tmp_path / folder / "beside.py").write_text(f"told = '{folder}'")
        (tmp_path / folder / f"only_{folder}.py").write_text(
            "import beside\ndef answer(q): return beside.told"
        )
    try:
        Python(target="spaced.main:answer").at(tmp_path / "a")
        with pytest.raises(ConfigError, match=r"two modules are called 'spaced\.main'"):
            Python(target="spaced.main:answer").at(tmp_path / "b")
        sys.modules.pop("spaced.main")
        Python(target="only_a:answer").at(tmp_path / "a")
        with pytest.raises(ConfigError, match="two modules are called 'beside'"):
            Python(target="only_b:answer").at(tmp_path / "b")
        (tmp_path / "b" / "beside.py").unlink()
        with pytest.raises(ConfigError, match="there is no module 'only_a' here"):
            Python(target="only_a:answer").at(tmp_path / "b")
    finally:
        for name in ("spaced", "spaced.main", "beside", "only_a", "only_b"):
            sys.modules.pop(name, None)


def test_a_key_is_told_by_no_failure(tmp_path: Path, write: Write, monkeypatch: Any) -> None:
    key = "sk-planted-0123456789"
    monkeypatch.setenv("PIPELINE_KEY", key)
    name = write("""
class Rag:
    def __init__(self, api_key, bad=""):
        self.key = api_key
        if bad: raise OSError("401 for " + api_key)
    def answer(self, question): raise OSError("401 for " + self.key)
""")
    options = {"api_key": "${PIPELINE_KEY}"}
    record = ask(tmp_path, f"{name}:Rag", options=options)
    assert record.error is not None
    assert record.error.message.startswith("401 for *** (")
    with pytest.raises(FathomsError, match=r"401 for \*\*\* \("):
        ask(tmp_path, f"{name}:Rag", options={**options, "bad": "yes"})


def test_what_is_printed_does_not_go_to_stdout(tmp_path: Path, write: Write, capsys: Any) -> None:
    name = write("""
import threading
print("while imported")
def answer(question):
    print("while asked")
    thread = threading.Thread(target=print, args=("in a thread of its own",))
    thread.start(); thread.join()
    return "x"
""")
    stdout = sys.stdout
    pipeline = Python(target=f"{name}:answer").at(tmp_path)
    connected = pipeline.prepare({}, Cache(tmp_path / "cache"))

    async def ours() -> None:
        async def ask_one() -> None:
            await connected.answer(QUESTION, ())
            print("ours")

        await asyncio.gather(ask_one(), ask_one())

    asyncio.run(ours())
    assert sys.stdout is stdout
    printed = capsys.readouterr()
    assert printed.out == "ours\nours\n"
    assert printed.err.count("while asked\n") == printed.err.count("in a thread of its own\n") == 2
    assert "while imported\n" in printed.err


def test_one_thread_asks_one_after_another(tmp_path: Path, write: Write) -> None:
    """A connection of sqlite3 belongs to the thread that opened it; one that hangs is replaced."""
    name = write("""
import sqlite3, threading
class Rag:
    hang = threading.Event()
    def __init__(self):
        self.base = sqlite3.connect(":memory:")
        self.threads = set()
    def ingest(self, documents):
        self.base.execute("create table seen (id)")
    def answer(self, question):
        self.threads.add(threading.get_ident())
        if question == "hang": self.hang.wait(30)
        if len(self.threads) > 1: return "another thread"
        return str(self.base.execute("select count(*) from seen").fetchone()[0])
""")
    pipeline = Python(target=f"{name}:Rag").at(tmp_path)
    connected = pipeline.prepare({}, Cache(tmp_path / "cache"))
    assert [said(asyncio.run(connected.answer(QUESTION, ()))) for _ in range(5)] == ["0"] * 5
    hanging = QUESTION.model_copy(update={"text": "hang"})
    assert asyncio.run(connected.answer(hanging, (), timeout=2)).error is not None
    assert said(asyncio.run(connected.answer(QUESTION, (), timeout=20))) == "another thread"
    sys.modules[name].Rag.hang.set()


def test_what_is_built_in_has_no_source(tmp_path: Path) -> None:
    assert Python(target="builtins:len").at(tmp_path).identity()["source"] is None


def test_keys_that_are_nearly_ours(tmp_path: Path, write: Write) -> None:
    record = ask(tmp_path, f"{write('def answer(q): return dict(answer=q, context=[])')}:answer")
    assert record.error is not None
    assert record.error.message == "answer returned the key 'context' (did you mean 'contexts'?)"
    fine = write("def answer(q): return dict(answer=q, contexts=[], context='all of them', id=3)")
    assert ask(tmp_path, f"{fine}:answer").error is None
