"""What the commands print and write for each golden run, as texts with a name.

All that may differ from machine to machine, or from day to day, is replaced in `settled`, and nowhere else.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fathoms import __version__
from fathoms.cli import main
from fathoms.report.write import write_report
from fathoms.runs.run import Run

HERE = Path(__file__).parent
RUNS = HERE / "runs"
OUTPUTS = HERE / "outputs"
_DATA = r'<script type="(?:application/json|text/plain)" id="([^"]+)">(.*?)</script>'
SHARED = "several"
"""The outputs about several runs."""
BASELINE = "dense"
"""The run that the others are compared with, and judged against, where they have its questions."""
LONGEST = 4_000
"""A file that is longer than this is written as a digest of each line, which says where it differs."""
KEY = hashlib.sha256(b"golden runs").digest()
"""The key that all golden runs are signed with. It guards nothing."""
QUICK = ("dense", "judged", "http-resumed", "answers", "quotes")
"""Runs of which some outputs are compared in the fast tests, too."""


def key_file(path: Path, key: bytes = KEY) -> Path:
    """Write a key as this user's, readable for nobody else."""
    path.write_bytes(key)
    path.chmod(0o600)
    return path


def settled(text: str, folder: Path) -> str:
    """The text without what depends on the machine, the day and the release of fathoms.

    That is the folder of the copy, the version of fathoms, and the id of a new run of MLflow. Times and
    durations are those that the runs hold, and nothing else is drawn or dated.
    """
    for path in (folder.resolve(), folder):
        text = text.replace(str(path), "<folder>")
    text = re.sub(rf"\b(fathoms[ /]?){re.escape(__version__)}\b", r"\1<version>", text)
    text = re.sub(r'("fathoms": )"[^"]*"', r'\1"<version>"', text)
    return re.sub(r"\brun [0-9a-f]{32} made", "run <id> made", text)


@cache
def names() -> dict[str, Path]:
    """The golden runs by name, oldest first; a second run of a name has a number."""
    found: dict[str, Path] = {}
    for path in sorted(one.parent for one in RUNS.glob("*/manifest.json")):
        name = first = str(json.loads((path / "manifest.json").read_text())["name"]).replace(" ", "-")
        number = 2
        while name in found:
            name, number = f"{first}-{number}", number + 1
        found[name] = path
    return found


def difference(place: str, text: str) -> list[str]:
    """The lines by which an output differs from the golden one at this place below `OUTPUTS`."""
    path = OUTPUTS / place
    before = path.read_bytes().decode() if path.exists() else ""
    pair = before.split("\n"), text.split("\n")  # a changed line end is a difference, too
    return list(difflib.unified_diff(*pair, f"golden {place}", place, n=0, lineterm=""))


@contextmanager
def workplace(key: bytes = KEY) -> Iterator[Path]:
    """A folder with a copy of the runs, as the current one, in an environment of its own."""
    before, environment = Path.cwd(), {**os.environ}
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        shutil.copytree(RUNS, folder / "runs")
        os.environ.update(
            FATHOMS_KEY_FILE=str(key_file(folder / "signing.key", key)),
            FATHOMS_CACHE_DIR=str(folder / "cache"),
            COLUMNS="100",
            TZ="UTC",
        )
        time.tzset()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)
            time.tzset()


def printed(*arguments: str) -> str:
    """What a command prints, with its exit code."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    parts = [f"$ fathoms {' '.join(arguments)}\n", out.getvalue()]
    parts += [f"--- stderr\n{err.getvalue()}"] if err.getvalue() else []
    return "".join([*parts, f"--- exit code {code}\n"])


def quick_outputs(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Of one run: what `show` prints, and what scoring again changes."""
    run = f"runs/{names()[name].name}"
    shown = printed("show", run), printed("show", run, "--all"), printed("show", run, "--lost", "model")
    yield "show.txt", settled("\n".join(shown), folder)
    yield "question.txt", settled(printed("show", run, "--question", _question(folder / run)), folder)
    yield "score.txt", settled(_scored_again(folder, run), folder)


def outputs(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """All outputs of one run, by the name of their file."""
    yield from quick_outputs(name, folder)
    for what, text in _written(name, folder):
        yield what, settled(text, folder)


def _written(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    run, to = f"runs/{names()[name].name}", Path("written") / name
    write_report(
        [Run.scored(folder / run)], to / "report", html=True, intervals=True, plots=False, metrics=["all"]
    )
    for path in sorted((to / "report").iterdir()):
        text = path.read_bytes().decode()  # with its line ends
        changed = {".html": page, ".json": _data}.get(path.suffix)
        yield (f"{path.name}.txt", changed(text)) if changed else (path.name, text)
    yield "compare-gate.txt", "\n".join(_judged(name, run, to))
    yield "exports.txt", "\n".join(_exports(name, run, to))


def _judged(name: str, run: str, to: Path) -> Iterator[str]:
    """`compare` and `gate`: with the baseline where the questions are the same, and by fixed limits.

    Only some runs are judged against the baseline, because that takes a quarter of a second each.
    """
    base, junit = names()[BASELINE], to / "gate.xml"
    limits = ["--min", "correctness=0.5", "--max-rate", "hallucination=0.5"]
    if name != BASELINE and _same_questions(RUNS / Path(run).name, base):
        yield printed("compare", f"runs/{base.name}", run)
        yield printed("compare", f"runs/{base.name}", run, "--all")
        if name in (*QUICK, "repeats"):
            limits = ["--baseline", f"runs/{base.name}", "--allow-unchecked-judge"]
    yield printed("gate", run, *limits, "--junit", str(junit))
    yield _file(junit)
    if name in QUICK:
        yield printed("gate", run, *limits, "--json")


def shared_outputs(folder: Path) -> Iterator[tuple[str, str]]:
    """Outputs about several runs, some that take more time, and those of runs that somebody else signed."""
    for name, text in _of_several({name: f"runs/{path.name}" for name, path in names().items()}):
        yield name, settled(text, folder)
    key_file(folder / "signing.key", b"another".ljust(32))
    for name in ("python", "http", "judged"):
        run = f"runs/{names()[name].name}"
        texts = printed("show", run), printed("score", run), printed("run", "--resume", run)
        yield f"foreign-{name}.txt", settled("\n".join(texts), folder)
    key_file(folder / "signing.key")


def _of_several(runs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield "ls.txt", printed("ls")
    for sweep in ("settings", "distractors", "injected", "matrix", "promptfoo", "qwen"):
        some, to = [path for name, path in runs.items() if name.startswith(sweep)], Path("written") / sweep
        write_report([Run.scored(Path(path)) for path in some], to, html=True, plots=False)
        texts = [
            printed("compare", *some),
            *(_file(to / one) for one in ("report.md", "table.tex", "scores.csv")),
        ]
        yield f"{sweep}.txt", "\n".join([*texts, page((to / "report.html").read_text(encoding="utf-8"))])
    some = [runs[name] for name in ("dense", "other", "bm25", "repeats", "python")]
    yield (
        "compare.txt",
        "\n".join(
            [printed("compare", *some), *(printed("compare", *some, how) for how in ("--all", "--json"))]
        ),
    )
    gate = ("gate", runs["other"], "--baseline", runs["dense"], "--by-category")
    yield "gate.txt", printed(*gate, "--comment", "written/comment.md") + _file(Path("written/comment.md"))
    yield "report.txt", printed("report", *some[:2], "--to", "written/two") + _names(Path("written/two"))
    yield "by.txt", printed("show", runs["dense"], "--by", "language", "--json")
    yield "shrunk.txt", printed("report", runs["dense"], "--shrink", "--json")
    yield "show.json.txt", printed("show", runs["judged"], "--json")
    yield "trends.txt", printed("trends", "dense")
    database = "sqlite:///mlflow.db"
    yield "mlflow.txt", printed("export", "mlflow", runs["judged"], "--tracking-uri", database) + _mlflow()


def _names(folder: Path) -> str:
    return "".join(f"{path.relative_to(folder)}\n" for path in sorted(folder.rglob("*")) if path.is_file())


def _mlflow() -> str:
    """The figures and options in the database of MLflow."""
    with contextlib.closing(sqlite3.connect("mlflow.db")) as database:
        rows = [
            *database.execute("SELECT key, value FROM params ORDER BY key"),
            *database.execute("SELECT key, value, is_nan FROM metrics ORDER BY key, step"),
        ]
    return "".join(f"{row}\n" for row in rows)


def page(html: str) -> str:
    """The data of a page, with a digest for each entry of its parts. Styles and scripts are left out."""
    lines: list[str] = []
    for match in re.finditer(_DATA, html, re.S):
        name, body = match[1], match[2]
        text = body if body.lstrip().startswith(("{", "[")) else _unpacked(body)
        lines += [f"{name}{line}" for line in _data(text).splitlines()]
    rest = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", html, flags=re.S)
    rest = re.sub(
        r"'sha256-[^']*'", "'sha256-of-the-script'", rest
    )  # another test compares it with the script
    return "\n".join([*lines, rest.strip(), ""])


def _data(text: str) -> str:
    """JSON as a line for each entry."""
    return "".join(f"{where} {_digest(found)}\n" for where, found in _entries(json.loads(text)))


def _unpacked(body: str) -> str:
    return gzip.decompress(base64.b64decode(body)).decode()


def _entries(value: Any, where: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The entries of nested data, down to the fourth level."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if depth == 4 or not items:
        yield where, value
        return
    for key, child in items:
        yield from _entries(child, f"{where}.{key}", depth + 1)


def _digest(value: Any) -> str:
    """The value itself, if it is short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:30]}... {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _file(path: Path) -> str:
    """A file with its name; of a long one, a digest of each line."""
    if not path.exists():
        return f"=== {path}: not written\n"
    data = path.read_bytes()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"=== {path}: {len(data)} bytes, {hashlib.sha256(data).hexdigest()[:12]}\n"
    if len(text) > LONGEST:
        text = "".join(f"{_digest(line)}\n" for line in text.splitlines())
    return f"=== {path}\n{text}"


def _exports(name: str, run: str, to: Path) -> Iterator[str]:
    """What each export writes that is text, and the rows of Parquet files."""
    for kind in (
        "csv",
        "trec",
        "beir",
        "hits",
        "verdicts",
        *(("hf", "parquet", "run") if name in QUICK else ()),
    ):
        place = to / (f"{kind}.jsonl" if kind == "hits" else kind)
        yield printed("export", kind, run, "--to", str(place))
        if kind == "run":
            yield _names(place)
            continue
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.suffix == ".parquet":
                yield _rows(path)
            elif path.is_file():
                yield _file(path)


def _rows(path: Path) -> str:
    """The rows of a Parquet file."""
    from pyarrow import parquet

    table = parquet.read_table(path)
    lines = [
        str(table.schema.remove_metadata()),
        *(_digest(json.loads(json.dumps(row, default=str))) for row in table.to_pylist()),
    ]
    return f"=== {path}\n" + "\n".join(lines) + "\n"


def _question(run: Path) -> str:
    """The question to be shown: the last one, in the order of the files."""
    files = sorted((run / "questions").glob("*.json"))
    return str(json.loads(files[-1].read_text())["question"]["id"])


def _same_questions(one: Path, other: Path) -> bool:
    data = [json.loads((path / "manifest.json").read_text()).get("data", {}) for path in (one, other)]
    return data[0].get("questions_sha256") == data[1].get("questions_sha256")


def _scored_again(folder: Path, run: str) -> str:
    """What scoring prints, and which files of a copy of the run then differ from those of the golden run."""
    again, golden = folder / "again" / run, RUNS / Path(run).name
    if not (folder / "again/runs/.documents").exists() and (RUNS / ".documents").exists():
        shutil.copytree(RUNS / ".documents", folder / "again/runs/.documents")
    shutil.rmtree(again, ignore_errors=True)
    shutil.copytree(golden, again)
    # Scoring under `paper`, as this run was configured, needs weights, which are not there.
    profile = ["--profile", "paper-by-words"] if "_profiles_" in run else []
    texts = [printed("score", f"again/{run}", *profile)]
    for path in sorted(
        [again / "summary.json", *(again / "questions").iterdir(), *(again / "verdicts").glob("*")]
    ):
        before = golden / path.relative_to(again)
        if not before.exists():
            texts.append(f"{path.relative_to(again)} is new\n")
        elif before.read_bytes() != path.read_bytes():
            texts.append(f"{path.relative_to(again)} differs\n")
    return "".join(texts)
