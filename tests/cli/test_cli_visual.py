"""The sample corpus searched by text, by page images and by both, from the PDFs to the table, in one command.

The model of late interaction is a small one of the real architecture with random weights, so which page it
finds means nothing: what is printed is counted again from the hits.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from fathoms.ingest.workers.pdfium_images import LEVEL
from fathoms.runs.run import Run
from fathoms.types import Record
from tests.support.project import Project
from tests.support.tiny_pages import tiny_models

pytestmark = pytest.mark.slow  # a process that imports torch and transformers

CONFIG = Path(__file__).parents[2] / "configs" / "visual.yaml"
DPI = 24
SEEN = ("skarrow-observatory-report.pdf", 3)
"""The page with the answer to `image-03`, in a picture of a screen."""
TEXTS = ["image-01", "image-03", "image-06", "text-01", "text-07", "table-03", "table-08", "multi-07"]
QUESTIONS = {"image": "4", "table": "3", "text": "2"}
"""How many of them have evidence of each modality; `multi-07` has an image and a table."""


def picture(root: Path, folder: Path) -> str:
    """The sha256 of the picture of the page, as PDFium renders it."""
    with pdfium.PdfDocument(root / "data" / "sample" / SEEN[0]) as document:
        page = document[SEEN[1] - 1].render(scale=DPI / 72).to_pil().convert("RGB")
    page.save(folder / "seen.png", compress_level=LEVEL)
    return hashlib.sha256((folder / "seen.png").read_bytes()).hexdigest()


def counted(records: Sequence[Record]) -> dict[str, list[str]]:
    """Hit@1, hit@3 and hit@5 by modality, and the number of questions, from their hits and their evidence."""
    found = defaultdict(list)
    for record in records:
        pages = list(dict.fromkeys(place for hit in record.hits or () for place in hit.chunk.places))
        gold = defaultdict(set)
        for item in record.question.evidence:
            gold[item.modality].add((item.document, item.page))
        for modality, places in gold.items():
            found[modality].append([bool(places & set(pages[:k])) for k in (1, 3, 5)])
    return {
        modality: [*(f"{sum(row) / len(row):.2f}" for row in zip(*rows, strict=True)), str(len(rows))]
        for modality, rows in found.items()
    }


@pytest.mark.long
def test_the_sample_corpus_by_text_by_page_images_and_by_both(tmp_path: Path, root: Path) -> None:
    """By configs/visual.yaml, with small pictures, a small model, a scripted model that sees, and so many
    hits that all pages are among them."""
    project, seen = Project(tmp_path), picture(root, tmp_path)
    text = CONFIG.read_text()
    for real, small in (
        ("model: vidore/colqwen2-v1.0-hf", f"model: {tiny_models()['colqwen2']}, device: cpu"),
        ("dpi: 150", f"dpi: {DPI}"),
        ("top_k: 3", "top_k: 40"),
        ("{kind: bm25}", "{kind: bm25, top_k: 40}"),
    ):
        assert real in text
        text = text.replace(real, small)
    model = f"{{kind: scripted, pictures: {{{seen}: The screen shows gusts of 12.3 m/s.}}}}"
    before, _, after = text.partition("generate: {")
    project.write("visual.yaml", f"{before}generate: {model}{after.partition('}')[2]}")
    chosen = [part for name in TEXTS for part in ("--question", name)]
    done = project.fathoms("run", "visual.yaml", *chosen)
    assert done.returncode == 0, done.stderr

    names = [path.name for path in project.runs()]
    reported = project.fathoms("report", *names, "--all")
    rows = by_modality(reported.stdout)
    assert len(rows) == 3 * len(QUESTIONS)
    for by, path in zip(("text", "image", "both"), project.runs(), strict=True):
        records = Run(path).records.all()
        assert sorted(record.question.id for record in records) == sorted(TEXTS)
        figures = counted(records)
        assert {modality: figure[-1] for modality, figure in figures.items()} == QUESTIONS
        assert all([modality, "by", by, *figure] in rows for modality, figure in figures.items())
        if by == "image":
            assert {len(record.hits or ()) for record in records} == {27}  # all pages of the corpus
        for record in records:
            check_what_was_seen(record, seen)
        scores = json.loads((path / "summary.json").read_text())["profiles"]["fathoms"]["categories"]
        assert scores["Images"]["correctness"] == pytest.approx(1 / 3)  # the other two ask for other pages

    compared = project.fathoms("compare", *names, "--all")
    assert compared.returncode == 0, compared.stderr
    assert by_modality(compared.stdout) == rows


def by_modality(printed: str) -> list[list[str]]:
    """The rows of the table of hits by modality without their intervals; there is one such table."""
    lines = [re.sub(r" \[[^]]*\]", "", line).split() for line in printed.splitlines()]
    assert lines.count(["modality", "run", "hit@1", "hit@3", "hit@5", "n"]) == 1
    return [line for line in lines if line[1:2] == ["by"] and line[0] in QUESTIONS]


def check_what_was_seen(record: Record, seen: str) -> None:
    """The model was shown the pages in the order in which they were found, and answered by the picture."""
    assert record.hits
    assert record.prompt is not None
    assert record.answer is not None
    shown = [hashlib.sha256(image.read_bytes()).hexdigest() for image in record.prompt.messages[-1].images]
    places = [place for hit in record.hits for place in hit.chunk.places]
    assert [sha256 == seen for sha256 in shown] == [place == SEEN for place in places]
    said = "The screen shows gusts of 12.3 m/s." if seen in shown else "I don't know."
    assert record.answer.text == said
