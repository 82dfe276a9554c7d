"""Converts Docling documents to pages of Markdown and elements, and to and from the JSON kept in the cache.

Uses only docling-core, which loads neither a model nor torch.
"""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from docling_core.transforms.serializer.base import SerializationResult
from docling_core.transforms.serializer.markdown import MarkdownDocSerializer, MarkdownParams
from docling_core.types.doc import (
    CodeItem,
    ContentLayer,
    DocItem,
    DoclingDocument,
    FormulaItem,
    GroupItem,
    NodeItem,
    PageItem,
    PictureItem,
    ProvenanceItem,
    Size,
    TableItem,
)

from fathoms.pdf.raw import RawDocument, RawElement, RawPage
from fathoms.types import Box, PageBox

EMU = 12_700
"""English Metric Units, in which Office stores lengths, to one point (ECMA-376, part 1, 20.1.2.1)."""


@dataclass(frozen=True)
class Conversion:
    """The result of converting a document with Docling.

    `page_count` is the page count that the file declares, 1 for a file that is not divided into pages, and
    `complaints` are warnings for the user.
    """

    document: DoclingDocument
    page_count: int
    complaints: tuple[str, ...] = ()

    def pack(self) -> str:
        """Serialise the conversion to JSON; `unpack` reads it."""
        return json.dumps(
            {
                "document": self.document.export_to_dict(),
                "page_count": self.page_count,
                "complaints": self.complaints,
            }
        )

    def raw(self, picture_text: bool) -> RawDocument:
        """Return the pages, beginning with page 1; pages without content are empty.

        A document that is not divided into pages has one page with all of its content.
        `picture_text` includes the text inside figures in the Markdown.
        """
        texts = markdown(self.document, picture_text)
        found = elements(self.document)
        last = max(self.document.pages, default=0 if _is_pdf(self.document) else 1)
        pages: list[RawPage] = [
            {"text": texts.get(number, ""), "elements": found.get(number, [])}
            for number in range(1, last + 1)
        ]
        return {"page_count": self.page_count, "pages": pages, "warnings": list(self.complaints)}


def unpack(native: str) -> Conversion:
    """Read a conversion that `pack` wrote."""
    data = json.loads(native)
    document = DoclingDocument.model_validate(data["document"])
    return Conversion(document, data["page_count"], tuple(data["complaints"]))


def markdown(document: DoclingDocument, picture_text: bool) -> dict[int, str]:
    """Return the Markdown of each page that has any, as `export_to_markdown` writes it by default.

    The document is serialised once for all pages, because `export_to_markdown(page_no=...)` goes through the
    whole document for each page. Joined with empty lines, the pages are the Markdown of the document, except
    that a list that continues over a page break is divided between its pages.
    """
    serializer = MarkdownDocSerializer(doc=document, params=MarkdownParams(traverse_pictures=picture_text))
    options = {**serializer.params.model_dump(), "delim": "\n\n"}
    texts: dict[int, list[str]] = defaultdict(list)
    page = min(document.pages, default=1)
    for part in serializer.get_parts(**options):
        numbers = [span.item.prov[0].page_no for span in part.spans if span.item.prov]  # where items begin
        page = numbers[0] if numbers else page
        group = _group(document, part) if len(set(numbers)) > 1 else None
        if group is None:
            texts[page].append(part.text)
            continue
        for number in sorted(set(numbers)):
            texts[number].append(serializer.serialize(item=group, **{**options, "pages": {number}}).text)
    return {number: "\n\n".join(filter(None, found)) for number, found in texts.items()}


def _group(document: DoclingDocument, part: SerializationResult) -> GroupItem | None:
    """Return the outermost list or other group that a part was made from, `None` for a single item."""
    node: NodeItem = part.spans[0].item
    group = None
    while node.parent is not None and (node := node.parent.resolve(document)) is not document.body:
        group = node
    return group if isinstance(group, GroupItem) else None


def elements(document: DoclingDocument) -> dict[int, list[RawElement]]:
    """Return the layout elements of each page in reading order.

    An element that continues over a page break belongs to the page on which it begins. In a document that is
    not divided into pages, all elements are on page 1 and none has a box.
    """
    serializer = MarkdownDocSerializer(doc=document)
    found: dict[int, list[RawElement]] = defaultdict(list)
    for item, _ in document.iterate_items(traverse_pictures=True):
        # the element of a figure already contains the text of the items inside
        inside = item.parent is not None and isinstance(item.parent.resolve(document), PictureItem)
        if isinstance(item, DocItem) and (item.prov or not document.pages) and not inside:
            page = item.prov[0].page_no if item.prov else 1
            found[page] += _in_columns(document, item, _element(document, item, serializer))
    return found


def _in_columns(document: DoclingDocument, item: DocItem, whole: RawElement) -> list[RawElement]:
    """Divide a paragraph that goes on in another column into elements with a box each, by the part of its
    text that stands in each column."""
    parts = [place for place in item.prov if place.page_no == item.prov[0].page_no]
    if whole["kind"] != "text" or len(parts) < 2:
        return [whole]
    starts = [place.charspan[0] for place in parts[1:]]
    cuts = [0, *starts, len(whole["text"])]
    if cuts != sorted(set(cuts)):
        return [whole]
    return [
        {**whole, "text": whole["text"][start:end], "bbox": _box(document, place)}
        for place, start, end in zip(parts, cuts, cuts[1:], strict=False)
    ]


def _element(document: DoclingDocument, item: DocItem, serializer: MarkdownDocSerializer) -> RawElement:
    """Convert one item; a table's text is its Markdown with the caption, a figure's the text inside it."""
    box = _box(document, item.prov[0]) if item.prov else None
    if isinstance(item, TableItem):
        return {"kind": "table", "text": serializer.serialize(item=item).text, "bbox": box}
    if isinstance(item, PictureItem):
        inside = [getattr(child.resolve(document), "text", "") for child in item.children]
        return {"kind": "picture", "text": "\n".join(inside), "bbox": box}
    text = getattr(item, "text", "")
    if isinstance(item, FormulaItem):
        return {"kind": "formula", "text": text, "bbox": box}
    return {"kind": "code" if isinstance(item, CodeItem) else "text", "text": text, "bbox": box}


def boxes_of(document: DoclingDocument, item: DocItem) -> list[PageBox]:
    """Return the boxes of an element: one, or one on each page if it continues over a page break."""
    return [PageBox(page=place.page_no, bbox=_box(document, place)) for place in item.prov]


def _box(document: DoclingDocument, place: ProvenanceItem) -> Box:
    """Return a box in points from the top left corner of its page, rounded to 0.1."""
    box = place.bbox.to_top_left_origin(document.pages[place.page_no].size.height)
    return (round(box.l, 1), round(box.t, 1), round(box.r, 1), round(box.b, 1))


def to_points(document: DoclingDocument) -> None:
    """Convert the boxes and page sizes of a PPTX file to points; Docling leaves them in EMU."""
    for page in document.pages.values():
        page.size = Size(width=page.size.width / EMU, height=page.size.height / EMU)
    for item, _ in document.iterate_items(traverse_pictures=True, included_content_layers=set(ContentLayer)):
        for place in item.prov if isinstance(item, DocItem) else ():
            place.bbox = place.bbox.scaled(1 / EMU)


def _is_pdf(document: DoclingDocument) -> bool:
    """Return whether a document was made of a PDF, as all were that do not state their origin."""
    return document.origin is None or document.origin.mimetype == "application/pdf"


def join(
    pages: Iterable[int], whole: DoclingDocument | None, alone: Mapping[int, DoclingDocument]
) -> DoclingDocument:
    """Combine pages that were converted separately into one document, with their original page numbers.

    `alone` maps page numbers to documents of a single page and takes precedence over `whole`. A page that is
    in neither is empty.
    """
    first = next(iter(alone.values()))
    pieces: list[DoclingDocument] = []
    for in_whole, run in groupby(pages, lambda n: whole is not None and n in whole.pages and n not in alone):
        numbers = list(run)
        if in_whole and whole is not None:
            pieces.append(whole.filter(page_nrs=set(numbers)))
        else:
            # joining numbers the pages by their order, so a missing page needs an empty one in its place
            pieces += [
                alone.get(number)
                or DoclingDocument(name=first.name, pages={number: PageItem(page_no=number, size=Size())})
                for number in numbers
            ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        joined = DoclingDocument.concatenate(pieces)
    joined.origin = first.origin
    return joined


def lost(failed: Mapping[int, str]) -> list[str]:
    """Return one line per reason for which pages failed, such as `pages 2-4 and 7 are lost: ...`."""
    by_reason: dict[str, list[int]] = defaultdict(list)
    for number, reason in sorted(failed.items()):
        by_reason[reason].append(number)
    return [
        f"{'page' if len(numbers) == 1 else 'pages'} {_ranges(numbers)}"
        f" {'is' if len(numbers) == 1 else 'are'} lost: {reason}"
        for reason, numbers in by_reason.items()
    ]


def _ranges(numbers: list[int]) -> str:
    """Format sorted page numbers as ranges: `2-4 and 7` for 2, 3, 4, 7."""
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    names = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
