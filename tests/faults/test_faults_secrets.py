"""Keys are planted, every provider that has one fails in every way, and everything written is searched."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import subprocess
import urllib.parse
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support import faulty, vendor_servers
from tests.support.fault_server.server import ScriptedServer
from tests.support.faulty import contents
from tests.support.packages import skip_without
from tests.support.project import Project
from tests.support.raw_service import answer, sends, service
from tests.support.vendor_servers import Request, Vendors, vendors
from tests.support.vendor_wire import Breaks, Fails, Step, error_body

pytestmark = pytest.mark.slow  # a process for every provider

KEY = "sk-planted/7Q+x9Zk2=vW4&mB8~Jt6%Rd3"
"""With what JSON, addresses and base64 write in another way."""
OWN_KEY = "sk-{0}-planted/7Q+x9Zk2=vW4&mB8~{0}%Rd3"
"""The key of one provider among several."""

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
        database.execute("CREATE TABLE sealed (value BLOB)")
        database.execute("INSERT INTO sealed VALUES (?)", (zlib.compress(f"cut: {KEY[:20]}".encode()),))
    found = {leak.partition(":")[0] for leak in leaks(Project(tmp_path), said, KEY)}
    assert found == {"stdout", "a.gz", "b.sqlite"}


# ----- servers of one's own, and Python: all in one process, each with a key of its own

OWN = {
    "openai-compatible": ("openai-compatible", "api_key_env: {variable},"),
    "openai-compatible-body": ("openai-compatible", 'extra_body: {{api_key: "${{{variable}}}"}},'),
    "ollama-options": ("ollama", 'options: {{token: "${{{variable}}}"}},'),
    "http-header": ("http", 'headers: {{Authorization: "Bearer ${{{variable}}}"}},'),
    "reranker": ("reranker", "api_key_env: {variable},"),
    "http-stream-header": ("http-stream", 'headers: {{X-Api-Key: "${{{variable}}}"}},'),
}
LLAMAINDEX = """\
retrieve: {{kind: none}}
generate:
  kind: llamaindex
  target: llama_index.llms.openai_like:OpenAILike
  model: scripted
  max_concurrency: 1
  options: {{api_base: "{address}/v1", api_key: "${{{variable}}}", is_chat_model: true, max_retries: 0,
    timeout: 1}}
"""
JUDGE = """\
retrieve: {{kind: whole-document}}
generate: {{kind: scripted, replies: {replies}}}
metrics: [faithfulness]
judge:
  kind: llm
  claims: sentences
  prompt: "Answer yes or no. {{premise}} {{claim}}"
  model: {{kind: openai-compatible, base_url: "{address}/v1", model: scripted, api_key_env: {variable},
    request_timeout: 2, max_concurrency: 1}}
"""
REPLIES = json.dumps({text: text.replace("?", ".") for text in TEXTS})
PYTHON = 'pipeline: {{kind: python, target: "mine:Pipeline", options: {{key: "${{{variable}}}"}}}}\n'
PIPELINE = """\
class Pipeline:
    breaks = False

    def __init__(self, key):
        self.key = key

    def ingest(self, documents):
        if self.breaks:
            raise OSError("401 for the key " + self.key)

    def answer(self, question):
        if "echo=401" in question:
            raise ValueError("401 for the key " + self.key)
        if "echo=500" in question:
            raise RuntimeError({"headers": {"Authorization": "Bearer " + self.key}})
        if "drop" in question:
            raise ConnectionError("no answer to " + repr(self.key.encode()))
        return {"answers": self.key}
"""
NAMES = [*OWN, "judge", "llamaindex", "python"]
COMMON = faulty.COMMON.format(question_timeout=60, max_attempts=1, first_wait=0.01, give_up_after=600)


def variable(name: str) -> str:
    return f"PLANTED_{name.upper().replace('-', '_')}_KEY"  # by its name a key, as `.env` may set


def own_config(name: str, address: str) -> str:
    """The configuration of a provider that has a planted key."""
    if name in OWN:
        provider, more = OWN[name]
        return faulty.config(
            provider, address, silence=2, max_attempts=1, more=more.format(variable=variable(name))
        ).replace("name: faulty", f"name: {name}")
    template = {"judge": JUDGE, "llamaindex": LLAMAINDEX, "python": PYTHON}[name]
    filled = template.format(address=address, variable=variable(name), replies=REPLIES)
    return COMMON.replace("faulty", name) + filled


def planted(path: Path) -> Project:
    """A project with a key for everybody in `.env`, half of them in quotes."""
    project = faulty.faulty_project(path, TEXTS)
    project.write("mine.py", PIPELINE)
    lines = [f"{variable(name)}='{OWN_KEY.format(name)}'\n" for name in NAMES]
    project.write(".env", "".join(lines))
    return project


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, subprocess.CompletedProcess[str]]:
    """A run of every provider, in which every question fails."""
    project = planted(tmp_path_factory.mktemp("secrets"))
    with ScriptedServer([f"{way}@<{way}>" for way in WAYS]).running() as server:
        for name in NAMES:
            project.write(f"{name}.yaml", own_config(name, server.address))
        done = project.fathoms("--debug", "run", *(f"{name}.yaml" for name in NAMES), timeout=300)
    assert done.returncode == 1, done.stderr
    return project, done


def test_every_question_of_every_provider_failed(
    failed: tuple[Project, subprocess.CompletedProcess[str]],
) -> None:
    runs = failed[0].runs()
    assert len(runs) == len(NAMES)
    for summary in map(faulty.summary, runs):
        failed_calls = summary["judging"]["failed"] if "judging" in summary else summary["counts"]["errors"]
        # a judge reads a label from whatever repeats its prompt
        assert failed_calls >= len(WAYS) - ("judging" in summary), summary["name"]


@pytest.mark.parametrize(
    "name",
    [
        "openai-compatible",
        "openai-compatible-body",
        "ollama-options",
        "http-header",
        "http-stream-header",
        "reranker",
        "judge",
        "llamaindex",
        "python",
    ],
)
def test_keys_of_self_hosted_providers_leak_nowhere(
    failed: tuple[Project, subprocess.CompletedProcess[str]], name: str
) -> None:
    assert leaks(*failed, OWN_KEY.format(name)) == []


@pytest.mark.parametrize(
    ("name", "status"), [("openai-compatible", "401 Who"), ("http-header", "500 Broken")]
)
def test_refused_before_the_first_question(tmp_path: Path, name: str, status: str) -> None:
    """What is asked beforehand is answered with the key; `--debug` shows every traceback."""
    project, key = planted(tmp_path), OWN_KEY.format(name)
    with service(sends(answer(f"no such key: {key}", status))) as one_server:
        text = own_config(name, one_server.address)
        project.write(
            "faulty.yaml", text.replace("headers:", f'health: "{one_server.address}/health", headers:')
        )
        done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode in (1, 2)
    assert "ServerError" in done.stderr
    assert key in one_server.requests[0][0]  # it was sent
    assert leaks(project, done, key) == []


def test_an_embedder_that_breaks_before_the_first_question(tmp_path: Path) -> None:
    skip_without("llama_index.embeddings.openai_like")
    project, key = planted(tmp_path), OWN_KEY.format("llamaindex")
    with service(sends(answer(f"no such key: {key}", "401 Who"))) as one_server:
        key_of = f'api_key: "${{{variable("llamaindex")}}}"'
        options = f'{{model_name: m, api_base: "{one_server.address}", {key_of}, max_retries: 0}}'
        target = "llama_index.embeddings.openai_like:OpenAILikeEmbedding"
        embed = f'embed: {{kind: llamaindex, target: "{target}", options: {options}}}\n'
        own = "chunk: {kind: page}\nretrieve: {kind: dense}\ngenerate: {kind: scripted}\n"
        project.write("faulty.yaml", COMMON + own + embed)
        done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode == 1
    assert "ModelError" in done.stderr
    assert "no such key: ***" in done.stderr
    assert key in one_server.requests[0][0]
    assert leaks(project, done, key) == []


def test_a_pipeline_that_breaks_before_the_first_question(tmp_path: Path) -> None:
    project = planted(tmp_path)
    project.write("mine.py", PIPELINE.replace("breaks = False", "breaks = True"))
    project.write("faulty.yaml", own_config("python", ""))
    done = project.fathoms("--debug", "run", "faulty.yaml")
    assert done.returncode == 1
    assert "401 for the key ***" in done.stderr
    assert project.runs() == []
    assert leaks(project, done, OWN_KEY.format("python")) == []


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
    skip_without("anthropic", "google.genai", "openai")
    with vendors() as running:
        yield running


def vendor_step(request: Request) -> Step:
    """What goes wrong with a question of `WAYS`."""
    one_text = f"Authorization: Bearer {vendor_servers.KEY} is what was sent"
    for status in (401, 500):
        if f"echo={status}" in request.text:
            return Fails(status, error_body(request.api, status, one_text, "api_error"))
    if "echo=200" in request.text:
        return Fails(200, one_text.encode())
    if "status=500" in request.text:
        return Fails(500, one_text.encode(), {"X-Echo": vendor_servers.KEY})
    ways = {"html": "html", "truncated": "garbage", "drop": "reset", "hang": "hang"}
    return Breaks(next(step for way, step in ways.items() if f"<{way}>" in request.text))


def test_keys_of_vendors_leak_nowhere(
    tmp_path: Path, server: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All four APIs, whole and streamed, in one process."""
    monkeypatch.setenv("PLANTED_KEY", vendor_servers.KEY)
    server.script = vendor_step
    project = faulty.faulty_project(tmp_path, TEXTS)
    for api, (kind, own) in APIS.items():
        for stream in ("true", "false"):
            text = VENDOR.format(kind=kind, api=own, address=server.base_url(kind), stream=stream)
            project.write(f"{api}-{stream}.yaml", COMMON.replace("faulty", f"{api}-{stream}") + text)
    configs = sorted(path.name for path in tmp_path.glob("*.yaml"))
    done = project.fathoms("--debug", "run", *configs, timeout=300)
    assert done.returncode == 1, done.stderr
    found = {run.name.split("_")[1]: faulty.summary(run)["counts"]["errors"] for run in project.runs()}
    assert found == dict.fromkeys((name.removesuffix(".yaml") for name in configs), len(WAYS))
    assert len(server.asked) == len(configs) * len(WAYS)
    assert leaks(project, done, vendor_servers.KEY) == []
