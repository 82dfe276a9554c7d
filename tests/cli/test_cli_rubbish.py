"""A service that answers 200 with rubbish, or only after retries: the last line, the summary and the gate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.http_stub import serving
from tests.support.project import Project
from tests.support.raw_service import Act, answer, resets, sends, service

pytestmark = pytest.mark.slow  # processes of their own

CONFIG = """\
name: mine
data: {{questions: six.json}}
pipeline: {{kind: http, url: "{address}/ask", timeout: 5, max_concurrency: 1}}
execution: {{first_wait: 0.05, max_attempts: 4}}
"""
LOGIN = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>{id}</body></html>"
COLOURS = ("red", "green", "blue", "black", "white", "grey")


def last_line(project: Project, reply: Callable[[str], str], golds: tuple[str, ...] = COLOURS) -> str:
    """Ask six questions of a service that replies so to the colour in each; the last line of `run`."""
    rows = [
        {"question": f"Which colour is {colour}?", "answers": [[gold]]}
        for colour, gold in zip(COLOURS, golds, strict=True)
    ]
    project.write("six.json", json.dumps({"Colours": rows}))

    def said(body: Any) -> tuple[int, Any]:
        return 200, {"answer": reply(body["question"].split()[-1].strip("?"))}

    with serving({"/ask": said}) as server:
        project.write("mine.yaml", CONFIG.format(address=server.address))
        done = project.fathoms("run", "mine.yaml")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def counts(project: Project) -> dict[str, int]:
    found: dict[str, int] = json.loads((project.runs()[-1] / "summary.json").read_text())["counts"]
    return {name: found.get(name, -1) for name in ("answered", "empty", "markup", "same")}


@pytest.mark.parametrize(
    ("reply", "said", "found"),
    [
        (lambda colour: LOGIN.format(id=colour), "6 pages of HTML", (0, 6, 0)),
        (lambda colour: colour if colour in ("red", "blue") else " ", "4 empty", (4, 0, 0)),
        (
            lambda colour: colour if colour in ("red", "blue") else "A  CAT\n",
            "4 with the same text",
            (0, 0, 4),
        ),
        (lambda colour: colour, None, (0, 0, 0)),
    ],
)
def test_the_last_line_says_that_most_answers_are_rubbish(
    project: Project, reply: Callable[[str], str], said: str | None, found: tuple[int, ...]
) -> None:
    line = last_line(project, reply)
    assert counts(project) == dict(zip(("answered", "empty", "markup", "same"), (6, *found), strict=True))
    assert (f"(6 questions, 0 failed, {said})" if said else "(6 questions, 0 failed)") in line


def test_the_same_answer_to_questions_of_the_same_gold_answer_is_no_rubbish(project: Project) -> None:
    """Five of six yes/no questions are answered with yes, and for four of them that is right."""
    line = last_line(project, lambda colour: "no" if colour == "grey" else "Yes", ("yes",) * 4 + ("no",) * 2)
    assert "(6 questions, 0 failed)" in line
    assert counts(project)["same"] == 0


def test_gates_for_the_same_and_for_empty_answers(project: Project) -> None:
    said = {"red": "red", "green": "", "blue": "I like tea"}
    last_line(project, lambda colour: said.get(colour, "Tea"))
    run = project.runs()[-1].name
    for options, code, text in (
        (("--max-same", "50%"), 0, "PASS  same answers 0.50 (6 answers), at most 0.5"),
        (("--max-same", "2"), 100, "FAIL  same answers 0.50 (6 answers), at most 0.333333"),
        (("--max-empty", "5%"), 100, "FAIL  empty answers 0.17 (6 answers), at most 0.05"),
        (("--max-empty", "1", "--max-retry-rate", "0"), 0, "PASS  "),
        (("--max-empty", "x"), 2, "--max-empty x: expected a count such as 3 or a share such as 2%"),
    ):
        done = project.fathoms("gate", run, *options)
        assert (done.returncode, text in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
    comment = project.path / "comment.md"
    project.fathoms("gate", run, "--max-same", "2", "--comment", str(comment))
    assert "same answers" in comment.read_text()


def test_a_run_that_was_scored_without_these_counts_cannot_be_gated_by_them(project: Project) -> None:
    last_line(project, lambda colour: colour)
    path = project.runs()[-1] / "summary.json"
    summary = json.loads(path.read_text())
    for name in ("empty", "markup", "same", "calls", "retried"):
        del summary["counts"][name]
    path.write_text(json.dumps(summary))
    done = project.fathoms("gate", path.parent.name, "--max-same", "50%")
    assert done.returncode == 1
    assert "did not count same answers: run 'fathoms score" in done.stderr
    assert project.fathoms("score", path.parent.name).returncode == 0
    assert project.fathoms("gate", path.parent.name, "--max-same", "50%").returncode == 0


def test_retries_are_counted_by_cause(project: Project) -> None:
    good = sends(answer({"answer": "It is 41.5 m tall."}))
    plan: dict[str, list[Act]] = {
        "tall": [sends(answer("", "503 Busy")), resets],
        "cost": [sends(answer("", "429 Slow", "Retry-After: 0"))],
        "owns": [sends(answer("", "500 Broken"))] * 9,
    }

    def act(connection: Any, sent: Any) -> None:
        word = next((word for word in plan if word in sent["question"]), "")
        (plan[word].pop(0) if plan.get(word) else good)(connection, sent)

    with service(act) as server:
        text = CONFIG.format(address=server.address).replace("six.json", "questions.json")
        project.write("mine.yaml", text)
        done = project.fathoms("run", "mine.yaml", "--fail-on-error", "1")
    assert done.returncode == 0, done.stderr
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert (summary["counts"]["calls"], summary["counts"]["retried"]) == (4, 3)
    assert summary["retries"] == {"500": 3, "503": 1, "no answer": 1, "429": 1}
    wanted = "3 of 4 calls retried: 500 x 3, 503 x 1, no answer x 1, 429 x 1"
    assert wanted in done.stdout.splitlines()[-1]
    assert wanted in re.sub(r"\s+", " ", project.fathoms("show", "--all").stdout)
    (night,) = project.json("trends")["nights"]
    assert (night["calls"], night["retried"]) == (4, 3)
    gated = project.fathoms("gate", "latest", "--max-retry-rate", "50%", "--fail-on-error", "1")
    assert gated.returncode == 100
    assert gated.stdout.startswith("FAIL  retried calls 0.75 (4 calls), at most 0.5\n")


def test_retries_of_the_judge_are_counted_by_cause(project: Project) -> None:
    good = answer({"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]})
    first = [answer("", "503 Busy"), answer("", "429 Slow", "Retry-After: 0")]

    def act(connection: Any, sent: Any) -> None:
        models = answer({"data": [{"id": "m"}]})
        connection.sendall(models if not sent else first.pop() if first else good)

    with service(act) as server:
        model = f"{{kind: openai-compatible, model: m, base_url: '{server.address}/v1', max_concurrency: 1}}"
        judge = f"judge={{kind: llm, claims: sentences, model: {model}}}"
        sets = ("--set", judge, "--set", "metrics=[faithfulness]", "--set", "execution.first_wait=0.05")
        done = project.fathoms("run", "tiny.yaml", *sets)
    assert done.returncode == 0, done.stderr
    judging = json.loads((project.runs()[-1] / "summary.json").read_text())["judging"]
    assert (judging["asked"], judging["retried"]) == (2, 1)
    assert judging["retries"] == {"429": 1, "503": 1}
    wanted = "1 of 2 calls of the judge retried: 429 x 1, 503 x 1"
    assert wanted in done.stdout.splitlines()[-1]
    assert wanted in re.sub(r"\s+", " ", project.fathoms("show", "--all").stdout)


def test_a_run_without_any_answer_has_no_figures(project: Project) -> None:
    with service(sends(answer("down", "400 Bad"))) as server:
        project.write(
            "mine.yaml", CONFIG.format(address=server.address).replace("six.json", "questions.json")
        )
        done = project.fathoms("run", "mine.yaml")
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("mine: no answers (4 questions, 4 failed: HTTP 400), cost not known, ")
    shown = project.fathoms("show").stdout
    for text in (done.stdout, shown):
        assert "0.00" not in text
        assert "No answer: 4 of 4 calls failed (HTTP 400)" in text
    assert project.fathoms("report", "latest").returncode == 0
    assert not list(project.runs()[-1].glob("radar*"))
    summary = json.loads((project.runs()[-1] / "summary.json").read_text())
    assert {one["overall"]["correctness"] for one in summary["profiles"].values()} == {None}


def test_the_last_line_has_the_causes_of_failures(project: Project) -> None:
    """Of four questions one gets HTTP 500, and two the page of a login instead of JSON."""
    seen: list[Any] = []

    def act(connection: Any, sent: Any) -> None:
        seen.append(sent)
        page = answer(LOGIN.format(id=1), "200 OK", "Content-Type: text/html")
        sends([answer("down", "500 Bad"), page, page, answer({"answer": "green"})][len(seen) - 1])(
            connection, sent
        )

    with service(act) as server:
        text = CONFIG.format(address=server.address).replace("max_attempts: 4", "max_attempts: 1")
        project.write("mine.yaml", text.replace("six.json", "questions.json"))
        done = project.fathoms("run", "mine.yaml")
    last = done.stdout.splitlines()[-1]
    assert "(4 questions, 3 failed: 2 HTML instead of JSON, 1 HTTP 500)" in last, last
    assert last.endswith(": FAILED")


def test_a_run_that_cannot_begin_says_why_once(project: Project) -> None:
    text = CONFIG.format(address="http://127.0.0.1:9").replace("six.json", "questions.json")
    project.write("mine.yaml", text)
    done = project.fathoms("run", "mine.yaml")
    assert done.stdout == "mine: not finished, connection refused: FAILED\n"
    assert (done.stdout + done.stderr).count("127.0.0.1:9") == 1, done.stderr


def test_replies_whose_finish_reason_is_null_are_reported(project: Project) -> None:
    """An OpenAI server that leaves it null in one of two unstreamed replies: the answer may be cut."""
    reasons = iter((None, "stop"))

    def said(body: Any) -> tuple[int, Any]:
        message = {"role": "assistant", "content": "It is red."}
        choice = {"index": 0, "message": message, "finish_reason": next(reasons)}
        usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }

    rows = [{"question": f"Which colour is {colour}?", "answers": [["red"]]} for colour in ("red", "blue")]
    project.write("two.json", json.dumps({"Colours": rows}))
    models = {"data": [{"id": "m"}]}
    with serving({"/v1/models": lambda _: (200, models), "/v1/chat/completions": said}) as server:
        project.write(
            "mine.yaml",
            "name: mine\ndata: {questions: two.json, documents: pdfs}\nretrieve: {kind: none}\n"
            f"generate: {{kind: openai-compatible, base_url: {server.address}/v1, model: m}}\n",
        )
        done = project.fathoms("run", "mine.yaml")
    assert done.returncode == 0, done.stderr
    assert json.loads((project.runs()[-1] / "summary.json").read_text())["counts"]["unended"] == 1
    assert "1 of 2 replies has no finish reason" in done.stderr
