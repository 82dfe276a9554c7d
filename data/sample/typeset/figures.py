"""The figures of the corpus by the names that the sources use. Every figure takes the width it is to fill."""

from collections.abc import Callable

from reportlab.graphics.shapes import Circle, Drawing, Line, Rect
from reportlab.lib.colors import HexColor, black, white
from reportlab.platypus import Flowable

from .charts import Axes, Series, bars, lines, word
from .diagrams import Arrow, Box, diagram
from .rasters import console, micrograph

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ALL = (-1,)


def loop(width: float) -> Drawing:
    """Kestrel trial: the control loop of one plot."""
    xs = [40 + (width - 80) / 4 * number for number in range(5)]
    boxes = {
        "tips": Box(xs[0], 26, 80, 30, ("Pelnorite tips", "20 and 40 cm deep")),
        "lateral": Box(xs[1], 26, 74, 30, ("Drip lateral", "1.6 l/h a metre")),
        "valve": Box(xs[2], 26, 74, 30, ("Pilot valve", "latching")),
        "meter": Box(xs[3], 26, 74, 30, ("Flow meter", "one pulse a litre")),
        "main": Box(xs[4], 26, 78, 30, ("Supply main", "2.1 bar")),
        "logger": Box(xs[0], 112, 80, 30, ("Corvane T4", "data logger")),
        "controller": Box(xs[2], 112, 96, 30, ("Kestrel-9", "controller")),
        "rain": Box(xs[4], 112, 78, 30, ("Rain gauge", "tipping bucket")),
    }
    corner = boxes["controller"].side("se")[0]
    arrows = [
        Arrow("main.w", "meter.e"),
        Arrow("meter.w", "valve.e"),
        Arrow("valve.w", "lateral.e"),
        Arrow("lateral.w", "tips.e"),
        Arrow("tips.n", "logger.s", "suction", shift=(20, -2)),
        Arrow("logger.e", "controller.w", "radio link, 868 MHz", True),
        Arrow("rain.w", "controller.e", "hold off above 4.5 mm", True),
        Arrow("controller.s", "valve.n", "open or close", True, shift=(-28, -2)),
        Arrow("meter.n", "controller.se", "litres", True, ((xs[3], 70), (corner, 70))),
    ]
    return diagram(width, 132, boxes, arrows)


def tension(width: float) -> Drawing:
    """Kestrel trial: weekly soil tension."""
    names = [str(week) for week in range(1, 15)]
    axes = Axes(width, 170, names, range(0, 141, 20), "Week after sowing", "kPa")
    return lines(
        axes,
        [
            Series("Calendar", (18, 52, 31, 74, 28, 83, 36, 88, 41, 86, 33, 79, 30, 71), dashed=True),
            Series("Kestrel-60", (21, 38, 49, 55, 57, 56, 58, 57, 88, 58, 56, 57, 52, 44), (8,)),
            Series("Kestrel-85", (20, 41, 59, 72, 79, 82, 81, 83, 118, 84, 82, 80, 76, 68), (8,)),
        ],
        threshold=60,
    )


def labour(width: float) -> Drawing:
    """Kestrel trial: labour by treatment."""
    names = ("Calendar", "Demand", "Kestrel-60", "Kestrel-85")
    axes = Axes(width, 150, names, range(0, 31, 5), "Treatment", "Hours per hectare and season")
    return bars(axes, [Series("Labour", (22.5, 27.0, 8.3, 7.6), _ALL)])


def process(width: float) -> Drawing:
    """Pelnorite paper: the steps of the preparation."""
    xs = [49 + (width - 98) / 3 * number for number in range(4)]
    steps = {
        "mill": ("Mill", "clay and anatase, 14 h"),
        "stir": ("Stir in sawdust", "passed 250 µm sieve"),
        "grain": ("Granulate", "moisture 6 per cent"),
        "press": ("Press", "48 MPa"),
        "dry": ("Dry", "65 °C, 20 h"),
        "burn": ("Burn out", "450 °C, at 2 K/min"),
        "fire": ("Fire", "1,085 to 1,220 °C, 3.5 h"),
        "test": ("Test", "sound velocity"),
    }
    places = [(x, 92) for x in xs] + [(x, 24) for x in reversed(xs)]
    boxes = {
        name: Box(*place, 98, 32, text, name == "fire")
        for (name, text), place in zip(steps.items(), places, strict=True)
    }
    arrows = [
        Arrow("mill.e", "stir.w"),
        Arrow("stir.e", "grain.w"),
        Arrow("grain.e", "press.w"),
        Arrow("press.s", "dry.n", "green pieces", shift=(28, -2)),
        Arrow("dry.w", "burn.e"),
        Arrow("burn.w", "fire.e"),
        Arrow("fire.w", "test.e"),
    ]
    return diagram(width, 112, boxes, arrows)


def shrinkage(width: float) -> Drawing:
    """Pelnorite paper: shrinkage against firing temperature."""
    names = ("1,040", "1,085", "1,130", "1,175", "1,220")
    axes = Axes(width, 150, names, range(0, 17, 4), "Firing temperature (°C)", "Linear shrinkage (per cent)")
    return lines(axes, [Series("Shrinkage", (1.7, 4.1, 7.2, 10.6, 13.8), _ALL)])


def frost(width: float) -> Drawing:
    """Pelnorite paper: strength left after freezing and thawing."""
    names = ("Grade A", "Grade B", "Grade C", "Grade D")
    axes = Axes(width, 145, names, range(0, 101, 20), "", "Strength retained (per cent)", bottom=14)
    return bars(axes, [Series("Strength", (72.6, 88.9, 94.3, 97.7), _ALL)])


def seeing(width: float) -> Drawing:
    """Observatory report: seeing by month."""
    axes = Axes(width, 190, _MONTHS, (0.6, 0.8, 1.0, 1.2, 1.4), "", "Seconds of arc", 1, bottom=14)
    return lines(
        axes,
        [
            Series(
                "2021", (1.38, 1.25, 1.16, 1.12, 1.08, 1.05, 0.99, 0.93, 0.95, 0.98, 1.13, 1.29), dashed=True
            ),
            Series("2022", (1.31, 1.27, 1.18, 1.09, 1.02, 0.97, 0.94, 0.91, 0.86, 0.79, 1.04, 1.22), (9,)),
        ],
    )


def datapath(width: float) -> Drawing:
    """Observatory report: from the focal plane to the archive."""
    xs = (48, width * 0.5, width - 48)
    boxes = {
        "camera": Box(xs[0], 100, 92, 32, ("Camera", "18 frames an hour")),
        "buffer": Box(xs[1], 100, 92, 32, ("Dome buffer", "6 TB")),
        "store": Box(xs[2], 100, 92, 32, ("Ridge store", "90 TB")),
        "relay": Box(xs[2], 22, 92, 32, ("Harbour relay", "Tallowmere")),
        "archive": Box(xs[1], 22, 92, 32, ("Archive", "Sanderoth Polytechnic")),
        "safe": Box(xs[0], 22, 92, 32, ("Tape safe", "east hut")),
    }
    corner = boxes["store"].side("sw")[0]
    arrows = [
        Arrow("camera.e", "buffer.w", "fibre, 40 m"),
        Arrow("buffer.e", "store.w", "copied at dawn"),
        Arrow("store.s", "relay.n", "radio\n140 Mbit/s", shift=(24, -6)),
        Arrow("relay.w", "archive.e", "leased line"),
        Arrow("store.sw", "safe.n", "tape, every second Monday", True, ((corner, 66), (xs[0], 66))),
    ]
    return diagram(width, 120, boxes, arrows)


def fledglings(width: float) -> Drawing:
    """Observatory report: grounded birds by year."""
    names = ("2016", "2017", "2018", "2019", "2020", "2021", "2022")
    axes = Axes(width, 160, names, range(0, 201, 50), "", "Birds collected", bottom=14)
    return bars(axes, [Series("Birds", (149, 162, 171, 158, 134, 118, 43), _ALL)])


def oversight(width: float) -> Drawing:
    """Ferry audit: who answers to whom."""
    left, middle, right = 58, width * 0.5, width - 58
    boxes = {
        "council": Box(middle, 176, 108, 30, ("Council", "subsidy")),
        "auditor": Box(left, 176, 100, 30, ("Auditor", "every second year")),
        "committee": Box(middle, 122, 108, 30, ("Transport Committee", "fares")),
        "surveyor": Box(right, 122, 108, 30, ("Harbour Surveyor", "hulls and engines")),
        "board": Box(middle, 68, 108, 30, ("Ferry Board", "meets six times a year")),
        "superintendent": Box(left, 68, 100, 30, ("Superintendent", "repairs")),
        "masters": Box(left, 18, 100, 28, ("Masters", "two a vessel")),
        "users": Box(right, 68, 108, 30, ("Users' panel", "nine members")),
    }
    arrows = [
        Arrow("auditor.e", "council.w", "report"),
        Arrow("committee.n", "council.s"),
        Arrow("surveyor.w", "committee.e", "certificates"),
        Arrow("board.n", "committee.s"),
        Arrow("superintendent.e", "board.w", "monthly"),
        Arrow("masters.n", "superintendent.s", "deck log", shift=(24, -2)),
        Arrow("users.w", "board.e", "complaints", True),
        Arrow("users.n", "surveyor.s", "safety\nconcerns", True, shift=(22, -6)),
    ]
    return diagram(width, 196, boxes, arrows)


def punctuality(width: float) -> Drawing:
    """Ferry audit: punctuality by month."""
    axes = Axes(width, 175, _MONTHS, range(70, 101, 5), "", "Per cent (broken rule: target)", bottom=14)
    values = (78.4, 80.9, 84.2, 88.7, 86.1, 90.3, 85.5, 79.6, 90.6, 87.9, 83.0, 79.8)
    return lines(axes, [Series("Punctual", values, _ALL)], threshold=93)


def cancellations(width: float) -> Drawing:
    """Ferry audit: cancelled sailings by cause."""
    names = ("Weather", "Mechanical", "Crew", "Berth occupied", "Other")
    axes = Axes(width, 150, names, range(0, 121, 20), "", "Sailings", bottom=14)
    return bars(axes, [Series("Sailings", (96, 57, 21, 8, 5), _ALL)])


def front(width: float) -> Drawing:
    """Pump manual: the pump from the front, with its parts named."""
    drawing, x, ink = Drawing(width, 196), width / 2 - 46, HexColor(0x333333)
    drawing.add(Rect(x, 74, 92, 118, rx=12, fillColor=HexColor(0xF2F0EC), strokeColor=ink, strokeWidth=1.2))
    drawing.add(Rect(x + 8, 4, 76, 70, rx=8, fillColor=HexColor(0xDCE7EE), strokeColor=ink, strokeWidth=1.2))
    drawing.add(
        Rect(x + 14, 140, 64, 34, rx=3, fillColor=HexColor(0xC9D8C0), strokeColor=ink, strokeWidth=0.8)
    )
    drawing.add(word(x + 46, 160, "RATE 2.0 ml/h"))
    drawing.add(word(x + 46, 148, "LEFT 31.5 ml"))
    drawing.add(word(x + 46, 36, "50 ml", size=9))
    drawing.add(Circle(x + 46, 183, 3, fillColor=HexColor(0x3C9A45), strokeColor=ink, strokeWidth=0.6))
    keys = (("STOP", 26, 124), ("PRIME", 66, 124), ("+", 26, 106), ("-", 66, 106))
    for name, dx, y in keys:
        drawing.add(Rect(x + dx - 14, y - 7, 28, 13, rx=3, fillColor=white, strokeColor=ink, strokeWidth=0.8))
        drawing.add(word(x + dx, y - 3, name, size=6.4))
    drawing.add(Circle(x + 46, 87, 8, fillColor=HexColor(0xE3B23C), strokeColor=ink, strokeWidth=0.8))
    for dx in (2, 82):
        drawing.add(Rect(x + dx, 68, 8, 12, fillColor=ink, strokeColor=None))
    right = (
        ("Light", 183, 49),
        ("Display", 157, 78),
        ("Start the flow to fill the line", 124, 80),
        ("Lower", 106, 80),
    )
    left = (
        ("Stop, or silence the alarm", 124, 12),
        ("Raise", 106, 12),
        ("Extra dose", 87, 38),
        ("Catch", 73, 2),
    )
    for text, y, dx in right:
        drawing.add(Line(x + dx, y, x + 112, y, strokeColor=black, strokeWidth=0.5))
        drawing.add(word(x + 115, y - 2.4, text, "start"))
    for text, y, dx in left:
        drawing.add(Line(x + dx, y, x - 20, y, strokeColor=black, strokeWidth=0.5))
        drawing.add(word(x - 23, y - 2.4, text, "end"))
    drawing.add(Line(x + 84, 36, x + 112, 36, strokeColor=black, strokeWidth=0.5))
    drawing.add(word(x + 115, 33.6, "Reservoir", "start"))
    return drawing


def fluidpath(width: float) -> Drawing:
    """Pump manual: the way of the liquid."""
    xs = [39 + (width - 78) / 3 * number for number in range(4)]
    boxes = {
        "reservoir": Box(xs[0], 128, 76, 30, ("Reservoir", "soft bag, 50 ml")),
        "inlet": Box(xs[1], 128, 76, 30, ("Inlet valve",)),
        "piston": Box(xs[2], 128, 76, 30, ("Piston", "8.5 microlitres")),
        "outlet": Box(xs[3], 128, 76, 30, ("Outlet valve",)),
        "relief": Box(xs[1], 76, 84, 30, ("Relief valve", "opens at 130 kPa")),
        "sensor": Box(xs[3], 22, 76, 30, ("Pressure sensor",)),
        "filter": Box(xs[2], 22, 76, 30, ("Filter FD-3", "25 mm")),
        "air": Box(xs[1], 22, 76, 30, ("Air detector", "ultrasonic")),
        "patient": Box(xs[0], 22, 76, 30, ("Line to patient",)),
    }
    corner = boxes["sensor"].side("nw")[0]
    arrows = [
        Arrow("reservoir.e", "inlet.w"),
        Arrow("inlet.e", "piston.w"),
        Arrow("piston.e", "outlet.w"),
        Arrow("outlet.s", "sensor.n"),
        Arrow("sensor.w", "filter.e"),
        Arrow("filter.w", "air.e"),
        Arrow("air.w", "patient.e"),
        Arrow("sensor.nw", "relief.e", "surge only", True, ((corner, 76),)),
        Arrow("relief.w", "reservoir.s", "", True, ((xs[0], 76),)),
    ]
    return diagram(width, 146, boxes, arrows)


def battery(width: float) -> Drawing:
    """Pump manual: running time on one charge."""
    names = ("0.1", "0.5", "2", "5", "10", "20", "48")
    axes = Axes(width, 150, names, range(0, 81, 20), "Set rate (ml/h)", "Hours on one charge")
    return lines(axes, [Series("Running time", (61.5, 54.0, 38.5, 29.0, 21.5, 13.0, 6.5), _ALL)])


def occlusion(width: float) -> Drawing:
    """Pump manual: time to the alarm when the line is blocked."""
    names = ("0.5 ml/h", "2 ml/h", "5 ml/h", "10 ml/h", "48 ml/h")
    axes = Axes(width, 140, names, range(0, 61, 20), "", "Minutes until alarm", bottom=14)
    return bars(axes, [Series("Delay", (52.4, 13.1, 5.2, 2.6, 0.5), _ALL)])


FIGURES: dict[str, Callable[[float], Flowable]] = {
    make.__name__: make
    for make in (
        loop, tension, labour, process, shrinkage, frost, seeing, datapath, fledglings, oversight,
        punctuality, cancellations, front, fluidpath, battery, occlusion, micrograph, console,
    )
}  # fmt: skip
