"""Damaged PDFs do not lose text silently, hostile ones end within limits, and what is no PDF is named."""

from __future__ import annotations

import os
import re
import runpy
import time
import zlib
from pathlib import Path

import pytest

from fathoms.errors import DocumentError
from fathoms.ingest import Pdfium, page_images, parse_all, parse_in_child
from fathoms.ingest.parsers import missing_text
from fathoms.types import Document
from tests.support import damage
from tests.support.project import Project, write_pdf

pytestmark = pytest.mark.slow  # processes of their own

SAMPLES = Path(__file__).parents[2] / "data" / "sample"
LIMITS = Pdfium(timeout=5, memory_mb=512)
FLATE = b"/Filter /FlateDecode"


def parsed(path: Path, data: bytes) -> Document:
    path.write_bytes(data)
    return parse_in_child(LIMITS, path)


def packed(pages: int = 4) -> dict[int, bytes]:
    """The objects of a PDF whose pages have long, compressed contents."""
    found = damage.objects(pages)
    for number in range(5, 5 + 2 * pages, 2):
        lines = b"".join(b"(Line %d of %d, %d.) ' " % (n, number, n * n * 7919) for n in range(600))
        content = zlib.compress(b"BT /F1 12 Tf 12 TL 72 700 Td " + lines + b"ET")
        found[number] = damage.stream(content, FLATE)
    return found


def loss(document: Document) -> str:
    return " ".join(warning for warning in document.warnings if "may be missing" in warning)


def test_damaged_content_is_warned_of_with_an_estimate(tmp_path: Path) -> None:
    objects = packed()
    assert not loss(parsed(tmp_path / "sound.pdf", damage.build(objects)))
    half = len(objects[7]) // 2
    objects[7] = objects[7][:half] + b"\xff" * 40 + objects[7][half + 40 :]
    reported = loss(parsed(tmp_path / "half.pdf", damage.build(objects)))
    share = re.match(
        r"about (\d+) % of the text may be missing: the content of 1 of 4 pages is damaged(;|$)", reported
    )
    assert share
    assert 5 < int(share[1]) < 25


def test_text_that_is_not_compressed_is_looked_at_too(tmp_path: Path) -> None:
    data = damage.sound().replace(b"(Herring number 2 swims.) Tj", b"\x93\x8e\xf1" * 9 + b"\0")
    assert "the content of 1 of 3 pages is damaged" in loss(parsed(tmp_path / "noise.pdf", data))


@pytest.mark.parametrize("string", [b"(a)", b"<41>"])
def test_a_word_that_is_no_operator_counts_wherever_it_stands(string: bytes) -> None:
    sound, noisy = b"BT %b Tj ET\n" % string, b"BT %b Tj noise ET\n" % string
    assert missing_text._not_content(sound * 6) == 0
    assert missing_text._not_content(sound + noisy * 3) == 3 * 5 / (len(sound) + 3 * len(noisy))


def test_missing_page_resources_are_warned_of(tmp_path: Path) -> None:
    objects = damage.objects()
    lacking = {number: body for number, body in objects.items() if number != 7}
    assert "33 % of the text" in loss(parsed(tmp_path / "content.pdf", damage.build(lacking)))
    misspelt = objects | {6: objects[6].replace(b"/Contents", b"/Content~")}
    reported = loss(parsed(tmp_path / "misspelt.pdf", damage.build(misspelt)))
    assert "33 % of the text may be missing: 1 of 3 pages have fonts and no content" in reported
    renamed = packed() | {5: packed()[5].replace(b"/FlateDecode", b"/FlateDecod~")}
    assert "25 % of the text" in loss(parsed(tmp_path / "filter.pdf", damage.build(renamed)))


def test_a_second_parser_says_how_much_more_it_reads(tmp_path: Path) -> None:
    pytest.importorskip("pymupdf")
    objects = damage.objects()
    lacking = {number: body for number, body in objects.items() if number != 7}
    assert "; PyMuPDF reads no more" in loss(parsed(tmp_path / "content.pdf", damage.build(lacking)))
    assert not parsed(tmp_path / "sound.pdf", damage.sound()).warnings


def test_pages_that_the_file_claims_but_lacks_are_warned_of(tmp_path: Path) -> None:
    kids = b"<< /Type /Pages /Kids [4 0 R] /Count 1 /Was << /Type /Pages /Count 4 >> >>"
    found = parsed(tmp_path / "fewer.pdf", damage.build(damage.objects(1) | {2: kids}))
    assert "the file claims 4 pages" in " ".join(found.warnings)


def test_sound_files_are_not_warned_of(shared: Path) -> None:
    papers = sorted((shared / "fathoms-rag" / "papers").glob("*.pdf"))
    paths = [*sorted(SAMPLES.glob("*.pdf")), *papers]
    for document in parse_all(Pdfium(), paths, workers=2):
        assert isinstance(document, Document)
        assert not loss(document)


def test_a_warning_reaches_ingest_doctor_and_the_run(project: Project) -> None:
    path = project.path / "pdfs" / "varn.pdf"
    path.write_bytes(damage.build(damage.objects() | {6: damage.page(99)}))
    said = "varn.pdf: about 33 % of the text may be missing"
    assert said in project.fathoms("ingest", "tiny.yaml").stdout
    assert said in project.fathoms("doctor", "tiny.yaml").stdout
    done = project.fathoms("run", "tiny.yaml")
    assert said in " ".join(done.stdout.split())  # in the notes of the funnel
    project.fathoms("report", "latest", "--to", "told")
    assert said in "".join(path.read_text() for path in (project.path / "told").rglob("*.html"))


def test_fifos_and_folders_named_pdf_are_named_failures(project: Project) -> None:
    folder = project.path / "pdfs"
    (folder / "gone.pdf").symlink_to("nowhere.pdf")
    os.mkfifo(folder / "pipe.pdf")
    (folder / "folder.pdf").mkdir()
    if os.geteuid():  # root may read every file
        write_pdf(folder / "locked.pdf", ["Nobody may read this."])
        (folder / "locked.pdf").chmod(0)
    stopped = project.fathoms("doctor", "tiny.yaml")
    assert stopped.returncode == 0  # no question names one of them
    assert "not read: folder.pdf: is a folder" in stopped.stdout
    for command in ("ingest", "doctor"):
        skipped = project.fathoms(command, "tiny.yaml", "--set", "ingest.on_error=skip")
        assert "not read: gone.pdf: there is no file" in skipped.stdout
        assert "not read: pipe.pdf: is not a regular file" in skipped.stdout
        assert "not read: folder.pdf: is a folder" in skipped.stdout
        assert ("not read: locked.pdf: cannot be opened" in skipped.stdout) is bool(os.geteuid())


def nested_filters(levels: int = 2000) -> bytes:
    """A content stream in thousands of filters."""
    return damage.one_page(damage.stream(zlib.compress(b""), b"/Filter [%b]" % (b"/FlateDecode " * levels)))


def deep_tree(depth: int = 20_000) -> bytes:
    """A page tree of many levels with one page."""
    tree = {
        n: b"<< /Type /Pages /Parent %d 0 R /Kids [%d 0 R] /Count 1 >>" % (n - 1, n + 1)
        for n in range(6, depth)
    }
    leaf = {depth: damage.page(5)}
    root = b"<< /Type /Pages /Kids [6 0 R] /Count 1 >>"
    return damage.build(damage.objects(1) | tree | leaf | {2: root})


def circular() -> bytes:
    """A content, a length and resources that refer to themselves."""
    stream = b"<< /Length 5 0 R >>\nstream\nBT ET\nendstream"
    return damage.one_page(stream, o4=damage.page(5, b"/Font 6 0 R"), o6=b"6 0 R")


def test_hostile_files_end_in_a_result_or_a_named_failure(tmp_path: Path) -> None:
    files = {
        "bomb": damage.bomb(gib=1),
        "filters": nested_filters(),
        "deep": deep_tree(),
        "circular": circular(),
        "broken": damage.sound().replace(b"endobj", b"").replace(b"obj", b"obj " * 5000),
    }
    paths = []
    for name, data in files.items():
        paths.append(tmp_path / f"{name}.pdf")
        paths[-1].write_bytes(data)
    for path, found in zip(paths, parse_all(LIMITS, paths, workers=2), strict=True):
        if isinstance(found, DocumentError):
            assert found.reason in {"memory", "timeout", "damaged", "empty"}, (path.name, found)
        else:
            assert len(found.pages) <= 3


def test_a_title_cannot_steer_a_terminal(tmp_path: Path) -> None:
    info = b"<< /Title (\x1b]0;owned\x07\x1b[2J\\000) >>"
    data = damage.build(damage.objects() | {20: info}, b"/Root 1 0 R /Info 20 0 R")
    data = data.replace(b"(Herring number 1 swims.)", b"(Herring \x1b[2J\\000 swims.)")
    found = parsed(tmp_path / "title.pdf", data)
    assert not set("\x1b\0\x07") & set(found.model_dump_json() + "".join(page.text for page in found.pages))


def test_a_page_of_kilometres_is_rendered_within_bounds(tmp_path: Path) -> None:
    data = damage.sound(1).replace(b"[0 0 612 792]", b"[0 0 14400000 14400000]")
    document = parsed(tmp_path / "huge.pdf", data)
    images = page_images(document, 300, tmp_path / "images", Pdfium(timeout=20, memory_mb=1024))
    assert all(image.stat().st_size < 2**24 for image in images.values())


def test_looking_through_a_file_takes_time_in_proportion_to_its_size() -> None:
    scan = runpy.run_path(str(missing_text.__file__))["scan"]
    for piece in (
        b"1 0 obj ",
        b"stream\n",
        b"(",
        b"<",
        b"1 0 R ",
        b"/Kids [",
        b"(\\(",
        b"/Filter [",
        b"/Font <<",
        b"4 0 obj<</Contents 4 0 R/Type/Page>>stream\n(",
    ):
        seconds = []
        for size in (2**16, 2**18):
            data = b"%PDF-1.7\n1 0 obj " + piece * (size // len(piece))
            started = time.process_time()
            scan(data)
            seconds.append(time.process_time() - started)
        assert seconds[1] < 12 * max(seconds[0], 0.01), piece
