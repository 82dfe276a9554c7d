"""Making a whole question set with a scripted model: time, memory and calls for once and twice as many pages.

    python benchmarks/building/whole.py [--pages 500 1000] [--hops 1,2] [--work DIR]

Documents of 20 made-up pages of some 170 words are written and parsed first. Then `fathoms build` asks for
one question for each 20 pages, from the cache, in a process of its own. Prints the wall time and processor
time of that process, the peak of its memory, its calls and tokens, and their ratios. The goals are 60 s for
1,000 pages on two quiet cores, 2.1 x the tokens for twice the pages, and 1.1 x the memory; it ends with 1 if
a ratio is over its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import yaml
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

PAGES_OF_A_DOCUMENT = 20
GOALS = {"tokens": 2.1, "MiB": 1.1}
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il", "os")]
_YES = {"reason": "", "verdict": "yes"}
_NAMED = r"Passage:\n\nThe (?:[A-Z][a-z]+ ){3}engine, known as ([a-z ]+), was built by the (Omel\d+ works)"
_RELATED = (
    r"Passage:\n\nThe ((?:[A-Z][a-z]+ ){3}engine), known.*?built by the (Omel\d+ works)"
    r".*?The (Omel\d+ works) stand beside the (Tuna\d+ river).*Find what"
)
PATTERNS = {
    r'"needed": "yes" or "no"\}': '{"reason": "", "needed": "yes"}',
    r'"self-contained": Can the': json.dumps(dict.fromkeys(("self-contained", "no-source", "natural"), _YES)),
    r'"clear": Is the': json.dumps(dict.fromkeys(("clear", "necessary", "unique", "worth"), _YES)),
    r'"verdict": "yes" or "no"\}': json.dumps(_YES),
    _NAMED + ".*Write one question": (
        r'{"worth": "yes", "question": "Who built the engine that is known as \1?", "answer": "\2",'
        r' "quote": "was built by the \2"}'
    ),
    # the passage that names what is asked about, and what it says of it
    r"\[(\d+)\] Page [^[]*known as ([a-z ]+), was built by the (Omel\d+ works).*Which of these.*as \2\?": (
        r'{"answers": [{"passage": \1, "answer": "\3"}]}'
    ),
    r"\[(\d+)\] Page [^[]*The ((?:[A-Z][a-z]+ ){3}engine), known[^[]*built by the (Omel\d+ works)"
    r".*Which of these.*that the \2 was built by\?": r'{"answers": [{"passage": \1, "answer": "\3"}]}',
    r"\[(\d+)\] Page [^[]*The (Omel\d+ works) stand beside the (Tuna\d+ river)"
    r".*Which of these.*that the \2 stand beside\?": r'{"answers": [{"passage": \1, "answer": "\3"}]}',
    r"Which of these passages": '{"answers": []}',
    # both pages of a question of two hops
    r"The ((?:[A-Z][a-z]+ ){3}engine), known.*?built by the (Omel\d+ works)"
    r".*The \2 stand beside the (Tuna\d+ river).*the builders of the \1\?": r"the \3",
    r"known as ([a-z ]+)\?\nAnswer: (Omel\d+ works)\nWrite the gold": (
        r'{"short": "\2", "long": "The \2 built it.", "phrases": [["\2"]]}'
    ),
    r"from what you know": "I do not know. Confidence: 0.1",
    r"known as ([a-z ]+), was.*Does this page hold.*known as \1\?": "yes",
    r"The ((?:[A-Z][a-z]+ ){3}engine), known.*Does this page hold.*that the \1 was built by\?": "yes",
    r"The (Omel\d+ works) stand beside.*Does this page hold.*that the \1 stand beside\?": "yes",
    r"Does this page hold": "no",
    r"known as ([a-z ]+)\?\nChange this": (
        r'{"question": "Who built the engine that is known as \1 zorblatt?", "detail": "known as \1",'
        r' "replacement": "known as \1 zorblatt"}'
    ),
    _RELATED: (
        r'{"entities": [{"name": "\1", "kind": "object"}, {"name": "\2", "kind": "organisation"},'
        r' {"name": "\3", "kind": "organisation"}, {"name": "\4", "kind": "place"}], "relations": ['
        r'{"quote": "was built by the \2", "source": "\1", "relation": "was built by", "target": "\2"},'
        r'{"quote": "The \3 stand beside the \4", "source": "\3", "relation": "stand beside",'
        r' "target": "\4"}]}'
    ),
    r"This states: (.*?) - (.*?) - ": r"What is it that the \1 \2?",
    r"\[What is it that the (.*?) was built by\?\]": r"Beside what stand the builders of the \1?",
    r"Answer with its number": "1",
}


def recipe(pages: int, hops: str) -> dict[str, object]:
    """Return the settings of a build."""
    model = {
        "kind": "scripted",
        "patterns": PATTERNS,
        "default": "unknown",
        "max_tokens": 4096,
        "max_concurrency": 32,
    }
    return {
        "model": model,
        "documents": ["pdfs"],
        "n": pages // 20,
        "walks": {"hops": [int(one) for one in hops.split(",")]},
        "embed": {"kind": "lexical", "dimension": 384},  # the width of MiniLM
    }


def write_documents(folder: Path, pages: int) -> None:
    """Write PDFs of made-up pages; the first ones do not depend on their number."""
    drawn = random.Random(0)
    words = ["".join(drawn.choices(SYLLABLES, k=3)) for _ in range(4000)]
    folder.mkdir(parents=True)
    canvas = None
    for at in range(pages):
        if at % PAGES_OF_A_DOCUMENT == 0:
            if canvas is not None:
                canvas.save()
            canvas = Canvas(str(folder / f"d{at // PAGES_OF_A_DOCUMENT:04}.pdf"), pagesize=A4, invariant=True)
        assert canvas is not None
        name = " ".join(drawn.sample(words, 5))
        engine = " ".join(drawn.sample(words, 3)).title()
        lines = [
            f"The {engine} engine, known as {name}, was built by the Omel{at} works.",
            *(" ".join(drawn.choices(words, k=12)).capitalize() + "." for _ in range(12)),
        ]
        # not among the first lines, where it would be taken for a running head, and of the page before,
        # because both hops on one page would be no multi-hop question
        lines.insert(5, f"The Omel{max(0, at - 1)} works stand beside the Tuna{at} river.")
        for number, line in enumerate(lines):
            canvas.drawString(40, 780 - 16 * number, line)
        canvas.showPage()
    assert canvas is not None
    canvas.save()


def build(folder: Path, out: str) -> tuple[float, float, int, dict[str, object]]:
    """Run `fathoms build`; return seconds, processor seconds, peak memory in bytes, and what it told."""
    command = [sys.executable, "-m", "fathoms", "--quiet", "build", "recipe.yaml", "--out", out, "--json"]
    env = {**os.environ, "FATHOMS_CACHE_DIR": str(folder / "cache")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    report = json.loads(child.stdout.read())
    _, status, used = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"the build ended with {status}: {report.get('dropped')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, used.ru_maxrss * 1024, report


def measured(work: Path, pages: int, hops: str) -> dict[str, float]:
    """Return the figures of a build with so many pages. The first build parses and embeds; it is not
    counted."""
    folder = work / f"{pages}"
    write_documents(folder / "pdfs", pages)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe(pages, hops), sort_keys=False))
    build(folder, "first.json")
    wall, cpu, memory, report = build(folder, "set.json")
    spent: dict[str, dict[str, float]] = report["spent"]  # type: ignore[assignment]
    calls = sum(one["calls"] for one in spent.values())
    tokens = sum(one["prompt_tokens"] + one["reply_tokens"] for one in spent.values())
    return {
        "questions": float(report["questions"]),  # type: ignore[arg-type]
        "seconds": wall,
        "CPU": cpu,
        "MiB": memory / 2**20,
        "calls": calls,
        "tokens": tokens,
    }


def main() -> int:
    """Measure, print, and compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--hops", default="1,2")
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = given.work or Path(folder)
        print(f"load {os.getloadavg()[0]:.1f}")
        rows = [measured(work, pages, given.hops) for pages in given.pages]
    for pages, row in zip(given.pages, rows, strict=True):
        print(f"{pages:>6} pages", *(f"{name} {value:,.1f}" for name, value in row.items()), sep="  ")
    missed = False
    for first, second in pairwise(rows):
        ratios = {name: second[name] / first[name] for name in row}
        print("ratio       ", *(f"{name} {value:.2f}" for name, value in ratios.items()), sep="  ")
        missed |= any(ratios[name] > goal for name, goal in GOALS.items())
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
