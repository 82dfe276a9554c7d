"""The first hour with a service of one's own: the trial question, its mapping, versions and names of
documents, from the shell and on real sockets."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fathoms.cli import main
from tests.support.project import Project, write_pdf
from tests.support.raw_service import Act, Service, answer, service
from tests.support.report_page import unpacked
from tests.support.schemas import schema

REPLY = {
    "data": {
        "reply": "It is 41.5 m tall.",
        "sources": [
            {"content": "The Varn tower is 41.5 m tall.", "meta": {"file": "papers/varn.pdf", "page": 1}},
            {"content": "Elsewhere.", "meta": {"file": "papers/other.pdf", "page": 3}},
        ],
        "cited": ["/srv/papers/varn.pdf"],
        "tokens": {"in": 812, "out": 9},
    }
}
MAPPING = """\
  response:
    answer: $.data.reply
    contexts: {each: "$.data.sources[*]", text: $.content, document: $.meta.file, page: $.meta.page}
    citations: $.data.cited
    usage: {prompt_tokens: $.data.tokens.in, completion_tokens: $.data.tokens.out}
"""


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.path)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(project.path / "cache"))
    return project


def config(backend: Service, more: str = MAPPING) -> Path:
    path = Path("mine.yaml")
    path.write_text(
        "name: mine\ndata: {questions: questions.json, documents: pdfs}\nexecution: {max_attempts: 1}\n"
        f"pipeline:\n  kind: http\n  url: {backend.address}/ask\n  timeout: 5\n  max_concurrency: 1\n{more}"
    )
    return path


def replies(*each: Any) -> Act:
    """Send these replies in turn, each JSON or whole bytes, and the last one again and again."""
    left = list(each)

    def act(connection: socket.socket, _: Any) -> None:
        reply = left.pop(0) if len(left) > 1 else left[0]
        connection.sendall(reply if isinstance(reply, bytes) else answer(reply))

    return act


def run_summary(project: Project) -> dict[str, Any]:
    return json.loads((project.runs()[-1] / "summary.json").read_text())


@pytest.mark.slow
def test_validate_and_doctor_show_what_the_mapping_finds(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with service(replies(REPLY)) as server:
        config(server, MAPPING + '  version: "2026-11"\n')
        assert main(["validate", "mine.yaml"]) == 0
        shown = capsys.readouterr().out
        assert len(server.requests) == 1
        assert server.requests[0][1] == {"question": "How tall is the Varn tower?"}
        assert main(["doctor", "mine.yaml"]) == 0
        doctor = capsys.readouterr().out
        assert main(["validate", "mine.yaml", "--offline"]) == 0
        assert main(["doctor", "mine.yaml", "--offline"]) == 0
        assert "trial" not in capsys.readouterr().out
        assert main(["validate", "mine.yaml", "--json"]) == 0
        printed = capsys.readouterr()
    assert len(server.requests) == 3
    for line in (
        "answer: It is 41.5 m tall.",
        "contexts: 2; the first is The Varn tower is 41.5 m tall.",
        "documents: varn.pdf p. 1; papers/other.pdf p. 3 (not in the data set)",
        "citations: varn.pdf",
        "usage: 812 prompt tokens, 9 completion tokens",
        "version: 2026-11",
    ):
        assert f"# {line}\n" in shown
        assert f"{line}\n" in doctor
    assert json.loads(printed.out)["pipeline"]["version"] == "2026-11"
    assert "# answer: It is 41.5 m tall." in printed.err


def test_a_path_that_matches_nothing_is_an_error_with_its_place(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with service(replies(REPLY)) as server:
        config(server, MAPPING.replace("$.data.reply", "$.data.text").replace("$.meta.file", "$.meta.name"))
        assert main(["validate", "mine.yaml"]) == 2
        error = capsys.readouterr().err
        assert (
            "mine.yaml:10:5: response.answer: $.data.text matched nothing in the reply;"
            " $.data of the reply has the keys 'reply', 'sources', 'cited', 'tokens'\n" in error
        )
        assert (
            "mine.yaml:11:60: response.contexts.document: $.meta.name matched nothing in the reply;"
            " $.meta of a member of the list has the keys 'file', 'page'\n" in error
        )
        assert main(["doctor", "mine.yaml"]) == 1
        assert "fails  trial    mine.yaml:10:5: response.answer: $.data.text" in capsys.readouterr().out


@pytest.mark.slow
def test_each_cell_of_a_matrix_is_tried_and_its_mistake_has_the_place_in_it(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = "matrix:\n  by:\n    a: {}\n    b: {pipeline.response: {answer: $.data.text}}\n"
    with service(replies(REPLY)) as server:
        config(server, MAPPING + cells)
        assert main(["validate", "mine.yaml"]) == 2
        printed = capsys.readouterr()
        assert main(["doctor", "mine.yaml"]) == 1
    found = capsys.readouterr().out
    assert found.count("needs a margin of") == found.count("  ok     gate     as above\n") == 1
    mistake = "mine.yaml:17:29: response.answer: $.data.text matched nothing in the reply"
    assert mistake in printed.err
    assert printed.out.count("# answer: It is 41.5 m tall.") == 1
    assert mistake in found
    assert len(server.requests) == 4


def test_validate_says_that_no_service_is_there(here: Project, capsys: pytest.CaptureFixture[str]) -> None:
    config(Service("http://127.0.0.1:9"))
    assert main(["validate", "mine.yaml"]) == 2
    error = capsys.readouterr().err
    assert "no service at 127.0.0.1:9" in error
    assert "--offline" in error
    assert main(["validate", "mine.yaml", "--offline"]) == 0


@pytest.mark.slow
def test_the_parts_that_a_service_may_lack_are_no_errors(here: Project) -> None:
    """Default paths, an empty list of contexts, a null, and the paths of errors and refusals."""
    own = "  response: {contexts: '$.sources[*]', cost: $.price, error: $.problem, refusal: $.refused}\n"
    refused = {"refused": "I may not.", "sources": [], "price": 1}
    with service(replies({"answer": "x", "sources": [], "price": None}, refused, {"answer": "x"})) as server:
        config(server, own)
        assert main(["validate", "mine.yaml"]) == 0
        assert main(["validate", "mine.yaml"]) == 0
        config(server, "")
        assert main(["validate", "mine.yaml"]) == 0
        config(server, "  response: {contexts: $.contexts}\n")
        assert main(["validate", "mine.yaml"]) == 2


@pytest.mark.slow
def test_a_path_that_matches_nothing_is_counted_after_a_run(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four questions; the contexts are where the mapping says in one of the replies."""
    with service(replies({"answer": "x", "contexts": []}, {"answer": "x"})) as server:
        config(server, "  response: {contexts: $.contexts}\n")
        assert main(["run", "mine.yaml"]) == 0
    sentence = "response.contexts ($.contexts) matched nothing in 3 of 4 replies"
    assert f"{sentence}\n" in capsys.readouterr().err
    summary = run_summary(here)
    jsonschema.validate(summary, schema("summary"))
    assert summary["warnings"] == [sentence]
    assert summary["service"]["unmatched"] == {"response.contexts": 3}
    assert main(["show", "latest"]) == 0


def test_documents_are_found_by_the_end_of_their_path(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with service(replies(REPLY)) as server:
        config(server)
        assert main(["run", "mine.yaml"]) == 0
    sentence = "4 contexts are from documents that the data set does not have: papers/other.pdf (4)"
    assert f"{sentence}\n" in capsys.readouterr().err
    view = json.loads((here.runs()[0] / "questions/text-only-01.json").read_text())["repeats"][0]
    assert [hit["document"] for hit in view["hits"]] == ["varn.pdf", "papers/other.pdf"]
    assert [(one["document"], one["ranks"]) for one in view["citations"]] == [("varn.pdf", [1])]
    assert run_summary(here)["service"]["unknown"] == {"papers/other.pdf": 4}


@pytest.mark.slow
def test_the_version_of_a_service_is_part_of_its_fingerprint(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with service(replies({"answer": "x"})) as server:
        for version in ("2026-10", "2026-11"):
            config(server, f'  version: "{version}"\n')
            assert main(["run", "mine.yaml"]) == 0
        config(server, "  version: 1.10\n")
        capsys.readouterr()
        assert main(["validate", "mine.yaml"]) == 2
        assert "put the version in quotes" in capsys.readouterr().err
    first, second = (json.loads((run / "manifest.json").read_text()) for run in here.runs())
    assert first["fingerprints"] != second["fingerprints"]
    assert main(["compare", *(run.name for run in here.runs()), "--metric", "correctness", "--all"]) == 0
    assert "service version: 2026-10 in A, 2026-11 in B" in capsys.readouterr().out
    assert main(["gate", "latest", "--baseline", here.runs()[0].name]) == 0
    said = " ".join(capsys.readouterr().out.split()).replace(here.runs()[1].name, "mine")
    assert "service version: 2026-10 in the baseline, 2026-11 in mine" in said


def test_a_version_that_changes_during_a_run_is_a_warning(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (answer({"answer": "x"}, "200 OK", f"X-Service-Version: 2026-{month}") for month in (10, 11))
    with service(replies(old, new, new, answer({"answer": "x"}))) as server:
        config(server, "  version: {header: X-Service-Version}\n")
        assert main(["run", "mine.yaml"]) == 0
        error = capsys.readouterr().err
        assert (
            "the version of the service changed during the run (replies): 2026-10 (1), 2026-11 (2)" in error
        )
        assert "version.header (X-Service-Version) matched nothing in 1 of 4 replies" in error
        assert main(["validate", "mine.yaml"]) == 2
        assert "mine.yaml:9:13: version.header: X-Service-Version matched nothing" in capsys.readouterr().err
    manifest = json.loads((here.runs()[0] / "manifest.json").read_text())
    assert manifest["served"] == {"pipeline": {"versions": {"2026-10": 1, "2026-11": 2}}}
    config(server, "  version: {path: $.v, header: V}\n")
    assert main(["validate", "mine.yaml"]) == 2
    assert "expected one of 'header' and 'path'" in capsys.readouterr().err


def test_a_stream_is_read_as_a_whole(here: Project) -> None:
    pieces = [{"text": "It is "}, {"text": "41.5 m."}, {"sources": ["a"], "v": 3}]
    body = "".join(json.dumps(piece) + "\n" for piece in pieces)
    with service(replies(answer(body))) as server:
        config(
            server,
            "  stream: true\n  version: {path: $.v}\n  response: {answer: $.text, contexts: $.sources}\n",
        )
        assert main(["run", "mine.yaml"]) == 0
    assert "service" in run_summary(here)
    assert run_summary(here)["service"]["unmatched"] == {}
    assert run_summary(here)["service"]["versions"] == {"3": 4}


@pytest.mark.slow
def test_a_resumed_run_misses_no_default_paths(here: Project) -> None:
    with service(replies(answer({"answer": "x"}, "500 Broken"), {"answer": "x"})) as server:
        config(server, "  response: {cost: $.price, contexts: {text: $.content}}\n")
        assert main(["run", "mine.yaml"]) == 1
        assert main(["run", "--resume"]) == 0
    assert run_summary(here)["service"]["unmatched"] == {"response.contexts": 4, "response.cost": 4}


def test_an_alternative_that_was_retrieved_is_missing_from_the_answer(here: Project) -> None:
    """By hand: the context holds the second of two gold answers whole, and the answer neither of them."""
    row = {"question": "How many items?", "files": ["varn.pdf"], "answers": [["499,609"], ["500K"]]}
    here.write("questions.json", json.dumps({"Text-Only": [row]}))
    with service(replies({"answer": "About 12.", "contexts": ["There are 500K items."]})) as server:
        config(server, "")
        assert main(["run", "mine.yaml"]) == 0
    (path,) = (here.runs()[0] / "questions").glob("*.json")
    funnel = json.loads(path.read_text())["repeats"][0]["scores"]["fathoms"]["funnel"]
    assert (funnel["retrieved"], funnel["lost"], funnel["missed"]) == (
        1.0,
        {"documents": 1.0, "retrieved": 0.0, "answer": 1.0},  # the file does not say it
        {"500K": "answer"},
    )


def test_the_page_has_the_warnings_about_the_service(here: Project) -> None:
    with service(replies({"answer": "x"})) as server:
        config(server, "  response: {cost: $.price}\n")
        assert main(["run", "mine.yaml"]) == 0
    overview, _ = unpacked((here.runs()[0] / "report.html").read_text())
    warned = "response.cost ($.price) matched nothing in 4 of 4 replies"
    assert overview["runs"][0]["warnings"] == [warned]


def test_texts_without_a_place_give_no_figure_of_gold_pages_and_no_verdict(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = json.loads(Path("questions.json").read_text())
    for row in (row for rows in questions.values() for row in rows if row["answers"]):
        row["evidence"] = [{"document": row["files"][0], "page": 1}]
    Path("questions.json").write_text(json.dumps(questions))
    reply = answer({"answer": "It is 41.5 m tall.", "contexts": ["The Varn tower is 41.5 m tall."]})
    with service(replies(reply)) as server:
        assert main(["run", str(config(server, "metrics: [gold-page-retrieved]\n"))]) == 0
    run = here.runs()[0]
    figures = run_summary(here)["metrics"]["gold-page-retrieved"]["overall"]
    assert (figures["value"], figures["n"]) == (None, 0)
    jsonschema.validate(json.loads(next(run.glob("questions/*.json")).read_text()), schema("question"))
    capsys.readouterr()
    assert main(["gate", "latest", "--min", "gold-page-retrieved=0.5"]) == 2
    assert "says what the run lacks" in capsys.readouterr().err
    assert main(["show", "latest", "--question", "text-only-01"]) == 0
    assert "unknown document" in capsys.readouterr().out


def test_a_text_that_stands_in_one_document_is_placed_there_and_that_is_said(
    here: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = "The mast of the tower was raised in the autumn of 1911.", "He kept the lamp for years."
    twice = "The same words stand in two places of the documents."
    write_pdf(here.path / "pdfs" / "mast.pdf", [f"Before. {first}", second])
    write_pdf(here.path / "pdfs" / "twin.pdf", [twice] * 2)
    texts = [f"{first}\n{second}", first.upper(), twice, "Too short.", "x" * 60]
    reply = answer({"answer": "It is 41.5 m tall.", "contexts": texts})
    with service(replies(reply)) as server:
        assert main(["run", str(config(server, ""))]) == 0
    parsed = json.loads(next(here.runs()[0].glob("questions/*.json")).read_text())
    jsonschema.validate(parsed, schema("question"))
    hits = parsed["repeats"][0]["hits"]
    assert [(hit["document"], hit["pages"]) for hit in hits] == [
        ("mast.pdf", [1, 2]),
        ("mast.pdf", [1]),
        ("twin.pdf", []),  # it stands there twice
        (None, []),
        (None, []),
    ]
    warned = run_summary(here)["service"]["warnings"]
    assert [one[:57] for one in warned] == [
        "12 contexts without a document were placed by their texts",  # 3 of each of 4 replies
        "8 contexts name no document, and what rests on their plac",
    ]
    said = " ".join(capsys.readouterr().err.split())
    assert all(one[:40] in said for one in warned)
    with service(replies(reply)) as server:
        config(server, "")
        assert main(["doctor", "mine.yaml"]) == 0
    assert "documents: not named; 'document' and 'page' under response.contexts" in capsys.readouterr().out
