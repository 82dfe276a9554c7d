"""Runs for the browser tests, worked by hand: which questions each gets right is a rule to count by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from fathoms.paths import sha256_file
from tests.support.run_in_memory import RunInMemory, changed

Json = dict[str, Any]

CATEGORIES = ("Text-Only", "Tables", "Images")
STAGES = ("documents", "retrieved", "prompt", "answer")
PASSAGE = "The ledger of the mill lists 41.5 crowns for the blue door. " * 20
EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)">{{7*7}}${8*8}\u202egnp.exe\u2066\0'
"""What a hostile document says; of its own direction, with a NUL."""

RULES: dict[str, Callable[[int], bool]] = {
    "alpha": lambda number: number % 2 == 0,
    "beta": lambda number: number % 3 == 0,
    "gamma": lambda number: False,
}
COSTS = {"alpha": 0.01, "beta": 0.002, "gamma": None}


def example_runs(
    names: Sequence[str] = tuple(RULES), questions: int = 120, costs: bool = True
) -> list[RunInMemory]:
    """alpha is right on even numbers, beta on multiples of three, gamma never: it abstains on every tenth and
    fails on number 1. Wrong answers of odd number were lost at `retrieved`, the others at `answer`. The cost
    of gamma is not known."""
    return [_run(name, RULES[name], questions, COSTS[name] if costs else None) for name in names]


def runs_on_a_page(pdf: Path) -> list[RunInMemory]:
    """alpha and gamma, of four questions; the evidence of q-003 and what was retrieved for it are on page 3
    of a document of the sample."""
    runs = example_runs(["alpha", "gamma"], 4)
    for number, run in enumerate(runs):
        views = list(run.views())
        gold = {"document": pdf.name, "page": 3}
        views[3]["question"] |= {"evidence": [gold], "files": [pdf.name], "answers": [["130 micrometres"]]}
        views[3]["repeats"][0]["hits"][0] |= {
            "document": pdf.name,
            "pages": [3],
            "text": "| Figure 3. | **Labour spent on irrigation**, in hours per hec-\ntare and | season |",
        }
        documents = {pdf.name: {"sha256": sha256_file(pdf)}}
        manifest = {**run.manifest_json, "data": {"name": "sample", "documents": documents}}
        runs[number] = changed(run, manifest=manifest, views=lambda views=views: views)
    return runs


def hostile_run(evil: str = EVIL) -> RunInMemory:
    """One run in which every text that comes from outside is hostile."""
    view = _view(0, "alpha", right=False, cost=None)
    view["question"] |= {
        "id": f"id {evil}",
        "text": f"Question {evil}?",
        "category": f"Category {evil}",
        "files": [f"{evil}.pdf"],
        "reference": evil,
        "evidence": [{"document": f"{evil}.pdf", "page": 1, "quote": evil, "bbox": None}],
        "short_answer": evil,
        "reference_claims": [evil],
        "metadata": {evil: evil},
    }
    repeat = view["repeats"][0]
    repeat["answer"] |= {"text": f"{evil} {'long ' * 210_000}", "reasoning": evil, "stop_reason": evil}
    repeat["hits"] = [{"rank": 1, "score": 0.5, "document": f"{evil}.pdf", "pages": [1], "text": evil * 20}]
    repeat["citations"] = [{"document": evil, "page": 1, "label": evil, "ranks": [1]}]
    repeat["prompt"]["messages"] = [{"role": evil, "text": evil}]
    claim = {"claim": evil, "label": evil, "premise": evil, "why": evil, "sentence": 0}
    compared = [{"of": of, "by": by, "claims": [claim]} for of, by in (("answer", evil), ("gold", "answer"))]
    repeat["claims"] = {"compared": compared}
    repeat["scores"]["paper"] |= {"why": {evil: evil}, "missed": [evil]}
    failed = _view(1, "alpha", right=False, cost=None)
    failed["repeats"][0] |= {"answer": None, "error": {"kind": evil, "message": evil}}
    run = _run(f"run {evil}", lambda number: False, 0, None, [view, failed])
    return RunInMemory(
        f"id {evil}", {**run.manifest_json, "config": {evil: evil}}, run.summary_json, run.views
    )


def _run(
    name: str,
    right: Callable[[int], bool],
    questions: int,
    cost: float | None,
    views: list[Json] | None = None,
) -> RunInMemory:
    """A run of question views, with the means of their scores as its summary."""
    views = views or [_view(number, name, right(number), cost) for number in range(questions)]
    categories = {
        category: _figures([view for view in views if view["question"]["category"] == category])
        for category in dict.fromkeys(view["question"]["category"] for view in views)
    }
    overall = _mean_of(list(categories.values()), len(views))
    failed = sum(view["repeats"][0]["error"] is not None for view in views)
    profile = {"match": "word", "classifier": {"kind": "cues"}, "overall": overall, "categories": categories}
    answered = len(views) - failed - sum(_score(view)["abstained"] is True for view in views)
    profile |= {
        "abstention_table": {
            "answerable": {"answered": answered, "abstained": len(views) - failed - answered},
            "unanswerable": {"answered": 0, "abstained": 0},
        },
        "abstention_rates": {"coverage": answered / len(views), "coverage_n": len(views)},
        "funnel": {"overall": _funnel(views), "categories": {}, "left_out": {}, "chance": None},
    }
    summary = {
        "schema": 1,
        "name": name,
        "model": "a-model",
        "data": "made",
        "profile": "paper",
        "complete": True,
        "incomplete": [],
        "categories": list(categories),
        "counts": {"questions": len(views), "asked": len(views), "errors": failed, "cached": 0},
        "profiles": {"paper": profile},
        "cost": None if cost is None else cost * len(views),
        "seconds": {"wall": 60.0},
        "errors": {"Timeout": failed} if failed else {},
        "metrics": _metrics(len(views), right),
    }
    manifest = {"schema": 1, "created": "2026-01-02T03:04:05+00:00", "config": {"name": name, "top_k": 3}}
    return RunInMemory(f"20260102_{name}", manifest, summary, lambda: iter(views))


def _metrics(questions: int, right: Callable[[int], bool]) -> Json:
    """The gold page of every question is parsed, and that of the even ones is retrieved. Hits are answered
    right where the rule says so, and misses are all abstained from."""

    def share(value: float) -> Json:
        figure = {"value": value, "low": max(0.0, value - 0.1), "high": min(1.0, value + 0.1), "n": questions}
        return {"overall": figure, "micro": figure}

    hits = len(range(0, questions, 2))
    good = sum(map(right, range(0, questions, 2)))
    agreement = [("both found", hits), ("neither found", questions - hits)]
    answers = [("hit", "answered", "right", good), ("hit", "answered", "wrong", hits - good)]
    answers += [("miss", "abstained", "wrong", questions - hits)]
    cells = [
        {"category": "Tables", "retrieval": where, "answer": what, "correctness": how, "n": n}
        | {"by": "phrase recall"}
        for where, what, how, n in answers
        if n
    ]
    return {
        "gold-page-parsed": share(1.0),
        "gold-page-retrieved": share(hits / questions if questions else 0.0),
        "page-phrase-agreement": share(1.0)
        | {"cells": [{"category": "Tables", "meaning": what, "n": n} for what, n in agreement if n]},
        "accuracy-on-hits": share(good / hits if hits else 0.0) | {"cells": cells},
    }


def _view(number: int, name: str, right: bool, cost: float | None) -> Json:
    """A question and its one answer."""
    fails, abstains = name == "gamma" and number == 1, name == "gamma" and number % 10 == 0
    text = "I do not know." if abstains else f"It is {'41.5' if right else '17'} crowns, says {name}."
    answer = {
        "text": text,
        "stop_reason": "stop",
        "usage": {"prompt_tokens": 300},
        "cost": cost,
        "latency": 0.5,
    }
    error = {"kind": "Timeout", "message": "no answer within 60 s"}
    lost = None if right else ("retrieved" if number % 2 else "answer")
    gold = {"answers": [["41.5 crowns"], ["41.5", "crowns"]], "reference": "41.5 crowns.", "answerable": True}
    question = {"id": f"q-{number:03d}", "text": f"What does door {number} cost?", **gold}
    question |= {"category": CATEGORIES[number % 3], "files": ["mill.pdf"]}
    question["evidence"] = [{"document": "mill.pdf", "page": 2, "quote": None, "bbox": None}]
    other = {"rank": 2, "score": 0.25, "document": "other.pdf", "pages": [1], "text": "Nothing of the kind."}
    hits = [{"rank": 1, "score": 0.5, "document": "mill.pdf", "pages": [2], "text": PASSAGE}, other]
    messages = [{"role": "user", "text": f"Context:\n{PASSAGE}\nQuestion?"}]
    repeat = {
        "repeat": 0,
        "attempts": 1,
        "hits": hits,
        "prompt": {"messages": messages, "cuts": [], "tokens": 300, "budget": 900},
        "answer": None if fails else answer,
        "error": error if fails else None,
        "timings": {"retrieve": 0.1, "generate": 0.4 if cost else 0.9},
        "finished": "2026-01-02T03:04:06+00:00",
        "scores": {"paper": _scores(right, abstains, fails, lost)},
    }
    return {"schema": 1, "question": question, "repeats": [repeat]}


def _scores(right: bool, abstains: bool, fails: bool, lost: str | None) -> Json:
    """The scores of one answer; its funnel holds everything until the stage that lost it."""
    stored = {stage: float(lost is None or STAGES.index(stage) < STAGES.index(lost)) for stage in STAGES}
    return {
        "correctness": float(right),
        "hallucination": None if fails else float(not right and not abstains),
        "abstained": None if fails else abstains,
        "abstention": "abstention" if abstains else "statement",
        "matched": ["41.5 crowns"] if right else [],
        "missed": [] if right else ["41.5 crowns"],
        "why": {"nearest": "The door is blue."},
        "funnel": {
            **stored,
            "lost": {stage: float(stage == lost) for stage in STAGES},
            "gained": dict.fromkeys(STAGES, 0.0),
            "missed": {"41.5 crowns": lost} if lost else {},
            "left_out": None,
        },
    }


def _score(view: Json) -> Json:
    scores: Json = view["repeats"][0]["scores"]["paper"]
    return scores


def _figures(views: list[Json]) -> Json:
    """The means of one category, with an interval that is as wide as one may be."""
    hallucinations = [score for view in views if (score := _score(view)["hallucination"]) is not None]
    mean = fmean(_score(view)["correctness"] for view in views)
    return {
        "correctness": mean,
        "hallucination": fmean(hallucinations) if hallucinations else None,
        "n": len(views),
        "hallucination_n": len(hallucinations),
        "errors": 0,
        "intervals": {"correctness": _interval(max(0.0, mean - 0.1), min(1.0, mean + 0.1), len(views))},
    }


def _mean_of(figures: list[Json], questions: int) -> Json:
    """Overall: the mean of the categories."""
    means = {
        metric: fmean(known)
        if (known := [row[metric] for row in figures if row[metric] is not None])
        else None
        for metric in ("correctness", "hallucination")
    }
    counts = {"n": questions, "hallucination_n": sum(row["hallucination_n"] for row in figures), "errors": 0}
    low = max(0.0, (means["correctness"] or 0) - 0.1)
    return {**means, **counts, "intervals": {"correctness": _interval(low, min(1.0, low + 0.2), questions)}}


def _interval(low: float, high: float, questions: int) -> Json:
    return {"low": low, "high": high, "method": "made", "n": questions}


def _funnel(views: list[Json]) -> Json:
    """Means of the questions' own funnels."""
    rows = [_score(view)["funnel"] for view in views]
    return {
        stage: {
            "recall": fmean(row[stage] for row in rows),
            "lost": fmean(row["lost"][stage] for row in rows),
            "gained": 0.0,
            "n": len(rows),
            "compared": len(rows),
        }
        for stage in STAGES
    }
