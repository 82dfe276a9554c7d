"""Shows one question in full on the terminal: the question, retrieved context, prompt, answers and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from fathoms.errors import amount, some_of
from fathoms.metrics.names import EVIDENCE_DOCUMENTS, GOLD_PAGES
from fathoms.metrics.stages import STAGES
from fathoms.report.evidence_documents import question_sentence
from fathoms.report.funnel import NOT_COUNTED
from fathoms.report.gold_pages import AGREEMENT, HEADS, PAGE_STAGES
from fathoms.report.grid import Grid
from fathoms.report.grouping import label
from fathoms.report.lost import loss_sentence
from fathoms.report.metrics_table import answer_metrics
from fathoms.report.read_answer import read_answer
from fathoms.report.text import gold, plain, shorten, yes_or_no
from fathoms.text.amounts import dollars, duration, figure
from fathoms.types import HISTORY, Citation, Question, Reply, ToolCall
from fathoms.types.run.figures import ProfileFigures
from fathoms.types.run.part import Number
from fathoms.types.run.rows import (
    AnswerScores,
    MetricScore,
    ScoredQuestion,
    ScoredRepeat,
    ShownHit,
    ShownPart,
    ShownRound,
)

HIT, ASIDE = 160, 90
HITS, ITEMS = 20, 12
"""How many hits, and parts of a value of the metadata, are shown unless all are wanted."""


def question_panel(
    view: ScoredQuestion, figures: ProfileFigures | None = None, *, everything: bool = False
) -> list[RenderableType]:
    """Build the report of one question, with all its repeats. `figures` are those of the run under `fathoms`,
    which say what was set aside of its answers. Long lists are cut unless `everything` is wanted."""
    question = view.question
    parts: list[RenderableType] = [
        Text(plain(question.id), style="bold"),
        field("question", question.text),
        field("category", question.category),
        field("files", ", ".join(question.files)),
        field("gold", gold(question)),
    ]
    others = {key: value for key, value in question.metadata.items() if key != HISTORY}
    if others:
        shown = {k: label(v) if everything else _cut(label(v)) for k, v in others.items()}
        parts.append(field("metadata", ", ".join(f"{k} {v}" for k, v in shown.items())))
    if HISTORY in question.metadata:
        lines = label(question.metadata[HISTORY]).split("\n")
        parts += [Text("said before:", style="bold"), *(Text(f"  {plain(line)}") for line in lines)]
    for repeat in view.repeats:
        parts += repeat_parts(repeat, question, figures or ProfileFigures(), everything=everything)
    return parts


def _cut(text: str) -> str:
    """Cut a text that lists many things, such as the rows of a computed answer."""
    items = text.split(", ")
    left = len(items) - ITEMS
    return text if left <= 0 else f"{', '.join(items[:ITEMS])} and {left} more (--all)"


def field(name: str, value: object) -> Text:
    """Format a labelled value, `n/a` if it is empty."""
    return Text.assemble((f"{name}: ", "bold"), "n/a" if value in (None, "") else plain(value))


def repeat_parts(
    repeat: ScoredRepeat, question: Question, figures: ProfileFigures, *, everything: bool
) -> list[RenderableType]:
    """Show one answer to the question, or its failure."""
    parts: list[RenderableType] = [Text(f"\nrepeat {repeat.repeat}", style="bold")]
    if lost := loss_sentence(question, repeat):
        parts.append(Text(plain(lost)))
    if repeat.hits:
        hits = repeat.hits if everything else repeat.hits[:HITS]
        parts.append(hit_table(hits))
        if left := len(repeat.hits) - len(hits):
            parts.append(Text(f"and {left} more (--all)", style="dim"))
    elif repeat.hits is None:
        parts.append(field("retrieved", "not known: the pipeline does not report it"))
    for number, one in enumerate(repeat.rounds, start=1):
        parts += [field(f"round {number}", round_line(one)), *([hit_table(one.hits)] if one.hits else [])]
    parts += [field(f"tool {number}", tool_line(one)) for number, one in enumerate(repeat.tools, start=1)]
    answer = repeat.answer or Reply(text="")
    if prompt := repeat.prompt:
        size = "n/a" if prompt.tokens is None else prompt.tokens
        cut = ", cut by the server" if answer.prompt_cut else ""
        parts.append(field("prompt", f"{size} tokens, {len(prompt.cuts)} chunks cut{cut}"))
        if own := [part for part in prompt.parts if part.document]:
            parts.append(field("asked by itself", documents_line(own)))
    if repeat.error:
        parts.append(field("failed", f"{repeat.error.kind}: {repeat.error.message}"))
    elif repeat.answer is None:
        parts.append(Text("only searched for: nobody was asked for an answer", style="dim"))
    else:
        if answer.refusal:
            parts.append(field("refused", answer.refusal))
        parts.append(field("answer", answer.text))
        if reading := read_answer(repeat, question, figures):
            parts += [
                Text(f"  not scored ({kind}): {shorten(text, ASIDE)}", style="dim")
                for kind, text in dict.fromkeys(
                    (kind, answer.text[start:end]) for kind, start, end in reading.parts
                )
            ]
        if repeat.citations:
            named = dict.fromkeys(cited(one, repeat.hits) for one in repeat.citations)
            parts.append(field("cited", "; ".join(named)))
        parts.append(field("took", taken(answer, repeat.timings.get("generate"))))
    if (scores := repeat.scores) and repeat.only_searched:
        parts += funnel_lines(scores)
    elif scores:
        parts += [score_lines(scores), *why_lines(scores), *funnel_lines(scores)]
    parts += page_lines(repeat)
    if documents := question_sentence(repeat.metrics):
        parts.append(field("evidence documents", documents))
    apart = {*GOLD_PAGES, *EVIDENCE_DOCUMENTS}
    parts += [field(name, text) for name, text in answer_metrics(repeat) if name not in apart]
    return [*parts, *claim_lines(repeat)]


def documents_line(parts: Sequence[ShownPart]) -> str:
    """Say of how many documents the answers were combined, and which were left out and why."""
    combined = sum(part.state == "combined" for part in parts)
    failed = [f"{part.document} ({part.error.message})" for part in parts if part.error]
    silent = [part.document or "" for part in parts if part.nothing]
    left_out = [
        f"; {what}: {some_of(names)}"
        for what, names in (("failed", failed), ("nothing found", silent))
        if names
    ]
    return f"{amount(len(parts), 'document')}, {combined} combined{''.join(left_out)}"


def tool_line(call: ToolCall) -> str:
    """Say what a tool was given and what it gave back, both cut."""
    gave = f"failed: {call.error}" if call.error else call.result
    took = "" if call.seconds is None else f" ({call.seconds:.2f} s)"
    return f"{call.name}({shorten(call.arguments, ASIDE)}){took}: {shorten(gave, ASIDE)}"


def claim_lines(repeat: ScoredRepeat) -> list[Text]:
    """Show the judged claims, one line for each thing that they were compared with."""
    whose = {"answer": "the answer", "gold": "the gold answer"}
    return [
        field(
            f"claims of {whose.get(one['of'], one['of'])}, compared with {one['by']}",
            " | ".join(
                f"{row['label']}: {row['claim']}" + (f" ({row['premise']})" if row.get("premise") else "")
                for row in one["claims"]
            ),
        )
        for one in (repeat.claims.get("compared", []) if repeat.claims else ())
    ]


def round_line(one: ShownRound) -> str:
    """Describe a round of retrieval: `height of the tower (3 chunks, 1 call to models)`."""
    facts = ["1 chunk" if len(one.hits) == 1 else f"{len(one.hits)} chunks"]
    if one.calls is not None:
        facts.append("1 call to models" if one.calls == 1 else f"{one.calls} calls to models")
    return f"{one.query or 'the search text is not known'} ({', '.join(facts)})"


def cited(citation: Citation, hits: Sequence[ShownHit] | None) -> str:
    """Format a citation: `2 (b.pdf, page 3)`, and `9 (not retrieved)` where it names no hit."""
    page = "" if citation.page is None else f", page {citation.page}"
    place = f"{citation.document}{page}" if citation.document else ""
    notes = [
        place if place != citation.label else "",
        "not retrieved" if hits is not None and not citation.ranks else "",
    ]
    if citation.label is None:
        return ", ".join(filter(None, notes))
    return f"{citation.label} ({', '.join(filter(None, notes))})" if any(notes) else citation.label


def taken(answer: Reply, seconds: Number | None) -> str:
    """Format the tokens, cost and seconds of an answer, as far as they are known."""
    tokens = [answer.usage.prompt_tokens, answer.usage.completion_tokens]
    parts = ["tokens not known" if None in tokens else f"{tokens[0]} tokens in, {tokens[1]} out"]
    parts.append("cost not known" if answer.cost is None else dollars(answer.cost))
    parts += [duration(seconds)] if seconds is not None else []
    return ", ".join(parts) + (" (in an earlier run)" if answer.cached else "")


def hit_table(hits: Sequence[ShownHit]) -> Grid:
    """List the retrieved chunks with the start of their texts."""
    table = Grid("rank", "score", "document", "pages", "text")
    for hit in hits:
        pages = ", ".join(map(str, hit.pages))
        texts = (shorten(hit.source, 40), pages, shorten(hit.text, HIT))
        table.add_row(str(hit.rank), figure(hit.score), *map(Text, texts))
    return table


def why_lines(scores: Mapping[str, AnswerScores]) -> list[Text]:
    """Show the clause or the example that decided on an abstention, one line per profile that has one."""
    lines = []
    for profile, values in scores.items():
        why = values.why or {}
        if quote := why.get("clause") or why.get("nearest"):
            reason = why.get("reason") or "nearest exemplar"
            lines.append(Text(plain(f"{profile}: {values.abstention}: {quote} ({reason})"), style="dim"))
    return lines


def score_lines(scores: Mapping[str, AnswerScores]) -> Grid:
    """Show the scores with one line per profile, and the phrases that were missed."""
    missed = any(values.missed for values in scores.values())
    table = Grid("profile", "correct", "halluc.", "abstained", *["missed"] * missed)
    for profile, values in scores.items():
        figures = (figure(values.correctness), figure(values.hallucination), yes_or_no(values.abstained))
        phrases = [Text(plain(" + ".join(values.missed or ())))] * missed
        table.add_row(Text(plain(profile)), *figures, *phrases)
    return table


def page_lines(repeat: ScoredRepeat) -> list[RenderableType]:
    """Show how many of the gold pages reached each stage, which did not, and whether the reading by phrases
    agrees; empty if the question has no gold page."""
    found = [repeat.metrics.get(name, MetricScore()) for name in PAGE_STAGES]
    if all(one.get("value") is None for one in found):
        return []
    table = Grid("gold pages", *HEADS)
    table.add_row("share", *(figure(one.get("value")) for one in found))
    missing = [plain(one.get("why", {}).get("missing", "")) for one in found]
    if any(missing):
        table.add_row("missing", *map(Text, missing))
    meaning = repeat.metrics.get(AGREEMENT, MetricScore()).get("why", {}).get("meaning")
    return [table, *([field("retrieval by pages and by phrases", meaning)] if meaning else [])]


def funnel_lines(scores: Mapping[str, AnswerScores]) -> list[RenderableType]:
    """Show phrase recall at each stage by profile, and the stage that lost each missed phrase."""
    funnels = {profile: values.funnel for profile, values in scores.items() if values.funnel}
    has_missing = any(funnel.left_out or funnel.missed for funnel in funnels.values())
    table = Grid("profile", *STAGES, *["missing from"] * has_missing)
    for profile, funnel in funnels.items():
        if funnel.left_out:
            found = ["n/a"] * len(STAGES)
            missed = f"not counted: {NOT_COUNTED.get(funnel.left_out, funnel.left_out)}"
        else:
            found = [figure(funnel.recall(stage)) for stage in STAGES]
            missed = "; ".join(f"{phrase}: {stage}" for phrase, stage in funnel.missed.items())
        table.add_row(Text(plain(profile)), *found, *[Text(plain(missed))] * has_missing)
    return [table] if table.rows else []
