"""Pulling data sets: over a real socket, and from a folder; checksums recorded and verified."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.corpora import NamedSource, data_dir, find_manifest, known_sets, list_sets, load, pull, verify
from fathoms.corpora.download import Policy
from fathoms.corpora.fetch import FileReport
from fathoms.corpora.manifests import Manifest, ManifestFile, read_manifest
from fathoms.errors import ChecksumError, ConfigError, DataError, UsageError

QUESTIONS = b'[{"question": "Why?", "answers": "rain", "files": ["a.pdf"]}]'
PAPER = b"%PDF-1.7 a paper" + bytes(50_000) + b"%%EOF\n"
OTHER = b"%PDF-1.7 another" + bytes(70_000) + b"%%EOF\n"
QUICK = Policy(attempts=2, first_pause=0.01, timeout=5.0)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def states(reports: tuple[FileReport, ...]) -> dict[str, str]:
    return {report.file: report.state for report in reports}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def toy(server: Any) -> Manifest:
    """A data set on the server: pinned questions, two papers of which only `b.pdf` is pinned."""
    return Manifest(
        name="toy",
        title="A toy",
        licence="none",
        questions=ManifestFile(file="q.json", url=server.add("/q", QUESTIONS), sha256=sha256(QUESTIONS)),
        documents=(
            ManifestFile(file="a.pdf", url=server.add("/a", PAPER)),
            ManifestFile(file="b.pdf", url=server.add("/b", OTHER), sha256=sha256(OTHER)),
        ),
    )


def test_a_pull_brings_everything_once(toy: Manifest, server: Any, cache: Path) -> None:
    seen: set[str] = set()
    report = pull(toy, policy=QUICK, on_progress=lambda file, done, total: seen.add(file))
    assert report.folder == cache / "data" / "toy"
    assert report.complete
    assert states(report.files) == {"q.json": "pulled", "a.pdf": "pulled", "b.pdf": "pulled"}
    assert seen == {"q.json", "a.pdf", "b.pdf"}
    assert (report.folder / "a.pdf").read_bytes() == PAPER
    assert set(states(pull(toy, policy=QUICK).files).values()) == {"present"}
    assert len(server.log) == 3
    assert states(verify(toy)) == {
        "q.json": "verified",
        "a.pdf": "same",
        "b.pdf": "verified",
    }  # no pin of a.pdf
    names = {path.name for path in report.folder.iterdir()}
    assert names == {"q.json", "a.pdf", "b.pdf", "pulled.json"}


def test_the_record_says_what_came_from_where(toy: Manifest, server: Any) -> None:
    report = pull(toy, policy=QUICK)
    record = json.loads((report.folder / "pulled.json").read_text())
    entry = record["files"]["a.pdf"]
    assert record["version"] == 1
    assert (entry["sha256"], entry["bytes"]) == (sha256(PAPER), len(PAPER))
    assert entry["origin"] == server.url("/a")


def test_a_broken_pull_goes_on_with_the_next_call(toy: Manifest, server: Any) -> None:
    server.add("/a", PAPER, faults=[{"cut": 30_000}, {"status": 503}])
    with pytest.raises(DataError, match=r"503.*; run the same command again to resume the download"):
        pull(toy, policy=QUICK)
    report = pull(toy, policy=QUICK)
    assert states(report.files) == {"q.json": "present", "a.pdf": "pulled", "b.pdf": "pulled"}
    assert server.sent("/a")[0] == 30_000
    assert server.sent("/a")[-1] == len(PAPER) - 30_000
    assert server.sent("/q") == [len(QUESTIONS)]
    assert (report.folder / "a.pdf").read_bytes() == PAPER


def test_a_file_that_is_not_the_pinned_one_is_put_aside(toy: Manifest, server: Any, tmp_path: Path) -> None:
    wrong = b"%PDF-1.7 somebody else's"
    server.add("/q", wrong)
    with pytest.raises(ChecksumError) as caught:
        pull(toy, dest=tmp_path / "toy", policy=QUICK)
    rejected = tmp_path / "toy" / "q.json.rejected"
    assert str(caught.value).startswith(
        f"{rejected}: sha256 is {sha256(wrong)}, expected {sha256(QUESTIONS)}"
    )
    assert rejected.read_bytes() == wrong
    assert states(verify(toy, tmp_path / "toy")) == {
        "q.json": "missing",
        "a.pdf": "same",
        "b.pdf": "verified",
    }


def test_what_came_first_is_what_has_to_come_again(toy: Manifest, server: Any) -> None:
    folder = pull(toy, policy=QUICK).folder
    (folder / "a.pdf").write_bytes(b"%PDF-1.7 damaged on the disk")
    assert states(verify(toy))["a.pdf"] == "changed"
    assert states(pull(toy, policy=QUICK).files)["a.pdf"] == "pulled"
    assert (folder / "a.pdf").read_bytes() == PAPER
    (folder / "a.pdf").unlink()
    server.add("/a", OTHER)
    with pytest.raises(ChecksumError, match=sha256(PAPER)):
        pull(toy, policy=QUICK)
    assert states(verify(toy))["a.pdf"] == "missing"


def test_the_pdfs_that_the_questions_name_are_pulled(server: Any, cache: Path) -> None:
    """One download breaks off half way and goes on; a PDF that the server lacks stops none of the others, and
    is asked for again. All are recorded, because the manifest knows no sha256 of them."""
    rows = [
        {"question": "Why?", "doc_id": name, "answer": "rain", "evidence_pages": "[1]"}
        for name in ("b c.pdf", "a.pdf", "gone.pdf")
    ]
    server.add("/docs/a.pdf", PAPER, faults=[{"cut": 30_000}])
    server.add("/docs/b%20c.pdf", OTHER)
    url = server.add("/q", json.dumps(rows).encode())
    each = server.url("/docs/{file}")
    manifest = Manifest(
        name="long",
        title="-",
        licence="-",
        questions=ManifestFile(file="q.json", url=url),
        each_document=each,
    )
    with pytest.raises(DataError, match=r"/docs/gone\.pdf: status 404"):
        pull(manifest, policy=QUICK)
    assert server.sent("/docs/a.pdf") == [30_000, len(PAPER) - 30_000]
    assert states(verify(manifest)) == dict.fromkeys(("q.json", "a.pdf", "b c.pdf"), "same")
    server.add("/docs/gone.pdf", PAPER)
    (report,) = [report for report in pull(manifest, policy=QUICK).files if report.state == "pulled"]
    assert report.file == "gone.pdf"
    assert report.detail == f"{server.url('/docs/gone.pdf')}; sha256 {sha256(PAPER)} is recorded"
    (cache / "data" / "long" / "a.pdf").write_bytes(OTHER)
    assert states(verify(manifest))["a.pdf"] == "changed"


def test_documents_that_no_pull_brings_are_asked_for(server: Any, tmp_path: Path) -> None:
    rows = [{"question": "Why?", "answers": "rain", "files": [f"{number:02}.pdf"]} for number in range(30)]
    url = server.add("/q", json.dumps(rows).encode())
    manifest = tmp_path / "bare.yaml"
    manifest.write_text(
        "name: bare\ntitle: '-'\nlicence: '-'\nhomepage: https://example.org\n"
        f"questions: {{file: q.json, url: '{url}'}}\n"
    )
    assert pull(str(manifest), policy=QUICK, trust=True).complete
    with pytest.raises(
        DataError, match=r"get them from https://example\.org.*: 00\.pdf, .*19\.pdf and 10 more$"
    ):
        load(NamedSource(name=str(manifest)))


def test_a_web_page_is_not_recorded_as_a_paper(toy: Manifest, server: Any) -> None:
    server.add("/a", b"<html>Please sign in to the network</html>")
    with pytest.raises(DataError, match=r"a\.pdf\.rejected: the server sent something that is not a PDF"):
        pull(toy, policy=QUICK)
    assert states(verify(toy)) == {"q.json": "verified", "a.pdf": "missing", "b.pdf": "verified"}


def test_a_pull_from_a_folder(toy: Manifest, server: Any, tmp_path: Path) -> None:
    local = tmp_path / "local"
    (local / "papers").mkdir(parents=True)
    (local / "q.json").write_bytes(QUESTIONS)
    (local / "papers" / "b.pdf").write_bytes(PAPER)
    report = pull(toy, source=local)
    assert states(report.files) == {"q.json": "copied", "a.pdf": "missing", "b.pdf": "mismatch"}
    assert not report.complete
    assert states(verify(toy)) == {"q.json": "verified", "a.pdf": "missing", "b.pdf": "mismatch"}
    assert f"sha256 is {sha256(PAPER)}, expected {sha256(OTHER)}" in verify(toy)[2].detail
    assert server.log == []
    report = pull(toy, policy=QUICK)
    assert states(report.files) == {"q.json": "present", "a.pdf": "pulled", "b.pdf": "pulled"}
    assert states(verify(toy))["b.pdf"] == "verified"


def test_of_two_local_files_the_expected_one_is_taken(toy: Manifest, tmp_path: Path) -> None:
    for folder, data in (("1", PAPER), ("2", OTHER)):
        (tmp_path / "local" / folder).mkdir(parents=True)
        (tmp_path / "local" / folder / "b.pdf").write_bytes(data)
    assert states(pull(toy, source=tmp_path / "local").files)["b.pdf"] == "copied"


def test_a_copy_does_not_bind_the_network(toy: Manifest, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "a.pdf").write_bytes(OTHER)
    folder = pull(toy, source=tmp_path / "local").folder
    (folder / "a.pdf").unlink()
    assert states(pull(toy, policy=QUICK).files)["a.pdf"] == "pulled"
    assert (folder / "a.pdf").read_bytes() == PAPER


def test_folders_that_cannot_be_used(toy: Manifest, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere: the folder to copy from does not exist"):
        pull(toy, source=tmp_path / "nowhere")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match=r"file: cannot be written"):
        pull(toy, dest=tmp_path / "file", policy=QUICK)
    (tmp_path / "pulled.json").write_text("{")
    with pytest.raises(DataError, match=r"pulled\.json: cannot be read; delete it and pull again"):
        verify(toy, tmp_path)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """Somebody's own files under the names of the real data set; none is the real one."""
    rows = [{"question": "Why?", "answers": "rain", "files": ["2302.00923v5.pdf"]}]
    rows.append({"question": "Who?", "answers": "Ada", "files": ["2201.04182v3.pdf"]})
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "questions_answers.json").write_text(json.dumps(rows))
    (folder / "statement_abstention_training.json").write_text("{}")
    (folder / "2302.00923v5.pdf").write_bytes(PAPER)
    (folder / "2401.00908v1.pdf").write_bytes(OTHER)
    (folder / "stranger.pdf").write_bytes(OTHER)
    return folder


def test_an_unknown_data_set_is_a_mistake_of_the_call() -> None:
    for call in (pull, verify):
        with pytest.raises(UsageError, match=r"^unknown data set 'nope' \(available: .*sample, .*\)$"):
            call("nope")


def test_an_absent_data_set_names_the_command() -> None:
    with pytest.raises(DataError, match="not on this machine: run 'fathoms data pull fathoms-rag'"):
        load("fathoms-rag")


def test_a_pulled_data_set_is_loaded_with_its_warnings(local: Path, cache: Path) -> None:
    report = pull("fathoms-rag", source=local)
    assert states(report.files)["2401.00908v1.pdf"] == "mismatch"
    assert states(report.files)["2302.00923v5.pdf"] == "copied"
    with pytest.raises(DataError, match=r"missing \(run 'fathoms data pull fathoms-rag'\): 2201.*the 1 of 2"):
        load("fathoms-rag")
    corpus = load(NamedSource(name="fathoms-rag", missing="skip"))
    folder = cache / "data" / "fathoms-rag"
    assert corpus.name == "fathoms-rag"
    assert corpus.documents == {name: folder / name for name in ("2302.00923v5.pdf", "2401.00908v1.pdf")}
    assert len(corpus.missing) == 6
    assert [warning.split(": ")[0] for warning in corpus.warnings] == [
        str(folder / name) for name in ("questions_answers.json", "2401.00908v1.pdf")
    ]


def test_a_pulled_file_that_changed_is_refused(local: Path, cache: Path) -> None:
    pull("fathoms-rag", source=local)
    (cache / "data" / "fathoms-rag" / "2302.00923v5.pdf").write_bytes(OTHER)
    with pytest.raises(ChecksumError, match=sha256(PAPER)):
        load(NamedSource(name="fathoms-rag", missing="skip"))


def test_files_from_elsewhere_replace_those_of_the_set(local: Path) -> None:
    source = NamedSource(
        name="fathoms-rag",
        questions=Path("questions_answers.json"),
        documents=Path(),
        missing="skip",
    )
    corpus = load(source, local)
    assert list(corpus.documents) == ["2302.00923v5.pdf", "2401.00908v1.pdf"]
    assert [warning.split(": ")[0] for warning in corpus.warnings] == [
        str(local / "questions_answers.json"),
        str(local / "2401.00908v1.pdf"),
    ]


def test_the_list_says_how_much_is_here(local: Path) -> None:
    before, after = ({}, {})
    for seen in (before, after):
        seen.update({info.name: info for info in list_sets()})
        pull("fathoms-rag", source=local)
    assert (before["fathoms-rag"].state, before["fathoms-rag"].here) == ("absent", 0)
    assert (after["fathoms-rag"].state, after["fathoms-rag"].here) == ("partial", 4)
    assert after["fathoms-rag"].files == 10
    assert "CC-BY" in after["fathoms-rag"].licence


def test_the_manifests_of_this_repository(root: Path) -> None:
    assert data_dir() == root / "data"
    assert {"fathoms-rag", "sample"} <= set(known_sets())
    fathoms_rag = find_manifest("fathoms-rag")
    assert len(fathoms_rag.documents) == 8
    for entry in fathoms_rag.documents:
        assert entry.url == f"https://arxiv.org/pdf/{entry.file.removesuffix('.pdf')}"
    assert not fathoms_rag.shipped
    assert find_manifest("sample").shipped
    assert find_manifest("sample").folder == root / "data" / "sample"


TOY_YAML = """\
name: toy
title: A toy
licence: none
questions: {file: q.json, url: "https://example.org/q"}
documents:
  - {file: a.pdf, url: "https://example.org/a"}
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("title", "titel", ":2:1: unknown key 'titel' (did you mean 'title'?)"),
        ("name: toy", "name: tot", ":1:1: 'tot' has to be 'toy', as the file is called"),
        ("a.pdf", "../a.pdf", ":6:6: documents.0.file: must be a file name without a folder"),
        ("https://example.org/a", "ftp://example.org/a", ":6:19: documents.0.url: string should match"),
        ("a.pdf", "q.json", "two files of this data set have the same name"),
        (', url: "https://example.org/a"', "", "either every file has a 'url' or none has"),
    ],
)
def test_a_manifest_with_a_mistake(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(TOY_YAML)
    assert read_manifest(path).documents[0].file == "a.pdf"
    bad = tmp_path / "bad" / "toy.yaml"
    bad.parent.mkdir()
    bad.write_text(TOY_YAML.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        read_manifest(bad)
    assert str(caught.value).startswith(str(bad))
    assert complaint in str(caught.value)
