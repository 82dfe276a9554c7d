"""`data: my-set.yaml`: a data set by a manifest of one's own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from fathoms.corpora import NamedSource, load, verify
from fathoms.errors import ChecksumError, ConfigError, DataError

QUESTIONS = json.dumps([{"question": "How tall is it?", "files": ["a.pdf"], "answers": [["41.5"]]}])
PINNED = hashlib.sha256(QUESTIONS.encode()).hexdigest()


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A set whose files lie beside its manifest."""
    (tmp_path / "towers").mkdir()
    (tmp_path / "towers" / "questions.json").write_text(QUESTIONS)
    (tmp_path / "towers" / "a.pdf").write_bytes(b"%PDF-1.4\n")
    path = tmp_path / "towers.yaml"
    path.write_text(
        "name: towers\ntitle: Towers\nlicence: CC0-1.0\n"
        f"questions: {{file: questions.json, sha256: {PINNED}}}\ndocuments: [{{file: a.pdf}}]\n"
    )
    return path


def test_it_is_found_from_the_folder_of_the_configuration(manifest: Path) -> None:
    corpus = load(NamedSource(name="towers.yaml"), manifest.parent)
    assert corpus.name == "towers"
    assert corpus.documents == {"a.pdf": manifest.parent / "towers" / "a.pdf"}
    assert load("towers.yaml", manifest.parent).questions == corpus.questions
    assert load(NamedSource(name=str(manifest)), Path("elsewhere")).questions == corpus.questions


def test_its_files_are_verified(manifest: Path) -> None:
    assert [file.state for file in verify(str(manifest))] == ["verified", "unpinned"]
    (manifest.parent / "towers" / "questions.json").write_text(QUESTIONS + "\n")
    with pytest.raises(ChecksumError, match=PINNED):
        load(NamedSource(name="towers.yaml"), manifest.parent)


def test_files_that_are_not_beside_it(manifest: Path) -> None:
    (manifest.parent / "towers" / "questions.json").unlink()
    with pytest.raises(DataError, match=f"its files have to be in {manifest.parent / 'towers'}"):
        load(NamedSource(name="towers.yaml"), manifest.parent)


def test_a_set_that_was_not_pulled_names_the_command(manifest: Path) -> None:
    text = manifest.read_text().replace(
        "file: questions.json,", "file: questions.json, url: http://127.0.0.1/q,"
    )
    manifest.write_text(text.replace("file: a.pdf", "file: a.pdf, url: http://127.0.0.1/a"))
    with pytest.raises(DataError, match=f"run 'fathoms data pull {manifest}'"):
        load(NamedSource(name="towers.yaml"), manifest.parent)


def test_no_such_manifest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: no such file"):
        load(NamedSource(name="none.yaml"), tmp_path)
