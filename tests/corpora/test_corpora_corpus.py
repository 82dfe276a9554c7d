"""Choosing questions, finding documents, and what `data:` may say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from pydantic import BaseModel, ConfigDict

from fathoms.config import read_yaml, validate
from fathoms.corpora import Corpus, DataSource, FileSource, NamedSource, load
from fathoms.corpora.pdfs import find_pdfs, gather_pdfs
from fathoms.errors import ConfigError, DataError, UsageError
from fathoms.runs.metadata import variant, variants_among
from fathoms.types import Evidence, Question


def question(name: str, category: str, *files: str, **more: Any) -> Question:
    return Question(id=name, text=name, category=category, files=files, answers=(("x",),), **more)


def corpus(*questions: Question, missing: tuple[str, ...] = ()) -> Corpus:
    categories = tuple(dict.fromkeys(q.category for q in questions))
    return Corpus("toy", questions, {}, categories, questions_sha256="", missing=missing)


TOY = corpus(
    question("t1", "Text", "a.pdf"),
    question("t2", "Text", "b.pdf"),
    question("i1", "Images", "b.pdf"),
    question("t3", "Text"),
    question("i2", "Images", "a.pdf", "c.pdf"),
    question("x1", "Cross", "a.pdf", "c.pdf"),
    question("t4", "Text", evidence=(Evidence(document="c.pdf", page=1),)),
    missing=("c.pdf",),
)


def ids(questions: tuple[Question, ...]) -> list[str]:
    return [q.id for q in questions]


def test_left_out_lists_questions_without_their_documents() -> None:
    assert ids(TOY.left_out()) == ["i2", "x1", "t4"]
    assert TOY.sizes() == {"Text": 4, "Images": 2, "Cross": 1}


def test_a_selection_without_a_limit_keeps_the_order_of_the_file() -> None:
    assert ids(TOY.select()) == ["t1", "t2", "i1", "t3"]
    assert ids(TOY.select(categories=["Text"])) == ["t1", "t2", "t3"]
    assert ids(TOY.select(ids=["t3", "t1"])) == ["t1", "t3"]


def test_a_limit_goes_round_the_categories() -> None:
    everything = ["t1", "i1", "t2", "t3"]
    for limit in range(1, 6):
        assert ids(TOY.select(limit=limit)) == everything[:limit]


@pytest.mark.parametrize(
    ("selection", "complaint"),
    [
        ({"categories": ["Image"]}, "unknown category 'Image' (did you mean 'Images'?)"),
        ({"ids": ["z9"]}, "unknown question 'z9' (available: t1, t2, i1, t3, i2, x1, t4)"),
        ({"limit": 0}, "a limit of 0 questions is not possible: it must be 1 or more"),
        ({"categories": ["Cross"]}, "the chosen questions of 'toy' need documents that are missing: c.pdf"),
        ({"categories": ["Cross"], "ids": ["t1"]}, "no question of 'toy' matches both the chosen categories"),
    ],
)
def test_a_selection_that_cannot_be(selection: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        TOY.select(**selection)
    assert str(caught.value).startswith(complaint)


def test_a_hint_among_many_names_is_short() -> None:
    many = corpus(*(question(f"text-only-{n:02d}", "Text") for n in range(93)))
    with pytest.raises(UsageError, match=r"^unknown question 'zzz'$"):
        many.select(ids=["zzz"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of documents: one at the top, two below, and what is none."""
    papers = tmp_path / "papers"
    (papers / "below").mkdir(parents=True)
    for name in ("b.pdf", "below/a.pdf", "below/C.PDF", "below/.hidden.pdf", "notes.txt", "below/c.pdf.part"):
        (papers / name).write_bytes(b"%PDF-1.7 " + name.encode())
    (papers / "folder.pdf").mkdir()
    return papers


def test_pdfs_are_found_in_all_folders_by_name(folder: Path) -> None:
    found, warnings = find_pdfs(folder)
    assert list(found.items()) == [
        ("C.PDF", folder / "below/C.PDF"),
        ("a.pdf", folder / "below/a.pdf"),
        ("b.pdf", folder / "b.pdf"),
        ("folder.pdf", folder / "folder.pdf"),  # fails by name when it is read
    ]
    assert warnings == (f"{folder}: left out, hidden: below/.hidden.pdf",)


def test_runs_reports_and_hidden_folders_are_no_documents(folder: Path) -> None:
    """`documents: .` beside `runs/`: a run has a page, a report of several runs has plots as PDFs, and an
    environment of Python brings PDFs of its own."""
    fields = {
        "runs/1_a": ("manifest.json", "journal.jsonl", "report.html"),
        "runs/reports/1_a_b": ("report.html", "report.json", "radar.pdf"),
        "out": ("report.html", "report.json", "radar.pdf"),
        ".venv/lib": ("home.pdf",),
        ".git": ("HEAD",),
    }
    for place, names in fields.items():
        (folder / place).mkdir(parents=True)
        for name in names:
            (folder / place / name).write_bytes(b"x")
    found, warnings = find_pdfs(folder)
    assert list(found) == ["C.PDF", "a.pdf", "b.pdf", "folder.pdf"]
    assert warnings == (
        f"{folder}: left out, hidden: .venv, below/.hidden.pdf",
        f"{folder}: left out, made by fathoms: out, runs/1_a, runs/reports/1_a_b",
    )
    assert gather_pdfs([folder]) == (found, warnings)


def test_the_same_document_twice_is_a_warning_and_two_of_one_name_have_their_paths(folder: Path) -> None:
    copy = folder / "below" / "b.pdf"
    copy.write_bytes((folder / "b.pdf").read_bytes())
    found, warnings = find_pdfs(folder)
    assert found["b.pdf"] == folder / "b.pdf"
    assert warnings[1:] == (f"{copy}: the same file as {folder / 'b.pdf'}, used once",)
    copy.write_bytes(b"%PDF-1.7 another")
    assert find_pdfs(folder)[0] == {
        "C.PDF": folder / "below" / "C.PDF",
        "a.pdf": folder / "below" / "a.pdf",
        "b.pdf": folder / "b.pdf",
        "below/b.pdf": copy,
        "folder.pdf": folder / "folder.pdf",
    }
    assert gather_pdfs([folder]) == find_pdfs(folder)
    assert list(gather_pdfs([folder / "b.pdf", copy])[0]) == ["b.pdf", "below/b.pdf"]


def test_reports_of_two_years_are_one_corpus(tmp_path: Path) -> None:
    for year in ("2023", "2024"):
        (tmp_path / "all" / year).mkdir(parents=True)
        (tmp_path / "all" / year / "report.pdf").write_bytes(f"%PDF-1.7 {year}".encode())
    rows = [{"question": "Which year?", "files": ["2023/report.pdf"], "answers": "2023"}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    source = FileSource(questions=Path("q.json"), documents=Path("all"))
    corpus = load(source, tmp_path)
    assert list(corpus.documents) == ["2023/report.pdf", "2024/report.pdf"]
    assert corpus.spared == {"2024/report.pdf"}
    years = [tmp_path / "all" / year for year in ("2023", "2024")]
    assert list(gather_pdfs(years)[0]) == ["2023/report.pdf", "2024/report.pdf"]
    (tmp_path / "q.json").write_text(json.dumps(rows).replace("2023/", ""))
    with pytest.raises(
        DataError, match=r"report\.pdf \(did you mean 2023/report\.pdf or 2024/report\.pdf\?\)"
    ):
        load(source, tmp_path)


@pytest.mark.parametrize(("on_disk", "in_question"), [("NFD", "NFC"), ("NFC", "NFD"), ("NFD", "NFD")])
def test_names_are_compared_in_one_form_of_unicode(tmp_path: Path, on_disk: Any, in_question: Any) -> None:
    name = "Gr\u00f6\u00dfe.pdf"
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / normalize(on_disk, name)).write_bytes(b"%PDF-1.7")
    reported = normalize(in_question, name)
    rows = [
        {
            "question": "Why?",
            "files": [reported],
            "answers": "x",
            "evidence": [{"document": reported, "page": 1}],
        }
    ]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    corpus = load(FileSource(questions=Path("q.json"), documents=Path("all")), tmp_path)
    assert list(corpus.documents) == [name]
    assert corpus.questions[0].files == (name,)
    assert corpus.questions[0].evidence[0].document == name


@pytest.fixture
def base(tmp_path: Path, folder: Path) -> Path:
    """The folder of a configuration, with questions in it."""
    rows = {"Text": [{"question": "Why?", "files": ["a.pdf"], "answers": "x"}] * 2}
    rows["Cross"] = [{"question": "Who?", "files": ["a.pdf", "z.pdf"], "answers": [["x"], []]}]
    (tmp_path / "q.json").write_text(json.dumps(rows))
    return tmp_path


def test_missing_documents_fail_or_are_left_out(base: Path, folder: Path) -> None:
    source = FileSource(questions=Path("q.json"), documents=Path("papers"))
    with pytest.raises(DataError) as caught:
        load(source, base)
    way_out = "data: {missing: skip} (--set data.missing=skip) asks the 2 of 3 questions"
    expected = f"documents are missing in {folder}: z.pdf; {way_out}"
    assert str(caught.value).startswith(expected)
    loaded = load(source.model_copy(update={"missing": "skip"}), base)
    assert (loaded.name, loaded.missing, loaded.categories) == ("q", ("z.pdf",), ("Text", "Cross"))
    assert ids(loaded.select()) == ["text-01", "text-02"]
    assert ids(loaded.left_out()) == ["cross-01"]
    assert loaded.warnings[0] == f"{base / 'q.json'}:1: variant 2 of the answers is empty, skipped"
    assert list(loaded.documents) == ["C.PDF", "a.pdf", "b.pdf", "folder.pdf"]


def test_nothing_can_be_left_out_where_nothing_else_is(base: Path) -> None:
    (base / "papers" / "below" / "a.pdf").unlink()
    source = FileSource(questions=Path("q.json"), documents=Path("papers"), missing="skip")
    with pytest.raises(DataError, match=r"documents are missing in .*papers: a\.pdf, z\.pdf$"):
        load(source, base)


def test_a_pipeline_with_its_own_documents_needs_no_folder(base: Path) -> None:
    loaded = load(FileSource(questions=base / "q.json"))
    assert (len(loaded.select()), loaded.documents, loaded.missing) == (3, {}, ())


def test_relative_paths_start_at_the_configuration(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(base)
    source = FileSource(questions=Path("q.json"), documents=Path("papers"), missing="skip")
    with pytest.raises(UsageError, match=r"elsewhere/q\.json: question file not found$"):
        load(source, base / "elsewhere")
    with pytest.raises(UsageError, match=r"elsewhere/papers: the folder of documents does not exist"):
        load(source.model_copy(update={"questions": base / "q.json"}), base / "elsewhere")


class Config(BaseModel):
    """A configuration with nothing but data."""

    model_config = ConfigDict(extra="forbid")

    data: DataSource


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("sample", NamedSource(name="sample")),
        ("fathoms-rag", NamedSource(name="fathoms-rag")),
        (
            "{name: fathoms-rag, documents: papers, missing: skip}",
            NamedSource(name="fathoms-rag", documents=Path("papers"), missing="skip"),
        ),
        (
            "{questions: q.csv, documents: papers}",
            FileSource(questions=Path("q.csv"), documents=Path("papers")),
        ),
    ],
)
def test_valid_data_sections_are_accepted(
    tmp_path: Path, text: str, source: NamedSource | FileSource
) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"data: {text}\n")
    config = validate(Config, read_yaml(path))
    assert config.data == source
    assert Config.model_validate(config.model_dump(mode="json")) == config


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("fathomsrag", "1:1: data: no data set of that name (did you mean 'fathoms-rag'?)"),
        (
            "{name: smaple}",
            "1:8: data.name: no data set of that name (did you mean 'sample'?)",
        ),
        ("3", "1:1: data: expected the name of a data set, or {questions: FILE, documents: FOLDER}"),
        ("{documents: papers}", "'data.questions' is missing"),
        ("{questions: q.json, documets: p}", "1:27: unknown key 'documets' (did you mean 'documents'?)"),
        ("{name: sample, missing: maybe}", "data.missing: input should be 'fail' or 'skip'"),
    ],
)
def test_invalid_data_sections_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"data: {text}\n")
    with pytest.raises(ConfigError) as caught:
        validate(Config, read_yaml(path))
    assert complaint in str(caught.value)
    assert str(caught.value).startswith(f"{path}:1:")


def test_an_unknown_name_without_a_configuration() -> None:
    with pytest.raises(UsageError, match=r"unknown data set 'sampel' \(did you mean 'sample'\?\)"):
        load("sampel")


def test_variants_come_with_their_originals_and_do_not_count() -> None:
    """A variant whose original is not chosen is a question like any other."""
    first, *others = TOY.questions
    typos, french = (variant(first, kind, "?") for kind in ("typos", "translated"))
    varied = replace(TOY, questions=(typos, first, *others, french))
    plain = ids(TOY.select(limit=2))
    assert ids(varied.select(limit=2)) == [plain[0], typos.id, french.id, plain[1]]
    assert ids(varied.select(limit=1, ids=[typos.id, french.id])) == [typos.id]
    assert ids(varied.select()) == [typos.id, *ids(TOY.select()), french.id]


def test_no_question_is_lost_that_names_itself_or_a_variant_as_its_original() -> None:
    names = {"a": "a", "b": "c", "c": "b", "d": "e", "e": "f", "f": None}
    questions = [question(id, "x", metadata={"variant_of": of} if of else {}) for id, of in names.items()]
    assert variants_among(questions) == ["e"]
    assert sorted(ids(corpus(*questions).select(limit=len(questions)))) == sorted(names)
