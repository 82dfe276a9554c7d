"""What the tests of Docling share: the parser that needs no hub, and the sample corpus converted once."""

from __future__ import annotations

import atexit
import json
import os
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from filelock import FileLock

from fathoms import hooks
from fathoms.ingest import Docling, parse_all
from fathoms.models.weights.weights import is_installed
from fathoms.types import Document

SAMPLE = Path(__file__).parent.parent.parent / "data" / "sample"
OFFLINE = Docling.model_validate(
    # one thread, because threads that wait for one another keep the CPUs busy that the tests share
    {"ocr": {"kind": "none"}, "layout": {"kind": "cdla"}, "tables": {"kind": "geometric"}, "threads": 1}
)


def needs_docling(*assets: str) -> None:
    """Skip where Docling or weights are not on this machine."""
    if "docling_offline" not in hooks.extras():
        pytest.skip("fathoms/extras/docling_offline is not there")
    if find_spec("docling") is None:
        pytest.skip("no Docling: pip install 'fathoms[docling]'")
    for asset in ("layout-cdla", *assets):
        if not is_installed(asset):
            pytest.skip(f"no weights: run 'fathoms models pull {asset}'")


@cache
def sample() -> tuple[dict[str, Document], list[tuple[int, int]]]:
    """Every sample document by the first word of its name, without OCR; and the progress that was told.

    The processes of one test run share what the first of them converted.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    path = Path(tempfile.gettempdir(), f"fathoms-docling-sample-{run}.json")
    with FileLock(f"{path}.lock"):
        if not path.exists():
            _convert_sample(path)
            atexit.register(path.unlink)
    documents, reported = json.loads(path.read_text())
    found = [Document.model_validate({**document, "native": native}) for document, native in documents]
    return {item.id.partition("-")[0]: item for item in found}, [tuple(pages) for pages in reported]


def _convert_sample(target: Path) -> None:
    """Write the documents and the progress to a file."""
    reported: list[tuple[int, int]] = []
    paths = sorted(SAMPLE.glob("*.pdf"))
    found = parse_all(OFFLINE, paths, workers=2, on_page=lambda *pages: reported.append(pages))
    documents = [(item.model_dump(mode="json"), item.native) for item in found if isinstance(item, Document)]
    target.write_text(json.dumps([documents, reported]))


def extract(folder: Path, name: str, *pages: int) -> Path:
    """A PDF of some pages of a sample document."""
    (source,) = SAMPLE.glob(f"{name}*.pdf")
    path = folder / f"{name}-{'-'.join(map(str, pages))}.pdf"
    with pdfium.PdfDocument(source) as document, pdfium.PdfDocument.new() as part:
        part.import_pages(document, [page - 1 for page in pages])
        part.save(path)
    return path


def scan(folder: Path, name: str, page: int, top: float, bottom: float) -> Path:
    """A PDF that holds a strip of a page of a sample document as a picture, cut at shares of its height.

    Reading a whole page by OCR takes half a minute.
    """
    with pdfium.PdfDocument(extract(folder, name, page)) as document:
        picture = document[0].render(scale=3, grayscale=True).to_pil()
    path = folder / f"{name}-{page}-strip.pdf"
    strip = picture.crop((0, round(top * picture.height), picture.width, round(bottom * picture.height)))
    strip.save(path, resolution=216)
    return path


def workers_of(parent: int) -> list[int]:
    """The process ids of the Docling workers that a process has."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and int(status[1]) == parent and b"fathoms.ingest.docling.worker" in command:
            found.append(int(entry.name))
    return found


def own_workers() -> list[int]:
    """The workers of this process."""
    return workers_of(os.getpid())
