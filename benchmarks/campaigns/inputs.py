"""Mutates valid configurations and data files at random, runs commands on them, and counts the outcomes.

    python benchmarks/campaigns/inputs.py --seed 1 --trials 3000

The commands run in this process. A fault is an unexpected exception (`defect`), a command that takes more
than 20 seconds (`hang`), or a control character on the terminal (`raw`). A message should name the file
(`place`); messages that do not are counted separately.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import logging
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from fathoms.cli import main
from fathoms.corpora import read_questions
from fathoms.errors import FathomsError
from fathoms.extras.exchange.reading.foreign import Options
from fathoms.extras.exchange.reading.hits import read_hits
from fathoms.extras.exchange.reading.inspect_log import read_inspect
from fathoms.extras.exchange.reading.promptfoo import read_promptfoo
from fathoms.extras.exchange.reading.ragas import read_ragas
from fathoms.extras.exchange.reading.ragchecker import read_ragchecker
from fathoms.extras.exchange.reading.traces.reading import read_traces
from fathoms.extras.exchange.reading.trec import read_trec
from fathoms.importers import keep, read_answers, read_result_file
from fathoms.runs.folder import complaint
from fathoms.safety.plain import plain
from tests.extras.exchange.test_reading_traces import chat, otlp, span
from tests.support.project import CONFIG, PAGES, QUESTIONS, write_pdf

SECONDS = 20
VALUES: list[Any] = [
    None, True, False, 0, -0.0, -1, 1, 2, 10**6, 10**30, 1e308, float("inf"), float("nan"), "", " ",
    "05", "true",
    "1e999", "\0", "\x1b[2J", "\u202ex", "\ud800", "é" * 300, "x" * 5000, "../../etc/passwd",
    "/dev/zero", "~nobody",
    "~nobody/x.yaml", "__proto__", "=1+1", "{question}", "{0.__class__}", "%s", "${HOME}", "a.pdf",
    "http://[::1",
    "http://user:secret@x", [], [[]], [None], {}, {"kind": None}, {"kind": "page"}, ["a", "a"], [1, 2],
    {"": ""},
]  # fmt: skip
BYTES = [
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b'"', b"'", b"{", b"}", b"[", b"]",
    b":", b",",
    b"&a ", b"*a ", b"<<: ", b"!!python/name:os.system ", b"- ", b"? ", b"|\n", b"\\u0000", b"\\ud800",
    b"NaN",
    b"1e999", b"9" * 5000, b"[" * 3000, b"a: &a [*a]\n", b"\xe2\x80\xa8", b"\x1b[31m", b"#", b"%",
    b"---\n", b"...",
]  # fmt: skip
STEERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ANSWERS = [
    {
        "id": "text-only-01",
        "answer": "41.5 m",
        "contexts": [{"text": "a", "document": "varn.pdf", "page": 1}],
    },
    {"question": "Which colour is the Varn door?", "answer": "green", "citations": ["varn.pdf"], "cost": 0.1},
    {"id": "tables-01", "answer": None, "error": "timed out", "usage": {"prompt_tokens": 3}},
]
LABELS = [
    {"id": "a", "answer": "I do not know.", "label": "abstention"},
    {"id": "b", "answer": "It is 12.", "label": "statement"},
    {"id": "c", "answer": "Perhaps 12.", "label": "hedged"},
]
RELEASED = {
    "model": "m",
    "responses": [
        {
            "category": "A",
            "question": "What?",
            "required_files": ["varn.pdf"],
            "rag_context": [{"chunk_id": 1, "file_name": "varn.pdf", "page_number": 1, "content": "x"}],
            "pred_answer": "17",
            "ground_truth": [["17"]],
            "correctness_score": 1.0,
            "hallucinating": False,
        }
    ],
}


HITS = [{"id": "text-only-01", "hits": [{"document": "varn.pdf", "page": 1, "text": "x", "score": 1.5}]}]
RAGAS = [
    {
        "user_input": "How tall?",
        "response": "41.5 m",
        "retrieved_contexts": ["a", "b"],
        "retrieved_context_ids": ["varn.pdf#page=1", "varn.pdf"],
        "reference": "41.5 m",
        "faithfulness": 0.5,
    }
]
CHECKED = {
    "results": [
        {
            "query_id": "1",
            "query": "How tall?",
            "gt_answer": "41.5 m",
            "response": "It is 41.5 m.",
            "retrieved_context": [{"doc_id": "varn.pdf", "text": "It is 41.5 m."}],
            "response_claims": [["It", "is", "41.5 m"]],
            "gt_answer_claims": [["It", "is", "41.5 m"]],
            "answer2response": ["Entailment"],
            "response2answer": ["Entailment"],
            "retrieved2response": [["Entailment"]],
            "retrieved2answer": [["Entailment"]],
        }
    ]
}
SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "extras" / "exchange" / "samples"


class HangError(BaseException):
    """A command took too long; no `except Exception` keeps it."""


def valid_project(folder: Path) -> dict[str, str]:
    """A project with a valid file of every kind; returns the texts by name."""
    (folder / "pdfs").mkdir()
    for name, pages in PAGES.items():
        write_pdf(folder / "pdfs" / name, pages)
    rows = [{"category": name, **item} for name, items in QUESTIONS.items() for item in items]
    rows[0] |= {
        "id": "first",
        "evidence": [{"document": "varn.pdf", "page": 1}],
        "hops": 1,
        "reference": "41.5 m",
    }
    texts = {
        "tiny.yaml": CONFIG,
        "questions.json": json.dumps(QUESTIONS, indent=1),
        "q.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "q.csv": "id,category,question,answers,files,hops,answerable\n"
        "a,A,How tall?,41.5 | 42,varn.pdf,1,true\nb,B,Who?,,lune.pdf,,false\n",
        "a.jsonl": "".join(json.dumps(row) + "\n" for row in ANSWERS),
        "l.jsonl": "".join(json.dumps(row) + "\n" for row in LABELS),
        "r.json": json.dumps(RELEASED, indent=1),
        "own.yaml": "name: own\ntitle: t\nlicence: l\nquestions: {file: q.jsonl}\n"
        "documents: [{file: varn.pdf}]\n",
    }
    top = chat("a", "1", 0, "", [("user", "How tall?")], answer="41.5 m")
    texts["t.json"] = json.dumps(otlp(top, span("a", "2", 1, "1", openinference__span__kind="RETRIEVER")))
    texts["p.json"] = (SAMPLES / "promptfoo.json").read_text()
    texts["i.json"] = (SAMPLES / "inspect.json").read_text()
    texts["g.jsonl"] = "".join(json.dumps(row) + "\n" for row in RAGAS)
    texts["h.jsonl"] = "".join(json.dumps(row) + "\n" for row in HITS)
    texts["c.json"] = json.dumps(CHECKED)
    texts["r.trec"] = "q1 Q0 varn.pdf 1 2.5 x\nq1 Q0 lune.pdf 2 1.5 x\n"
    texts["q.trec"] = "q1 0 varn.pdf 1\nq1 0 lune.pdf 0\n"
    (folder / "own").mkdir()
    shutil.copy(folder / "pdfs" / "varn.pdf", folder / "own" / "varn.pdf")
    (folder / "own" / "q.jsonl").write_text('{"question": "Why?", "answers": "rain", "files": "varn.pdf"}\n')
    texts["uses.yaml"] = CONFIG.replace("{questions: questions.json, documents: pdfs}", "{name: own.yaml}")
    for name, text in texts.items():
        (folder / name).write_text(text)
    quietly(["run", "tiny.yaml"])
    quietly(["gate", "latest", "--save-baseline", "b.json"])
    texts["b.json"] = (folder / "b.json").read_text()
    quietly(["run", "tiny.yaml"])  # what the gate judges: no run is its own baseline
    return texts


COMMANDS: dict[str, Sequence[Sequence[str]]] = {
    "tiny.yaml": (
        ("validate", "{}"),
        ("validate", "{}", "--json"),
        ("run", "{}", "--no-score", "--out", "out"),
    ),
    "questions.json": (("questions", "check", "{}", "pdfs"), ("validate", "tiny.yaml"), ("run", "tiny.yaml")),
    "q.jsonl": (("questions", "check", "{}", "pdfs"), ("questions", "stats", "{}", "pdfs")),
    "q.csv": (("questions", "check", "{}", "pdfs"), ("questions", "check", "{}", "pdfs", "--json")),
    "a.jsonl": (("import", "answers", "{}", "--questions", "questions.json"),),
    "r.json": (("import", "fathoms-rag", "{}"),),
    "l.jsonl": (("agree", "{}"), ("agree", "{}", "--json")),
    "b.json": (("gate", "latest", "--baseline", "{}", "--out", "kept"),),
    "own.yaml": (("validate", "uses.yaml"),),
}
READ: dict[str, Callable[[Path], Any]] = {
    "t.json": lambda path: read_traces(path, Options()),
    "p.json": lambda path: read_promptfoo(path, Options()),
    "i.json": lambda path: read_inspect(path, Options()),
    "g.jsonl": lambda path: read_ragas(path, Options()),
    "h.jsonl": lambda path: read_hits(path, read_questions(Path("questions.json")).questions),
    "a.jsonl": lambda path: read_answers(path, read_questions(Path("questions.json")).questions),
    "c.json": read_ragchecker,
    "r.json": read_result_file,
    "r.trec": lambda path: read_trec(path, Path("q.trec")),
    "q.trec": lambda path: read_trec(Path("r.trec"), path),
}
"""Importers by their file. They are called without the command, which would draw plots of each run."""
COMMANDS |= {name: (*COMMANDS.get(name, ()), ("read", "{}")) for name in READ}
SLOW = {"import": 0.15, "run": 0.15}
"""How often a command that draws plots is taken, for it is a hundred times slower than the others."""


def mutated(rng: random.Random, name: str, text: str) -> bytes:
    """A valid text with one to three changes, of its values or of its bytes."""
    if name.endswith((".csv", ".trec")) or rng.random() < 0.5:
        data = text.encode()
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            data = changed_bytes(rng, data)
        return data
    lines = name.endswith(".jsonl")
    value = [json.loads(line) for line in text.splitlines()] if lines else yaml.safe_load(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = changed_value(rng, value)
    if name.endswith(".yaml"):
        return yaml.safe_dump(value, allow_unicode=rng.random() < 0.5, sort_keys=False).encode(
            "utf-8", "replace"
        )
    rows = value if lines and isinstance(value, list) else [value]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """Something put in, taken out, cut off, doubled or replaced."""
    at, end = sorted(rng.randint(0, len(data)) for _ in range(2))
    return rng.choice(
        [
            data[:at] + rng.choice(BYTES) + data[at:],
            data[:at] + data[min(end, at + 8) :],
            data[:at],
            data[:end] + data[at:end] + data[end:],
            data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :],
            data.decode("utf-8", "replace").encode(rng.choice(["utf-16", "cp1252", "utf-8-sig"]), "replace"),
        ]
    )


def changed_value(rng: random.Random, value: Any) -> Any:
    """One value anywhere in a tree replaced, doubled, renamed or taken out."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return copy.deepcopy(rng.choice(VALUES))
    value = copy.copy(value)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            value.insert(at, copy.deepcopy(rng.choice([*VALUES, value[at]])))
        else:
            value[at] = changed_value(rng, value[at])
        return value
    key = rng.choice(list(value))
    way = rng.random()
    if way < 0.1:
        del value[key]
    elif way < 0.3:
        value[str(rng.choice(["x" * 300, "\x1b[1m", "__proto__", "text", "kind", f"{key}s", ""]))] = value[
            key
        ]
    else:
        value[key] = changed_value(rng, value[key])
    return value


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise HangError in the block after so many seconds."""

    def over(number: int, frame: object) -> None:
        raise HangError

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def read_back(name: str) -> int:
    """Import a file, store the run and read it again: what an import writes is what reading accepts."""
    found = READ[name](Path(name))
    for one in found if isinstance(found, list | tuple) else [found]:
        run = keep(one, "data", Path("out"))
        if len(run.records.all()) != len(one.records):
            raise AssertionError("the stored run lacks answers")
        for question in {record.question.id for record in one.records}:
            if (why := complaint(run.files.of(question))) is not None:
                raise AssertionError(f"the stored run cannot be read: {why}")
    return 0


def quietly(call: Sequence[str]) -> tuple[int | str, str]:
    """The exit code of a command, or how it failed, and what it said."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            with limited(SECONDS):
                code: int | str = read_back(call[1]) if call[0] == "read" else main(list(call))
        except HangError:
            code = "hang"
        except FathomsError as error:
            code = 1
            print(plain(str(error)), file=err)
        except (Exception, SystemExit) as error:
            code = f"defect {type(error).__name__}"
    return code, out.getvalue() + err.getvalue()


def outcome(code: int | str, said: str, name: str) -> str:
    """What a trial counts as."""
    if isinstance(code, str):
        return code.split()[0]
    if "this is a bug in fathoms" in said or "Traceback" in said:
        return "defect"
    if STEERS.search(said):
        return "raw"
    if code == 0 or (code == 1 and "findings" in said):
        return "ok"
    return "place" if name in said else "no place"


def trial(rng: random.Random, folder: Path, texts: dict[str, str]) -> tuple[str, str, Sequence[str], str]:
    """One mutated file under one command: what it counts as, the file, the command, what it said."""
    name = rng.choice(list(COMMANDS))
    call = rng.choice(COMMANDS[name])
    while call[0] in SLOW and rng.random() > SLOW[call[0]]:
        name = rng.choice(list(COMMANDS))
        call = rng.choice(COMMANDS[name])
    target = folder / name
    target.write_bytes(mutated(rng, name, texts[name]))
    code, said = quietly([part.format(name) if part == "{}" else part for part in call])
    found = outcome(code, said, name)
    stored = target.read_bytes() if target.is_file() else b""
    target.write_text(texts[name])
    if found not in ("ok", "place"):
        said = f"{stored[:300]!r}\n{said[-600:]}"
    return found, name, call, said


def campaign(arguments: argparse.Namespace) -> int:
    """Run the trials, print the table, and tell how many faults there were."""
    if arguments.imports:
        COMMANDS.clear()
        COMMANDS.update(dict.fromkeys(READ, (("read", "{}"),)))
    seed, trials, show = arguments.seed, arguments.trials, arguments.show
    end = time.monotonic() + arguments.seconds
    counts: Counter[tuple[str, str]] = Counter()
    kinds: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    slowest = 0.0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["FATHOMS_CACHE_DIR"] = str(folder / "cache")
        os.chdir(folder)
        texts = valid_project(folder)
        shutil.copytree("runs", "kept")
        try:
            for number in range(trials):
                if time.monotonic() > end:
                    trials = number
                    break
                began = time.process_time()
                found, file, call, said = trial(random.Random(f"{seed}:{number}"), folder, texts)
                slowest = max(slowest, time.process_time() - began)
                counts[file, found] += 1
                kinds[found] += 1
                if found not in ("ok", "place") and shown[found] < show:
                    shown[found] += 1
                    print(f"--- trial {number}: {found}: {' '.join(call)} on {file}\n{said}", flush=True)
                for runs in ("out", "runs"):
                    shutil.rmtree(runs, ignore_errors=True)
        finally:
            os.chdir(before)
    columns = ("ok", "place", "no place", "defect", "hang", "raw")
    print(f"{'file':<16}" + "".join(f"{column:>10}" for column in columns))
    for file in COMMANDS:
        print(f"{file:<16}" + "".join(f"{counts[file, column]:>10}" for column in columns))
    print(f"{'all':<16}" + "".join(f"{kinds[column]:>10}" for column in columns))
    print(f"{trials} trials, seed {seed}, the slowest took {slowest:.1f} s of CPU time")
    return kinds["defect"] + kinds["hang"] + kinds["raw"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--imports", action="store_true", help="only the files of other tools")
    parser.add_argument("--seconds", type=int, default=900, help="begin no trial after so long")
    parser.add_argument("--show", type=int, default=3, help="examples of every kind of fault")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    sys.exit(1 if campaign(arguments) else 0)
