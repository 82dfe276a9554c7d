"""The sample corpus searched by text, by page images and by both, from the PDFs to the table, in one command.

The model of late interaction is a small one of the real architecture with random weights, so which page it
finds means nothing: what is printed is counted again from the hits.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from fathoms.runs.store import Run
from fathoms.types import Record
from tests.support.project import Project
from tests.support.tiny_pages import tiny_models

pytestmark = pytest.mark.slow  # a process that imports torch and transformers

DPI = 24
ORDER = ["text", "image", "hybrid"]
SEEN = ("skarrow-observatory-report.pdf", 3)
"""The page with the answer to `image-03`, in a picture of a screen."""
ASKED = ["image-01", "image-03", "image-06", "text-01", "text-07", "table-03", "table-08", "multi-07"]
QUESTIONS = {"image": "4", "table": "3", "text": "2"}
"""How many of them have evidence of each modality; `multi-07` has an image and a table."""
CONFIG = """\
name: {name}
data: sample
chunk: {{kind: page}}
retrieve: {retrieve}
prompt: {{template: {template}}}
generate:
  kind: scripted
  pictures: {{{seen}: The screen shows gusts of 12.3 m/s.}}
"""


def retrievers() -> dict[str, str]:
    """The three retrievers; those of pages return all pages of the corpus."""
    embed = f"{{kind: multi-vector, model: {tiny_models()['colqwen2']}, device: cpu}}"
    visual = f"{{kind: visual, top_k: 40, dpi: {DPI}, embed: {embed}}}"
    return {
        "text": "{kind: bm25, top_k: 5}",
        "image": visual,
        "hybrid": f"{{kind: hybrid, top_k: 40, of: [{{kind: bm25, top_k: 40}}, {visual}]}}",
    }


def picture(root: Path, folder: Path) -> str:
    """The sha256 of the picture of the page, as PDFium renders it."""
    with pdfium.PdfDocument(root / "data" / "sample" / SEEN[0]) as document:
        document[SEEN[1] - 1].render(scale=DPI / 72).to_pil().convert("RGB").save(folder / "seen.png")
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


def test_the_sample_corpus_by_text_by_page_images_and_by_both(tmp_path: Path, root: Path) -> None:
    project = Project(tmp_path)
    seen = picture(root, tmp_path)
    for name, retriever in retrievers().items():
        template = "default" if name == "text" else "page-images"
        text = CONFIG.format(name=name, retrieve=retriever, template=template, seen=seen)
        project.write(f"{name}.yaml", text)
    chosen = [part for name in ASKED for part in ("--question", name)]
    done = project.fathoms("run", *(f"{name}.yaml" for name in ORDER), *chosen)
    assert done.returncode == 0, done.stderr

    lines = [line.split() for line in done.stdout.splitlines()]
    rows = lines[lines.index(["modality", "run", "hit@1", "hit@3", "hit@5", "n"]) :]
    for name, path in zip(ORDER, project.runs(), strict=True):
        records = Run(path).records()
        assert sorted(record.question.id for record in records) == sorted(ASKED)
        figures = counted(records)
        assert {modality: figure[-1] for modality, figure in figures.items()} == QUESTIONS
        assert all([modality, name, *figure] in rows for modality, figure in figures.items())
        (asked,) = (record for record in records if record.question.id == "image-03")
        assert asked.answer is not None
        shown = [] if asked.prompt is None else asked.prompt.messages[-1].images
        if name == "text":
            assert (shown, asked.answer.text) == ((), "I don't know.")
            continue
        # the pages were shown in the order in which they were found, and the model answers by the picture
        assert [image.name for image in shown] == [f"{hit.chunk.pages[0]:04}.png" for hit in asked.hits or ()]
        places = [place for hit in asked.hits or () for place in hit.chunk.places]
        assert hashlib.sha256(shown[places.index(SEEN)].read_bytes()).hexdigest() == seen
        assert asked.answer.text == "The screen shows gusts of 12.3 m/s."
        scores = json.loads((path / "summary.json").read_text())["profiles"]["fathoms"]["categories"]
        assert scores["Images"]["correctness"] == pytest.approx(1 / 3)  # the other two ask for other pages
