"""Writes a run as a dataset folder of Hugging Face: Parquet files, and a card that says what they hold."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fathoms.extras.exchange.writing.folders import new_folder
from fathoms.extras.exchange.writing.tables import Table, tables_of
from fathoms.extras.exchange.writing.writing_tables import ParquetFile, columns_of, write_tables
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigure

_TYPES = {"text": "string", "integer": "int64", "number": "float64", "flag": "bool"}
_SPLIT = "test"


def write_hf(run: Run, target: Path, scores: str | None = None) -> list[Path]:
    """Write the tables of a run into a new folder that `datasets.load_dataset` reads, with a card.

    Returns the paths. Raises as `write_parquet` does.
    """
    tables = tables_of(run, scores)
    with new_folder(target) as folder:
        written = write_tables(run, tables, folder, ParquetFile)
        (folder / "README.md").write_text(_card(run, run.profile(scores), written), encoding="utf-8")
    return [target / name for name in ("README.md", *(f"{table.name}.parquet" for table, _ in written))]


def _card(run: Run, profile: str, written: Sequence[tuple[Table, int]]) -> str:
    """Return the text of the card: metadata as YAML, then what a person reads."""
    import yaml

    head = yaml.safe_dump(_metadata(run, written), sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{head}---\n\n" + "\n".join(_body(run, profile, written)) + "\n"


def _metadata(run: Run, written: Sequence[tuple[Table, int]]) -> dict[str, Any]:
    """Return the metadata: a configuration per table, with the types of its columns."""
    return {
        "pretty_name": _plain(run.name),
        "task_categories": ["question-answering"],
        "tags": ["rag", "evaluation", "fathoms"],
        "configs": [
            {
                "config_name": table.name,
                **({"default": True} if number == 0 else {}),
                "data_files": [{"split": _SPLIT, "path": f"{table.name}.parquet"}],
            }
            for number, (table, _) in enumerate(written)
        ],
        "dataset_info": [
            {
                "config_name": table.name,
                "features": [{"name": column.name, "dtype": _TYPES[column.kind]} for column in table.columns],
            }
            for table, _ in written
        ],
    }


def _body(run: Run, profile: str, written: Sequence[tuple[Table, int]]) -> Iterator[str]:
    """Yield the lines of the card that a person reads."""
    data = run.summary.data or run.manifest.data.name
    yield f"# {_cell(run.name)}"
    yield ""
    yield (
        f"Answers of a document-RAG pipeline, measured by fathoms (run"
        f" {_cell(run.original_id)}; model {_cell(run.summary.model or 'not known')};"
        f" questions {_cell(data or 'not known')};"
        f" made {_cell(run.manifest.created or 'at an unknown time')}). Scores are those of the profile"
        f" {_cell(profile)}."
    )
    yield ""
    yield (
        "**License:** none is stated. The tables hold questions, answers and texts of the documents, so it"
        " depends on theirs. Add `license: ...` to the metadata above before you publish this folder."
    )
    yield ""
    yield from ("```python", "from datasets import load_dataset", "")
    for table, count in written:
        yield f'{table.name} = load_dataset("FOLDER", "{table.name}", split="{_SPLIT}")  # {count:,} rows'
    yield from (
        "```",
        "",
        "## Figures",
        "",
        "| metric | value | 95 % interval | questions |",
        "|---|---|---|---|",
    )
    for name, found in run.metrics(profile).items():
        if found.overall.value is not None:
            value, over = f"{found.overall.value:.4g}", found.overall.n
            yield f"| {_cell(name)} | {value} | {_bounds(found.overall)} | {over} |"
    yield from ("", "## Columns", "", "| table | column | type | meaning |", "|---|---|---|---|")
    for row in columns_of(written):
        yield f"| {' | '.join(map(_cell, row))} |"


def _bounds(figure: MetricFigure) -> str:
    """Return the interval of a figure, a hyphen if it has none."""
    return "-" if figure.bounds is None else " to ".join(f"{end:.4g}" for end in figure.bounds)


def _plain(text: str) -> str:
    """Return a text on one line, without characters that do not print."""
    return "".join(character if character.isprintable() else " " for character in text).strip()


def _cell(text: str) -> str:
    """Return a text for a cell of a Markdown table: nothing in it is a link, HTML or the end of the cell."""
    shown = html.escape(_plain(text), quote=False)
    return "".join(f"\\{character}" if character in "\\|[]*" else character for character in shown)
