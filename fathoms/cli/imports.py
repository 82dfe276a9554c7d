"""`import`: answers that were made elsewhere become runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console, reading
from fathoms.cli.options import RUNS, Out

if TYPE_CHECKING:
    from fathoms.importers import Imported
    from fathoms.store import Run

app = typer.Typer(help="Make runs of answers from elsewhere.", no_args_is_help=True, rich_markup_mode=None)

Files = Annotated[list[Path], typer.Argument(help="Result files.", show_default=False)]


@app.command("fathoms-rag")
def fathoms_rag(
    files: Files,
    out: Out = RUNS,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="The question set; without it, the files' own.")
    ] = None,
) -> int:
    """Import FATHOMS-RAG's result files.

    Their own scores are kept beside ours: `fathoms report ... --scores released`.
    """
    from fathoms.corpora import read_questions
    from fathoms.importers import read_result_file

    known = read_questions(questions) if questions else None
    imported = [read_result_file(path, known.questions if known else None) for path in files]
    return _keep(imported, "fathoms-rag", out)


@app.command("answers")
def answers(
    file: Annotated[Path, typer.Argument(help="One JSON object a line.", show_default=False)],
    questions: Annotated[Path, typer.Option("--questions", help="The question file they answer.")],
    out: Out = RUNS,
    name: Annotated[str | None, typer.Option("--name", help="What the run is called.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model that answered.")] = None,
) -> int:
    """Import anybody's answers.

    Rows with `id` or `question`, `answer`, and where known `contexts` and `citations`.
    """
    from dataclasses import replace

    from fathoms.corpora import read_questions
    from fathoms.importers import read_answers

    imported = read_answers(file, read_questions(questions).questions)
    return _keep([replace(imported, name=name or imported.name, model=model)], questions.stem, out)


def _keep(imported: list[Imported], data: str, out: Path) -> int:
    """Write the runs, score them and show them; whatever was odd about the files is said."""
    from fathoms import scoring
    from fathoms.importers import keep

    runs: list[Run] = []
    for item in imported:
        for warning in item.warnings:
            console.complain(warning)
        run = keep(item, data, out)
        scoring.score_run(run)
        runs.append(run)
    reading.present(runs, out, each=False)
    return 0
