"""What several test modules share: where outside data is, and a project of one's own in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support import CONFIG, PAGES, QUESTIONS, Project, write_pdf

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("FATHOMS_SHARED", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The acceptance data; tests that need it skip where it is absent."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"acceptance data is not at {SHARED} (set FATHOMS_SHARED)")
    return SHARED / "data"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that takes no model and no second."""
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(tmp_path / "pdfs" / name, pages)
    made = Project(tmp_path)
    made.write("questions.json", json.dumps(QUESTIONS))
    made.write("tiny.yaml", CONFIG)
    return made
