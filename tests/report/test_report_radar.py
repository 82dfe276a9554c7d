"""Radar plots: the geometry by hand, and what stands in the files."""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import UsageError
from fathoms.report.layout import Box, collide, directions, normalise, place, value_spot
from fathoms.report.leaderboard import leaderboard
from fathoms.report.radar import draw_radar, line_style, make_chart

pytestmark = pytest.mark.slow  # they draw


def svg_texts(path):
    """Everything written in an SVG, in its order."""
    return [element.text for element in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    ("runs", "drawn"),
    [
        ([[0.2, 0.9, None]], [[0.2, 0.9, None]]),
        ([[0.2, 0.5], [0.4, 0.25]], [[0.5, 1.0], [1.0, 0.5]]),
        ([[0.0, 0.0], [0.0, 0.8]], [[0.0, 0.0], [0.0, 1.0]]),
        ([[None, 0.5], [0.3, None]], [[None, 1.0], [1.0, None]]),
        ([[None], [None]], [[None], [None]]),
    ],
    ids=["one run is drawn as it is", "highest is 1", "an axis of zeros", "gaps", "nothing"],
)
def test_normalise(runs, drawn):
    assert normalise(runs) == drawn


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=2, max_size=8))
def test_the_highest_of_each_axis_is_one_or_all_are_zero(runs):
    for raw, drawn in zip(zip(*runs, strict=True), zip(*normalise(runs), strict=True), strict=True):
        assert max(drawn) == (1.0 if max(raw) > 0 else 0.0)


def test_the_first_axis_points_up_and_the_others_follow_the_clock():
    points = [(round(x, 9), round(y, 9)) for x, y in directions(4)]
    assert points == [(0, 1), (1, 0), (0, -1), (-1, 0)]


def test_boxes_meet_only_where_they_overlap():
    assert Box(0, 0, 2, 2).meets(Box(1.9, 0, 2, 2))
    assert not Box(0, 0, 2, 2).meets(Box(2, 0, 2, 2))


@given(st.lists(st.tuples(st.floats(0.3, 2.5), st.floats(0.3, 1.2)), min_size=1, max_size=21))
def test_axis_labels_never_collide_and_stay_outside_the_circle(sizes):
    radius, boxes = place(sizes, gap=0.2)
    assert not collide(boxes)
    for box in boxes:
        nearest = math.hypot(
            max(abs(box.x) - box.width / 2, 0.0),
            max(abs(box.y) - box.height / 2, 0.0),
        )
        assert nearest >= radius * 0.99 or math.isclose(nearest, radius + 0.2)


@pytest.mark.parametrize("axes", range(3, 13))
@pytest.mark.parametrize("sides", [(0,), (-1, 1)], ids=["one run", "two runs"])
def test_figures_of_different_axes_do_not_hide_each_other(axes, sides):
    for reach in (0.0, 0.3, 1.0, 2.3):
        spots = [
            (axis, Box(*value_spot(direction, reach, side, axes), 0.33, 0.14))
            for axis, direction in enumerate(directions(axes))
            for side in sides
        ]
        assert not any(a.meets(b) for (i, a), (j, b) in itertools.combinations(spots, 2) if i != j)


def test_the_raw_values_of_all_eight_runs_are_written(paper_runs, tmp_path):
    png, svg, pdf = draw_radar(paper_runs, "correctness", tmp_path / "radar-correctness", scale="paper")
    assert [path.name for path in (png, svg, pdf)] == [
        f"radar-correctness.{suffix}" for suffix in ("png", "svg", "pdf")
    ]
    assert png.read_bytes().startswith(b"\x89PNG")
    with pdfium.PdfDocument(pdf) as document:
        lines = document[0].get_textpage().get_text_bounded()
    assert "paper; each axis relative to the highest of these runs, figures as measured" in lines
    embedded = [font["/DescendantFonts"][0].get_object()["/FontDescriptor"] for font in fonts_of(pdf)]
    assert [len(one["/FontFile2"].get_data()) < 20_000 for one in embedded] == [True, True]  # cut down
    texts = svg_texts(svg)
    values = [f"{v:.2f}" for run in paper_runs for v in raw_values(run)]
    written = [text for text in texts if re.fullmatch(r"\d\.\d\d", text)]
    assert sorted(written) == sorted(values)
    assert {"Correctness", "Overall", "Tables", "gpt_4_1 closed", "100 %"} <= set(texts)


def test_axes_go_from_0_to_1_unless_the_paper_s_scale_is_asked_for(paper_runs):
    """By hand: the first run is drawn at its own values, and on the paper's scale some run reaches 1."""
    table = leaderboard(paper_runs, None)
    plain, paper = make_chart(table, "correctness"), make_chart(table, "correctness", "paper")
    assert list(plain.drawn) == list(plain.values) == list(paper.values)
    assert [max(axis) for axis in zip(*paper.drawn, strict=True)] == [1.0] * 6
    assert "axes from 0 to 1" in plain.subtitle
    assert "relative to the highest" in paper.subtitle


def fonts_of(pdf):
    """Return the fonts of the first page of a PDF."""
    from pypdf import PdfReader

    return [font.get_object() for font in PdfReader(pdf).pages[0]["/Resources"]["/Font"].values()]


def raw_values(run):
    profile = run.summary_json["profiles"]["paper"]
    return [
        profile["overall"]["correctness"],
        *(cell["correctness"] for cell in profile["categories"].values()),
    ]


def test_one_run_is_drawn_from_0_to_1_with_its_values_at_the_vertices(paper_runs, tmp_path):
    _, svg, _ = draw_radar(paper_runs[:1], "hallucination", tmp_path / "radar")
    texts = svg_texts(svg)
    assert {"0.75", "0.48", "0.85", "0.86", "0.84", "0.70"} <= set(texts)
    assert {"0.50", "1.00", "Hallucination rate (lower is better)"} <= set(texts)
    assert not any("%" in text for text in texts)


def test_a_missing_value_is_said_and_never_drawn_as_0(small_run, tmp_path):
    run = small_run(complete=False, incomplete=["no Images"])
    del run.summary_json["profiles"]["paper"]["categories"]["Images"]
    texts = svg_texts(draw_radar([run], "correctness", tmp_path / "radar")[1])
    assert texts.count("no value") == 1
    assert "0.00" not in texts
    assert "small (a-model) (incomplete)" in texts


def test_the_same_figures_give_the_same_bytes(paper_runs, tmp_path):
    first, second = (draw_radar(paper_runs, "correctness", tmp_path / name) for name in "ab")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert b"<dc:date>" not in first[1].read_bytes()
    assert b"Date" not in first[2].read_bytes()


def test_long_names_keep_what_sets_them_apart(paper_runs, small_run, tmp_path):
    """By hand: of 64 characters the last 32 are kept, and the model is among them."""
    runs = [small_run(name="the same long beginning " * 4 + f"run {n}", model=f"model-{n}") for n in range(8)]
    texts = svg_texts(draw_radar(runs, "correctness", tmp_path / "radar")[1])
    legend = [text for text in texts if text.startswith("the same")]
    assert [text[-15:] for text in legend] == [f"run {n} (model-{n})" for n in range(8)]
    assert all(len(text) <= 64 for text in legend)


def test_every_run_of_eight_has_a_colour_a_marker_and_a_dash_of_its_own():
    styles = [line_style(run) for run in range(8)]
    assert len({style["color"] for style in styles}) == 8
    assert len({style["marker"] for style in styles}) == 8
    assert len({(str(style["linestyle"]), style["marker"]) for style in styles}) == 8
    for style in styles:  # WCAG 2.2, 1.4.11 asks 3 : 1 of graphics; the markers' dark edge carries the rest
        assert contrast(style["color"]) > 2


def contrast(colour):
    """Contrast of a colour with white, by the formula of WCAG 2.2."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 1.05 / (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05)


def test_hostile_names_are_drawn_as_they_are(small_run, tmp_path):
    names = [
        r"$\frac{1}{0}$",
        "_hidden",
        "<b>&",
        "a\0b\x1b[1m",
        "שלום \u202eevil",
        "名前",
        "W" * 300,
        "\ud800",
    ]
    runs = [small_run(name=name, model=None) for name in names]
    for run in runs:
        figures = run.summary_json["profiles"]["paper"]["categories"]
        run.summary_json["categories"] = ["$x_1$", "</svg>", "_m", "Tables"]
        figures["$x_1$"] = figures["</svg>"] = figures["_m"] = figures["Tables"]
    texts = svg_texts(draw_radar(runs, "correctness", tmp_path / "radar")[1])
    assert {
        r"$\frac{1}{0}$",
        "_hidden",
        "<b>&",
        "ab[1m",
        "שלום evil",
        "名前",
        "$x_1$",
        "</svg>",
        "_m",
    } <= set(texts)


def test_a_run_without_any_figure_has_a_picture(run_of, tmp_path):
    bare = run_of({"run": "r", "name": "n", "profile": "paper", "profiles": {"paper": {}}})
    assert "no value" in svg_texts(draw_radar([bare], "correctness", tmp_path / "radar")[1])


def test_no_run_no_picture(tmp_path):
    with pytest.raises(UsageError):
        draw_radar([], "correctness", tmp_path / "radar")


def test_the_room_is_light_until_it_draws():
    """`fathoms show` took twice the CPU time when a constant of a table was imported from a metric."""
    heavy = {"matplotlib", "numpy", "fathoms.metrics.metric", "fathoms.models", "fathoms.experiment"}
    code = f"import sys, fathoms.report.terminal; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


DRAW = """
import sys, matplotlib
from pathlib import Path
from fathoms.report.radar import Chart, save
settings = lambda: {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}
before = settings()
save(Chart("t", "s", ("a", "b", "c"), ("run",), ((0.5, 0.25, None),)), Path(sys.argv[1]))
assert before == settings()
assert "matplotlib.pyplot" not in sys.modules
print(before["font.size"])
"""


@pytest.mark.slow
def test_drawing_changes_no_global_state_and_ignores_the_users_style(tmp_path):
    for name, style in (("huge", "font.size: 30\nlines.linewidth: 9\n"), ("usual", "font.size: 11\n")):
        (tmp_path / f"{name}rc").write_text(style)
        env = {**os.environ, "MATPLOTLIBRC": str(tmp_path / f"{name}rc")}
        command = [sys.executable, "-c", DRAW, str(tmp_path / name)]
        found = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        assert float(found.stdout) == (30 if name == "huge" else 11)
    assert (tmp_path / "huge.svg").read_bytes() == (tmp_path / "usual.svg").read_bytes()


def test_the_scale_stands_on_white_above_the_curves(paper_runs, tmp_path):
    svg = draw_radar(paper_runs, "correctness", tmp_path / "radar", scale="paper")[1].read_text()
    last_curve = max(place.start() for place in re.finditer(r"stroke-width: 1.8", svg.split("gemma3-1b")[0]))
    assert last_curve < svg.index(">50 %<") < svg.index(">100 %<")
