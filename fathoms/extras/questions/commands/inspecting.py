"""`fathoms questions inspect`: checklists of a question set, and its screening card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import CountCalls, Json, JudgeFile, QuestionFile, ToFile
from fathoms.errors import DataError, ExitCode, UsageError
from fathoms.extras.questions.commands.parsing import read_any

if TYPE_CHECKING:
    from fathoms.extras.questions.inspecting import Inspected
    from fathoms.judges.judge import Judge
    from fathoms.types import Document, Question


Pdfs = Annotated[
    list[Path] | None,
    typer.Argument(help="The PDFs with the evidence, or folders of them.", show_default=False),
]
Card = Annotated[bool, typer.Option("--card", help="Print the screening card of the set instead.")]
CardOut = Annotated[
    Path | None,
    typer.Option("--card-out", help="The Markdown file to write the card to.", show_default=False),
]
First = Annotated[
    int,
    typer.Option(
        "--first",
        min=1,
        help="The number of pages of a question that the card judges: those that BM25 ranks first.",
    ),
]


def inspect(
    file: QuestionFile,
    judge: JudgeFile,
    pdfs: Pdfs = None,
    to: ToFile = None,
    card: Card = False,
    card_out: CardOut = None,
    first: First = 10,
    dry_run: CountCalls = False,
    as_json: Json = False,
) -> int:
    """Check each question against a checklist, and drop those that fail an item of it.

    A model gives one verdict on each item, with a short reason. Prints the questions that fail, with their
    items; with --to, writes those that pass all of them, with their variants. The screening card counts
    questions that are ambiguous, name their source, have pages with the answer that nobody labelled, or have
    hops that are not linked, and shows what the set covers. Ends with exit code 1 if something could not be
    judged, which is no pass, or a PDF cannot be read.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_new
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.commands.screening import card_markdown, screened, show_card
    from fathoms.extras.questions.making.balance import coverage
    from fathoms.judges.of_run import read_judge
    from fathoms.runs.metadata import originals

    card = card or card_out is not None
    if to is not None:
        if card:
            raise UsageError("--card writes no question file: leave out --to")
        format_of(to)
    for path in (to, card_out):
        if path is not None:
            refuse_existing(path)
    questions = read_questions(file).questions
    own = read_judge(judge)
    documents, unread = _documents(pdfs)
    if dry_run:
        console.say(_planned(questions, documents, first if card else None))
        return ExitCode.FAILED if unread else ExitCode.OK
    if card:
        shares = screened(questions, documents, own, first)
        covers = coverage(originals(questions), documents)
        show_card(shares, covers, as_json, unread)
        if card_out is not None:
            write_new(card_out, card_markdown(file, own.name, shares, covers, first))
        return ExitCode.FAILED if unread or any(one.unknown for one in shares) else ExitCode.OK
    found = _inspect(questions, documents, own)
    if as_json:
        console.show_json({**_json(found), "unread": dict(unread)})
    else:
        _tell(questions, found)
    if to is not None:
        _write(to, questions, found)
    unjudged = any(one.unjudged for one in found.values())
    return ExitCode.FAILED if unjudged or unread else ExitCode.OK


def _documents(pdfs: Sequence[Path] | None) -> tuple[Mapping[str, Document], Mapping[str, str]]:
    """Return the documents that can be read, and why others cannot; raises DataError if none can."""
    if not pdfs:
        return {}, {}
    parsed = read_any(pdfs)
    return parsed.documents, parsed.failures


def _planned(questions: Sequence[Question], documents: Mapping[str, Document], first: int | None) -> str:
    """Say how many calls it takes, and how many tokens of prompts; of a card with `first`."""
    from fathoms.extras.questions.inspecting import plan
    from fathoms.extras.questions.screening import calls
    from fathoms.models.caller import prompt_size

    if first is not None:
        number, tokens = calls(questions, documents, first)
    else:
        planned = plan(questions, documents)
        number = len(planned.calls)
        tokens = sum(prompt_size(planned.prompt(call)) for call in planned.calls)
    return f"{console.amount(number, 'call')}, about {tokens:,} tokens of prompts; nothing was asked"


def _inspect(
    questions: Sequence[Question], documents: Mapping[str, Document], judge: Judge
) -> dict[str, Inspected]:
    """Return the verdicts about the questions."""
    from fathoms.extras.questions.inspecting import inspect as ask
    from fathoms.models.caching import ReplyCache

    with opened() as cache, progress.bars() as bars:
        return ask(questions, documents, judge, ReplyCache(cache), partial(bars.stage, "inspect"))


def _tell(questions: Sequence[Question], found: Mapping[str, Inspected]) -> None:
    """Print the questions that are dropped or not judged, and how many there are of each kind."""
    items: Counter[str] = Counter()
    for one in questions:
        if (said := found.get(one.id)) is None or said.passed:
            continue
        console.say(f"{'-' if said.failed else '?'} {one.id}: {one.text}")
        failed = [check for check in said.checks if not check.passed]
        items.update(check.item for check in failed)
        for check in failed:
            console.say(f"    {check.item}" + (f": {check.reason}" if check.reason else ""))
        for item, why in said.unjudged.items():
            console.say(f"    {item} not judged: {why}")
    passed = sum(said.passed for said in found.values())
    if passed < len(found):
        console.say("- fails an item; ? an item could not be judged, and none failed")
    console.say(f"{passed} of {console.amount(len(found), 'question')} pass all items")
    for item, number in items.most_common():
        console.say(f"  {item}: {number} failed")
    if unjudged := sum(len(said.unjudged) for said in found.values()):
        console.say(f"  {console.amount(unjudged, 'item')} not judged")


def _json(found: Mapping[str, Inspected]) -> dict[str, Any]:
    """Return the same as JSON values."""
    rows = [
        {
            "id": id,
            "passed": said.passed,
            "items": {check.item: {"passed": check.passed, "reason": check.reason} for check in said.checks},
            "not_judged": dict(said.unjudged),
        }
        for id, said in found.items()
    ]
    return {"questions": rows, "passed": sum(said.passed for said in found.values())}


def _write(to: Path, questions: Sequence[Question], found: Mapping[str, Inspected]) -> None:
    """Write the questions that pass, with their variants; raises DataError if none does."""
    from fathoms.corpora import write_questions
    from fathoms.runs.metadata import original_of

    passed = {id for id, said in found.items() if said.passed}
    left = [one for one in questions if original_of(one) in passed]
    if not left:
        raise DataError(f"{to} was not written, because no question is left")
    write_questions(to, left)
    console.note(f"{to}: {console.amount(len(left), 'question')}")
