"""The same from Python: a configuration, a run, its scores as a table, the radar."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import fathoms
from fathoms.errors import ConfigError, DataError, UsageError
from fathoms.models.weights.weights import is_installed
from tests.support.project import Project

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(project.path)
    return project


@pytest.mark.slow
def test_a_run_as_a_table(here: Project) -> None:
    result = fathoms.run(
        here.config, 'generate.replies={"How tall": "It is 41.5 m.", colour: I do not know.}'
    )
    frame = result.scores()
    # by hand: one right, one abstained on, one that has no answer
    by_question = frame.set_index("text")
    tall, colour = (
        by_question.loc["How tall is the Varn tower?"],
        by_question.loc["Which colour is the Varn door?"],
    )
    assert (tall["correctness"], tall["hallucination"], tall["abstained"]) == (1.0, 0.0, False)
    assert (colour["correctness"], colour["hallucination"], colour["abstained"]) == (0.0, 0.0, True)
    owner = by_question.loc["Who owns the Lune mine?"]
    assert owner.isna()["correctness"]
    assert not owner["answerable"]
    assert list(frame.columns) == list(fathoms.api.COLUMNS)
    assert frame["prompt_tokens"].dtype == "Int64"
    assert frame["prompt_tokens"].sum() == result.summary["usage"]["prompt_tokens"]
    figures = result.categories()
    assert [str(kind) for kind in figures.dtypes] == ["float64"] * 3 + ["Int64"] * 3
    assert figures.loc["Text-Only", "correctness"] == 0.5
    assert (
        figures.loc["Overall", "correctness"]
        == result.summary["profiles"]["fathoms"]["overall"]["correctness"]
    )
    assert (result.path / "report.md").is_file()


@pytest.mark.slow
def test_settings_and_selection(here: Project) -> None:
    heard: list[tuple[str, int, int]] = []
    config = fathoms.load(here.config, "retrieve.top_k=2", "name=two")
    result = fathoms.run(
        config,
        categories="Text-Only",
        limit=1,
        out=here.path / "others",
        on_record=lambda record, done, total: heard.append((record.question.category, done, total)),
    )
    assert heard == [("Text-Only", 1, 1)]
    assert result.manifest["config"]["retrieve"]["top_k"] == 2
    assert result.run.split("_")[1] == "two"
    assert result.path.is_absolute()
    (one,) = fathoms.run(config, questions=result.records()[0].question.id).records()
    assert one.question == result.records()[0].question
    (record,) = result.records()
    assert record.hits is not None
    assert len(record.hits) == 2
    with pytest.raises(UsageError, match=r"fathoms\.load"):
        fathoms.run(config, "retrieve.top_k=1")


@pytest.mark.slow
def test_inside_a_running_loop(here: Project) -> None:
    async def cell() -> fathoms.Result:
        return fathoms.run(here.config, limit=2)

    assert len(asyncio.run(cell()).scores()) == 2


@pytest.mark.slow
def test_the_radar_is_a_figure(here: Project) -> None:
    figure = fathoms.run(here.config).radar("hallucination")
    figure.savefig(here.path / "radar.png")
    assert (here.path / "radar.png").read_bytes().startswith(b"\x89PNG")
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert any("Hallucination" in text for text in texts)


@pytest.mark.slow
def test_scoring_again(here: Project) -> None:
    result = fathoms.run(here.config)
    again = fathoms.score("latest", profile="paper-by-words")
    assert again.path.samefile(result.path)
    assert again.summary["profile"] == "paper-by-words"
    assert list(again.scores("paper-by-words")["question"]) == list(result.scores()["question"])
    assert fathoms.score(result).summary["profile"] == "fathoms"
    with pytest.raises(UsageError, match="no run 'nobody'"):
        fathoms.score("nobody")
    with pytest.raises(DataError, match="has no scores 'released'"):
        result.scores("released")


INTERRUPTED = """
import asyncio, os, pathlib, signal, sys, fathoms

def interrupt(record, done, total):
    if done == 2:
        os.kill(os.getpid(), signal.SIGINT)

async def cell():
    return fathoms.run("slow.yaml", on_record=interrupt)

try:
    asyncio.run(cell()) if sys.argv[1] == "notebook" else fathoms.run("slow.yaml", on_record=interrupt)
except KeyboardInterrupt as stopped:
    print(*getattr(stopped, "__notes__", ()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["script", "notebook"])
def test_an_interrupt_keeps_what_there_is_and_says_how_to_go_on(here: Project, where: str) -> None:
    here.write("slow.py", "import time\ndef answer(question):\n    time.sleep(0.5)\n    return '41.5 m'\n")
    data = "data: {questions: questions.json, documents: pdfs}"
    here.write("slow.yaml", f"name: slow\n{data}\npipeline: {{kind: python, target: slow}}\n")
    script = here.write("interrupted.py", INTERRUPTED)
    done = subprocess.run([sys.executable, script, where], capture_output=True, text=True, timeout=300)
    (path,) = here.runs()
    counts = json.loads((path / "summary.json").read_text())["counts"]
    assert counts["answered"] in (2, 3), done.stderr  # that which was asked last is waited for
    assert f"{counts['answered']} of 4 questions are in {path.resolve()}" in done.stdout
    command = done.stdout.partition("continue with: fathoms ")[2].split()
    assert here.fathoms(*command).returncode == 0
    assert json.loads((path / "summary.json").read_text())["counts"]["answered"] == 4


def test_edited_code_is_refused_in_the_same_process(here: Project) -> None:
    here.write("edited_between.py", "def answer(question): return 'old'")
    data = "data: {questions: questions.json, documents: pdfs}"
    config = here.write("own.yaml", f"{data}\npipeline: {{kind: python, target: edited_between}}\n")
    loaded = fathoms.load(config)
    assert fathoms.run(loaded, limit=1).records()[0].answer.text == "old"  # type: ignore[union-attr]
    here.write("edited_between.py", "def answer(question): return 'new'")
    for again in (config, loaded):
        with pytest.raises(ConfigError, match=r"'edited_between' .* has changed since it was imported"):
            fathoms.run(again, limit=1)


def test_an_unreadable_env_file_is_a_config_error(here: Project) -> None:
    (here.path / ".env").write_bytes(b"KEY=a\x00b\n")
    with pytest.raises(ConfigError, match=r"\.env: cannot be read: ValueError"):
        fathoms.load(here.config)


def test_recall_of_a_pipeline_that_reads_for_itself(here: Project) -> None:
    here.write("mute.py", "def answer(question): return ''")
    data = "data: {questions: questions.json, documents: pdfs}"
    here.write("mute.yaml", f"{data}\npipeline: {{kind: python, target: mute}}\n")
    done = here.fathoms("ingest", "mute.yaml", "--recall")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "no recall: fathoms does not know what text an external pipeline reads from the documents"
        in done.stdout
    )
    assert "Overall" not in done.stdout


@pytest.mark.slow
def test_a_failed_question_is_a_row_with_an_error(here: Project) -> None:
    result = fathoms.run(here.config, 'generate.fail_on={"How tall": "boom"}')
    frame = result.scores()
    assert list(frame["error"].dropna()) == ["ModelError: boom"]
    failed = frame[frame["error"].notna()].iloc[0]
    assert failed["correctness"] == 0.0
    assert failed.isna()[["answer", "hallucination", "abstained", "prompt_tokens"]].all()
    assert result.summary["counts"]["errors"] == 1


def test_a_wrong_key_is_the_same_error(here: Project) -> None:
    with pytest.raises(ConfigError, match="did you mean 'top_k'"):
        fathoms.run(here.config, "retrieve.topk=5")


def test_importing_is_light() -> None:
    heavy = "[name for name in ('pydantic', 'numpy', 'yaml') if name in sys.modules]"
    code = f"import sys, fathoms; dir(fathoms); print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'rum'"):
        fathoms.rum  # noqa: B018


@pytest.mark.slow
def test_the_script_of_the_docs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("smollm2-135m", "minilm-l6-v2"):
        if not is_installed(name):
            pytest.skip(f"no weights: run 'fathoms models pull {name}'")
    code = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)[0]
    # 2 of the 10 questions with short replies: the small model takes ten seconds of CPU for each
    for long, short in (("limit=10", "limit=2"), ("max_tokens=64", "max_tokens=8")):
        assert long in code
        code = code.replace(long, short)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    (tmp_path / "script.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    left = runpy.run_path("script.py")
    assert len(left["frame"]) == 2
    assert left["frame"]["error"].isna().all()
    assert (tmp_path / "radar.png").is_file()
    summary = json.loads((left["result"].path / "summary.json").read_text())
    assert summary["counts"]["answered"] == 2
    assert "Overall" in capsys.readouterr().out
