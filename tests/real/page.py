"""The last chapter of CONTRIBUTING.md: what was run with the real thing, and what never was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fathoms.cli.verification import Kind
from tests.real.paths import RealPath

HEAD = (
    "## What was run with the real thing",
    "fathoms is developed where neither model hubs nor vendors' APIs can be reached. Its tests run such "
    "kinds with a stand-in: small random weights of the same architectures, servers that check every "
    "request against the types of a vendor's SDK, small files in the format of a data set. This chapter says "
    "which kinds were run with the real thing, with the date and the figures, and which never were. "
    "`fathoms doctor CONFIG` marks the latter.",
    "```text\nmake verify-real\n```",
    "This command runs every path of `tests/real/paths.yaml` whose needs are met, and writes this chapter "
    "and `fathoms/cli/verified.json`. It takes at most ten minutes and spends at most one dollar: a path "
    "that is expected to take more than is left is not started. A path counts only if all its questions "
    "succeeded and its figures are at least what is expected of trained weights; it is otherwise named "
    "with the reason. `python -m tests.real --plan` says what would run, and `--only NAME` runs one path.",
)
"""The paragraphs at the head of the chapter."""


def with_chapter(text: str, paths: Iterable[RealPath], kinds: Mapping[str, Kind]) -> str:
    """Return the text of a page with this chapter, which is its last one."""
    lines = [*(f"{one}\n" for one in HEAD), *_verified(kinds), *_unverified(tuple(paths), kinds)]
    return text.partition(HEAD[0])[0] + "\n".join(lines) + "\n"


def _verified(kinds: Mapping[str, Kind]) -> Iterator[str]:
    yield "### Run\n"
    ran = {name: kind.run for name, kind in kinds.items() if kind.run}
    if not ran:
        yield "Nothing was run yet.\n"
        return
    yield "| kind | model | date | fathoms | seconds | cost | figures |"
    yield "|---|---|---|---|---|---|---|"
    for name, run in ran.items():
        cost = "-" if run.cost is None else f"${run.cost:.4f}"
        figures = ", ".join(f"{key} {value}" for key, value in run.figures.items())
        model = f"`{run.model}`" if run.model else "-"
        yield f"| `{name}` | {model} | {run.date} | {run.version} | {run.seconds:.0f} | {cost} | {figures} |"
    yield ""


def _unverified(paths: tuple[RealPath, ...], kinds: Mapping[str, Kind]) -> Iterator[str]:
    yield "### Never run\n"
    never = {name: kind for name, kind in kinds.items() if kind.run is None}
    if not never:
        yield "Everything was run."
        return
    yield "| kind | never run with | a path needs | expected minutes | expected cost |"
    yield "|---|---|---|---|---|"
    for name, kind in never.items():
        own = [path for path in paths if name in path.verifies]
        needs = "; ".join(dict.fromkeys(_needs(path) for path in own)) or "a path, which nobody wrote yet"
        minutes = ", ".join(f"{path.minutes:g}" for path in own) or "-"
        cost = ", ".join(f"${path.cost:.2f}" for path in own) or "-"
        yield f"| `{name}` | {kind.what} | {needs} | {minutes} | {cost} |"


def _needs(path: RealPath) -> str:
    """Say what a path needs, and which model it runs."""
    needs = [f"`{key}`" for key in path.needs.keys] + (["the hub"] if path.needs.hub else [])
    return f"{' and '.join(needs) or 'nothing'}{f', for `{path.model}`' if path.model else ''}"
