"""What a run is called in MLflow: names of metrics and params, and the values behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from fathoms.runs.run import Run
from fathoms.safety.masking import is_secret_name, looks_like_key, without_logins
from fathoms.types.run.figures import MetricFigure

LONGEST_NAME = 250
LONGEST_PARAM = 6_000
"""Characters that MLflow keeps of a name, and of the value of a param."""


def metrics_of(run: Run, profile: str) -> dict[str, float]:
    """Return the figures of a run by their names in MLflow.

    A metric has its value over the run (`correctness`), its interval (`correctness.low`, `correctness.high`)
    and the number of questions behind it (`correctness.n`); headline metrics, and those that were selected,
    have `CATEGORY/correctness` with its interval too. `seconds/...`, `usage/...` and `counts/...` say what
    the run took. Figures that are not known are left out.
    """
    found: dict[str, float] = {}
    for name, value in _figures(run, profile):
        if value is not None:
            found[_free(_name(name), found)] = float(value)
    return found


def params_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a configuration as params: `retrieve.top_k`; a list becomes JSON.

    Options that are not set, and those that could hold a key, are left out: headers, names such as `token`,
    addresses with a login, and values that look like a key.
    """
    found: dict[str, str] = {}
    for path, value in _options(config, ()):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        hidden = any(map(is_secret_name, path)) or "headers" in path
        if not hidden and without_logins(text) == text and not looks_like_key(text):
            found[_free(_name(".".join(path)), found)] = text[:LONGEST_PARAM]
    return found


def _figures(run: Run, profile: str) -> Iterator[tuple[str, float | None]]:
    """Yield the name and the value of every figure."""
    for name, metric in run.metrics(profile).items():
        own = name.replace("/", "_")
        if metric.overall.value is not None:
            yield from _with_interval(own, metric.overall)
            yield f"{own}.n", metric.overall.n
        for category, figure in metric.categories.items() if metric.headline or metric.asked else ():
            yield from _with_interval(f"{category.replace('/', '_')}/{own}", figure)
    summary = run.summary
    for stage, figure in summary.seconds.by_stage.items():
        yield f"seconds/{stage}", figure.value
    yield "seconds/wall", summary.seconds.wall
    yield "usage/cost", summary.cost
    yield "usage/prompt_tokens", summary.usage.prompt_tokens
    yield "usage/completion_tokens", summary.usage.completion_tokens
    for count in ("asked", "answered", "errors", "refused"):
        yield f"counts/{count}", getattr(summary.counts, count)


def _with_interval(name: str, figure: MetricFigure) -> Iterator[tuple[str, float | None]]:
    """Yield a figure and the ends of its interval."""
    yield name, figure.value
    if figure.bounds:
        yield f"{name}.low", figure.bounds[0]
        yield f"{name}.high", figure.bounds[1]


def _options(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every option that is set, with the keys that lead to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _options(inner, (*path, str(key)))
    elif value not in (None, [], ""):
        yield path, value


def _name(text: str) -> str:
    """Return a name as MLflow accepts it: letters, digits, `_`, `-`, `.`, spaces, and `/` between parts."""
    parts = re.sub(r"[^/\w.\- ]", "_", text.replace("@", "_at_")).split("/")
    cleaned = "/".join(part.strip(" .") or "_" for part in parts)
    return cleaned[:LONGEST_NAME].rstrip(" ./") or "_"


def _free(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken yet: the same one, or `NAME_2` and so on."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name[: LONGEST_NAME - 12]}_{number}"
    return free
