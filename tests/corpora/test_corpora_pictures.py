"""Documents that are pictures of pages: folders and parquet files, of which PDFs are made once."""

from __future__ import annotations

import hashlib
import io
import json
import random
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pytest
from PIL import Image

from fathoms.corpora import FileSource, NamedSource, load, pull, read_questions
from fathoms.corpora.download import Policy
from fathoms.corpora.pdfs import find_pdfs
from fathoms.corpora.picture_pdf import PicturePdf, at_resolution, long_side
from fathoms.corpora.tables import rows_of
from fathoms.errors import ChecksumError, DataError
from fathoms.ingest import PageChunker
from fathoms.models import ScriptedModel
from fathoms.pipeline.pipeline import Pipeline
from fathoms.retrieve import BM25
from fathoms.runs.cache import Cache
from fathoms.types import Evidence
from tests.support.pictures import picture
from tests.support.tables import as_image, table

TABLE = "test-00000-of-00001.parquet"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def pages_of(path: Path) -> list[Any]:
    """The pages of a PDF as another reader sees them."""
    from pypdf import PdfReader

    return [*PdfReader(path, strict=True).pages]


def sizes(path: Path) -> list[tuple[float, float]]:
    return [tuple(round(side, 2) for side in page.mediabox[2:]) for page in pages_of(path)]


def test_a_pdf_of_pictures_keeps_them_and_is_the_same_each_time(tmp_path: Path) -> None:
    """A JPEG is kept byte by byte, other pictures pixel by pixel, and a page that is absent is empty."""
    jpeg = picture("page three")
    clear = picture("page one", kind="PNG", mode="RGBA", size=(200, 100))
    result = []
    for name in ("a.pdf", "b.pdf"):
        pdf = PicturePdf(tmp_path / name)
        pdf.add(3, jpeg, at_resolution(200))
        pdf.add(1, clear, long_side())
        with pytest.raises(DataError, match="cannot be read"):
            pdf.add(2, jpeg[:100], long_side())
        assert pdf.close(4) == (2, 4)
        result.append((tmp_path / name).read_bytes())
    assert result[0] == result[1]
    assert sizes(tmp_path / "a.pdf") == [(842, 421), (842, 421), (61.2, 79.2), (842, 421)]
    first, _, third, _ = pages_of(tmp_path / "a.pdf")
    assert third["/Resources"]["/XObject"]["/P"].get_object()._data == jpeg
    shown = Image.open(io.BytesIO(first.images[0].data)).convert("RGB")
    white = Image.new("RGBA", (200, 100), "white")
    white.alpha_composite(Image.open(io.BytesIO(clear)))
    assert shown.tobytes() == white.convert("RGB").tobytes()
    with pdfium.PdfDocument(tmp_path / "a.pdf") as opened:  # the reader that the parsers use draws it
        drawn = opened[2].render(scale=200 / 72).to_pil().convert("L")
        assert drawn.size[1] == 220
        darkest, lightest = drawn.getextrema()
        assert darkest < 100 < 240 < lightest
    assert list(tmp_path.glob(".*")) == [], "no unfinished file is left"


def test_a_folder_of_pictures_is_a_document(tmp_path: Path, cache: Path) -> None:
    """Double-Bench's folders: the names of the files are the page numbers, from 0."""
    docs = tmp_path / "docs" / "English" / "0786"
    docs.mkdir(parents=True)
    for number in (0, 1, 3):
        (docs / f"{number:03}.jpg").write_bytes(picture(f"page {number}"))
    (docs / "004.png").write_bytes(b"not a picture")
    named = tmp_path / "docs" / "French" / "slides"
    named.mkdir(parents=True)
    for name in ("p10.png", "p9.png"):
        (named / name).write_bytes(picture(name, kind="PNG", size=(90 if "9" in name else 100, 10)))
    found, warnings = find_pdfs(tmp_path / "docs")
    assert list(found) == ["0786.pdf", "slides.pdf"]
    assert len(pages_of(found["0786.pdf"])) == 5
    assert [page.images[0].image.width for page in pages_of(found["slides.pdf"])] == [90, 100]
    broken, absent = warnings
    assert (
        "/0786: pictures cannot be read, so their pages are empty: 1: 0786.pdf, page 5: the picture" in broken
    )
    assert absent.endswith("/0786: pages have no picture, so they are empty: 1: 0786.pdf, page 3")
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*.pdf")}
    assert find_pdfs(tmp_path / "docs") == (found, warnings)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.pdf")} == before, "made only once"
    (docs / "004.png").write_bytes(picture("page 4", kind="PNG"))
    again, warnings = find_pdfs(tmp_path / "docs")
    assert again["0786.pdf"] != found["0786.pdf"], "another picture, another PDF"
    assert len(warnings) == 1

    (tmp_path / "docs" / "real.pdf").write_bytes(b"%PDF-1.4")
    assert list(find_pdfs(tmp_path / "docs")[0]) == ["real.pdf"], "beside PDFs, pictures are only pictures"


def test_mmdocir_pages_have_the_size_that_the_annotations_state(tmp_path: Path) -> None:
    """So the boxes of the annotations, in points of `page_size`, are boxes of the PDF. A page without a box
    has the longer side that is usual in its document."""
    layout = {"page": 1, "page_size": [306.0, 396.0], "bbox": [10, 20, 300, 40]}
    fields = {"Q": "Who?", "A": "Ada", "page_id": [1], "type": "['Table']", "layout_mapping": [layout]}
    line = {
        "doc_name": "a.pdf",
        "domain": "Laws",
        "page_indices": [0, 2],
        "layout_indices": [0, 1],
        "questions": [fields],
    }
    (tmp_path / "MMDocIR_annotations.jsonl").write_text(json.dumps(line) + "\n")
    pages = [
        ("a.pdf", picture("one", size=(400, 100))),
        ("a.pdf", picture("two")),
        ("b.pdf", picture("three")),
        ("b.pdf", None),
    ]
    rows = [
        {
            "doc_name": name,
            "domain": "Laws",
            "passage_id": str(number),
            "image_path": "",
            "image_binary": data,
            "ocr_text": "",
            "vlm_text": "",
        }
        for number, (name, data) in enumerate(pages)
    ]
    table(tmp_path / "MMDocIR_pages.parquet", rows)
    corpus = load(FileSource(questions=Path("MMDocIR_annotations.jsonl"), documents=Path()), tmp_path)
    assert sizes(corpus.documents["a.pdf"]) == [(396, 99), (306, 396)]
    assert len(pages_of(corpus.documents["b.pdf"])) == 2
    assert corpus.questions[0].evidence[0].bbox == (10, 20, 300, 40)
    assert [text.partition(": ")[2] for text in corpus.warnings] == [
        "pictures cannot be read, so their pages are empty: 1: b.pdf, page 2: there is none in this row"
    ]


def test_a_document_without_a_text_layer_says_so_and_bm25_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "docs" / "0000").mkdir(parents=True)
    (tmp_path / "docs" / "0000" / "000.jpg").write_bytes(picture("The tower is 41 m tall.", size=(600, 800)))
    row = {"uid": "1", "question": "How tall is the tower?", "answer": "41 m", "reference_page": [0]}
    (tmp_path / "bench.json").write_text(json.dumps([{**row, "doc_path": "docs/x/0000"}]))
    corpus = load(FileSource(questions=Path("bench.json"), documents=Path("docs")), tmp_path)
    pipeline = Pipeline(chunk=PageChunker(), retrieve=BM25(), generate=ScriptedModel(echo=True))
    ready = pipeline.prepare(corpus.documents, Cache(tmp_path / "cache"))
    assert all(
        not hit.chunk.text.strip() for hits in ready.retrieve(corpus.questions).values() for hit in hits
    )


def vidore_v3(folder: Path) -> Path:
    """Two documents of two pages and one, two queries in two languages, graded judgements with boxes."""
    box = {"annotator": 0, "x1": 100, "y1": 200, "x2": 300, "y2": 400}
    corpus = [("report", 0, "a"), ("report", 1, "b"), ("slides/two", 0, "c")]
    table(
        folder / "corpus" / TABLE,
        [
            {
                "corpus_id": number,
                "image": as_image(picture(text)),
                "doc_id": doc,
                "markdown": text,
                "page_number_in_doc": page,
            }
            for number, (doc, page, text) in enumerate(corpus)
        ],
    )
    query = {"query_types": ["numerical"], "query_format": "question", "content_type": ["Table"]}
    table(
        folder / "queries" / TABLE,
        [
            {"query_id": 0, "query": "How many?", "language": "english", "answer": "Six.", **query},
            {"query_id": 1, "query": "Combien ?", "language": "french", "answer": "", **query},
            {"query_id": 2, "query": "Unjudged?", "language": "english", "answer": "", **query},
            {"query_id": 3, "query": " ", "language": "english", "answer": "Six.", **query},
        ],
    )
    judged = [
        (0, 1, 2, ["Table"], [box, {**box, "x2": 100}]),
        (0, 0, 1, ["N/A (If relevance score=0)"], []),
        (1, 2, 1, ["Text", "Chart"], []),
        (1, 0, 0, [], []),
        (1, 77, 1, [], []),
    ]
    table(
        folder / "qrels" / TABLE,
        [
            {
                "query_id": query,
                "corpus_id": page,
                "score": score,
                "content_type": kinds,
                "bounding_boxes": boxes,
            }
            for query, page, score, kinds, boxes in judged
        ],
    )
    return folder


def test_vidore_in_the_layout_of_beir(tmp_path: Path) -> None:
    """Grades are kept as `relevance`, pages count from 0, boxes are pixels at 200 dots an inch."""
    folder = vidore_v3(tmp_path / "vidore_v3_hr")
    corpus = load(FileSource(questions=folder, documents=folder))
    english, french = corpus.questions
    assert (english.id, english.category, english.reference) == ("0", "english", "Six.")
    assert english.evidence == (
        Evidence(document="report.pdf", page=2, relevance=2, modality="Table", bbox=(36, 72, 108, 144)),
        Evidence(document="report.pdf", page=1, relevance=1),
    )
    assert english.metadata == {
        "language": "english",
        "query_types": "numerical",
        "query_format": "question",
        "content_type": "Table",
    }
    (slides,) = [name for name in corpus.documents if name != "report.pdf"]
    assert french.evidence == (Evidence(document=slides, page=1, relevance=1),)
    assert french.reference is None, "an empty answer is none; the gold page is enough to measure retrieval"
    assert sizes(corpus.documents["report.pdf"]) == [(61.2, 79.2)] * 2
    assert [text.partition("parquet:")[2].partition(": ")[2] for text in corpus.warnings] == [
        "boxes left out, because they enclose no area: 1 (line 1)",
        "judgements of pages that are not relevant (score 0): 1 (line 4)",
        "judgements left out, because their page is not in the corpus: 1 (line 5)",
        "rows left out, because they have neither an answer nor a gold page: 1 (line 3)",
        "rows left out, because the id or the text of the query has the wrong type: 1 (line 4)",
    ]
    (folder / "qrels" / TABLE).unlink()
    with pytest.raises(DataError, match="no parquet file for qrels"):
        read_questions(folder)


def test_a_manifest_of_parquet_files_is_pulled_and_loaded(server: Any, tmp_path: Path) -> None:
    """The corpus breaks off half way and goes on; a file that changed later is refused."""
    folder = vidore_v3(tmp_path / "made")
    faults = {"corpus": [{"cut": 300}]}
    urls = {
        name: server.add(f"/{name}", (folder / name / TABLE).read_bytes(), faults=faults.get(name))
        for name in ("queries", "qrels", "corpus")
    }
    manifest = tmp_path / "parts.yaml"
    manifest.write_text(
        "name: parts\ntitle: Two reports\nlicence: none\n"
        f"questions: {{file: queries.parquet, url: '{urls['queries']}'}}\n"
        f"tables: [{{file: qrels.parquet, url: '{urls['qrels']}'}}]\n"
        f"documents: [{{file: corpus.parquet, url: '{urls['corpus']}'}}]\n"
    )
    source = NamedSource(name=str(manifest))
    with pytest.raises(DataError, match=r"run 'fathoms data pull .*parts\.yaml'"):
        load(source)
    pulled = pull(str(manifest), policy=Policy(attempts=2, first_pause=0.01), trust=True)
    assert pulled.complete
    assert server.sent("/corpus")[0] == 300
    assert sum(server.sent("/corpus")) == (folder / "corpus" / TABLE).stat().st_size
    corpus = load(source)
    assert sorted(corpus.documents) == ["report.pdf", "two.pdf"]
    assert [question.id for question in corpus.questions] == ["0", "1"]
    assert corpus.missing == ()
    (pulled.folder / "corpus.parquet").write_bytes((folder / "qrels" / TABLE).read_bytes())
    with pytest.raises(ChecksumError, match=r"corpus\.parquet: sha256 is"):
        load(source)
    (pulled.folder / "corpus.parquet").unlink()
    with pytest.raises(DataError):
        load(source)


def test_vidore_version_2_has_hyphens_and_no_page_numbers(tmp_path: Path) -> None:
    rows = [{"corpus-id": number, "image": as_image(picture(str(number)))} for number in range(2)]
    table(tmp_path / "corpus" / "test.parquet", rows)
    table(tmp_path / "queries" / "test.parquet", [{"query-id": 5, "query": "What?"}])
    table(tmp_path / "qrels" / "test.parquet", [{"query-id": 5, "corpus-id": 1, "score": 1.0}])
    corpus = load(FileSource(questions=tmp_path, documents=tmp_path))
    assert list(corpus.documents) == ["page-0.pdf", "page-1.pdf"]
    assert corpus.questions[0].evidence == (Evidence(document="page-1.pdf", page=1, relevance=1),)


def test_vidore_version_1_is_one_table(tmp_path: Path) -> None:
    """Rows with the same picture share a page, and a row without a query is only searched."""
    one, two = picture("one"), picture("two")
    rows = [
        {
            "query": "First?",
            "image": as_image(one),
            "image_filename": "images/a_1.jpg",
            "answer": "['x']",
            "source": "s",
        },
        {
            "query": "Second?",
            "image": as_image(one),
            "image_filename": "images/a_1.jpg",
            "answer": None,
            "source": "s",
        },
        {
            "query": None,
            "image": as_image(two),
            "image_filename": "images/b.jpg",
            "answer": None,
            "source": "s",
        },
    ]
    path = table(tmp_path / "data" / "test-00000-of-00001.parquet", rows)
    corpus = load(FileSource(questions=path, documents=path.parent))
    assert list(corpus.documents) == ["a_1.pdf", "b.pdf"]
    assert [question.evidence[0].document for question in corpus.questions] == ["a_1.pdf", "a_1.pdf"]
    del rows[0]["image_filename"], rows[1]["image_filename"], rows[2]["image_filename"]
    path = table(tmp_path / "unnamed" / "test.parquet", rows)
    corpus = load(FileSource(questions=path, documents=path.parent))
    assert sorted(corpus.documents) == sorted(
        f"{hashlib.sha256(data).hexdigest()[:32]}.pdf" for data in (one, two)
    )
    assert len({question.evidence[0].document for question in corpus.questions}) == 1


@pytest.mark.slow
def test_one_row_group_is_in_memory_at_a_time(tmp_path: Path) -> None:
    """Twenty rows of a megabyte that cannot be compressed, two in a row group."""
    import pyarrow

    rows = [{"corpus_id": number, "image": random.Random(number).randbytes(2**20)} for number in range(20)]
    path = table(tmp_path / "big.parquet", rows)
    del rows
    before, most, count = pyarrow.total_allocated_bytes(), 0, 0
    for row in rows_of(path, ["image"]):
        assert len(row["image"]) == 2**20
        count += 1
        most = max(most, pyarrow.total_allocated_bytes() - before)
    assert count == 20
    assert most < 8 * 2**20


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    path = table(tmp_path / "q.parquet", [{"id": 1, "text": "What?"}])
    with pytest.raises(DataError, match="no format of questions has the columns id, text"):
        read_questions(path)
    assert find_pdfs(tmp_path) == ({}, ())
    path.write_bytes(b"PAR1 but broken")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read_questions(path)
