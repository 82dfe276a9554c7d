"""JSON values with something else in some of their places, as no tool writes them."""

from __future__ import annotations

import json
import random
from typing import Any

OTHERS: tuple[Any, ...] = (
    None,
    True,
    3,
    -1,
    1e300,
    "",
    "chat",
    "\ud800",
    '{"a": [',
    "[[]]",
    [],
    {},
    [[None]],
    {"role": []},
)


def spoilt(value: Any, draw: random.Random) -> Any:
    """A copy of a value in which one to six places hold something else."""
    copied = json.loads(json.dumps(value))
    for _ in range(draw.randint(1, 6)):
        where, key = draw.choice(_places(copied))
        where[key] = json.loads(json.dumps(draw.choice(OTHERS)))
    return copied


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every object or list within a value, with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]
