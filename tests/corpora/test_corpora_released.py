"""Question files as Double-Bench, MMDocIR and MMLongBench-Doc release them, and faults in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from fathoms.corpora import FileSource, NamedSource, load, read_questions, write_questions
from fathoms.errors import DataError
from fathoms.ingest import PageChunker
from fathoms.models import LexicalEmbedder, ScriptedModel
from fathoms.pipeline.pipeline import Pipeline
from fathoms.retrieve import BM25, Dense
from fathoms.runs.cache import Cache
from fathoms.types import Evidence, Step
from tests.support.project import Project

SINGLE = {
    "uid": "0962",
    "question": "How many people lived in Yorkton in 1901?",
    "answer": "There were 700.",
    "reference_page": [3, 0],
    "source_type": "table",
    "language": "en",
    "doc_path": "docs/English/0786",
    "query_type": "Specific Information Retrieval",
    "doc_type": "HTML Pages",
}
MULTI = {
    "uid": "1110",
    "question": "What helps against what the drug of the pilot study reduces?",
    "answer": "Hormone therapy",
    "reference_page": [15, 29, 12],
    "language": "en",
    "doc_path": "docs/English/1527",
    "query_type": "Specific Information Retrieval",
    "source_type": ["text", "table"],
    "steps": [
        {"question1": "What does it reduce?", "answer1": "Hot flushes", "reference_page": []},
        {"question0": "Which drug was it?", "answer0": "Gabapentin", "reference_page": [15, 29]},
        {"question2": "What helps?", "answer2": "Hormone therapy", "reference_page": [12]},
    ],
    "doc_type": "PDF",
}


def write(path: Path, rows: list[Any]) -> Path:
    lines = path.suffix == ".jsonl"
    text = "\n".join(json.dumps(row) for row in rows) if lines else json.dumps(rows, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


def test_double_bench(tmp_path: Path) -> None:
    """Pages count from 0 in the file and from 1 here. Hops are in the order of the numbers in their keys, and
    one without a gold page stays a hop."""
    file = read_questions(write(tmp_path / "bench.json", [SINGLE, MULTI]))
    single, multi = file.questions
    assert (single.id, single.category, single.hops, single.reference) == (
        "0962",
        "single-hop",
        1,
        SINGLE["answer"],
    )
    assert single.evidence == (
        Evidence(document="0786.pdf", page=4, modality="table"),
        Evidence(document="0786.pdf", page=1, modality="table"),
    )
    assert single.files == (), "the whole corpus is searched"
    assert single.metadata["language"] == "en"
    assert (multi.category, multi.hops) == ("3-hop", 3)
    assert multi.steps == (
        Step(question="Which drug was it?", answer="Gabapentin"),
        Step(question="What does it reduce?", answer="Hot flushes"),
        Step(question="What helps?", answer="Hormone therapy"),
    )
    places = [(item.step, item.page, item.modality) for item in multi.evidence]
    assert places == [(1, 16, None), (1, 30, None), (3, 13, None)], (
        "of two kinds, it is not known which is where"
    )
    assert multi.metadata["source_type"] == "text, table"
    assert [text.partition(": ")[2] for text in file.warnings] == [
        "hops without a gold page, kept as steps without evidence: 1 (line 16)"
    ]
    # nothing is lost when the questions are converted to a file of our own
    for name in ("own.json", "own.jsonl", "own.csv"):
        write_questions(tmp_path / name, file.questions)
        assert set(read_questions(tmp_path / name).questions) == set(file.questions)
        assert read_questions(tmp_path / name).questions[-1].steps == multi.steps


def test_faults_of_double_bench_are_counted_with_their_lines(tmp_path: Path) -> None:
    rows = [
        {**SINGLE, "uid": "a", "reference_page": [2, "3", True, -1]},
        {**SINGLE, "uid": "b", "reference_page": []},
        {**SINGLE, "uid": "c", "question": 5},
        {**SINGLE, "uid": "d", "reference_page": "none", "answer": ""},
        "not a row",
        {**SINGLE, "uid": "a"},
        {**SINGLE, "uid": "f", "doc_path": None},
        {**MULTI, "uid": "g", "steps": "two"},
        {**SINGLE, "uid": "x" * 300},
    ]
    path = write(tmp_path / "bench.jsonl", rows)
    file = read_questions(path)
    assert [question.id for question in file.questions] == ["a", "b", "a-2"]
    assert file.lines == (1, 2, 6)
    assert file.warnings[:-1] == (
        f"{path}:1: gold pages left out, because they are not numbers from 0: 3 (line 1)",
        f"{path}:2: questions without a gold page: 1 (line 2)",
        f"{path}:3: rows left out, because 'question' or 'doc_path' is not a text: 2 (lines 3, 7)",
        f"{path}:4: lists of gold pages left out, because they are not lists: 1 (line 4)",
        f"{path}:4: rows left out, because they have neither an answer nor a gold page: 1 (line 4)",
        f"{path}:5: entries left out, because they are not JSON objects: 1 (line 5)",
        f"{path}:8: rows left out, because 'steps' is not a list of objects: 1 (line 8)",
        f"{path}:6: ids that an earlier row has already, so a number was added: 1 (line 6)",
    )
    assert file.warnings[-1].startswith(f"{path}:9: rows left out, because id: has 300 characters")
    with pytest.raises(DataError, match=r"contains no questions\n.*rows left out"):
        read_questions(write(tmp_path / "none.json", [{**SINGLE, "question": None}]))


def test_mmlongbench_doc(tmp_path: Path) -> None:
    """Pages count from 1, lists are written as texts, and "Not answerable" is no gold answer."""
    row = {
        "doc_id": "report.pdf",
        "doc_type": "Research report / Introduction",
        "question": "Which two groups are named?",
        "answer": "['White', '10%']",
        "evidence_pages": "[5, 22]",
        "evidence_sources": "['Chart']",
        "answer_format": "List",
    }
    rows = [
        row,
        {**row, "answer": "8", "evidence_pages": "[0, 2]", "evidence_sources": "['Chart', 'Table']"},
        {**row, "answer": "Not answerable", "evidence_pages": "[]", "answer_format": "None"},
        {**row, "evidence_pages": "[", "answer": "Less well-off", "answer_format": "Str"},
    ]
    path = write(tmp_path / "samples.json", rows)
    file = read_questions(path)
    listed, number, without, phrase = file.questions
    assert listed.answers == (("White", "10%"),)
    assert [(item.page, item.modality) for item in listed.evidence] == [(5, "Chart"), (22, "Chart")]
    assert listed.files == ("report.pdf",)
    assert str(number.answers[0][0]) == "{number: 8}"
    assert [(item.page, item.modality) for item in number.evidence] == [(2, None)]
    assert (without.answerable, without.answers, without.evidence) == (False, (), ())
    assert phrase.answers == (("Less well-off",),)
    assert [text.partition(": ")[2].partition(" (")[0] for text in file.warnings] == [
        "gold pages left out, because they are not numbers from 1: 1",
        "lists of gold pages left out, because they are not lists: 1",
        "questions without a gold page: 1",
    ]


def test_mmdocir(tmp_path: Path) -> None:
    """A line is a document with its questions. Pages count from 0; boxes are points from the top left."""
    layout = {"page": 4, "page_size": [612.0, 792.0], "bbox": [366, 229, 514, 383]}
    wanted = [
        {
            "Q": "Who?",
            "A": "Less well-off",
            "page_id": [4, 6],
            "type": "['Chart']",
            "layout_mapping": [layout],
        },
        {"Q": "Where?", "A": "", "page_id": [], "type": "[]", "layout_mapping": []},
        {
            "Q": "When?",
            "A": "1904",
            "page_id": [2],
            "type": "['Table', 'Chart']",
            "layout_mapping": [{**layout, "page": 3}, {**layout, "page": 2, "bbox": [5, 5, 5, 9]}],
        },
    ]
    line = {
        "doc_name": "PH_2016.pdf",
        "domain": "Research report",
        "page_indices": [0, 22],
        "questions": wanted,
    }
    path = write(tmp_path / "MMDocIR_annotations.jsonl", [line, {**line, "questions": None}])
    file = read_questions(path)
    who, when = file.questions
    assert (who.category, who.files, who.id) == ("Research report", ("PH_2016.pdf",), "research-report-01")
    assert who.evidence == (
        Evidence(document="PH_2016.pdf", page=5, bbox=(366, 229, 514, 383), modality="Chart"),
        Evidence(document="PH_2016.pdf", page=7, modality="Chart"),
    )
    assert when.evidence == (Evidence(document="PH_2016.pdf", page=3),)
    assert [text.partition(": ")[2].partition(" (")[0] for text in file.warnings] == [
        "rows left out, because they have neither an answer nor a gold page: 1",
        "boxes left out, because their page is not a gold page: 1",
        "boxes left out, because they are not four numbers around an area: 1",
        "documents left out, because 'doc_name' or 'questions' has the wrong type: 1",
    ]


SCRIPTS = {
    # language: question, first page (gold in the file: 0), second page
    "zh": ("最大压力是多少\uff1f", "泵的最大压力是六巴。", "灯光每十秒闪烁一次。"),
    "ja": ("灯台の高さは何メートルですか。", "灯台の高さは四十一メートルです。", "部品は毎年交換します。"),
    "ar": ("كم يبلغ ارتفاع المنارة؟", "ارتفاع المنارة واحد وأربعون مترا", "يتم تغيير المصباح كل عام"),
    "fr": (
        "Quelle est la hauteur du phare ?",
        "La hauteur du phare est de 41 mètres.",
        "La lampe change chaque année.",
    ),
}
FONTS = {"zh": "STSong-Light", "ja": "HeiseiMin-W3", "ar": "DejaVu", "fr": "DejaVu"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Double-Bench file with a question in each of four languages, over real PDFs in these languages."""
    import matplotlib

    folder = tmp_path_factory.mktemp("world")
    (folder / "docs").mkdir()
    pdfmetrics.registerFont(TTFont("DejaVu", Path(matplotlib.get_data_path()) / "fonts/ttf/DejaVuSans.ttf"))
    for font in ("STSong-Light", "HeiseiMin-W3"):
        pdfmetrics.registerFont(UnicodeCIDFont(font))
    rows = []
    for number, (language, (question, *pages)) in enumerate(SCRIPTS.items()):
        canvas = Canvas(str(folder / "docs" / f"{number:04}.pdf"))
        for page in pages:
            canvas.setFont(FONTS[language], 12)
            # a PDF holds the letters from left to right as they are seen, so Arabic from its end
            canvas.drawString(50, 700, page[::-1] if language == "ar" else page)
            canvas.showPage()
        canvas.save()
        path = f"docs/Some/{number:04}"
        rows.append(
            {
                **SINGLE,
                "uid": language,
                "question": question,
                "language": language,
                "doc_path": path,
                "reference_page": [0],
            }
        )
    rows.append({**SINGLE, "uid": "gone", "doc_path": "docs/Some/9999"})
    write(folder / "single_bench.json", rows)
    return folder


def test_both_files_of_double_bench_are_pulled_and_read(root: Path, tmp_path: Path) -> None:
    """Of one commit; the multi-hop one by its name."""
    manifest = yaml.safe_load((root / "data" / "double-bench.yaml").read_text())
    entries = [manifest["questions"], *manifest["tables"]]
    assert [entry["file"] for entry in entries] == ["single_bench.json", "multi_bench.json"]
    assert len({entry["url"].rpartition("/")[0] for entry in entries}) == 1
    folder = tmp_path / "data" / "double-bench"
    folder.mkdir(parents=True)
    for entry, row in zip(entries, (SINGLE, MULTI), strict=True):
        del entry["url"]
        write(folder / entry["file"], [row])
        (folder / str(row["doc_path"]).replace("docs/English/", "")).with_suffix(".pdf").write_bytes(b"%PDF-")
    (tmp_path / "data" / "double-bench.yaml").write_text(yaml.safe_dump(manifest))
    for chosen, category in ((None, "single-hop"), ("multi_bench.json", "3-hop")):
        source = NamedSource(name="data/double-bench.yaml", questions=chosen and Path(chosen))
        assert [one.category for one in load(source, tmp_path).questions] == [category]


@pytest.mark.slow
@pytest.mark.parametrize(
    "retriever", [BM25(top_k=1, tokenizer="auto"), Dense(top_k=1)], ids=["bm25", "dense"]
)
def test_single_hop_questions_in_four_languages_are_searched(
    world: Path, tmp_path: Path, retriever: Any
) -> None:
    source = FileSource(questions=Path("single_bench.json"), documents=Path("docs"), missing="skip")
    corpus = load(source, world)
    assert corpus.missing == ("9999.pdf",)
    assert [question.id for question in corpus.left_out()] == ["gone"]
    questions = corpus.select()
    pipeline = Pipeline(
        chunk=PageChunker(), embed=LexicalEmbedder(), retrieve=retriever, generate=ScriptedModel(echo=True)
    )
    ready = pipeline.prepare(corpus.documents, Cache(tmp_path / "cache"))
    for question, hits in zip(questions, ready.retrieve(questions).values(), strict=True):
        (gold,), (hit,) = question.evidence, hits
        assert (hit.chunk.document, hit.chunk.pages) == (gold.document, (gold.page,)), question.text


@pytest.mark.slow
def test_hops_of_the_multi_hop_file_from_the_file_to_the_figures(project: Project) -> None:
    """Rows in the form of `multi_bench.json`, and ranked pages (from 1). The first question has its first hop
    at rank 1 and its second at rank 2, of whose two pages one is not found. The second question has its first
    hop at rank 1 and its third at rank 3; no page is known of its second."""
    two_hops = {
        **MULTI,
        "uid": "two",
        "reference_page": [2, 5, 6],
        "steps": [
            {"question0": "Which drug?", "answer0": "Gabapentin", "reference_page": [2]},
            {"question1": "What helps?", "answer1": "Hormone therapy", "reference_page": [5, 6]},
        ],
    }
    ranked = {"two": (3, 7, 9), "1110": (16, 2, 13)}
    write(project.path / "multi_bench.json", [two_hops, MULTI])
    rows = [
        {"id": id, "hits": [{"document": "1527.pdf", "page": page} for page in pages]}
        for id, pages in ranked.items()
    ]
    write(project.path / "found.jsonl", rows)
    done = project.fathoms("import", "hits", "found.jsonl", "--questions", "multi_bench.json")
    assert done.returncode == 0, done.stderr
    names = ("hit@1", "hit@2", "hit@3", "hit@3-fail", "recall@3")
    done = project.fathoms("score", "latest", *(word for name in names for word in ("--metric", name)))
    assert done.returncode == 0, done.stderr
    (path,) = (project.path / "runs").glob("*/summary.json")
    metrics = json.loads(path.read_text())["metrics"]
    categories = {
        name: [metrics[name]["categories"][one]["value"] for one in ("2-hop", "3-hop")] for name in names
    }
    assert categories == {
        **{"hit@1": [0, 0], "hit@2": [1, 0], "hit@3": [1, 1], "hit@3-fail": [1, 0]},
        "recall@3": pytest.approx([2 / 3, 2 / 3]),
    }
    hops = {name: {key: part["value"] for key, part in metrics[name]["parts"].items()} for name in names[:3]}
    assert hops == {
        "hit@1": {"hop 1": 1, "hop 2": 0, "hop 3": 0},
        "hit@2": {"hop 1": 1, "hop 2": 1, "hop 3": 0},
        "hit@3": {"hop 1": 1, "hop 2": 1, "hop 3": 1},
    }
