"""A pipeline that is not ours, from the shell: every verb, what goes wrong, and what is never written."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fathoms.cli import main
from tests.support.http_stub import serving
from tests.support.ports import free_port
from tests.support.project import Project
from tests.support.raw_service import answer, hangs, resets, service
from tests.support.schemas import schema

HEAD = "name: mine\ndata: {questions: questions.json, documents: pdfs}\n"
KEY = "sk-planted-0123456789"

RAG = '''
"""Knows two things."""

class Rag:
    def __init__(self, known=()):
        self.known = dict(known)

    def ingest(self, documents):
        self.files = [document.id for document in documents]

    def answer(self, question):
        for word, told in self.known.items():
            if word in question:
                return {
                    "answer": told,
                    "contexts": [{"text": told, "document": "varn.pdf", "page": 1, "score": 2.5}],
                }
        return {"answer": "I do not know.", "contexts": []}
'''
PYTHON = (
    HEAD + 'pipeline: {kind: python, target: "rag:Rag", options: {known: {tall: "It is 41.5 m tall."}}}\n'
)


def http(address: str, more: str = "", timeout: int = 20) -> str:
    head = f"{HEAD}execution: {{max_attempts: 1}}\npipeline:\n  kind: http\n  url: {address}/ask\n"
    return head + f"  timeout: {timeout}\n  max_concurrency: 1\n{more}"


def views(project: Project) -> dict[str, dict[str, Any]]:
    """The question files of the last run, by id."""
    found = [json.loads(path.read_text()) for path in (project.runs()[-1] / "questions").glob("*.json")]
    return {view["question"]["id"]: view["repeats"][0] for view in found}


@pytest.mark.slow
def test_every_verb(project: Project) -> None:
    project.write("rag.py", RAG)
    project.write("mine.yaml", PYTHON)
    assert "# 4 questions" in project.fathoms("validate", "mine.yaml").stdout
    assert "pipeline python rag:Rag" in project.fathoms("doctor", "mine.yaml").stdout
    assert project.fathoms("ingest", "mine.yaml").stdout == "2 documents; ingested\n"
    assert "recall" not in project.json("ingest", "mine.yaml", "--recall")
    done = project.fathoms("run", "mine.yaml", "-j", "2")
    assert (done.returncode, done.stderr) == (0, "mine: 4 questions, data set questions\n")

    # by hand: Text-Only (1 + 0) / 2, Tables 0 / 1 (the other question has no answer)
    (row,) = project.json("report", "mine")
    assert (row["model"], row["overall"]["correctness"], row["overall"]["n"]) == ("rag:Rag", 0.25, 3)
    (run,) = project.runs()
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["config"]["pipeline"]["max_concurrency"] == 2
    ingest = manifest["data"]["ingest"]
    assert (ingest["documents"], ingest["pages"], "chunks" in ingest, ingest["failures"]) == (2, 3, False, {})
    assert list(manifest["fingerprints"]) == ["pipeline"]
    assert [len(entry["sha256"]) for entry in manifest["data"]["documents"].values()] == [64, 64]
    for name in ("manifest", "summary"):
        jsonschema.validate(json.loads((run / f"{name}.json").read_text()), schema(name))
    tall = project.json("show", "latest", "--question", "text-only-01")["repeats"][0]
    jsonschema.validate(json.loads((run / "questions/text-only-01.json").read_text()), schema("question"))
    assert [(hit["document"], hit["pages"], hit["score"]) for hit in tall["hits"]] == [("varn.pdf", [1], 2.5)]
    assert list(tall["timings"]) == ["generate"]
    assert views(project)["tables-01"]["hits"] == []

    before = (run / "summary.json").read_bytes()
    assert project.fathoms("score", "mine").returncode == 0
    assert (run / "summary.json").read_bytes() == before
    assert [entry["run"] for entry in project.json("ls")] == [run.name]


@pytest.mark.slow
def test_a_service_that_fails_in_every_way_leaves_the_rest(project: Project) -> None:
    """One question is answered, one is refused, one hangs, one dies: all recorded, exit code 1."""

    def act(connection: Any, sent: Any) -> None:
        if "tall" in sent["question"]:
            connection.sendall(answer({"answer": "It is 41.5 m tall."}))
        elif "colour" in sent["question"]:
            connection.sendall(answer("slowly", "429 Slow", "Retry-After: 7"))
        else:
            (hangs if "cost" in sent["question"] else resets)(connection, sent)

    with service(act) as server:
        project.write("mine.yaml", http(server.address, timeout=2))
        done = project.fathoms("run", "mine.yaml")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    found = views(project)
    errors = {name: view["error"] for name, view in found.items() if view.get("error")}
    assert set(errors) == {"text-only-02", "tables-01", "tables-02"}
    limited = errors["text-only-02"]
    assert (limited["kind"], limited["status"], limited["retry_after"]) == ("RateLimitError", 429, 7.0)
    assert "it was silent for 2 s" in errors["tables-01"]["message"]
    assert "the connection broke" in errors["tables-02"]["message"]
    assert found["text-only-01"]["scores"]["fathoms"]["correctness"] == 1.0
    assert found["text-only-01"]["hits"] is None
    summary = json.loads((project.runs()[0] / "summary.json").read_text())
    assert summary["errors"] == {"NoAnswerError": 2, "RateLimitError": 1}
    assert len((project.runs()[0] / "journal.jsonl").read_text().splitlines()) == 4
    assert project.fathoms("report", "mine").returncode == 0


SERVICE = """
import os, signal, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    asked = 0
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Handler.asked += 1
        if Handler.asked == 3:
            self.server.socket.close()  # the system may close it last, and let the next question in
            self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 99\\r\\n\\r\\n{")
            self.wfile.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        self.wfile.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 15\\r\\n\\r\\n{"answer": "x"}')
    def log_message(self, *a): pass

server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("ready", flush=True)
server.serve_forever()
"""


@pytest.mark.slow
def test_a_service_whose_process_is_killed(project: Project) -> None:
    command = [sys.executable, "-c", SERVICE, str(port := free_port())]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "ready\n"
        project.write("mine.yaml", http(f"http://127.0.0.1:{port}"))
        done = project.fathoms("run", "mine.yaml")
        assert process.wait(60) == -9
    assert done.returncode == 1
    found = views(project)
    assert sorted(view["answer"]["text"] for view in found.values() if view["answer"]) == ["x", "x"]
    messages = sorted(
        view["error"]["message"].rpartition("/ask: ")[2] for view in found.values() if view["error"]
    )
    assert messages[0] == "no service is there"
    assert messages[1].startswith("the connection broke (peer closed connection")

    # nobody there at all is said before the first question
    again = project.fathoms("run", "mine.yaml")
    assert (again.returncode, len(project.runs())) == (2, 1)
    assert "no service at 127.0.0.1:" in again.stderr


@pytest.mark.slow
def test_a_function_that_hangs_does_not_keep_the_process(project: Project) -> None:
    project.write(
        "slow.py",
        "import time\n"
        "def answer(question):\n"
        "    while 'tall' in question:\n"
        "        time.sleep(0.1)\n"
        "    return question.encode('utf-8').decode('utf-8') + ' \\ud800'\n",
    )
    project.write(
        "mine.yaml", HEAD + 'question_timeout: 2.5\npipeline: {kind: python, target: "slow:answer"}\n'
    )
    started = time.perf_counter()
    done = project.fathoms("run", "mine.yaml")
    assert (done.returncode, time.perf_counter() - started < 60) == (1, True)
    errors = {name: view["error"] for name, view in views(project).items() if view["error"]}
    assert {name: error["kind"] for name, error in errors.items()} == {"text-only-01": "Timeout"}


@pytest.mark.slow
def test_the_key_of_a_service_is_written_nowhere(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    with serving({"/ask": {"answer": f"You sent {KEY}.", "contexts": [KEY]}}) as server:
        project.write("mine.yaml", http(server.address, "  headers: {X-API-Key: '${SERVICE_KEY}'}\n"))
        outputs = [project.fathoms(verb, "mine.yaml") for verb in ("validate", "doctor", "ingest", "run")]
        assert {done.returncode for done in outputs} == {0}
    assert [headers["X-API-Key"] for _, _, headers, _ in server.requests] == [KEY] * 6
    assert "the service keeps its own documents" in outputs[2].stdout
    assert not any(KEY in done.stdout + done.stderr for done in outputs)
    written = [path for path in project.path.rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


URL = "pipeline: {kind: http, url: http://127.0.0.1:9/x"
BROKEN = {
    "both": (f"{URL}}}\nretrieve: {{kind: bm25}}\n", "c.yaml:4:1: 'retrieve' is a stage of fathoms' own"),
    "typo": (f"{URL}, respons: {{}}}}\n", "c.yaml:3:51: unknown key 'respons' (did you mean 'response'?)"),
    "deep-typo": (
        f"{URL}, response: {{anser: $.a}}}}\n",
        "c.yaml:3:62: unknown key 'anser' (did you mean 'answer'?)",
    ),
    "deeper-typo": (
        f"{URL}, response: {{contexts: {{txt: $.a}}}}}}\n",
        "c.yaml:3:73: unknown key 'txt' (did you mean 'text'?)",
    ),
    "top-typo": (f"{URL}}}\nscorng: {{}}\n", "c.yaml:4:1: unknown key 'scorng' (did you mean 'scoring'?)"),
    "path": (
        f"{URL}, response: {{answer: '$.a['}}}}\n",
        "c.yaml:3:62: pipeline.response.answer: not a JSONPath such as $.data.answer: ",
    ),
    "no-root": (f"{URL}, response: {{answer: text}}}}\n", "not a JSONPath such as $.data.answer"),
    "two-paths": (f"{URL}, response: {{answer: '$.a | $.b'}}}}\n", "not a JSONPath such as $.data.answer"),
    "kind": (
        "pipeline: {kind: htpp}\n",
        "c.yaml:3:12: unknown kind 'htpp' for pipeline (did you mean 'http'?)",
    ),
    "no-kind": ("pipeline: {url: x}\n", "'pipeline' needs a 'kind'"),
    "null": ("pipeline:\n", "c.yaml:3:1: pipeline: "),
    "no-url": ("pipeline: {kind: http}\n", "'pipeline.url' is missing"),
    "no-address": ("pipeline: {kind: http, url: 'localhost:80'}\n", "expected an address such as"),
    "key-in-url": (
        URL.replace("http:", "'http:") + "?api_key=sk-1'}\n",
        "a key has no place in the query of an address",
    ),
    "key-in-headers": (f"{URL}, headers: {{Authorization: Bearer sk-1}}}}\n", "'Authorization' looks like a"),
    "key-in-request": (
        f"{URL}, request: {{q: '{{question}}', token: sk-1}}}}\n",
        "'token' looks like a secret",
    ),
    "header": (f"{URL}, headers: {{'a b': c}}}}\n", "'a b' cannot be the name of a header"),
    "no-question": (f"{URL}, request: {{q: '{{qestion}}'}}}}\n", "the request has no {question}"),
    "no-model": (f"{URL}, preset: openai-chat}}\n", "the request names a {model}: give 'model'"),
    "preset": (f"{URL}, preset: openai}}\n", "pipeline.preset: input should be 'openai-chat'"),
    "target": ("pipeline: {kind: python, target: 'a b'}\n", "c.yaml:3:26: pipeline.target: "),
    "no-module": ("pipeline: {kind: python, target: 'nomod:f'}\n", "c.yaml:3:26: there is no module 'nomod'"),
    "variable": (f"{URL}, headers: {{X-Key: '${{NO_SUCH_VARIABLE}}'}}}}\n", "NO_SUCH_VARIABLE is not set"),
    "dead": (f"{URL}}}\n", "no service at 127.0.0.1:9 ("),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_pipeline_config_is_named_with_its_place(
    project: Project, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = BROKEN[name]
    project.write("c.yaml", HEAD + text)
    monkeypatch.chdir(project.path)
    assert main(["run", "c.yaml"]) == 2
    printed = capsys.readouterr()
    assert expected in printed.err
    assert "Traceback" not in printed.err
    assert "sk-1" not in printed.err
    assert not project.runs()


def test_another_model_needs_a_key_for_it(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    project.write("own_rag.py", RAG)
    project.write("c.yaml", PYTHON.replace("rag:Rag", "own_rag:Rag"))
    assert main(["run", "c.yaml", "-m", "other"]) == 2
    assert "a pipeline of the kind 'python' has no key 'model'" in capsys.readouterr().err
    project.write("c.yaml", HEAD + URL + "}\n")
    assert main(["run", "c.yaml", "-m", "other"]) == 2
    assert "'model' is given, and the request has no {model}" in capsys.readouterr().err


def test_doctor_names_what_is_missing(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    project.write("c.yaml", HEAD + URL + "}\n")
    assert main(["doctor", "c.yaml"]) == 1
    assert "fails  pipeline no service at 127.0.0.1:9" in capsys.readouterr().out


def test_a_module_that_raises_shows_where(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    Path("raising_rag.py").write_text("import json\njson.loads('{')\n")
    project.write("c.yaml", HEAD + "pipeline: {kind: python, target: 'raising_rag:Rag'}\n")
    assert main(["validate", "c.yaml"]) == 2
    error = capsys.readouterr().err
    assert "c.yaml:3:26: importing 'raising_rag' fails: JSONDecodeError: " in error


@pytest.mark.slow
def test_a_run_whose_calls_all_failed_has_no_figures_and_no_cost(project: Project) -> None:
    """Of a run that failed, 0 dollars and a truthfulness of 0 would be figures that nobody measured."""
    project.write("rag.py", "def answer(question):\n    raise ValueError('gone')\n")
    project.write("mine.yaml", HEAD + 'pipeline: {kind: python, target: "rag:answer"}\n')
    assert project.fathoms("run", "mine.yaml").returncode == 1
    assert "$" not in project.fathoms("ls").stdout
    assert "$" not in project.fathoms("trends", "mine").stdout
    assert [night["cost"] for night in project.json("trends", "mine")["nights"]] == [None]
    assert project.fathoms("report", "mine").returncode == 0
    text = (project.runs()[-1] / "report.md").read_text()
    assert "All calls of mine failed" in text
    assert [word for word in ("0.0000", "truthfulness", "Correctness", "Coverage") if word in text] == []
    page = (project.runs()[-1] / "report.html").read_text()
    assert '"truthfulness":' not in page
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert {found["overall"]["value"] for found in summary["metrics"].values()} == {None}
