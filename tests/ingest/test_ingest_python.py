"""`ingest: {kind: python}`: a parser of somebody's own, in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.errors import ConfigError, DocumentError
from fathoms.ingest import PythonParser, parse_in_child
from tests.support import damage

PARSER = """\
def read(path, options):
    deed = options.get("deed")
    if deed == "raise":
        raise ValueError("no such colour")
    if deed == "refuse":
        return {"error": "is written in invisible ink"}
    if deed == "half":
        return {"error": ["why"]}
    if deed == "none":
        return None
    if deed == "misspelt":
        return {"page": []}
    if deed == "bytes":
        return {"pages": [{"text": 3}]}
    last = f"at most {options['max_pages']}"
    return {
        "pages": [{"text": "one", "pictures": 2}, {"text": None}, {"text": last}],
        "warnings": ["the ink is pale"],
    }
"""


@pytest.fixture
def pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd_parser.py").write_text(PARSER)
    path = tmp_path / "any.pdf"
    path.write_bytes(damage.sound())
    return path


def test_pages_keep_their_numbers(pdf: Path) -> None:
    document = parse_in_child(PythonParser(target="odd_parser", max_pages=7), pdf)
    assert [page.text for page in document.pages] == ["one", "", "at most 7"]
    assert [len(page.elements) for page in document.pages] == [2, 0, 0]
    assert document.warnings == ("the ink is pale", "page 2 could not be read")


def test_it_reads_the_same_in_this_process(pdf: Path) -> None:
    parser = PythonParser(target="odd_parser")
    assert parser.parse(pdf) == parse_in_child(parser, pdf)


@pytest.mark.parametrize(
    ("deed", "reason", "words"),
    [
        ("raise", "damaged", "ValueError: no such colour"),
        ("refuse", "damaged", "is written in invisible ink"),
        ("half", "crash", "odd_parser.read: error: Input should be a valid string"),
        ("none", "crash", "odd_parser.read: what it returned: Input should be a valid dictionary"),
        ("misspelt", "crash", "odd_parser.read: page: Extra inputs are not permitted"),
        ("bytes", "crash", "odd_parser.read: pages.0.text: Input should be a valid string"),
    ],
)
def test_what_goes_wrong_is_said_of_the_file(pdf: Path, deed: str, reason: str, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_in_child(PythonParser(target="odd_parser", options={"deed": deed}), pdf)
    assert caught.value.reason == reason
    assert words in caught.value.detail


def test_the_identity_holds_the_source_and_the_options(pdf: Path) -> None:
    parser = PythonParser(target="odd_parser")
    before = parser.identity()
    assert before == PythonParser(target="odd_parser", timeout=3).identity()
    assert before != PythonParser(target="odd_parser", options={"deed": ""}).identity()
    (pdf.parent / "odd_parser.py").write_text(PARSER + "\n")
    assert before != parser.identity()


def test_a_module_of_a_package_is_found_without_running_the_package(pdf: Path) -> None:
    package = pdf.parent / "odd_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('run')")
    (package / "reader.py").write_text(PARSER)
    (pdf.parent / "reader.py").write_text("")  # another one
    parser = PythonParser(target="odd_package.reader")
    assert parser.reader_file() == str((package / "reader.py").resolve())
    assert parse_in_child(parser, pdf).pages[0].text == "one"
    with pytest.raises(ConfigError, match="there is no module"):
        PythonParser(target="odd_package.no_reader").require()


@pytest.mark.parametrize("target", ["no_such_parser", "no.such.parser", "sys"])
def test_a_module_that_is_not_there(pdf: Path, target: str) -> None:
    with pytest.raises(ConfigError, match=f"there is no module '{target}' in {pdf.parent}"):
        PythonParser(target=target).require()
