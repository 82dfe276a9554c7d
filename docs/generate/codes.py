"""Exit codes, and the errors that end a command with them."""

from __future__ import annotations

from collections.abc import Iterator

from texts import MADE, code, join, plain, table

from fathoms.cli.gate import FAILED, UNDECIDED
from fathoms.errors import FathomsError

CODES = {
    0: "all well",
    1: "something failed: a document, a model, a file; or more questions failed than `--fail-on-error` allows"
    " (a count or a share such as `2%`; by default none may)",
    2: "the call or the configuration cannot work, or something that it needs is not there",
    3: "stopped by its budget (`--max-cost`, `--max-tokens-total`); `run --resume` goes on",
    100: "a gate failed: the runs are worse than the baseline",
    101: "a gate is undecided, under `--strict` (without it: 0 and a warning)",
    130: "interrupted: what was in flight was finished and kept, and the rest is not there",
}
MORE_CODES = {"run": (3,), "reproduce": (3,), "gate": (FAILED, UNDECIDED)}
"""Commands that end with more than 0, 1, 2 and 130."""


def codes_page() -> str:
    """Every exit code, and the errors that end a command with it."""
    rows = [(str(code), what) for code, what in CODES.items()]
    errors = [
        (code(error.__name__), str(error.exit_code), _first(error.__doc__)) for error in _below(FathomsError)
    ]
    note = (
        "The errors of `fathoms.errors` are exceptions in Python. On the command line, they end the command"
        " with a message and this exit code. An error of a single question does not end a run; it is"
        " recorded."
    )
    parts = ["# Exit codes", MADE, table(("code", "meaning"), rows), "## Errors", note]
    return join([*parts, table(("error", "code", "what"), errors)])


def _below(error: type[FathomsError]) -> Iterator[type[FathomsError]]:
    """An error and all that are of its kind, as the tree has them."""
    yield error
    for child in error.__subclasses__():
        if child.__module__ == FathomsError.__module__:
            yield from _below(child)


def _first(text: str | None) -> str:
    """The first paragraph of a docstring."""
    return plain(text).split("\n\n")[0]
