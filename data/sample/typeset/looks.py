"""The five looks of the corpus: page size, columns, fonts and paragraph styles."""

from dataclasses import dataclass, field

from reportlab.lib.colors import Color, HexColor, black
from reportlab.lib.enums import TA_CENTER, TA_JUSTIFY, TA_LEFT
from reportlab.lib.pagesizes import A4, B5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm

_TRIM = (190 * mm, 268 * mm)
_BOLD = {"Times-Roman": "Times-Bold", "Helvetica": "Helvetica-Bold"}
_ITALIC = {"Times-Roman": "Times-Italic", "Helvetica": "Helvetica-Oblique"}


@dataclass(frozen=True)
class Look:
    """How one kind of document looks."""

    name: str
    size: float = 9.6
    leading: float = 11.7
    body: str = "Times-Roman"
    head: str = "Times-Roman"
    columns: int = 1
    page: tuple[float, float] = A4
    left: float = 50
    right: float = 50
    top: float = 64
    bottom: float = 56
    gap: float = 20
    accent: Color = black
    centred: bool = False
    banner: bool = False
    indent: float = 0
    hang: float = 0
    spacing: float = 0
    styles: dict[str, ParagraphStyle] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """Width of the type area."""
        return self.page[0] - self.left - self.right

    @property
    def column(self) -> float:
        """Width of one column."""
        return (self.width - self.gap * (self.columns - 1)) / self.columns

    @property
    def height(self) -> float:
        """Height of the type area."""
        return self.page[1] - self.top - self.bottom

    def style(self, name: str) -> ParagraphStyle:
        """The paragraph style called ``name``."""
        if not self.styles:
            self.styles.update(_styles(self))
        return self.styles[name]


def _styles(look: Look) -> dict[str, ParagraphStyle]:
    """All paragraph styles of a look, by name."""
    return {style.name: style for style in (*_text_styles(look), *_head_styles(look), *_small_styles(look))}


def _text_styles(look: Look) -> tuple[ParagraphStyle, ...]:
    body = ParagraphStyle(
        "paragraph",
        fontName=look.body,
        fontSize=look.size,
        leading=look.leading,
        alignment=TA_JUSTIFY,
        firstLineIndent=look.indent,
        spaceAfter=look.spacing,
        bulletFontName=look.body,
        bulletFontSize=look.size,
        allowWidows=0,
        allowOrphans=0,
    )
    hung = {"leftIndent": look.hang, "firstLineIndent": 0, "bulletIndent": 0}
    return (
        body,
        ParagraphStyle("first", body, firstLineIndent=0),
        ParagraphStyle("clause", body, **hung),
        ParagraphStyle("step", body, **{**hung, "leftIndent": 16}),
        ParagraphStyle("box", body, firstLineIndent=0, spaceAfter=0),
    )


def _head_styles(look: Look) -> tuple[ParagraphStyle, ...]:
    base = ParagraphStyle(
        "base",
        fontName=_BOLD[look.head],
        textColor=look.accent,
        alignment=TA_CENTER if look.centred else TA_LEFT,
    )
    sub = _ITALIC[look.head] if look.columns == 2 else _BOLD[look.head]
    return (
        ParagraphStyle(
            "heading", base, fontSize=look.size + 1.6, leading=look.leading + 2, spaceBefore=11, spaceAfter=4,
        ),
        ParagraphStyle(
            "subheading", base, fontName=sub, fontSize=look.size + 0.3, leading=look.leading,
            alignment=TA_LEFT, spaceBefore=8, spaceAfter=3,
        ),
        ParagraphStyle("title", base, fontSize=16.5, leading=20, spaceAfter=8),
        ParagraphStyle("subtitle", base, fontName=look.head, fontSize=13, leading=16, spaceAfter=6),
        ParagraphStyle(
            "author", base, fontName=look.head, fontSize=10.6, leading=13, textColor=black, spaceAfter=3,
        ),
    )  # fmt: skip


def _small_styles(look: Look) -> tuple[ParagraphStyle, ...]:
    base = ParagraphStyle("small", fontName=look.body, fontSize=look.size - 1.3, leading=look.leading - 1.6)
    middle = TA_CENTER if look.centred else TA_LEFT
    return (
        ParagraphStyle("affiliation", base, fontName=_ITALIC[look.head], alignment=middle, spaceAfter=3),
        ParagraphStyle(
            "imprint",
            base,
            fontSize=8,
            leading=10,
            textColor=HexColor(0x444444),
            alignment=middle,
            spaceAfter=9,
        ),
        ParagraphStyle("abstract", base, fontSize=9.3, leading=11.6, alignment=TA_JUSTIFY, spaceAfter=5),
        ParagraphStyle("caption", base, fontName=look.head, fontSize=8.2, leading=10),
        ParagraphStyle("cell", base, fontName=look.head, fontSize=8, leading=9.6),
        ParagraphStyle("note", base, fontName=look.head, fontSize=7.4, leading=9),
        ParagraphStyle("footnote", base, fontSize=7.8, leading=9.4, alignment=TA_JUSTIFY),
        ParagraphStyle(
            "reference", base, leftIndent=14, firstLineIndent=-14, spaceAfter=2.5, alignment=TA_JUSTIFY
        ),
    )


LOOKS = {
    look.name: look
    for look in (
        Look(
            "journal", size=10.2, leading=12.9, columns=2, page=_TRIM, left=44, right=44, top=62, bottom=56,
            gap=18, indent=11,
        ),
        Look(
            "letters", size=10.3, leading=13.1, columns=2, page=_TRIM, left=42, right=42, top=62, bottom=56,
            gap=17, centred=True, indent=12,
        ),
        Look(
            "report", size=10.6, leading=14.2, head="Helvetica", left=82, right=82, top=76, bottom=70,
            accent=HexColor(0x1F3A5F), banner=True, spacing=6,
        ),
        Look(
            "audit", size=9.5, leading=13, body="Helvetica", head="Helvetica", left=74, right=64, top=74,
            bottom=66, accent=HexColor(0x1C5D52), spacing=6.5, hang=26,
        ),
        Look(
            "manual", size=9, leading=12.2, body="Helvetica", head="Helvetica", page=B5, left=52, right=48,
            top=56, bottom=50, accent=HexColor(0x8A2B1D), spacing=5.5,
        ),
    )
}  # fmt: skip
