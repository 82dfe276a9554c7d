"""Progress where nobody looks at a terminal."""

from __future__ import annotations

import time

import pytest

from fathoms.cli.console import Bars, settings
from fathoms.runner.runner import Tally

TALLY = Tally("openai https://api.example/v1", done=12, total=50, failed=2, cached=4, cost=0.12)


def test_a_plain_line_says_all_that_a_bar_does(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(plain_seconds=0) as bars:
        bars.stage("parse", 1, 5)
        time.sleep(0.01)
        bars.tally(TALLY)
        time.sleep(0.01)
        bars.tally(TALLY)
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "parse: 1 of 5"
    said = "answer openai https://api.example/v1: 12 of 50, 2 failed, 4 from the cache, $0.12"
    assert second == said
    assert third.startswith(f"{said}, ")
    assert third.endswith(" s left")
    assert "/s, about " in third


def test_one_line_in_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars() as bars:
        for done in range(50):
            bars.stage("parse", done, 50)
    assert capsys.readouterr().err == ""


def test_a_slow_provider_has_its_line_beside_a_quick_one(capsys: pytest.CaptureFixture[str]) -> None:
    with Bars(plain_seconds=0.2) as bars:
        for done in range(30):
            time.sleep(0.01)
            bars.stage("answer quick", done, 50)
            if done % 10 == 5:
                bars.stage("answer slow", done, 50)
        time.sleep(0.1)
        bars.stage("answer quick", 30, 50)
        bars.stage("answer slow", 30, 50)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in said].count("answer slow") >= 1


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    settings.quiet = True
    try:
        with Bars(plain_seconds=0) as bars:
            bars.tally(TALLY)
    finally:
        settings.quiet = False
    assert capsys.readouterr().err == ""
