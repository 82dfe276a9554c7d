"""Runs as plain data: the eight rows of Table II that are facts, and a small one worked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.run_in_memory import RunInMemory, changed

Json = dict[str, Any]

SIZES = {"Text-Only": 31, "Tables": 13, "Images": 14, "Multimodal": 25, "Cross-Document Multimodal": 10}

# Correctness and hallucination: Overall, then the categories in the order of SIZES.
TABLE_II = """
gemma3-1b LlamaIndex    .19 .75  .36 .48  .08 .85  .07 .86  .13 .84  .29 .70
gemma3-4b LlamaIndex    .23 .53  .49 .35  .15 .54  .21 .43  .19 .72  .125 .60
llama3_3-70b LlamaIndex .32 .54  .62 .26  .15 .38  .21 .64  .34 .60  .29 .80
gemma3-1b Docling       .28 .61  .44 .48  .08 .69  .29 .50  .31 .56  .29 .80
gpt_oss-20b Docling     .37 .43  .66 .26  .23 .38  .07 .50  .35 .60  .55 .40
llama3_3-70b Docling    .39 .39  .78 .16  .08 .38  .36 .14  .32 .48  .41 .80
gpt_4_1 closed          .79 .20  .90 .06  .92 .08  .79 .21  .72 .24  .64 .40
gpt_4o closed           .71 .31  .90 .10  .77 .23  .64 .36  .74 .28  .48 .60
"""


def make_summary(name: str, overall: Json, categories: dict[str, Json], **changes: Any) -> Json:
    """A summary under the profile `paper` alone."""
    profile = {"match": "substring", "hyphens": "both", "classifier": {"kind": "1-nn", "unit": "answer"}}
    wanted = overall.get("n", 0)
    return {
        "schema": 1,
        "run": f"20260102T030405678Z_{name}_0a1b2c3d",
        "name": name,
        "model": "a-model",
        "data": "fathoms-rag",
        "profile": "paper",
        "complete": True,
        "incomplete": [],
        "categories": list(categories),
        "counts": {
            "questions": wanted,
            "asked": wanted,
            "answered": wanted,
            "errors": 0,
            "unanswered": 0,
            "unanswerable": 0,
            "cut_prompts": 0,
            "cut_by_server": 0,
            "cached": 0,
        },
        "profiles": {
            "paper": {**profile, "overall": overall, "categories": categories, "abstention_table": {}}
        },
        "usage": {"prompt_tokens": None, "completion_tokens": None},
        "cost": None,
        "seconds": {"wall": None, "retrieve": None, "prompt": None, "generate": None},
        "errors": {},
        **changes,
    }


def make_view(summary: Json, questions: list[Json] | None = None, path: Path | None = None) -> RunInMemory:
    """A view of plain data."""
    manifest = {
        "schema": 1,
        "run": summary["run"],
        "name": summary["name"],
        "created": "2026-01-02T03:04:05Z",
    }
    return RunInMemory(summary["run"], manifest, summary, lambda: list(questions or []), path)


def table_row(line: str) -> RunInMemory:
    """One row of Table II as a run."""
    model, pipeline, *figures = line.split()
    pairs = [(float(c), float(h)) for c, h in zip(figures[::2], figures[1::2], strict=True)]
    cells = [{"correctness": c, "hallucination": h, "errors": 0} for c, h in pairs]
    counts = [93, *SIZES.values()]
    overall, *rest = [{**cell, "n": n, "hallucination_n": n} for cell, n in zip(cells, counts, strict=True)]
    micro = {"micro_correctness": None, "micro_hallucination": None}
    categories = dict(zip(SIZES, rest, strict=True))
    return make_view(make_summary(f"{model} {pipeline}", {**overall, **micro}, categories, model=model))


def make_question(id: str, correctness: float | None, hallucination: float | None, **changes: Any) -> Json:
    """A question view with one repeat under the profile `paper`."""
    question = {
        "id": id,
        "text": f"What about {id}?",
        "category": "Tables",
        "files": ["a.pdf"],
        "answers": [["red", "blue"], ["purple"]],
        "reference": None,
        "evidence": [{"document": "a.pdf", "page": 2, "quote": None, "bbox": None}],
        "hops": None,
        "answerable": True,
    }
    scores = {
        "correctness": correctness,
        "hallucination": hallucination,
        "abstained": False,
        "abstention": "statement",
        "matched": ["red"],
        "missed": ["blue"],
        "why": {"nearest": "It is red."},
    }
    repeat = {
        "repeat": 0,
        "attempts": 1,
        "hits": [{"rank": 1, "score": 0.5, "document": "a.pdf", "pages": [2], "text": "red things"}],
        "prompt": {
            "messages": [{"role": "user", "text": "What?"}],
            "context": "red things",
            "cuts": [{"chunk": "a:1", "dropped": 3, "length": 10}],
            "tokens": 12,
            "budget": None,
        },
        "answer": {
            "text": f"The answer to {id}.",
            "reasoning": "",
            "stop_reason": "stop",
            "usage": {"prompt_tokens": 12, "completion_tokens": 5, "cached_tokens": None},
            "cost": None,
            "latency": 0.25,
            "cached": False,
        },
        "error": None,
        "timings": {"retrieve": 0.01, "generate": 0.24},
        "fingerprints": {"generate": "ab12"},
        "finished": "2026-01-02T03:04:06Z",
        "scores": {"paper": scores},
    }
    repeat |= {key: changes.pop(key) for key in ("answer", "error") if key in changes}
    return {"schema": 1, "run": "r", "question": {**question, **changes}, "repeats": [repeat]}


def make_small_run(path: Path | None = None, **changes: Any) -> RunInMemory:
    """Four questions worked by hand: one right, one half right, one hallucinated, one failed.

    Tables: (1 + 0.5) / 2 = 0.75, none hallucinated. Images: (0 + 0) / 2 = 0, the one that was answered is
    hallucinated. Macro: 0.375 and 0.5; micro: 1.5 / 4 = 0.375 and 1 / 3.
    """
    tables = {
        "correctness": 0.75,
        "hallucination": 0.0,
        "abstention": 0.5,
        "n": 2,
        "hallucination_n": 2,
        "errors": 0,
    }
    images = {
        "correctness": 0.0,
        "hallucination": 1.0,
        "abstention": 0.0,
        "n": 2,
        "hallucination_n": 1,
        "errors": 1,
    }
    overall = {
        "correctness": 0.375,
        "hallucination": 0.5,
        "micro_correctness": 0.375,
        "micro_hallucination": 1 / 3,
        "abstention": 0.25,
        "micro_abstention": 1 / 3,
        "n": 4,
        "hallucination_n": 3,
        "errors": 1,
    }
    summary = make_summary("small", overall, {"Tables": tables, "Images": images})
    summary["profiles"]["paper"]["abstention_table"] = {
        "answerable": {"answered": 2, "abstained": 1},
        "unanswerable": {"answered": 0, "abstained": 0},
    }
    summary["profiles"]["paper"]["abstention_rates"] = {
        "answerable": {"answered": 2 / 3, "abstained": 1 / 3},
        "unanswerable": {"answered": None, "abstained": None},
        "coverage": 2 / 3,
        "selective_accuracy": 0.5,
        "coverage_n": 3,
        "selective_accuracy_n": 2,
        "intervals": {
            "coverage": {"low": 0.2077, "high": 0.9385, "method": "wilson", "n": 3},
            "selective_accuracy": {"low": 0.0945, "high": 0.9055, "method": "wilson", "n": 2},
        },
    }
    summary["counts"] |= {"answered": 3, "errors": 1}
    summary |= {
        "errors": {"Timeout": 1},
        "cost": 0.0125,
        "usage": {"prompt_tokens": 300, "completion_tokens": 40},
    }
    summary |= {"seconds": {"wall": 10.0, "retrieve": 0.5, "prompt": 0.125, "generate": 9.0}, **changes}
    failure = {"kind": "Timeout", "message": "no answer within 300 s"}
    questions = [
        make_question("right", 1.0, 0.0),
        make_question("half", 0.5, 0.0),
        make_question("wrong", 0.0, 1.0, category="Images"),
        make_question("failed", 0.0, None, category="Images", answer=None, error=failure),
    ]
    return make_view(summary, questions, path)


@pytest.fixture
def paper_runs() -> list[RunInMemory]:
    """The eight rows of Table II, of which the third and later differ in model or pipeline."""
    return [table_row(line) for line in TABLE_II.strip().splitlines()]


@pytest.fixture
def small_run() -> Callable[..., RunInMemory]:
    """Makes the small run, with keys of its summary changed."""
    return make_small_run


@pytest.fixture
def ingested_run() -> Callable[[Json | None], RunInMemory]:
    """Makes the small run with a report of its documents."""

    def make(ingest: Json | None) -> RunInMemory:
        run = make_small_run()
        return changed(run, manifest={**run.manifest_json, "data": {"ingest": ingest}})

    return make


@pytest.fixture
def question() -> Callable[..., Json]:
    """Makes one question view."""
    return make_question


@pytest.fixture
def run_of() -> Callable[..., RunInMemory]:
    """Makes a run of a summary and question views."""
    return make_view


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """The small run on disk."""
    run = make_small_run()
    path = tmp_path / run.original_id
    (path / "questions").mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps(dict(run.manifest_json)))
    (path / "summary.json").write_text(json.dumps(dict(run.summary_json)))
    for view in run.views():
        (path / "questions" / f"{view['question']['id']}.json").write_text(json.dumps(view))
    return path
