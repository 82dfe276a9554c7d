"""What the scripts of the sample data sets share: where they write, and the comparison with what is there."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path


def main(
    build: Callable[[Path], None],
    here: Path,
    description: str | None,
    report: Callable[[Path], Iterable[str]],
    same: Callable[[Path, Path], bool] = lambda made, there: made.read_bytes() == there.read_bytes(),
) -> None:
    """Write what ``build`` makes into a folder and print the lines of ``report``, or with ``--check`` print
    which files there differ from it, and exit with 1 if one does."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, default=here, help="folder of the data set (default: this one)")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if a file on disk differs"
    )
    options = parser.parse_args()
    if not options.check:
        options.out.mkdir(parents=True, exist_ok=True)
        build(options.out)
        print("\n".join(report(options.out)))
        return
    with tempfile.TemporaryDirectory() as fresh:
        build(Path(fresh))
        names = sorted(path.relative_to(fresh) for path in Path(fresh).rglob("*.*") if path.is_file())
        stale = [
            name
            for name in names
            if not (options.out / name).is_file() or not same(Path(fresh, name), options.out / name)
        ]
    print("\n".join(f"differs: {name}" for name in stale) or "all files are as their sources make them")
    sys.exit(bool(stale))
