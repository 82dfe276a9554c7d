"""Damages the cache at random and checks that no figure of a run ever changes because of it.

    python benchmarks/campaigns/caches.py --seed 1 --trials 40

Three pipelines fill a cache: dense retrieval, pages as images, and PDFs that are split into parts. Replies
are cached too, and answers contain what was retrieved. Each trial copies the cache, damages one of its files
(the seed decides which, where and how) and runs the three pipelines again. A trial passes if the command ends
with the figures and retrieved chunks of the undisturbed run, or with an exit code and one sentence. The exit
code is 1 if any trial fails.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.project import Project, write_pdf

COMMON = """\
name: {name}
data: {{questions: questions.json, documents: pdfs}}
chunk: {chunk}
embed: {{kind: lexical}}
retrieve: {retrieve}
prompt: {{template: {template}}}
generate: {{kind: scripted, echo: true, max_pages: 2}}
"""
PIPELINES = {
    "dense": ("{kind: page}", "{kind: dense, top_k: 1}", "default"),
    "images": ("{kind: page, image_dpi: 40}", "{kind: dense, top_k: 1}", "default"),
    "parts": ("{kind: page}", "{kind: files, too_long: split}", "attached"),
}
COMMAND = ("run", *(f"{name}.yaml" for name in PIPELINES), "--reuse-replies")
FACTS = {"varn": ("tower", "41.5 m"), "lune": ("mine", "17 crowns"), "sorb": ("bridge", "1873")}


def project(path: Path) -> Project:
    """Three PDFs of three pages, a question on each, and the three pipelines."""
    (path / "pdfs").mkdir(parents=True)
    rows = []
    for name, (thing, value) in FACTS.items():
        pages = [f"About {name} in general.", f"The {thing} of {name} has {value}.", f"The end of {name}."]
        write_pdf(path / "pdfs" / f"{name}.pdf", pages)
        rows.append(
            {"id": name, "question": f"What has the {thing} of {name}?", "files": [f"{name}.pdf"]}
            | {"answers": [[value]]}
        )
    (path / "questions.json").write_text(json.dumps({"Facts": rows}))
    for name, (chunk, retrieve, template) in PIPELINES.items():
        text = COMMON.format(name=name, chunk=chunk, retrieve=retrieve, template=template)
        (path / f"{name}.yaml").write_text(text)
    return Project(path)


def results(one_project: Project) -> dict[str, Any]:
    """The figures of every pipeline, and what each question was answered from."""
    found: dict[str, Any] = {}
    for run in one_project.runs():
        summary = json.loads((run / "summary.json").read_text())
        name = json.loads((run / "manifest.json").read_text())["name"]
        views = {path.name: json.loads(path.read_text()) for path in (run / "questions").glob("*.json")}
        found[name] = {
            "profiles": summary["profiles"],
            # how many replies came from the cache is what a damaged cache may change
            "counts": {key: value for key, value in summary["counts"].items() if key != "cached"},
            "answers": {key: view["repeats"][0]["answer"]["text"] for key, view in views.items()},
            "hits": {key: view["repeats"][0]["hits"] for key, view in views.items()},
        }
    return json.loads(json.dumps(found).replace(str(one_project.path), ""))


def flip(data: bytes, chance: random.Random) -> bytes:
    """One to eight bytes are others."""
    changed = bytearray(data)
    for _ in range(min(len(data), chance.randint(1, 8))):
        changed[chance.randrange(len(data))] ^= chance.randint(1, 255)
    return bytes(changed)


def blank(data: bytes, chance: random.Random) -> bytes:
    """A stretch of zeros, as a lost block of a disk."""
    start = chance.randrange(len(data))
    length = min(len(data) - start, chance.choice([16, 512, 4096, len(data)]))
    return data[:start] + bytes(length) + data[start + length :]


def cut(data: bytes, chance: random.Random) -> bytes:
    """The beginning only."""
    return data[: chance.randrange(len(data))]


def grow(data: bytes, chance: random.Random) -> bytes:
    """More at the end."""
    return data + chance.randbytes(chance.randint(1, 5000))


def scramble(data: bytes, chance: random.Random) -> bytes:
    """Something else altogether."""
    return chance.randbytes(len(data))


def retype(data: bytes, chance: random.Random) -> bytes:
    """A matrix of another type in the same bytes; other files are zeroed behind their head."""
    if data.startswith(b"\x93NUMPY"):
        return data.replace(b"<f4", chance.choice([b"<i4", b">f4", b"<u4"]), 1)
    return data[:100] + bytes(max(0, len(data) - 100))


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [flip, blank, cut, grow, scramble, retype]


def damage(cache: Path, chance: random.Random) -> str:
    """Change one file of a cache; what was done."""
    files = sorted(path for path in cache.rglob("*") if path.is_file() and path.stat().st_size)
    path, how = chance.choice(files), chance.choice(DAMAGES)
    if chance.random() < 0.3:  # the file in which nearly everything is
        path = cache / "cache.sqlite"
    path.write_bytes(how(path.read_bytes(), chance))
    return f"{how.__name__} {path.relative_to(cache)}"


def judged(one_project: Project, expected: dict[str, Any]) -> tuple[str, str]:
    """The outcome of a run on a damaged cache, in a word, and what it printed."""
    try:
        done = one_project.fathoms(*COMMAND, timeout=120)
    except subprocess.TimeoutExpired:
        return "FAULT: hangs", ""
    if "Traceback" in done.stderr or "bug in fathoms" in done.stderr:
        return "FAULT: no sentence", done.stderr
    if done.returncode:
        return ("ends with a sentence" if "fathoms: " in done.stderr else "FAULT: no sentence"), done.stderr
    if results(one_project) != expected:
        return "FAULT: other figures", done.stderr
    return ("equal, told" if " made again" in done.stderr else "equal, nothing to tell"), done.stderr


def campaign(seed: int, trials: int, folder: Path) -> Counter[str]:
    """Outcomes, counted; faults are printed."""
    reference = project(folder / "reference")
    done = reference.fathoms(*COMMAND)
    if done.returncode:
        raise SystemExit(done.stderr)
    expected = results(reference)
    outcomes: Counter[str] = Counter()
    for number in range(trials):
        chance = random.Random(f"{seed} {number}")
        one_project = Project(folder / "trial")
        shutil.copytree(reference.path, one_project.path, ignore=lambda path, names: {"runs"} & set(names))
        what = damage(one_project.path / "cache", chance)
        outcome, said = judged(one_project, expected)
        outcomes[outcome] += 1
        if "FAULT" in outcome:
            print(f"trial {number}: {what}: {outcome}\n{said[-2000:]}", flush=True)
        shutil.rmtree(one_project.path)
    return outcomes


def main() -> int:
    """Print the outcomes as a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = campaign(arguments.seed, arguments.trials, Path(folder))
    print(f"{arguments.trials} trials, seed {arguments.seed}")
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:6} {outcome}")
    return int(any("FAULT" in outcome for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
