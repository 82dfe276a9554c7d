"""Shows one answer to a reviewer on the terminal, with control characters made visible.

Neither the run nor its model is named, so that reviewers judge the scores and not the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from fathoms.cli.asking import labelled
from fathoms.report.metrics_table import answer_metrics
from fathoms.report.text import gold, shorten, visible, yes_or_no
from fathoms.runs.ratings import Rating
from fathoms.text.amounts import figure
from fathoms.types import Question, Reply
from fathoms.types.run.rows import AnswerScores, ScoredRepeat

EXCERPT = 160
UNKNOWN = "not known: the pipeline does not report it"


def review_panel(
    place: str,
    question: Question,
    repeat: ScoredRepeat,
) -> list[RenderableType]:
    """Show the question, gold answer, start of each retrieved text, and answer, without any figure."""
    answer = repeat.answer or Reply(text="")
    parts: list[RenderableType] = [
        Rule(place, style="dim"),
        labelled("question", question.text),
        labelled("gold", gold(question)),
        labelled("contexts", excerpts(repeat), dim=True),
        labelled("answer", answer.text or "(empty)"),
    ]
    if answer.refusal:
        parts.append(labelled("refused", answer.refusal))
    return parts


def figures_panel(repeat: ScoredRepeat, scores: AnswerScores, before: Rating | None) -> list[RenderableType]:
    """Show the score, the verdicts and further metrics of an answer, and the reviewer's earlier rating
    `before`, if any."""
    missed = f" (missed: {' + '.join(scores.missed)})" if scores.missed else ""
    verdicts = f"{yes_or_no(scores.hallucination)}; abstained: {yes_or_no(scores.abstained)}"
    parts: list[RenderableType] = [labelled("score", f"correctness {figure(scores.correctness)}{missed}")]
    parts.append(labelled("hallucination", verdicts))
    parts += [labelled(name, text) for name, text in answer_metrics(repeat)]
    if before:
        said = f"score {before.score_rating or 'n/a'}, hallucination {before.flag_rating or 'n/a'}"
        parts.append(labelled("you said", f"{said}; {before.comment}" if before.comment else said))
    return parts


def excerpts(repeat: ScoredRepeat) -> str:
    """Return the start of each retrieved text."""
    found = [f"{label}: {shorten(visible(text), EXCERPT)}" for label, text in context_texts(repeat)]
    return "\n".join(found) or UNKNOWN


def context_panel(repeat: ScoredRepeat) -> list[RenderableType]:
    """Show the retrieved texts in full."""
    return [labelled(label, text or "(no text)") for label, text in context_texts(repeat)] or [Text(UNKNOWN)]


def context_texts(repeat: ScoredRepeat) -> Iterator[tuple[str, str]]:
    """Yield the texts that the answer is based on with their place: retrieved chunks, or else the prompt."""
    for hit in repeat.hits or ():
        pages = ", ".join(map(str, hit.pages))
        yield f"{hit.source}{f', page {pages}' if pages else ''}", hit.text
    if repeat.hits or not repeat.prompt:
        return
    if repeat.prompt.context:
        yield "prompt", repeat.prompt.context
        return
    for message in repeat.prompt.messages:
        yield message.role, message.text
