"""Texts whose line ends are joined in time that grows with their length."""

from __future__ import annotations

import pytest

from fathoms.extras.questions.texts import _LINE_END
from tests.hostile.test_hostile_patterns import slow_ones


@pytest.mark.slow
def test_joining_lines_takes_linear_time() -> None:
    assert slow_ones({"line ends": lambda text: _LINE_END.sub(" ", text)}) == []
