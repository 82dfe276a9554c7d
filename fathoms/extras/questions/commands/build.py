"""`fathoms build`: make a question set from documents, extract a table of facts, or show a graph.

`fathoms build PDFS` is short for `fathoms build set PDFS`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fathoms.cli import console
from fathoms.cli.help_groups import GroupedCommand
from fathoms.cli.options import Json
from fathoms.errors import ExitCode, UsageError
from fathoms.extras.questions.commands.build_facts import build_facts
from fathoms.extras.questions.commands.build_set import build


class _MakesByDefault(TyperGroup):
    """A group in which everything that does not begin with a command makes a question set."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["set", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options for making a set, and then the commands."""
        self.commands["set"].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


app = typer.Typer(
    cls=_MakesByDefault,
    help="Make a question set from PDFs (fathoms build PDFS), extract a table of facts, or show a graph."
    "\n\nThe options are those for making a set.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
app.command("set", cls=GroupedCommand)(build)
app.command("facts", cls=GroupedCommand)(build_facts)


@app.command("graph")
def graph(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="SET",
            help="The question file that was made with multi-hop questions, or its graph.json.",
            show_default=False,
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option("--html", help="The HTML file to create.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> int:
    """Show the graph of entities and relations that multi-hop questions walk through.

    Prints how large it is, and which entities have the most relations; with --html, writes a page with a
    picture and a table of all relations that can be searched.
    """
    from fathoms.corpora import refuse_existing
    from fathoms.extras.questions.making.drafts import folder_of
    from fathoms.extras.questions.making.graph import DROPPED, FILE, entity_at, load
    from fathoms.extras.questions.making.graph_page import graph_page
    from fathoms.paths import write_atomic

    path = file if file.name == FILE else folder_of(file) / FILE
    if not path.is_file():
        raise UsageError(
            f"there is no graph {path}: a build makes one for questions of several hops (--hops 1,2)"
        )
    if html is not None:
        refuse_existing(html)
    found = load(path)
    degrees = sorted(found.degree(), key=lambda row: (-row[1], row[0]))[:10]
    linking = sum(len(entity_at(found, node).documents) > 1 for node in found)
    most = {entity_at(found, node).names[0]: degree for node, degree in degrees if degree}
    dropped = found.graph.get(DROPPED, {})
    if html is not None:
        write_atomic(html, graph_page(found).encode())
    if as_json:
        figures = {"entities": len(found), "relations": found.number_of_edges(), "linking": linking}
        console.show_json({**figures, "most": most, "dropped": dropped})
        return ExitCode.OK
    relations = console.amount(found.number_of_edges(), "relation")
    noun = "entity" if len(found) == 1 else "entities"
    console.say(f"{len(found)} {noun}, {linking} of them in several documents; {relations}")
    for reason, count in dropped.items():
        console.say(f"  {count:>5} left out: {reason}")
    for name, degree in most.items():
        console.say(f"  {name}: {console.amount(degree, 'relation')}")
    if html is not None:
        console.say(f"wrote {html}")
    return ExitCode.OK
