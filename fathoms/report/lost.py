"""The questions behind a figure of where answers were lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.text import Text

from fathoms.errors import UsageError, amount, suggest
from fathoms.metrics.stages import LOST_BY
from fathoms.report.grid import Grid
from fathoms.report.text import plain, shorten
from fathoms.runs.run import Run
from fathoms.text.amounts import figure
from fathoms.types import Question
from fathoms.types.run.rows import ScoredRepeat

TEXT = 300
"""The characters of a question that are shown."""


@dataclass(frozen=True)
class Lost:
    """A question of whose gold answer a part of the pipeline lost something: the share as the mean of its
    repeats, in [0, 1], and the phrases."""

    id: str
    category: str
    question: str
    share: float
    phrases: tuple[str, ...]


def lost_questions(run: Run, part: str, scores: str | None = None) -> list[Lost]:
    """Return the questions for which a part of the pipeline, such as `retriever`, lost something, the most
    lost first; raises UsageError for an unknown part."""
    if part not in LOST_BY:
        raise UsageError(f"--lost {part}: expected one of {', '.join(LOST_BY)}{suggest(part, LOST_BY)}")
    stage, profile, found = LOST_BY[part], run.profile(scores), []
    for view in run.questions():
        funnels = [funnel for repeat in view.repeats if (funnel := repeat.under(profile).funnel) is not None]
        shares = [funnel.lost[stage] for funnel in funnels if stage in funnel.lost and not funnel.left_out]
        if shares and sum(shares) > 0:
            phrases = dict.fromkeys(
                phrase for funnel in funnels for phrase, where in funnel.missed.items() if where == stage
            )
            item = view.question
            share = sum(shares) / len(shares)
            found.append(Lost(item.id, item.category, item.text, share, tuple(phrases)))
    return sorted(found, key=lambda one: -one.share)


def loss_sentence(question: Question, repeat: ScoredRepeat) -> str | None:
    """Say which part of the pipeline lost most of what an answer lacks; `None` where nothing was lost or
    that is not known."""
    if repeat.error:
        return "No answer: the call failed."
    funnel = next((one.funnel for one in repeat.scores.values() if one.funnel), None)
    gold = {(one.document, one.page) for one in question.evidence if one.page is not None}
    numbers = ", ".join(map(str, sorted({page for _, page in gold if page is not None})))
    pages = numbers and (f"pages {numbers} were" if "," in numbers else f"page {numbers} was")
    found = any(
        any((hit.document, page) in gold for page in hit.pages) if hit.gold is None else hit.gold
        for hit in repeat.hits or ()
    )
    if funnel is None or not any(funnel.lost.values()):
        if all(one.correctness in (None, 1) for one in repeat.scores.values()):
            return None
        if repeat.hits == ():
            return "Nothing was retrieved."
        known = funnel is None and pages and repeat.hits is not None and not found
        return f"Lost by the retriever: {pages} not found." if known else None
    if funnel.left_out:
        return None
    stage = max(funnel.lost, key=lambda name: funnel.lost[name])  # the earliest of several
    missed = [f"'{phrase}'" for phrase, where in funnel.missed.items() if where == stage]
    what = " and ".join(missed) or "a part of the answer"
    retrieved = f"{pages} found, but not the passage with {what}"
    if not found:
        retrieved = f"{f'{pages} not found, and ' if pages else ''}{what} is in no retrieved text"
    words = {
        "documents": f"{what} is not in the text that was read",
        "retrieved": retrieved,
        "prompt": f"the passage with {what} was retrieved, but did not fit into the prompt",
        "answer": f"{what} was {'in the prompt' if repeat.prompt else 'retrieved'}, but is not in the answer",
    }
    part = next(name for name, each in LOST_BY.items() if each == stage)
    return f"Lost by the {'prompt limit' if part == 'prompt' else part}: {words[stage]}."


def lost_panel(run: Run, part: str, name: str) -> Iterator[RenderableType]:
    """Show the questions for which a part of the pipeline lost phrases, with these phrases."""
    found = lost_questions(run, part)
    stage = run.figures().funnel
    overall = stage.overall.at(LOST_BY[part]).lost if stage else None
    if overall is None:
        yield Text(f"what the {part} lost is not known of this run")
        return
    yield Text(f"lost by the {part}: {figure(overall)}, from {amount(len(found), 'question')}")
    if not found:
        return
    grid = Grid("id", "lost", "missing", "question")
    for one in found:
        missing = ", ".join(f"'{plain(phrase)}'" for phrase in one.phrases)
        grid.add_row(plain(one.id), figure(one.share), missing, shorten(one.question, TEXT))
    yield Text()
    yield grid
    yield Text()
    yield Text(f"next   fathoms show {name} --question {plain(found[0].id)}", no_wrap=True, overflow="ignore")
