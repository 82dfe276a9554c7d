"""`fathoms init`: create a sample project."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from fathoms.cli import console
from fathoms.errors import StoreError, UsageError
from fathoms.paths import write_atomic

CONFIG = "first.yaml"
SAMPLE = "lumet-3-pump-manual.pdf"
TEMPLATES = {
    CONFIG: "first.yaml",
    ".env.example": "env.example",
    ".gitignore": "gitignore",
    "README.md": "project.md",
}
"""The files of a project, mapped to the template that each is copied from."""


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of the new project.", show_default=False)
    ],
) -> int:
    """Create a sample project to start from.

    It has a pipeline, a sample PDF with questions, and a README, and can be run as it is. Existing files are
    never overwritten.
    """
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


def make_project(folder: Path) -> list[Path]:
    """Write a project that `fathoms run` can run unchanged, and return its files.

    The folder may exist and hold other files. Raises UsageError if one of the project's own files exists
    already; nothing is written then. Raises StoreError if a file cannot be written; those already written are
    removed.
    """
    contents = project_files()
    there = [name for name in contents if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise UsageError(f"{folder} already contains {', '.join(there)}: name another folder")
    try:
        for name, data in contents.items():
            write_atomic(folder / name, data)
    except OSError as error:
        for name in contents:  # files left behind would make the next attempt fail
            with suppress(OSError):
                (folder / name).unlink()
        raise StoreError(f"{folder} cannot be written: {error.strerror or error}") from error
    return [folder / name for name in contents]


def project_files() -> dict[str, bytes]:
    """Return the contents of a project's files by relative path."""
    from fathoms.corpora import data_dir

    templates = Path(__file__).with_name("templates")
    sample = data_dir() / "sample"
    contents = {name: templates.joinpath(template).read_bytes() for name, template in TEMPLATES.items()}
    questions = json.dumps(questions_on(SAMPLE, sample), indent=2, ensure_ascii=False) + "\n"
    contents["questions.json"] = questions.encode()
    contents[f"pdfs/{SAMPLE}"] = (sample / SAMPLE).read_bytes()
    return contents


def questions_on(document: str, sample: Path) -> dict[str, list[dict[str, object]]]:
    """Return the questions of the sample corpus that are about this document only, by category."""
    whole = json.loads((sample / "questions.json").read_text(encoding="utf-8"))
    selected = {
        category: [item for item in items if item["files"] == [document]] for category, items in whole.items()
    }
    return {category: items for category, items in selected.items() if items}
