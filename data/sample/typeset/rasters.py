"""The two raster figures, whose facts stand in pixels alone: a micrograph and a monitor's screen."""

from collections.abc import Iterator, Sequence
from random import Random

from PIL import Image, ImageChops, ImageDraw

from .runlength import Picture, font, raster

Point = tuple[int, int]
_OCTAGON = ((100, 0), (72, 69), (4, 97), (-70, 74), (-98, -3), (-71, -70), (2, -101), (73, -68))


def micrograph(width: float) -> Picture:
    """Pelnorite paper: a scanning electron micrograph of flat grains, with its data bar."""
    random, size = Random(417), (800, 700)
    image = Image.new("L", size, 20)
    draw = ImageDraw.Draw(image)
    for _ in range(520):
        _grain(draw, random, (random.randrange(-40, 840), random.randrange(-40, 640)))
    noise = Image.frombytes("L", size, random.randbytes(size[0] * size[1])).point(
        [at // 10 for at in range(256)]
    )
    image = ImageChops.subtract(ImageChops.add(image, noise), Image.new("L", size, 12))
    _marks(ImageDraw.Draw(image))
    greys = bytes(level * 17 for level in range(16) for _ in range(3))
    return Picture(raster("micrograph", image.point([at // 16 for at in range(256)]), 4, greys), width)


def _grain(draw: ImageDraw.ImageDraw, random: Random, middle: Point) -> None:
    """A flat plate with a dark rim, a bright edge towards the detector, and a shade of its own."""
    wide, tall, shade = random.randrange(34, 62), random.randrange(20, 44), random.randrange(70, 165)
    corners = []
    for x, y in _OCTAGON:
        reach = random.randrange(78, 112)
        corners.append((middle[0] + x * wide * reach // 10000, middle[1] + y * tall * reach // 10000))
    fill(draw, [(x + 4, y + 5) for x, y in corners], 12)
    fill(draw, corners, shade)
    edge = min(shade + 75, 235)
    for lift in (0, 1):
        raised = [(x, y - lift) for x, y in corners]
        draw.line([*raised[3:], raised[0], raised[1]], fill=edge if lift else shade + 40)


def fill(draw: ImageDraw.ImageDraw, corners: Sequence[Point], shade: int) -> None:
    """Fill a polygon row by row between its outermost crossings."""
    for y, crossings in _crossings(corners):
        draw.line([(min(crossings), y), (max(crossings), y)], fill=shade)


def _crossings(corners: Sequence[Point]) -> Iterator[tuple[int, list[int]]]:
    pairs = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    for y in range(min(y for _, y in corners), max(y for _, y in corners)):
        yield y, [a + (c - a) * (y - b) // (d - b) for (a, b), (c, d) in pairs if min(b, d) <= y < max(b, d)]


def _marks(draw: ImageDraw.ImageDraw) -> None:
    """The data bar below the picture, and the dimensions marked in it."""
    draw.rectangle([0, 600, 800, 700], fill=0)
    draw.line([(0, 600), (800, 600)], fill=255)
    small, large = font(25), font(27, "Bd")
    for x, y, text in (
        (16, 610, "HV 12.5 kV"),
        (206, 610, "WD 9.3 mm"),
        (398, 610, "MAG 1850 x"),
        (600, 610, "LV 45 Pa"),
    ):
        draw.text((x, y), text, 255, small)
    draw.text((16, 656), "PN-0417", 255, large)
    draw.text((206, 657), "Detector BSE-2", 255, small)
    draw.rectangle([474, 668, 648, 676], fill=255)
    draw.text((666, 655), "20 um", 255, large)
    _dimension(draw, (150, 205), 33, "P1 = 3.8 um")
    _dimension(draw, (500, 420), 51, "P2 = 5.9 um")


def _dimension(draw: ImageDraw.ImageDraw, at: Point, length: int, text: str) -> None:
    """A pore seen from above, with a bar across it and its width on a dark plate."""
    x, y = at
    fill(draw, [(x + dx * length // 190, y + 6 + dy // 5) for dx, dy in _OCTAGON], 4)
    for lift in (0, 1, 2):
        draw.line([(x - length // 2, y + lift), (x + length // 2, y + lift)], fill=255)
        draw.line([(x - length // 2 + lift, y - 11), (x - length // 2 + lift, y + 13)], fill=255)
        draw.line([(x + length // 2 + lift, y - 11), (x + length // 2 + lift, y + 13)], fill=255)
    draw.rectangle([x - 92, y - 58, x + 100, y - 20], fill=0)
    draw.text((x - 84, y - 54), text, 255, font(25))


_COLOURS = bytes.fromhex(
    "0b1016 18222d 0a1a33 10264a 173462 26477d f4f6f8 9fb3c6 5fd38a f2b23e e8604c 3a4c60 cfe3ff"
)
_BACK, _PANEL, *_RINGS, _TEXT, _DIM, _GOOD, _WARN, _BAD, _CLOUD, _STAR = range(13)


def console(width: float) -> Picture:
    """Observatory report: the screen of the all-sky monitor."""
    image = Image.new("L", (1200, 700), _BACK)
    draw = ImageDraw.Draw(image)
    draw.fontmode = "1"
    draw.rectangle([0, 0, 1200, 58], fill=_PANEL)
    draw.text((22, 12), "SKARROW RIDGE  ALL-SKY MONITOR", _TEXT, font(29, "Bd"))
    draw.text((860, 12), "14 NOV  02:47 UT", _WARN, font(29, "Bd"))
    _sky(draw, Random(2207))
    _readings(draw)
    return Picture(raster("console", image, 4, _COLOURS), width)


def _sky(draw: ImageDraw.ImageDraw, random: Random) -> None:
    """The fisheye picture: sky, stars, a bank of cloud, and the points of the compass."""
    for ring, colour in enumerate(reversed(_RINGS)):
        draw.ellipse([60 + 22 * ring, 96 + 22 * ring, 600 - 22 * ring, 636 - 22 * ring], fill=colour)
    for _ in range(420):
        x, y = random.randrange(-240, 240), random.randrange(-240, 240)
        if x * x + y * y < 236 * 236:
            big = random.randrange(12) == 0
            draw.ellipse([330 + x, 366 + y, 330 + x + 1 + 2 * big, 366 + y + 1 + 2 * big], fill=_STAR)
    for x, y, wide in ((150, 470, 120), (205, 505, 150), (262, 545, 130), (190, 540, 90)):
        draw.ellipse([x, y, x + wide, y + wide // 3], fill=_CLOUD)
    for x, y, text in ((318, 100, "N"), (318, 596, "S"), (70, 350, "E"), (568, 350, "W")):
        draw.text((x, y), text, _TEXT, font(28, "Bd"))
    draw.line([(372, 262), (452, 214)], fill=_WARN)
    draw.text((384, 186), "METEOR 6", _WARN, font(26))
    draw.text((60, 650), "EXPOSURE 12.5 s    GAIN 48", _DIM, font(27))


def _readings(draw: ImageDraw.ImageDraw) -> None:
    """The column of readings."""
    rows = (
        ("SKY", "21.64 mag", _GOOD),
        ("SEEING", '0.83"', _GOOD),
        ("WIND", "7.6 m/s", _GOOD),
        ("GUST", "12.3 m/s", _WARN),
        ("HUMIDITY", "63 %", _GOOD),
        ("DEW POINT", "-2.4 C", _GOOD),
        ("DOME AZ", "214.5 deg", _TEXT),
        ("SHUTTER 1", "0.4 A", _GOOD),
        ("SHUTTER 2", "3.6 A", _BAD),
    )
    for number, (name, value, colour) in enumerate(rows):
        y = 82 + 66 * number
        draw.rectangle([660, y, 1176, y + 56], fill=_PANEL)
        draw.rectangle([660, y, 668, y + 56], fill=colour)
        draw.text((690, y + 10), name, _DIM, font(30))
        draw.text((930, y + 8), value, colour, font(32, "Bd"))
