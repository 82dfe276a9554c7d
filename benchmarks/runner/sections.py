"""The sections of the benchmark: each returns a table, and the targets that it checks."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from bench import Bench, Section, Target, TurnCost, spread, table
from contestants import ROOT, Bare, Contestant, Fathoms, commands, fresh
from measuring import HERE, run

sys.path.append(str(ROOT / "benchmarks" / "report"))
from opening import CHROMIUM, opening_times

NARROW, WIDE = 32, 128
"""Requests at once."""
BARE = Bare(stream=False).name
"""Whose windows the others are measured by."""


def starting(bench: Bench) -> Section:
    """`--help` of each tool."""

    def turn(command: Sequence[str]) -> float:
        return run([*command, "--help"], fresh(bench.work / "turn"), {"PYTHONPATH": str(ROOT)}).wall

    tools = commands(bench.others)
    found = bench.rounds({name: partial(turn, command) for name, command in tools.items()})
    rows = [[name, spread(seconds, ".3f")] for name, seconds in found.items()]
    targets = [Target("`fathoms --help`", 0.1, median(found["fathoms"]), "s")]
    if "lm-eval" in found:
        limit = median(found["lm-eval"])
        targets.append(Target("`fathoms --help`, beside lm-eval's", limit, median(found["fathoms"]), "s"))
    return Section(table("`--help`", ["", "seconds"], rows), targets)


def asking(bench: Bench) -> Section:
    """The request window at two concurrencies, and the CPU a question from two numbers of questions."""
    return compared(bench, bench.contestants)


def against_bare(bench: Bench) -> Section:
    """The same for the bare client and fathoms alone, which decides the targets in a third of the time."""
    return compared(bench, [Bare(stream=False), bench.fathoms])


def looking(bench: Bench) -> Section:
    """`ls` and `show` in a folder of many runs, which are copies of one."""
    count, project = bench.size.runs, fresh(bench.work / "looked")
    bench.server.reset(0)
    scored = Fathoms(bench.fathoms.cache, score=True)
    scored.ask(bench.server, project, 10, NARROW)
    (result,) = (path for path in (project / "runs").iterdir() if (path / "manifest.json").exists())
    stamp = result.name.partition("_")[0]
    for number in range(1, count):
        copy = result.with_name(result.name.replace(stamp, f"20200101T{number:09d}Z"))
        shutil.copytree(result, copy, copy_function=os.link)
    commands = {"ls": ("ls",), "show": ("show", "latest")}
    found = bench.rounds({name: partial(scored.run, project, *said) for name, said in commands.items()})
    rows = [[f"`fathoms {name}`", spread([c.wall for c in costs])] for name, costs in found.items()]
    targets = [
        Target(f"`fathoms {name}` with {count:,} runs", limit, median(c.wall for c in found[name]), "s")
        for name, limit in (("ls", 0.5), ("show", 0.3))
    ]
    return Section(table(f"A folder with {count:,} runs", ["", "seconds"], rows), targets)


def finished(bench: Bench) -> Section:
    """`score` and `report` for runs of two sizes, once: how long they take, and how much the memory grows."""
    few, many = bench.size.many, bench.size.large
    projects: dict[int, Path] = {}
    for count in (few, many):
        projects[count] = fresh(bench.work / f"finished-{count}")
        bench.server.reset(0)
        bench.fathoms.ask(bench.server, projects[count], count, WIDE)
    rows, targets = [], []
    for command in ("score", "report"):
        costs = [bench.fathoms.run(projects[count], command, "latest") for count in (few, many)]
        each = (costs[1].peak - costs[0].peak) * 1024 / (many - few)
        cells = [cell for cost in costs for cell in (f"{cost.wall:.2f}", f"{cost.peak:.0f}")]
        rows.append([f"`fathoms {command}`", *cells, f"{each:.1f}"])
        # 20 s for scoring 100,000 answers, 60 s for a report of as many
        limit = {"score": 20, "report": 60}[command] * many / 100_000
        targets.append(Target(f"`fathoms {command}` of {many:,} answers", limit, costs[1].wall, "s"))
        if command == "score":
            targets.append(Target("memory of `fathoms score`", 2, each, "KB an answer"))
    targets += opened(projects[many], many)
    heads = ["", *(head for count in (few, many) for head in (f"seconds at {count:,}", f"MB at {count:,}"))]
    return Section(table("A finished run", [*heads, "KB an answer"], rows), targets)


def opened(project: Path, count: int) -> list[Target]:
    """How long Chromium takes to open the page of a run, until its questions are listed; nothing where there
    is no Chromium."""
    if not CHROMIUM.exists():
        print(f"the page is not opened: there is no {CHROMIUM}", file=sys.stderr)
        return []
    (page,) = project.glob("runs/*/report.html")
    seconds = median(opening_times(page, 3)["index"]) / 1000
    return [Target(f"opening the page of {count:,} answers", 2, seconds, "s")]


def compared(bench: Bench, who: Sequence[Contestant]) -> Section:
    """The section for some contestants."""
    whole, few = bench.size.questions, bench.size.few
    contestants = {each.name: each for each in who}
    turns = {
        (name, count, width): partial(bench.ask, who, count, width)
        for count, width in ((whole, NARROW), (whole, WIDE), (few, NARROW))
        for name, who in contestants.items()
    }
    found = bench.rounds(turns)
    cpu = {
        name: cpu_a_question(found[name, few, NARROW], found[name, whole, NARROW], whole - few)
        for name in contestants
    }

    def windows(name: str, width: int) -> list[float]:
        return [wanted.window for wanted in found[name, whole, width]]

    def over_bare(name: str, width: int) -> float:
        return median(windows(name, width)) / median(windows(BARE, width))

    rows = []
    for name in contestants:
        turn = found[name, whole, NARROW]
        cells = [name]
        for width in (NARROW, WIDE):
            cells += [spread(windows(name, width)), f"{over_bare(name, width):.2f}"]
        cells += [spread(cpu[name]), spread([wanted.cost.wall for wanted in turn]), f"{turn[0].body:.0f}"]
        rows.append(cells)
    heads = ["", f"window at {NARROW}, s", "x bare", f"window at {WIDE}, s", "x bare"]
    heads += ["CPU ms a question", f"whole process at {NARROW}, s", "bytes a request"]
    targets = [
        Target(f"window at {NARROW} over the bare client's", 1.1, over_bare("fathoms", NARROW), "x"),
        Target(f"window at {WIDE} over the bare client's", 1.5, over_bare("fathoms", WIDE), "x"),
        Target("CPU a question", 1, median(cpu["fathoms"]), "ms"),
    ]
    return Section(table(f"{whole:,} questions", heads, rows), targets)


def cpu_a_question(few: Sequence[TurnCost], whole: Sequence[TurnCost], more: int) -> list[float]:
    """Milliseconds, round by round, from what `more` questions cost more: starting up is not in it."""
    return [1000 * (b.cost.cpu - a.cost.cpu) / more for a, b in zip(few, whole, strict=True)]


def one(bench: Bench) -> Section:
    """A run of one question with scores and report: to its first request, and as a whole."""
    scored = Fathoms(bench.fathoms.cache, score=True)
    turns = bench.rounds({"one": partial(bench.ask, scored, 1, 1)})["one"]
    first = [turn.first_request - turn.cost.started for turn in turns]
    whole = [turn.cost.wall for turn in turns]
    cpu = [turn.cost.cpu for turn in turns]
    rows = [["first request", spread(first)], ["whole process", spread(whole)], ["its CPU", spread(cpu)]]
    targets = [
        Target("from the start to the first request", 0.5, median(first), "s"),
        Target("a run of one question as a whole", 1, median(whole), "s"),
    ]
    return Section(table("One question", ["", "seconds"], rows), targets)


def memory(bench: Bench) -> Section:
    """The peak memory at two numbers of questions."""
    whole, many = bench.size.questions, bench.size.many
    contestants: list[Contestant] = [bench.fathoms, Fathoms(bench.fathoms.cache, score=True)]
    turns = {
        (who.name, count): partial(bench.ask, who, count, WIDE)
        for who in contestants
        for count in (whole, many)
    }
    peaks = {key: [wanted.cost.peak for wanted in turn] for key, turn in bench.rounds(turns).items()}
    rows, targets = [], []
    for who in contestants:
        ratio = median(peaks[who.name, many]) / median(peaks[who.name, whole])
        shown = [spread(peaks[who.name, count], ".0f") for count in (whole, many)]
        rows.append([who.name, *shown, f"{ratio:.2f}"])
        targets.append(Target(f"memory at {many:,} over {whole:,}, {who.name}", 1.3, ratio, "x"))
    heads = ["", f"MB at {whole:,}", f"MB at {many:,}", "ratio"]
    return Section(table("Peak memory", heads, rows), targets)


def resuming(bench: Bench) -> Section:
    """From the start of the process to its first request: one question new, and the last one of many."""
    many, project = bench.size.many, fresh(bench.work / "resumed")
    bench.server.reset(0)
    bench.fathoms.ask(bench.server, project, many, WIDE)
    (journal,) = project.glob("runs/*/journal.jsonl")

    def new() -> float:
        wanted = bench.ask(bench.fathoms, 1, WIDE)
        return wanted.first_request - wanted.cost.started

    def last_of_many() -> float:
        forget_last(journal)
        bench.server.reset(bench.latency)
        cost = bench.fathoms.run(project, "run", "--resume", "--no-score")
        return float(bench.server.stats(1)["first_request"]) - cost.started

    found = bench.rounds({"new": new, "resumed": last_of_many})
    more = median(found["resumed"]) - median(found["new"])
    rows = [
        ["a new run of one question", spread(found["new"])],
        [f"a resumed run with {many - 1:,} of {many:,} finished", spread(found["resumed"])],
        ["what resuming adds", f"{more:.2f}"],
    ]
    targets = [Target(f"resuming with {many - 1:,} finished, beyond starting", 1, more, "s")]
    return Section(table("From the start to the first request", ["", "seconds"], rows), targets)


def forget_last(journal: Path) -> None:
    """Cut the last line off a journal."""
    with journal.open("rb+") as file:
        content = file.read()
        file.truncate(content.rstrip(b"\n").rfind(b"\n") + 1)


def scoring(bench: Bench) -> Section:
    """Records in memory, scored: of few questions that were answered often, and of as many questions."""

    def turn(questions: int) -> dict[str, float]:
        sizes = ["--records", str(bench.size.records), "--questions", str(questions)]
        command = [sys.executable, str(HERE / "scores.py"), *sizes]
        said = run(command, fresh(bench.work / "turn"), {"PYTHONPATH": str(ROOT)}).output
        return dict(json.loads(said))

    counts = (bench.size.questions, bench.size.records)
    limit = 20 * bench.size.records / 100_000
    found = bench.rounds({count: partial(turn, count) for count in counts})
    rows, targets = [], []
    for count, turns in found.items():
        recall, whole = ([turn[key] for turn in turns] for key in ("recall", "score"))
        rows.append([f"{count:,} questions", spread(recall), spread(whole)])
        what = f"`score` in memory: {bench.size.records:,} records, {count:,} questions"
        targets.append(Target(what, limit, median(whole), "s"))
    heads = ["", "phrase recall in three profiles, s", "`score`, with verdicts on abstention, s"]
    return Section(table(f"Scoring {bench.size.records:,} records in memory", heads, rows), targets)


SECTIONS: dict[str, Callable[[Bench], Section]] = {
    "help": starting,
    "looking": looking,
    "asking": asking,
    "bare": against_bare,
    "one": one,
    "finished": finished,
    "memory": memory,
    "resuming": resuming,
    "scoring": scoring,
}
