"""A project of one's own in a folder, and the command line in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.compare.question_scores import QuestionScore, QuestionScores
from tests.support.forked import Forked, run_forked

CONFIG = """\
name: tiny
data: {questions: questions.json, documents: pdfs}
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate:
  kind: scripted
  replies: {tall: The Varn tower is 41.5 m tall., colour: I do not know the colour.}
  default: Nobody can say.
"""

QUESTIONS = {
    "Text-Only": [
        {"question": "How tall is the Varn tower?", "files": ["varn.pdf"], "answers": [["41.5"]]},
        {"question": "Which colour is the Varn door?", "files": ["varn.pdf"], "answers": [["green"]]},
    ],
    "Tables": [
        {"question": "What does ore cost in Lune?", "files": ["lune.pdf"], "answers": [["17 crowns"]]},
        {
            "question": "Who owns the Lune mine?",
            "files": ["lune.pdf"],
            "answers": [],
            "answerable": False,
        },
    ],
}

PAGES = {
    "varn.pdf": ["The Varn tower is 41.5 m tall.", "Its door is painted green."],
    "lune.pdf": ["In Lune, ore costs 17 crowns a ton."],
}


def write_pdf(path: Path, pages: Sequence[str]) -> None:
    """A small real PDF: one line of text a page."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), invariant=True)
    for text in pages:
        canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()


@dataclass
class Project:
    """A folder with a config, two PDFs and four questions; its own cache; the command line in it."""

    path: Path
    cache: Path | None = Path("cache")
    """A cache folder of its own in `path`; `None` takes the user's, where the weights are."""

    @property
    def config(self) -> Path:
        return self.path / "tiny.yaml"

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text)
        return path

    def fathoms(
        self, *arguments: str, timeout: float = 300, fresh: bool = False, typed: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line as a user would, in the folder; `fresh` takes a new interpreter for it.

        What is `typed` comes over a pipe.
        """
        if not fresh:
            return run_forked(arguments, self.path, self._environment(), timeout, typed)
        return subprocess.run(
            [sys.executable, "-m", "fathoms", *arguments],
            cwd=self.path,
            env=self._environment(),
            input=typed,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def start(self, *arguments: str, **options: Any) -> Forked:
        """Start the command line in the folder, to be stopped or killed; see `Forked` for the options."""
        return Forked(arguments, cwd=self.path, env=self._environment(), **options)

    def _environment(self) -> dict[str, str]:
        own = {"FATHOMS_CACHE_DIR": str(self.path / self.cache)} if self.cache else {}
        return {**os.environ, **own, "PYTHONWARNINGS": "error"}

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What a command prints with `--json`, which ends with an exit code."""
        done = self.fathoms(*arguments, "--json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def runs(self) -> list[Path]:
        """The run directories, oldest first."""
        return sorted(path.parent for path in (self.path / "runs").glob("*/manifest.json"))


def write_project(folder: Path) -> Project:
    """A project with the questions, documents and config above."""
    (folder / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(folder / "pdfs" / name, pages)
    project = Project(folder)
    project.write("questions.json", json.dumps(QUESTIONS))
    project.write("tiny.yaml", CONFIG)
    return project


def copy_project(project: Project, folder: Path) -> Project:
    """A project with its runs and its cache in another folder, for a test that changes them."""
    shutil.copytree(project.path, folder, dirs_exist_ok=True)
    return Project(folder, project.cache)


ONE_PAGE = "one-page.pdf"
ON_ONE_PAGE = {"table-03": "text-01", "image-01": "image-01"}
"""Questions of the sample corpus whose answers stand in a table and a picture, by their names here."""


def write_one_page(folder: Path, root: Path) -> None:
    """A page of the sample corpus with a table and a picture, and questions about it."""
    import pypdfium2 as pdfium

    sample = root / "data" / "sample"
    (folder / "pdfs").mkdir(parents=True)
    with pdfium.PdfDocument(sample / "pelnorite-ceramic.pdf") as whole, pdfium.PdfDocument.new() as one:
        one.import_pages(whole, [2])
        one.save(folder / "pdfs" / ONE_PAGE)
    _undate(folder / "pdfs" / ONE_PAGE)
    questions = json.loads((sample / "questions.json").read_text())
    stored = {
        category: [
            {
                **item,
                "id": ON_ONE_PAGE[item["id"]],
                "files": [ONE_PAGE],
                "evidence": [{"document": ONE_PAGE, "page": 1}],
            }
            for item in items
            if item["id"] in ON_ONE_PAGE
        ]
        for category, items in questions.items()
    }
    (folder / "questions.json").write_text(json.dumps({key: items for key, items in stored.items() if items}))


def _undate(path: Path) -> None:
    """The same bytes at every time, so that what was read of them is found in the cache."""
    data = re.sub(rb"\(D:\d{14}", b"(D:20260101000000", path.read_bytes())
    path.write_bytes(re.sub(rb"<[0-9A-F]{32}>", b"<" + b"0" * 32 + b">", data))


RULES = {"match": "word", "hyphens": "both", "classifier": {"kind": "a"}, "classifier_key": "a1"}


def scores_of(
    name: str, correctness: Sequence[Any], hallucination: Sequence[Any] | None = None, **changes: Any
) -> QuestionScores:
    """A run of questions `q0`, `q1`, ...: the even ones in category A, the odd ones in B. A number is one
    value, a tuple one a repeat."""
    flags = hallucination or [()] * len(correctness)
    questions = {
        f"q{index}": QuestionScore(
            category="AB"[index % 2],
            gold=f"gold {index}",
            values={"correctness": _several(right), "hallucination": _several(flag)},
        )
        for index, (right, flag) in enumerate(zip(correctness, flags, strict=True))
    }
    question_scores = QuestionScores(
        runs=(name,), profile="fathoms", rules=RULES, questions=questions, answers=len(questions), failed=0
    )
    return question_scores.model_copy(update=changes)


def _several(value: Any) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)
