"""Where on a page something stands, against places worked out by hand and print in a real file."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from fathoms.pdf.thumbnails import Word, page_thumbnails
from fathoms.report.html.places import PageText

SAMPLE = Path(__file__).parents[2] / "data" / "sample"


def page(*lines: str) -> PageText:
    """A page on which every sign is ten points wide and every line twenty points high."""
    words = []
    for row, line in enumerate(lines):
        at, found = 0, line.split(" ")
        for number, text in enumerate(found, start=1):
            box = (10.0 * at, 20.0 * row, 10.0 * (at + len(text)), 20.0 * row + 15)
            words.append(Word(text, box, "\n" if number == len(found) else " "))
            at += len(text) + 1
    return PageText(words)


KESTREL = page("The strainers have a mesh of 130 micro-", "metres, fitted in March.", "Nothing else is here.")


def test_a_phrase_may_go_over_a_broken_word() -> None:
    found = KESTREL.phrases(["130 micrometres", "absent", "March"], "word", "both")
    assert found == {0: [[290, 0, 390, 15], [0, 20, 70, 35]], 2: [[180, 20, 240, 35]]}


def test_a_passage_is_found_whatever_its_spaces_and_markup() -> None:
    text = "| mesh of | **130 micrometres**, FITTED in\nMarch | and words of another page"
    assert KESTREL.passage(text) == [[210, 0, 390, 15], [0, 20, 240, 35]]
    assert KESTREL.passage("words that stand on no page of it") == []
    assert KESTREL.passage("") == []


def test_what_a_parser_left_out_is_what_its_text_lacks() -> None:
    read = "The strainers have a mesh of 130 micrometres, fitted in"
    assert KESTREL.unread(read) == [[180, 20, 240, 35], [0, 40, 210, 55]]
    assert KESTREL.unread("") == []  # it read nothing, which is said elsewhere
    assert KESTREL.unread("quite another reading, by OCR") == []


@pytest.mark.slow
@pytest.mark.parametrize("turn", [0, 90])
def test_words_stand_where_their_print_is(tmp_path: Path, turn: int) -> None:
    from pypdfium2 import PdfDocument

    path = tmp_path / "turned.pdf"
    with PdfDocument(SAMPLE / "kestrel-irrigation-trial.pdf") as document:
        document[2].set_rotation(turn)
        document.save(path)
    result = page_thumbnails(path, [3], 900, words=True)[3]
    picture = Image.open(io.BytesIO(result.jpeg)).convert("L")
    scale = picture.width / result.size[0]
    assert [word.text for word in result.words[:3]] == ["213", "Deficit", "irrigation"]
    for word in result.words[:100]:
        left, top, right, bottom = (scale * edge for edge in word.box)
        print_there = picture.crop((round(left), round(top), round(right) + 1, round(bottom) + 1))
        assert print_there.getextrema()[0] < 140, word
