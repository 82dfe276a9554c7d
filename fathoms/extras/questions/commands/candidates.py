"""`fathoms questions candidates`: give questions candidate quotes to choose from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import load
from fathoms.cli.options import Json, NewFile
from fathoms.errors import ExitCode, UsageError, some_of


def candidates(
    config: Annotated[
        Path,
        typer.Argument(
            help="The YAML file of a pipeline: its data, and the retriever that finds candidates.",
            show_default=False,
        ),
    ],
    to: NewFile,
    number: Annotated[int, typer.Option("-n", "--number", min=1, max=1000, help="Quotes per question.")] = 20,
    pictures: Annotated[
        int | None,
        typer.Option(
            "--pictures",
            min=0,
            help="How many of them are pictures.",
            show_default="5 of 15, 8 of 20, or else two fifths",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides the places of the quotes.")] = 0,
    as_json: Json = False,
) -> int:
    """Add candidate quotes to questions: the gold, and what is most like it and is not gold.

    The candidates are what the retriever of the config ranks highest, without anything else on gold pages.
    Pictures are among them if the config has 'pictures', or retrieve: {kind: visual, units: figures}; they
    are copied into a folder beside the new file. Ends with exit code 1 if an answerable question has no gold
    quote.
    """
    from fathoms.corpora import refuse_existing, write_questions
    from fathoms.corpora.questions import format_of
    from fathoms.experiment import SearchExperiment
    from fathoms.extras.questions.candidates import Sizes, with_copied_pictures
    from fathoms.extras.questions.candidates import candidates as find
    from fathoms.models import ScriptedModel
    from fathoms.pipeline.pipeline import Pipeline, Stages

    sizes = Sizes.of(number, pictures)
    if not to.parent.is_dir():
        raise UsageError(f"{to.parent} is no folder: make it first")
    format_of(to)
    refuse_existing(to)
    experiment, corpus = load(config, (), retrieval_only=True)
    assert isinstance(experiment, SearchExperiment)
    experiment.check()
    cut = experiment.pictures and experiment.pictures.model_copy(update={"show": "images"})
    stages = {name: getattr(experiment, name) for name in Stages.model_fields}
    pipeline = Pipeline(**{**stages, "pictures": cut, "generate": ScriptedModel()})
    described = cut is not None and cut.words == "description"
    with opened() as cache, progress.bars() as bars:
        ready = pipeline.prepare(corpus.documents, cache, workers=os.cpu_count() or 1, progress=bars.stage)
        results = find(ready.index, ready.retriever, corpus.select(), sizes, seed, described=described)
    origin = {"candidates": number, "candidates_seed": seed}
    drawn = [
        one.question.model_copy(update={"metadata": {**one.question.metadata, **origin}}) for one in results
    ]
    questions = with_copied_pictures(drawn, to)
    write_questions(to, questions)
    quotes = [quote for question in questions for quote in question.quotes]
    lacking = [one.id for one in questions if one.answerable and not any(quote.gold for quote in one.quotes)]
    figures: dict[str, int] = {
        "questions": len(questions),
        "seed": seed,
        "quotes": len(quotes),
        "gold": sum(quote.gold for quote in quotes),
        "pictures": sum(quote.modality == "image" for quote in quotes),
        "guessed": sum(one.guessed for one in results),
        "short": sum(len(question.quotes) < number for question in questions),
        "wordless": sum(not (quote.text or quote.description).strip() for quote in quotes),
        "pages_without_gold": sum(one.without for one in results),
    }
    if as_json:
        console.show_json({**figures, "without_gold": lacking})
    else:
        _tell(to, figures, number)
    if lacking:
        console.complain(
            f"no gold quote for {console.amount(len(lacking), 'answerable question')}: {some_of(lacking)}"
        )
    return ExitCode.FAILED if lacking else ExitCode.OK


def _tell(to: Path, figures: Mapping[str, int], number: int) -> None:
    """Print how many quotes the questions have, and what the user should look at."""
    console.say(
        f"{to}: {console.amount(figures['questions'], 'question')} with"
        f" {console.amount(figures['quotes'], 'quote')}, {figures['gold']} gold and"
        f" {console.amount(figures['pictures'], 'picture')}"
        f"; places drawn by seed {figures['seed']}"
    )
    if figures["guessed"]:
        console.note(
            f"note: for {console.amount(figures['guessed'], 'gold page')} the evidence names only the page:"
            " the quote on it that is most like the question counts as gold, so check it"
        )
    if figures["short"]:
        console.note(
            f"note: {console.amount(figures['short'], 'question')} with fewer than {number} quotes: the"
            " retriever finds no more of each kind that are not on gold pages"
        )
    if figures["pages_without_gold"]:
        console.note(
            f"note: for {figures['pages_without_gold']} pieces of evidence the retriever found nothing on"
            " their pages, so that their questions lack a gold quote: look through them"
        )
    if figures["wordless"]:
        console.note(
            f"note: {console.amount(figures['wordless'], 'picture')} without words, which only a model that"
            " sees can use: set pictures.words: description"
        )
