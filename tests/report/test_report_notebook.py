"""Runs, comparisons, verdicts and figures as Jupyter shows them: through IPython's own formatter."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter
from PIL import Image

import fathoms
from fathoms.errors import DataError, UsageError
from fathoms.report.notebook.figures import FIGURES
from tests.support.doc_pages import blocks
from tests.support.project import CONFIG, QUESTIONS, Project, write_project

EVIL = "<script>alert(1)</script> & <img src=x onerror=alert(2)>"


def shown(thing: object) -> dict[str, str | bytes]:
    """What a cell of a notebook shows, by its type."""
    data: dict[str, str | bytes]
    data, _ = DisplayFormatter().format(thing)
    return data


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_of(thing: object) -> Tags:
    page = str(shown(thing)["text/html"])
    assert len(page) < 20_000
    assert "currentColor" in page  # the theme of the notebook, light or dark
    assert not re.search(r"(?<![\w-])color: ?(#|black|white)", page)
    found = Tags(page)
    assert found.tags <= {
        "style",
        "div",
        "p",
        "small",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    return found


@pytest.fixture(scope="module")
def finished_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two runs: one with a right answer of four, one whose answers are hostile."""
    project = write_project(tmp_path_factory.mktemp("notebook"))
    questions = json.loads(json.dumps(QUESTIONS))
    evidence = [{"document": "varn.pdf", "page": page, "modality": "text"} for page in (1, 2)]
    for question, page in zip(questions["Text-Only"], evidence, strict=True):
        question["evidence"] = [page]
    project.write("questions.json", json.dumps(questions))
    project.write("evil.yaml", CONFIG.replace("tiny", "evil").replace("Nobody can say.", json.dumps(EVIL)))
    for name in ("tiny", "evil"):
        assert project.fathoms("run", f"{name}.yaml").returncode == 0
    return project


def result(finished_project: Project, name: str) -> fathoms.Result:
    return fathoms.find(name, finished_project.path / "runs")


@pytest.mark.slow
def test_a_run(finished_project: Project) -> None:
    texts = page_of(result(finished_project, "evil")).texts
    # by hand: one of two questions on text is right, and none on tables: 0.5, 0 and their mean
    rows = {
        texts[at]: texts[at + 1 : at + 5] for at, text in enumerate(texts) if text in ("Text-Only", "Tables")
    }
    assert [cell.partition(" ")[0] for cell in rows["Text-Only"]] == ["0.50", "0.50", "0.00", "2"]
    assert rows["Tables"][0].startswith("0.00 [0.00, ")
    assert EVIL in texts
    assert "Worst questions" in texts


def test_a_run_that_cannot_be_read(tmp_path: Path) -> None:
    gone = fathoms.Result(tmp_path / "gone")
    assert any("gone: " in text for text in page_of(gone).texts)


@pytest.mark.slow
def test_a_comparison(finished_project: Project) -> None:
    found = result(finished_project, "tiny").compare("evil", metric="correctness")
    texts = page_of(found).texts
    assert "correctness" in texts
    assert "no difference shown, p 1.000, after Holm 1.000; B wins 0, loses 0, ties 3" in texts
    assert repr(found).startswith("<Compared ")


@pytest.mark.slow
def test_a_verdict(finished_project: Project) -> None:
    verdict = result(finished_project, "evil").gate(correctness=0.6)
    texts = page_of(verdict).texts
    assert "0.25 [0.01, 0.88]" in texts
    assert verdict.verdict == "FAIL"
    assert verdict.failed()


@pytest.mark.slow
def test_figures_by_name(finished_project: Project, tmp_path: Path) -> None:
    run = result(finished_project, "tiny")
    for name in (*FIGURES, "hallucination"):
        figure = run.figure(name)
        picture = tmp_path / "shown.png"
        data = shown(figure)["image/png"]
        picture.write_bytes(data if isinstance(data, bytes) else b"")
        with Image.open(picture) as opened:
            assert opened.size[0] > 300
    said = {text.get_text() for axes in run.figure("correctness").figure.axes for text in axes.texts}
    assert said == {"0.25 [0.01, 0.88] (3)", "0.50 [0.03, 0.97] (2)", "0.00 [0.00, 0.95] (1)"}
    run.figure("funnel").savefig(tmp_path / "funnel.svg")
    assert (tmp_path / "funnel.svg").read_text().startswith("<?xml")
    with pytest.raises(UsageError, match=r"'funel' \(did you mean 'funnel'\?\); this run has: radar, "):
        run.figure("funel")
    with pytest.raises(DataError, match="has no scores 'paper'"):
        run.figure("funnel", profile="paper")


def test_the_docs_name_the_figures(root: Path) -> None:
    text = (root / "docs" / "python.md").read_text()
    assert [name for name in FIGURES if f"`{name}`" not in text] == []


def test_the_cells_of_the_docs(
    finished_project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every line of the block is a cell, whose value a notebook shows."""
    (block,) = [each for each in blocks("python") if each.page == "python.md" and "figure(" in each.text]
    monkeypatch.chdir(finished_project.path)
    names: dict[str, object] = {}
    kinds = []
    for line in filter(None, block.text.splitlines()):
        if " = " in line or line.startswith("import"):
            exec(line, names)
        else:
            kinds.append(sorted(shown(eval(line, names)).keys() - {"text/plain"}))
    assert kinds == [["text/html"], ["image/png"], ["text/html"], ["text/html"]]
