"""Recordings as documents: transcripts with timestamps, and frames named by their times."""

from __future__ import annotations

import io
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image

from fathoms.corpora import gather_pdfs
from fathoms.corpora.pdfs import find_pdfs
from fathoms.corpora.transcripts import Cue, cues_of, frame_time, stretches
from fathoms.errors import DocumentError
from fathoms.ingest import Docling, PageChunker, Pdfium, parse_all, parse_in_child
from fathoms.models import ScriptedModel
from fathoms.models.chat.completion import attached
from fathoms.pipeline.pipeline import Pipeline
from fathoms.pipeline.prompt import PromptBuilder
from fathoms.retrieve import BM25, Files
from fathoms.runs.cache import Cache
from fathoms.types import Document, Question
from tests.support.packages import skip_without
from tests.support.pictures import picture

OLD = "\u0627\u0644\u0645\u0646\u0627\u0631\u0629 \u0642\u062f\u064a\u0645\u0629 \u062c\u062f\u0627"
"""Arabic for "The lighthouse is very old"."""
VTT = f"""\
\ufeffWEBVTT - a talk

NOTE
Nobody says this.

STYLE
::cue {{ color: red }}

1
00:00:05.000 --> 00:00:08.000 align:start
<v Ada Karim>The <i>Varn</i> tower is
41.5 m tall &amp; old.

00:01:31.250 --> 00:01:33.000
灯台は41.5メートルです。
{OLD}

01:59:00.000 --> 02:00:00.000
Thank you. 😀
"""
SRT = """\
1
00:00:01,500 --> 00:00:03,000
Herring swim.
2
00:01:00,000 --> 00:01:02,000
Herring swim.

3
00:01:03,000 --> 00:01:04,000
Herring swim.

4
00:01:59,999 --> 00:02:04,000
Sprats, too.
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def talk(folder: Path) -> Path:
    """A transcript with three frames: red at the beginning, green after one and a half minutes, then blue."""
    frames = folder / "talk.frames"
    frames.mkdir(parents=True)
    (folder / "talk.vtt").write_text(VTT, encoding="utf-8")
    for name, colour in (("00-00-00", "red"), ("01-30", "green"), ("7000.5", "blue")):
        Image.new("RGB", (320, 180), colour).save(frames / f"{name}.png")
    return folder


def test_the_cues_of_both_formats() -> None:
    """The parts of WebVTT are those of the W3C's specification: header, notes, styles, identifiers, settings,
    voices, tags and character references."""
    assert cues_of(VTT) == [
        Cue(5.0, "Ada Karim: The Varn tower is\n41.5 m tall & old."),
        Cue(91.25, f"灯台は41.5メートルです。\n{OLD}"),
        Cue(7140.0, "Thank you. 😀"),
    ]
    assert [cue.start for cue in cues_of(SRT)] == [1.5, 60.0, 63.0, 119.999]
    assert {cue.text for cue in cues_of(SRT.replace("\n", "\r\n"))} == {"Herring swim.", "Sprats, too."}
    short = "WEBVTT\n\n01:02.500 --> 01:03.000\nno hours\n\n99:99:99.0 --> 9999:00:00.0\na mistake"
    assert cues_of(short) == [Cue(62.5, "no hours"), Cue(99 * 3600 + 99 * 60 + 99, "a mistake")]
    assert cues_of("9999:00:00.0 --> 9999:00:01.0\nlonger than a week") == []


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("00-01-30", 90), ("1_02_03", 3723), ("01-30.5", 90.5), ("90", 90), ("0007", 7), ("frame 3", None)],
)
def test_the_times_of_frames(name: str, seconds: float | None) -> None:
    assert frame_time(name) == seconds


def test_pages_are_minutes_without_frames_and_frames_otherwise(tmp_path: Path) -> None:
    pages = stretches(cues_of(SRT), {})
    assert [(page.label, page.text) for page in pages] == [
        ("00:00:00", "[00:00:00]\nHerring swim."),
        ("00:01:00", "[00:01:00]\nHerring swim.\nSprats, too."),
    ]
    silent = stretches([Cue(130, "late")], {})
    assert [page.text for page in silent] == ["", "", "[00:02:00]\nlate"]
    frames = {60.0: tmp_path / "a.png", 119.0: tmp_path / "b.png"}
    assert [(page.start, page.text, page.frame) for page in stretches(cues_of(SRT), frames)] == [
        (0.0, "[00:00:00]\nHerring swim.", None),
        (60.0, "[00:01:00]\nHerring swim.", tmp_path / "a.png"),
        (119.0, "[00:01:59]\nSprats, too.", tmp_path / "b.png"),
    ]


def test_a_recording_is_a_document_with_times_as_pages(tmp_path: Path, cache: Path) -> None:
    found, warnings = find_pdfs(talk(tmp_path / "docs"))
    assert (list(found), warnings) == (["talk.vtt"], ())
    from pypdf import PdfReader

    pdf = PdfReader(found["talk.vtt"], strict=True)
    assert pdf.page_labels == ["00:00:00", "00:01:30", "01:56:40"]
    texts = (
        "[00:00:00]\nAda Karim: The Varn tower is\n41.5 m tall & old.",
        f"[00:01:30]\n灯台は41.5メートルです。\n{OLD}",
        "[01:56:40]\nThank you. 😀",
    )
    document = parse_in_child(Pdfium(), found["talk.vtt"])
    assert (document.id, document.warnings) == ("talk.vtt", ())
    assert tuple(page.text for page in document.pages) == texts, "exact, whatever the script"
    assert [len(page.elements) for page in document.pages] == [1, 1, 1]
    with pdfium.PdfDocument(found["talk.vtt"]) as opened:
        drawn = [page.render().to_pil().convert("RGB") for page in opened]
        assert [image.getcolors(9) for image in drawn] == [
            [(842 * 474, colour)] for colour in ((255, 0, 0), (0, 128, 0), (0, 0, 255))
        ], "the frame alone: the text of the page is invisible"
        seen = opened[0].get_textpage().get_text_range().split()
    assert seen == texts[0].split(), "and is there for who reads the PDF itself"
    before = {path: path.read_bytes() for path in cache.rglob("*.vtt")}
    again, _ = gather_pdfs([tmp_path / "docs" / "talk.vtt"])
    assert again == found
    Image.new("RGB", (32, 18), "black").save(tmp_path / "docs" / "talk.frames" / "00-00-30.png")
    assert find_pdfs(tmp_path / "docs")[0] != found, "another frame, another document"
    assert {path: path.read_bytes() for path in before} == before


def test_every_parser_takes_the_text_of_the_transcript(tmp_path: Path) -> None:
    """Docling would read the frames by OCR; no process of it is even started."""
    skip_without("docling")
    found, _ = find_pdfs(talk(tmp_path / "docs"))
    (document,) = parse_all(Docling(max_pages=2), list(found.values()), workers=1)
    assert isinstance(document, Document)
    assert document.native is None
    assert [page.text.split("\n")[0] for page in document.pages] == ["[00:00:00]", "[00:01:30]"]
    assert document.warnings == ("only the first 2 of 3 pages are read (max_pages)",)


@pytest.mark.slow
def test_the_frame_is_shown_where_its_words_are_found(tmp_path: Path) -> None:
    """The page that is found by the transcript is a picture of the frame, and the same PDF is attached."""
    found, _ = find_pdfs(talk(tmp_path / "docs"))
    question = Question(id="q", text="Who says thank you?", category="c", files=("talk.vtt",))
    shown = Pipeline(
        chunk=PageChunker(image_dpi=72),
        retrieve=BM25(top_k=1),
        prompt=PromptBuilder(template="page-images"),
        generate=ScriptedModel(),
    ).prepare(found, Cache(tmp_path / "cache"))
    (hit,) = shown.retrieve([question])["q"]
    assert (hit.chunk.document, hit.chunk.pages) == ("talk.vtt", (3,))
    assert hit.chunk.image is not None
    with Image.open(hit.chunk.image) as frame:
        assert frame.getpixel((5, 5)) == (0, 0, 255)
    whole = Pipeline(
        retrieve=Files(), prompt=PromptBuilder(template="attached"), generate=ScriptedModel()
    ).prepare(found, Cache(tmp_path / "cache"))
    (hit,) = whole.retrieve([question])["q"]
    assert hit.chunk.file is not None
    assert (hit.chunk.file.pages, hit.chunk.file.path) == ((1, 2, 3), found["talk.vtt"])
    assert attached(hit.chunk.file, {})["filename"] == "talk.vtt.pdf", "vendors know the type by the name"


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    docs = talk(tmp_path / "docs")
    (docs / "talk.frames" / "title.png").write_bytes(picture("title", kind="PNG"))
    (docs / "talk.frames" / "00-00-40.png").write_bytes(b"not a picture")
    (docs / "empty.srt").write_text("nothing at all")
    (docs / "own.vtt").write_bytes(b"%PDF-1.4")
    outside = tmp_path / "outside.png"
    outside.write_bytes(io.BytesIO(picture("x", kind="PNG")).getvalue())
    (docs / "talk.frames" / "00-00-50.png").symlink_to(outside)
    found, warnings = find_pdfs(docs)
    with pdfium.PdfDocument(found["talk.vtt"]) as pdf:
        assert len(pdf) == 4
    assert [line.split("/")[-1] for line in warnings] == [
        "empty.srt: no cue in it: expected lines such as 00:00:01.000 --> 00:00:04.000",
        "own.vtt: no cue in it: expected lines such as 00:00:01.000 --> 00:00:04.000",
        "talk.frames: pictures left out, because their names state no time of their own, such as"
        " 00-01-30.png: 1: title.png",
        "talk.vtt: frames cannot be read: 1: 00-00-40.png",
    ]
    with pytest.raises(DocumentError, match=r"empty\.srt: is a transcript without a cue such as"):
        parse_in_child(Pdfium(), found["empty.srt"])
    with pytest.raises(DocumentError, match=r"own\.vtt"):
        parse_in_child(Pdfium(), found["own.vtt"])
