"""Uses an installed fathoms: commands, a run of the sample corpus with a scripted model, a report, and what
one extra brings.

`noxfile.py` calls it in an empty environment with the name of the extra. It needs no server and no weights,
and prints one line for each step.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

CONFIG = """\
name: smoke
data: sample
chunk: {kind: page}
embed: {kind: lexical}
retrieve: {kind: dense, top_k: 1}
generate: {kind: scripted, echo: true, max_tokens: 200}
scoring: {abstention: {embed: {kind: lexical}}}
"""
COMMANDS = {
    "bm25": ["run smoke.yaml --limit 2 --set retrieve.kind=bm25"],
    "bm25-languages": ["run smoke.yaml --limit 2 --set retrieve.kind=bm25"],
    "closed": ["validate closed.yaml"],
    "dataframe": [],
    "metrics": ["score latest --metric bleu --metric rouge-l"],
    "pymupdf": ["run smoke.yaml --limit 2 --set ingest.kind=pymupdf"],
    "parquet": ["export parquet latest --to tables"],
}
"""What is run with an extra, besides what is run always."""
CLOSED = "name: closed\ndata: sample\ngenerate: {kind: openai, model: gpt-4.1}\n"
NO_MODULE = {"bin", "share", "tests", "test", "docs", "examples", "benchmarks"}


def main(extra: str) -> None:
    """Use the package, and raise where something fails."""
    Path("smoke.yaml").write_text(CONFIG)
    Path("closed.yaml").write_text(CLOSED)
    for command in ("--version", "--help", "run smoke.yaml --limit 2", "report latest", "show latest"):
        fathoms(command)
    import fathoms as package

    assert "site-packages" in str(package.__file__), package.__file__
    if {"torchvision", "easyocr", "bert_score"} & {*sys.modules, *modules(extra)}:
        from fathoms.models.weights.hub import repair_torchvision

        stored = repair_torchvision()  # as fathoms does before it imports them
        print(f"torchvision's operators: {'declared' if stored is not None else 'its own'}")
    for module in modules(extra):
        importlib.import_module(module)
        print(f"import {module}")
    for command in COMMANDS.get(extra, []):
        fathoms(command)
    if extra == "dataframe":
        assert len(package.find("latest").scores()) == 2
    print(f"fathoms[{extra}]: passed" if extra else "fathoms: passed")


def fathoms(arguments: str) -> None:
    """Run a command of the installed script; raises CalledProcessError if it fails."""
    script = Path(sys.executable).with_name("fathoms")
    environment = {
        **os.environ,
        "FATHOMS_CACHE_DIR": str(Path(tempfile.gettempdir()) / "fathoms-smoke-cache"),
    }
    environment.pop("PYTHONPATH", None)  # it may lead to a checkout
    command = [str(script), *arguments.split()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr)
    done.check_returncode()
    print(f"fathoms {arguments}")


def modules(extra: str) -> list[str]:
    """The modules of the packages that an extra names, which must be importable with it alone."""
    found = set()
    for line in metadata.requires("fathoms") or []:
        name = re.match(r"[\w.-]+", line)
        if f"extra == '{extra}'" in line.replace('"', "'") and name and name[0] != "fathoms":
            found.add(name[0].lower().replace("_", "-"))
    homes = {
        module
        for module, dists in metadata.packages_distributions().items()
        if {dist.lower().replace("_", "-") for dist in dists} & found
    }
    return sorted(
        home for home in homes if home.isidentifier() and not home.startswith("_") and home not in NO_MODULE
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
