"""Candidate quotes are handed to the model in their places, and nothing is shown that is not there."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from fathoms.answers.citations import parse_citations
from fathoms.corpora import load
from fathoms.corpora.sources import FileSource
from fathoms.errors import ConfigError, DataError, StoreError
from fathoms.ingest import fitted_picture
from fathoms.models import AnthropicLLM, ScriptedModel
from fathoms.models.chat.media import image_type
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import Index, Quotes
from fathoms.runs.cache import Cache
from fathoms.types import Hit, ImagePart, Question, Quote, TextPart
from tests.support.pictures import picture
from tests.support.project import Project

NOWHERE = Index((), (), None, lambda texts: None, Path("nowhere"))
PUMP = Quote(id="image1", modality="image", text="IN OUT", description="A pump.", image=Path("pump.png"))
MAP = Quote(id="image2", modality="image", text="N S", description="A map.", image=Path("map.png"), gold=True)
QUESTION = Question(
    id="q",
    text="Where does it stand?",
    category="c",
    quotes=(
        PUMP,
        Quote(id="text1", text="It is old.", document="a.pdf", page=3),
        MAP,
        Quote(id="text2", text="It stands by the river.", gold=True),
    ),
)


SHOWN = [
    ("a.PNG", "PNG", True),
    ("a.jpeg", "JPEG", True),
    ("a.webp", "WEBP", True),
    ("a.gif", "GIF", True),
    ("a.jpe", "JPEG", False),
    ("a.jpg", "PNG", False),
    ("a", "WEBP", False),
]
"""Names of files, what they hold, and whether they are sent as they are."""


def found(retriever: Quotes, question: Question = QUESTION) -> tuple[Hit, ...]:
    (hits,) = retriever.search(NOWHERE, [question])
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    return hits


def with_pictures(folder: Path) -> Question:
    for name in ("pump.png", "map.png"):
        (folder / name).write_bytes(picture(kind="PNG"))
    placed = [q.model_copy(update={"image": folder / q.image if q.image else None}) for q in QUESTION.quotes]
    return QUESTION.model_copy(update={"quotes": tuple(placed)})


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as opened:
        return opened.size


def test_texts_stand_before_pictures_and_keep_their_places() -> None:
    hits = found(Quotes())
    assert [hit.chunk.id for hit in hits] == ["q#text1", "q#text2", "q#image1", "q#image2"]
    assert [hit.chunk.text for hit in hits] == ["It is old.", "It stands by the river.", "A pump.", "A map."]
    assert hits[0].chunk.places == (("a.pdf", 3),)
    assert {hit.chunk.image for hit in hits} == {None}
    assert [hit.chunk.text for hit in found(Quotes(mode="ocr"))][2:] == ["IN OUT", "N S"]


def test_the_prompt_numbers_texts_and_pictures_apart_and_shows_pictures_in_their_places(
    tmp_path: Path,
) -> None:
    builder = PromptBuilder(template="quotes")
    words = builder.draft(QUESTION, found(Quotes())).fit(lambda messages: None, None)
    shown = "[1] It is old.\n\n[2] It stands by the river.\n\nimage1: A pump.\n\nimage2: A map."
    assert words.context == shown
    hits = found(Quotes(mode="multimodal"), with_pictures(tmp_path))
    parts = builder.draft(QUESTION, hits).fit(lambda messages: None, None).messages[-1].parts
    assert [type(part) for part in parts] == [TextPart, ImagePart, TextPart, ImagePart, TextPart]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    assert texts[0].endswith("[2] It stands by the river.\n\nimage1: ")
    assert texts[1] == "\n\nimage2: "
    assert texts[2].endswith("Question: Where does it stand?\nAnswer:")
    assert [part.image.name for part in parts if isinstance(part, ImagePart)] == ["pump.png", "map.png"]


def test_citations_name_the_quotes_as_they_were_numbered() -> None:
    answer = "By the river [2].\n![a map](image2) It is [9] and [image7]."
    for hits in (found(Quotes()), found(Quotes(seed=3))):
        ranks = [citation.ranks for citation in parse_citations(answer, hits)]
        assert ranks == [(2,), (4,), (), ()]


@pytest.mark.slow
def test_a_seed_shuffles_texts_and_pictures_apart_and_keeps_the_shuffle() -> None:
    texts = [Quote(id=f"text{n}", text=str(n)) for n in range(1, 13)]
    pictures = [Quote(id=f"image{n}", modality="image", description=str(n)) for n in range(1, 9)]
    questions = [
        QUESTION.model_copy(update={"id": str(n), "quotes": tuple(texts + pictures)}) for n in range(400)
    ]
    seeded = Quotes(seed=7).search(NOWHERE, questions)
    assert seeded == Quotes(seed=7).search(NOWHERE, questions)
    assert seeded != Quotes(seed=8).search(NOWHERE, questions)
    assert all({hit.chunk.modality for hit in hits[:12]} == {"text"} for hits in seeded)
    first = [hits[0].chunk.id.partition("#")[2] for hits in seeded]
    assert all(15 <= first.count(f"text{n}") <= 55 for n in range(1, 13))  # 400 / 12 is 33


def test_what_a_mode_needs_and_a_picture_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"1 question has none \(q\).*fathoms questions candidates"):
        found(Quotes(), QUESTION.model_copy(update={"quotes": ()}))
    bare = QUESTION.model_copy(update={"quotes": (PUMP.model_copy(update={"description": ""}),)})
    with pytest.raises(ConfigError, match="shows the 'description' of a picture, and 1 picture has none"):
        found(Quotes(), bare)
    complete = with_pictures(tmp_path)
    (tmp_path / "map.png").unlink()
    with pytest.raises(DataError, match=r"1 pictures of quotes are missing \(\S+map.png of question q\)"):
        found(Quotes(mode="multimodal"), complete)
    assert found(Quotes(mode="ocr"), complete)


def test_pictures_are_found_beside_the_question_file_and_not_outside(tmp_path: Path) -> None:
    quotes = [{"id": "image1", "modality": "image", "image": "images/pump.png", "description": "A pump."}]
    row = {"id": "q", "question": "What?", "answers": ["a pump"], "quotes": quotes}
    folder = tmp_path / "set"
    (folder / "images").mkdir(parents=True)
    (folder / "questions.jsonl").write_text(json.dumps(row))
    source = FileSource(questions=folder / "questions.jsonl")
    (question,) = load(source).questions
    assert question.quotes[0].image == folder / "images" / "pump.png"
    (tmp_path / "secret.png").write_bytes(picture(kind="PNG"))
    (folder / "images" / "pump.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match="is a link to a place outside"):
        load(source)


def test_too_many_and_too_large_pictures(tmp_path: Path) -> None:
    """Claude takes pictures of up to 8,000 pixels a side in a request with few of them."""
    question = with_pictures(tmp_path)
    (tmp_path / "map.png").write_bytes(picture(kind="PNG", size=(9000, 90)))

    def images(most: int) -> list[tuple[int, int]]:
        model = AnthropicLLM(model="claude-sonnet-4", max_images=most)
        template = PromptBuilder(template="quotes")
        pipeline = Pipeline(retrieve=Quotes(mode="multimodal"), prompt=template, generate=model)
        with closing(Cache(tmp_path / "cache")) as cache:
            hits = pipeline.prepare({}, cache).retrieve([question])["q"]
        return [size_of(hit.chunk.image) for hit in hits if hit.chunk.image]

    assert images(2) == [(170, 220), (8000, 80)]
    with pytest.raises(ConfigError, match="question q has 2 pictures, and the model takes 1 in one request"):
        images(1)


def test_the_default_template_is_refused() -> None:
    pipeline = Pipeline(retrieve=Quotes(), generate=ScriptedModel())
    with pytest.raises(ConfigError, match="template: quotes"):
        pipeline.check()


def test_transparent_pictures_are_white_and_other_files_are_refused(tmp_path: Path) -> None:
    clear = tmp_path / "clear.png"
    clear.write_bytes(picture("words", kind="PNG", size=(400, 100), mode="RGBA"))
    result = fitted_picture(clear, tmp_path / "kept", {"max_side": 100})
    with Image.open(result) as small:
        assert (small.size, small.getpixel((99, 24))) == ((100, 25), (255, 255, 255))
        assert small.convert("L").getextrema()[0] < 200  # the words
    (tmp_path / "script.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    for bounds in ({}, {"max_side": 100}):
        with pytest.raises(DataError, match="is not a picture that can be read"):
            fitted_picture(tmp_path / "script.png", tmp_path / "kept", bounds)


@pytest.mark.parametrize(("name", "kind", "stored"), SHOWN)
def test_a_picture_is_sent_as_what_it_is(tmp_path: Path, name: str, kind: str, stored: bool) -> None:
    """The media type is that of the ending of the file's name: one that does not fit is not sent."""
    path = tmp_path / name
    path.write_bytes(picture(kind=kind))
    result = fitted_picture(path, tmp_path / "kept", {})
    assert (result == path) == stored
    with Image.open(result) as opened:
        assert image_type(result) == opened.get_format_mimetype()
        assert opened.size == (170, 220)


def test_a_cache_that_cannot_be_written_is_no_unreadable_picture(tmp_path: Path) -> None:
    (tmp_path / "map.png").write_bytes(picture(kind="PNG"))
    (tmp_path / "kept").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="kept cannot be written"):
        fitted_picture(tmp_path / "map.png", tmp_path / "kept", {"max_side": 100})


@pytest.mark.parametrize("image", ["a\u0000b.png", "x" * 300 + ".png"])
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, image: str) -> None:
    quotes = [{"id": "image1", "modality": "image", "image": image, "description": "A pump."}]
    row = {"id": "q", "question": "What?", "answers": ["a pump"], "quotes": quotes}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row))
    with pytest.raises(DataError, match="the path of the image of the quote 'image1'"):
        load(FileSource(questions=tmp_path / "questions.jsonl"))


@pytest.mark.slow
def test_a_changed_picture_is_noticed_when_a_run_is_resumed(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"q{n}",
            "question": f"What is {n}?",
            "answers": ["a pump"],
            "quotes": [{"id": "image1", "modality": "image", "image": "pump.png"}],
        }
        for n in range(2)
    ]
    project = Project(tmp_path)
    project.write("set.json", json.dumps(rows))
    project.write(
        "own.yaml",
        "name: own\ndata: {questions: set.json}\nretrieve: {kind: quotes, mode: multimodal}\n"
        "prompt: {template: quotes}\ngenerate: {kind: scripted, fail_on: {What is 1: broken}}\n",
    )
    (tmp_path / "pump.png").write_bytes(picture("red", kind="PNG"))
    assert project.fathoms("run", "own.yaml").returncode == 1
    (tmp_path / "pump.png").write_bytes(picture("blue", kind="PNG"))
    again = project.fathoms("run", "--resume", "own")
    assert again.returncode == 2
    assert "the pictures of the quotes of set" in again.stderr
