"""Damages the files of a run at random, and counts what the commands do with it.

    python benchmarks/campaigns/runs.py --seed 1 --trials 200

A small run is made with the scripted model. Each trial copies it and changes one file: a flipped bit, a
truncated or missing file, a JSON value of another type, or a directory, a FIFO or a link in its place. Then
commands are run on the copy, each in a child process with limits on memory and time. The outcomes are:

    same       exit code 0, and the output is that of the undamaged run
    told       exit code 0, the output differs, and a warning gives the reason
    as edited  exit code 0 after a JSON value was changed on purpose: the output may differ
    sentence   another exit code, and a sentence that names the run or the file

The faults are `silent` (exit code 0 and other results without a warning), `no place` (a sentence that names
neither), `defect`, `traceback`, `hang` (stopped after 20 s) and `killed` (because of its memory).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[2] / "tests"
SECONDS, MEMORY = 20, 3 * 2**30
GOOD = ("same", "told", "as edited", "sentence")
VALUES: tuple[Any, ...] = (
    None, [], {}, "", -1, True, 1e999, 10**400, 0.5, "x" * 5000, [[[[]]]], {"blob": "0" * 64}, [None],
)  # fmt: skip
COMMANDS: dict[str, list[str]] = {
    "ls": ["ls"],
    "show": ["show", "tiny"],
    "question": ["show", "tiny", "--question", "tables-01"],
    "compare": ["compare", "other", "tiny"],
    "gate": ["gate", "tiny", "--baseline", "other", "--margin", "0.9"],
    "report": ["report", "tiny", "--to", "told"],
    "json": ["report", "tiny", "--json"],
    "score": ["score", "tiny"],
    "resume": ["run", "--resume", "tiny"],
    "review": ["review", "tiny", "--reviewer", "me"],
}


def make(folder: Path) -> Path:
    """The project with two runs; returns the folder of the one that is damaged."""
    sys.path.insert(0, str(TESTS.parent))
    from fathoms.cli import main
    from tests.support.project import CONFIG, PAGES, QUESTIONS, write_pdf

    (folder / "pdfs").mkdir(parents=True)
    for name, pages in PAGES.items():
        write_pdf(folder / "pdfs" / name, [*pages, "A long page. " * 60])
    (folder / "questions.json").write_text(json.dumps(QUESTIONS))
    for name in ("tiny", "other"):
        (folder / f"{name}.yaml").write_text(
            CONFIG.replace("name: tiny", f"name: {name}").replace("top_k: 1", "top_k: 3")
        )
    os.chdir(folder)
    os.environ["FATHOMS_CACHE_DIR"] = str(folder / "cache")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for name in ("other", "tiny"):
            assert main(["run", f"{name}.yaml"]) == 0
        sys.stdin = io.StringIO("4\n4\n" * 9)
        main(["review", "tiny", "--reviewer", "me"])
    (run,) = (folder / "runs").glob("*_tiny_*")
    return run


def damage(path: Path, chance: random.Random) -> str:
    """Change one file; what was done to it."""
    data = path.read_bytes()
    kind = chance.choice(
        ["flip"] * 4 + ["retype"] * 6 + ["truncate", "delete", "replace", "garbage", "lines"]
    )
    if kind == "flip":
        at = chance.randrange(len(data))
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :])
    elif kind == "truncate":
        path.write_bytes(data[: chance.randrange(len(data))])
    elif kind == "delete":
        path.unlink()
    elif kind == "garbage":
        path.write_bytes(
            chance.choice([b"", b"\0" * 5000, b"[" * 200_000, b"NaN", b"[]\n", b"{}\n", b"\xff\xfe{}"])
        )
    elif kind == "replace":
        path.unlink()
        kind = chance.choice(["directory", "fifo", "link out", "loop"])
        replace(path, kind)
    elif kind == "lines" and path.suffix == ".jsonl":
        rows = data.splitlines(keepends=True)
        odd = chance.choice(
            [b"[]\n", b"NaN\n", b"[" * 100_000 + b"\n", b'{"question": {"id": 3}}\n', b"\0\n", rows[0]]
        )
        rows.insert(chance.randrange(len(rows) + 1), odd)
        path.write_bytes(b"".join(rows))
    elif path.suffix in (".json", ".jsonl"):
        kind = "retype"
        retype(path, data, chance)
    return kind


def replace(path: Path, kind: str) -> None:
    """Something that is not a regular file."""
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/etc/passwd" if kind == "link out" else path.name)


def retype(path: Path, data: bytes, chance: random.Random) -> None:
    """Another value at some place of a JSON file, written by somebody who left the checksum out."""
    texts = data.splitlines() if path.suffix == ".jsonl" else [data]
    number = chance.randrange(len(texts))
    value = json.loads(texts[number])
    value.pop("crc", None)
    places = list(walk(value))
    holder, key = chance.choice(places)
    if chance.random() < 0.2 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = chance.choice(VALUES)
    texts[number] = json.dumps(value).replace("Infinity", "1e999").encode()
    path.write_bytes(b"\n".join(texts) + b"\n")


def walk(value: Any) -> Any:
    """Every place in a JSON value: what holds it, and its key there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(pairs):
        yield value, key
        yield from walk(item)


def call(arguments: list[str], folder: Path) -> tuple[int | None, str, str]:
    """Run a command in a child process: its exit code (`None`: stopped for its time), and what it wrote."""
    out, err = folder / "out.txt", folder / "err.txt"
    child = os.fork()
    if child == 0:
        code = 70
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            with out.open("w") as reported, err.open("w") as said:
                os.dup2(reported.fileno(), 1)
                os.dup2(said.fileno(), 2)
                sys.stdout, sys.stderr = reported, said
                sys.stdin = io.StringIO("4\n4\n" * 9)
                from fathoms.cli import main

                code = main(arguments)
        finally:
            os._exit(code)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return code, out.read_text(errors="replace"), err.read_text(errors="replace")
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None, "", ""


def plain(text: str) -> str:
    """What was printed, without what differs between two calls."""
    return re.sub(r"\d+\.\d+ s\b|\d{8}T\d+Z|\s+|changed since.*", " ", text)


def outcome(code: int | None, out: str, err: str, *, edited: bool, whole: str, names: list[str]) -> str:
    """The kind of what a command did."""
    if code is None:
        return "hang"
    if code < 0 or "MemoryError" in err:
        return "killed"
    if "Traceback" in err:
        return "traceback"
    if "defect" in err:
        return "defect"
    if code == 0 and plain(out) == whole:
        return "same"
    if code == 0 or (code in (100, 101) and out):
        reported = (
            "cannot be" in err
            or "damaged" in err
            or "missing" in err
            or "is not read" in err
            or "answer yet" in err + out
        )
        return "told" if reported else "as edited" if edited else "silent"
    return "sentence" if any(name in err for name in names) else "no place"


def trial(
    seed: int,
    one_path: Path,
    run: Path,
    whole: dict[str, str],
    reported: Callable[[str], None],
    wanted_all: bool,
) -> Any:
    """Damage a copy of the run, and see what the commands do: (command, outcome). What only reads finds the
    same copy; each of the others a new one with the same damage."""
    light, heavy = list(COMMANDS)[:5], list(COMMANDS)[5:]
    for name in [*light, *random.Random(seed).sample(heavy, 2)]:
        if name == light[0] or name in heavy:
            shutil.rmtree("runs")
            shutil.copytree(one_path, "runs")
            path, kind = damaged(run, random.Random(seed))
        code, out, err = call(COMMANDS[name], Path())
        absent = {"summary.json": ("delete",), "reviews.jsonl": ("delete", "truncate")}  # as if never made
        gone = kind in absent.get(path.name, ())
        edited = gone or kind in ("retype", "garbage", "lines")
        found = outcome(code, out, err, edited=edited, whole=whole[name], names=[run.name, path.name])
        if name == "ls" and (code != 0 or run.name[:16] not in out or "_other_" not in out):
            found = "silent"
        if found not in GOOD or (wanted_all and found == "sentence"):
            where = f"{name} after {kind} of {path.relative_to(run)}"
            reported(f"{found}: {where}: exit {code}: {err.strip()[-300:]!r}")
        yield name, found


def damaged(run: Path, chance: random.Random) -> tuple[Path, str]:
    """Damage one file of a run, of every kind of file as often as of any other; which, and how."""
    groups: dict[str, list[Path]] = {}
    for path in sorted(run.rglob("*")):
        if path.suffix in (".json", ".jsonl", ".gz") and path.name != "report.json":
            groups.setdefault(path.parent.name if path.parent != run else path.name, []).append(path)
    path = chance.choice(groups[chance.choice(sorted(groups))])
    return path, damage(path, chance)


def say(number: int, text: str, *, quiet: bool) -> None:
    """Tell of a call."""
    if not quiet:
        print(f"{number}: {text}", flush=True)


def main() -> int:
    """The campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--quiet", action="store_true", help="Only the table.")
    parser.add_argument(
        "--all", action="store_true", help="Tell of every call that ended with a sentence too."
    )
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        run = make(folder)
        importlib.import_module("matplotlib.backends.backend_agg")  # once, before the children

        stored = folder / "kept"
        shutil.copytree(folder / "runs", stored)
        whole = {name: plain(call(arguments, Path())[1]) for name, arguments in COMMANDS.items()}
        shutil.rmtree("runs")
        shutil.copytree(stored, "runs")
        for number in range(options.trials):
            tell = partial(say, number, quiet=options.quiet)
            seed = options.seed * 1_000_003 + number
            for command, found in trial(seed, stored, run, whole, tell, options.all):
                counts[command, found] += 1
    outcomes = sorted({found for _, found in counts}, key=lambda found: (found not in GOOD, found))
    print(f"{options.trials} trials\n{'command':10}" + "".join(f"{found:>12}" for found in outcomes))
    for command in COMMANDS:
        print(f"{command:10}" + "".join(f"{counts[command, found]:12}" for found in outcomes))
    faults = sum(count for (_, found), count in counts.items() if found not in GOOD)
    print(f"{sum(counts.values())} calls, {faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
