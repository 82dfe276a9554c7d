"""`fathoms questions perturb`: put questions differently, and keep the variants beside their originals."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.options import NewFile, QuestionFile
from fathoms.errors import DataError, ExitCode, UsageError, suggest


def perturb(
    file: QuestionFile,
    to: NewFile,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            help="What to do to each question (repeatable): typos, wrong-premise, paraphrase, translated.",
            show_default="typos, wrong-premise",
        ),
    ] = None,
    judge: Annotated[
        Path | None,
        typer.Option(
            "--judge",
            help="A YAML file with a judge whose model paraphrases and translates.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[str, typer.Option("--language", help="The language to translate into.")] = "French",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Draws mistakes and wrong premises.")] = 0,
) -> int:
    """Add variants of questions: with typing mistakes, with a wrong premise, in other words, translated.

    They stand in the new file beside their originals, so that one run asks both, and reports compare them
    pair by pair. Says which questions have no variant of a kind, and why; ends with exit code 1 if the model
    could not write one.
    """
    from fathoms.corpora import read_questions, refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.extras.questions.perturbing import BY_MODEL, KINDS
    from fathoms.extras.questions.perturbing import perturb as make
    from fathoms.judges.of_run import read_judge
    from fathoms.models.caching import ReplyCache

    selected = [kind for kind in KINDS if kind in (kinds or ("typos", "wrong-premise"))]
    for kind in kinds or ():
        if kind not in KINDS:
            raise UsageError(f"--kind: there is no '{kind}'{suggest(kind, KINDS)}")
    if judge is None and any(kind in BY_MODEL for kind in selected):
        raise UsageError("a language model paraphrases and translates: add --judge FILE")
    format_of(to)
    refuse_existing(to)
    questions = read_questions(file).questions
    with opened() as cache, progress.bars() as bars:
        found = make(
            questions,
            selected,
            judge=None if judge is None else read_judge(judge),
            language=language,
            seed=seed,
            replies=ReplyCache(cache),
            on_done=partial(bars.stage, "perturb"),
        )
    for (kind, id), why in found.failures.items():
        console.note(f"note: {id} has no variant '{kind}': {why}")
    if found.failures and not found.variants:
        raise DataError(f"{to} was not written, because no question got a variant")
    write_questions(to, [*questions, *found.variants])
    counts = [str(one.metadata["variant"]) for one in found.variants]
    shown = ", ".join(f"{counts.count(kind)} {kind}" for kind in selected)
    console.say(f"{to}: {console.amount(len(questions), 'question')}; {shown}")
    return ExitCode.FAILED if any(kind in BY_MODEL for kind, _ in found.failures) else ExitCode.OK
