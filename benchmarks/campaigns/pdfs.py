"""Damages PDFs at random, parses each in a child process as fathoms does, and counts the outcomes.

    python benchmarks/campaigns/pdfs.py --seed 1 --trials 150

The text of the undamaged file is the truth. Outcomes are `whole` (at most a fiftieth of the text is missing,
without a warning), `warned` (a warning says that text may be missing), `failed` (a failure that is named) and
`little` (less than a fifth is missing, without a warning). The faults are `silent` (a fifth of the text or
more is missing, without a warning), `hang` (longer than the parser's time limit and the start of its process)
and `crash` (an exception in this process, the parent).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fathoms.errors import DocumentError
from fathoms.ingest import Pdfium, PdfParser, PyMuPDF, parse_all
from fathoms.text.amounts import percent
from fathoms.types import Document

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
PARSERS: dict[str, type[PdfParser]] = {"pdfium": Pdfium, "pymupdf": PyMuPDF}
LIMIT = 20
START = 20
"""Seconds that a loaded machine may take to start and to end a process."""
LITTLE, MUCH = 0.02, 0.20


def flipped(data: bytearray, rng: random.Random) -> bytearray:
    """Bits flipped in a few places, as on a bad disk."""
    for _ in range(rng.choice((1, 4, 16, 64))):
        data[rng.randrange(9, len(data))] ^= 1 << rng.randrange(8)
    return data


def overwritten(data: bytearray, rng: random.Random) -> bytearray:
    """Zeros or noise in one place, as after a failed download."""
    length = int(len(data) * rng.choice((0.01, 0.05, 0.2, 0.4)))
    at = rng.randrange(9, len(data) - length)
    data[at : at + length] = bytes(length) if rng.random() < 0.5 else rng.randbytes(length)
    return data


def truncated(data: bytearray, rng: random.Random) -> bytearray:
    """The first part alone."""
    return data[: rng.randrange(200, len(data))]


def cut_out(data: bytearray, rng: random.Random) -> bytearray:
    """A piece of the middle is gone, so that every later offset is wrong."""
    length = int(len(data) * rng.choice((0.001, 0.01, 0.1, 0.3)))
    at = rng.randrange(9, len(data) - length)
    del data[at : at + length]
    return data


def as_text(data: bytearray, rng: random.Random) -> bytearray:
    """Line ends changed, as by a transfer in text mode."""
    return bytearray(bytes(data).replace(*rng.choice(((b"\r", b"\n"), (b"\n", b"\r\n"), (b"\r\n", b"\n")))))


def pages_lost(data: bytearray, rng: random.Random) -> bytearray:
    """One name of the structure is misspelt wherever it stands, or in one place."""
    name = rng.choice((b"/Contents", b"/Kids", b"/Type /Page", b"/FlateDecode", b"/Font", b"endobj", b" obj"))
    count = rng.choice((1, -1))
    return bytearray(bytes(data).replace(name, name[:-1] + b"~", count))


DAMAGE: dict[str, Callable[[bytearray, random.Random], bytearray]] = {
    result.__name__: result for result in (flipped, overwritten, truncated, cut_out, as_text, pages_lost)
}


def lost(truth: Document, found: Document) -> float:
    """The share of the truth's characters that stand in words which were not found again."""
    wanted, got = (Counter(page.text for page in d.pages) for d in (truth, found))
    wanted, got = (
        Counter(word for text in texts.elements() for word in text.split()) for texts in (wanted, got)
    )
    total = sum(len(word) * number for word, number in wanted.items())
    return sum(len(word) * number for word, number in (wanted - got).items()) / total


def outcome(parser: PdfParser, path: Path, truth: Document) -> tuple[str, float]:
    """What a damaged file counts as, and the share of its text that is missing."""
    began = time.monotonic()
    try:
        (found,) = parse_all(parser, [path], workers=1)
    except Exception as error:
        print(f"{path}: {type(error).__name__}: {error}", file=sys.stderr)
        return "crash", 1
    if time.monotonic() - began > LIMIT + START:
        return "hang", 1
    if isinstance(found, DocumentError):
        return "failed", 1
    share = lost(truth, found)
    if any("may be missing" in warning or "no page has text" in warning for warning in found.warnings):
        return "warned", share
    return "whole" if share <= LITTLE else "little" if share < MUCH else "silent", share


COLUMNS = ("whole", "little", "warned", "failed", "silent", "hang", "crash")
FAULTS = ("silent", "hang", "crash")


def campaign(arguments: argparse.Namespace) -> int:
    """Run the trials, print the table, and tell how many faults there were."""
    parser = PARSERS[arguments.parser](timeout=LIMIT)
    paths = sorted(arguments.folder.glob("*.pdf"))
    truths = dict(zip(paths, parse_all(parser, paths, workers=2), strict=True))
    counts: Counter[tuple[str, str]] = Counter()
    much = count = needless = 0
    end = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.trials):
            if time.monotonic() > end:
                break
            rng = random.Random(f"{arguments.seed}:{number}")
            source, (kind, damage) = rng.choice(paths), rng.choice(list(DAMAGE.items()))
            truth = truths[source]
            assert isinstance(truth, Document)
            path = Path(folder) / f"{number}.pdf"
            path.write_bytes(damage(bytearray(source.read_bytes()), rng))
            found, share = outcome(parser, path, truth)
            counts[kind, found] += 1
            if found in ("warned", "silent") and share >= MUCH:
                much += 1
                count += found == "warned"
            needless += found == "warned" and share <= LITTLE
            if found in FAULTS:
                print(
                    f"--- trial {number}: {found}: {source.name} {kind}, {percent(share)} missing", flush=True
                )
                if arguments.keep:
                    arguments.keep.mkdir(exist_ok=True)
                    path.rename(arguments.keep / f"{arguments.seed}-{number}-{kind}-{source.name}")
            path.unlink(missing_ok=True)
    print(f"{'damage':<12}" + "".join(f"{column:>8}" for column in COLUMNS))
    for kind in DAMAGE:
        print(f"{kind:<12}" + "".join(f"{counts[kind, column]:>8}" for column in COLUMNS))
    sums = {column: sum(counts[kind, column] for kind in DAMAGE) for column in COLUMNS}
    print(f"{'all':<12}" + "".join(f"{sums[column]:>8}" for column in COLUMNS))
    print(
        f"{sum(sums.values())} trials, seed {arguments.seed}; {count} of {much} documents that lack "
        f"{percent(MUCH)} of their text or more have a warning; {needless} warnings are of a whole text"
    )
    return sum(sums[column] for column in FAULTS)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--trials", type=int, default=150)
    options.add_argument("--seconds", type=int, default=180, help="begin no trial after so long")
    options.add_argument("--parser", choices=PARSERS, default="pdfium")
    options.add_argument("--folder", type=Path, default=SAMPLE, help="the sound PDFs that are damaged")
    options.add_argument("--keep", type=Path, help="a folder for the damaged files that are faults")
    sys.exit(1 if campaign(options.parse_args()) else 0)
