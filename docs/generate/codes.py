"""Exit codes, and the errors that end a command with them."""

from __future__ import annotations

from collections.abc import Iterator

from texts import MADE, code, join, plain, table

from fathoms.errors import ExitCode, FathomsError

MORE_CODES = {
    "run": (ExitCode.OVER_BUDGET,),
    "reproduce": (ExitCode.OVER_BUDGET,),
    "gate": (ExitCode.GATE_FAILED, ExitCode.GATE_UNDECIDED),
}
"""The commands that can end with more than 0, 1, 2, 130 and 143."""


def codes_page() -> str:
    """Every exit code, and the errors that end a command with it."""
    rows = [(str(code), code.meaning) for code in ExitCode]
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
