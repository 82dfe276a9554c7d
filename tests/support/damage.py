"""Small PDFs made by hand, and every way of breaking them that the tests know."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"
FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
MIB = 1024 * 1024


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), entries, data)


def page(contents: int, resources: bytes = b"/Font << /F1 3 0 R >>") -> bytes:
    """A page object whose content stands in object `contents`."""
    box = b"/MediaBox [0 0 612 792]"
    return b"<< /Type /Page /Parent 2 0 R %b /Resources << %b >> /Contents %d 0 R >>" % (
        box,
        resources,
        contents,
    )


def show(text: str) -> bytes:
    """A content stream that shows one line."""
    return stream(b"BT /F1 12 Tf 72 700 Td (%b) Tj ET" % text.encode("latin-1"))


def build(objects: Mapping[int, bytes], trailer: bytes = b"/Root 1 0 R") -> bytes:
    """A PDF file of these objects, with a right cross-reference table."""
    data, offsets = b"%PDF-1.7\n", {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(data)
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    size = max(objects) + 1
    rows = [
        b"%010d 00000 n \n" % offsets[n] if n in offsets else b"0000000000 65535 f \n" for n in range(size)
    ]
    table = b"xref\n0 %d\n%btrailer\n<< /Size %d %b >>\n" % (size, b"".join(rows), size, trailer)
    return data + table + b"startxref\n%d\n%%%%EOF\n" % len(data)


def objects(pages: int = 3) -> dict[int, bytes]:
    """The objects of a sound PDF: page N says `Herring number N swims.`"""
    numbers = [4 + 2 * i for i in range(pages)]
    kids = b" ".join(b"%d 0 R" % n for n in numbers)
    found = {1: CATALOG, 2: b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, pages), 3: FONT}
    for index, number in enumerate(numbers, 1):
        found |= {number: page(number + 1), number + 1: show(f"Herring number {index} swims.")}
    return found


def sound(pages: int = 3) -> bytes:
    """A PDF with nothing wrong."""
    return build(objects(pages))


def one_page(content: bytes, **more: bytes) -> bytes:
    """A PDF of one page with this content stream; `more` are objects by `o` and their number."""
    extra = {int(name[1:]): body for name, body in more.items()}
    return build(objects(1) | {5: content} | extra)


def truncated(share: float) -> bytes:
    """The first part of a PDF."""
    data = sound()
    return data[: int(len(data) * share)]


def flipped(seed: int, flips: int = 4) -> bytes:
    """A PDF with bits flipped anywhere behind its header."""
    data, rng = bytearray(sound()), random.Random(seed)
    for _ in range(flips):
        data[rng.randrange(9, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def zeroed_middle() -> bytes:
    """A PDF whose middle third is zero bytes, as after a failed download."""
    data, third = sound(), len(sound()) // 3
    return data[:third] + bytes(third) + data[2 * third :]


def wrong_offsets() -> bytes:
    """A cross-reference table that points beside every object."""
    return re.sub(rb"(\d{10}) 00000 n", lambda m: b"%010d 00000 n" % (int(m[1]) + 7), sound())


def wrong_startxref() -> bytes:
    """`startxref` that points far behind the end."""
    return re.sub(rb"startxref\n\d+", b"startxref\n99999999", sound())


def no_trailer() -> bytes:
    """A PDF that ends behind its last object."""
    return sound().partition(b"xref\n")[0]


def endless_prev() -> bytes:
    """A cross-reference table that names itself as the previous one."""
    data = sound()
    at = re.search(rb"startxref\n(\d+)", data)
    assert at is not None
    return data.replace(b"/Root 1 0 R", b"/Root 1 0 R /Prev %b" % at[1])


def deeply_nested(depth: int = 100_000) -> bytes:
    """A content stream and a catalog entry of arrays in arrays."""
    nest = b"[" * depth + b"]" * depth
    catalog = b"<< /Type /Catalog /Pages 2 0 R /Names %b >>" % nest
    return build(objects(1) | {1: catalog, 5: stream(nest)})


def page_loop() -> bytes:
    """A page tree that is its own child."""
    return build(objects(1) | {2: b"<< /Type /Pages /Kids [2 0 R 4 0 R] /Count 2 >>"})


def huge_count() -> bytes:
    """One page, and the claim of a thousand million."""
    return build(objects(1) | {2: b"<< /Type /Pages /Kids [4 0 R] /Count 1000000000 >>"})


def no_pages() -> bytes:
    """A sound PDF without any page."""
    return build({1: CATALOG, 2: b"<< /Type /Pages /Kids [] /Count 0 >>"})


def deflate_repeated(block: bytes, times: int) -> bytes:
    """What `zlib.compress(block * times)` says, without ever holding that much."""
    packer = zlib.compressobj(9)
    head = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    body = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + body * (times - 1) + packer.flush()


SPAM = b"BT /F1 1 Tf 72 700 Td (%b) Tj ET\n" % (b"spam " * 200)


def bomb(text: bytes = SPAM, gib: int = 4) -> bytes:
    """A content stream of some KB that unpacks, in three steps, to `gib` GiB of `text`."""
    block = text * (MIB // len(text))
    inner = deflate_repeated(block, gib * 1024)
    outer = zlib.compress(zlib.compress(inner, 9), 9)
    return one_page(stream(outer, b"/Filter [/FlateDecode /FlateDecode /FlateDecode]"))


def huge_image() -> bytes:
    """An image that says it has 10^10 pixels."""
    entries = b"/Type /XObject /Subtype /Image /Width 100000 /Height 100000 /ColorSpace /DeviceRGB"
    image = stream(zlib.compress(bytes(1000)), entries + b" /BitsPerComponent 8 /Filter /FlateDecode")
    content = stream(
        b"q 100 0 0 100 72 72 cm /Im Do Q BT /F1 12 Tf 72 700 Td (Herring number 1 swims.) Tj ET"
    )
    resources = page(5, b"/Font << /F1 3 0 R >> /XObject << /Im 6 0 R >>")
    return one_page(content, o4=resources, o6=image)


def laughing_forms(levels: int = 9, width: int = 10) -> bytes:
    """Forms that each draw the next one ten times: 10^9 words on one page."""
    box = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
    found = {}
    for level in range(levels):
        inner = b"/Resources << /XObject << /X %d 0 R >> >>" % (7 + level)
        found[6 + level] = stream(b"/X Do " * width, box + inner)
    found[6 + levels] = stream(b"BT /F1 9 Tf (ha) Tj ET", box + b"/Resources << /Font << /F1 3 0 R >> >>")
    resources = page(5, b"/XObject << /X 6 0 R >>")
    return build(objects(1) | found | {4: resources, 5: stream(b"/X Do ")})


def self_drawing_form() -> bytes:
    """A form that draws itself."""
    entries = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>"
    return one_page(stream(b"/X Do"), o4=page(5, b"/XObject << /X 6 0 R >>"), o6=stream(b"/X Do", entries))


def locked() -> bytes:
    """A PDF that asks for a user password."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas("unused.pdf", encrypt="secret")
    canvas.drawString(72, 700, "Herring number 1 swims.")
    return bytes(canvas.getpdfdata())


def silent_glyphs() -> bytes:
    """A page with two thousand glyphs that its font maps to nothing, then text."""
    return one_page(stream(b"BT /F1 12 Tf 72 700 Td (%b Herring) Tj ET" % (b"\\000" * 2000)))


FILES: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "empty": (lambda: b"", {"empty"}),
    "text": (lambda: b"Herring number 1 swims.\n" * 50, {"not-a-pdf"}),
    "zeros": (lambda: bytes(4096), {"not-a-pdf"}),
    "header-only": (lambda: sound()[:9], {"damaged", "empty"}),
    "truncated-25": (lambda: truncated(0.25), {"damaged", "read"}),
    "truncated-50": (lambda: truncated(0.50), {"damaged", "read"}),
    "truncated-90": (lambda: truncated(0.90), {"damaged", "read"}),
    "flipped-1": (lambda: flipped(1), {"damaged", "empty", "read"}),
    "flipped-2": (lambda: flipped(2), {"damaged", "empty", "read"}),
    "flipped-3": (lambda: flipped(3), {"damaged", "empty", "read"}),
    "zeroed-middle": (zeroed_middle, {"damaged", "empty", "read"}),
    "wrong-offsets": (wrong_offsets, {"read"}),
    "wrong-startxref": (wrong_startxref, {"read"}),
    "no-trailer": (no_trailer, {"damaged", "read"}),
    "endless-prev": (endless_prev, {"read"}),
    "deeply-nested": (deeply_nested, {"damaged", "empty", "read"}),
    "page-loop": (page_loop, {"damaged", "empty", "read"}),
    "huge-count": (huge_count, {"damaged", "read"}),
    "no-pages": (no_pages, {"empty", "damaged"}),
    "locked": (locked, {"encrypted"}),
    "bomb-of-text": (bomb, {"memory", "timeout", "damaged", "read"}),
    "bomb-of-space": (lambda: bomb(b" "), {"memory", "timeout", "damaged", "read"}),
    "huge-image": (huge_image, {"read"}),
    "laughing-forms": (laughing_forms, {"timeout", "memory", "read"}),
    "self-drawing-form": (self_drawing_form, {"read", "damaged"}),
    "silent-glyphs": (silent_glyphs, {"read"}),
}
"""Each damaged file, and the ways in which it may end: `read`, or the reason of a DocumentError."""


def time_limit(name: str) -> int:
    """Seconds to read one of the files: few where that may take too long, and many where it may not."""
    return 1 if "timeout" in FILES[name][1] else 60


def write(folder: Path, name: str) -> Path:
    """Make one of the files."""
    path = folder / f"{name}.pdf"
    path.write_bytes(FILES[name][0]())
    return path
