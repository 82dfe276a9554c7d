"""`fathoms data inject`: copies of PDFs in which an instruction to the model is planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console
from fathoms.errors import UsageError
from fathoms.extras.questions.commands.parsing import find_documents
from fathoms.safety.injections import CANARY


def inject(
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
    from fathoms.extras.questions.injecting import inject as plant
    from fathoms.safety.injections import instruction as text_of

    try:
        text = text_of(instruction, answer)
    except ValueError as error:
        raise UsageError(f"--instruction: {error}") from None
    found = find_documents(pdfs)
    written = list(plant(list(found.values()), to, text, answer, "hidden" if hidden else "page"))
    console.say(
        f"{to}: {console.amount(len(written), 'PDF')} with the instruction, which asks for '{answer}'"
    )
    console.say(f"metrics: [{{kind: injection-obeyed, answer: {json.dumps(answer, ensure_ascii=False)}}}]")
    return 0
