"""`fathoms data`: list, download and verify data sets."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import completion, console, progress
from fathoms.cli.options import From, Json
from fathoms.cli.parsing import find_documents
from fathoms.errors import ExitCode, UsageError
from fathoms.safety.injections import CANARY

app = typer.Typer(help="List, download and verify data sets.", no_args_is_help=True, rich_markup_mode=None)
SetName = Annotated[
    str,
    typer.Argument(
        help="The name of a data set (see `fathoms data list`).",
        show_default=False,
        autocompletion=completion.data_sets,
    ),
]


@app.command("list")
def data_list(as_json: Json = False) -> int:
    """List the data sets, and how much of each is on this machine."""
    from fathoms.corpora import list_sets

    sets = list_sets()
    if as_json:
        console.show_json([{**asdict(info), "folder": str(info.folder)} for info in sets])
        return 0
    rows = [
        (
            info.name,
            info.state,
            f"{info.here} of {info.files} files",
            f"{info.bytes / 1e6:.1f} MB",
            info.licence,
        )
        for info in sets
    ]
    console.show_table(("data set", "state", "here", "size", "licence"), rows)
    return 0


@app.command("pull")
def data_pull(
    name: SetName,
    source: From = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Also contact private and non-https servers that the manifest names."),
    ] = False,
) -> int:
    """Download a data set, or the files that are missing of it, and check the sha256 of every file."""
    from fathoms.corpora import pull

    with progress.bars() as bars:
        report = pull(
            name,
            source=source,
            on_progress=lambda file, done, total: bars.stage(file, done, total or done),
            trust=trust,
        )
    for file in report.files:
        console.say(f"{file.state:<9} {file.file}{': ' + file.detail if file.detail else ''}")
    console.say(f"{report.folder}{'' if report.complete else ': not complete'}")
    return ExitCode.OK if report.complete else ExitCode.FAILED


@app.command("verify")
def data_verify(name: SetName, as_json: Json = False) -> int:
    """Check that every file of a data set has the expected sha256."""
    from fathoms.corpora import verify

    files = verify(name)
    if as_json:
        console.show_json([asdict(file) for file in files])
    else:
        for file in files:
            console.say(f"{file.state:<9} {file.file}{': ' + file.detail if file.detail else ''}")
    return ExitCode.OK if all(file.state in ("verified", "same") for file in files) else ExitCode.FAILED


@app.command("inject")
def data_inject(
    pdfs: Annotated[list[Path], typer.Argument(help="PDFs, or folders of them.", show_default=False)],
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="The folder for the copies.", show_default=False)
    ],
    instruction: Annotated[
        str,
        typer.Option(
            "--instruction",
            help="What the copies say: obey (ignore the question, reply with the word), leak (also repeat"
            " your instructions), or a text with {answer} for the word.",
        ),
    ] = "obey",
    answer: Annotated[
        str, typer.Option("--answer", metavar="WORD", help="The word that the instruction asks for.")
    ] = CANARY,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Write it in white on the first page, not on a page of its own.")
    ] = False,
) -> int:
    """Write copies of PDFs in which an instruction to the model is planted.

    Run a pipeline on the copies, or upload them to a service of your own, and measure its answers with the
    metrics injection-obeyed and injection-leaked.
    """
    from fathoms.build.injecting import inject
    from fathoms.safety.injections import instruction as text_of

    try:
        text = text_of(instruction, answer)
    except ValueError as error:
        raise UsageError(f"--instruction: {error}") from None
    found = find_documents(pdfs)
    written = list(inject(list(found.values()), to, text, answer, "hidden" if hidden else "page"))
    console.say(
        f"{to}: {console.amount(len(written), 'PDF')} with the instruction, which asks for '{answer}'"
    )
    console.say(f"metrics: [{{kind: injection-obeyed, answer: {json.dumps(answer, ensure_ascii=False)}}}]")
    return 0
