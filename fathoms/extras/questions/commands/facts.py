"""`fathoms questions facts`: facts that a good answer states, drafted from what runs retrieved."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import completion, console, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import RUNS, Out
from fathoms.cli.results import announce
from fathoms.errors import DataError, ExitCode


def facts(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="The runs that are to be compared: paths, ids, `latest` or names.",
            show_default=False,
            autocompletion=completion.run_names,
        ),
    ],
    to: Annotated[
        Path, typer.Option("--to", help="The .json, .jsonl or .csv file to create.", show_default=False)
    ],
    judge: Annotated[
        Path,
        typer.Option(
            "--judge",
            help="A YAML file with a judge, which grades passages and whose model drafts facts.",
            show_default=False,
        ),
    ],
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", help="Stop grading at this cost in US dollars; exit code 3."),
    ] = None,
    out: Out = RUNS,
) -> int:
    """Draft facts that a good answer states ('build facts' makes a table of what documents say).

    No gold answers are needed.

    They come from the passages that the runs retrieved and that the judge grades 1 or more: at most 30 for
    each question, each vital or okay. Score all runs by them: `fathoms score RUN --questions FILE --metric
    nuggets`. They are marked as drafted: look through them before you rely on them. Ends with exit code 1 if
    a question with such passages got no facts.
    """
    from fathoms.corpora import refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.key_facts import draft_facts, graded_passages
    from fathoms.judges.of_run import Judging, read_judge
    from fathoms.models.caching import ReplyCache
    from fathoms.runs.run import Run

    format_of(to)
    refuse_existing(to)
    by = read_judge(judge)
    found = [Run.open(name, out) for name in runs]
    with opened() as cache, progress.bars() as bars:
        how = Judging(by, max_cost=max_cost, on_done=partial(bars.stage, "grade"), on_forecast=announce)
        questions, passages, unknown = graded_passages(found, by, how)
        wanted = [one for one in questions.values() if not one.facts]
        drafted, without = draft_facts(wanted, passages, by, ReplyCache(cache), partial(bars.stage, "draft"))
    for name, why in without.items():
        console.note(f"note: {name} has no facts: {why}")
    if unknown:
        console.complain(f"{console.amount(unknown, 'passage')} without a grade: the same command asks again")
    bare = sum(name not in passages for name in questions)
    if bare:
        console.note(f"note: {console.amount(bare, 'question')} without a passage of grade 1 or more")
    with_facts = [
        one.model_copy(update={"facts": one.facts or drafted[one.id]})
        for one in questions.values()
        if one.facts or drafted.get(one.id)
    ]
    if not with_facts:
        raise DataError(f"{to} was not written, because no question got facts")
    write_questions(to, with_facts)
    count = sum(len(one.facts) for one in with_facts)
    console.say(f"{to}: {console.amount(count, 'fact')} of {console.amount(len(with_facts), 'question')}")
    return ExitCode.FAILED if without or unknown else ExitCode.OK
