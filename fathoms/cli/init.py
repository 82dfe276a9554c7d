"""`init`: a project to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of the new project.", show_default=False)
    ],
) -> int:
    """Create a sample project to start from.

    It has a pipeline, a sample PDF with questions, and a README, and can be run as it is. Existing files are
    never overwritten.
    """
    from fathoms.build.project import CONFIG, make_project
    from fathoms.cli.doctor import config_checks

    for path in make_project(folder):
        console.say(str(path))
    missing = [row["detail"] for row in config_checks(folder / CONFIG) if not row["ok"]]
    if missing:
        console.say("\nmissing here:")
    for detail in missing:
        console.say(f"  {detail}")
    console.say("\nnext:")
    if folder.resolve() != Path.cwd().resolve():
        console.say(f"  cd {shlex.quote(str(folder))}")
    console.say(f"  fathoms run {CONFIG}")
    return 0
