"""Keys are planted, every provider that has one fails in every way, and everything written is searched."""

from __future__ import annotations

import base64
import gzip
import sqlite3
import subprocess
import urllib.parse
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import faulty
import pytest
import vendor_servers
from raw_service import answer, sends, service
from support import Project
from vendor_servers import Asked, Vendors, vendors
from vendor_wire import Breaks, Fails, Step, error_body

from fathoms.dev.server import ScriptedServer

pytestmark = pytest.mark.slow  # a process for every provider

KEY = "sk-planted/7Q+x9Zk2=vW4&mB8~Jt6%Rd3"
"""With what JSON, addresses and base64 write in another way."""

WAYS = ("echo=401", "echo=500", "echo=200", "status=500", "html", "truncated", "drop", "hang")
"""Some repeat the whole request with its headers: under an error, and as an answer that is no JSON."""
TEXTS = [f"What of <{way}>?" for way in WAYS]


def forms(key: str) -> set[str]:
    """A key as it may be written: as it is, its halves (what is cut off is a secret too), in addresses, in
    base64 alone and behind other characters."""
    middle = len(key) // 2
    found = {key[:middle], key[middle:], urllib.parse.quote(key), urllib.parse.quote_plus(key)}
    for shift in range(3):
        coded = base64.b64encode(b"." * shift + key.encode()).decode()
        found |= {coded[4:-4], coded[4:-4].translate(str.maketrans("+/", "-_"))}
    return found


def contents(path: Path) -> Iterator[bytes]:
    """The bytes of a file, and what is compressed in it."""
    data = path.read_bytes()
    yield data
    if path.suffix == ".gz":
        yield gzip.decompress(data)
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as database:
            for (value,) in database.execute("SELECT value FROM entries"):
                with suppress(zlib.error):
                    yield zlib.decompress(value)


def leaks(project: Project, done: subprocess.CompletedProcess[str], key: str) -> list[str]:
    """Where a form of the key stands: in what was printed, or in any file but the one it was planted in."""
    texts = [("stdout", done.stdout.encode()), ("stderr", done.stderr.encode())]
    written = [path for path in project.path.rglob("*") if path.is_file() and path.name != ".env"]
    texts += [(str(path.relative_to(project.path)), data) for path in written for data in contents(path)]
    return [f"{name}: {form}" for name, data in texts for form in sorted(forms(key)) if form.encode() in data]


def test_a_leak_would_be_found(tmp_path: Path) -> None:
    said = subprocess.CompletedProcess([], 0, f"it is {urllib.parse.quote(KEY)}", "")
    (tmp_path / "a.gz").write_bytes(gzip.compress(base64.b64encode(f"Bearer {KEY}".encode())))
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as database, database:
        database.execute("CREATE TABLE entries (value BLOB)")
        database.execute("INSERT INTO entries VALUES (?)", (zlib.compress(f"cut: {KEY[:20]}".encode()),))
    found = {leak.partition(":")[0] for leak in leaks(Project(tmp_path), said, KEY)}
    assert found == {"stdout", "a.gz", "b.sqlite"}


# ----- servers of one's own

OWN = {
    "openai-compatible": ("openai-compatible", "api_key_env: PLANTED_KEY,"),
    "openai-compatible-body": ("openai-compatible", 'extra_body: {{api_key: "${{PLANTED_KEY}}"}},'),
    "ollama-options": ("ollama", 'options: {{token: "${{PLANTED_KEY}}"}},'),
    "http-header": ("http", 'headers: {{Authorization: "Bearer ${{PLANTED_KEY}}"}},'),
    "http-stream-header": ("http-stream", 'headers: {{X-Api-Key: "${{PLANTED_KEY}}"}},'),
}
LLAMAINDEX = """\
retrieve: {{kind: none}}
generate:
  kind: llamaindex
  target: llama_index.llms.openai_like:OpenAILike
  model: scripted
  max_concurrency: 1
  options: {{api_base: "{address}/v1", api_key: "${{PLANTED_KEY}}", is_chat_model: true, max_retries: 0,
    timeout: 1}}
"""
UNMASKED = "what the server repeats of the request is recorded with the key in it"


def own_config(name: str, address: str) -> str:
    """The configuration of a provider that has the planted key."""
    if name == "llamaindex":
        faulty.needs("openai-compatible")
        common = faulty.COMMON.format(question_timeout=60, max_attempts=1, first_wait=0.01)
        return common + LLAMAINDEX.format(address=address)
    provider, more = OWN[name]
    faulty.needs(provider)
    return faulty.config(provider, address, max_attempts=1, more=more.replace("{{", "{").replace("}}", "}"))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("openai-compatible", marks=pytest.mark.xfail(strict=True, reason=UNMASKED)),
        pytest.param("openai-compatible-body", marks=pytest.mark.xfail(strict=True, reason=UNMASKED)),
        pytest.param("ollama-options", marks=pytest.mark.xfail(strict=True, reason=UNMASKED)),
        "http-header",
        "http-stream-header",
        "llamaindex",
    ],
)
def test_servers_of_ones_own(tmp_path: Path, name: str) -> None:
    project = faulty.faulty_project(tmp_path, TEXTS)
    project.write(".env", f"PLANTED_KEY='{KEY}'\n")
    with ScriptedServer([f"{way}@<{way}>" for way in WAYS]).running() as server:
        project.write("faulty.yaml", own_config(name, server.address))
        done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode == 1, done.stderr
    (run,) = project.runs()
    assert faulty.summary(run)["counts"]["errors"] == len(WAYS)
    assert leaks(project, done, KEY) == []


@pytest.mark.parametrize("status", ["401 Who", "500 Broken"])
@pytest.mark.parametrize("name", ["openai-compatible", "http-health"])
def test_refused_before_the_first_question(tmp_path: Path, name: str, status: str) -> None:
    """What is asked beforehand is answered with the key; `--debug` shows every traceback."""
    project = faulty.faulty_project(tmp_path, TEXTS[:1])
    project.write(".env", f"PLANTED_KEY='{KEY}'\n")
    with service(sends(answer(f"no such key: {KEY}", status))) as made:
        text = own_config(name.replace("health", "header"), made.address)
        project.write("faulty.yaml", text.replace("headers:", f'health: "{made.address}/health", headers:'))
        done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode in (1, 2)
    assert KEY in str(made.requests)  # it was sent
    assert leaks(project, done, KEY) == []


# ----- the vendors

APIS = {
    "anthropic": ("anthropic", ""),
    "chat": ("openai", "api: chat, "),
    "responses": ("openai", "api: responses, "),
    "google": ("google", ""),
}
VENDOR = """\
retrieve: {{kind: none}}
generate: {{kind: {kind}, {api}model: m, base_url: "{address}", api_key_env: PLANTED_KEY, stream: {stream},
  request_timeout: 1, max_concurrency: 1}}
"""


@pytest.fixture
def server() -> Iterator[Vendors]:
    for package in ("anthropic", "google.genai", "openai"):
        pytest.importorskip(package)
    with vendors() as running:
        yield running


def vendor_step(asked: Asked) -> Step:
    """What goes wrong with a question of `WAYS`."""
    told = f"Authorization: Bearer {vendor_servers.KEY} is what was sent"
    for status in (401, 500):
        if f"echo={status}" in asked.text:
            return Fails(status, error_body(asked.api, status, told, "api_error"))
    if "echo=200" in asked.text:
        return Fails(200, told.encode())
    if "status=500" in asked.text:
        return Fails(500, told.encode(), {"X-Echo": vendor_servers.KEY})
    ways = {"html": "html", "truncated": "garbage", "drop": "reset", "hang": "hang"}
    return Breaks(next(step for way, step in ways.items() if f"<{way}>" in asked.text))


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("api", list(APIS))
def test_vendors(
    tmp_path: Path, server: Vendors, api: str, stream: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", vendor_servers.KEY)
    server.script = vendor_step
    project = faulty.faulty_project(tmp_path, TEXTS)
    kind, own = APIS[api]
    common = faulty.COMMON.format(question_timeout=60, max_attempts=1, first_wait=0.01)
    project.write(
        "faulty.yaml",
        common + VENDOR.format(kind=kind, api=own, address=server.base_url(kind), stream=stream),
    )
    done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode == 1, done.stderr
    (run,) = project.runs()
    assert faulty.summary(run)["counts"]["errors"] == len(WAYS)
    assert len(server.asked) == len(WAYS)
    assert leaks(project, done, vendor_servers.KEY) == []


# ----- Python

PIPELINE = """\
class Pipeline:
    def __init__(self, key):
        self.key = key

    def ingest(self, documents):
        if {breaks}:
            raise OSError("401 for the key " + self.key)

    def answer(self, question):
        if "echo=401" in question:
            raise ValueError("401 for the key " + self.key)
        if "echo=500" in question:
            raise RuntimeError({{"headers": {{"Authorization": "Bearer " + self.key}}}})
        if "drop" in question:
            raise ConnectionError("no answer to " + repr(self.key.encode()))
        return {{"answers": self.key}}
"""


@pytest.mark.parametrize("breaks", [False, True])
def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, breaks: bool) -> None:
    monkeypatch.setenv("PLANTED_KEY", KEY)
    project = faulty.faulty_project(tmp_path, TEXTS)
    project.write("mine.py", PIPELINE.format(breaks=breaks))
    common = faulty.COMMON.format(question_timeout=5, max_attempts=1, first_wait=0.01)
    own = 'pipeline: {kind: python, target: "mine:Pipeline", options: {key: "${PLANTED_KEY}"}}\n'
    project.write("faulty.yaml", common + own)
    done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode == 1
    assert len(project.runs()) == (0 if breaks else 1)
    assert leaks(project, done, KEY) == []
