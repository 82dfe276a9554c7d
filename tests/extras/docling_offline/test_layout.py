"""The layout of pages: what the detector says, what the PDF says to it, and what Docling makes of both."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image, ImageDraw

from fathoms.errors import ConfigError
from fathoms.extras.docling_offline import layout_detector
from fathoms.extras.docling_offline.boxes import Box, union
from fathoms.extras.docling_offline.layout_detector import Region, expected, iou, pixels, suppress
from fathoms.extras.docling_offline.layout_ink import ink_blocks
from fathoms.extras.docling_offline.layout_regions import PageContent, missed_pictures, refine
from fathoms.extras.docling_offline.table_lines import Word
from fathoms.models.weights.weights import is_installed, locate
from tests.support.docling_samples import SAMPLE, needs_docling, sample

PAGE = Box(0, 0, 600, 800)


def text(box: Box, step: float = 12) -> list[Word]:
    """Lines of words that fill a box, as a paragraph does."""
    tops = np.arange(box.top, box.bottom - step, step)
    lefts = np.arange(box.left, box.right - 28, 31)
    return [Word(Box(x, y, x + 28, y + 9), "words") for y in tops for x in lefts]


def table(left: float, top: float, count: int = 4) -> list[Word]:
    """Two columns of words, 100 points apart, in lines of 15 points."""
    return [
        Word(Box(left + x, top + 15 * row, left + x + 30, top + 15 * row + 10), f"{row}.5")
        for row in range(count)
        for x in (0, 100)
    ]


def rule(left: float, right: float, y: float) -> Box:
    return Box(left, y, right, y + 0.5)


def found(regions: list[Region]) -> list[tuple[str, tuple[float, ...]]]:
    """Labels and boxes."""
    return [(region.label, tuple(region.box)) for region in regions]


def test_boxes() -> None:
    box = Box(0, 0, 10, 20)
    assert (box.width, box.height, box.area, box.middle, box.centre) == (10, 20, 200, 10, 5)
    assert box.shared(Box(5, 10, 15, 30)) == 50
    assert box.inside(Box(5, 10, 15, 30)) == 0.25
    assert Box(1, 1, 1, 9).inside(box) == 0
    assert union([box, Box(-1, 5, 3, 25)]) == Box(-1, 0, 10, 25)


def test_a_distance_is_the_mean_of_its_distribution() -> None:
    even, third = np.zeros((1, 8), dtype=np.float32), np.full((1, 8), -1e4, dtype=np.float32)
    third[0, 3] = 1e4
    assert expected(even) == pytest.approx(3.5)
    assert expected(third) == pytest.approx(3)
    assert expected(np.log(np.array([[1, 3]], dtype=np.float32))) == pytest.approx(0.75)


def test_one_of_two_boxes_on_the_same_place_is_left() -> None:
    best, same = Region("text", 0.9, Box(0, 0, 10, 10)), Region("text", 0.8, Box(0, 0, 10, 9))
    other, beside = Region("title", 0.7, same.box), Region("text", 0.6, Box(0, 6, 10, 16))
    assert iou(best.box, same.box) == pytest.approx(0.9)
    assert iou(best.box, Box(20, 0, 30, 10)) == 0
    assert suppress([beside, same, other, best]) == [best, other, beside]


def test_a_page_is_scaled_and_its_colours_centred() -> None:
    image = Image.new("RGB", (300, 500), (255, 0, 124))
    found = pixels(image)
    assert found.shape == (1, 3, 800, 608)
    assert found.dtype == np.float32
    # (1 - 0.485) / 0.229, (0 - 0.456) / 0.224, (124 / 255 - 0.406) / 0.225
    assert found[0, :, 400, 300] == pytest.approx([2.2489, -2.0357, 0.3568], abs=1e-3)


def detector() -> layout_detector.Detector:
    if not is_installed("layout-cdla"):
        pytest.skip("no weights: run 'fathoms models pull layout-cdla'")
    return layout_detector.load(str(locate("layout-cdla")), 1)


@pytest.mark.slow
def test_the_detector_finds_tables_and_figures() -> None:
    with pdfium.PdfDocument(SAMPLE / "kestrel-irrigation-trial.pdf") as document:
        page = document[1]
        area = Box(0, 0, *page.get_size())
        regions = detector().detect(page.render(scale=1.5).to_pil(), area, 0.5)
    assert {region.label for region in regions} > {"text", "title", "figure", "table"}
    # read off the page with a ruler
    boxes = {region.label: region.box for region in regions if region.label in ("figure", "table")}
    assert iou(boxes["figure"], Box(38, 62, 502, 188)) > 0.9
    assert iou(boxes["table"], Box(42, 244, 262, 322)) > 0.9
    assert all(region.score >= 0.5 and region.box.inside(area) == pytest.approx(1) for region in regions)


def test_weights_of_something_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"no model")
    pytest.importorskip("onnxruntime")
    with pytest.raises(ConfigError, match="could not be loaded"):
        layout_detector.load(str(path), 1)


def test_a_figure_with_nothing_drawn_in_it_is_text() -> None:
    box = Box(50, 50, 400, 300)
    assert refine([Region("figure", 0.9, box)], PageContent(PAGE, words=text(box))) == []


def test_a_figure_with_an_image_or_a_drawing_stays() -> None:
    box = Box(50, 50, 400, 300)
    words = text(Box(50, 400, 500, 600))
    region = Region("figure", 0.9, box)
    assert refine([region], PageContent(PAGE, words, bitmaps=[Box(60, 60, 390, 290)])) == [region]
    assert refine([region], PageContent(PAGE, words, drawings=[Box(60, 60, 390, 290)])) == [region]


def test_text_on_a_grey_ground_is_text() -> None:
    box = Box(50, 50, 400, 300)
    assert refine([Region("figure", 0.9, box)], PageContent(PAGE, words=text(box), drawings=[box])) == []


def test_a_figure_grows_to_the_whole_of_its_image() -> None:
    content = PageContent(PAGE, text(Box(50, 400, 500, 600)), bitmaps=[Box(50, 40, 400, 290)])
    (region,) = refine([Region("figure", 0.9, Box(60, 100, 390, 290))], content)
    assert region.box == Box(50, 40, 400, 290)


def test_the_text_around_a_figure_is_not_in_it() -> None:
    around, core = (
        Region("figure", 0.9, Box(50, 50, 550, 400)),
        Region("figure", 0.7, Box(300, 200, 540, 390)),
    )
    content = PageContent(PAGE, text(Box(50, 50, 290, 400)), drawings=[Box(310, 210, 530, 380)])
    assert refine([around, core], content) == [core]


def test_a_figure_of_rules_is_a_table() -> None:
    words = table(100, 100)
    rules = [rule(95, 235, y) for y in (97, 112, 158)]
    (region,) = refine([Region("figure", 0.7, Box(90, 95, 240, 160))], PageContent(PAGE, words, rules))
    assert region.label == "table"


def test_a_table_of_one_column_is_text() -> None:
    box = Box(50, 50, 400, 300)
    assert refine([Region("table", 0.9, box)], PageContent(PAGE, words=text(box))) == []


def test_a_table_reaches_from_its_first_rule_to_its_last() -> None:
    words = [*table(100, 100), *text(Box(95, 70, 235, 95))]
    rules = [rule(95, 235, y) for y in (97, 112, 160)]
    for cut in (Box(96, 105, 234, 150), Box(96, 72, 234, 158)):
        (region,) = refine([Region("table", 0.9, cut)], PageContent(PAGE, words, rules))
        assert tuple(region.box) == pytest.approx((95, 97, 235, 160.5))


def test_a_table_does_not_reach_over_its_caption() -> None:
    rules = [rule(95, 235, y) for y in (80, 112, 160)]
    caption = Region("table_caption", 0.8, Box(95, 84, 235, 96))
    regions = [Region("table", 0.9, Box(95, 98, 235, 161)), caption]
    refined = refine(regions, PageContent(PAGE, table(100, 100), rules))
    assert ("table", 98) in [(region.label, region.box.top) for region in refined]


def test_two_tables_side_by_side_are_two() -> None:
    words = [*table(50, 100), *table(350, 100)]
    left, right = Region("table", 0.8, Box(45, 95, 190, 160)), Region("table", 0.8, Box(345, 95, 490, 160))
    both = Region("table", 0.95, Box(40, 90, 495, 165))
    assert found(refine([both, left, right], PageContent(PAGE, words))) == found([left, right])


def test_tables_never_overlap() -> None:
    better, worse = Region("table", 0.9, Box(95, 95, 240, 160)), Region("table", 0.5, Box(95, 80, 240, 112))
    assert refine([better, worse], PageContent(PAGE, [*table(100, 100), *table(100, 82, 1)])) == [better]


def test_missed_pictures() -> None:
    tiles = [Box(100, 100, 300, 150), Box(100, 150, 300, 200)]
    assert missed_pictures([], PageContent(PAGE, bitmaps=tiles)) == [Box(100, 100, 300, 200)]
    assert (
        missed_pictures([Region("figure", 0.9, Box(90, 90, 310, 210))], PageContent(PAGE, bitmaps=tiles))
        == []
    )
    assert missed_pictures([], PageContent(PAGE, bitmaps=[Box(0, 0, 40, 40)])) == []
    assert missed_pictures([], PageContent(PAGE, bitmaps=[Box(0, 0, 600, 790)])) == []
    diagram = PageContent(PAGE, drawings=[Box(50, 50, 500, 250)], bitmaps=[Box(60, 60, 90, 90)])
    assert missed_pictures([], diagram) == [Box(50, 50, 500, 250)]
    assert missed_pictures([], PageContent(PAGE, drawings=[Box(50, 50, 500, 250)])) == []


def test_a_scan_is_believed_but_for_doubtful_figures() -> None:
    scan = PageContent(PAGE, bitmaps=[PAGE])
    regions = [Region("table", 0.5, Box(50, 50, 500, 100)), Region("figure", 0.5, Box(50, 200, 500, 400))]
    assert scan.scanned
    assert refine(regions, scan) == regions[:1]
    assert not PageContent(PAGE, text(PAGE), bitmaps=[PAGE]).scanned


def test_ink_that_no_region_covers() -> None:
    image = Image.new("L", (600, 800), 255)
    drawn = ImageDraw.Draw(image)
    for y in (100, 113, 126, 200, 213):  # two paragraphs, lines 5 points apart
        drawn.rectangle([60, y, 499, y + 7], fill=0)
    for x in (60, 320):  # two columns
        drawn.rectangle([x, 300, x + 219, 360], fill=0)
    for x in (60, 200):  # a key and its value
        drawn.rectangle([x, 500, x + 79, 507], fill=0)
    drawn.rectangle([0, 0, 2, 799], fill=0)  # the edge of the paper
    drawn.point([(300, 700), (40, 650)], fill=0)  # dirt
    drawn.rectangle([60, 600, 499, 640], fill=0)  # known
    blocks = ink_blocks(image, PAGE, [Box(50, 590, 510, 650)])
    assert blocks == [
        Box(60, 100, 500, 134),
        Box(60, 200, 500, 221),
        Box(60, 300, 280, 361),
        Box(320, 300, 540, 361),
        Box(60, 500, 280, 508),
    ]
    assert ink_blocks(Image.new("L", (600, 800), 255), PAGE, []) == []


def test_the_ink_of_a_scanned_certificate() -> None:
    with pdfium.PdfDocument(SAMPLE / "tallowmere-ferry-audit.pdf") as document:
        image = document[5].render(scale=2).to_pil()
    blocks = ink_blocks(image, Box(0, 0, 595.3, 841.9), [])
    # the first three details, the first paragraph, the table, the fee
    for box in [
        Box(76, 203, 330, 227),
        Box(76, 327, 490, 400),
        Box(72, 510, 430, 612),
        Box(74, 627, 188, 634),
    ]:
        assert sum(block.shared(box) for block in blocks) > 0.95 * box.area


@pytest.mark.slow
def test_the_plugin_imports_nothing_before_it_is_asked() -> None:
    code = "import sys, fathoms.ingest.docling.plugin; print({'docling', 'torch'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


EXPECTED = {
    "kestrel": (3, 3),
    "lumet": (4, 5),
    "pelnorite": (4, 3),
    "skarrow": (4, 3),
    "tallowmere": (3, 5),
}
"""Pictures and tables of the sample documents (data/sample/README.md); the register counts twice."""


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_the_sample_corpus_in_docling(name: str) -> None:
    needs_docling()
    from docling_core.types.doc import DoclingDocument

    native = sample()[0][name].native
    assert native is not None
    document = DoclingDocument.model_validate(json.loads(native)["document"])
    tables = [table for table in document.tables if table.data.grid]
    assert (len(document.pictures), len(tables)) == EXPECTED[name]
    (path,) = SAMPLE.glob(f"{name}*.pdf")
    with pdfium.PdfDocument(path) as pdf:
        words = Counter(" ".join(page.get_textpage().get_text_bounded() for page in pdf).split())
    counts = Counter(document.export_to_markdown(traverse_pictures=True).replace("|", " ").split())
    counts += Counter(" ".join(item.text for item in document.texts).split())
    assert sum((words - counts).values()) < 0.05 * sum(words.values())
