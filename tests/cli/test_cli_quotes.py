"""The quote questions of the sample corpus, from their script to the figures: with a model that sees, and
with a small model that reads descriptions."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fathoms.models import Embedded
from fathoms.runs.run import Run
from tests.support.project import Project

pytestmark = pytest.mark.slow  # commands and a small model

ROOT = Path(__file__).parents[2]
SET = ROOT / "data" / "sample-quotes"
ROWS = json.loads((SET / "questions.json").read_text(encoding="utf-8"))
CONFIG = (ROOT / "configs" / "quotes.yaml").read_text()
WRONG = {
    # one gold picture and one that does not exist; nothing at all; the number of a picture cited as a text
    "table-01": "Moor voles. ![faults](image5) [99]",  # F1 2 * 1 / (2 + 1) = 2/3
    "text-03": "Alder.",  # 0
    "image-01": "HV 12.5 kV [8]",  # 0
    "multi-01": "2.91 t/ha ![labour](image7)",  # one of two: 2/3
}


@pytest.mark.long
def test_the_script_makes_what_is_committed() -> None:
    done = subprocess.run(
        [sys.executable, str(SET / "make.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_question_has_twenty_quotes() -> None:
    assert len(ROWS) == 20
    for row in ROWS:
        assert [quote["id"] for quote in row["quotes"]] == [
            *(f"text{n}" for n in range(1, 13)),
            *(f"image{n}" for n in range(1, 9)),
        ]
        assert 1 <= sum(quote.get("gold", False) for quote in row["quotes"]) <= 3
        for quote in row["quotes"]:
            assert ("image" in quote) == quote["id"].startswith("image")
            assert "image" not in quote or (SET / quote["image"]).is_file()


def test_a_scripted_model_that_sees_all_questions(tmp_path: Path) -> None:
    """It gives the answers of the set, but for four that are wrong in ways whose F1 is worked out above."""
    config = yaml.safe_load(CONFIG)
    config["retrieve"]["mode"] = "multimodal"
    replies = {row["question"]: WRONG.get(row["id"], row["long_answer"]) for row in ROWS}
    config |= {"generate": {"kind": "scripted", "replies": replies}, "metrics": ["mmdocrag"]}
    project = Project(tmp_path)
    project.write("quotes.yaml", yaml.safe_dump(config))
    done = project.fathoms("run", "quotes.yaml")
    assert done.returncode == 0, done.stderr
    (path,) = project.runs()
    figures = json.loads((path / "summary.json").read_text())["metrics"]
    assert figures["mmdocrag.overall-f1"]["overall"]["value"] == pytest.approx((16 + 2 * 2 / 3) / 20)
    gold = {row["id"]: {quote["id"]: quote for quote in row["quotes"]} for row in ROWS}
    for record in Run(path).records.all():
        assert record.prompt is not None
        message = record.prompt.messages[-1]
        shown = [hashlib.sha256(image.read_bytes()).hexdigest() for image in message.images]
        wanted = [
            hashlib.sha256((SET / quote["image"]).read_bytes()).hexdigest()
            for name, quote in gold[record.question.id].items()
            if name.startswith("image")
        ]
        assert shown == wanted  # in their places
        assert [part.kind for part in message.parts] == ["text", "image"] * 8 + ["text"]


@pytest.mark.long
def test_a_small_model_reads_what_is_written_in_pictures(tmp_path: Path, smollm: Embedded) -> None:
    """What it answers is its own; the prompt has every quote. A question with few quotes, because a
    prompt with all twenty takes half a minute."""
    row = next(row for row in ROWS if row["id"] == "text-05")
    few = [quote for quote in row["quotes"] if quote.get("gold") or quote["id"] in ("image1", "image5")]
    few = [{name: value for name, value in quote.items() if name != "image"} for quote in few]
    assert [quote["id"] for quote in few] == ["text8", "image1", "image5"]
    project = Project(tmp_path, cache=None)  # where the weights are
    project.write("few.json", json.dumps([{**row, "quotes": few}]))
    small = CONFIG.replace("max_tokens: 128", "max_tokens: 12").replace(
        "sample-quotes", "{questions: few.json}"
    )
    project.write("quotes.yaml", small)
    done = project.fathoms("run", "quotes.yaml", "--set", "retrieve.mode=ocr")
    assert done.returncode == 0, done.stderr
    (path,) = project.runs()
    (record,) = Run(path).records.all()
    assert record.prompt is not None
    assert record.answer is not None
    assert record.answer.text.strip()
    assert all(quote["text"] in record.prompt.context for quote in few)
    assert not record.prompt.cuts
