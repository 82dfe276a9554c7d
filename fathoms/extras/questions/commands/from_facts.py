"""`fathoms questions from-facts`: questions over many documents, computed from a table of facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console
from fathoms.cli.options import Json
from fathoms.errors import DataError, ExitCode, UsageError, suggest

Facts = Annotated[
    Path,
    typer.Argument(
        metavar="FACTS", help="A CSV file with document, page, field, value (and unit).", show_default=False
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", help="The question file to create (.json, .jsonl, .csv).", show_default=False),
]
Update = Annotated[
    bool,
    typer.Option(
        "--update",
        help="Compute the questions of --out, which is there, once more from the table as it is now.",
    ),
]
About = Annotated[
    str | None,
    typer.Option(
        "--about",
        metavar="FIELD",
        help="The field that says what a document is about, such as station; else questions ask for"
        " documents.",
        show_default=False,
    ),
]
Dated = Annotated[
    str | None,
    typer.Option(
        "--dated",
        metavar="FIELD",
        help="The field with the date of a document: of several on one thing, the latest counts.",
        show_default=False,
    ),
]
N = Annotated[int, typer.Option("--n", min=1, help="How many questions to make.")]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        help="count, list, sum, argmax, compare, changed or contradiction; by default all (repeatable).",
    ),
]
Least = Annotated[int, typer.Option("--least", min=1, help="The fewest documents that an answer rests on.")]
Most = Annotated[
    int | None, typer.Option("--most", min=1, help="The most documents that an answer rests on.")
]
Seed = Annotated[int, typer.Option("--seed", help="Decides which questions are taken.")]


def from_facts(
    facts: Facts,
    out: Out,
    about: About = None,
    dated: Dated = None,
    n: N = 20,
    rules: Rules = None,
    least: Least = 2,
    most: Most = None,
    seed: Seed = 0,
    update: Update = False,
    as_json: Json = False,
) -> int:
    """Make questions over many documents, with gold answers that are computed from a table of facts.

    No model is asked. Each question has its answer, the pages that it rests on, and in its metadata the rule
    and the rows of the table. None rests on a value in doubt. Ends with exit code 1 if fewer questions follow
    from the table than asked for.

    --update prints which questions of a set have another answer, or none, since the table was mended, and
    writes those that still follow; the last version is kept as NAME.bak. Questions that were not computed
    stay.
    """
    from fathoms.corpora import refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.computed.choosing import choose
    from fathoms.extras.questions.computed.rules import RULES
    from fathoms.extras.questions.computed.table import Table, read_facts

    format_of(out)
    if update:
        return _update(facts, out, as_json=as_json)
    refuse_existing(out)
    for rule in rules or ():
        if rule not in RULES:
            raise UsageError(f"--rule {rule}: there is no such rule{suggest(rule, RULES)}")
    read = read_facts(facts)
    for warning in read.warnings:
        console.note(f"note: {warning}")
    if doubtful := sum(bool(row.check) for row in read.rows):
        console.note(f"note: {console.amount(doubtful, 'value')} in doubt: mend it where `check` says so")
    found = choose(Table(read, about, dated), n, rules or tuple(RULES), seed, least, most)
    if not found.questions:
        raise DataError(
            f"{out} was not written, because no question follows from {facts}: {_why(found.left)}"
        )
    write_questions(out, found.questions)
    by_rule = {rule: sum(one.metadata["rule"] == rule for one in found.questions) for rule in found.possible}
    if as_json:
        console.show_json({"questions": by_rule, "possible": found.possible, "left_out": found.left})
    else:
        console.say(f"{out}: {console.amount(len(found.questions), 'question')}")
        for rule, number in by_rule.items():
            console.say(f"  {number:>4} {rule}, of {found.possible[rule]} that follow from the table")
        for reason, number in found.left.items():
            console.note(f"note: {console.amount(number, 'question')} left out: {reason}")
    if len(found.questions) < n:
        console.complain(
            f"{len(found.questions)} of {console.amount(n, 'question')}: add rows, or lower --least"
        )
        return ExitCode.FAILED
    return ExitCode.OK


def _update(facts: Path, out: Path, *, as_json: bool) -> int:
    """Write the computed questions of a set as they follow from the table now, and print what changed."""
    from fathoms.corpora import read_questions
    from fathoms.corpora.writing import dumped
    from fathoms.extras.questions.computed.choosing import changes_of, compared
    from fathoms.extras.questions.computed.table import read_facts
    from fathoms.extras.questions.editing.written import Target

    target = Target(out, None)
    target.require_writable()
    before = read_questions(out).questions
    found = compared(read_facts(facts), before)
    if not found:
        raise DataError(f"{out} has no question that was computed from a table of facts")
    now = {one.before.id: one.now for one in found}
    changed = changes_of(found)
    after = [question for one in before if (question := now.get(one.id, one)) is not None]
    if not after:
        raise DataError(f"{out} was not written, because none of its questions follows from {facts} any more")
    if after != list(before):
        target.write(dumped(out, after))
    if as_json:
        console.show_json({"computed": len(found), "changed": changed})
        return ExitCode.OK
    for one in changed:
        console.say(f"  {one['id']}: {one['before']} -> {one['now'] or 'does not follow any more, removed'}")
    console.say(f"{out}: of {console.amount(len(found), 'computed question')}, {len(changed)} changed")
    return ExitCode.OK


def _why(left: dict[str, int]) -> str:
    """Say why no question follows from the table."""
    reasons = [f"{reason} ({number})" for reason, number in left.items()]
    return "; ".join(reasons) or "a question needs a field that several documents give alike, or a number"
