"""Measures how long a journal of many verdicts takes to read.

python benchmarks/judges/reading.py [--verdicts 1000000]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from fathoms.judges.journal import NAME, VerdictJournal
from fathoms.runs.journal import journal_line
from fathoms.text.fingerprints import fingerprint


def main() -> None:
    """Write a journal, read it, and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=1_000_000)
    count = parser.parse_args().verdicts
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        with path.open("wb") as file:
            for number in range(count):
                claim = f"The tower of parish {number} is {number % 90} metres tall."
                usage = {"prompt_tokens": 412, "completion_tokens": 1}
                result = {"label": "supported", "p": 0.93, "usage": usage, "cost": 0.0, "seconds": 0.41}
                row = {"key": fingerprint(claim), "claim": claim, "premise": fingerprint(number % 997)}
                file.write(journal_line({**row, "result": result}))
        size = path.stat().st_size
        journal = VerdictJournal(Path(folder))
        started = time.perf_counter()
        found = len(journal)
        seconds = time.perf_counter() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{found:,} verdicts, {size / 2**20:.0f} MiB: {seconds:.1f} s, {memory:.0f} MiB of memory")


if __name__ == "__main__":
    main()
