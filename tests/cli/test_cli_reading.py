"""The readings of configs/reading.yaml from one command: text, picture, both, a description, and OCR."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from fathoms.paths import cache_dir
from tests.support.docling_samples import needs_docling, scan
from tests.support.project import write_project
from tests.support.seer import seeing

pytestmark = pytest.mark.slow  # Docling reads a strip of a page by OCR

CONFIG = Path(__file__).parents[2] / "configs" / "reading.yaml"
TEXT = "Describe this picture"
SEEN = "The next docking is due by 30 April 2024."
QUESTION = {
    "id": "image-05",
    "question": "By what date must the next docking of the Merrow Star take place?",
    "answers": [["30 april 2024"]],
    "evidence": [{"document": "strip.pdf", "page": 1}],
}


def reads(pictures: list[bytes], text: str) -> str:
    """What the server's model says: what is on the strip if it is shown it, else what the text has of it."""
    for picture in pictures:
        with Image.open(io.BytesIO(picture)) as image:
            assert image.width * image.height <= 1_000_000
            assert image.width > 3 * image.height, "the strip, not another picture"
    if pictures and (TEXT in text or "Merrow Star" in text):
        return SEEN
    return "30 April 2024" if "30 April 2024" in text else "I do not know."


@pytest.mark.long
def test_five_readings_of_a_page_that_is_a_picture(tmp_path: Path) -> None:
    """The certificate of the sample's ferry audit, of which a PDF holds only the picture: a model gets its
    date from the picture, from a description, or from OCR, and not from the text of the PDF."""
    needs_docling("easyocr-en")
    project = write_project(tmp_path)
    project.path.joinpath("cache").mkdir()
    project.path.joinpath("cache", "models").symlink_to(cache_dir() / "models")
    (project.path / "scans").mkdir()
    scan(project.path, "tallowmere", 6, 0.515, 0.565).rename(project.path / "scans" / "strip.pdf")
    project.write("one.json", json.dumps([{**QUESTION, "category": "Images"}]))
    with seeing(reads, usage=(1000, 10)) as seer:
        price = "price: {input: 1000, output: 5000}"
        model = f'{{kind: openai-compatible, base_url: "{seer.address}/v1", model: seer, {price}}}'
        text = CONFIG.read_text().replace("scale: 2.0", "scale: 1.5")
        text = text.replace("kind: docling\n", "kind: docling\n        threads: 1\n")
        text = text.replace("data: sample", "data: {questions: one.json, documents: scans}")
        before, _, after = text.partition("generate: &reader {")
        project.write("reading.yaml", f"{before}generate: &reader {model}{after.partition('}')[2]}")
        done = project.fathoms("run", "reading.yaml", timeout=300)
        assert done.returncode == 0, done.stderr
    rows = project.json("ls", "--sweep")
    assert {row["cell"]["reading"]: row["correctness"] for row in rows} == {
        "text": 0,
        "picture": 1,
        "beside": 1,
        "describe": 1,
        "ocr": 1,
    }
    costs = {row["cell"]["reading"]: row["cost"] for row in rows}
    assert costs == {name: pytest.approx(2.10 if name == "describe" else 1.05) for name in costs}
    shown = [(len(pictures), TEXT in text) for pictures, text in seer.seen]
    assert sorted(shown) == [(0, False)] * 3 + [(1, False)] * 2 + [(1, True)]
    parts = project.json("show", "reading describe")["summary"]["usage_by_purpose"]
    assert {name: (part["calls"], part["prompt_tokens"]) for name, part in parts.items()} == {
        "answer": (1, 1000),
        "describe": (1, 1000),
    }
