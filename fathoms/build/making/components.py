"""Components: the pieces of pages that questions can be about, such as a passage, a table or a figure.

Double-Bench (Shen et al. 2025) splits pages in the same way, and leaves out what says nothing: here, rules
drop running heads, tables of contents, lists of references and fragments, each with its reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fathoms.config import fingerprint
from fathoms.types import Box, Document, Page, StoredValue

Modality = Literal["text", "table", "figure"]
MODALITIES: tuple[Modality, ...] = ("text", "table", "figure")
LONGEST = 200
"""The most words of a passage; longer texts of a page are divided at line ends."""
SHORTEST = 15
"""The fewest words of a passage or a table that a question can be about."""
_KINDS: dict[str, Modality] = {"table": "table", "picture": "figure"}
_CONTENTS = re.compile(r"(\.\s?){4,}\s*\d+\s*$|\s{3,}\d+\s*$")
_REFERENCE = re.compile(r"^\s*(\[\d+\]|\d{1,3}\.\s+[A-Z])|\bdoi\b|https?://|\bet al\.|\barXiv\b|\bpp\.\s*\d")
_EDGE = 2
"""The lines at the top and at the bottom of a page that may be running heads."""
_SHARE = 0.4
"""The share of the lines of a piece by which it is a table of contents or a list of references."""


class Component(StoredValue):
    """A passage, a table or a figure on a page of a document. `page` and `number`, the place of the component
    on its page, count from 1. `text` is what is written in it, and `image` its picture where there is one.
    `page_text` is the text of the whole page."""

    document: str
    page: int
    number: int
    modality: Modality
    text: str
    page_text: str
    bbox: Box | None = None
    image: Path | None = None

    @property
    def id(self) -> str:
        """A short name that stays the same as long as the text of the component does."""
        return fingerprint(self.document, self.page, self.modality, self.text, self.bbox)[:12]

    def __hash__(self) -> int:
        return hash((self.document, self.page, self.number))


@dataclass(frozen=True)
class Components:
    """The components that questions can be about, in reading order, and how many others were left out, by the
    reason."""

    kept: tuple[Component, ...]
    dropped: Mapping[str, int]


def components(documents: Iterable[Document], modalities: Sequence[Modality] = MODALITIES) -> Components:
    """Return the components of documents. Tables and figures are those that the parser found as layout
    elements; without any, a page has only passages."""
    kept: list[Component] = []
    dropped: Counter[str] = Counter()
    for document in documents:
        running = _running_lines(document)
        for component in _of_document(document, running):
            if component.modality not in modalities:
                continue
            if reason := unfit(component):
                dropped[reason] += 1
            else:
                kept.append(component)
    return Components(tuple(kept), dict(dropped))


def unfit(component: Component) -> str | None:
    """Return the reason why no question can be about a component, `None` if one can."""
    text = component.text
    words = text.split()
    if component.modality == "figure":
        return None if component.image is not None or len(words) >= SHORTEST else "figure without picture"
    if len(words) < SHORTEST:
        return "too short"
    if component.modality == "table":
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    if _share(_CONTENTS, lines) >= _SHARE:
        return "table of contents"
    if _share(_REFERENCE, lines) >= _SHARE:
        return "list of references"
    letters = sum(character.isalpha() for character in text)
    return "hardly any words" if letters < len(text.replace(" ", "")) / 2 else None


def opening(component: Component) -> str:
    """Return the beginning of every prompt about a component: its document, its page and its text. It is the
    same for all of them, so that providers and servers can reuse what they computed for it."""
    named = {"text": "Passage", "table": "Table", "figure": "Figure"}[component.modality]
    return (
        f"Page {component.page} of the document {component.document}:\n\n{component.page_text.strip()}\n\n"
        f"{named} on this page:\n\n{component.text.strip() or '(see the picture)'}\n\n"
    )


def _of_document(document: Document, running: frozenset[str]) -> Iterator[Component]:
    """Yield all components of a document."""
    for page in document.pages:
        for number, (modality, text, bbox) in enumerate(_pieces(page, running), 1):
            yield Component(
                document=document.id,
                page=page.number,
                number=number,
                modality=modality,
                text=text,
                page_text=page.text,
                bbox=bbox,
            )


def _pieces(page: Page, running: frozenset[str]) -> Iterator[tuple[Modality, str, Box | None]]:
    """Yield the passages, tables and figures of a page. Neighbouring elements of text are one passage, as
    long as it is not too long."""
    if not page.elements:
        yield from (("text", text, None) for text in _passages(page.text.splitlines(), running))
        return
    lines: list[str] = []
    for element in page.elements:
        if modality := _KINDS.get(element.kind):
            yield from (("text", text, None) for text in _passages(lines, running))
            lines = []
            yield modality, element.text, element.bbox
        else:
            lines += element.text.splitlines()
    yield from (("text", text, None) for text in _passages(lines, running))


def _passages(lines: Sequence[str], running: frozenset[str]) -> Iterator[str]:
    """Divide lines into passages of about the same number of words, without running heads."""
    left = [line for line in lines if line.strip() and _plain(line) not in running]
    words = sum(len(line.split()) for line in left)
    if not words:
        return
    target = words / -(-words // LONGEST)
    passage: list[str] = []
    size = 0
    for line in left:
        passage.append(line)
        size += len(line.split())
        if size >= target:
            yield "\n".join(passage)
            passage, size = [], 0
    if passage:
        yield "\n".join(passage)


def _running_lines(document: Document) -> frozenset[str]:
    """Return the lines at the top or bottom of more than half of the pages, and of three at least, with their
    digits left out: running heads and page numbers."""
    counts: Counter[str] = Counter()
    for page in document.pages:
        lines = [_plain(line) for line in page.text.splitlines() if line.strip()]
        counts.update({*lines[:_EDGE], *lines[-_EDGE:]})
    least = max(3, len(document.pages) // 2 + 1)
    return frozenset(line for line, count in counts.items() if count >= least)


def _plain(line: str) -> str:
    """Return a line without digits, and with single spaces."""
    return " ".join(re.sub(r"\d+", "", line).split())


def _share(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    """Return the share of the lines in which a pattern is found."""
    return sum(bool(pattern.search(line)) for line in lines) / len(lines) if lines else 0.0
