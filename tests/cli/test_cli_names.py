"""Names of documents from end to end: paths where file names repeat, and both spellings of Unicode."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest

from fathoms.runs.run import Run
from tests.support.project import CONFIG, Project, write_pdf

pytestmark = pytest.mark.slow  # whole commands

SIZES = normalize("NFC", "Gr\u00f6\u00dfe.pdf")
OTHER = normalize("NFD", SIZES)
SERVICE = f"""
from fathoms import Answer, Context


def answer(question):
    text = "The Varn tower is 41.5 m tall."
    place = "/srv/2024/report.pdf" if "2024" in question else "/srv/{OTHER}"
    return Answer(answer="It is 41.5 m tall.", contexts=[Context(text=text, document=place, page=1)])
"""


@pytest.fixture
def named(project: Project) -> Project:
    """A corpus of two reports with one name, and of a document whose name is spelled in NFD on the disk."""
    for path in (project.path / "pdfs").iterdir():
        path.unlink()
    texts = {"2023/report.pdf": "It was 40 m tall.", "2024/report.pdf": "The Varn tower is 41.5 m tall."}
    for name, text in {**texts, OTHER: "It has seven bells."}.items():
        (project.path / "pdfs" / name).parent.mkdir(exist_ok=True)
        write_pdf(project.path / "pdfs" / name, [text])
    write_pdf(project.path / "pdfs" / ".hidden.pdf", ["Nothing."])
    rows = [
        {
            "question": f"How tall is the Varn tower ({name[:4]})?",
            "files": [name],
            "answers": [answer],
            "evidence": [{"document": name, "page": 1}],
        }
        for name, answer in (("2024/report.pdf", "41.5"), (SIZES, "seven"))
    ]
    project.write("questions.json", json.dumps(rows))
    return project


def found_in(project: Project) -> set[str]:
    """The names of the documents of all hits of the last run."""
    records = Run(project.runs()[-1]).records.all()
    return {hit.chunk.source for record in records for hit in record.hits or ()}


def test_names_are_the_same_in_every_command(named: Project) -> None:
    ingested = named.fathoms("ingest", "tiny.yaml", "--recall")
    assert ingested.returncode == 0, ingested.stderr
    assert "3 documents" in ingested.stdout
    assert "left out, hidden: .hidden.pdf" in ingested.stderr
    assert "1.00 (2)" in ingested.stdout
    checked = named.fathoms("questions", "check", "questions.json", "pdfs", "--ignore", "few-questions")
    assert checked.returncode == 0, checked.stdout
    assert "left out, hidden: .hidden.pdf" in checked.stderr
    whole = ["--set", "retrieve={kind: whole-document}"]
    assert named.fathoms("run", "tiny.yaml", *whole).returncode == 0
    assert found_in(named) == {"2024/report.pdf", SIZES}
    own = CONFIG.split("chunk:")[0] + "pipeline: {kind: python, target: 'service:answer'}\n"
    named.write("own.yaml", own)
    named.write("service.py", SERVICE)
    done = named.fathoms("run", "own.yaml")
    assert done.returncode == 0, done.stdout
    assert found_in(named) == {"2024/report.pdf", SIZES}


def test_imported_hits_are_of_the_same_documents(named: Project) -> None:
    hits = [
        {"question": f"How tall is the Varn tower ({name[:4]})?", "hits": [{"document": place, "page": 1}]}
        for name, place in (("2024/report.pdf", "x/2024/report.pdf"), (SIZES, OTHER))
    ]
    named.write("hits.jsonl", "\n".join(map(json.dumps, hits)))
    done = named.fathoms("import", "hits", "hits.jsonl", "--questions", "questions.json")
    assert done.returncode == 0, done.stderr
    assert found_in(named) == {"2024/report.pdf", SIZES}
