"""Damaged and hostile PDFs: each ends in a document or in a named reason, within its limits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fathoms.errors import DocumentError
from fathoms.ingest import Pdfium, PdfParser, PyMuPDF, parse_all, parse_in_child
from tests.support import damage

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

KINDS: dict[str, type[PdfParser]] = {"pdfium": Pdfium, "pymupdf": PyMuPDF}


@pytest.fixture(params=KINDS)
def parser(request: pytest.FixtureRequest) -> PdfParser:
    if request.param == "pymupdf":
        pytest.importorskip("pymupdf")
    return KINDS[request.param](timeout=60, memory_mb=512)


def outcomes(parser: PdfParser, *paths: Path) -> list[str]:
    """Of each file `read`, or the reason of the error, which must be a sentence that can be acted on."""
    result = []
    for path, found in zip(paths, parse_all(parser, paths, workers=1), strict=True):
        if isinstance(found, DocumentError):
            assert str(found) == f"{path.name}: {found.detail}"
            assert ";" in found.detail, "a detail says what is wrong; then what to do"
        else:
            assert found.pages
        result.append(found.reason if isinstance(found, DocumentError) else "read")
    return result


def test_damage_ends_in_a_document_or_a_reason(parser: PdfParser, tmp_path: Path) -> None:
    ends: dict[str, str] = {}
    for seconds in {damage.time_limit(name) for name in damage.FILES}:
        names = [name for name in damage.FILES if damage.time_limit(name) == seconds]
        limited = parser.model_copy(update={"timeout": seconds})
        paths = [damage.write(tmp_path, name) for name in names]
        ends |= dict(zip(names, outcomes(limited, *paths), strict=True))
    assert {name: end for name, end in ends.items() if end not in damage.FILES[name][1]} == {}


@pytest.mark.parametrize("name", ["wrong-offsets", "wrong-startxref", "endless-prev"])
def test_what_can_be_repaired_is_read_whole_with_a_warning(
    name: str, parser: PdfParser, tmp_path: Path
) -> None:
    document = parse_in_child(parser, damage.write(tmp_path, name))
    assert [page.text.strip() for page in document.pages] == [f"Herring number {n} swims." for n in (1, 2, 3)]
    assert document.warnings


BOMB = """
import resource, sys
from pathlib import Path
from fathoms.errors import DocumentError
from fathoms.ingest import Pdfium, PyMuPDF, parse_in_child
parser = {"pdfium": Pdfium, "pymupdf": PyMuPDF}[sys.argv[1]](timeout=3, memory_mb=256)
try:
    parse_in_child(parser, Path(sys.argv[2]))
except DocumentError as error:
    print(error.reason, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce a limit on address space")
@pytest.mark.parametrize("name", ["bomb-of-text", "laughing-forms"])
def test_a_bomb_takes_no_more_memory_than_it_is_given(name: str, parser: PdfParser, tmp_path: Path) -> None:
    path = damage.write(tmp_path, name)
    command = [sys.executable, "-c", BOMB, parser.kind, str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert answer[0] in {"memory", "timeout"}
    library = 200
    assert int(answer[1]) < 256 + library


def test_bombs_are_small(tmp_path: Path) -> None:
    assert damage.write(tmp_path, "bomb-of-text").stat().st_size < 10_000


def test_a_folder_is_not_a_pdf(tmp_path: Path) -> None:
    (tmp_path / "folder.pdf").mkdir()
    assert outcomes(Pdfium(), tmp_path / "folder.pdf") == ["not-a-pdf"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pdf")
    assert outcomes(Pdfium(), tmp_path / "pipe.pdf") == ["not-a-pdf"]


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    assert outcomes(Pdfium(), tmp_path / "nowhere.pdf") == ["missing"]


def test_a_link_to_itself_is_missing(tmp_path: Path) -> None:
    (tmp_path / "loop.pdf").symlink_to(tmp_path / "loop.pdf")
    assert outcomes(Pdfium(), tmp_path / "loop.pdf") == ["missing"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "secret.pdf"
    path.write_bytes(damage.sound())
    path.chmod(0)
    assert outcomes(Pdfium(), path) == ["missing"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems forbid such names")
def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/h\xe9.pdf"))
    path.write_bytes(damage.sound())
    with pytest.raises(DocumentError, match="not valid UTF-8"):
        parse_in_child(Pdfium(), path)


def test_an_odd_but_valid_name_is_read(tmp_path: Path) -> None:
    path = tmp_path / "-~ höring\n$(x).pdf"
    path.write_bytes(damage.sound())
    assert outcomes(Pdfium(), path) == ["read"]
