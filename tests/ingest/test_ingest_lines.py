"""What the text of a PDF says: joined words and lines, forms and notes, and fonts that PDFium leaves out.

Each PDF is made here, of one class each, and read by the parsers in this process.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from fathoms.errors import DocumentError
from fathoms.ingest import Pdfium, PdfParser, PyMuPDF, SentenceChunker, parse_in_child
from fathoms.ingest.chunkers.boxes import text_boxes
from fathoms.metrics.phrase_places import phrase_places
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.text.joining import join_lines
from fathoms.types import Document, Element, Page
from tests.support import damage

pytestmark = pytest.mark.slow  # PDFs are written and read

PARSERS: dict[str, Callable[..., PdfParser]] = {"pdfium": Pdfium, "pymupdf": PyMuPDF}
CJK = b"<</Type/Font/Subtype/Type0/BaseFont/%s/Encoding/%s/DescendantFonts[%d 0 R]>>"
CID = (
    b"<</Type/Font/Subtype/CIDFontType0/BaseFont/%s/CIDSystemInfo<</Registry(Adobe)/Ordering(%s)"
    b"/Supplement 2>>/DW 1000/FontDescriptor %d 0 R>>"
)
DESCRIPTOR = (
    b"<</Type/FontDescriptor/FontName/%s/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 800"
    b"/Descent -200/CapHeight 700/StemV 80>>"
)


@pytest.fixture(params=PARSERS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "pymupdf":
        pytest.importorskip("pymupdf")
    return str(request.param)


def page(content: bytes, *others: bytes) -> bytes:
    """Write a PDF of one page with the fonts /F1 (Helvetica) and /F2, the first of the other objects."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R"
        b"/F2 6 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        *others,
    ]
    return damage.build(dict(enumerate(objects, 1)))


def written(lines: Sequence[bytes], font: bytes = b"F1") -> bytes:
    """Return the content of a page with lines one below the other; each is a string in hexadecimal."""
    shown = b"".join(b"<%s> Tj 0 -16 Td " % line for line in lines)
    return b"BT /%s 12 Tf 72 700 Td %sET\n" % (font, shown)


def latin(*lines: str) -> bytes:
    """Write a PDF of lines of Latin text."""
    return page(written([line.encode("cp1252").hex().encode() for line in lines]))


def far_east(encoding: bytes, codec: str, *lines: str, base: bytes = b"Ryumin-Light") -> bytes:
    """Write a PDF of lines in a font that is not in the file."""
    order = {b"Ryumin-Light": b"Japan1", b"STSong-Light": b"GB1", b"HYSMyeongJo-Medium": b"Korea1"}[base]
    fonts = (CJK % (base, encoding, 7), CID % (base, order, 8), DESCRIPTOR % base)
    content = written([b"Report 2024".hex().encode()]) + b"".join(
        b"BT /F2 12 Tf %d %d Td <%s> Tj ET\n"
        % (400 - 20 * n, 600 - 16 * n, line.encode(codec).hex().encode())
        for n, line in enumerate(lines)
    )
    return page(content, *fonts)


def mapped(glyphs: Sequence[str]) -> bytes:
    """Write a PDF with a line of glyphs, from left to right, each of which stands for this text."""
    rows = b"".join(
        b"<%04x><%s>\n" % (n, text.encode("utf-16-be").hex().encode()) for n, text in enumerate(glyphs, 9)
    )
    table = (
        b"/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n1 begincodespacerange\n"
        b"<0000><ffff>\nendcodespacerange\n%d beginbfchar\n%sendbfchar\nendcmap\nend\nend"
        % (len(glyphs), rows)
    )
    font = (CJK % (b"Own", b"Identity-H", 7)).replace(b">>", b"/ToUnicode 9 0 R>>")
    cid = (
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Own/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
        b"/Supplement 0>>/DW 600/FontDescriptor 8 0 R>>"
    )
    stream = b"<</Length %d>>stream\n%s\nendstream" % (len(table), table)
    line = "".join(f"{n:04x}" for n in range(9, 9 + len(glyphs))).encode()
    return page(written([line], b"F2"), font, cid, DESCRIPTOR % b"Own", stream)


def two_lines(*lines: str) -> bytes:
    """Write a PDF of lines in a font whose glyphs stand for any characters."""
    letters = sorted(set("".join(lines)))
    result = mapped(letters)
    codes = ["".join(f"{9 + letters.index(letter):04x}" for letter in line).encode() for line in lines]
    old = result[result.index(b"BT") : result.index(b"ET") + 3]
    start = result.index(b"<</Length", result.index(b"4 0 obj"))
    new = written(codes, b"F2")
    whole = result[:start] + b"<</Length %d>>stream\n%s" % (len(new), new)
    return whole + result[result.index(old) + len(old) :]


def read(path: Path, data: bytes, kind: str, **options: object) -> Document:
    """Write a file and read it."""
    file = path / "made.pdf"
    file.write_bytes(data)
    return PARSERS[kind](**options).parse(file)


def test_hyphens_at_line_ends_join_lower_case_letters(kind: str, tmp_path: Path) -> None:
    """The lines of a paper in LaTeX: broken words, ranges, a name, and words with a hyphen of their own."""
    data = latin(
        "The coordina-",
        "tion of a time-",
        "series is a known time-series, as COVID-",
        "19 in 10-",
        "12 papers. A well-",
        "known state-of-the-",
        "art method is it.",
    )
    text = read(tmp_path, data, kind).pages[0].text
    for phrase in ("coordination of", "a time-series is", "COVID-\n19", "10-\n12", "state-of-the-art"):
        assert phrase in text
    for phrase in ("well-known", "wellknown", "coordination"):
        assert phrase_recall(text, [[phrase]], "word").value == 1, phrase
    one_text = read(tmp_path, data, kind, join_lines=False).pages[0].text
    assert "coordina-\ntion" in one_text
    assert "well-\nknown" in one_text


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (("数据分析系统的可", "靠性测试报告"), "可靠性"),
        (("日本語の文章を読む試", "験の結果"), "試験"),
        (("ภาษาไทย", "ไม่มีช่องว่าง"), "ภาษาไทยไม่มี"),
        (("한국어 문장은 줄", "바꿈 그대로"), "줄\n바꿈"),
        (("co\u00ad", "ordination"), "coordination"),
    ],
)
def test_lines_join_by_their_script(lines: tuple[str, str], joined: str, kind: str, tmp_path: Path) -> None:
    text = read(tmp_path, two_lines(*lines), kind).pages[0].text
    assert joined in text
    phrase = joined.replace("\n", " ")
    assert phrase_recall(text, [[phrase]], "word").value == 1
    one_text = read(tmp_path, two_lines(*lines), kind, join_lines=False).pages[0].text
    assert phrase_recall(one_text, [[phrase]], "word").value == 1, (
        "the fold finds it, whatever the parser did"
    )
    (mark,) = phrase_places(one_text, [phrase], "word", "both")
    assert one_text[mark.start : mark.end].replace("\n", "").replace("\u00ad", "").replace(
        "-", ""
    ) == phrase.replace(" ", "")


@pytest.mark.parametrize(
    ("lines", "phrase"),
    [
        (("The office of coordina-", "tion opened in May.", "It closed in June."), "coordination opened"),
        (("数据分析系统的设计与实", "现方法在这里说明。", "第二段从这里开始。"), "设计与实现方法"),
    ],
)
def test_boxes_and_places_follow_joined_lines(
    lines: tuple[str, ...], phrase: str, kind: str, tmp_path: Path
) -> None:
    """Elements have their lines as they stand on the page, chunks the joined text of the parser."""
    if lines[0].isascii():
        data = latin(*lines)
    else:
        data = page(
            written([line.encode("gbk").hex().encode() for line in lines], b"F2"),
            CJK % (b"STSong-Light", b"GBK-EUC-H", 7),
            CID % (b"STSong-Light", b"GB1", 8),
            DESCRIPTOR % b"STSong-Light",
        )
    joined, raw = (read(tmp_path, data, kind, join_lines=joins).pages[0].text for joins in (True, False))
    assert [line.strip() for line in raw.split("\n") if line.strip()] == list(lines)
    assert phrase in joined
    assert phrase not in raw
    boxes = [(72.0, 130.0 + 16 * at, 400.0, 142.0 + 16 * at) for at in range(len(lines))]
    elements = tuple(
        Element(kind="text", text=line, bbox=box) for line, box in zip(lines, boxes, strict=True)
    )
    one_page = Page(number=1, text=joined, elements=elements)
    document = Document(id="a.pdf", path=tmp_path, sha256="", pages=(one_page,))
    for piece, expected in ((joined, boxes), (phrase, boxes[:2]), (lines[2], boxes[2:])):
        assert [box.bbox for box in next(text_boxes(one_page, [piece]))] == expected
    for chunk in SentenceChunker(size=200, overlap=0).chunk(document):
        inside = [box for line, box in zip(lines, boxes, strict=True) if letters(line) in letters(chunk.text)]
        assert set(inside) <= {box.bbox for box in chunk.boxes}
    ((start, end),) = [(mark.start, mark.end) for mark in phrase_places(joined, [phrase], "word", "both")]
    assert joined[start:end] == phrase


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def test_letters_one_on_a_line_become_a_line(kind: str, tmp_path: Path) -> None:
    text = read(tmp_path, two_lines(*"TOTAL"), kind).pages[0].text
    assert text.strip() == "TOTAL"
    assert join_lines(["1\n2\n3", "A\nB\nC", "x\ny"]) == ["1\n2\n3", "A\nB\nC", "x\ny"]


def test_a_heading_does_not_join_the_text_below_it() -> None:
    assert join_lines(["绪论\n数据分析系统的可\n靠性"]) == ["绪论\n数据分析系统的可靠性"]
    assert join_lines(["这是第一句。\n这是第二句。"]) == ["这是第一句。\n这是第二句。"]


def test_lam_alef_of_one_glyph_is_put_in_order(kind: str, tmp_path: Path) -> None:
    """A glyph for lam and alef stands for two letters; alef and lam as two glyphs stay as they are."""
    text = (
        read(tmp_path, mapped(["\u0645", "\u0644\u0627", "\u0633", "\u0644\u0625", "\u0627"]), kind)
        .pages[0]
        .text
    )
    assert text.strip() == "الإسلام"
    assert read(tmp_path, mapped(["\u0649", "\u0644", "\u0627"]), kind).pages[0].text.strip() == "الى"


def form() -> bytes:
    """Write a PDF of one page with fields of a form, and free text on it."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.annotations import FreeText
    from reportlab.pdfgen import canvas

    file = io.BytesIO()
    drawn = canvas.Canvas(file)
    drawn.drawString(72, 700, "Name of the applicant")
    drawn.acroForm.textfield(name="applicant", value="Marta Oduya", x=72, y=660, tooltip="Applicant")
    drawn.acroForm.textfield(name="secret", value="hunter2", x=72, y=620, fieldFlags="password")
    drawn.acroForm.choice(name="city", value="Bergen", options=["Bergen", "Oslo"], x=72, y=580)
    drawn.acroForm.checkbox(name="adult", checked=True, x=72, y=540, tooltip="Of age")
    drawn.acroForm.checkbox(name="student", checked=False, x=72, y=500, tooltip="Student")
    drawn.save()
    pdf_writer = PdfWriter(clone_from=PdfReader(file))
    pdf_writer.add_annotation(0, FreeText(text="Approved by the board", rect=(72, 400, 300, 440)))
    filled = io.BytesIO()
    pdf_writer.write(filled)
    return filled.getvalue()


def test_form_values_and_free_text_are_read(kind: str, tmp_path: Path) -> None:
    text = read(tmp_path, form(), kind).pages[0].text
    assert "Name of the applicant" in text
    assert "Marta Oduya" in text
    assert "Bergen" in text
    if kind == "pdfium":
        assert "Applicant: Marta Oduya" in text
        assert "Approved by the board" in text
        assert "Of age: Yes" in text
        assert "Student" not in text
        assert "hunter2" not in text


JAPANESE = ("日本語の文章を読む試験です", "縦書きの文字は列に並びます", "この字体は文書にありません")


def test_left_out_fonts_are_said_and_read_by_the_second_parser(tmp_path: Path) -> None:
    """PDFium leaves out vertical text in a font that is not in the file, though it reads the heading."""
    data = far_east(b"90ms-RKSJ-V", "cp932", *JAPANESE)
    (tmp_path / "made.pdf").write_bytes(data)
    alone = Pdfium().parse(tmp_path / "made.pdf")
    characters = len("".join(JAPANESE))
    assert alone.pages[0].text.strip() == "Report 2024"
    assert alone.warnings == (
        f"about 80 % of the text may be missing: about {characters} characters are left out, on page 1, in"
        " fonts that are not in the file",
    )
    if find_spec("pymupdf"):
        document = parse_in_child(Pdfium(), tmp_path / "made.pdf")
        assert all(line in document.pages[0].text for line in JAPANESE), "vertical text joins"
        assert document.warnings[0].startswith("page 1 read by PyMuPDF, because PDFium leaves text out")


def test_fonts_that_are_not_in_the_file_are_read_where_pdfium_can(kind: str, tmp_path: Path) -> None:
    document = read(tmp_path, far_east(b"90ms-RKSJ-H", "cp932", JAPANESE[0]), kind)
    assert JAPANESE[0] in document.pages[0].text
    document = read(tmp_path, far_east(b"GBK-EUC-H", "gbk", "数据分析系统", base=b"STSong-Light"), kind)
    assert "数据分析系统" in document.pages[0].text
    assert not [warning for warning in document.warnings if "missing" in warning]


def test_a_file_without_pages_is_not_called_damaged(kind: str, tmp_path: Path) -> None:
    data = damage.build({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Kids[]/Count 0>>"})
    with pytest.raises(DocumentError, match="without pages") as raised:
        read(tmp_path, data, kind)
    assert raised.value.reason == "empty"


@pytest.mark.parametrize("unit", ["a-\n", "a\n", "数\n", "-\n ", "a- ", "数 ", "aaaa-\n", "\n\n", " \t"])
def test_joining_is_linear(unit: str) -> None:
    def taken(size: int) -> float:
        start = time.process_time()
        join_lines([unit * (size // len(unit))])
        return time.process_time() - start

    assert taken(1_000_000) < 12 * max(taken(200_000), 0.02)
