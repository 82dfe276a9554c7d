"""The templates for CI: valid by the public schemas, and their shell lines run, with a scripted model and a
server that keeps comments as GitHub and GitLab do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from fathoms.cli import main
from fathoms.gate.against_baseline import GateCheck, Gated, GateNight
from fathoms.gate.comment import MOST, Explained, Lost, comment
from fathoms.gate.limits import Limit, LimitCheck
from fathoms.gate.posting import LONGEST, PAGE
from fathoms.runs.run import Run
from tests.support.forked import write_command
from tests.support.http_stub import Stub, serving
from tests.support.project import CONFIG, Project

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
LISTED = f"?per_page={PAGE}&page=1"
EVIL = "<img src=x onerror=alert(1)> | @everyone [x](http://evil.test) `code`"


def check_schema(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fathoms-gate/action.yml", ["--builtin-schema", "vendor.github-actions"]),
        ("github-workflow.yml", ["--builtin-schema", "vendor.github-workflows"]),
        ("gitlab-ci.yml", ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"]),
    ],
)
def test_templates_follow_the_public_schemas(tmp_path: Path, name: str, options: list[str]) -> None:
    done = check_schema(CI / name, *options)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "broken.yml"
    broken.write_text((CI / name).read_text().replace("description:", "describes:").replace("stage", "x"))
    broken.write_text(broken.read_text().replace("runs-on:", "runs-at:").replace("rules:", "rules: 7 #"))
    assert check_schema(broken, *options).returncode == 1


def test_the_workflow_passes_inputs_that_the_action_has() -> None:
    action = yaml.safe_load((CI / "fathoms-gate" / "action.yml").read_text())
    workflow = yaml.safe_load((CI / "github-workflow.yml").read_text())
    needed = {name for name, each in action["inputs"].items() if each.get("required")}
    for job in workflow["jobs"].values():
        (used,) = [step for step in job["steps"] if "fathoms-gate" in step["uses"]]
        assert needed <= set(used["with"]) <= set(action["inputs"])
    # what stands in `${{ }}` of a shell line would be run, whatever it holds
    assert not [step for step in action["runs"]["steps"] if "${{" in step.get("run", "")]


@dataclass
class Comments:
    """Comments of a pull or merge request."""

    bodies: dict[int, str] = field(default_factory=lambda: {1: "Looks good to me"})

    def listed(self, body: Any) -> tuple[int, Any]:
        return 200, [{"id": id, "body": text} for id, text in self.bodies.items()]

    def added(self, body: Any) -> tuple[int, Any]:
        self.bodies[len(self.bodies) + 1] = body["body"]
        return 201, {}

    def changed(self, body: Any) -> tuple[int, Any]:
        self.bodies[2] = body["body"]
        return 200, {}


@contextmanager
def commenting(many: str, one: str) -> Iterator[tuple[Stub, Comments]]:
    """A server with comments at the paths of a service."""
    comments = Comments()
    answers = {f"{many}{LISTED}": comments.listed, many: comments.added, f"{one}/2": comments.changed}
    with serving(answers) as stub:
        yield stub, comments


def shell(lines: str, project: Project, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run lines as a runner of CI does."""
    write_command(project.path)
    path = os.pathsep.join([str(project.path), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", lines],
        cwd=project.path,
        env={**os.environ, "PATH": path, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def checked_out(project: Project) -> Project:
    """A repository with a pipeline whose answers are hostile, and its baseline."""
    project.write("tiny.yaml", CONFIG.replace("default: Nobody can say.", f"default: {json.dumps(EVIL)}"))
    for arguments in (["run", "tiny.yaml"], ["gate", "tiny", "--save-baseline", "baseline.json"]):
        assert project.fathoms(*arguments).returncode == 0
    return project


@pytest.mark.slow
def test_the_github_action_judges_and_keeps_one_comment(checked_out: Project) -> None:
    steps = yaml.safe_load((CI / "fathoms-gate" / "action.yml").read_text())["runs"]["steps"]
    inputs = {
        "config": "tiny.yaml",
        "baseline": "baseline.json",
        "gate-options": "--min correctness=0.6 --margin 0.05",
        "run-options": "--max-tokens-total 100000",
        "requirement": "pip",  # is installed, and needs no index
        "token": "t-0123",
    }
    expressions = {f"${{{{ inputs.{name} }}}}": value for name, value in inputs.items()}
    with commenting("/repos/o/r/issues/7/comments", "/repos/o/r/issues/comments") as (stub, stored):
        job = {
            "GITHUB_API_URL": stub.address,
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_STEP_SUMMARY": str(checked_out.path / "summary.md"),
            "FATHOMS_CACHE_DIR": str(checked_out.path / "cache"),
        }
        lines = [step for step in steps if "run" in step and step.get("if") != "inputs.against != ''"]
        codes = []
        for step in (*lines, lines[-1]):  # another commit comments again
            own = {key: expressions[value] for key, value in step.get("env", {}).items()}
            codes.append(shell(step["run"], checked_out, {**job, **own}).returncode)
        assert codes == [0, 0, 100, 0, 0]  # the gate fails, and the comment is posted all the same
    assert list(stored.bodies) == [1, 2]  # one of ours, although it was posted twice
    text = stored.bodies[2]
    assert text.startswith("<!-- fathoms: tiny -->\n### fathoms: FAIL, tiny\n")
    assert "| correctness | 3 | +0.000 | " in text
    assert "| correctness | 3 | 0.25 | \\[0.01, 0.88\\] | at least 0.6 | FAIL |" in text
    assert "**The worst 2 questions by correctness**" in text
    assert (
        "&lt;img src=x onerror=alert(1)&gt; \\| &#64;everyone \\[x\\](http&#58;//evil.test) \\`code\\`"
        in text
    )
    assert "### fathoms: FAIL" in (checked_out.path / "summary.md").read_text()
    assert {headers["Authorization"] for _, _, headers, _ in stub.requests} == {"Bearer t-0123"}


@pytest.mark.slow
def test_the_gitlab_job_judges_and_keeps_one_comment(checked_out: Project) -> None:
    job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())[".fathoms-gate"]
    given = {"CONFIG": "tiny.yaml", "BASELINE": "baseline.json", "REQUIREMENT": "pip"}
    given["GATE_OPTIONS"] = "--min correctness=0.6"
    notes = "/projects/12/merge_requests/3/notes"
    # what the real one does is seen in the test of the action; its imports take two seconds of CPU
    checked_out.write("python3", '#!/bin/sh\necho "$@" > installed\n').chmod(0o755)
    with commenting(notes, notes) as (stub, stored):
        variables = {
            **job["variables"],
            **given,
            "CI_API_V4_URL": stub.address,
            "CI_PROJECT_ID": "12",
            "CI_MERGE_REQUEST_IID": "3",
            "GITLAB_TOKEN": "t-0123",
            "FATHOMS_CACHE_DIR": str(checked_out.path / "cache"),
        }
        assert shell("\n".join(job["script"]), checked_out, variables).returncode == 100
        assert (checked_out.path / "installed").read_text() == "-m pip install pip\n"
        for _ in range(2):
            done = shell("\n".join(job["after_script"]), checked_out, variables)
            assert done.returncode == 0, done.stderr
        assert done.stdout == "the comment was updated\n"
        assert list(stored.bodies) == [1, 2]
        assert "### fathoms: FAIL, tiny" in stored.bodies[2]
        assert len(stored.bodies[2].partition("<details>")[0].splitlines()) <= 10
        # on the next commit the run itself fails, and the comment says so
        config = (checked_out.path / "tiny.yaml").read_text()
        checked_out.write(
            "tiny.yaml", config.replace("kind: scripted", "kind: scripted\n  fail_on: {'': HTTP 500}")
        )
        (checked_out.path / "fathoms-comment.md").unlink()
        assert shell("\n".join(job["script"]), checked_out, variables).returncode == 1
        assert shell("\n".join(job["after_script"]), checked_out, variables).returncode == 0
    assert stored.bodies[2].startswith("<!-- fathoms: tiny -->\n### fathoms: the run failed, tiny\n")
    assert "failed: HTTP 500" in stored.bodies[2]
    assert list(stored.bodies) == [1, 2]


@pytest.mark.slow
def test_the_action_replaces_its_comment_where_a_service_has_failed(project: Project) -> None:
    """A service over HTTP answers, and on the next commit it is down: one comment, which says so."""
    steps = yaml.safe_load((CI / "fathoms-gate" / "action.yml").read_text())["runs"]["steps"]
    wanted, judged, posted = (
        next(step["run"] for step in steps if step["name"] == name)
        for name in ("Ask the questions", "Judge the run", "Comment on the pull request")
    )
    comments = "/repos/o/r/issues/7/comments"
    with commenting(comments, "/repos/o/r/issues/comments") as (stub, stored):
        job = {
            "GITHUB_API_URL": stub.address,
            "GITHUB_REPOSITORY": "o/r",
            "GITHUB_REF": "refs/pull/7/merge",
            "GITHUB_TOKEN": "t-0123",
            "GITHUB_STEP_SUMMARY": str(project.path / "summary.md"),
            "FATHOMS_CACHE_DIR": str(project.path / "cache"),
            "CONFIG": "mine.yaml",
            "BASELINE": "",
            "OPTIONS": "",
        }
        with serving({"/ask": lambda body: (200, {"answer": "It is 41.5 m tall."})}) as service:
            project.write(
                "mine.yaml",
                "name: mine\ndata: {questions: questions.json, documents: pdfs}\n"
                "execution: {max_attempts: 1}\n"
                f"pipeline: {{kind: http, url: {service.address}/ask}}\n",
            )
            assert shell(wanted, project, job).returncode == 0
            done = shell(judged, project, {**job, "OPTIONS": "--min correctness=0.9"})
            assert done.returncode == 100
            assert len(done.stdout.splitlines()) <= 8
            assert shell(posted, project, job).returncode == 0
        first = stored.bodies[2]
        assert shell(wanted, project, job).returncode == 2  # and the job ends here, but for the comment
        assert shell(posted, project, job).returncode == 0
    assert list(stored.bodies) == [1, 2]
    assert first.startswith("<!-- fathoms: mine -->\n### fathoms: FAIL, mine\n")
    assert len(first.partition("<details>")[0].splitlines()) <= 10
    assert stored.bodies[2].startswith("<!-- fathoms: mine -->\n### fathoms: the run failed, mine\n")
    assert "no service at 127" in stored.bodies[2]
    assert len(stored.bodies[2].splitlines()) <= 10


@pytest.mark.slow
def test_both_templates_compare_a_branch_with_main(project: Project) -> None:
    """Main lies in a repository; the branch has other replies, and answers as many questions rightly."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    origin = project.path / "origin"
    for command in (
        ["init", "-q", "-b", "trunk"],
        ["add", "tiny.yaml"],
        ["commit", "-q", "-m", "x"],
        ["clone", "-q", "--bare", ".", str(origin)],
        ["remote", "add", "origin", str(origin)],
    ):
        subprocess.run([*git, *command], cwd=project.path, check=True)
    project.write("tiny.yaml", CONFIG.replace("Nobody can say", "Nobody knows"))
    given = {"CONFIG": "tiny.yaml", "AGAINST": "main/tiny.yaml", "FATHOMS_CACHE_DIR": str(project.path / "c")}
    job = yaml.safe_load((CI / "gitlab-ci.yml").read_text())[".fathoms-gate"]
    project.write("python3", "#!/bin/sh\n").chmod(0o755)
    named = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "trunk"}
    done = shell("\n".join(job["script"]), project, {**job["variables"], **given, **named})
    assert done.returncode == 0, done.stderr
    said = (project.path / "fathoms-comment.md").read_text()
    assert said.startswith("<!-- fathoms: tiny_before_merging -->\n### fathoms: PASS, ")
    (project.path / "fathoms-comment.md").unlink()
    steps = yaml.safe_load((CI / "fathoms-gate" / "action.yml").read_text())["runs"]["steps"]
    (step,) = (step for step in steps if step.get("if") == "inputs.against != ''")
    done = shell(step["run"], project, {**given, "OPTIONS": "--margin 0.05"})
    assert done.returncode == 0, done.stderr
    again = (project.path / "fathoms-comment.md").read_text()
    assert again.splitlines()[:4] == said.replace("0.02", "0.05").splitlines()[:4]


def test_a_comment_is_never_longer_than_github_accepts(project: Project) -> None:
    assert project.fathoms("run", "tiny.yaml", "--limit", "1").returncode == 0
    run = Run(project.runs()[0])
    long = "@" * 200  # five characters each, where it is escaped
    limit = LimitCheck(Limit("correctness", "min", 0.6), long, 0.5, 9, False)
    night = GateNight(-0.1, -0.2, 0.1, 0.5, 9, ())
    check = GateCheck("correctness", long, "FAIL", (night,), (0.5,), None, 0.5, 0.5, 9, None, None)
    found = Gated(
        "FAIL", (run.id,), ("b",), "fathoms", "x", 0.02, 0.025, 0.025, (check,) * 500, limits=(limit,) * 500
    )
    worst = (Lost(long, long, long, long, 1.0, 0.0),) * MOST
    text = comment(Explained(found, run, Run.scored(run.path), "correctness", worst))
    assert len(text) < LONGEST
    assert text.count("and 480 more.") == 2


def test_a_comment_goes_nowhere_by_mistake(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("GITHUB_REPOSITORY", "CI_MERGE_REQUEST_IID", "GITHUB_TOKEN", "GITHUB_EVENT_PATH"):
        monkeypatch.delenv(name, raising=False)
    ours = str(project.write("ours.md", "<!-- fathoms: tiny -->\nbad\n"))

    def said(path: str) -> str:
        assert main(["comment", path]) == 2
        return " ".join(capsys.readouterr().err.split())

    assert "this is no job for a pull request" in said(ours)
    monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    assert "is not about a pull request" in said(ours)
    event = project.write("event.json", '{"pull_request": {"number": 7}}')
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    assert "GITHUB_TOKEN is not set" in said(ours)
    monkeypatch.setenv("GITHUB_TOKEN", "t-01\n23")
    assert "GITHUB_TOKEN has characters that no token can have" in said(ours)
    monkeypatch.setenv("GITHUB_TOKEN", "t-0123\n")
    assert "this is no comment of fathoms" in said(str(project.write("readme.md", "# Hello\n")))
    with serving(
        {f"/repos/o/r/issues/7/comments{LISTED}": (b"{}")}, {f"/repos/o/r/issues/7/comments{LISTED}": 403}
    ) as stub:
        monkeypatch.setenv("GITHUB_API_URL", stub.address)
        assert "refused with status 403: GITHUB_TOKEN needs the permission 'pull-requests: write'" in said(
            ours
        )
    for answer, what in ((b"<html>", "JSON"), ({"message": "x"}, "a list of comments")):
        with serving({f"/repos/o/r/issues/7/comments{LISTED}": answer}) as stub:
            monkeypatch.setenv("GITHUB_API_URL", stub.address)
            assert f"answered with something else than {what}" in said(ours)
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert "cannot be reached (ConnectError)" in said(ours)
