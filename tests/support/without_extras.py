"""A copy of the checkout without `fathoms/extras/`; run as a program, it runs the core's quick tests there.

`make core` calls it with arguments for pytest. Documents and benchmarks are about the whole of fathoms: their
tests are left out, as those of the extras are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_OF_THE_CORE = {
    ROOT / "fathoms/extras",
    *(ROOT / "tests" / name for name in ("extras", "docs", "benchmarks")),
}


def copied(to: Path, *folders: str) -> Path:
    """Copy folders without what is not of the core, and link everything else; returns `to`."""
    to.mkdir(exist_ok=True)
    for path in ROOT.iterdir():
        if path.name in folders:
            shutil.copytree(path, to / path.name, ignore=_unwanted)
        elif path.name == ".github" or not path.name.startswith("."):
            (to / path.name).symlink_to(path)
    return to


def _unwanted(folder: str, names: list[str]) -> set[str]:
    """Return which of the names in a folder are not copied."""
    return {name for name in names if name == "__pycache__" or Path(folder, name) in NOT_OF_THE_CORE}


def main(arguments: list[str]) -> int:
    """Run the quick tests of the core on a copy without extras; returns the exit code of pytest."""
    with tempfile.TemporaryDirectory(prefix="fathoms-core-") as folder:
        copy = copied(Path(folder), "fathoms", "tests")
        texts = ["-m", "not slow and not long"]
        return subprocess.run(
            [sys.executable, "-m", "pytest", *texts, "-p", "no:cacheprovider", *arguments],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "FATHOMS_SHARED": str(ROOT.parent / "shared")},
        ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
