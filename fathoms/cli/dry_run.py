"""`fathoms run --dry-run`: print what would be asked, an estimate of tokens and cost, and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.cli import console, progress
from fathoms.errors import ExitCode, FathomsError
from fathoms.text.amounts import duration

if TYPE_CHECKING:
    from fathoms.runner.estimate import Estimate
    from fathoms.runner.plan import Plan
    from fathoms.runner.runner import Job, Selection
    from fathoms.runs.cache import Cache


_LOOKED_AT = 50
"""The newest runs among which one of the same model is looked for."""


def print_plans(
    jobs: Sequence[Job], selection: Selection, cache: Cache, repeats: int, workers: int, out: Path
) -> int:
    """Print what every run would do. Returns exit code 2 if one of them could not start, otherwise 0."""
    from fathoms.runner.plan import plan

    plans = []
    for job in jobs:
        selected = job.corpus.select(
            limit=selection.limit, categories=selection.categories, ids=selection.ids
        )
        with progress.bars() as bars:
            found = plan(
                job.experiment,
                job.corpus,
                selected,
                cache,
                repeats=repeats,
                workers=workers,
                progress=bars.stage,
            )
        plans.append(found)
        _print_plan(found, repeats)
        console.say(f"  {_time(job, sum(found.questions.values()) * repeats, out)}")
    if len(plans) > 1:
        _print_providers(plans)
    console.say("nothing was asked")
    return ExitCode.UNUSABLE if any(found.missing for found in plans) else ExitCode.OK


def _time(job: Job, questions: int, out: Path) -> str:
    """Say about how long a run takes, by the newest run of the same model, and of this pipeline if there is
    one: prompts with retrieved passages take longer than those without."""
    from fathoms.runs.finding import list_runs

    asks = job.experiment.model_dump(mode="json").get("generate")
    known = []
    for run in list_runs(out)[: -_LOOKED_AT - 1 : -1]:
        with suppress(FathomsError):  # damaged runs say nothing
            totals, config = run.manifest.totals, run.manifest.config
            if totals.seconds and totals.answers and config.get("generate") == asks is not None:
                is_own = run.manifest.name == job.experiment.name
                known.append((is_own, totals.seconds, totals.answers, run.id))
    if not known:
        return "time not known: no earlier run asked this model"
    _, seconds, answers, id = max(known, key=lambda one: one[0])  # the newest of those alike
    about, number = duration(seconds / answers * questions), console.amount(answers, "question")
    return f"about {about}, as {id} took {duration(seconds)} for {number}"


def _print_plan(found: Plan, repeats: int) -> None:
    """Print the plan of one run."""
    sizes = ", ".join(f"{name} {size}" for name, size in found.questions.items())
    stages = ", ".join(f"{name}: {kind}" for name, kind in found.stages.items())
    times = f", {repeats} times each" if repeats > 1 else ""
    questions = console.amount(sum(found.questions.values()), "question")
    console.say(f"{found.name}: {questions} ({sizes}){times}, data set {found.data}")
    console.say(f"  {console.amount(found.documents, 'document')}; {stages}")
    console.say(f"  {console.amount(len(found.stage_names), 'stage')}: {', '.join(found.stage_names)}")
    if found.retrieval_only:
        console.say("  no answers are asked for")
    if found.requests is not None and found.providers:
        attached = ""
        if found.attached is not None:
            size = f"{found.attached['bytes'] / 1e6:.1f} MB"
            attached = f", with {found.attached['pages']} pages attached ({size})"
        console.say(f"  {found.requests} requests{attached}")
    if found.estimates is not None and len(found.estimates) > 1:
        for purpose, part in found.estimates.items():
            console.say(f"  {purpose}: {part.requests} requests, {_taken(part)}")
    if found.estimate is not None and found.providers:
        console.say(f"  {_taken(found.estimate)}")
    elif found.unknown is not None:
        console.say(f"  tokens and cost not estimated: {found.unknown}")
    for stage, reason in found.missing.items():
        console.say(f"  missing: {stage}: {reason}")


def _print_providers(plans: Sequence[Plan]) -> None:
    """Print the estimated tokens and cost per provider, summed over the runs."""
    from fathoms.runner.estimate import Estimate

    for provider in dict.fromkeys(name for found in plans for name in found.providers.values()):
        calling = [found for found in plans if provider in found.providers.values()]
        estimates = [found.estimates for found in calling]
        known = [
            part
            for found in calling
            for purpose, part in (found.estimates or {}).items()
            if found.providers[purpose] == provider
        ]
        left = estimates.count(None)
        without = f" (without {left} that cannot be estimated)" if left else ""
        if known:
            console.say(f"{provider}: {_taken(sum(known, Estimate()))}{without}")


def _taken(found: Estimate) -> str:
    """Format as `about 32,050 tokens (28,850 of prompts, 3,200 of replies), ...; cost about $0.08`."""
    from fathoms.text.amounts import dollars

    tokens = found.prompt_tokens + found.reply_tokens
    shown = ""
    if found.pictures:
        noun = "picture" if found.pictures == 1 else "pictures"
        shown = f" with {found.picture_tokens:,} of {found.pictures:,} {noun}"
    parts = f"{found.prompt_tokens:,} of prompts{shown}, {found.reply_tokens:,} of replies"
    most = ""
    if found.most_reply_tokens is not None:
        most = f", at most {found.prompt_tokens + found.most_reply_tokens:,}"
    cost = "cost not known" if found.cost is None else f"cost about {dollars(found.cost)}"
    if found.cost is not None and found.most_cost is not None:
        cost += f", at most {dollars(found.most_cost)}"
    return f"about {tokens:,} tokens ({parts}){most}; {cost}"
