"""`fathoms review`: people rate the scores of answers one by one, on a terminal or through a pipe."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import completion, console
from fathoms.cli.options import RUNS, Out, References
from fathoms.errors import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.report.review.sample import Item, Session
    from fathoms.runs.reading import ScoredRun

SCALE = "1 strongly disagree, 2 disagree, 3 neutral, 4 agree, 5 strongly agree"
KEYS = "b back, s skip, c comment (before the last rating), x contexts in full, q quit"
NO_INPUT = (
    "review needs a person to answer, and standard input is closed: run it in a terminal, or give it"
    " a line of standard input for every rating"
)


class QuitError(Exception):
    """The reviewer entered `q` to quit."""


def review(
    runs: References,
    sample: Annotated[int, typer.Option("--sample", min=1, help="How many questions to rate per run.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="The seed of the random sample.")] = 0,
    reviewer: Annotated[
        str | None, typer.Option("--reviewer", help="Your name; by default the login name.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="The file to save the ratings in; by default one in each run's folder."),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            "--scores",
            help="Which scores to rate: paper, released-code, fathoms or released.",
            autocompletion=completion.scores,
        ),
    ] = None,
    out: Out = RUNS,
) -> int:
    """Rate how far you agree with the scores of runs.

    Shows a few random answers of each run, which you rate from 1 to 5. Each rating is saved at once; run the
    same command again to continue.
    """
    from fathoms.report.review.sample import Session, draw
    from fathoms.runs.finding import find_run
    from fathoms.runs.reading import load

    paths = dict.fromkeys(find_run(reference, out).path.resolve() for reference in runs)
    views = [load(path) for path in paths]
    items = [
        item
        for view in views
        for item in draw(view.run, view.profile(scores), view.questions(), sample, seed)
    ]
    if not items:
        raise DataError("there is nothing to rate: these runs hold no answer with a score")
    session = Session(items, _files(views, to), reviewer or _login(), seed)
    return _converse(session)


def _files(views: Sequence[ScoredRun], to: Path | None) -> dict[str, Path]:
    """The file for the ratings of each run, by run id."""
    from fathoms.runs.ratings import FILE

    if to is not None and to.exists() and not to.is_file():
        raise UsageError(f"--to {to}: ratings cannot be saved there: name a regular file")
    return {view.run: to or view.path / FILE for view in views if view.path}


def _login() -> str:
    """The login name, or `reviewer` if the system does not know it."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "reviewer"


def _converse(session: Session) -> int:
    """Ask for ratings until all are given or the reviewer stops; returns the exit code."""
    if session.current is None:
        console.say(_standing(session))
        return ExitCode.OK
    if sys.stdin is None:
        raise UsageError(NO_INPUT)
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    console.say(f"{SCALE}\n{KEYS}")
    code, reader = 0, _Reader()
    try:
        while session.current is not None:
            _ask_about(session, session.current, reader)
    except QuitError:
        pass
    except EOFError:
        code = _ended(reader)
    console.say(f"\n{_standing(session)}")
    return code


def _ended(reader: _Reader) -> int:
    """Exit code at the end of the input: 0 on a terminal (Ctrl-D), 1 for a pipe that ended too early. Raises
    UsageError if there was no input at all."""
    if sys.stdin.isatty():
        return ExitCode.OK
    if not reader.lines:
        raise UsageError(NO_INPUT)
    console.complain("the input ended before every answer was rated")
    return ExitCode.FAILED


def _standing(session: Session) -> str:
    """The sentence that says how many answers are rated."""
    skipped = f", {len(session.skipped)} skipped" if session.skipped else ""
    left = len(session.items) - session.rated
    more = "; run the same command again to continue" if left else ""
    return f"{session.rated} of {len(session.items)} answers rated{skipped}{more}"


class _Reader:
    """Reads lines from stdin, and counts them."""

    def __init__(self) -> None:
        self.lines = 0

    def read(self, prompt: str) -> str:
        """Prompt for a line, and return it stripped. Raises EOFError at the end of the input."""
        print(prompt, end="> ", flush=True)
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        self.lines += 1
        if not sys.stdin.isatty():
            print()  # on a terminal, pressing Enter ends the line of the prompt
        return line.strip()


def _ask_about(session: Session, item: Item, reader: _Reader) -> None:
    """Show an item, and read its ratings, or a command to leave it."""
    from fathoms.report.review.answer import review_panel

    place = f"{session.position + 1} of {len(session.items)}"
    console.show(*review_panel(place, item.question, item.repeat, item.scores, session.before))
    comment = session.before.comment if session.before else None
    ratings: dict[str, int] = {}
    for what, applies in zip(("score", "flag"), item.rateable, strict=True):
        while applies and what not in ratings:
            word = reader.read(f"agree with the {what}, 1-5")
            if word in ("1", "2", "3", "4", "5"):
                ratings[what] = int(word)
            elif word == "c":
                comment = reader.read("comment") or None
            elif _leave(session, item, word):
                return
    session.rate(ratings.get("score"), ratings.get("flag"), comment)


def _leave(session: Session, item: Item, word: str) -> bool:
    """Execute a word that is not a rating; returns whether to leave the item. Raises QuitError for `q`."""
    from fathoms.report.review.answer import context_panel

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
        console.show(*context_panel(item.repeat))
    else:
        console.say(f"{SCALE}\n{KEYS}")
    return False
