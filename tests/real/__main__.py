"""`python -m tests.real`: run the paths whose needs are met, and write down which ran."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from fathoms import __version__
from fathoms.cli.verification import FILE, Kind, RealRun, read_verified
from tests.real.page import with_chapter
from tests.real.paths import LIST, RealPath, lacking, read_paths
from tests.real.running import PathError, run_path

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
DOLLAR = 1.0
MINUTES = 10.0


def arguments() -> argparse.ArgumentParser:
    """The options; those for files are for tests."""
    parser = argparse.ArgumentParser(prog="python -m tests.real", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run only these paths")
    parser.add_argument("--plan", action="store_true", help="say what would run, and end")
    parser.add_argument("--max-cost", type=float, default=DOLLAR, help="dollars, at most 1 (the default)")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="at most 10 (the default)")
    parser.add_argument("--paths", type=Path, default=LIST, help="another list of paths")
    parser.add_argument("--record", type=Path, default=FILE, help="another file for what was run")
    parser.add_argument("--page", type=Path, default=PAGE, help="another page")
    return parser


def main(words: list[str] | None = None) -> int:
    """Run the paths in the order of the list; the exit code is 1 if one did not run as expected."""
    parser = arguments()
    options = parser.parse_args(words)
    if not 0 <= options.max_cost <= DOLLAR or not 0 < options.minutes <= MINUTES:
        parser.error(f"--max-cost is at most {DOLLAR:g} dollar and --minutes at most {MINUTES:g}")
    paths, kinds = read_paths(options.paths), dict(read_verified(options.record))
    chosen = [path for path in paths if not options.only or path.name in options.only]
    if missing := set(options.only or ()) - {path.name for path in paths}:
        parser.error(f"there is no path {', '.join(sorted(missing))}: {', '.join(p.name for p in paths)}")
    if unknown := {name for path in paths for name in path.verifies} - set(kinds):
        parser.error(f"{options.record} lists no {', '.join(sorted(unknown))}")
    started, spent, failed = time.monotonic(), 0.0, False
    for path in chosen:
        left = 60 * options.minutes - (time.monotonic() - started)
        if reason := _obstacle(path, options.max_cost - spent, left):
            print(f"left out  {path.name}: {reason}", flush=True)
        elif options.plan:
            print(f"would run {path.name}: {path.minutes:g} minutes, ${path.cost:.2f}", flush=True)
            spent += path.cost
        else:
            try:
                outcome = run_path(path, options.max_cost - spent, left)
            except PathError as error:
                failed = True
                spent += path.cost  # what it was charged for is not known
                print(f"FAILED    {path.name}: {error}", flush=True)
                continue
            spent += outcome.cost or 0.0
            run = RealRun(
                path=path.name,
                model=path.model,
                date=f"{datetime.now(UTC):%Y-%m-%d}",
                version=__version__,
                seconds=outcome.seconds,
                cost=outcome.cost,
                figures=outcome.figures,
            )
            kinds |= {name: kinds[name].model_copy(update={"run": run}) for name in path.verifies}
            _write(options.record, options.page, paths, kinds)
            print(f"verified  {path.name}: {outcome.figures}", flush=True)
    if not options.plan:
        _write(options.record, options.page, paths, kinds)
    return 1 if failed else 0


def _obstacle(path: RealPath, dollars: float, seconds: float) -> str | None:
    """Why a path is not started."""
    if missing := list(lacking(path.needs)):
        return ", ".join(missing)
    if path.cost > dollars:
        return f"expected to cost ${path.cost:.2f}, and ${dollars:.2f} is left to spend"
    if 60 * path.minutes > seconds:
        return f"expected to take {path.minutes:g} minutes, and {seconds / 60:.1f} are left"
    return None


def _write(record: Path, to: Path, paths: tuple[RealPath, ...], kinds: Mapping[str, Kind]) -> None:
    """Write the file that `doctor` reads, and the chapter of the page."""
    data = {name: kind.model_dump() for name, kind in kinds.items()}
    record.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    to.write_text(with_chapter(to.read_text() if to.exists() else "", paths, kinds))


if __name__ == "__main__":
    sys.exit(main())
