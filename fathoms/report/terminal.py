"""Builds all figures of runs for the terminal, as tables that fit any width; the caller prints them.

All text is passed as `Text`, never as Rich markup, because names and answers come from others and may contain
markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fathoms.config import suggest
from fathoms.errors import UsageError
from fathoms.report.change import change
from fathoms.report.evidence import evidence_section
from fathoms.report.funnel import funnel_section
from fathoms.report.gold_pages import pages_section
from fathoms.report.grid import Grid, section_grid
from fathoms.report.leaderboard import (
    Leaderboard,
    both_counts,
    interval_note,
    leaderboard,
    with_interval,
)
from fathoms.report.metrics_table import RETRIEVAL, RETRIEVAL_HEADS, MetricTable, listed_parts, metric_table
from fathoms.report.outcomes import abstention_section
from fathoms.report.purposes import embedding_lines, purpose_lines
from fathoms.report.section import Section
from fathoms.report.sections import reviews, sections
from fathoms.report.shrunk import HEADS, NOTE, TOO_FEW, shrunk_tables
from fathoms.report.stage_times import times_section
from fathoms.report.text import plain, shorten
from fathoms.report.worst import Miss, first_messages, worst_questions
from fathoms.runs.run import Run
from fathoms.text.amounts import dollars, duration, figure, with_sign
from fathoms.types.run.figures import MeanScores

WIDTH = 80
METRICS = ("corr.", "hall.", "n")
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
    """Build all figures of a run: scores, failures, the change since `previous`, worst questions. Of a run
    that only searched, what is known of its retrieval."""
    profile = run.profile(scores)
    if run.summary.all_failed:
        return [heading(run, profile), counts_line(run), *not_read(run), *failures(run, profile)]
    parts = [heading(run, profile), *run_table(run, scores), *drawn(sections([run]))]
    parts += metrics_panel([run], scores)
    parts += drawn([funnel_section([run], scores), pages_section([run], scores), *evidence([run], scores)])
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
    "lost": lambda runs, scores: [funnel_section(runs, scores)],
    "pages": lambda runs, scores: [pages_section(runs, scores)],
    "abstention": lambda runs, scores: evidence(runs, scores),
    "time": lambda runs, scores: [times_section(runs)],
    "tables": lambda runs, scores: sections(runs),
}
"""The tables of the groups that `--only` names, which a report also writes as files."""


def group_sections(runs: Sequence[Run], names: Iterable[str], scores: str | None) -> list[Section]:
    """Return the tables that runs have in some groups of `--only`."""
    found = (one for name in names if name in SECTIONS for one in SECTIONS[name](runs, scores))
    return [one for one in found if one is not None and one.rows]


def evidence(runs: Sequence[Run], scores: str | None) -> list[Section | None]:
    """Return the tables of what runs answered and where they abstained; `None` for one that they lack."""
    answered = [run for run in runs if not run.summary.retrieval_only]
    return [evidence_section(runs, scores), abstention_section(answered, scores)]


ONLY: dict[str, Callable[[Run, str], Iterable[RenderableType]]] = {
    "scores": lambda run, profile: run_table(run, profile),
    "lost": lambda run, profile: drawn(SECTIONS["lost"]([run], profile)),
    "retrieval": lambda run, profile: [
        *drawn(sections([run]), ("search", "within", "modalities")),
        *metrics_panel([run], profile, group=RETRIEVAL),
    ],
    "pages": lambda run, profile: drawn(SECTIONS["pages"]([run], profile)),
    "abstention": lambda run, profile: drawn(SECTIONS["abstention"]([run], profile)),
    "time": lambda run, profile: [*drawn(SECTIONS["time"]([run], profile)), *spent(run, profile)],
    "metrics": lambda run, profile: metrics_panel([run], profile, ("all",)),
    "worst": lambda run, profile: worst_table(worst_questions(run, profile)),
    "reviews": lambda run, profile: review_tables([run], profile),
    "tables": lambda run, profile: drawn(SECTIONS["tables"]([run], profile)),
}
"""What `--only` shows of each run, by its name."""


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
        shown = [part for name in names for part in ONLY[name](run, profile)]
        yield from shown or [note(f"{' and '.join(names)}: nothing is known of this run")]


def heading(run: Run, profile: str) -> Text:
    """Show the run's name, model, data set and scoring rules."""
    figures = run.figures(profile)
    rules = [f"match {figures.match}"] if figures.match else []
    rules += [f"hyphens {figures.hyphens}"] if figures.hyphens else []
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


def run_table(run: Run, scores: str | None = None) -> list[RenderableType]:
    """Show one run as a table with a line for each category; of a run that only searched, the notes alone."""
    scored = leaderboard([run], scores)
    if run.summary.retrieval_only:
        return [*map(note, scored.notes)]
    (row,) = scored.rows
    table = Grid(
        plain(run.grouped_by or "category"), "correctness", "hallucination", "abstained", "n", "errors"
    )
    overall = f"Overall{row.mark} (mean of the {'groups' if run.grouped_by else 'categories'})"
    table.add_row(overall, *texts(row.overall), style="bold")
    table.add_row("Mean of the questions", *texts(row.micro), style="dim")
    for category in scored.categories:
        table.add_row(plain(category), *texts(row.cell(category)))
    meaning = interval_note(run, row.profile)
    return [with_blank_lines(table), *map(note, [meaning] if meaning else []), *map(note, scored.notes)]


def texts(means: MeanScores) -> list[str]:
    """Format the columns of one line in the table of one run."""
    rates = (with_interval(means, "correctness"), with_interval(means, "hallucination"))
    return [*rates, figure(means.abstention), both_counts(means), str(means.errors)]


def metrics_panel(
    runs: Sequence[Run], scores: str | None = None, asked: Sequence[str] = (), group: str | None = None
) -> list[RenderableType]:
    """Show the further metrics of some runs and then those of retrieval, or with `group` these alone, one
    line per run and metric; empty if there are none. Parts of a metric with a figure of their own stand below
    it."""
    heads = ("metric", "overall [95 %]", "mean of questions")
    further = () if group else _metric_lines(metric_table(runs, scores, asked), *heads, several=len(runs) > 1)
    retrieval = metric_table(runs, scores, asked, RETRIEVAL)
    return [*further, *_metric_lines(retrieval, *RETRIEVAL_HEADS, several=len(runs) > 1)]


def _metric_lines(
    found: MetricTable, metric: str, overall: str, micro: str, *, several: bool
) -> list[RenderableType]:
    """Show a table of metrics under the given heads, with the runs if they are several."""
    if not found.lines:
        return []
    table = Grid(*(["run"] if several else []), metric, overall, micro, "n")
    for line in found.lines:
        figures = line.figures
        name = [plain(line.run)] if several else []
        cells = (line.text(figures.overall, interval=True), line.text(figures.micro), str(figures.overall.n))
        table.add_row(*name, line.head, *cells)
        for what, part in listed_parts(line.metric, figures):
            table.add_row(*name, f"  {what}", "", line.text(part), str(part.n))
    return [with_blank_lines(table), *map(note, found.notes)]


def shrunk_panel(runs: Sequence[Run], scores: str | None = None) -> list[RenderableType]:
    """Show the shrunk categories of runs."""
    parts: list[RenderableType] = []
    for label, lines in shrunk_tables(runs, scores):
        table = Grid(*HEADS)
        for name, *cells in lines:
            table.add_row(plain(name), *cells)
        parts.append(Text(plain(label), style="bold"))
        parts.append(with_blank_lines(table) if lines else note(TOO_FEW))
    return [*parts, note(NOTE)]


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
    """Show several runs side by side, with three lines per run and a column for each category.

    A single run is shown with a line for each category. `metrics` are further metrics to show. Runs that only
    searched have no line, but their metrics are shown.
    """
    further = [
        *drawn(sections(runs)),
        *metrics_panel(runs, scores, metrics),
        *drawn([times_section(runs)]),
        *review_tables(runs, scores),
    ]
    if len(runs) == 1:
        return [heading(runs[0], runs[0].profile(scores)), *run_table(runs[0], scores), *further]
    answered = [run for run in runs if not run.summary.retrieval_only]
    return [*(board(answered, scores) if answered else ()), *searches(runs, scores), *further]


def drawn(found: Iterable[Section | None], keys: Sequence[str] = ()) -> Iterator[RenderableType]:
    """Show some tables with their notes, or those with the given keys."""
    for section in found:
        if section is not None and (not keys or section.key in keys):
            yield from [with_blank_lines(section_grid(section))] if section.rows else []
            yield from map(note, section.notes)


def searches(runs: Sequence[Run], scores: str | None) -> list[RenderableType]:
    """List the runs that only searched, with what there is to say about them."""
    found = [run for run in runs if run.summary.retrieval_only]
    if not found:
        return []
    scored = leaderboard(found, scores)
    ids = [with_ids(f"{row.label}{row.mark}: {row.run}") for row in scored.rows]
    return [Text(RETRIEVAL_ONLY, style="bold"), *ids, *map(note, scored.notes)]


def board(runs: Sequence[Run], scores: str | None) -> list[RenderableType]:
    """Build the table of runs of answers, with three lines for each run."""
    scored = leaderboard(runs, scores)
    grid = Grid("run", "", "Overall", "questions", *scored.categories)
    for row in scored.rows:
        rank = f"\nrank {row.rank_text}" if row.rank else ""
        name = Text(plain(row.name) + row.mark, style="bold")
        name.append(f"\n{plain(row.model or '')}{rank}", style="not bold dim")
        grid.add_row(name, "\n".join(METRICS), *(stack(cell) for _, cell in scored.cells(row)))
    ids = [with_ids(f"{row.label}: {row.run}") for row in scored.rows]
    return [with_blank_lines(grid), *ids, legend(scored), *map(note, scored.notes)]


def stack(cell: MeanScores) -> str:
    """Format a cell of the table of runs on three lines: correctness, hallucination, denominators."""
    return f"{figure(cell.correctness)}\n{figure(cell.hallucination)}\n{both_counts(cell)}"


def legend(scored: Leaderboard) -> Text:
    """State the profile and the meaning of the two means."""
    profiles = " and ".join(sorted({row.profile for row in scored.rows}))
    return note(f"profile {profiles}; Overall is the mean of the categories, questions that of all questions")


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
    asked = f"{counts.asked or 0} of {counts.questions or 0} questions asked"
    parts = [asked] if run.summary.retrieval_only else [asked, f"{counts.answered or 0} answered"]
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
        parts.append(f"{usage.prompt_tokens} + {usage.completion_tokens or 0} tokens")
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
    start = f"Change since {plain(found.previous)}: "
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
