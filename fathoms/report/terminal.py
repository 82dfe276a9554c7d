"""Builds all figures of runs for the terminal, as tables that fit any width; the caller prints them.

All text is passed as `Text`, never as Rich markup, because names and answers come from others and may contain
markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fathoms.errors import UsageError, suggest
from fathoms.report.change import change
from fathoms.report.funnel import funnel_section
from fathoms.report.gold_pages import pages_section
from fathoms.report.grid import Grid, section_grid
from fathoms.report.leaderboard import leaderboard, run_labels
from fathoms.report.metrics_table import RETRIEVAL, metrics_sections
from fathoms.report.purposes import embedding_lines, purpose_lines
from fathoms.report.score_tables import category_sections
from fathoms.report.section import Section
from fathoms.report.sections import evidence_sections, reviews, sections
from fathoms.report.stage_times import times_section
from fathoms.report.text import plain, shorten
from fathoms.report.worst import Miss, first_messages, worst_questions
from fathoms.runs.order import creation_time
from fathoms.runs.run import Run
from fathoms.text.amounts import dollars, duration, figure, with_sign

WIDTH = 80
RETRIEVAL_ONLY = "retrieval only: nobody was asked for an answer"
MESSAGE = 300
"""The characters of a message or an answer that are shown."""


def everything(
    runs: Sequence[Run], scores: str | None = None, previous: Run | None = None
) -> list[RenderableType]:
    """Build all figures of some runs, each for itself and then side by side; `previous` is an earlier run, to
    which a single one is compared."""
    alone = [part for run in runs for part in summary_panel(run, previous, scores)]
    return alone if len(runs) == 1 else [*alone, *leaderboard_panel(runs, scores)]


def summary_panel(run: Run, previous: Run | None = None, scores: str | None = None) -> list[RenderableType]:
    """Build all figures of a run: scores, failures, the change since `previous`, worst questions. A run
    that only searched has its retrieval instead."""
    profile = run.profile(scores)
    if run.summary.all_failed:
        return [heading(run, profile), counts_line(run), *not_read(run), *failures(run, profile)]
    parts = [heading(run, profile), *scores_panel([run], scores), *drawn(sections([run]))]
    parts += drawn(metrics_sections([run], scores))
    parts += drawn([funnel_section([run], scores), *evidence_sections([run], scores)])
    parts += [*drawn([times_section([run])]), *spent(run, profile)]
    if previous is not None and not run.summary.retrieval_only:
        parts.append(change_line(run, previous, profile))
    parts += worst_table(worst_questions(run, profile))
    return [*parts, *review_tables([run], scores)]


def spent(run: Run, profile: str) -> list[RenderableType]:
    """Show what a run asked and took, what it could not read, and its failures."""
    lines = [*purpose_lines(run), *embedding_lines(run)]
    first = [counts_line(run), *map(note, lines), *cut_by_server(run), *not_read(run)]
    return [*first, *failures(run, profile)]


SECTIONS: dict[str, Callable[[Sequence[Run], str | None], Sequence[Section | None]]] = {
    "scores": lambda runs, scores: category_sections(answered_of(runs), scores),
    "lost": lambda runs, scores: [funnel_section(runs, scores)],
    "pages": lambda runs, scores: [pages_section(runs, scores)],
    "abstention": lambda runs, scores: [one for one in evidence_sections(runs, scores) if one.key != "pages"],
    "time": lambda runs, scores: [times_section(runs)],
    "retrieval": lambda runs, scores: [
        *(one for one in sections(runs) if one.key in ("search", "within", "modalities", "documents")),
        *metrics_sections(runs, scores, groups=(RETRIEVAL,)),
    ],
    "metrics": lambda runs, scores: metrics_sections(runs, scores, ("all",)),
    "tables": lambda runs, scores: sections(runs),
}
"""The tables of the groups that `--only` names, which a report also writes as files."""
MORE: dict[str, Callable[[Run, str], Sequence[RenderableType]]] = {
    "time": lambda run, profile: spent(run, profile),
    "worst": lambda run, profile: worst_table(worst_questions(run, profile)),
    "reviews": lambda run, profile: review_tables([run], profile),
}
"""What the groups that `--only` names have on the terminal besides tables."""
ONLY = tuple(dict.fromkeys([*SECTIONS, *MORE]))


def group_sections(runs: Sequence[Run], names: Iterable[str], scores: str | None) -> list[Section]:
    """Return the tables that runs have in some groups of `--only`, each once."""
    found = (one for name in names if name in SECTIONS for one in SECTIONS[name](runs, scores))
    return list({one.key: one for one in found if one is not None}.values())


def answered_of(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that did not only search."""
    return [run for run in runs if not run.summary.retrieval_only]


def require_groups(names: Iterable[str]) -> None:
    """Raise UsageError for an unknown name of a group."""
    for name in names:
        if name not in ONLY:
            raise UsageError(f"--only {name}: there is no such group of figures{suggest(name, ONLY)}")


def only(runs: Sequence[Run], names: Sequence[str]) -> Iterator[RenderableType]:
    """Show some groups of figures of each run; raises as `require_groups` does."""
    require_groups(names)
    for run in runs:
        profile = run.profile()
        yield heading(run, profile)
        more = [part for name in names if name in MORE for part in MORE[name](run, profile)]
        shown = [*drawn(group_sections([run], names, profile)), *more]
        yield from shown or [note(f"{' and '.join(names)}: nothing is known of this run")]


def heading(run: Run, profile: str) -> Text:
    """Show the run's name, model, data set and scoring rules."""
    figures = run.figures(profile)
    rules = [f"match: {figures.match}"] if figures.match else []
    rules += [f"hyphens: {figures.hyphens}"] if figures.hyphens else []
    if (classifier := figures.classifier) and not run.summary.retrieval_only:
        kind = classifier if isinstance(classifier, str) else classifier["kind"]
        rules.append(f"abstentions classified by {plain(kind)}")
    text = Text(plain(run.name), style="bold")
    for part in (run.summary.model, run.summary.data):
        if part:
            text.append(f"  {plain(part)}", style="not bold")
    said = f"profile {profile}" + (f" ({', '.join(rules)})" if rules else "")
    said = f"{RETRIEVAL_ONLY}\n{said}" if run.summary.retrieval_only else said
    return text.append(f"\n{said}", style="not bold dim")


def with_blank_lines(table: RenderableType) -> Group:
    """Add an empty line above and below a table."""
    return Group(Text(), table, Text())


def note(text: str) -> Text:
    """Return a text as a dimmed footnote for the terminal."""
    return Text(plain(text), style="dim")


def with_ids(text: str, style: str = "dim") -> Text:
    """Return a line with ids of runs, which is never broken, so that the ids can be copied."""
    return Text(plain(text), style=style, no_wrap=True, overflow="ignore")


def leaderboard_panel(
    runs: Sequence[Run],
    scores: str | None = None,
    metrics: Sequence[str] = (),
) -> list[RenderableType]:
    """Show several runs side by side. `metrics` are further metrics to show. Runs that only searched have no
    scores, but their metrics are shown."""
    further = [
        *drawn(sections(runs)),
        *drawn(metrics_sections(runs, scores, metrics)),
        *drawn([times_section(runs)]),
        *review_tables(runs, scores),
    ]
    first = [heading(runs[0], runs[0].profile(scores))] if len(runs) == 1 else []
    return [*first, *scores_panel(runs, scores), *further]


def drawn(found: Iterable[Section | None]) -> Iterator[RenderableType]:
    """Show some tables with their notes."""
    for section in found:
        if section is not None:
            yield from [with_blank_lines(section_grid(section))] if section.rows else []
            yield from map(note, section.notes)


def scores_panel(runs: Sequence[Run], scores: str | None = None) -> Iterator[RenderableType]:
    """Show the scores of runs by category and the ids of several, and of runs that only searched what there
    is to say about them."""
    answered = answered_of(runs)
    yield from drawn(category_sections(answered, scores))
    if len(runs) > 1:
        yield from (
            with_ids(run.original_id if run.original_id in label else f"{label}: {run.original_id}")
            for label, run in zip(run_labels(answered), answered, strict=True)
        )
    if searched := [run for run in runs if run.summary.retrieval_only]:
        scored = leaderboard(searched, scores)
        if len(runs) > 1:
            yield Text(RETRIEVAL_ONLY, style="bold")
            yield from (with_ids(f"{row.label}{row.mark}: {row.run}") for row in scored.rows)
        yield from map(note, scored.notes)


def review_tables(runs: Sequence[Run], scores: str | None) -> list[RenderableType]:
    """Show how far human reviewers agree with the scores; empty if there are no reviews."""
    found = reviews(runs, scores)
    if found is None:
        return []
    parts: list[RenderableType] = []
    for headers, lines in found.tables:
        table = Grid(*headers)
        for cells in lines:
            table.add_row(*(plain(cell) for cell in cells))
        parts.append(with_blank_lines(table))
    return [*parts, *map(note, found.remarks)]


def counts_line(run: Run) -> Text:
    """Sum up the questions asked and answered, the tokens, the cost and the time on one line."""
    summary, counts, usage = run.summary, run.summary.counts, run.summary.usage
    questions = f"{counts.asked or 0} of {counts.questions or 0} questions asked"
    parts = [questions] if run.summary.retrieval_only else [questions, f"{counts.answered or 0} answered"]
    if counts.searched:
        parts.append(f"{counts.searched} only searched for")
    parts.append(f"{counts.errors or 0} failed")
    if counts.refused:
        parts.append(f"{counts.refused} refused")
    labels = summary.profiles["fathoms"].labels if "fathoms" in summary.profiles else {}
    if empty := labels.get("empty"):
        parts.append(f"{empty} of {counts.asked or 0} replies {'was' if empty == 1 else 'were'} empty")
    parts += [found for found in counts.rubbish if not found.endswith(" empty")]
    if counts.unended:
        parts.append(f"{counts.unended} without a finish reason")
    if summary.retried:
        parts.append(summary.retried)
    if "asks-back" in labels:
        parts.append(f"{labels['asks-back']} asked back")
    if counts.cut_prompts:
        parts.append(f"{counts.cut_prompts} prompts cut")
    if usage.prompt_tokens or (usage.prompt_tokens is not None and not run.summary.retrieval_only):
        parts.append(f"{usage.prompt_tokens} tokens in, {usage.completion_tokens or 0} out")
    cost = summary.known_cost
    if cost or (cost is not None and not run.summary.retrieval_only):
        parts.append(f"cost {dollars(cost)}")
    if summary.seconds.wall is not None:
        parts.append(duration(summary.seconds.wall))
    return note(", ".join(parts))


def cut_by_server(run: Run) -> list[Text]:
    """Warn if the model server truncated prompts; empty if it did not."""
    number = run.summary.counts.cut_by_server
    if not number:
        return []
    subject = "1 prompt was" if number == 1 else f"{number} prompts were"
    return [Text(f"{subject} cut by the server: raise generate.n_ctx or retrieve less", style="red")]


def not_read(run: Run) -> list[Text]:
    """List the documents that could not be read, one per line."""
    failed = run.manifest.ingest.failures.items()
    return [Text(plain(f"not read: {document}: {reason}")) for document, reason in failed]


def failures(run: Run, profile: str) -> list[RenderableType]:
    """Show the number of failures of each kind, with the first message of each."""
    kinds = run.summary.errors
    if not kinds:
        return []
    messages = first_messages(run)
    grid = Grid("failed", "kind", "first message")
    for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1]):
        grid.add_row(str(count), plain(kind), shorten(messages.get(kind, ""), MESSAGE))
    return [with_blank_lines(grid)]


def change_line(run: Run, previous: Run, profile: str) -> Text:
    """Describe the change since an earlier run in one sentence."""
    found = change(run, previous, profile)
    time = creation_time(found.previous)
    start = f"Change since {plain(found.previous if time == '-' else f'{previous.name} of {time}')}: "
    if found.obstacle:
        return Text(f"{start}not comparable, {found.obstacle}")
    deltas = (found.correctness, found.hallucination)
    correctness, hallucination = map(with_sign, deltas)
    return Text(f"{start}correctness {correctness}, hallucination {hallucination} (the same questions)")


def worst_table(misses: Sequence[Miss]) -> list[RenderableType]:
    """List the worst questions with what was answered; empty if there are none."""
    if not misses:
        return []
    grid = Grid("id", "corr.", "hall.", "worst questions", "answer")
    for miss in misses:
        answer = Text(shorten(miss.error or miss.answer, MESSAGE), style="red" if miss.error else "")
        scores = (figure(miss.correctness), figure(miss.hallucination))
        grid.add_row(plain(miss.id), *scores, shorten(miss.question, MESSAGE), answer)
    return [with_blank_lines(grid)]
