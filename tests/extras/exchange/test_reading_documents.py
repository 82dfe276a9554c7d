"""Documents that an import is given: parsed, kept in the run, and cut chunks made whole again from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.rebuilding import rebuild
from fathoms.importers import Imported, keep, parse_folder, read_result_file
from fathoms.ingest import Pdfium, SentenceChunker
from fathoms.runs.documents import StoredDocuments
from fathoms.scoring import score_run
from fathoms.types import Chunk, Document, Hit, Page, Question, Record
from tests.support.project import write_pdf

LONG = " ".join(f"Sentence {number} is about ore." for number in range(60))
PAGE = Page(number=2, text=f"Lune\nmine.  {LONG}")
DOCUMENT = Document(id="a.pdf", path=Path("a.pdf"), sha256="", pages=(Page(number=1, text="x"), PAGE))


def imported(*chunks: Chunk) -> Imported:
    hits = tuple(Hit(chunk=chunk, score=1, rank=rank) for rank, chunk in enumerate(chunks, 1))
    question = Question(id="q", text="?", category="A", files=("a.pdf",))
    return Imported("x", None, (Record(question=question, hits=hits),), (question,))


def cut(text: str, *pages: int, document: str = "a.pdf") -> Chunk:
    return Chunk(id="c", document=document, pages=pages, text=text, whole=False)


def rebuilt(*chunks: Chunk) -> tuple[list[Chunk], str]:
    one_rebuilt = rebuild(imported(*chunks), [DOCUMENT], SentenceChunker(size=64, overlap=0))
    return [hit.chunk for hit in one_rebuilt.records[0].hits or ()], one_rebuilt.warnings[-1]


@pytest.mark.slow
def test_a_cut_chunk_is_the_piece_of_its_page_that_begins_so() -> None:
    (first, second), said = rebuilt(cut("Lune mine. Sentence 0 is ab...", 2), cut("Sentence 5 is...", 2))
    assert first.whole
    assert first.text.startswith("Lune\nmine.  Sentence 0 is about ore. Sentence 1")
    assert not second.whole  # it stands in the middle of a piece: split otherwise
    assert said == "x: 1 of 2 cut chunks were rebuilt from their pages"


@pytest.mark.slow
@pytest.mark.parametrize(
    "chunk",
    [cut("Lune mine...", 1), cut("Lune mine..."), cut("Lune mine...", 2, document="b.pdf"), cut("Sen...", 2)],
    ids=["another page", "no page", "another document", "several pieces"],
)
def test_chunks_that_cannot_be_completed_stay_cut(chunk: Chunk) -> None:
    (same,), _ = rebuilt(chunk)
    assert same == chunk


def test_whole_chunks_stay_as_they_are() -> None:
    whole = imported(Chunk(id="c", document="a.pdf", pages=(2,), text="Lune"))
    assert rebuild(whole, [DOCUMENT], SentenceChunker()) is whole


def test_a_folder_is_parsed_and_kept_with_the_run(tmp_path: Path) -> None:
    write_pdf(tmp_path / "varn.pdf", ["The tower is 41.5 m tall.", "Green."])
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    parsed = parse_folder(tmp_path, Pdfium())
    assert [document.id for document in parsed.documents] == ["varn.pdf"]
    assert (parsed.parser or "").startswith("pdfium (pypdfium2 ")
    assert any("broken.pdf" in warning for warning in parsed.warnings)
    run = keep(imported(), "d", tmp_path / "runs", parsed)
    assert run.manifest.plain()["data"]["folder"] == str(tmp_path)
    documents = StoredDocuments(run, run.manifest)
    assert [page.text.strip() for page in documents["varn.pdf"].pages] == [
        "The tower is 41.5 m tall.",
        "Green.",
    ]


def test_a_folder_without_a_readable_pdf(tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    with pytest.raises(DataError, match="contains no readable PDF"):
        parse_folder(tmp_path, Pdfium())


def test_the_funnel_of_an_import_is_an_estimate(tmp_path: Path) -> None:
    """By hand: both phrases are in the PDF, one in the prompt, none in the answer."""
    write_pdf(tmp_path / "a.pdf", ["The tower is 41.5 m tall and green."])
    response: dict[str, Any] = {
        "category": "A",
        "question": "?",
        "required_files": ["a.pdf"],
        "rag_context": ["File: a.pdf\nContent: The tower is 41.5 m"],
        "pred_answer": "I do not know.",
        "ground_truth": [["41.5", "green"]],
    }
    (tmp_path / "r.json").write_text(json.dumps({"model": "m", "responses": [response]}))
    run = keep(
        read_result_file(tmp_path / "r.json"), "d", tmp_path / "runs", parse_folder(tmp_path, Pdfium())
    )
    found = score_run(run).plain()["profiles"]["fathoms"]["funnel"]
    stages = found["categories"]["A"]
    assert [
        (stages[s]["recall"], stages[s]["lost"]) for s in ("documents", "retrieved", "prompt", "answer")
    ] == [
        (1.0, 0.0),
        (None, None),
        (0.5, 0.5),
        (0.0, 0.5),
    ]
    assert found["estimate"].startswith("pdfium")
    (view,) = run.views()
    assert view["repeats"][0]["scores"]["fathoms"]["funnel"]["missed"] == {
        "41.5": "answer",
        "green": "prompt",
    }


@pytest.mark.slow
def test_the_released_runs_lose_their_tables_to_the_cut(shared: Path, tmp_path: Path) -> None:
    """The Docling prompts hold 15,000 characters of each paper; every answer of Tables in the five papers
    here stands in the text that PDFium reads, and none in the prompts."""
    folder = shared / "fathoms-rag"
    parsed = parse_folder(folder / "papers", Pdfium(join_lines=False))  # as the authors' text
    docling = read_result_file(folder / "results" / "llama3_3-70b_Docling_with_easyOCR.json")
    found = score_run(keep(docling, "fathoms-rag", tmp_path, parsed)).plain()["profiles"]["paper"]["funnel"]
    tables = found["categories"]["Tables"]
    assert (tables["documents"]["recall"], tables["documents"]["n"]) == (1.0, 7)
    assert (tables["prompt"]["lost"], tables["prompt"]["compared"]) == (1.0, 7)

    llamaindex = read_result_file(folder / "results" / "gemma3-1b__LlamaIndex_RAG.json")
    whole = rebuild(llamaindex, parsed.documents, SentenceChunker())
    cut_before, cut_after = (
        sum(not hit.chunk.whole for record in item.records for hit in record.hits or ())
        for item in (llamaindex, whole)
    )
    assert (cut_before, cut_before / 279) == (212, pytest.approx(0.76, abs=0.005))  # 76 % of the chunks
    assert cut_after == 212 - 111
