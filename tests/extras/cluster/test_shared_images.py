"""Page images in the shared cache: rendered by one machine, found by the others."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from fathoms.errors import DocumentError
from fathoms.extras.cluster.store import FsspecStore, packed_files, unpacked_files
from fathoms.ingest import Pdfium, page_images
from tests.support.project import write_pdf


def test_page_images_of_another_machine_are_found(tmp_path: Path) -> None:
    write_pdf(path := tmp_path / "a.pdf", ["One.", "Two."])
    document = Pdfium().parse(path)
    store = FsspecStore(f"file://{tmp_path / 'shared'}")
    first = page_images(document, 20, tmp_path / "1", Pdfium(), shared=store)
    store.finish()
    path.unlink()
    second = page_images(document, 20, tmp_path / "2", Pdfium(), shared=store)
    assert {n: image.read_bytes() for n, image in first.items()} == {
        n: image.read_bytes() for n, image in second.items()
    }
    assert second.keys() == {1, 2}
    (value,) = (tmp_path / "shared" / "images").glob("*/*")
    value.write_bytes(value.read_bytes()[:-1] + b"x")
    with pytest.raises(DocumentError, match=r"a\.pdf"):  # it would have to be rendered
        page_images(document, 20, tmp_path / "3", Pdfium(), shared=store)


def archive(name: str, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of one file."""
    with zipfile.ZipFile(result := io.BytesIO(), "w", compression) as file:
        file.writestr(zipfile.ZipInfo(name), b"0" * 100, compress_type=compression)
    return result.getvalue()


def test_files_are_packed_alike_and_other_archives_are_refused(tmp_path: Path) -> None:
    for name in ("b.png", "a.png"):
        (tmp_path / name).write_bytes(name.encode())
    packed = packed_files(tmp_path.iterdir())
    assert packed is not None
    assert packed == packed_files(sorted(tmp_path.iterdir()))
    assert unpacked_files(packed) == {"a.png": b"a.png", "b.png": b"b.png"}
    assert unpacked_files(archive("1.png")) == {"1.png": b"0" * 100}
    for name in ("../1.png", "/1.png", "a/1.png", ".1.png", "", "a\\1.png", "1.png\n"):
        assert unpacked_files(archive(name)) is None, name
    assert unpacked_files(archive("1.png", zipfile.ZIP_DEFLATED)) is None
    assert unpacked_files(packed[:-30]) is None
    assert unpacked_files(b"") is None
