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

from fathoms.text.fingerprints import fingerprint
from fathoms.types import Box, Document, Page, Place, StoredValue

Modality = Literal["text", "table", "figure"]
MODALITIES: tuple[Modality, ...] = ("text", "table", "figure")
LONGEST = 200
"""The most words of a passage; longer texts of a page are divided at line ends."""
SHORTEST = 15
"""The fewest words of a passage that a question can be about."""
_CELLS = 3
"""The fewest words of a table."""
_KINDS: dict[str, Modality] = {"table": "table", "picture": "figure"}
_CONTENTS = re.compile(r"(\.\s?){4,}\s*\d+\s*$|\s{3,}\d+\s*$")
_REFERENCE = re.compile(r"^\s*(\[\d+\]|\d{1,3}\.\s+[A-Z])|\bdoi\b|https?://|\bet al\.|\barXiv\b|\bpp\.\s*\d")
_TITLE, _NEAR = 25, 50
"""The words of the beginning of a document, and those on each side of a component, that prompts have."""
_EDGE = 2
"""The lines at the top and at the bottom of a page that may be running heads."""
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of scripts that are written without spaces: Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")
"""Where one sentence of a line ends and the next begins."""
_SHARE = 0.4
"""The share of the lines of a piece by which it is a table of contents or a list of references."""


class Component(StoredValue):
    """A passage, a table or a figure on a page of a document. `page` and `number`, the place of the component
    on its page, count from 1. `text` is what is written in it, and `image` its picture where there is one.
    `title` is how the document begins, and `page_text` the text of the whole page; `before` and `after` are
    the words on the page that stand next to the component."""

    document: str
    page: int
    number: int
    modality: Modality
    text: str
    page_text: str
    title: str = ""
    before: str = ""
    after: str = ""
    bbox: Box | None = None
    image: Path | None = None

    @property
    def id(self) -> str:
        """A short name that stays the same as long as the text of the component does, wherever it stands in
        its document; of a picture without text, its place."""
        place = () if self.text.strip() else (self.page, self.bbox)
        return fingerprint(self.document, self.modality, " ".join(self.text.split()), *place)[:12]

    @property
    def place(self) -> Place:
        """The page on which the component stands."""
        return self.document, self.page

    @property
    def whole(self) -> str:
        """The text of the page, with that of the component, which a parser may have read in a picture
        alone."""
        has = " ".join(self.text.split()) in " ".join(self.page_text.split())
        return self.page_text if has else f"{self.page_text}\n\n{self.text}"

    def __hash__(self) -> int:
        return hash((self.document, self.page, self.number))


@dataclass(frozen=True)
class Components:
    """The components that questions can be about, in reading order, and how many others were left out, by the
    reason."""

    usable: tuple[Component, ...]
    dropped: Mapping[str, int]


def components(
    documents: Iterable[Document],
    modalities: Sequence[Modality] = MODALITIES,
    pictures: Mapping[tuple[str, int, Box], Path] | None = None,
) -> Components:
    """Return the components of documents. Tables and figures are those that the parser found as layout
    elements; without any, a page has only passages. `pictures` are those of tables and figures, by document,
    page and box."""
    usable: dict[str, Component] = {}
    dropped: Counter[str] = Counter()
    for document in documents:
        running = _running_lines(document)
        for component in _of_document(document, running, pictures or {}):
            if component.modality not in modalities:
                continue
            reason = "repeated" if component.id in usable else unfit(component)
            if reason:
                dropped[reason] += 1
            else:
                usable[component.id] = component
    return Components(tuple(usable.values()), dict(dropped))


def unfit(component: Component) -> str | None:
    """Return why a component is unfit for questions; `None` if it is fit."""
    text = component.text
    if component.modality == "figure":
        return None if component.image is not None or size_of(text) >= SHORTEST else "figure without picture"
    if component.modality == "table":
        return None if len(re.findall(r"\w+", text)) >= _CELLS else "too short"
    if size_of(text) < SHORTEST:
        return "too short"
    lines = [line for line in text.splitlines() if line.strip()]
    if _share(_CONTENTS, lines) >= _SHARE:
        return "table of contents"
    if _share(_REFERENCE, lines) >= _SHARE:
        return "list of references"
    letters = sum(character.isalpha() for character in text)
    return "hardly any words" if letters < len(text.replace(" ", "")) / 2 else None


def opening(component: Component) -> str:
    """Return the beginning of every prompt about a component: how its document begins, its text, and what
    stands next to it. It is the same for all of them, so that providers and servers can reuse what they
    computed for it."""
    named = {"text": "Passage", "table": "Table", "figure": "Figure"}[component.modality]
    parts = [
        f"From page {component.page} of the document {component.document}.",
        component.title and f"The document begins with: {component.title}",
        component.before and f"Before the {named.lower()}: ... {component.before}",
        component.after and f"After the {named.lower()}: {component.after} ...",
        f"{named}:",
        component.text.strip() or "(see the picture)",
    ]
    return "\n\n".join(part for part in parts if part) + "\n\n"


def _of_document(
    document: Document, running: frozenset[str], pictures: Mapping[tuple[str, int, Box], Path]
) -> Iterator[Component]:
    """Yield all components of a document."""
    first = next((page.text for page in document.pages if page.text.strip()), "")
    title = " ".join(first.split()[:_TITLE])
    for page in document.pages:
        pieces = list(_pieces(page, running))
        for number, (modality, text, bbox) in enumerate(pieces, 1):
            around = [" ".join(piece[1].split()) for piece in pieces]
            yield Component(
                title="" if page.text == first and number == 1 else title,
                before=" ".join(" ".join(around[: number - 1]).split()[-_NEAR:]),
                after=" ".join(" ".join(around[number:]).split()[:_NEAR]),
                document=document.id,
                page=page.number,
                number=number,
                modality=modality,
                text=text,
                page_text=page.text,
                bbox=bbox,
                image=None if bbox is None else pictures.get((document.id, page.number, bbox)),
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
    left = [part for line in left for part in (SENTENCE.split(line) if size_of(line) > LONGEST else [line])]
    words = sum(map(size_of, left))
    if not words:
        return
    target = words / -(-words // LONGEST)
    passage: list[str] = []
    size = 0
    for line in left:
        passage.append(line)
        size += size_of(line)
        if size >= target:
            yield "\n".join(passage)
            passage, size = [], 0
    if passage:
        yield "\n".join(passage)


def size_of(text: str) -> int:
    """Return the number of words of a text; in scripts without spaces, two characters count as a word."""
    return len(UNSPACED.sub(" ", text).split()) + len(UNSPACED.findall(text)) // 2


def _running_lines(document: Document) -> frozenset[str]:
    """Return the lines at the top or bottom of more than half of the pages, and of three at least, with their
    digits left out: running heads and page numbers."""
    counts: Counter[str] = Counter()
    for page in document.pages:
        lines = [_plain(line) for line in page.text.splitlines() if line.strip()]
        counts.update({*lines[:_EDGE], *lines[-_EDGE:]})
    least = max(3, len(document.pages) // 2 + 1)
    # a line of digits alone may be a page number, or a row of a table
    return frozenset(line for line, count in counts.items() if count >= least and line)


def _plain(line: str) -> str:
    """Return a line without digits, and with single spaces."""
    return " ".join(re.sub(r"\d+", "", line).split())


def _share(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    """Return the share of the lines in which a pattern is found."""
    return sum(bool(pattern.search(line)) for line in lines) / len(lines) if lines else 0.0
