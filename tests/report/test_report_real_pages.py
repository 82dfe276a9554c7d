"""Pages in the report of real runs: what Docling and PDFium read of real documents, and where it stands."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest

import fathoms
from fathoms.report.html import payload
from fathoms.runs.run import Run
from tests.support.docling_samples import extract, needs_docling

pytestmark = pytest.mark.slow
DOCLING = {
    "kind": "docling",
    "ocr": {"kind": "none"},
    "layout": {"kind": "cdla"},
    "tables": {"kind": "geometric"},
}
Box = tuple[float, float, float, float]


def ran(folder: Path, path: Path, answer: str, **config: Any) -> Run:
    """A run of one question about page 1 of a PDF, whose model repeats its prompt."""
    evidence = [{"document": path.name, "page": 1}]
    question = {
        "question": "Which?",
        "id": "q",
        "files": [path.name],
        "answers": [[answer]],
        "evidence": evidence,
    }
    (folder / "questions.json").write_text(json.dumps({"Text-Only": [question]}))
    settings = {
        "name": "real",
        "data": {"questions": "questions.json", "documents": "pdfs"},
        "embed": {"kind": "lexical"},
        "retrieve": {"kind": "dense", "top_k": 50},
        "generate": {"kind": "scripted", "echo": True, "max_tokens": 100_000},
        **config,
    }
    (folder / "real.yaml").write_text(json.dumps(settings))
    return Run.scored(fathoms.run(folder / "real.yaml", out=folder / "runs").path)


def page_data(run: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    """The details of the question, and the sizes and places of its pages."""
    result = {
        one.name: one.data for one in payload([run], thumbnails=True).chunks if "picture-" not in one.name
    }
    found, pages = (json.loads(gzip.decompress(base64.b64decode(result[name]))) for name in ("d0-0", "pages"))
    return found["questions"]["q"], pages


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


@pytest.mark.long  # `test_ingest_docling_chunk.py` compares the boxes themselves
@pytest.mark.parametrize(
    "chunk", [{"kind": "sentence", "size": 96, "overlap": 16}, {"kind": "docling-hybrid"}]
)
def test_the_boxes_of_docling_s_chunks_land_on_the_text_of_the_page(
    tmp_path: Path, chunk: dict[str, Any]
) -> None:
    """Nearly all words of the chunks are among those that PDFium finds inside their boxes."""
    needs_docling()
    (tmp_path / "pdfs").mkdir()
    path = extract(tmp_path / "pdfs", "kestrel", 1, 2)
    run = ran(tmp_path, path, "Marl Queen", ingest={"kind": "docling", **DOCLING}, chunk=chunk)
    found, pages = page_data(run)
    hits = found["repeats"][0]["hits"]
    assert len(hits) > 5
    texts = [hit.text for view in run.questions() for hit in view.repeats[0].hits or ()]
    shares = []
    with pdfium.PdfDocument(path) as document:
        for hit, text in zip(hits, texts, strict=True):
            inside = ""
            for key, boxes in hit["places"].items():
                page = document[int(key.rpartition("-")[2]) - 1]
                width, height = pages["sizes"][key]
                assert boxes
                assert all(0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height for x0, y0, x1, y1 in boxes)
                reader = page.get_textpage()
                for x0, y0, x1, y1 in boxes:
                    inside += letters(reader.get_text_bounded(x0, height - y1, x1, height - y0))
            words = [word for word in map(letters, text.split()) if len(word) > 3]
            shares.append(sum(word in inside for word in words) / len(words))
    assert min(shares) > 0.5  # the caption of a figure stands beside the box of the figure
    assert sum(shares) > 0.9 * len(shares)


def test_what_the_parser_cannot_read_is_framed_where_it_is_drawn(tmp_path: Path) -> None:
    """The bar below an electron micrograph says 12.5 kV, which is no text of the file."""
    (tmp_path / "pdfs").mkdir()
    path = extract(tmp_path / "pdfs", "pelnorite", 3)
    found, pages = page_data(ran(tmp_path, path, "12.5", chunk={"kind": "page"}))
    [sheet] = [sheet for sheet in found["sheets"].values() if sheet["gold"]]
    with pdfium.PdfDocument(path) as document:
        height = document[0].get_height()
        [picture] = document[0].get_objects(filter=[pdfium.raw.FPDF_PAGEOBJ_IMAGE])
        x0, y0, x1, y1 = picture.get_bounds()
    assert pages["places"][str(sheet["drawn"])] == [[round(x) for x in (x0, height - y1, x1, height - y0)]]
    assert found["repeats"][0]["funnel"][0] | {"recall": 0} == {
        "stage": "documents",
        "recall": 0,
        "lost": "1.00",
        "gained": "0.00",
        "missed": ["12.5"],
    }
