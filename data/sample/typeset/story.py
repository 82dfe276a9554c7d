"""Turns the blocks of a document into flowables and writes the PDF."""

from collections.abc import Iterator
from pathlib import Path

from reportlab.lib.colors import HexColor, white
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import (
    ActionFlowable,
    CondPageBreak,
    Flowable,
    KeepTogether,
    NextPageTemplate,
    PageBreak,
    Paragraph,
    Spacer,
    Table,
)

from .figures import FIGURES
from .looks import LOOKS, Look
from .pages import NOTE_GAP, Float, Footnote, Paper, Place, Prose, Top, noting
from .scans import SCANS
from .source import Block, Source
from .tables import caption, table

_LONG = 20


def write(source: Source, path: Path) -> dict[str, Place]:
    """Typeset ``source`` into ``path``; returns the places of figures, tables and scans by their names."""
    look = LOOKS[source.meta["look"]]
    tops = [Top(list(_title(source.meta, look)), look, 16)]
    story: list[Flowable] = []
    before = ""
    for block in source.blocks:
        if block.wide:
            tops.append(Top(_floated(block, look, look.width), look))
            story.append(ActionFlowable(("wide", len(tops) - 1)))
            continue
        if block.kind == "footnote":
            story[-1].room = _note(block, look).wrap(look.column, look.height)[1] + NOTE_GAP
        story.extend(_flow(block, look, before))
        before = block.kind
    paper = Paper(path, source, look, tops)
    paper.build(story)
    if paper.waiting or paper.waiting_floats:
        raise ValueError(f"{source.name}: never set: {paper.waiting} {paper.waiting_floats}")
    return paper.places


def _title(meta: dict[str, str], look: Look) -> Iterator[Flowable]:
    """The head of the first page."""
    if look.banner:
        yield _banner(meta, look)
    else:
        yield Paragraph(meta["title"], look.style("title"))
        if "subtitle" in meta:
            yield Paragraph(meta["subtitle"], look.style("subtitle"))
    yield Paragraph(meta["author"], look.style("author"))
    if "affiliation" in meta:
        yield Paragraph(meta["affiliation"], look.style("affiliation"))
    yield Paragraph(meta["imprint"], look.style("imprint"))
    if "abstract" in meta:
        yield _abstract(meta, look)


def _banner(meta: dict[str, str], look: Look) -> Flowable:
    """Title and subtitle in white on a bar of the accent colour."""
    rows = [
        [Paragraph(meta[name], ParagraphStyle(name, look.style(name), textColor=white))]
        for name in ("title", "subtitle")
    ]
    style = [
        ("BACKGROUND", (0, 0), (-1, -1), look.accent),
        ("LEFTPADDING", (0, 0), (-1, -1), 14),
        ("TOPPADDING", (0, 0), (-1, 0), 26),
        ("BOTTOMPADDING", (0, 1), (-1, 1), 14),
    ]
    return Table(rows, colWidths=[look.width], style=style, spaceAfter=10)


def _abstract(meta: dict[str, str], look: Look) -> Flowable:
    """Abstract and keywords between two rules."""
    style = look.style("abstract")
    cell = [
        Paragraph(f"<b>Abstract.</b> {meta['abstract']}", style),
        Paragraph(f"<b>Keywords:</b> {meta['keywords']}", style),
    ]
    rules = [
        ("LINEABOVE", (0, 0), (-1, 0), 0.6, look.accent),
        ("LINEBELOW", (0, -1), (-1, -1), 0.6, look.accent),
        ("LEFTPADDING", (0, 0), (-1, -1), 22 if look.centred else 0),
        ("RIGHTPADDING", (0, 0), (-1, -1), 22 if look.centred else 0),
        ("TOPPADDING", (0, 0), (-1, -1), 6),
    ]
    return Table([[cell]], colWidths=[look.width], style=rules, spaceBefore=8)


def _flow(block: Block, look: Look, before: str) -> Iterator[Flowable]:
    """The flowables of a block that stands in a column."""
    if block.kind in ("figure", "table"):
        parts = _floated(block, look, look.column)
        yield from [*parts, Spacer(1, 10)] if len(block.lines) > _LONG else [Float(parts)]
    elif block.kind == "footnote":
        yield Footnote(_note(block, look))
    elif block.kind == "box":
        yield KeepTogether([_box(block, look)])
    elif block.kind == "scan":
        yield from (
            NextPageTemplate("bare"),
            PageBreak(),
            noting(SCANS[block.arguments[0]](look.page), *block.arguments),
        )
    elif block.kind in ("clause", "step"):
        number, text = block.text.split(" ", 1)
        yield Prose(text, look.style(block.kind), bulletText=number)
    elif block.kind == "paragraph":
        yield Prose(
            block.text, look.style("first" if before in ("", "heading", "subheading") else "paragraph")
        )
    elif block.kind in ("heading", "subheading"):
        if before != "heading":
            yield CondPageBreak(5 * look.leading)
        yield Paragraph(block.text, look.style(block.kind))
    else:
        yield Paragraph(block.text, look.style(block.kind))


def _note(block: Block, look: Look) -> Paragraph:
    return Paragraph(block.text, look.style("footnote"))


def _floated(block: Block, look: Look, width: float) -> list[Flowable]:
    if block.kind == "table":
        return table(block, look, width)
    return [
        noting(FIGURES[block.arguments[0]](width), block.arguments[0]),
        Spacer(1, 4),
        caption(block.text, look),
    ]


def _box(block: Block, look: Look) -> Flowable:
    """A warning in a frame with a bar at its left."""
    title = Paragraph(f"<b>{' '.join(block.arguments)}</b>", look.style("box"))
    style = [
        ("BACKGROUND", (0, 0), (-1, -1), HexColor(0xFBEFEA)),
        ("LINEBEFORE", (0, 0), (0, -1), 4, look.accent, "butt"),
        ("LEFTPADDING", (0, 0), (-1, -1), 12),
        ("TOPPADDING", (0, 0), (-1, -1), 6),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 7),
    ]
    cell = [title, Paragraph(block.text, look.style("box"))]
    return Table([[cell]], colWidths=[look.column], style=style, spaceBefore=6, spaceAfter=9)
