"""The groups in which `--help` lists the options of commands that have many, those that people use first
at the top, and the commands of a group in the order of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand

Groups = Mapping[str, Sequence[str]]

OPTIONS: Mapping[str, Groups] = {
    "run": {
        "What to ask": ("--limit", "--category", "--question", "--repeats"),
        "The pipeline": ("--model", "--set", "--matrix", "--settings", "--prompts", "--retrieval-only"),
        "Before and after": ("--dry-run", "--resume", "--max-cost", "--max-tokens-total", "--trust"),
        "What is printed": ("--all", "--only", "--no-score"),
        "Speed": ("--max-concurrency", "--workers", "--executor"),
        "Files": ("--out", "--no-cache", "--refresh", "--reuse-replies"),
        "Every night": ("--fail-on-error", "--partial", "--comment", "--junit", "--junit-by", "--log-file"),
    },
    "gate": {
        "What is compared": ("--baseline", "--save-baseline", "--last", "--metric", "--rescore", "--changed"),
        "How it is judged": (
            "--preset",
            "--sequential",
            "--acknowledge",
            "--until",
            "--margin",
            "--alpha",
            "--by-category",
            "--strict",
            "--allow-unchecked-judge",
        ),
        "Fixed limits": (
            "--min",
            "--max-rate",
            "--fail-on-error",
            "--max-same",
            "--max-empty",
            "--max-retry-rate",
        ),
        "What is written": ("--all", "--json", "--junit", "--junit-by", "--comment", "--log-file"),
    },
    "report": {
        "What is shown": ("--metric", "--scores", "--by", "--shrink", "--reviews", "--log"),
        "What is written": ("--to", "--thumbnails", "--site", "--intervals", "--radar-scale", "--open"),
        "What is printed": ("--all", "--only", "--json"),
    },
    "agree": {
        "What is measured": ("--judge", "--probe", "--against", "--abstention", "--set"),
        "The labels": ("--sample", "--seed", "--people", "--reviewer"),
        "What is written": ("--plot", "--json"),
    },
    "tune": {
        "The candidates": ("--matrix", "--set", "--model", "--metric", "--profile"),
        "When it ends": ("--within", "--confidence", "--front", "--screen", "--max-cost", "--max-calls"),
        "How it runs": ("--repeats", "--seed", "--max-concurrency", "--workers", "--no-cache"),
        "Earlier runs": ("--replay", "--resume"),
        "What is written": ("--write", "--out", "--json"),
    },
    "set": {
        "What is made": ("--out", "--model", "--n", "--hops", "--modalities", "--unanswerable", "--language"),
        "Before and after": ("--dry-run", "--max-cost", "--resume", "--update", "--redo", "--allow-fewer"),
        "More": ("--set", "--seed", "--workers", "--json"),
    },
}
"""The options of a command by the heading above them; those that no heading names follow under `Other`."""

COMMANDS: Mapping[str, Groups] = {
    "questions": {
        "Begin": ("init", "from-facts", "convert", "check", "stats"),
        "Versions": ("diff", "log"),
        "Mend": ("edit", "inspect", "dedupe", "ambiguity", "filter"),
        "Add": ("label", "nuggets", "facts", "add", "candidates", "perturb"),
    },
}
"""The commands of a group by the heading above them."""


def grouped(names: Sequence[str], groups: Groups) -> list[tuple[str, list[str]]]:
    """Return the headings with those of their names that there are, and `Other` with the rest."""
    listed = {name for found in groups.values() for name in found}
    parts = [(heading, [name for name in found if name in names]) for heading, found in groups.items()]
    parts.append(("Other", [name for name in names if name not in listed]))
    return [(heading, found) for heading, found in parts if found]


class GroupedCommand(TyperCommand):
    """A command whose options are listed under the headings of the table, if it is in it."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and then the options, in the order of the table if the command is in it."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        options: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is None:
                continue
            if parameter.param_type_name == "argument":
                sections["Arguments"].append(record)
            elif self.name in OPTIONS:
                options[max(parameter.opts, key=len)] = record
            else:
                sections.setdefault("Options", []).append(record)
        for heading, names in grouped(list(options), OPTIONS.get(self.name or "", {})):
            sections[heading] = [options[name] for name in names]
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
