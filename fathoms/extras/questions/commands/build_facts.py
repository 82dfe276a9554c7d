"""`fathoms build facts`: a table of facts that a model extracts from documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console, progress
from fathoms.cli.cache import opened
from fathoms.cli.loading import CORES, Workers
from fathoms.cli.options import Json
from fathoms.errors import DataError, ExitCode
from fathoms.extras.questions.commands.build_set import (
    MaxCost,
    Model,
    Redo,
    Resume,
    Settings,
    Sources,
    going_on,
    journal_of,
    recipe_of,
    require_possible,
    require_stages,
)


def build_facts(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="The CSV file to create; replies are kept in NAME.build beside it.",
            show_default=False,
        ),
    ],
    sources: Sources = None,
    model: Model = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            help="A field to extract, such as 'rated flow' (repeatable); else the model proposes some.",
        ),
    ] = None,
    settings: Settings = None,
    resume: Resume = False,
    redo: Redo = None,
    max_cost: MaxCost = None,
    workers: Workers = CORES,
    as_json: Json = False,
) -> int:
    """Extract a table of what documents say ('questions facts' drafts facts that a good answer states).

    For each document, the table has the values of fields with their pages.

    The model reads each document, and the judge (by default the same model) reads it again without seeing
    what was found. Where they do not agree, the column `check` says so, and no question is made of the
    value until a person mends it: correct the value, and empty the cell. 'fathoms questions from-facts' then
    makes questions. Ends with exit code 1 if a document could not be read, or a call to a model failed.
    """
    from fathoms.corpora import write_new
    from fathoms.extras.questions.computed.extracting import extract, propose
    from fathoms.extras.questions.computed.table import written_facts
    from fathoms.extras.questions.making.maker import asker_for
    from fathoms.extras.questions.parsing import read_documents

    if out.suffix.lower() != ".csv":
        raise DataError(f"{out}: a table of facts is a .csv file")
    require_stages(redo or (), possible=resume)
    require_possible(out, resume=resume, update=False)
    recipe, paths = recipe_of(sources or (), model, settings or ())
    for one in (recipe.model, recipe.judge or recipe.model):
        one.check()
    with opened() as cache, progress.bars() as bars:
        read = read_documents(paths, recipe.ingest, cache, workers=workers, progress=bars.stage)
        for name, why in read.failures.items():
            console.note(f"note: left out {name}: {why}")
        with journal_of(out, max_cost, redo or ()) as journal, going_on(update=False):
            asker = asker_for(recipe, journal, bars.stage)
            documents = list(read.documents.values())
            names = tuple(dict.fromkeys(fields or ())) or propose(documents, asker)
            found = extract(documents, names, asker)
    if not found.facts:
        raise DataError(f"{out} was not written, because no document gives a value for {', '.join(names)}")
    write_new(out, written_facts(found.facts))
    doubtful = sum(bool(fact.check) for fact in found.facts)
    counts = {name: len({fact.document for fact in found.facts if fact.field == name}) for name in names}
    silent = sorted(read.documents.keys() - {fact.document for fact in found.facts} - found.unread.keys())
    if as_json:
        summary = {"facts": len(found.facts), "in_doubt": doubtful, "fields": counts}
        console.show_json({**summary, "unread": {**read.failures, **found.unread}, "without_facts": silent})
    else:
        for name, number in counts.items():
            console.say(f"  {name}: {number} of {console.amount(len(read.documents), 'document')}")
        console.say(f"{out}: {console.amount(len(found.facts), 'fact')}, {doubtful} in doubt (column check)")
    for name in silent:
        console.note(f"note: {name} has none of these facts")
    for name, why in found.unread.items():
        console.complain(f"{name} was not read: {why}")
    for why, number in journal.failed.items():
        console.complain(f"{console.amount(number, 'call')} failed: {why}")
    return ExitCode.FAILED if read.failures or found.unread or journal.failed else ExitCode.OK
