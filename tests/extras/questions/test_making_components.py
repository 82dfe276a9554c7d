"""The pieces of pages that questions can be about, and the drafts that are made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.errors import DataError
from fathoms.extras.questions.making.components import LONGEST, components, opening
from fathoms.extras.questions.making.drafts import Check, Draft, folder_of, read_drafts, write_drafts
from fathoms.types import Document, Element, Page, Question

WORDS = "The pump of the station is serviced every three months by two people, who close both valves first."


def document(*pages: str | tuple[Element, ...]) -> Document:
    """A document with these pages."""
    result = [
        Page(number=number, text=page)
        if isinstance(page, str)
        else Page(number=number, text="\n".join(each.text for each in page), elements=page)
        for number, page in enumerate(pages, 1)
    ]
    return Document(id="pump.pdf", path=Path("pump.pdf"), sha256="0" * 64, pages=tuple(result))


def test_passages_are_divided_at_line_ends_into_equal_parts() -> None:
    # 24 lines of 18 words are 432 words: three passages of eight lines
    page = "\n".join(WORDS.replace("pump", f"pump{line}") for line in range(24))
    found = components([document(page)]).usable
    assert [one.text.count("\n") + 1 for one in found] == [8, 8, 8]
    assert all(len(one.text.split()) <= LONGEST for one in found)
    assert [(one.page, one.number) for one in found] == [(1, 1), (1, 2), (1, 3)]


def test_running_heads_are_no_part_of_a_passage() -> None:
    pages = [
        f"Pump manual, page {number}\nHall {name}.\n{WORDS}\nRoom {name}.\n{name}"
        for number, name in enumerate("abcd")
    ]
    found = components([document(*pages)]).usable
    assert len(found) == 4
    assert not any("manual" in one.text for one in found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Closed.", "too short"),
        (
            "\n".join(
                f"{number} Servicing the pump of the north hall ...... {number}" for number in range(9)
            ),
            "table of contents",
        ),
        (
            "\n".join(f"[{number}] A. Name et al. Pumps of the north. Journal, 1999." for number in range(9)),
            "list of references",
        ),
        ("12 44 81 99 12 44 81 99 12 44 81 99 12 44 81 99 12", "hardly any words"),
    ],
)
def test_pieces_that_say_nothing_are_left_out(text: str, reason: str) -> None:
    found = components([document(text)])
    assert (found.usable, found.dropped) == ((), {reason: 1})


def test_tables_and_figures_are_components_of_their_own() -> None:
    table = Element(kind="table", text="| pump | litres |\n" * 8, bbox=(10, 10, 90, 90))
    figure = Element(kind="picture", text="", bbox=(10, 100, 90, 190))
    text = Element(kind="text", text=WORDS)
    other = Element(kind="text", text=WORDS.upper())
    found = components([document((text, table, other, text, figure))])
    assert [one.modality for one in found.usable] == ["text", "table", "text"]
    assert found.dropped == {"figure without picture": 1}
    assert found.usable[1].bbox == (10, 10, 90, 90)
    assert components([document((text, table))], ["table"]).usable[0].modality == "table"


def test_scripts_without_spaces_are_counted_by_characters() -> None:
    """Two characters count as a word: 400 of them are 200 words, and 900 are three passages."""
    sentences = [chr(0x3042 + at) * 99 + "\u3002" for at in range(9)]
    assert len(components([document("".join(sentences[:4]))]).usable) == 1
    found = components([document("".join(sentences))]).usable
    assert [len(one.text.replace("\n", "")) for one in found] == [300, 300, 300]


def test_lines_of_digits_are_no_running_heads() -> None:
    pages = [f"{number}\n{WORDS} Room {name}.\n1974\n{name}\n{number}" for number, name in enumerate("abcd")]
    assert all("1974" in one.text for one in components([document(*pages)]).usable)


def test_a_component_keeps_its_id_on_another_page() -> None:
    first, moved = components([document(WORDS)]).usable[0], components([document("", WORDS)]).usable[0]
    assert (first.page, moved.page) == (1, 2)
    assert first.id == moved.id


def test_all_prompts_about_a_component_begin_alike() -> None:
    table = Element(kind="table", text="| a |" * 30, bbox=(10, 10, 90, 90))
    found = components([document("Pumps of Lune.", (Element(kind="text", text="Prices:"), table))]).usable
    assert opening(found[0]) == (
        "From page 2 of the document pump.pdf.\n\nThe document begins with: Pumps of Lune.\n\n"
        f"Before the table: ... Prices:\n\nTable:\n\n{'| a |' * 30}\n\n"
    )


def test_drafts_are_kept_beside_the_question_set_with_all_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    assert read_drafts(path) == []
    stored = Draft(question=Question(id="a", text="A?", category="c")).after(Check(check="x", passed=True))
    dropped = stored.after(Check(check="checklist", item="self-contained", passed=False, reason="names it"))
    write_drafts(path, [stored, dropped])
    assert read_drafts(path) == [stored, dropped]
    assert stored.failed is None
    assert dropped.failed is not None
    assert dropped.failed.name == "checklist: self-contained"
    (folder_of(path) / "drafts.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"drafts.jsonl:1: not a draft"):
        read_drafts(path)
