"""Estimates what each stage of a build takes, before any model is called.

The numbers of calls follow from the recipe and the documents by assumptions that are stated: of the drafts,
half pass all checks, and replies are as long as those of the prompts usually are. Token counts are estimated
from the characters of the prompts, and minutes from usual speeds of models.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from fathoms.extras.questions.making.components import Component, opening
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.models import Generator
from fathoms.models.caller import CHARACTERS
from fathoms.types import Usage

PASSING = 0.5
"""The share of the drafts that is taken to pass all checks."""
_REQUEST = 200
"""Tokens of the request after the page, about."""
_EXCERPT = 140
"""Tokens of what is shown of a page in the clarity loop, about."""


class Speed(NamedTuple):
    """How fast a model is: seconds until a reply begins, and tokens a second of prompts and of replies."""

    begins: float
    prompts: float
    replies: float


HERE, SERVED = Speed(0.0, 60.0, 15.0), Speed(1.0, 10_000.0, 50.0)
"""A model of 1.5 billion parameters on two cores, and one behind a server."""


@dataclass(frozen=True)
class Planned:
    """The calls of a stage, about so many tokens of prompts and replies, their cost in US dollars, `None` if
    the price of the model is not known, and the minutes that they take at the speeds that are assumed."""

    calls: int
    prompt_tokens: int
    reply_tokens: int
    cost: float | None
    minutes: float


def planned(
    recipe: Recipe, components: Sequence[Component], lacking: Mapping[int, int]
) -> dict[str, Planned]:
    """Return what each stage is expected to take. `lacking` is how many questions are missing, by their
    number of hops; 0 is for those without an answer."""
    sample = components[:200] if components else ()
    size = fmean(len(opening(one)) for one in sample) / CHARACTERS if sample else 0.0
    page = fmean(len(one.page_text) for one in sample) / CHARACTERS if sample else 0.0
    spare = 1 + recipe.balance.spare
    without = lacking.get(0, 0)
    several = sum(number for hops, number in lacking.items() if hops > 1)
    single = max(lacking.get(1, 0), math.ceil(without * spare))
    drafted = min(math.ceil(single * spare / PASSING), single * recipe.drafts.most, len(components))
    pages = len({(one.document, one.page) for one in components})
    found = min(pages, recipe.pages_judged * len(recipe.clarity.retrievers))
    graph = min(len(components), recipe.graph.most or len(components)) if several else 0
    hops = max(lacking, default=1)
    tried = several * spare / PASSING
    first = pages if recipe.labels.first == "all" else recipe.labels.first
    judge = recipe.judge or recipe.model
    checked = drafted * 0.7 + several
    # (stage, model, calls, tokens of a prompt, tokens of a reply)
    rows: list[tuple[str, Generator, float, float, int]] = [
        ("drafts", recipe.model, drafted, size, 90),
        ("clarity", judge, drafted * PASSING * 1.2, found * _EXCERPT, 30),
        ("graph", recipe.model, graph, size, 300),
        ("walks", recipe.model, tried * (2 + 2 * hops), page, 60),
        ("hops", judge, tried * 2 * hops, page, 10),
        ("answers", recipe.model, drafted * 0.8 + several, size, 90),
        ("closed-book", judge, drafted * 0.7 * recipe.filters.closed_book, 0, 40),
        ("checklist", judge, checked * 2 if recipe.checks.checklist else 0, page / 2, 60),
        ("labels", judge, drafted * PASSING * (0.5 + first) + tried * hops, page, 2),
        ("labels", judge, tried * hops, found * _EXCERPT, 30),
        ("unanswerable", recipe.model, without / PASSING, size, 60),
        ("unanswerable", judge, without / PASSING, found * _EXCERPT, 10),
        ("interleaved", recipe.model, single + several if recipe.answers.candidates else 0, size, 90),
    ]
    plan: dict[str, Planned] = {}
    for stage, model, calls, tokens, reply in rows:
        if calls:
            one = _planned(model, math.ceil(calls), tokens + _REQUEST, reply)
            plan[stage] = total([plan[stage], one]) if stage in plan else one
    return plan


def total(plan: Collection[Planned]) -> Planned:
    """Return the sum of several stages."""
    known = [one.cost for one in plan if one.cost is not None]
    return Planned(
        sum(one.calls for one in plan),
        sum(one.prompt_tokens for one in plan),
        sum(one.reply_tokens for one in plan),
        sum(known) if len(known) == len(plan) else None,
        sum(one.minutes for one in plan),
    )


def speed_of(model: Generator) -> Speed:
    """Return the speed that is assumed of a model."""
    return HERE if model.kind == "embedded" else SERVED


def _planned(model: Generator, calls: int, prompt: float, reply: int) -> Planned:
    """Return what so many calls take."""
    tokens = math.ceil(calls * prompt)
    cost = model.cost(Usage(prompt_tokens=tokens, completion_tokens=calls * reply))
    speed, replies = speed_of(model), calls * reply
    seconds = calls * speed.begins + tokens / speed.prompts + replies / speed.replies
    return Planned(calls, tokens, replies, cost, seconds / model.max_concurrency / 60)
