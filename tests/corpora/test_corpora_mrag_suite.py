"""The data sets of MRAG-Suite, in small files in their formats with made-up content."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.corpora import FileSource, NamedSource, load, pull, read_questions
from fathoms.errors import DataError, UsageError
from fathoms.models.chat.media import image_type
from fathoms.retrieve import Index, Quotes
from fathoms.types import GoldNumber, Quote
from tests.support.pictures import picture
from tests.support.tables import as_image, table

MOTH = {
    "images": {
        "00001_Animalia_Moth/a.jpg": 0,
        "00001_Animalia_Moth/b.jpg": 1,
        "00001_Animalia_Moth/c.jpg": 0,
    },
    "question": "What colour are the hind wings of the grey moth?",
    "answer": ["orange", "orange-red"],
    "sn": "Mothus griseus",
}
KITE = {
    "Q": '"Which kite has more tails?"',
    "A": ['"The red kite has more tails than the blue one."'],
    "topic": "kites",
    "split": "val",
    "Qcate": "choose",
    "img_posFacts": [
        {"image_id": 30000001, "title": "Red kite", "caption": "A red kite.", "url": "u", "imgUrl": "i"},
        {"image_id": 30000002, "title": "Blue kite", "caption": "", "url": "u", "imgUrl": "i"},
    ],
    "img_negFacts": [
        {"image_id": 30000003, "title": "Bird", "caption": "A bird.", "url": "u", "imgUrl": "i"}
    ],
    "txt_posFacts": [],
    "txt_negFacts": [
        {"title": "Kites", "fact": "Kites fly.", "url": "u", "snippet_id": "d5_1_0"},
        {"title": "x"},
    ],
}


def test_visual_rag_labels_pictures(tmp_path: Path) -> None:
    """A picture with label 1 shows the answer; any of the answers is accepted."""
    path = tmp_path / "v2_anno.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in (MOTH, {**MOTH, "images": {}, "sn": "Mothus"})))
    (tmp_path / "00001_Animalia_Moth").mkdir()
    for name in ("a", "b"):
        (tmp_path / "00001_Animalia_Moth" / f"{name}.jpg").write_bytes(b"jpeg")
    file = read_questions(path)
    (question,) = file.questions
    assert question.answers == (("orange",), ("orange-red",))
    assert (question.short_answer, question.metadata) == ("orange", {"species": "Mothus griseus"})
    assert [(quote.id, quote.gold) for quote in question.quotes] == [
        ("image1", False),
        ("image2", True),
        ("image3", False),
    ]
    assert load(FileSource(questions=path)).questions[0].quotes[1].image == (
        tmp_path.resolve() / "00001_Animalia_Moth" / "b.jpg"
    )
    assert [text.partition(": ")[2] for text in file.warnings] == [
        "pictures of quotes that are not there, which 'mode: multimodal' needs: 1 (line 1):"
        " 00001_Animalia_Moth/c.jpg",
        "rows left out, because 'question' is not a text, or there are no pictures: 1 (line 2)",
    ]


def test_visual_rag_in_parquet_keeps_the_pictures_of_rows_apart(tmp_path: Path) -> None:
    """In parquet, the objects of a column have the keys of all rows, with null for those of others."""
    hawk = {**MOTH, "images": {"00002_Animalia_Hawk/a.jpg": 1}, "sn": "Hawkus"}
    moth, other = read_questions(table(tmp_path / "v2.parquet", [MOTH, hawk])).questions
    assert [str(quote.image) for quote in moth.quotes] == list(MOTH["images"])
    assert [(quote.id, quote.gold) for quote in other.quotes] == [("image1", True)]


@pytest.mark.parametrize("indent", [None, 1])
def test_webqa_is_an_object_of_questions_by_id(tmp_path: Path, indent: int | None) -> None:
    """Positive facts are gold, negative ones are not; texts and pictures are numbered apart."""
    path = tmp_path / "WebQA_val.json"
    path.write_text(json.dumps({"d5c1": KITE, "d5c2": {**KITE, "Q": None}, "d5c3": 7}, indent=indent))
    (tmp_path / "imgs").mkdir()
    for number in (1, 2, 3):
        (tmp_path / "imgs" / f"3000000{number}.jpg").write_bytes(b"jpeg")
    file = read_questions(path)
    (question,) = file.questions
    assert (question.id, question.category) == ("d5c1", "choose")
    assert question.text == "Which kite has more tails?"
    assert question.reference == "The red kite has more tails than the blue one."
    assert question.metadata == {"split": "val", "topic": "kites"}
    assert question.quotes[:2] == (
        Quote(id="text1", text="Kites: Kites fly."),
        Quote(
            id="image1",
            modality="image",
            description="A red kite.",
            image=Path("imgs/30000001.jpg"),
            gold=True,
        ),
    )
    assert [(quote.id, quote.description, quote.gold) for quote in question.quotes[2:]] == [
        ("image2", "Blue kite", True),
        ("image3", "A bird.", False),
    ]
    line = 1 if indent is None else 2
    assert file.lines == (line,)
    assert file.warnings[0].startswith(f"{path}:{line}: facts left out")
    assert "entries left out, because they are not JSON objects: 1" in " ".join(file.warnings)


def visrag(folder: Path, queries: list[dict[str, Any]]) -> Path:
    """A corpus of two pages with the ids of files, and queries that are about the first."""
    pages = ["6519.png", "slide_1.jpg"]
    rows = [{"corpus-id": page, "image": as_image(picture(page))} for page in pages]
    table(folder / "corpus" / "train-00000-of-00001.parquet", rows)
    table(folder / "queries" / "train-00000-of-00001.parquet", queries)
    judged = [{"query-id": row["query-id"], "corpus-id": pages[0], "score": 1} for row in queries]
    table(folder / "qrels" / "train-00000-of-00001.parquet", judged)
    return folder


@pytest.mark.parametrize(
    ("answer", "options", "answers", "short"),
    [
        ("B", ["A) Rises", "B) Falls"], (("Falls",),), "Falls"),
        ("b) falls", ["Rises", "Falls"], (("Falls",),), "Falls"),
        ("A", ["B) Falls", "A) Rises"], (("Rises",),), "Rises"),
        ("C", ["A) Rises", "C) Falls"], (("Falls",),), "Falls"),
        ("a", ["A. Smith", "Jones"], (("A. Smith",),), "A. Smith"),
        ("Both", ["Rises", "Falls"], (), None),
        ("A", ["A) Rises", "A) Falls"], (), None),
        (["3 March", "March 3"], None, (("3 March",), ("March 3",)), "3 March"),
        ("Oslo", None, (("Oslo",),), "Oslo"),
        (41.5, None, ((GoldNumber(number=41.5, tolerance="5%"),),), "41.5"),
    ],
    ids=[
        *("options with letters", "options without", "in another order", "without all letters"),
        *("an initial is no letter", "no letter but a text", "a letter twice"),
        *("several answers", "a text", "a number"),
    ],
)
def test_visrag_has_its_answers_in_four_forms(
    tmp_path: Path, answer: Any, options: Any, answers: Any, short: str | None
) -> None:
    row = {"query-id": "6519.png-1", "query": "What happens?", "answer": answer, "options": options or []}
    folder = visrag(tmp_path, [row])
    corpus = load(FileSource(questions=folder, documents=folder))
    (question,) = corpus.questions
    assert (question.answers, question.short_answer) == (answers, short)
    assert [item.document for item in question.evidence] == ["page-6519.png.pdf"]
    assert corpus.missing == ()


def mrag_bench(**changes: Any) -> dict[str, Any]:
    """A row of MRAG-Bench: a picture, two that help, and two that were found, of which one helps."""
    pictures = {name: as_image(picture(name)) for name in ("input", "front", "side")}
    pictures["other"] = as_image(picture("other", kind="WEBP"))
    return {
        "id": "17",
        "aspect": "perspective",
        "scenario": "Angle",
        "image": pictures["input"],
        "gt_images": [pictures["front"], pictures["side"]],
        "question": "Which car is this?",
        "A": "Alder",
        "B": "Birch",
        "C": "Cedar",
        "D": "Doum",
        "answer_choice": "C",
        "answer": "Cedar",
        "image_type": "car",
        "source": "made",
        "retrieved_images": [pictures["other"], pictures["front"]],
        **changes,
    }


def test_mrag_bench_becomes_open_ended_and_its_pictures_files(tmp_path: Path) -> None:
    """The right option is the answer. A picture that helps and was found is one candidate, and gold."""
    rows = [mrag_bench(), mrag_bench(id="18", answer_choice="E"), mrag_bench(id="19", scenario="Incomplete")]
    for number, row in enumerate(rows):
        table(tmp_path / f"test-0000{number}-of-00003.parquet", [row])
    file = read_questions(tmp_path)
    angle, incomplete = load(FileSource(questions=tmp_path)).questions
    assert (angle.id, angle.category, angle.answers, angle.short_answer) == (
        "17",
        "Angle",
        (("Cedar",),),
        "Cedar",
    )
    assert "Cedar" not in angle.text
    assert angle.metadata["asked_about"] == "image1"
    assert angle.metadata["options"] == "A: Alder | B: Birch | C: Cedar | D: Doum"
    assert [(quote.id, quote.gold) for quote in angle.quotes] == [
        ("image1", True),
        ("image2", True),
        ("image3", True),
        ("image4", False),
    ]
    shown = [quote.image.read_bytes() for quote in angle.quotes if quote.image]
    assert shown == [
        mrag_bench()["image"]["bytes"],
        *(picture(name) for name in ("front", "side")),
        picture("other", kind="WEBP"),
    ]
    assert image_type(Path(str(angle.quotes[3].image))) == "image/webp"
    assert len(incomplete.quotes) == 3, "of each kind, the first alone"
    assert len(list((tmp_path / "pictures").iterdir())) == 4
    assert ["'E' is none of the options (available: A, B, C, D)" in text for text in file.warnings] == [True]
    one = read_questions(tmp_path / "test-00000-of-00003.parquet")
    assert [question.id for question in one.questions] == ["17"]


@pytest.mark.parametrize("value", [5, as_image(picture("front"))], ids=["a number", "one picture"])
def test_mrag_bench_without_a_list_of_pictures(tmp_path: Path, value: Any) -> None:
    file = read_questions(table(tmp_path / "test.parquet", [mrag_bench(gt_images=value)]))
    assert [(quote.id, quote.gold) for quote in file.questions[0].quotes] == [
        ("image1", True),
        ("image2", False),
        ("image3", False),
    ]
    assert "values of 'gt_images' left out, because they are not lists: 1 (line 1)" in file.warnings[0]


def test_pictures_are_not_written_through_a_link(tmp_path: Path) -> None:
    """An unpacked archive can hold a link in the place of the folder `pictures`."""
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir()
    table(folder / "test.parquet", [mrag_bench()])
    (folder / "pictures").symlink_to(elsewhere)
    with pytest.raises(DataError, match="is a link to a place outside of the folder of the table"):
        read_questions(folder / "test.parquet")
    assert list(elsewhere.iterdir()) == []


def test_chart_rag_has_a_chart_a_text_or_both(tmp_path: Path) -> None:
    """The file is one of the library `datasets`, in the stream format of Arrow."""
    row = {
        "id": "q1",
        "query": "How many kites were sold?",
        "gt_answer": "In 2020, 41 kites were sold.",
        "gt_chart": as_image(picture("chart")),
        "gt_text": "Kites sold well in 2020.",
        "gt_keypoints": ["41 kites", "2020"],
    }
    rows = [
        row,
        {**row, "id": "q2", "gt_chart": None},
        {**row, "id": "q3", "gt_text": "", "gt_keypoints": []},
        {**row, "id": "q4", "gt_text": None, "gt_chart": {"bytes": b"no picture", "path": None}},
    ]
    path = tmp_path / "data-00000-of-00001.arrow"
    import pyarrow

    whole = pyarrow.Table.from_pylist(rows)
    with pyarrow.ipc.new_stream(str(path), whole.schema) as writer:
        writer.write_table(whole)
    file = read_questions(path)
    both, text, chart = file.questions
    assert (both.id, both.category, both.reference) == ("q1", "chart and text", row["gt_answer"])
    assert both.reference_claims == ("41 kites", "2020")
    assert both.quotes[0] == Quote(id="text1", text="Kites sold well in 2020.", gold=True)
    assert both.quotes[1].image is not None
    assert (tmp_path / both.quotes[1].image).read_bytes() == picture("chart")
    assert (text.category, chart.category, chart.reference_claims) == ("text", "chart", ())
    assert [text.partition(": ")[2] for text in file.warnings] == [
        "charts left out, because they are no pictures of a known format: 1 (line 4)",
        "rows left out, because 'query' is not a text, or there is neither chart nor text: 1 (line 4)",
    ]
    path.write_bytes(b"no table")
    with pytest.raises(DataError, match=r"arrow: cannot be read as Arrow"):
        read_questions(path)


def test_a_slide_of_visrag_is_known_by_its_query_number_and_an_unknown_option_is_said(tmp_path: Path) -> None:
    """The ids of slides hold those of all their pages."""
    rows = [
        {
            "query-id": "6519.png tcy6 slide_1.jpgquery_number_4",
            "query": "Who?",
            "answer": "Ida",
            "options": [],
        },
        {"query-id": "6519.png-7", "query": "Which?", "answer": "E", "options": ["A) Rises", "B) Falls"]},
        {"query-id": "other", "query": "Whose?", "answer": "Hers.", "options": []},
    ]
    file = read_questions(visrag(tmp_path, rows))
    assert [(one.short_answer, one.reference) for one in file.questions] == [
        ("Ida", None),
        (None, None),
        (None, "Hers."),
    ]
    assert [text.partition("parquet:")[2] for text in file.warnings] == [
        "2: questions without a gold answer, or with one that is none of the options: 1 (line 2)"
    ]


def test_sets_without_addresses_say_how_they_are_got(tmp_path: Path) -> None:
    for name, words in (("webqa", r"WebQA_data_first_release\.7z"), ("mrag-bench", "hf download uclanlp")):
        with pytest.raises(UsageError, match=f"the files of '{name}' cannot be downloaded: .*{words}"):
            pull(name)
        with pytest.raises(DataError, match=f"'{name}' is not on this machine: .*{words}"):
            load(name)
    table(tmp_path / "data" / "test-00000-of-00001.parquet", [mrag_bench()])
    corpus = load(NamedSource(name="mrag-bench", questions=tmp_path / "data"))
    assert (corpus.name, len(corpus.questions), corpus.documents) == ("mrag-bench", 1, {})


def test_the_script_of_the_docs_unpacks_the_pictures_of_webqa(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that sees is shown them, gold or not, by `retrieve: {kind: quotes}`."""
    path = tmp_path / "WebQA_val.json"
    path.write_text(json.dumps({"d5c1": KITE}, separators=(",", ":")))
    data = picture("kite")
    lines = [f"{number}\t{base64.b64encode(data).decode()}" for number in range(30000001, 30000006)]
    (tmp_path / "imgs.tsv").write_text("\n".join(lines) + "\n")
    script = (root / "docs" / "data-sets.md").read_text().partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    exec(script, {})
    names = sorted(path.name for path in (tmp_path / "imgs").iterdir())
    assert names == ["30000001.jpg", "30000002.jpg", "30000003.jpg"]
    corpus = load(FileSource(questions=path))
    index = Index((), (), None, lambda texts: None, tmp_path)
    (hits,) = Quotes(mode="multimodal").search(index, corpus.questions)
    assert [hit.chunk.id for hit in hits] == ["d5c1#text1", "d5c1#image1", "d5c1#image2", "d5c1#image3"]
    assert all(hit.chunk.image.read_bytes() == data for hit in hits[1:] if hit.chunk.image)
    (hits,) = Quotes().search(index, corpus.questions)
    assert [hit.chunk.text for hit in hits][1:] == ["A red kite.", "Blue kite", "A bird."]
