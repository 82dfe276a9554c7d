"""Finds the citations that are written in an answer, and the hits that they name.

| written | names |
|---|---|
| `[1]`, `[1, 3]`, `[1][2]`, `[2-4]` | the hits with these ranks |
| `[doc.pdf]`, `[doc.pdf, p. 4]`, `(doc.pdf, pages 4-5)` | the hits from the document, or from pages of it |
| `(p. 12)`, `(see pages 4-5)` | the hits from these pages, if all hits are from one document |
| `(image2)`, `![caption](image2)` | the second hit that is an image, or the hit whose chunk has this id |
| `【4:0†source】`, `[^1]`, `^1^` | what a service or a list of notes calls by this number; no hit |

A number that no hit has is still a citation, without ranks. In code, only what names a hit is one, because
models write `` `(image2)` `` but also `` `a[7]` ``. Brackets are no citation in a formula, where they are
glued to a single letter (`a[1]`), hold a zero (`[0, 1]`), continue as a pattern or a chemical formula
(`[0-9]+`), or hold nothing but years, unless there are hits with these ranks.

This is the one definition of a citation: `parse_citations` counts them, and `markers` is what is set aside
when an answer is read (`fathoms.answers.reading`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from fathoms.answers.protected import code_spans, math_spans
from fathoms.answers.reasoning import reasoning_spans
from fathoms.types import Citation, Hit, in_one_form

Span = tuple[int, int]

MOST_PAGES = 50
"""A longer range of pages gives one citation without a page, so that `p. 1-100000` costs no memory."""

# An image's caption, ![...], is not a citation. A link's target, [...](...), is one only for an image.
# It begins with a set of characters, by which Python skips other text quickly.
_MARKER = re.compile(
    r"[\[(【^](?:(?<=\[)(?<!!\[)([^\[\]\n]{1,300})\]|(?<=\()([^()\[\]\n]{1,300})\)"
    r"|(?<=【)([^【】\n]{1,200})】|(?<=\w\^)(\d{1,2})\^)"
)
_MAY_REFER = re.compile(r"\d|\.[A-Za-z]|\^")
_RANGE = r"\d{1,9}(?:\s*[-\u2013\u2014]\s*\d{1,9})?"
_NUMBERS = re.compile(rf"{_RANGE}(?=\s*(?:[,;&]|and\b|\Z))")
_NOTE = re.compile(r"\^[\w-]{1,20}\^?")
_LEAD = re.compile(r"(?:(?:see|cf\.?|from|in|at|sources?|refs?\.?|quelle)\b\s*:?\s*)+", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?:(?:doc(?:ument)?|source|ref(?:erence)?|cit(?:e|ation)|passage|excerpt|chunk|context|node|quelle)s?"
    r"(?:\b|(?=\d))[.:#_\s-]*|#)"
    rf"({_RANGE})(?=\s*(?:[,;&]|and\b|\Z))",
    re.IGNORECASE,
)
_ON_PAGES = re.compile(
    rf"(?:pages?|pp?|pg|S|Seiten?|slides?|lines?|sheets?)\b\.?\s*({_RANGE}(?:\s*(?:,|&|and)\s*{_RANGE})*)(?=\s*(?:[,;]|and\b|\Z))",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"image ?(\d{1,9})(?=\s*(?:[,;&]|and\b|\Z))", re.IGNORECASE)
_FILE = re.compile(r"[^,;:]+?\.(?:pdf|docx|pptx|html?|vtt|srt)(?=\s*(?:[,;:&#]|and\b|p|\Z))", re.IGNORECASE)
_PAGES = re.compile(
    rf"(?:\s*[,:;]?\s*(?:pages?|pp?|§{{1,2}})\.?\s*|\s*[,:]\s*|#page=)({_RANGE}(?:\s*(?:,|&|and)\s*{_RANGE})*)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:[,;&]|and\b)\s*")
_YEARS = range(1000, 3000)
_GLUED = re.compile(r"(?:\A|[\s(=+*/,])[^\W\d_]\Z")
"""A single letter, which makes brackets after it an index; not the end of a name such as `PaLM-2-L`."""
_IS_PATTERN = re.compile(r"\+(?!\s)|\d?[+\u2212-](?=\W|\Z)|\?(?=\S)|\\[a-zA-Z]")
"""What follows brackets in a regular expression or in the formula of an ion: `[0-9]+x`, `[Fe]2+`."""


class _Item(NamedTuple):
    """One reference inside a marker: numbers, an image, or a document with its pages (as first and last).

    `numbers` are the first and the last rank; a `note` is what the reader of a service can click on.
    A reference that is `named` says what its number counts, as `source 3` does.
    """

    label: str
    numbers: Span | None = None
    image: int | None = None
    document: str | None = None
    pages: tuple[Span, ...] = ()
    note: bool = False
    named: bool = False


def parse_citations(answer: str, hits: Sequence[Hit] | None) -> tuple[Citation, ...]:
    """Return the citations written in an answer, in its order, one for each number or page that it cites.

    `hits` are what was retrieved for it, `None` where that is unknown. In a range such as `[2-1000]`, each
    number that a hit has is one citation, and the rest is one citation without ranks. Reasoning is ignored. A
    citation belongs to the sentence that it stands in, or, after the full
    stop, to the sentence before; at the beginning of a line it belongs to the sentence that follows.
    """
    thoughts = reasoning_spans(answer)[0]
    found = markers(_blanked(answer, thoughts), hits)
    if not found:
        return ()
    sentence_of = _sentences(
        answer, [span for span, _ in found], max((end for _, end in thoughts), default=0)
    )
    return tuple(
        cited.model_copy(update={"span": span, "sentence": sentence_of(span)})
        for span, items in found
        for item in items
        for cited in _cited(item, hits or ())
    )


def markers(readable: str, hits: Sequence[Hit] | None) -> list[tuple[Span, Sequence[_Item]]]:
    """Return the places of the citations in a text without reasoning, and what each refers to."""
    names = {hit.chunk.document.casefold(): hit.chunk.document for hit in hits or () if hit.chunk.document}
    known = tuple(sorted(names.items(), key=lambda name: len(name[0]), reverse=True))
    candidates: list[tuple[re.Match[str], Sequence[_Item]]] = []
    for match in _MARKER.finditer(readable):
        content = match[1] or match[2] or ""
        if note := match[3] or match[4] or (content if "†" in content else ""):
            candidates.append((match, [_Item(note, note=True)]))
        elif (_MAY_REFER.search(content) or any(name in content.casefold() for name in names)) and (
            items := _items(content, known)
        ):
            candidates.append((match, items))
    if not candidates:
        return []
    code, math = code_spans(readable), math_spans(readable)
    return [
        (match.span(), items)
        for match, items in candidates
        if match.start() not in math and _is_marker(match, items, hits or (), in_code=match.start() in code)
    ]


def all_citations(
    answer: str, hits: Sequence[Hit] | None, reported: Iterable[Citation] | None
) -> tuple[Citation, ...] | None:
    """Return the citations that a pipeline reports, with the ranks of the hits that they name, and then those
    written in its answer. Returns `None`, for unknown, where there are none and no hits were reported."""
    written = parse_citations(answer, hits)
    if reported is None and hits is None and not written:
        return None
    resolved = []
    for cited in reported or ():
        ranks = ranks_of(cited.document, cited.page, hits or ())
        resolved.append(cited.model_copy(update={"ranks": ranks}))
    return (*resolved, *written)


def ranks_of(document: str | None, page: int | None, hits: Sequence[Hit]) -> tuple[int, ...]:
    """Return the ranks of the hits from a document, or from one page of it."""
    return _of_document(document, None if page is None else range(page, page + 1), hits)


def _blanked(text: str, spans: Iterable[Span]) -> str:
    """Return a text of the same length with spaces in place of some of its parts."""
    characters = list(text)
    for start, end in spans:
        characters[start:end] = " " * (end - start)
    return "".join(characters)


@lru_cache(maxsize=4096)
def _items(content: str, known: tuple[tuple[str, str], ...]) -> tuple[_Item, ...]:
    """Parse what is between brackets; empty where it is anything else than references.

    `known` are the retrieved documents, each with its case-folded name before it, the longest first. Cached,
    because all answers cite `1` and `2`.
    """
    items: list[_Item] = []
    at, end = len(content) - len(content.lstrip()), len(content.rstrip())
    while True:
        found = _item(content[:end], at, known)
        if found is None:
            return ()
        item, at = found
        items.append(item)
        if at == end:
            return tuple(items)
        between = _BETWEEN.match(content, at, end)
        if between is None:
            return ()
        at = between.end()


def _item(content: str, at: int, known: Iterable[tuple[str, str]]) -> tuple[_Item, int] | None:
    """Parse the reference that begins at an offset; returns it with the offset of its end."""
    if numbers := _NUMBERS.match(content, at):
        return _Item(numbers[0], numbers=_span(numbers[0])), numbers.end()
    if named := _NAMED.match(content, at):
        return _Item(named[1], numbers=_span(named[1]), named=True), named.end()
    if lead := _LEAD.match(content, at):
        at = lead.end()
        if named := _NAMED.match(content, at):
            return _Item(named[1], numbers=_span(named[1]), named=True), named.end()
    if note := _NOTE.match(content, at):
        return _Item(note[0], note=True), note.end()
    if on := _ON_PAGES.match(content, at):
        return _Item(on[0], pages=tuple(_span(part) for part in re.findall(_RANGE, on[1]))), on.end()
    if image := _IMAGE.match(content, at):
        return _Item(image[0], image=int(image[1])), image.end()
    name = _document(content, at, known)
    if name is None:
        return None
    document, end = name
    pages: tuple[Span, ...] = ()
    if found := _PAGES.match(content, end):
        end = found.end()
        pages = tuple(_span(part) for part in re.findall(_RANGE, found[1]))
    return _Item(content[at:end], document=document, pages=pages), end


def _document(content: str, at: int, known: Iterable[tuple[str, str]]) -> tuple[str, int] | None:
    """Find the document that is named at an offset: a retrieved one, or any name that ends as those of
    documents do."""
    for folded, name in known:
        end = at + len(name)
        rest = content[end : end + 1]
        if content[at:end].casefold() == folded and not rest.isalnum():
            return name, end
    other = _FILE.match(content, at)
    return (other[0], other.end()) if other else None


def _span(text: str) -> Span:
    """Read a number or a range as its first and its last number."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return numbers[0], numbers[-1]


def _is_marker(match: re.Match[str], items: Sequence[_Item], hits: Sequence[Hit], *, in_code: bool) -> bool:
    """Return whether references in brackets are a citation, rather than years, code, a remark or a link."""
    text, at = match.string, match.start()
    before, after = text[at - 1 : at], text[match.end() : match.end() + 1]
    if match[3] or match[4]:
        return not in_code
    if match[1] is not None and any(item.numbers for item in items):
        if any(item.numbers and item.numbers[0] < 1 for item in items):
            return False
        if _GLUED.search(text, max(0, at - 2), at) and not (before.isupper() and after == "["):
            return False
        if after == "{" or _IS_PATTERN.match(text, match.end()):
            return False
    if in_code:
        is_index = match[1] is not None and (before.isalnum() or before in ("_", ")", "]"))
        if is_index or not all(cited.ranks for item in items for cited in _cited(item, hits)):
            return False
    if match[2] is not None:  # round brackets
        linked = before == "]"
        if any(
            (item.numbers and not items[0].named) or item.note or (linked and item.document) for item in items
        ):
            return False
    numbers = [number for item in items for number in item.numbers or (0,)]
    if any(number not in _YEARS for number in numbers):
        return True
    return not {hit.rank for hit in hits}.isdisjoint(numbers)


def _cited(item: _Item, hits: Sequence[Hit]) -> Iterator[Citation]:
    """Yield what one reference cites."""
    if item.note:
        yield Citation(label=item.label)
    elif item.numbers:
        yield from _by_rank(item.label, *item.numbers, hits)
    elif item.image is not None:
        label = f"image{item.image}"
        images = [hit for hit in hits if hit.chunk.modality == "image"]
        named = [hit for hit in hits if hit.chunk.id == label] or images[item.image - 1 : item.image]
        yield _of_hit(item.label, named[0]) if named and item.image else Citation(label=item.label)
    else:
        documents = {hit.chunk.document for hit in hits}
        document = item.document or (documents.pop() if len(documents) == 1 else None)
        cited = Citation(document=document, label=item.label)
        if not item.pages:
            yield cited.model_copy(update={"ranks": _of_document(document, None, hits)})
        for first, last in item.pages:
            pages = range(first, last + 1) or range(first, first + 1)
            for part in [range(page, page + 1) for page in pages] if len(pages) <= MOST_PAGES else [pages]:
                page = part[0] if len(part) == 1 and part[0] else None
                ranks = _of_document(document, part, hits)
                yield cited.model_copy(update={"page": page, "ranks": ranks})


def _by_rank(label: str, first: int, last: int, hits: Sequence[Hit]) -> Iterator[Citation]:
    """Yield a citation for each rank in a range, and one for all the numbers that are no rank."""
    named = sorted((hit for hit in hits if first <= hit.rank <= last), key=lambda hit: hit.rank)
    for hit in named:
        yield _of_hit(str(hit.rank), hit)
    if len(named) < last - first + 1 or last < first:
        beyond = max((hit.rank for hit in named), default=first - 1) + 1
        whole = not named or beyond > last
        yield Citation(label=label if whole else str(last) if beyond == last else f"{beyond}-{last}")


def _of_hit(label: str, hit: Hit) -> Citation:
    """Return the citation of one hit, with its document and its first page."""
    chunk = hit.chunk
    page = chunk.pages[0] if chunk.pages else None
    return Citation(document=chunk.document, page=page, ranks=(hit.rank,), label=label)


def _of_document(document: str | None, pages: range | None, hits: Sequence[Hit]) -> tuple[int, ...]:
    """Return the ranks of the hits from a document, or from some of its pages."""
    document = in_one_form(document or "")
    if not document:
        return ()
    return tuple(
        hit.rank
        for hit in hits
        if hit.chunk.source.casefold() == document.casefold()
        and (pages is None or any(page in pages for page in hit.chunk.pages))
    )


# ----- sentences

# A full stop ends a sentence before white space, an ideographic one anywhere; so does the end of a line.
_STOP = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s|\Z)|[\u3002\uff01\uff1f]+[\u300d\u300f\u201d]*|\n"
)
_ABBREVIATIONS = frozenset(
    {"al", "approx", "ca", "cf", "ch", "chap", "dr", "e.g", "ed", "eds", "eq", "eqs", "et", "etc", "fig"}
    | {"figs", "i.e", "jr", "mr", "mrs", "ms", "no", "nos", "p", "pp", "prof", "resp", "sec", "sect"}
    | {"st", "tab", "vol", "vs"}
)


def _sentences(answer: str, markers: Sequence[Span], begin: int) -> Callable[[Span], Span | None]:
    """Return a function that finds the sentence, from an offset on, to which a marker belongs; `None` if
    there is no sentence."""
    text = _blanked(answer, markers)  # markers must not hide that a full stop is before white space
    spans = list(_split(text, begin))
    starts = [start for start, _ in spans]
    breaks = [found.start() for found in re.finditer("\n", text)]

    def sentence_of(marker: Span) -> Span | None:
        after = bisect_right(starts, marker[0])
        if after == 0:
            return spans[0] if spans else None
        line = bisect_left(breaks, marker[0])
        # Nothing but white space stands between the sentence before and the marker, if it is not inside.
        begins_line = line > 0 and spans[after - 1][1] <= breaks[line - 1]
        line_end = breaks[line] if line < len(breaks) else len(text)
        leads = begins_line and after < len(spans) and starts[after] < line_end
        return spans[after] if leads else spans[after - 1]

    return sentence_of


def _split(text: str, at: int) -> Iterator[Span]:
    """Yield the sentences of a text from an offset on, without the white space around them."""
    start = at
    for stop in _STOP.finditer(text, at):
        if stop[0] != "\n" and not _ends_sentence(text, start, stop):
            continue
        if piece := _stripped(text, start, stop.end()):
            yield piece
        start = stop.end()
    if piece := _stripped(text, start, len(text)):
        yield piece


def _stripped(text: str, start: int, end: int) -> Span | None:
    """Return a span without white space at its ends, `None` where it holds nothing else."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return (start + left, start + len(piece.rstrip())) if piece.strip() else None


def _ends_sentence(text: str, start: int, stop: re.Match[str]) -> bool:
    """Return whether a full stop ends a sentence, rather than an abbreviation, an initial or the number of a
    list item."""
    following = text[stop.end() : stop.end() + 400].lstrip()[:1]
    if following.islower():
        return False
    if stop[0] != ".":
        return True
    before = text[start : stop.start()].split()
    word = before[-1].lstrip("(\"'\u201c[") if before else ""
    if word.casefold() in _ABBREVIATIONS or (len(word) == 1 and word.isupper()):
        return not following
    return not (len(before) == 1 and word.isdigit() and bool(following))
