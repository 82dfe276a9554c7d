"""Shows one answer to a reviewer on the terminal, with control characters made visible.

Neither the run nor its model is named, so that reviewers judge the scores and not the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from fathoms.report.table import figure
from fathoms.report.text import gold, shorten, visible
from fathoms.runs.ratings import Rating

EXCERPT = 160
UNKNOWN = "not known: the pipeline does not tell"


def review_panel(
    place: str,
    question: Mapping[str, Any],
    repeat: Mapping[str, Any],
    scores: Mapping[str, Any],
    before: Rating | None,
) -> list[RenderableType]:
    """Show the question, gold answer, start of each retrieved text, answer, score and flag, and the
    reviewer's earlier rating `before`, if any."""
    answer = repeat.get("answer") or {}
    contexts = [f"{label}: {shorten(visible(text), EXCERPT)}" for label, text in context_texts(repeat)]
    parts: list[RenderableType] = [
        Rule(place, style="dim"),
        labelled("question", question.get("text")),
        labelled("gold", gold(dict(question))),
        labelled("contexts", "\n".join(contexts) or UNKNOWN, dim=True),
        labelled("answer", answer.get("text") or "(empty)"),
    ]
    if answer.get("refusal"):
        parts.append(labelled("refused", answer["refusal"]))
    parts += [labelled("score", score_words(scores)), labelled("flag", flag_words(scores))]
    if before:
        said = f"score {before.score_rating or 'n/a'}, flag {before.flag_rating or 'n/a'}"
        parts.append(labelled("you said", f"{said}; {before.comment}" if before.comment else said))
    return parts


def context_panel(repeat: Mapping[str, Any]) -> list[RenderableType]:
    """Show the retrieved texts in full."""
    return [labelled(label, text or "(no text)") for label, text in context_texts(repeat)] or [Text(UNKNOWN)]


def context_texts(repeat: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts that the answer is based on with their place: the retrieved chunks, or else the
    prompt."""
    for hit in repeat.get("hits") or ():
        pages = ", ".join(map(str, hit.get("pages") or ()))
        yield f"{hit.get('document', '')}{f', page {pages}' if pages else ''}", str(hit.get("text") or "")
    if repeat.get("hits"):
        return
    prompt = repeat.get("prompt") or {}
    if prompt.get("context"):
        yield "prompt", str(prompt["context"])
        return
    for message in prompt.get("messages") or ():
        yield str(message.get("role", "message")), str(message.get("text") or "")


def labelled(name: str, value: object, *, dim: bool = False) -> Text:
    """Format a labelled value that may have several lines."""
    return Text.assemble((f"{visible(name)}: ", "bold"), (visible(value or "n/a"), "dim" if dim else ""))


def score_words(scores: Mapping[str, Any]) -> str:
    """Describe the correctness, and the phrases that were missed."""
    missed = " + ".join(map(str, scores.get("missed") or ()))
    return f"correctness {figure(scores.get('correctness'))}" + (f" (missed: {missed})" if missed else "")


def flag_words(scores: Mapping[str, Any]) -> str:
    """Describe whether the answer was scored as a hallucination, and whether as an abstention."""
    hallucination, abstained = scores.get("hallucination"), scores.get("abstained")
    return f"hallucination: {yes_or_no(hallucination)}; abstained: {yes_or_no(abstained)}"


def yes_or_no(flag: object) -> str:
    """Format a flag."""
    return "n/a" if flag is None else "yes" if flag else "no"
