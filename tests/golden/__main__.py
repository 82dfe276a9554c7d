"""`python -m tests.golden`: say how outputs differ from the golden ones, or make them anew."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator

from tests.golden.outputs import OUTPUTS, SHARED, difference, names, outputs, shared_outputs, workplace


def main() -> int:
    """Compare; with an option, renew the outputs, or the runs and their outputs."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--record", action="store_true", help="make all runs anew, and their outputs")
    parser.add_argument("--outputs", action="store_true", help="renew the outputs, and print what changed")
    chosen = parser.parse_args()
    if chosen.record:
        from tests.golden.recording import record

        record()
        names.cache_clear()
        shutil.rmtree(OUTPUTS, ignore_errors=True)
    changes = 0
    for place, text in _outputs():
        if not (lines := difference(place, text)):
            continue
        changes += 1
        if not chosen.record:
            print("\n".join(lines))
        if chosen.record or chosen.outputs:
            path = OUTPUTS / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
    print(f"{changes} outputs differ" + (", and are renewed" if chosen.record or chosen.outputs else ""))
    return int(changes > 0 and not (chosen.record or chosen.outputs))


def _outputs() -> Iterator[tuple[str, str]]:
    """Every output with its place."""
    with workplace() as folder:
        for name in names():
            for file, text in outputs(name, folder):
                yield f"{name}/{file}", text
        for file, text in shared_outputs(folder):
            yield f"{SHARED}/{file}", text


if __name__ == "__main__":
    sys.exit(main())
