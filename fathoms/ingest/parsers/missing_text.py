"""Estimates how much text of a PDF is missing, by comparing the file with what a parser read of it.

PDFium repairs a damaged file as far as it can and does not say what it left out. This module looks at the
bytes of the file: whether its compressed streams can be unpacked to their ends, whether the objects that
pages need exist, and how many pages the file claims to have. It runs in a child process and imports nothing
of fathoms.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from pathlib import Path

from fathoms.text.amounts import percent

LARGEST = 512 * 2**20
"""Largest file in bytes that is examined; a larger one gets no warning."""
UNPACKED = 128 * 2**20
"""Limit in bytes for the unpacked size of all streams together, because a small file can unpack to any size.
Streams beyond it are not checked."""
PIECE = 2**20
STEP = 2048
"""Bytes that are unpacked at a time; if one step fails, everything after it counts as lost."""
LARGEST_TABLE = 16 * 2**20
"""Limit in bytes for an unpacked stream that is kept and searched for objects."""
MOST_PAGES = 100_000
"""Claims of more pages than this are ignored."""
UNKNOWN_SHARE = 0.2
"""With a larger share of characters without a known meaning, the text counts as unreadable."""
IN_FONTS = "in fonts that are not in the file"
MOST_RANGES = 5
LEAST = 0.01
"""Smallest share of the text that is reported as a percentage."""

_OBJECT = re.compile(rb"(?<!\d)(\d{1,10})\s{1,9}\d{1,5}\s{1,9}obj\b")
_BODY_END = re.compile(rb"\bstream\r?\n?|\bendobj\b")
_FILTER = re.compile(rb"/Filter\s*(?:\[([^\]]{0,200})\]|(/[^\s/<>\[\]()]{1,40}))")
_NAMES = re.compile(rb"/[^\s/<>\[\]()]+")
_NEEDED = re.compile(
    rb"/(?:Contents|Kids|Font|Resources|ToUnicode|DescendantFonts)\s{0,9}(?:\[([^\]\[]*)\]|(\d+\s+\d+\s+R))"
)
_TELLS = re.compile(rb"/(?:Page|Contents|Kids|Font|Resources|ToUnicode|DescendantFonts)")
"""Matches an object that may say something about pages or fonts; most objects do not."""
_FONTS = re.compile(rb"/Font\s{0,9}<<([^<>]*)>>")
_RESOURCES = re.compile(rb"/Resources\s{0,9}(\d{1,10})\s+\d+\s+R\b")
_REFERENCE = re.compile(rb"(\d+)\s+\d+\s+R\b")
_NOTES = re.compile(rb"/(?:Widget|FreeText)")
_PAGE = re.compile(rb"/Type\s{0,9}/Page(?![A-Za-z])")
_TREE = re.compile(rb"/Type\s{0,9}/Pages\b")
_CONTENTS = re.compile(rb"/Contents\s{0,9}(?:\[([^\]\[]*)\]|(\d+\s+\d+\s+R))")
_COUNT = re.compile(rb"/Count\s{1,9}(\d{1,7})\b")
_FIRST = re.compile(rb"/First\s{1,9}(\d{1,9})\b")
_MEMBERS = re.compile(rb"/N\s{1,9}(\d{1,7})\b")
_FILTERS = {
    b"/" + name
    for name in (
        *(b"FlateDecode", b"Fl", b"LZWDecode", b"LZW", b"ASCII85Decode", b"A85", b"ASCIIHexDecode", b"AHx"),
        *(b"RunLengthDecode", b"RL", b"DCTDecode", b"DCT", b"JPXDecode", b"CCITTFaxDecode", b"CCF"),
        *(b"JBIG2Decode", b"Crypt"),
    )
}
_SHAPES = re.compile(rb"/Subtype\s{0,9}/(?:Image|Type1C|CIDFontType0C|OpenType)\b|/Length1\b")
"""Matches images and the shapes of letters, which contain no text."""
_NO_TEXT = re.compile(rb"/FunctionType\b|/ShadingType\b|/Type\s{0,9}/(?:XRef|Metadata|EmbeddedFile)\b")

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb"\([^()]*\)|<[0-9A-Fa-f\s]*>")
_PLAIN_STRING = re.compile(rb"\([^()]*\)")
_OPERATORS = frozenset(
    b"b B b* B* BDC BMC BT BX c cm cs CS d d0 d1 Do DP EMC ET EX f F f* g G gs h i j J k K l m M MP n q Q re "
    b"rg RG ri s S sc SC scn SCN sh T* Tc Td TD Tf Tj TJ TL Tm Tr Ts Tw Tz v w W W* y ' \" << >> true "
    b"false null".split()
)
"""The words of a content stream other than strings, names and numbers (PDF 1.7, annex A)."""
_NUMBERS = b"0123456789.+-"
_KNOWN = frozenset(word.translate(None, _NUMBERS) for word in (*_OPERATORS, b""))
_BRACKETS = bytes.maketrans(b"[]", b"  ")


class Found:
    """The contents of a file, by object number."""

    def __init__(self) -> None:
        self.defined: set[int] = set()
        self.needed: set[int] = set()
        """Objects to which pages, the page tree and fonts refer."""
        self.contents: dict[int, tuple[int, ...]] = {}
        """The content streams of every page object."""
        self.damaged: dict[int, float] = {}
        """The lost share of each stream that cannot be unpacked to its end."""
        self.plain: dict[int, bytes | memoryview] = {}
        """Streams that are not compressed."""
        self.empty: list[bytes] = []
        """Page objects without content, which are blank or damaged."""
        self.fonts: set[int] = set()
        """Objects that name fonts."""
        self.claimed = 0
        """Number of pages according to the page tree."""
        self.lacks_fonts = False
        """Whether the file may lack a font that it uses, which is the case if it cannot be examined."""
        self.has_notes = False
        """Whether the file may have fields of a form or free text."""


def examined(path: str) -> Found:
    """Examine a file, unless it is too large or memory does not suffice."""
    with suppress(MemoryError):
        if Path(path).stat().st_size <= LARGEST:
            return scan(Path(path).read_bytes())
    return _unknown()


def _unknown() -> Found:
    """Return what is known of a file that cannot be examined."""
    found = Found()
    found.lacks_fonts = found.has_notes = True
    return found


def missing_text(found: Found, pages: Sequence[tuple[str | None, int, int]], page_count: int) -> list[str]:
    """Return a list with one sentence about text that may be missing; it is empty if none is.

    `pages` is what the parser found: the text of every page, `None` if it could not be read, the number of
    objects on it that show text, and about how many characters the parser left out of it. `page_count` is
    the number of pages according to the parser.
    """
    reasons, shares = [], []
    total = max(page_count, found.claimed, 1)
    if dropped := [number for number, (_, _, lost) in enumerate(pages, 1) if lost]:
        lost = sum(lost for _, _, lost in pages)
        have = sum(len("".join((text or "").split())) for text, _, _ in pages)
        reasons.append(f"about {lost} characters are left out, on {numbered(dropped)}, {IN_FONTS}")
        shares.append(lost / (lost + have))
    if page_count < total:
        reasons.append(f"the file claims {total} pages, {page_count} were found")
        shares.append((total - page_count) / total)
    silent = sum(shows > 0 and not lost and not (text or "").strip() for text, shows, lost in pages)
    if silent:
        reasons.append(f"{silent} of {total} pages give no text although they show some")
        shares.append(silent / total)
    unread = sum(text is None for text, _, _ in pages)
    if unread:
        reasons.append(f"{unread} of {total} pages cannot be read")
        shares.append(unread / total)
    if empty := sum(_has_fonts(page, found) for page in found.empty):
        reasons.append(f"{empty} of {total} pages have fonts and no content")
        shares.append(empty / total)
    losses = (
        [found.damaged.get(n, float(n not in found.defined)) for n in c] for c in found.contents.values()
    )
    broken = [sum(lost) / len(lost) for lost in losses if sum(lost)]
    if broken:
        known = max(total, len(found.contents))
        reasons.append(f"the content of {len(broken)} of {known} pages is damaged")
        shares.append(sum(broken) / known)
    used = {number for refs in found.contents.values() for number in refs}
    others = len(found.damaged.keys() - used)
    if others:
        reasons.append(f"{others} other compressed streams are damaged")
    absent = len(found.needed - found.defined - used)
    if absent:
        reasons.append(f"{absent} objects that the pages need are not in the file")
    text = "".join(text or "" for text, _, _ in pages)
    unknown = sum(text.count(character) for character in "\0\ufffd\uffff\x01\x02\x03")
    garbled = unknown / len(text) if text else 0.0
    if garbled > UNKNOWN_SHARE:
        reasons.append(f"{percent(garbled)} of the characters have no known meaning")
        shares.append(garbled)
    if not reasons:
        return []
    share = min(sum(shares), 1)
    known = share >= LEAST and not others and not absent
    least = "about" if known else "at least"
    head = f"{least} {percent(share)} of the text may be missing" if share >= LEAST else "text may be missing"
    return [f"{head}: {'; '.join(reasons)}"]


def numbered(pages: Sequence[int]) -> str:
    """Return the numbers of pages as words: `pages 1-3, 7`, with the first few of many."""
    ranges: list[list[int]] = []
    for page in pages:
        if ranges and page == ranges[-1][1] + 1:
            ranges[-1][1] = page
        else:
            ranges.append([page, page])
    shown = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges[:MOST_RANGES])
    more = " and others" if len(ranges) > MOST_RANGES else ""
    return f"page{'s' if len(pages) > 1 else ''} {shown}{more}"


def _has_fonts(page: bytes, found: Found) -> bool:
    """Return whether a page names fonts, itself or in its resources."""
    resources = _RESOURCES.search(page)
    return b"/Font" in page or (resources is not None and int(resources[1]) in found.fonts)


def scan(data: bytes) -> Found:
    """Examine all objects of a file, but none of an encrypted file, whose streams cannot be read."""
    if b"/Encrypt" in data:
        return _unknown()
    found = Found()
    found.has_notes = _NOTES.search(data) is not None
    budget = UNPACKED
    for number, head, body in _objects(data):
        found.defined.add(number)
        _note(found, number, head)
        if body is None or _SHAPES.search(head) or budget <= 0:
            if body is not None and b"/ObjStm" in head:
                found.lacks_fonts = found.has_notes = True
            continue
        if b"/Filter" not in head:
            found.plain[number] = body
        content, size, lost = _unpacked(head, body, budget)
        budget -= size
        if b"/ObjStm" in head:
            if not content:
                found.lacks_fonts = found.has_notes = True
            found.has_notes = found.has_notes or _NOTES.search(content) is not None
            _members(found, head, content)
        if lost and not _NO_TEXT.search(head):
            found.damaged[number] = lost
        elif number in found.damaged:
            del found.damaged[number]  # a later version of the object is whole
    for number in {number for refs in found.contents.values() for number in refs} & found.plain.keys():
        if lost := _not_content(found.plain[number]):
            found.damaged[number] = lost
    found.plain.clear()  # which hold the bytes of the file
    return found


def _objects(data: bytes) -> Iterator[tuple[int, bytes, bytes | memoryview | None]]:
    """Yield the objects in the file itself: number, dictionary, and the stream if there is one."""
    at = 0
    while (start := _OBJECT.search(data, at)) is not None:
        end = _BODY_END.search(data, start.end())
        if end is None:
            yield int(start[1]), data[start.end() : start.end() + PIECE], None
            return
        head = data[start.end() : end.start()]
        if end[0] == b"endobj":
            at, body = end.end(), None
        else:
            close = data.find(b"endstream", end.end())
            close = len(data) if close < 0 else close
            body, at = memoryview(data)[end.end() : close], close
        yield int(start[1]), head, body


def _note(found: Found, number: int, text: bytes) -> None:
    """Record what an object says about pages and about the objects that they need."""
    if _TELLS.search(text) is None:
        return
    if b"/Font" in text:
        found.fonts.add(number)
        is_bare = b"/FontName" in text and b"/FontFile" not in text
        if is_bare or (b"/CIDSystemInfo" in text and b"/FontDescriptor" not in text):
            found.lacks_fonts = True
    if _TREE.search(text):
        counts = [int(count[1]) for count in _COUNT.finditer(text)]
        found.claimed = max(found.claimed, *(count for count in counts if count <= MOST_PAGES), 0)
    elif _PAGE.search(text):
        refs = [match[1] or match[2] for match in _CONTENTS.finditer(text)]
        if not refs:
            found.empty.append(text)
        found.contents[number] = tuple(int(ref[1]) for part in refs for ref in _REFERENCE.finditer(part))
    for match in (*_NEEDED.finditer(text), *_FONTS.finditer(text)):
        part = next((group for group in match.groups() if group), b"")
        found.needed.update(int(ref[1]) for ref in _REFERENCE.finditer(part))


def _members(found: Found, head: bytes, data: bytes) -> None:
    """Record the objects in an object stream, as far as it could be unpacked."""
    first, members = _FIRST.search(head), _MEMBERS.search(head)
    if first is None or members is None:
        return
    start = int(first[1])
    numbers = [int(word) for word in data[:start].split() if word.isdigit()]
    pairs = sorted(zip(numbers[::2], numbers[1::2], strict=False), key=itemgetter(1))
    ends = [offset for _, offset in pairs[1:]] + [len(data) - start]
    for (number, offset), end in zip(pairs, ends, strict=True):
        text = data[start + offset : start + end]
        if text and start + end <= len(data):
            found.defined.add(number)
            _note(found, number, text)


def _unpacked(head: bytes, body: bytes | memoryview, budget: int) -> tuple[bytes, int, float]:
    """Return an unpacked stream (empty if it is not kept), its unpacked size, and the share that is lost."""
    named = _FILTER.search(head)
    if named is None:
        content = bytes(body[:LARGEST_TABLE]) if b"/ObjStm" in head else b""
        return content, 0, 1.0 if b"/Filter" in head and b"/Filter null" not in head else 0.0
    names = _NAMES.findall(named[1] or named[2] or b"")
    if any(name not in _FILTERS for name in names):
        return b"", 0, 1.0
    if names not in ([b"/FlateDecode"], [b"/Fl"]):
        return b"", 0, 0.0
    return _inflated(body, budget, keep=b"/ObjStm" in head)


def _not_content(body: bytes | memoryview) -> float:
    """Return the share of bytes in a content stream that are neither operators nor their operands."""
    text = bytes(body[:LARGEST_TABLE])
    if b"BI" in text:  # an inline image may contain any byte
        return 0.0
    if b"\\" in text:
        text = _ESCAPE.sub(b"", text)
    string = _STRING if b"<" in text else _PLAIN_STRING  # which is found in half of the time
    text = string.sub(b" ", text)
    if b"(" in text:  # a string may contain another one in brackets
        text = string.sub(b" ", text)
    text = text.translate(_BRACKETS, _NUMBERS)
    words = b" ".join(set(text.split(b"\n"))).split()  # most lines are equal without strings and numbers
    strange = {word for word in set(words) - _KNOWN if word.partition(b"/")[0] not in _KNOWN}
    wrong = sum(len(word) for word in text.split() if word in strange) if strange else 0
    wrong += text.count(b"\0")
    return max(wrong / len(body), LEAST) if wrong else 0.0


def _inflated(body: bytes | memoryview, budget: int, *, keep: bool) -> tuple[bytes, int, float]:
    """Return what `_unpacked` returns, for a deflated stream; `keep` says whether to keep its content."""
    machine, pieces, size = zlib.decompressobj(), [], 0
    at = 0
    try:
        while not machine.eof and size < budget:
            piece: bytes | memoryview = machine.unconsumed_tail
            if not piece:
                piece = body[at : at + STEP]
                if not piece:
                    break
                at += len(piece)
            inflated = machine.decompress(piece, PIECE)
            size += len(inflated)
            if keep and size <= LARGEST_TABLE:
                pieces.append(inflated)
    except zlib.error as error:
        if "incorrect data check" in str(error):  # nothing is missing, but some bytes have changed
            return b"".join(pieces), size, LEAST
        return b"".join(pieces), size, 1 - (at - STEP if at > STEP else 0) / max(len(body), 1)
    whole = machine.eof or size >= budget
    return b"".join(pieces), size, 0.0 if whole else 0.5
