"""Finds what stands around an answer and is no part of it: lists of sources, offers of further help,
disclaimers, confidence, time stamps, and openings such as "Sure!".

Everything is decided line by line from the end, and sentence by sentence in the last line, so that each
character is looked at a few times at most. What would leave nothing of an answer is left in place by
`fathoms.answers.reading`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from fathoms.answers import endings

Kind = Literal["sources", "offer", "disclaimer", "confidence", "opening"]


class Piece(NamedTuple):
    """A stretch of a text, and what kind of furniture it is."""

    kind: Kind
    start: int
    end: int


_SUFFIXES = "pdf|docx?|pptx?|xlsx?|html?|txt|md|csv|json|vtt|srt|png|jpe?g"
_SUFFIX = rf"\.(?:{_SUFFIXES})\b"
_FILE = rf"[\w)\]]{_SUFFIX}"
_HAS_FILE = re.compile(_SUFFIX, re.IGNORECASE)
# It begins with a set of characters, by which Python skips other text quickly.
_NAMED_PLACE = re.compile(
    rf"[.:§](?:(?<=[\w)\]]\.)(?:{_SUFFIXES})\b|(?<=www\.)|(?:(?<=http:)|(?<=https:))//|(?<=§))", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w")
_DECORATION = r"(?:[#>*_\-–—=•·\s]|[^\w\s.,;:：!?'\"()\[\]{}/\\$%&@+<|~^`])*+"  # noqa: RUF001
_WORD_END = r"(?![^\W_])"
"""Ends a word as `\\b` does, but also before the `_` of emphasis."""
_WORDS_OF_SOURCES = (
    r"(?:(?:data |key |main |primary |cited |used |the )?(?:sources?|source\(s\)|references?|refs?\.?"
    r"|citations?"
    r"|footnotes?|evidence"
    r"|supporting (?:documents?|evidence|passages?|texts?|quotes?|excerpts?)|works cited"
    r"|bibliography|further reading"
    r"|retrieved from|(?:documents?|docs?|contexts?|files?) used|(?:learn|read) more"
    r"|more (?:information|details|at)|links?"
    r"|source documents?|referenced? documents?|source files?)"
    r"(?: (?:used|cited|consulted|list))?|quellen?|belege|literatur|références?|fuentes?"
    r"|referencias|fonti|riferimenti"
    r"|fontes|bronnen|källor|来源|參考|参考(?:文献|资料)?|引用元?|出典|источники)"
)
_HEADING = re.compile(
    rf"{_DECORATION}{_WORDS_OF_SOURCES}{_WORD_END}{_DECORATION}[:：]?{_DECORATION}",  # noqa: RUF001
    re.IGNORECASE,
)
_HEADING_WITH_ITEMS = re.compile(
    rf"{_DECORATION}{_WORDS_OF_SOURCES}{_WORD_END}{_DECORATION}[:：]{_DECORATION}(?P<items>[^\n]*)",  # noqa: RUF001
    re.IGNORECASE,
)
_RELATED = (
    r"(?:related|see also|follow[- ]?ups?|suggested"
    r"|you (?:may|might|could) (?:also )?(?:ask|like|want|be interested)|people also ask"
    r"|next questions?|other questions?|more questions?|further questions?)"
)
_RELATED_HEADING = re.compile(rf"{_DECORATION}{_RELATED}\b[^\n:]{{0,60}}[:?]?{_DECORATION}", re.IGNORECASE)
_RELATED_WITH_ITEMS = re.compile(rf"{_DECORATION}{_RELATED}\b[^\n:]{{0,60}}:[^\n]*", re.IGNORECASE)
_INLINE_HEADING = re.compile(
    rf"(?:(?<=[.!?…。])|(?<=[.!?][\"')\]*_”])"
    rf"|(?<=[—–]))\s+(?P<head>[(\[*_]{{0,4}}\b{_WORDS_OF_SOURCES}\b[*_]{{0,4}}\s?[:：])"  # noqa: RUF001
    r"(?P<items>.*)",
    re.IGNORECASE,
)
_LEAD = rf"{_DECORATION}[(\[{{]{{0,2}}[*_]{{0,3}}"
_STANDS = r"(?:(?:this|it|the \w+) )?(?:(?:is|was|can be) )?(?:found|stated|given|shown|listed) (?:in|on|at)"
_ITEM = re.compile(
    r"\s*(?:[-*+•·–—]|\(?\[?\^?\d{1,3}\]?[.):]?|[a-z][.)]|[¹²³⁴⁵⁶⁷⁸⁹⁰]+|【[^】]*】)\s*\S",  # noqa: RUF001
    re.IGNORECASE,
)
_NOTE = re.compile(r"\s*(?:\[\^[\w-]{1,20}\]:|\[\d{1,3}\]:?\s+\S|[¹²³⁴⁵⁶⁷⁸⁹]{1,2}\s*\S)")
_PAGE = r"(?:page[=:]?|pp?\.?|pages?:?|pg\.?|seiten?|S\.|slides?|sheet)\s*[*_]*[:.]?[*_]*\s*"
_PAGES = r"\d+(?:\s*(?:[-–,&]|and)\s*\d+)*"  # noqa: RUF001
_ONLY_SOURCE = re.compile(
    rf"{_LEAD}(?:(?:see|from|in|according to|source|via|{_STANDS}"
    rf"|(?:source )?(?:document|file)(?: ?name)?)\b[*_]*:?[*_]*\s*)?"
    rf"(?:(?!\b(?:is|are|was|were)\b)[\w .,()&'’-]){{0,120}}?{_FILE}"  # noqa: RUF001
    rf"(?:\s*[,:;#(]?\s*(?:{_PAGE})?{_PAGES}\)?)?[\s*_)\]}}.]*",
    re.IGNORECASE,
)
_PLACE = re.compile(
    rf"https?://\S{{1,500}}|www\.\S{{1,500}}|[^\s,;|<>(]{{0,80}}{_FILE}|\b{_PAGE}{_PAGES}"
    rf"|\b(?:documents?|docs?|sources?|passages?|chunks?|excerpts?|sections?|files?|hits?)"
    rf"[ :#]{{1,3}}{_PAGES}",
    re.IGNORECASE,
)
_AROUND_PLACES = re.compile(
    r"\b(?:sources?|refs?|references?|docs?|documents?|files?|names?|pages?|numbers?|no|nr|sections?|chapters?"
    r"|passages?|chunks?|excerpts?|contexts?|citations?|evidence|links?|url|cited|used"
    r"|retrieved|relevant|supporting"
    r"|from|in|on|at|of|by|to|the|this|it|(?:is|was)(?= (?:found|stated|given|shown|listed|taken|based))|can"
    r"|be|and|via|see|cf|please|refer|consult|according|based|taken"
    r"|found|stated|given|shown|listed|information|answer|quelle|seite)\b|[\d_]",
    re.IGNORECASE,
)
_OF_PLACES = re.compile(
    rf"{_AROUND_PLACES.pattern}|pages?|pp?|pg|seiten?|slides?|sheet|hits?|is|was", re.IGNORECASE
)
_CONFIDENCE = re.compile(
    rf"{_LEAD}\s*\"?(?:(?:answer|overall|my|model|estimated)\s+)?"
    r"(?:confidence|certainty|relevance|groundedness"
    # a probability alone may be what was asked for, but not `answer probability: 0.7` or `Reliability: 70 %`
    r"|(?:probability|reliability)(?:(?<=[a-z] .{11})|(?=[^\n]{1,12}[%★●■]))"
    r"|konfidenz|konfianz|confiance)"
    r"(?:[\s_]+(?:score|level|rating|in this answer))?\"?(?:\s*\([^()\n]{1,20}\))?"
    r"[*_\s]*+(?:[:=–—-]|is)[*_\s]*+"  # noqa: RUF001
    r"(?:(?:about|around|very)?\s*(?:high|medium|moderate|low|certain|hoch|mittel|niedrig)|[★☆⭐●○■□█▓▒░▰▱]+\s*"
    r"(?:\d{1,3}\s?%)?|(?:about |around |~)?\d{1,3}(?:[.,]\d{1,4})?"
    r"(?:\s*(?:%|/\s*\d{1,3}|percent|out of \d{1,3}))?)[^\n]{0,40}?[*_)\]}\s.]*",
    re.IGNORECASE,
)
_NAMED_PAGE = re.compile(
    rf"{_DECORATION}[(\[][^()\[\]\n]{{1,100}}[,;:]\s*(?:{_PAGE}|section\s|chapter\s|§\s?){_PAGES}(?:\.\d+)*[)\]][\s*_.]*",
    re.IGNORECASE,
)
_SIGNED = re.compile(
    r"[^\w\n]*(?:(?:best|kind|warm)(?: regards| wishes)?|regards|sincerely|cheers|yours(?: \w+)?),?[ \t]*"
    r"\n\s*[^\w\n]*\w+(?:[ -]\w+){0,4}\W*",
    re.IGNORECASE,
)
"""Matches a closing formula with the name below it."""
_IN_ANGLES = re.compile(r"\s*(?:<<[^<>\n]{1,200}>>\s*)+")
_ANNOUNCES = re.compile(
    r"\b(?:(?:is|are|was|were) (?:this|these)|as follows|the following(?: \w+){0,2})[.:]?\Z", re.IGNORECASE
)
_OF_FURNITURE = re.compile(
    r"\b(?:note|disclaimer|important|remember|follow|questions? you|next|suggest\w*|confidence|explore|like"
    r"|offer|related|further|answer)\b",
    re.IGNORECASE,
)
"""Matches a word by which a line announces furniture."""
_STAMP = re.compile(
    rf"{_DECORATION}[(\[]?(?:(?:(?:this\s+)?(?:answer|response|reply)\s+(?:was\s+)?)?generated|answered|created"
    r"|updated|last (?:updated|modified)|time ?stamp"
    r"|as of|retrieved|accessed|response time|latency|elapsed|tokens(?: used)?|model|took|date"
    r"|time|duration|cost)\b"
    r"[^\n]{0,60}?(?:(?<=tokens: )\d|(?<=used: )\d|[$€]\s?0\.\d"
    r"|\d{4}-\d\d-\d\d|\d{1,2}:\d\d|\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds|tokens)\b|gpt"
    r"|claude|gemini|llama|qwen|mistral)"
    r"[^\n]{0,60}",
    re.IGNORECASE,
)
_MARK_OF_END = re.compile(
    rf"{_DECORATION}(?:disclaimer|haftungsausschluss)[*_]*:[^\n]*"
    r"|\W*[⏱⌛⏳🕒]\W*\d+(?:\.\d+)?\s?(?:ms|s|sec|seconds)\W*|finish[_ ]reason\s?[:=][^\n]{0,20}"
    r"|\[?\d{1,2}:\d\d(?::\d\d)?\]|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\w:+ .]{0,12}\]?"
    r"|\(\d+ tokens\)|[\[<](?:(?:END|DONE|STOP|EOF)|end of \w+)[\]>]",
    re.IGNORECASE,
)
_SPECIAL_TOKEN = re.compile(r"<\|[\w-]{2,30}\|>\Z")
_ENDS_SENTENCE = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+(?=\S)|[。！？]+")  # noqa: RUF001
_NO_END = re.compile(
    r"(?:\b(?:pp?|pg|figs?|vs|etc|cf|e\.g|i\.e|approx|ca|al|dr|mr|mrs|ms|st|prof|eqs?|secs?|vol|inc"
    r"|ltd|tab)|\b[A-Z])\.\s*\Z",
    re.IGNORECASE,
)
_NUMBER_SIGN = re.compile(r"\b(?:no|nr|art|ch)\.\s*\Z", re.IGNORECASE)
_RULE = re.compile(r"\s*(?:(?:[-*_=]\s?){3,}|[—–])\s*")  # noqa: RUF001
_SUMMARY = re.compile(r"<details>\s{0,9}<summary>([^<>\n]{1,80})</summary>")
_TAG_OF_SOURCES = re.compile(r"</(?P<tag>(?:sources?|references?|citations?)>)\Z", re.IGNORECASE)
_TAIL = 40
_MOST_OPENINGS = 3
_MOST_STOPS = 2
_LONGEST_OPENING = 120
# It begins with a set of characters, by which Python skips other text quickly.
_STOPS_OPENING = re.compile(
    r"[!.:：…?,—–\n](?:(?<=[!.:：…?])[!.:：…?]*(?P<signed>)[*_]{0,3}(?:\s+(?!(?:is|was|are|were|means|appears)\b)|\Z)"  # noqa: RUF001
    r"|(?<=[,—–])\s+(?!(?:and|but|or|so|which|who|nor)\b)|(?<=\n)\s*)"  # noqa: RUF001
)
_NO_OPENING = re.compile(r"[{}\[(|<`\"“]|^\s*(?:>|[-*+] )")
_ONLY_CITED = re.compile(r"(?:[\[(【⟦][^\])】⟧\n]{0,80}[\])】⟧]|[¹²³⁰-⁹\s])*")
_LABEL = re.compile(
    r"[*_#>\s]*+(?:(?:final |short |direct |quick )?answer|a(?=\s?:)|assistant|response|reply|output|summary"
    r"|tl;?dr|in (?:short|brief)|antwort|réponse|respuesta|risposta|resposta)\s?[*_]{0,3}"
    r"(?:[:：][*_]{0,3}\s*|\s*\n\s*)",  # noqa: RUF001
    re.IGNORECASE,
)
_MAY_STOP = re.compile(r"\n|[.!?:,—–…)。！？：][*_\"'”’)\]]{0,3}\s|[。！？【]")  # noqa: RUF001
_LONGEST_PLACES = 200
_LONGEST_LINE = 1500
_LONGEST_SENTENCE = 500
"""A longer line is no furniture as a whole; its last sentences may be."""


def closing(text: str, end: int) -> Iterator[Piece]:
    """Yield the furniture at the end of `text[:end]`, from the last to the first."""
    sources = _Sources(text)
    while end > 0:
        last = end
        while end > 0 and (text[end - 1].isspace() or _is_picture(text[end - 1])):
            end -= 1
        start = text.rfind("\n", 0, end) + 1
        piece = sources.at(start, end) or _line(text, start, end) or _sentence(text, start, end)
        if piece is None or (piece.kind != "sources" and _is_announced(text, piece.start)):
            return
        yield piece._replace(end=last)
        end = piece.start


def _is_announced(text: str, start: int) -> bool:
    """Return whether what stands before a place says that the answer follows: `It asks two things:`."""
    lines = text[max(0, start - _LONGEST_SENTENCE) : start].split("\n")
    in_list = bool(lines[-1].strip()) and _ITEM_MARK.fullmatch(lines[-1]) is not None
    while len(lines) > 1 and (not lines[-1].strip() or (in_list and _ITEM_MARK.match(lines[-1]))):
        lines.pop()
    before = lines[-1].rstrip("*_ ")
    announces = (before.endswith(":") and " " in before) or _ANNOUNCES.search(before[-_TAIL:])
    return bool(announces) and _OF_FURNITURE.search(before) is None


def _is_picture(character: str) -> bool:
    """Return whether a character is an emoji or a part of one."""
    return character > "\u2000" and (
        character in "\u200d\ufe0f"
        or (character not in "★☆⭐●○■□█▓▒░▰▱" and unicodedata.category(character) in ("So", "Sk"))
    )


def opening(text: str, start: int) -> Iterator[Piece]:
    """Yield the furniture at the beginning of `text[start:]`."""
    for _ in range(_MOST_OPENINGS):
        end = _opening_end(text, start)
        if end is None or end == len(text):
            return
        yield Piece("opening", start, end)
        start = end


def _opening_end(text: str, start: int) -> int | None:
    """Return where the opening ends that begins at a place."""
    if label := _LABEL.match(text, start):
        return None if _ONLY_CITED.fullmatch(text, label.end()) else label.end()
    if not endings.may_open(text, start):
        return None
    for stop in islice(_STOPS_OPENING.finditer(text, start, start + _LONGEST_OPENING), _MOST_STOPS):
        first = text[start : stop.start() if stop["signed"] is None else stop.start("signed")]
        if endings.is_opening(first) and not _NO_OPENING.search(first):
            return None if _ONLY_CITED.fullmatch(text, stop.end()) else stop.end()
    return None


def may_have(text: str) -> bool:
    """Return whether a text may have furniture: cheap, and wrong only by saying yes."""
    return _MAY_STOP.search(text) is not None


def _line(text: str, start: int, end: int) -> Piece | None:
    """Return the last line as furniture if it is a rule, a confidence, a time stamp or a disclaimer."""
    if end - start > _LONGEST_LINE:
        return None
    if token := _SPECIAL_TOKEN.search(text[max(start, end - _TAIL) : end]):
        return Piece("disclaimer", end - len(token[0]), end)
    since = max(0, start - _TAIL)
    above = text[since:start].rstrip().rfind("\n") + 1
    if above and _SIGNED.fullmatch(text, since + above, end):
        return Piece("offer", since + above, end)
    for kind, pattern in _WHOLE_LINES:
        if pattern.fullmatch(text, start, end):
            return Piece(kind, start, end)
    return None


_WHOLE_LINES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("disclaimer", _RULE),
    ("confidence", _CONFIDENCE),
    ("disclaimer", _STAMP),
    ("disclaimer", _MARK_OF_END),
    ("offer", _RELATED_WITH_ITEMS),
    ("offer", _IN_ANGLES),
)


class _Sources:
    """Finds lists of sources at the end of a text. A list is looked for once above each line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._searched = len(text) + 1

    def at(self, start: int, end: int) -> Piece | None:
        """Return the list of sources that ends with the line `start:end`."""
        text = self._text
        line = text[start:end]
        if closing := _TAG_OF_SOURCES.search(line[-_TAIL:]):
            begin = text.rfind(f"<{closing['tag']}", 0, end)
            return Piece("sources", begin, end) if begin > 0 else None
        if line.endswith("</details>") and (begin := text.rfind("<details>", 0, end)) > 0:
            head = _SUMMARY.match(text, begin)
            return Piece("sources", begin, end) if head and _HEADING.fullmatch(head[1]) else None
        if len(line) <= _LONGEST_LINE:
            if (heading := _HEADING_WITH_ITEMS.fullmatch(line)) and heading["items"]:
                return Piece("sources", start, end) if _are_places(heading["items"]) else None
            has_places = start > 0 and _are_places(line)
            if (has_places or (start > 0 and _ITEM.match(line))) and (listed := self._list(start, end)):
                return listed
            inline = _INLINE_HEADING.search(line) if _has_inline_heading(line) else None
            if inline and _are_places(inline["items"]) and not _has_more(inline["items"]):
                return Piece("sources", start + inline.start(), end)
            if has_places and (
                (_NOTE.match(line) and _are_places(line[4:]))
                or _names_only_file(line)
                or _has_only_places(line)
            ):
                return Piece("sources", start, end)
        return None

    def _list(self, start: int, end: int) -> Piece | None:
        """Return the list under a heading, which lies above the line, if every line between is an item."""
        text, at, items, last = self._text, start, 0, end
        has_place = False
        if end >= self._searched:
            return None
        while True:
            line = text[at:end].strip()
            heading = _HEADING.fullmatch(line) if 0 < len(line) <= 80 else None
            if heading and items and has_place:
                return Piece("sources", at, last)
            if items and len(line) <= 80 and _RELATED_HEADING.fullmatch(line):
                return Piece("offer", at, last)
            if line and not (len(line) <= _LONGEST_LINE and (_ITEM.match(line) or _are_places(line))):
                break
            if line:
                items += 1
                has_place = has_place or _are_places(_ITEM_MARK.sub("", line))
            if at == 0:
                break
            end = at - 1
            at = text.rfind("\n", 0, end) + 1
        self._searched = min(self._searched, at)
        return None


def _has_inline_heading(line: str) -> bool:
    """Return whether a line may have a heading of sources; the pattern is slow, few lines have a colon."""
    if ":" not in line and "：" not in line:  # noqa: RUF001
        return False
    lower = line.lower()
    return not lower.isascii() or any(word in lower for word in _STEMS_OF_SOURCES)


_STEMS_OF_SOURCES = (
    *(
        "source",
        "reference",
        "citation",
        "footnote",
        "evidence",
        "document",
        "passage",
        "cited",
        "bibliograph",
    ),
    *("reading", "retrieved", "quelle", "beleg", "literatur", "fuente", "referencia", "fonti", "riferimenti"),
    *("fontes", "bronnen"),
)
_ITEM_MARK = re.compile(r"^\s*(?:[-*+•·–—]|\d{1,3}[.)])\s*")  # noqa: RUF001


def _are_places(items: str) -> bool:
    """Return whether what follows a heading names a file, an address, a page or a number."""
    return _DIGIT.search(items) is not None or _NAMED_PLACE.search(items) is not None


def _names_only_file(text: str) -> bool:
    """Return whether a text is the name of a file, with its page and what introduces it."""
    return _HAS_FILE.search(text) is not None and _ONLY_SOURCE.fullmatch(text) is not None


def _has_only_places(line: str) -> bool:
    """Return whether a line names files, addresses or pages, and says nothing else."""
    if len(line) > _LONGEST_PLACES:
        return False
    for word in line.split():
        if word.isalpha() and not _OF_PLACES.fullmatch(word):
            return False
    rest, places = _PLACE.subn(" ", line)
    return places > 0 and _WORD.search(_AROUND_PLACES.sub(" ", rest)) is None


def _has_more(items: str) -> bool:
    """Return whether a sentence follows the items; full stops of abbreviations end none."""
    plain = re.sub(r"\b(?:pp?|pg|S|no|vol|ed|al|fig|sec|ch)\.(?=\s)", "", items, flags=re.IGNORECASE)
    return _ENDS_SENTENCE.search(plain.rstrip(" .")) is not None


def _last_sentence(text: str, start: int, end: int) -> int:
    """Return where the last sentence of `text[start:end]` begins."""
    for stop in reversed([found.start() for found in _STOP.finditer(text, start + 1, end)]):
        at = stop
        while at > start and text[at] in _CLOSING:
            at -= 1
        if text[at] not in ".!?…。！？":  # noqa: RUF001
            continue
        after = stop + 1
        while after < end and text[after].isspace():
            after += 1
        before = text[max(start, at - 8) : at + 1]
        is_number = _NUMBER_SIGN.search(before) is not None and text[after : after + 1].isdigit()
        if after < end and not (text[at] == "." and at == stop and (is_number or _NO_END.search(before))):
            return after
    return start


_STOP = re.compile(r"[.!?…)\"”’\]*_。！？](?:(?<=[。！？])| )")  # noqa: RUF001
_CLOSING = ")\"'”’]*_"  # noqa: RUF001


def _sentence(text: str, start: int, end: int) -> Piece | None:
    """Return the last sentence of a line if it is an offer, a disclaimer, a confidence or a source."""
    cut = _last_sentence(text, max(start, end - _LONGEST_SENTENCE), end)
    last = text[cut:end]
    if cut > 0:
        if _names_only_file(last):
            return Piece("sources", cut, end)
        if _NAMED_PAGE.fullmatch(last):
            return Piece("sources", cut, end)
        if kind := endings.kind_of(last, is_paragraph=text[cut - 2 : cut] == "\n\n"):
            return Piece(kind, cut, end)
    return None
