"""The scanned page: a typed certificate, slightly turned, stamped, signed and specked; no text layer."""

from collections.abc import Callable
from random import Random

from PIL import Image, ImageChops, ImageDraw

from .runlength import Picture, font, raster

_LETTER = (
    "I have this day examined the hull of the above vessel on the slip, following her",
    "grounding off Pelnor Head, and have gauged the plating at four frames. Pitting was",
    "found along the port chine between frames 21 and 23. It has been ground out and",
    "built up by weld under my eyes. The stern seal has been renewed. Two zinc anodes",
    "on the rudder were wasted by more than half and have been replaced.",
    "",
    "The survey was attended by the mate, Mr. Corder Bayle. I find the hull fit for",
    "service in sheltered water until the next docking, which is to take place not",
    "later than 30 April 2024. The draught must not exceed 2.35 m in the meantime.",
)
_READINGS = (
    ("Frame", "Port (mm)", "Starboard (mm)"),
    ("8", "9.6", "9.4"),
    ("15", "8.8", "9.1"),
    ("22", "7.4", "8.2"),
    ("31", "9.0", "8.9"),
)
_PARTICULARS = (
    ("Vessel", "M.V. Merrow Star"),
    ("Official number", "70442"),
    ("Place of survey", "Quillan slip, No. 2 cradle"),
    ("Date of survey", "3 November 2022"),
    ("Gauge used", "Halden UG-7"),
    ("Thickness when built", "10.5 mm"),
)


def certificate(page: tuple[float, float]) -> Picture:
    """Ferry audit: the certificate of the Harbour Surveyor, as a page of its own at 200 dots per inch."""
    image = Image.new("L", (1656, 2339), 255)
    draw = ImageDraw.Draw(image)
    _heading(draw)
    _body(draw)
    _signature(draw)
    image = _turn(image)
    _dirt(image, Random(3381))
    bitonal = image.point([int(at > 150) for at in range(256)])
    return Picture(raster("certificate", bitonal, 1, bytes((0, 0, 0, 255, 255, 255))), page[0])


def _heading(draw: ImageDraw.ImageDraw) -> None:
    draw.text((828, 170), "APPENDIX A", 0, font(26), anchor="mm")
    draw.text((828, 270), "HARBOUR SURVEYOR'S OFFICE", 0, font(44, "Bd"), anchor="mm")
    draw.text((828, 326), "Weighhouse Quay, Tallowmere", 0, font(28), anchor="mm")
    draw.rectangle([200, 366, 1456, 369], fill=0)
    draw.text((828, 430), "CERTIFICATE OF HULL SURVEY", 0, font(36, "Bd"), anchor="mm")
    draw.text((828, 486), "No. HS-3381", 0, font(36), anchor="mm")


def _body(draw: ImageDraw.ImageDraw) -> None:
    """Particulars, letter and table of readings."""
    for number, (name, value) in enumerate(_PARTICULARS):
        draw.text((200, 560 + 50 * number), f"{name}:", 0, font(29))
        draw.text((640, 560 + 50 * number), value, 0, font(29, "Bd"))
    for number, line in enumerate(_LETTER):
        draw.text((200, 900 + 47 * number), line, 0, font(28))
    draw.text((200, 1372), "Readings of plate thickness", 0, font(28, "Bd"))
    for row, cells in enumerate(_READINGS):
        for column, text in enumerate(cells):
            x, y = 200 + 330 * column, 1420 + 56 * row
            draw.rectangle([x, y, x + 330, y + 56], outline=0, width=2)
            draw.text((x + 165, y + 29), text, 0, font(29, "" if row else "Bd"), anchor="mm")
    draw.text((200, 1740), "Fee paid: 1,275 crowns", 0, font(29))


def _signature(draw: ImageDraw.ImageDraw) -> None:
    """A name in ink, the printed name below it, and a round stamp."""
    draw.text((860, 1880), "B. Loxtrane", 0, font(58, "It"))
    for lift in range(4):
        draw.line(
            [(850, 1962 + lift), (1010, 1950 + lift), (1250, 1968 + lift), (1300, 1944 + lift)], fill=40
        )
    draw.text((860, 1990), "B. Loxtrane, Harbour Surveyor", 0, font(26))
    draw.text((860, 2030), "Tallowmere, 5 November 2022", 0, font(26))
    for radius, width in ((160, 6), (146, 2)):
        draw.ellipse([420 - radius, 1960 - radius, 420 + radius, 1960 + radius], outline=30, width=width)
    for y, text in ((1910, "TALLOWMERE"), (1960, "HARBOUR"), (2010, "SURVEYOR")):
        draw.text((420, y), text, 30, font(30, "Bd"), anchor="mm")


def _turn(image: Image.Image, run: int = 150) -> Image.Image:
    """Turn the page by one pixel in ``run`` through two shears of whole pixels."""
    across = Image.new("L", image.size, 255)
    for number, y in enumerate(range(0, image.height, run)):
        strip = image.crop((0, y, image.width, min(y + run, image.height)))
        across.paste(strip, (8 - number, y))
    turned = Image.new("L", image.size, 255)
    for number, x in enumerate(range(0, image.width, run)):
        turned.paste(across.crop((x, 0, min(x + run, image.width), image.height)), (x, number - 6))
    return turned


def _dirt(image: Image.Image, random: Random) -> None:
    """Grain on the ink, specks, two punched holes and the shadow of the lid, drawn into the image."""
    width, height = image.size
    grain = Image.frombytes("L", image.size, random.randbytes(width * height)).point(
        [at // 2 for at in range(256)]
    )
    image.paste(ImageChops.add(image, grain))
    draw = ImageDraw.Draw(image)
    for _ in range(420):
        x, y, size = random.randrange(width), random.randrange(height), random.randrange(1, 3)
        draw.rectangle([x, y, x + size - 1, y + size - 1], fill=0)
    for y in (1010, 1330):
        draw.ellipse([62, y, 106, y + 44], fill=0)
    for y in range(height):
        draw.line([(0, y), (random.randrange(4, 8), y)], fill=0)


SCANS: dict[str, Callable[[tuple[float, float]], Picture]] = {"certificate": certificate}
