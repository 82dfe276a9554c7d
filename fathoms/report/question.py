"""Shows one question in full on the terminal: the question, retrieved context, prompt, answers and scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fathoms.metrics.stages import STAGES
from fathoms.report.ending import dollars
from fathoms.report.table import figure
from fathoms.report.text import gold, plain, shorten

HIT = 160


def question_panel(view: Mapping[str, Any]) -> list[RenderableType]:
    """Build the report of one question, with all its repeats, from its view (`questions/<id>.json`)."""
    question = view["question"]
    parts: list[RenderableType] = [
        Text(plain(question["id"]), style="bold"),
        field("question", question.get("text")),
        field("category", question.get("category")),
        field("files", ", ".join(map(str, question.get("files") or ()))),
        field("gold", gold(question)),
    ]
    for repeat in view.get("repeats") or ():
        parts += repeat_parts(repeat)
    return parts


def field(name: str, value: object) -> Text:
    """Format a labelled value, `n/a` if it is empty."""
    return Text.assemble((f"{name}: ", "bold"), "n/a" if value in (None, "") else plain(value))


def repeat_parts(repeat: Mapping[str, Any]) -> list[RenderableType]:
    """Show one answer to the question, or its failure."""
    parts: list[RenderableType] = [Text(f"\nrepeat {repeat.get('repeat', 0)}", style="bold")]
    if repeat.get("hits"):
        parts.append(hit_table(repeat["hits"]))
    elif repeat.get("hits", ()) is None:
        parts.append(field("retrieved", "not known: the pipeline does not tell"))
    prompt = repeat.get("prompt") or {}
    if prompt:
        size = "n/a" if prompt.get("tokens") is None else prompt["tokens"]
        cut = ", cut by the server" if (repeat.get("answer") or {}).get("prompt_cut") else ""
        parts.append(field("prompt", f"{size} tokens, {len(prompt.get('cuts') or ())} chunks cut{cut}"))
    error = repeat.get("error")
    if error:
        parts.append(field("failed", f"{error.get('kind')}: {error.get('message')}"))
    else:
        answer = repeat.get("answer") or {}
        if answer.get("refusal"):
            parts.append(field("refused", answer["refusal"]))
        parts.append(field("answer", answer.get("text")))
        parts.append(field("took", taken(answer, repeat.get("timings") or {})))
    if repeat.get("scores"):
        scores = repeat["scores"]
        parts += [score_lines(scores), *why_lines(scores), *funnel_lines(scores)]
    return parts


def taken(answer: Mapping[str, Any], timings: Mapping[str, float]) -> str:
    """Format the tokens, cost and seconds of an answer, as far as they are known."""
    usage, seconds = answer.get("usage") or {}, timings.get("generate")
    tokens = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    parts = ["tokens not known" if None in tokens else f"{tokens[0]} + {tokens[1]} tokens"]
    parts.append("cost not known" if answer.get("cost") is None else dollars(answer["cost"]))
    parts += [f"{seconds:.1f} s"] if seconds is not None else []
    return ", ".join(parts) + (" (in an earlier run)" if answer.get("cached") else "")


def hit_table(hits: list[Mapping[str, Any]]) -> Table:
    """List the retrieved chunks with the start of their texts."""
    table = Table("rank", "score", "document", "pages", "text", box=box.SIMPLE_HEAD, pad_edge=False)
    for hit in hits:
        pages = ", ".join(map(str, hit.get("pages") or ()))
        texts = (shorten(hit.get("document", ""), 40), pages, shorten(hit.get("text") or "", HIT))
        table.add_row(str(hit.get("rank")), figure(hit.get("score")), *map(Text, texts))
    return table


def why_lines(scores: Mapping[str, Mapping[str, Any]]) -> list[Text]:
    """Show the clause or the example that decided whether an answer abstained, one line per profile that has
    one."""
    lines = []
    for profile, values in scores.items():
        why = values.get("why") or {}
        if quote := why.get("clause") or why.get("nearest"):
            reason = why.get("reason") or "nearest exemplar"
            lines.append(
                Text(plain(f"{profile}: {values.get('abstention')}: {quote} ({reason})"), style="dim")
            )
    return lines


def score_lines(scores: Mapping[str, Mapping[str, Any]]) -> Table:
    """Show the scores with one line per profile, and the phrases that were missed."""
    table = Table("profile", "correct", "halluc.", "abstained", "missed", box=box.SIMPLE_HEAD, pad_edge=False)
    for profile, values in scores.items():
        label = values.get("abstained")
        abstained = "n/a" if label is None else "yes" if label else "no"
        figures = (figure(values.get("correctness")), figure(values.get("hallucination")), abstained)
        missed = plain(" + ".join(map(str, values.get("missed") or ())))
        table.add_row(Text(plain(profile)), *figures, Text(missed))
    return table


def funnel_lines(scores: Mapping[str, Mapping[str, Any]]) -> list[RenderableType]:
    """Show phrase recall at each stage by profile, and the stage that lost each missed phrase."""
    table = Table("profile", *STAGES, "missing from", box=box.SIMPLE_HEAD, pad_edge=False)
    for profile, values in scores.items():
        funnel = values.get("funnel")
        if not funnel:
            continue
        if funnel.get("left_out"):
            found, missed = ["n/a"] * len(STAGES), f"left out: {funnel['left_out']}"
        else:
            found = [figure(funnel.get(stage)) for stage in STAGES]
            missed = "; ".join(f"{phrase}: {stage}" for phrase, stage in funnel["missed"].items())
        table.add_row(Text(plain(profile)), *found, Text(plain(missed)))
    return [table] if table.row_count else []
