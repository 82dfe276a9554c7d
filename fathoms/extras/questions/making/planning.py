"""What a build is expected to take, by stage, before any model is asked.

The numbers of calls follow from the recipe and the documents by assumptions that are stated: of the drafts,
half pass all checks, and replies are as long as those of the prompts usually are. Token counts are estimated
from the characters of the prompts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fathoms.extras.questions.making.components import Component, opening
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.models.caller import CHARACTERS
from fathoms.models.protocols import ChatModel
from fathoms.types import Usage

PASSING = 0.5
"""The share of the drafts that is taken to pass all checks."""
_REQUEST = 200
"""Tokens of the request after the page, about."""


@dataclass(frozen=True)
class Planned:
    """The calls of a stage, about so many tokens of prompts and replies, and their cost in US dollars, `None`
    if the price of the model is not known."""

    calls: int
    prompt_tokens: int
    reply_tokens: int
    cost: float | None


def planned(
    recipe: Recipe, components: Sequence[Component], lacking: Mapping[int, int]
) -> dict[str, Planned]:
    """Return what each stage is expected to take. `lacking` is how many questions are to be made, by their
    number of hops; 0 is for those without an answer."""
    sample = components[:200] if components else ()
    size = fmean(len(opening(one)) for one in sample) / CHARACTERS if sample else 0.0
    page = fmean(len(one.page_text) for one in sample) / CHARACTERS if sample else 0.0
    spare = 1 + recipe.balance.spare
    without = lacking.get(0, 0)
    several = sum(number for hops, number in lacking.items() if hops > 1)
    single = max(lacking.get(1, 0), math.ceil(without * spare))
    made = min(math.ceil(single * spare / PASSING), single * recipe.drafts.most, len(components))
    pages = len({(one.document, one.page) for one in components})
    found = min(pages, recipe.clarity.top * len(recipe.clarity.retrievers))
    graph = min(len(components), recipe.graph.most or len(components)) if several else 0
    hops = max(lacking, default=1)
    tried = several * spare / PASSING
    first = pages if recipe.labels.first == "all" else recipe.labels.first
    judge = recipe.judge or recipe.model
    # (stage, model, calls, tokens of a prompt, tokens of a reply)
    rows: list[tuple[str, ChatModel, float, float, int]] = [
        ("components", judge, made if recipe.components.judge else 0, size, 2),
        ("drafts", recipe.model, made, size, 90),
        ("clarity", judge, made * found, page, 2),
        ("graph", recipe.model, graph, size, 300),
        ("walks", recipe.model, tried * (2 + 2 * hops), page, 60),
        ("hops", judge, tried * 2 * hops, page, 10),
        ("answers", recipe.model, made * 0.8 + several, size, 90),
        ("closed-book", judge, made * 0.7 * recipe.filters.closed_book, 0, 40),
        ("checklist", judge, (made * 0.7 + several) * 4 if recipe.checks.checklist else 0, page, 30),
        ("labels", judge, made * PASSING * (2 + first) + tried * hops * found, page, 2),
        ("unanswerable", recipe.model, without / PASSING * (1 + found), page, 10),
        ("interleaved", recipe.model, single + several if recipe.answers.candidates else 0, size, 90),
    ]
    return {
        stage: _planned(model, math.ceil(calls), tokens + _REQUEST, reply)
        for stage, model, calls, tokens, reply in rows
        if calls
    }


def total(plan: Mapping[str, Planned]) -> Planned:
    """Return the sum of all stages."""
    costs = [one.cost for one in plan.values()]
    known = [cost for cost in costs if cost is not None]
    return Planned(
        sum(one.calls for one in plan.values()),
        sum(one.prompt_tokens for one in plan.values()),
        sum(one.reply_tokens for one in plan.values()),
        sum(known) if len(known) == len(costs) else None,
    )


def _planned(model: ChatModel, calls: int, prompt: float, reply: int) -> Planned:
    """Return what so many calls take."""
    tokens = math.ceil(calls * prompt)
    cost = model.cost(Usage(prompt_tokens=tokens, completion_tokens=calls * reply))
    return Planned(calls, tokens, calls * reply, cost)
