"""What `fathoms build` prints: the plan of a build, and its results and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.cli import console
from fathoms.text.amounts import percent

if TYPE_CHECKING:
    from fathoms.extras.questions.making.balance import Coverage
    from fathoms.extras.questions.making.corpus import Corpus
    from fathoms.extras.questions.making.maker import BuiltSet
    from fathoms.extras.questions.making.manifest import Manifest
    from fathoms.extras.questions.making.recipe import Recipe


def funnel(built: BuiltSet) -> str:
    """Return the funnel of drafts in one line."""
    return ", ".join(f"{count} {name}" for name, count in built.funnel.items()) or "no draft was made"


def tell_plan(recipe: Recipe, corpus: Corpus, set_: Path | None, *, as_json: bool) -> None:
    """Print what each stage is expected to take, to make a set or to fill one up."""
    from fathoms.corpora import read_questions
    from fathoms.extras.questions.making.maker import lacking_in
    from fathoms.extras.questions.making.planning import PASSING, planned, speed_of, total
    from fathoms.text.amounts import dollars

    have = () if set_ is None else read_questions(set_).questions
    plan = planned(recipe, corpus.components.usable, lacking_in(recipe, have))
    whole = total(plan.values())
    if as_json:
        console.show_json({"stages": {name: vars(one) for name, one in plan.items()}, "total": vars(whole)})
        return
    dropped = ", ".join(f"{count} {reason}" for reason, count in corpus.components.dropped.items())
    left = f" ({dropped} left out)" if dropped else ""
    console.say(
        f"{console.amount(len(corpus.documents), 'document')},"
        f" {console.amount(len(corpus.components.usable), 'component')}{left};"
        f" {console.amount(recipe.n, 'question')} wanted"
    )
    for name, one in {**plan, "total": whole}.items():
        cost = "price not known" if one.cost is None else dollars(one.cost)
        console.say(
            f"  {name:<13} {one.calls:>8,} calls  {one.prompt_tokens:>12,} tokens of prompts"
            f"  {one.reply_tokens:>10,} of replies  {cost}"
        )
    speed = speed_of(recipe.model)
    console.say(
        f"if {percent(PASSING)} of the drafts pass all checks, and no reply is kept from before;"
        " nothing was asked"
    )
    at_once = console.amount(recipe.model.max_concurrency, "call")
    console.say(
        f"about {math.ceil(whole.minutes)} min, if the model takes {at_once} at once, and reads"
        f" {speed.prompts:,.0f} tokens of prompts a second and writes {speed.replies:.0f}"
    )


def tell(built: BuiltSet, changes: Sequence[str], manifest: Manifest, corpus: Corpus, out: Path) -> None:
    """Print the funnel of drafts, what the set covers, and what it took."""
    if manifest.version > 1:
        for line in changes:
            console.say(line)
    if not changes:
        console.say("nothing has changed, and the set stays as it is")
    console.say(console.amount(len(built.drafts), "draft"))
    for name, count in built.funnel.items():
        console.say(f"  {count:>5} dropped: {name}")
    console.say(f"  {built.passed:>5} passed all checks")
    for line in coverage_lines(built.coverage):
        console.say(line)
    for id, why in built.unmarked.items():
        console.note(f"note: the reference of {id} cites no quotes: {why}")
    _tell_spent(manifest.spent)
    console.say(f"{out}: {console.amount(len(built.questions), 'question')}, version {manifest.version}")


def coverage_lines(found: Coverage) -> list[str]:
    """Return what a question set covers and lacks, in a line for each property."""
    lines = [
        f"{name}: {', '.join(f'{value} {count}' for value, count in values.items())}"
        for name, values in found.counts.items()
        if values
    ]
    if found.pages:
        pages = ", ".join(f"{gold} of {size} in {name}" for name, (gold, size) in found.pages.items())
        lines.append(f"pages with evidence: {pages}")
    lines += [f"lacking: no question on {one}" for one in found.lacking]
    for (name, value), (have, wanted) in found.short.items():
        lines.append(f"lacking: {wanted - have} of {wanted} wanted questions on {name} {value}")
    return lines


def _tell_spent(spent: Mapping[str, Mapping[str, float]]) -> None:
    """Print the calls, tokens and costs of each stage."""
    from fathoms.text.amounts import dollars

    calls, reused = (int(sum(one[key] for one in spent.values())) for key in ("calls", "reused"))
    tokens = int(sum(one["prompt_tokens"] + one["reply_tokens"] for one in spent.values()))
    again = f", {reused:,} replies from before" if reused else ""
    unpriced = int(sum(one["unpriced"] for one in spent.values()))
    cost = sum(one["cost"] for one in spent.values())
    price = "price not known" if unpriced and not cost else dollars(cost)
    console.say(f"{calls:,} {'call' if calls == 1 else 'calls'}{again}, {tokens:,} tokens, {price}")


def as_values(built: BuiltSet, changes: Sequence[str], manifest: Manifest, corpus: Corpus) -> dict[str, Any]:
    """Return the same as JSON values."""
    return {
        "questions": len(built.questions),
        "wanted": built.wanted,
        "version": manifest.version,
        "drafts": len(built.drafts),
        "dropped": built.funnel,
        "passed": built.passed,
        "coverage": {name: dict(values) for name, values in built.coverage.counts.items()},
        "pages": {name: list(value) for name, value in built.coverage.pages.items()},
        "lacking": built.coverage.lacking,
        "short": {f"{name} {value}": list(found) for (name, value), found in built.coverage.short.items()},
        "spent": manifest.spent,
        "unmarked": dict(built.unmarked),
        "changes": list(changes),
        "unread": dict(corpus.unread),
        "left_out": dict(corpus.left_out),
    }
