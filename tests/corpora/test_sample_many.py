"""The corpus of many small documents is what its script makes it, and its table is true of it."""

import csv
import subprocess
import sys

import pypdfium2
import pytest

from fathoms.corpora import data_dir, read_questions, verify
from tests.support.extras import needs_extra

pytestmark = pytest.mark.slow  # a process of its own, and 60 documents
MANY = data_dir() / "sample-many"


@pytest.mark.long
@needs_extra("questions")
def test_a_rebuild_gives_the_committed_bytes() -> None:
    command = [sys.executable, str(MANY / "make.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all files are as their sources make them\n"), done.stderr


def test_the_manifest_pins_the_committed_bytes_which_are_few() -> None:
    reports = verify("sample-many")
    assert len(reports) == 61
    assert {report.state for report in reports} == {"verified"}
    assert sum(path.stat().st_size for path in MANY.iterdir() if path.is_file()) < 250_000


def test_every_fact_stands_on_the_page_of_its_document() -> None:
    texts: dict[str, str] = {}
    with (MANY / "facts.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name = row["document"]
            if name not in texts:
                with pypdfium2.PdfDocument(MANY / name) as pdf:
                    assert len(pdf) == 1
                    texts[name] = " ".join(pdf[0].get_textpage().get_text_bounded().split())
            assert f"{row['value']} {row['unit']}".strip() in texts[name], row
    assert len(texts) == 60


def test_it_has_twenty_questions_over_many_documents_by_seven_rules() -> None:
    questions = read_questions(MANY / "questions.json").questions
    assert len(questions) == 20
    assert {one.metadata["rule"] for one in questions} == {
        *("count", "list", "sum", "argmax", "compare", "changed", "contradiction")
    }
    assert all(len(one.gold_documents) >= 6 for one in questions)
