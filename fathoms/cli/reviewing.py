"""The conversation of a review: reading lines from a person, on a terminal or through a pipe."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from fathoms.cli import console
from fathoms.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from fathoms.cli.asking import Progress, Review

KEYS = "b back, s skip, c comment (before the last rating), x contexts in full, q quit"
NO_INPUT = (
    "review needs a person to answer, and standard input is closed: run it in a terminal, or give it"
    " a line of standard input for every rating"
)


class QuitError(Exception):
    """The reviewer entered `q` to quit."""


class Reader:
    """Reads lines from stdin, and counts them."""

    def __init__(self) -> None:
        self.lines = 0

    def read(self, prompt: str) -> str:
        """Prompt for a line, and return it stripped. Raises EOFError at the end of the input."""
        print(console.clean(prompt), end="> ", flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        self.lines += 1
        if not sys.stdin.isatty():
            print()  # on a terminal, pressing Enter ends the line of the prompt
        return line.strip()


def converse(session: Progress[Any, Any], legend: str, ask: Callable[[Reader], None], noun: str) -> int:
    """Call `ask` for each item until all are done or the reviewer stops; returns the exit code. `noun` names
    the items."""
    if session.current is None:
        console.say(_standing(session, noun))
        return ExitCode.OK
    if sys.stdin is None:
        raise UsageError(NO_INPUT)
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    console.say(f"{legend}\n{KEYS}")
    code, reader = 0, Reader()
    try:
        while session.current is not None:
            ask(reader)
    except QuitError:
        pass
    except EOFError:
        code = _ended(reader, noun)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    console.say(f"\n{_standing(session, noun)}")
    return code


def ask_once(review: Review[Any, Any, Any], reader: Reader) -> None:
    """Show the current item of a review, and read what the reviewer says of it, or a command to leave it."""
    item = review.items[review.position]
    console.show(*review.panel(item, f"{review.position + 1} of {len(review.items)}"))
    comment = review.before.comment if review.before else None
    while True:
        word = reader.read(review.prompt(item))
        value = review.read(item, word)
        if value is not None:
            review.say(value, comment)
            return
        if word == "c":
            comment = reader.read("comment") or None
        elif leaves(review, word, review.legend, lambda: review.more(item)):
            return


def leaves(
    session: Progress[Any, Any], word: str, legend: str, more: Callable[[], Sequence[RenderableType]]
) -> bool:
    """Execute a word that says nothing of the item; returns whether to leave it. `more` shows its sources in
    full. Raises QuitError for `q`."""
    if word == "q":
        raise QuitError
    if word == "s":
        session.skip()
        return True
    if word == "b":
        if session.back():
            return True
        console.say("this is the first")
    elif word == "x":
        console.show(*more())
    else:
        console.say(f"{legend}\n{KEYS}")
    return False


def _ended(reader: Reader, noun: str) -> int:
    """Exit code at the end of the input: 0 on a terminal (Ctrl-D), 1 for a pipe that ended too early. Raises
    UsageError if there was no input at all."""
    if sys.stdin.isatty():
        return ExitCode.OK
    if not reader.lines:
        raise UsageError(NO_INPUT)
    console.complain(
        f"the input ended before {'every answer was' if noun == 'answers' else 'all were'} rated"
    )
    return ExitCode.FAILED


def _standing(session: Progress[Any, Any], noun: str) -> str:
    """The sentence that says how many items are rated."""
    skipped = f", {len(session.skipped)} skipped" if session.skipped else ""
    left = len(session.items) - session.rated
    more = "; run the same command again to continue" if left else ""
    return f"{session.rated} of {len(session.items)} {noun} rated{skipped}{more}"


def login() -> str:
    """The login name, or `reviewer` if the system does not know it."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "reviewer"
