"""From Docling's document to pages, on documents made by hand and on the sample corpus."""

from __future__ import annotations

import pytest

pytest.importorskip("docling_core")

from docling_core.types.doc import (
    BoundingBox,
    CoordOrigin,
    DocItemLabel,
    DoclingDocument,
    PageItem,
    ProvenanceItem,
    Size,
)

from fathoms.ingest.docling.export import Conversion, elements, join, lost, markdown, unpack
from tests.support.docling_samples import needs_docling, sample

pytestmark = pytest.mark.slow  # it imports docling_core and pandas


def place(page: int, top: float = 100) -> ProvenanceItem:
    """Where an item stands, in PDF's own coordinates: from the bottom left."""
    box = BoundingBox(l=72, b=792 - top - 20, r=300, t=792 - top, coord_origin=CoordOrigin.BOTTOMLEFT)
    return ProvenanceItem(page_no=page, bbox=box, charspan=(0, 1))


def empty_document(name: str = "herring", pages: int = 3) -> DoclingDocument:
    """A document of empty pages."""
    sizes = {
        number: PageItem(page_no=number, size=Size(width=612, height=792)) for number in range(1, pages + 1)
    }
    return DoclingDocument(name=name, pages=sizes)


def one_page(number: int, text: str) -> DoclingDocument:
    """What Docling gives for a range of one page: its own number, and its text."""
    document = DoclingDocument(
        name="herring", pages={number: PageItem(page_no=number, size=Size(width=612, height=792))}
    )
    document.add_text(DocItemLabel.TEXT, text, prov=place(number))
    return document


def test_each_page_has_its_markdown() -> None:
    document = empty_document()
    document.add_heading("On herring", prov=place(1))
    document.add_text(DocItemLabel.TEXT, "It swims_fast.", prov=place(1, 200))
    document.add_picture(prov=place(3))
    assert markdown(document, picture_text=False) == {
        1: "## On herring\n\nIt swims\\_fast.",
        3: "<!-- image -->",
    }


def test_text_inside_a_figure_is_an_option() -> None:
    document = empty_document(pages=1)
    picture = document.add_picture(prov=place(1))
    document.add_text(DocItemLabel.TEXT, "41.5 kPa", parent=picture, prov=place(1))
    assert markdown(document, picture_text=False) == {1: "<!-- image -->"}
    assert markdown(document, picture_text=True) == {1: "<!-- image -->\n\n41.5 kPa"}
    assert elements(document)[1] == [
        {"kind": "picture", "text": "41.5 kPa", "bbox": (72.0, 100.0, 300.0, 120.0)}
    ]


def test_a_list_over_a_page_break_is_split_at_it() -> None:
    document = empty_document(pages=2)
    group = document.add_list_group()
    for number, page in enumerate((1, 1, 2), 1):
        document.add_list_item(f"item {number}", parent=group, prov=place(page, 100 * number))
    pages = markdown(document, picture_text=False)
    assert pages == {1: "- item 1\n- item 2", 2: "- item 3"}
    assert pages == {number: document.export_to_markdown(page_no=number) for number in (1, 2)}
    assert document.export_to_markdown() == "- item 1\n- item 2\n- item 3"


def test_a_paragraph_over_a_page_break_is_where_it_begins() -> None:
    document = empty_document(pages=2)
    text = document.add_text(DocItemLabel.TEXT, "It swims far.", prov=place(1))
    text.prov.append(place(2))
    assert markdown(document, picture_text=False) == {1: "It swims far."}


def test_boxes_are_points_from_the_top_left() -> None:
    document = empty_document(pages=1)
    document.add_text(DocItemLabel.FORMULA, "a + b", prov=place(1, 100))
    document.add_text(DocItemLabel.TEXT, "It swims.", prov=place(1, 200))
    assert [(e["kind"], e["text"], e["bbox"]) for e in elements(document)[1]] == [
        ("formula", "a + b", (72.0, 100.0, 300.0, 120.0)),
        ("text", "It swims.", (72.0, 200.0, 300.0, 220.0)),
    ]


def test_a_paragraph_in_two_columns_has_a_box_in_each() -> None:
    document = empty_document(pages=1)
    text = document.add_text(DocItemLabel.TEXT, "It swims in shoals. It is silver.", prov=place(1))
    text.prov = [
        ProvenanceItem(page_no=1, bbox=BoundingBox(l=left, t=100, r=left + 200, b=120), charspan=span)
        for left, span in ((72, (0, 19)), (300, (20, 33)))
    ]
    first, second = elements(document)[1]
    assert (first["text"].strip(), second["text"]) == ("It swims in shoals.", "It is silver.")
    assert [found["bbox"][::2] for found in (first, second) if found["bbox"]] == [(72, 272), (300, 500)]


def test_pages_without_content_keep_their_place() -> None:
    document = empty_document()
    document.add_text(DocItemLabel.TEXT, "It swims.", prov=place(2))
    raw = Conversion(document, 3, ("repaired",)).raw(picture_text=False)
    assert [page["text"] for page in raw["pages"]] == ["", "It swims.", ""]
    assert (raw["page_count"], raw["warnings"]) == (3, ["repaired"])


def test_a_conversion_survives_its_json() -> None:
    conversion = Conversion(one_page(1, "naïve \U0001f600 \u65e5\u672c"), 4, ("a", "b"))
    again = unpack(conversion.pack())
    assert again == conversion


def test_pages_that_were_converted_apart_are_joined_under_their_numbers() -> None:
    alone = {number: one_page(number, f"Page {number}.") for number in (1, 3)}
    document = join(range(1, 5), None, alone)
    assert markdown(document, picture_text=False) == {1: "Page 1.", 3: "Page 3."}
    assert sorted(document.pages) == [1, 2, 3, 4]
    assert document.name == "herring"


def test_what_did_not_fail_is_kept_when_the_rest_is_joined() -> None:
    whole = empty_document(pages=5)
    for number in (1, 2, 5):
        whole.add_text(DocItemLabel.TEXT, f"Whole {number}.", prov=place(number))
    document = join(range(1, 6), whole, {3: one_page(3, "Alone 3.")})
    assert markdown(document, picture_text=False) == {
        1: "Whole 1.",
        2: "Whole 2.",
        3: "Alone 3.",
        5: "Whole 5.",
    }
    assert sorted(document.pages) == [1, 2, 3, 4, 5]


def test_lost_pages_are_named_by_their_reason() -> None:
    failed = {3: "too slow", 4: "too slow", 9: "too big", 5: "too slow", 7: "too slow"}
    assert lost(failed) == ["pages 3-5 and 7 are lost: too slow", "page 9 is lost: too big"]


@pytest.mark.slow
@pytest.mark.parametrize("picture_text", [False, True])
def test_pages_are_what_docling_exports(picture_text: bool) -> None:
    needs_docling()
    documents, _ = sample()
    assert len(documents) == 5
    for parsed in documents.values():
        document = unpack(parsed.native or "").document
        pages = markdown(document, picture_text)
        for number in document.pages:
            alone = document.export_to_markdown(page_no=number, traverse_pictures=picture_text)
            assert pages.get(number, "") == alone
        whole = document.export_to_markdown(traverse_pictures=picture_text)
        assert "\n\n".join(pages[number] for number in sorted(pages)) == whole
