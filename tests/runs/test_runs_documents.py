"""Parsed documents are stored once for the runs of a folder, and an exported run holds its own."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.errors import StoreError, UsageError
from fathoms.runs.blobs import Blobs
from fathoms.runs.cache import Cache
from fathoms.runs.documents import LISTED, StoredDocuments, facts_of, keep_documents, listed_documents
from fathoms.runs.exporting import export_run
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Document, Evidence, Page, Question, Record, Reply
from tests.support.extras import needs_extra

DOCUMENTS = [
    Document(
        id=f"d{number}.pdf",
        path=Path(f"d{number}.pdf"),
        sha256=str(number),
        pages=(Page(number=1, text=f"The mast is {number}0 metres high."),),
    )
    for number in (1, 2)
]


def stored_run(out: Path, name: str, documents: Sequence[Document] = DOCUMENTS) -> Run:
    run = new_run(out, name, "f" * 8, {"config": {}, "data": {"name": "q"}})
    question = Question(
        id="q1",
        text="How high is it?",
        category="A",
        answers=(("10 metres",),),
        evidence=(Evidence(document="d1.pdf", page=1),),
    )
    run.records.append([Record(question=question, answer=Reply(text="10 metres"))])
    keep_documents(run, documents)
    return run


def stored(out: Path) -> list[Path]:
    return sorted((out / ".documents").iterdir())


def in_documents(summary: dict[str, Any]) -> Any:
    return summary["profiles"]["fathoms"]["funnel"]["overall"].get("documents")


def test_runs_of_a_folder_share_their_documents(tmp_path: Path) -> None:
    first = stored_run(tmp_path, "a")
    before = {path: path.stat().st_mtime_ns for path in stored(tmp_path)}
    second = stored_run(tmp_path, "b")
    assert len(before) == 2
    assert {path: path.stat().st_mtime_ns for path in stored(tmp_path)} == before
    for run in (first, second):
        assert not list(run.path.glob("blobs/*"))
        assert dict(StoredDocuments(run, run.manifest))["d2.pdf"].text == "The mast is 20 metres high."


def test_a_run_copied_without_them_says_so_and_an_exported_one_has_everything(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "runs", "a")
    whole = score_run(run).plain()
    bare = Run(shutil.copytree(run.path, tmp_path / "bare" / run.id))
    warned = score_run(bare).plain()
    assert [text for text in warned["warnings"] if "fathoms export RUN" in text] == [
        "the parsed text of d1.pdf, d2.pdf is missing, because the run was copied without the folder that"
        " runs share; the funnel does without it. 'fathoms export RUN', where the run was made, writes a"
        " complete copy"
    ]
    assert in_documents(whole)["recall"] == 1
    assert not in_documents(warned) or in_documents(warned)["recall"] is None

    copy = export_run(run, tmp_path / "elsewhere" / "copy")
    shutil.rmtree(tmp_path / "runs")
    again = score_run(copy).plain()
    assert in_documents(again) == in_documents(whole)
    assert again["warnings"] == whole["warnings"]
    assert {path.name for path in copy.path.iterdir()} >= {"manifest.json", "journal.jsonl", "questions"}


@needs_extra("exchange")
def test_export_copies_a_run_by_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored_run(tmp_path / "runs", "a")
    monkeypatch.chdir(tmp_path)
    assert main(["export", "latest", "--to", "copy"]) == 0
    assert main(["export", "run", "a"]) == 0
    for copy in (tmp_path / "copy", tmp_path / run.id):
        assert len(list((copy / "blobs").iterdir())) == len(DOCUMENTS)
    assert main(["export", "latest", "--to", "copy"]) == 2


def test_an_export_is_complete_or_not_there(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "runs", "a")
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="already exists"):
        export_run(run, tmp_path / "there")
    stored(tmp_path / "runs")[0].unlink()
    with pytest.raises(StoreError, match=r"the parsed text of d\d\.pdf is missing"):
        export_run(run, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "there"]


def test_a_damaged_document_is_never_used_and_the_next_run_writes_it_again(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "a")
    text = json.loads((run.path / "manifest.json").read_text())["data"]["documents"]["d1.pdf"]["text"]
    path = tmp_path / ".documents" / f"{text}.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StoreError, match="cannot be read"):
        StoredDocuments(run, run.manifest)["d1.pdf"]
    again = stored_run(tmp_path, "b")
    for one in (run, again):
        assert StoredDocuments(one, one.manifest)["d1.pdf"].text == "The mast is 10 metres high."


class Unread(list[Document]):
    """Documents that must not be loaded."""

    def __getitem__(self, at: Any) -> Any:
        raise AssertionError("a document was loaded")


def test_a_stored_document_is_neither_loaded_nor_verified_until_its_file_changes(tmp_path: Path) -> None:
    cache, facts = Cache(tmp_path / "cache"), [facts_of(document) for document in DOCUMENTS]
    first = new_run(tmp_path / "runs", "a", "f" * 8, {"config": {}, "data": {"name": "q"}})
    keep_documents(first, DOCUMENTS, facts, cache)
    assert first.manifest.plain()["data"] == stored_run(tmp_path / "runs", "b").manifest.plain()["data"]
    second = new_run(tmp_path / "runs", "c", "f" * 8, {"config": {}, "data": {"name": "q"}})
    keep_documents(second, Unread(), facts, cache)
    assert second.manifest.plain()["data"] == first.manifest.plain()["data"]

    path = tmp_path / "runs" / ".documents" / f"{facts[0].text}.gz"
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + b"x")  # as long as before
    os.utime(path, ns=(1, 1))  # even if the clock has not moved on
    third = new_run(tmp_path / "runs", "d", "f" * 8, {"config": {}, "data": {"name": "q"}})
    with pytest.raises(AssertionError, match="a document was loaded"):
        keep_documents(third, Unread(), facts, cache)
    keep_documents(third, DOCUMENTS, facts, cache)
    assert path.read_bytes() == sound


def test_a_file_that_changes_before_it_is_noted_does_not_count_as_sound(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for _ in ("written", "verified"):
        blobs = Blobs(tmp_path, ".documents")
        name = blobs.put("It is 10 metres high.", mend=True)
        path = tmp_path / ".documents" / f"{name}.gz"
        sound = path.read_bytes()
        path.write_bytes(b"damaged")
        blobs.put("It is 10 metres high.", mend=True)  # which one process verifies only once
        blobs.note_sound(cache)
        assert blobs.sound([name], cache) == set()
        path.write_bytes(sound)
    blobs = Blobs(tmp_path, ".documents")
    blobs.put("It is 10 metres high.", mend=True)
    blobs.note_sound(cache)
    assert blobs.sound([name], cache) == {name}


def many(count: int) -> list[Document]:
    """So many documents, of which the first two have pages."""
    names = (f"e{number}.pdf" for number in range(count - len(DOCUMENTS)))
    more = [Document(id=name, path=Path(name), sha256=name[1:-4], pages=()) for name in names]
    return [*DOCUMENTS, *more]


def test_a_long_list_of_documents_is_stored_once_and_goes_along_with_a_copied_run(tmp_path: Path) -> None:
    short = stored_run(tmp_path / "runs", "a", many(LISTED))
    assert list(short.manifest.data.documents) == ["d1.pdf", "d2.pdf"]
    assert listed_documents(short, short.manifest) == short.manifest.data.documents
    first, second = (stored_run(tmp_path / "runs", name, many(LISTED + 1)) for name in "bc")
    data = json.loads((first.path / "manifest.json").read_text())["data"]
    assert "documents" not in data
    sha256 = data["document_list"]["sha256"]
    assert data["document_list"] == {"documents": LISTED + 1, "sha256": sha256}
    files = [run.path / "blobs" / f"{sha256}.gz" for run in (first, second)]
    assert files[0].samefile(files[1])
    figures = in_documents(score_run(first).plain())
    assert figures == in_documents(score_run(short).plain())
    assert figures["recall"] == 1
    copy = Run(shutil.copytree(first.path, tmp_path / "elsewhere" / first.id))
    shutil.rmtree(tmp_path / "runs")
    found = listed_documents(copy, copy.manifest)
    assert len(found) == copy.manifest.data.document_count == LISTED + 1
    assert found["e7.pdf"].plain() == {"sha256": "7"}
    assert found["d1.pdf"].pages == 1
    documents = StoredDocuments(copy, copy.manifest)
    assert (len(documents), documents.missing) == (0, ("d1.pdf", "d2.pdf"))
    damaged = Run(shutil.copytree(copy.path, tmp_path / "damaged" / first.id))
    (damaged.path / "blobs" / files[0].name).write_bytes(b"x")
    with pytest.raises(StoreError, match="the list of its documents cannot be read"):
        listed_documents(damaged, damaged.manifest)


def test_a_run_on_another_disk_than_its_list_has_a_copy_of_it(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other disk")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        shared, own = Blobs(tmp_path, ".documents"), Blobs(Path(folder))
        name = shared.put("[1]")
        own.take(name, shared)
        own.take(name, shared)
        assert own.get(name) == "[1]"
        assert (Path(folder) / "blobs" / f"{name}.gz").stat().st_nlink == 1
