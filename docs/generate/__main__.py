"""Writes the part of the reference that the code knows best.

    python docs/generate            write it (`make reference`)
    python docs/generate --check    name what is stale, and end with 1 if anything is

| file | made of |
|---|---|
| `reference/build.md` | the recipe of `fathoms build` |
| `reference/cli.md` | the Typer app |
| `reference/config.md` | the pydantic models of all rooms |
| `reference/exit-codes.md` | `fathoms/errors.py` |
| `reference/files.md`, `schemas/` | the types in `fathoms/types/run` |
| `reference/metrics.md` | the docstrings of `fathoms/metrics` and `fathoms/stats` |
"""

from __future__ import annotations

import sys
from pathlib import Path

from codes import codes_page
from commands import cli_page
from files import files_page
from measures import metrics_page
from schemas import KINDS, schema_text
from settings import build_page, config_page

DOCS = Path(__file__).parent.parent


def pages() -> dict[Path, bytes]:
    """What every generated file has to hold."""
    texts = {
        "build": build_page(),
        "cli": cli_page(),
        "config": config_page(),
        "exit-codes": codes_page(),
        "files": files_page(),
        "metrics": metrics_page(),
    }
    made = {DOCS / "reference" / f"{name}.md": text.encode() for name, text in texts.items()}
    schemas = {DOCS / "schemas" / f"{name}.schema.json": schema_text(name) for name in KINDS}
    return {**made, **schemas}


def main(arguments: list[str]) -> int:
    """Write or check; the exit code."""
    stale = {path: data for path, data in pages().items() if not path.is_file() or path.read_bytes() != data}
    check = arguments == ["--check"]
    for path, data in stale.items():
        print(f"{path.relative_to(DOCS.parent)}: {'stale, run make reference' if check else 'written'}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
