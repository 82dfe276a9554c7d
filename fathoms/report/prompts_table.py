"""The same questions under several prompts: the best prompt of each data set, and the best overall.

The best of twelve prompts looks better than it is, because its luck is in the figure that made it the best.
So the best is chosen on one half of the questions, by a hash of their ids, and its figure is that of the
other half alone. Overall is the mean over the data sets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from fathoms.report.graded import (
    Graded,
    by_which,
    figure_text,
    graded_questions,
    mean_figure,
    of_one_sweep,
)
from fathoms.report.paired import halves
from fathoms.report.section import Section
from fathoms.runs.metadata import SETTING
from fathoms.runs.run import Run
from fathoms.text.amounts import figure

OVERALL = "overall"
_SWEPT = ("prompt", "data", "generate", "name")
Scores = Mapping[str, Mapping[str, Mapping[str, Graded]]]
"""The questions by prompt, data set and id; answers of several models are averaged."""


def prompts_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of runs of one sweep that differ in their prompts, and in nothing else but data and
    model; `None` if they do not."""
    if not of_one_sweep(runs) or len(set(map(_rest, runs))) > 1:
        return None
    if any(SETTING in run.manifest.sweep.cell for run in runs):  # the table of settings shows them
        return None
    prompts = _labels(runs)
    if len(set(prompts)) < 2 or any(run.summary.retrieval_only for run in runs):
        return None
    judged, by = by_which(runs)
    found: dict[str, dict[str, dict[str, list[Graded]]]] = {}
    for run, prompt in zip(runs, prompts, strict=True):
        of_data = found.setdefault(prompt, {}).setdefault(str(run.summary.data), {})
        for one in graded_questions(run, judged=judged):
            of_data.setdefault(one.id, []).append(one)
    scores = {
        prompt: {data: {id: _averaged(rows) for id, rows in ids.items()} for data, ids in by_data.items()}
        for prompt, by_data in found.items()
    }
    return _section(scores, by)


def _rest(run: Run) -> str:
    """Return everything of the configuration of a run that may not differ."""
    config = {key: value for key, value in run.manifest.config.items() if key not in _SWEPT}
    return json.dumps(config, sort_keys=True, default=str)


def _labels(runs: Sequence[Run]) -> list[str]:
    """Return the names of the prompts of runs; different prompts with one name are numbered."""
    whole = [json.dumps(run.manifest.config.get("prompt"), sort_keys=True, default=str) for run in runs]
    names = [_label(run) for run in runs]
    numbers = {one: number for number, one in enumerate(dict.fromkeys(whole), start=1)}
    alike = {name: {one for one, other in zip(whole, names, strict=True) if other == name} for name in names}
    return [
        name if len(alike[name]) == 1 else f"{name} ({numbers[one]})"
        for name, one in zip(names, whole, strict=True)
    ]


def _label(run: Run) -> str:
    """Name the prompt of a run by what was chosen of its parts, or by its template and texts."""
    prompt = {key: one for key, one in (run.manifest.config.get("prompt") or {}).items() if one is not None}
    choose, examples = prompt.pop("choose", None) or {}, prompt.pop("examples", 0)
    template = str(prompt.pop("template", "default"))
    names = [*(map(str, choose.values()) if choose else [template])]
    names += [f"{examples} examples"] if examples else []
    names += [f"{key}={str(value)[:40]}" for key, value in prompt.items()]
    return " ".join(names)


def _averaged(rows: Sequence[Graded]) -> Graded:
    """Return the mean of the grades of a question by several models."""
    first = rows[0]
    if len(rows) == 1:
        return first
    shares = {kind: fmean(row.shares[kind] for row in rows) for kind in first.shares}
    return replace(first, shares=shares, abstained=None)


def _section(scores: Scores, by: str) -> Section:
    """Return the section of the prompts."""
    sets = list(dict.fromkeys(data for by_data in scores.values() for data in by_data))
    figures = {
        prompt: {data: mean_figure(_correct(by_data.get(data, {}))) for data in sets}
        for prompt, by_data in scores.items()
    }
    rows = []
    for prompt, of_sets in figures.items():
        known = [found for found in of_sets.values() if found]
        overall = fmean(found["value"] for found in known) if len(known) == len(sets) else None
        count = sum(found["n"] for found in known)
        texts = [figure_text(of_sets[data]) for data in sets]
        rows.append([prompt, *texts, *([figure(overall)] if len(sets) > 1 else []), str(count)])
    best = {data: found for data in sets if (found := _best(scores, [data])) is not None}
    if len(sets) > 1 and (found := _best(scores, sets)) is not None:
        best[OVERALL] = found
    return Section(
        "prompts",
        "Prompts",
        ("prompt", *sets, *([OVERALL] if len(sets) > 1 else []), "n"),
        rows,
        [f"correct answers, {by}; n: questions", *_sentences(best)],
        {"rows": [{"prompt": p, "correct": of_sets} for p, of_sets in figures.items()], "best": best},
        numbers=len(sets) + 1 + (len(sets) > 1),
    )


def _correct(questions: Mapping[str, Graded]) -> list[tuple[Graded, float]]:
    """Return the questions with their shares of correct answers."""
    return [(one, one.shares["correct"]) for one in questions.values()]


def _best(scores: Scores, sets: Sequence[str]) -> dict[str, Any] | None:
    """Return the best prompt over some data sets: the `prompt` that is best over all questions with its
    figure there (`as_winner`), which is too good; and the one that is `chosen` on one half, with its figure
    on the other half (`value`, `low`, `high`, `n`). `None` if the prompts do not have questions of both
    halves of each data set in common.

    Over several data sets, values are means of the data sets, without an interval.
    """
    shared = {
        data: frozenset.intersection(*(frozenset(by_data.get(data, {})) for by_data in scores.values()))
        for data in sets
    }
    parts = {data: halves(ids) for data, ids in shared.items()}
    if not all(by and on for by, on in parts.values()):
        return None

    def mean(prompt: str, some: Mapping[str, Iterable[str]]) -> float:
        return fmean(
            fmean(scores[prompt][data][id].shares["correct"] for id in sorted(ids))
            for data, ids in some.items()
        )

    winner = max(scores, key=lambda prompt: mean(prompt, shared))
    chosen = max(scores, key=lambda prompt: mean(prompt, {data: by for data, (by, _) in parts.items()}))
    found = [
        mean_figure(_correct({id: scores[chosen][data][id] for id in sorted(on)})) or {}
        for data, (_, on) in parts.items()
    ]
    honest = found[0] if len(found) == 1 else {"value": fmean(one["value"] for one in found)}
    return {
        "prompt": winner,
        "as_winner": mean(winner, shared),
        "chosen": chosen,
        **{name: honest.get(name) for name in ("value", "low", "high")},
        "n": sum(len(on) for _, on in parts.values()),
    }


def _sentences(best: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the best prompts are worth."""
    for data, found in best.items():
        where = "best overall, as the mean of the data sets" if data == OVERALL else f"best for {data}"
        yield (
            f"{where}: '{found['prompt']}' ({figure(found['as_winner'])} where it was chosen); chosen on one"
            f" half of the questions, '{found['chosen']}': {figure_text(found)}"
            f" on the other {found['n']}"
        )
