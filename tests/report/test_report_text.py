"""Hostile and long text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fathoms.report.text import abbreviate, describe, gold, plain, shorten, visible, wrap
from fathoms.types import Question


@pytest.mark.parametrize(
    ("hostile", "safe"),
    [
        ("a\0b", "ab"),
        ("\x1b[31mred\x1b[0m\x9b1m", "[31mred[0m1m"),
        ("two\nlines\r\n\tand  more", "two lines and more"),
        ("abc\u202egnp.exe\u2066x\u2069", "abcgnp.exex"),
        ("lone \ud800 half", "lone half"),
        ("\ufffe\uffffend", "end"),
        ("مرحبا", "مرحبا"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
        ("", ""),
    ],
)
def test_plain(hostile, safe):
    assert plain(hostile) == safe


@pytest.mark.parametrize(
    ("hostile", "seen"),
    [
        ("a\0b", r"a\x00b"),
        ("\x1b[31mred\x9b1m", r"\x1b[31mred\x9b1m"),
        ("two\nlines\r\n\tand  more\r", "two\nlines\n\tand  more\\r"),
        ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
        ("lone \ud800 half", r"lone \ud800 half"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("مرحبا \u0645\u06cc\u200c\u062e", "مرحبا \u0645\u06cc\u200c\u062e"),
    ],
)
def test_visible(hostile, seen):
    assert visible(hostile) == seen


@given(st.text())
def test_visible_changes_nothing_the_second_time(text):
    assert visible(visible(text)) == visible(text)


def test_a_megabyte_is_cut_before_it_is_read():
    assert shorten("x" * 2**20, 10) == "xxxxxxxxx…"
    assert shorten("short", 10) == "short"
    assert cell_len(shorten("名前" * 50, 11)) <= 11


def test_wrap_keeps_to_its_lines():
    assert wrap("Cross-Document Multimodal", 16, 3) == ["Cross-Document", "Multimodal"]
    assert wrap("", 16, 3) == [""]
    lines = wrap("a category of very many words that goes on and on", 10, 2)
    assert len(lines) == 2
    assert lines[-1].endswith("…")


def test_the_papers_categories_are_abbreviated():
    names = ["Text-Only", "Tables", "Images", "Multimodal", "Cross-Document Multimodal"]
    assert abbreviate(names, 10) == ["Text", "Tables", "Images", "Multimodal", "Cross"]


def test_names_with_the_same_first_word_stay_apart():
    assert abbreviate(["Tables, easy", "Tables, hard"], 12) == ["Tables, easy", "Tables, hard"]
    assert abbreviate(["Tables with lines", "Tables with rules"], 8) == ["Tab…ines", "Tab…ules"]
    assert abbreviate(["Tables", "Tables"], 8) == ["Tables", "Tables~2"]


@given(st.lists(st.text(max_size=30), max_size=12))
def test_headers_are_different_and_fit(names):
    headers = abbreviate(names, 10)
    assert len(set(headers)) == len(names)
    assert all(0 < cell_len(header) <= 10 for header in headers)


@pytest.mark.parametrize("first", ["\u0300", "\ufe0f", "\u200d", "\x08"])
def test_text_that_begins_without_width_ends(first):
    # Rich before 14.3.3 never returns from such a text, or raises StopIteration
    assert cell_len(shorten(first + 50 * "a" + "\u200d", 10)) <= 10


@given(st.text(), st.integers(2, 40))
def test_shortened_text_fits(text, width):
    assert cell_len(shorten(text, width)) <= width


def test_gold():
    question = Question(id="q", text="?", category="c")

    def of(**changes):
        return gold(question.model_copy(update=changes))

    assert of(answers=(("red", "blue"), (), ("purple",))) == "red + blue or purple"
    assert of(reference="It is red.") == "It is red."
    assert of(answers=(("x",),), answerable=False) == "(not answerable from the documents)"
    assert of() == ""


def test_describe():
    options = {"kind": "nn", "exemplars": None, "embed": {"kind": "lexical"}, "least_cosine": 0.3}
    assert describe(options) == "nn (embed lexical, least_cosine 0.3)"
    assert [describe(value) for value in (None, "word", {}, {"a": 1})] == ["n/a", "word", "", "a 1"]
