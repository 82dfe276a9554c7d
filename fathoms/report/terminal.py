"""Builds the terminal reports as Rich tables that fit 80 columns; the caller prints them.

All text is passed as `Text`, never as Rich markup, because names and answers come from others and may contain
markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fathoms.report import gold_pages
from fathoms.report.amounts import dollars
from fathoms.report.change import change
from fathoms.report.funnel import funnel_panel
from fathoms.report.honesty import COLUMNS, honesty_notes, honesty_rows, honesty_table
from fathoms.report.leaderboard import (
    Leaderboard,
    RunRow,
    both_counts,
    bracket,
    figure,
    interval_note,
    leaderboard,
    with_interval,
)
from fathoms.report.metrics_table import RETRIEVAL, RETRIEVAL_HEADS, MetricTable, listed_parts, metric_table
from fathoms.report.modalities import modality_table
from fathoms.report.outcomes import OUTCOMES, RATES, outcomes, rate_text
from fathoms.report.purposes import embedding_lines, purpose_lines
from fathoms.report.search_table import search_table
from fathoms.report.sections import reviews, sections
from fathoms.report.shrunk import HEADS, NOTE, TOO_FEW, shrunk_tables
from fathoms.report.stage_times import NOTE as TIMES
from fathoms.report.stage_times import ingest_lines, stage_rows
from fathoms.report.text import abbreviate, plain, shorten, squeeze
from fathoms.report.worst import Miss, first_messages, worst_questions
from fathoms.runs.run import Run
from fathoms.types.run.figures import AbstentionRates, MeanScores

WIDTH = 80
HEADER = 10
CATEGORY = 25
NAME = 20
METRICS = ("corr.", "hall.", "n")
RETRIEVAL_ONLY = "retrieval only: nobody was asked for an answer"
ID = 20
CELL = 32


def summary_panel(
    run: Run, previous: Run | None = None, scores: str | None = None, *, brief: bool = False
) -> list[RenderableType]:
    """Build what is shown of a run: scores, failures, the change since `previous`, worst questions. Of a run
    that only searched, what is known of its retrieval.

    With `brief`, for the end of a run, gold pages and honesty are reduced to their overall figures, and the
    seconds by stage are left out; `fathoms show` and the page have them.
    """
    profile = run.profile(scores)
    if run.summary.all_failed:
        return [heading(run, profile), counts_line(run), *left_out(run), *failures(run, profile)]
    parts: list[RenderableType] = [heading(run, profile), *run_table(run, scores)]
    parts += [*section_panels([run]), *search_panel([run]), *modality_panel([run])]
    parts += metrics_panel([run], scores)
    parts += funnel_panel(run, profile)
    parts += [*pages_panel(run, scores, brief=brief), *honesty_panel(run, scores, brief=brief)]
    parts += [] if brief else times_panel([run])
    if not run.summary.retrieval_only:
        parts += [*hallucination_table(run, profile), *abstention_table(run, profile)]
    parts += [
        counts_line(run),
        *map(note, purpose_lines(run)),
        *map(note, embedding_lines(run)),
        *cut_by_server(run),
        *left_out(run),
        *failures(run, profile),
    ]
    if previous is not None and not run.summary.retrieval_only:
        parts.append(change_line(run, previous, profile))
    parts += worst_table(worst_questions(run, profile))
    return [*parts, *review_tables([run], scores)]


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
    table = plain_table(
        plain(run.grouped_by or "category"), "correctness", "hallucination", "abstained", "n", "errors"
    )
    overall = f"Overall{row.mark} ({'group' if run.grouped_by else 'category'} mean)"
    table.add_row(overall, *texts(row.overall), style="bold")
    table.add_row("Micro (question mean)", *texts(row.micro), style="dim", end_section=True)
    for category in scored.categories:
        table.add_row(Text(squeeze(category, CATEGORY)), *texts(row.cell(category)))
    meaning = interval_note(run, row.profile)
    return [with_blank_lines(table), *map(note, [meaning] if meaning else []), *map(note, scored.notes)]


def texts(means: MeanScores) -> list[str]:
    """Format the columns of one line in the table of one run."""
    rates = (with_interval(means, "correctness"), with_interval(means, "hallucination"))
    return [*rates, figure(means.abstention), both_counts(means), str(means.errors)]


def metrics_panel(
    runs: Sequence[Run], scores: str | None = None, asked: Sequence[str] = ()
) -> list[RenderableType]:
    """Show the further metrics of some runs and then those of retrieval, one line per run and metric; empty
    if there are none. Parts of a metric with a figure of their own stand below it."""
    further = metric_table(runs, scores, asked)
    retrieval = metric_table(runs, scores, asked, RETRIEVAL)
    return [
        *_metric_lines(further, "metric", "overall [95 %]", "micro", several=len(runs) > 1),
        *_metric_lines(retrieval, *RETRIEVAL_HEADS, several=len(runs) > 1),
    ]


def _metric_lines(
    found: MetricTable, metric: str, overall: str, micro: str, *, several: bool
) -> list[RenderableType]:
    """Show a table of metrics under the given heads, with the runs if they are several."""
    if not found.lines:
        return []
    table = plain_table(*(["run"] if several else []), metric, overall, micro, "n")
    for line in found.lines:
        figures = line.figures
        name = [Text(squeeze(line.run, NAME))] if several else []
        cells = (line.text(figures.overall, interval=True), line.text(figures.micro), str(figures.overall.n))
        table.add_row(*name, Text(line.head), *cells)
        for what, part in listed_parts(line.metric, figures):
            table.add_row(*name, Text(f"  {what}"), "", line.text(part), str(part.n))
    return [with_blank_lines(table), *map(note, found.notes)]


def shrunk_panel(runs: Sequence[Run], scores: str | None = None) -> list[RenderableType]:
    """Show the shrunk categories of runs."""
    parts: list[RenderableType] = []
    for label, lines in shrunk_tables(runs, scores):
        table = plain_table(*HEADS)
        for name, *cells in lines:
            table.add_row(Text(squeeze(name, CATEGORY)), *cells)
        parts.append(Text(plain(label), style="bold"))
        parts.append(with_blank_lines(table) if lines else note(TOO_FEW))
    return [*parts, note(NOTE)]


def plain_table(first: str, *others: str) -> Table:
    """Create an empty table with a text column, followed by right-aligned columns."""
    table = bare_table()
    table.add_column(Text(first), no_wrap=True, overflow="ellipsis")
    for other in others:
        table.add_column(Text(other), justify="right", no_wrap=True)
    return table


def bare_table() -> Table:
    """Create an empty table without borders."""
    return Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)


def with_blank_lines(table: Table) -> Padding:
    """Add an empty line above and below a table."""
    return Padding(table, (1, 0))


def note(text: str) -> Text:
    """Return a text as a dimmed footnote for the terminal."""
    return Text(plain(text), style="dim")


def with_ids(text: str, style: str = "dim") -> Text:
    """Return a line with ids of runs, which is never broken, so that the ids can be copied."""
    return Text(plain(text), style=style, no_wrap=True, overflow="ignore")


def leaderboard_panel(
    runs: Sequence[Run],
    scores: str | None = None,
    width: int = WIDTH,
    metrics: Sequence[str] = (),
) -> list[RenderableType]:
    """Show several runs side by side, with three lines per run and a column for each category.

    The columns are split over as many tables as `width` (in terminal cells) requires. A single run is shown
    as in `summary_panel`, with a line for each category. `metrics` are further metrics to show. Runs that
    only searched have no line, but their metrics are shown.
    """
    further = [
        *section_panels(runs),
        *search_panel(runs, width),
        *modality_panel(runs, width),
        *metrics_panel(runs, scores, metrics),
        *times_panel(runs),
        *review_tables(runs, scores),
    ]
    if len(runs) == 1:
        return [heading(runs[0], runs[0].profile(scores)), *run_table(runs[0], scores), *further]
    answered = [run for run in runs if not run.summary.retrieval_only]
    return [*(board(answered, scores, width) if answered else ()), *searches(runs, scores), *further]


def section_panels(runs: Sequence[Run]) -> Iterator[RenderableType]:
    """Show the tables that runs of one sweep have together."""
    for section in sections(runs):
        table = plain_table(*section.header)
        for row in section.rows:
            table.add_row(*(Text(plain(cell)) for cell in row))  # names may hold what looks like markup
        yield with_blank_lines(table)
        yield from map(note, section.notes)


def search_panel(runs: Sequence[Run], width: int = WIDTH) -> list[RenderableType]:
    """Show recall at each k, the seconds of a search and the size of the index; empty if no run has them."""
    found = search_table(runs)
    if found is None:
        return []
    names = max([4, *(min(NAME, cell_len(plain(row.label))) for row in found.rows)])
    room = max(1, (width - names - len(" nn seconds 100,000")) // 11)
    parts: list[RenderableType] = []
    for start in range(0, len(found.ks), room):
        ks = found.ks[start : start + room]
        table = plain_table("run", *(f"recall@{k}" for k in ks), "n", "seconds", "chunks")
        for row in found.rows:
            recall = ["\n".join(row.recall.get(k, ("n/a", ""))) for k in ks]
            last = (row.n, "\n".join(row.seconds), f"{row.chunks}\n{row.index}")
            table.add_row(Text(squeeze(row.label, names)), *recall, *last)
        parts.append(with_blank_lines(table))
    parts.append(note(f"{found.note}, below the number of chunks"))
    if found.budgets:
        table = plain_table("run", *(f"within {tokens}" for tokens in found.budgets))
        for row in found.rows:
            within = ["\n".join(row.within.get(tokens, ("n/a", ""))) for tokens in found.budgets]
            table.add_row(Text(squeeze(row.label, names)), *within)
        parts += [with_blank_lines(table), note(found.token_note)]
    return parts


def modality_panel(runs: Sequence[Run], width: int = WIDTH) -> list[RenderableType]:
    """Show hits at each k by modality of the gold; empty if the questions of no run state one."""
    found = modality_table(runs)
    if found is None:
        return []
    labels = [NAME] if len(runs) > 1 else []
    room = max(1, (width - NAME - sum(labels) - len(" 1,000")) // 11)
    parts: list[RenderableType] = []
    for start in range(0, len(found.ks), room):
        ks = found.ks[start : start + room]
        table = plain_table("modality", *["run"] * len(labels), *(f"hit@{k}" for k in ks), "n")
        for row in found.rows:
            name = [Text(squeeze(row.label, NAME))] if labels else []
            cells = ("\n".join(row.cell(k)) for k in ks)
            table.add_row(Text(squeeze(row.modality, NAME)), *name, *cells, str(row.n))
        parts.append(with_blank_lines(table))
    return [*parts, note(found.note)]


def searches(runs: Sequence[Run], scores: str | None) -> list[RenderableType]:
    """List the runs that only searched, with what there is to say about them."""
    found = [run for run in runs if run.summary.retrieval_only]
    if not found:
        return []
    scored = leaderboard(found, scores)
    ids = [with_ids(f"{row.label}{row.mark}: {row.run}") for row in scored.rows]
    return [Text(RETRIEVAL_ONLY, style="bold"), *ids, *map(note, scored.notes)]


def board(runs: Sequence[Run], scores: str | None, width: int) -> list[RenderableType]:
    """Build the table of runs of answers."""
    scored = leaderboard(runs, scores)
    headers = ["Overall", "Micro", *abbreviate(scored.categories, HEADER)]
    parts: list[RenderableType] = []
    for start, stop in blocks(headers, width):
        table = plain_table("run", "", *headers[start:stop])
        table.columns[0].width = width - block_width(headers[start:stop])
        for position, row in enumerate(scored.rows, 1):
            cells = [cell for _, cell in scored.cells(row)][start:stop]
            table.add_row(run_name(row, position), "\n".join(METRICS), *map(stack, cells))
        parts.append(with_blank_lines(table))
    return [*parts, *map(with_ids, run_ids(scored)), legend(scored, headers), *map(note, scored.notes)]


def pages_panel(run: Run, scores: str | None, *, brief: bool = False) -> list[RenderableType]:
    """Show the funnel by gold pages, with `brief` only its overall figures; empty if it is not known."""
    figures = gold_pages.page_figures(run, scores)
    if not figures:
        return []
    table = plain_table("gold pages", *gold_pages.HEADS, "n")
    rows = list(gold_pages.page_rows(figures))
    for name, stages in rows[:1] if brief else rows:
        cells = [figure(found.value) + bracket(found.bounds).replace(" ", "\n", 1) for found in stages]
        counts = list(dict.fromkeys(str(found.n) for found in stages if found.n))
        table.add_row(Text(squeeze(name, CATEGORY)), *cells, "/".join(counts))
    notes = () if brief else (gold_pages.NOTE, *gold_pages.page_notes(run, scores))
    return [with_blank_lines(table), *map(note, notes)]


def honesty_panel(run: Run, scores: str | None, *, brief: bool = False) -> list[RenderableType]:
    """Show what was answered where retrieval found the evidence and where not, with `brief` only the rates;
    empty if not known."""
    found = honesty_table(run, scores)
    if found is None:
        return []
    if brief:
        return [note(f"{name} {rate}") for name, rate in found.rates.items()]
    table = plain_table("answers by retrieval", *COLUMNS.values())
    for cells in honesty_rows(found):
        table.add_row(*cells)
    rates = [f"{name} {rate}" for name, rate in found.rates.items()]
    return [with_blank_lines(table), *map(note, [*rates, *honesty_notes(found)])]


def times_panel(runs: Sequence[Run]) -> list[RenderableType]:
    """Show the seconds of a question by stage, and what reading the documents took; empty if not known."""
    stages, rows = stage_rows(runs)
    parts: list[RenderableType] = []
    if rows:
        table = plain_table("time of a question", *stages)
        for label, *cells in rows:
            table.add_row(Text(squeeze(label, NAME)), *cells)
        parts = [with_blank_lines(table), *([note(TIMES)] if len(runs) > 1 else [])]
    return [*parts, *map(note, ingest_lines(runs))]


def blocks(headers: Sequence[str], width: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of columns, each as long as fits into `width` beside the names."""
    start = 0
    for stop in range(1, len(headers) + 1):
        full = stop < len(headers) and block_width(headers[start : stop + 1]) > width - NAME
        if full or stop == len(headers):
            yield start, stop
            start = stop


def block_width(headers: Sequence[str]) -> int:
    """Return the width of some columns of scores in cells, with that of the metric names."""
    return len(METRICS[0]) + 1 + sum(max(cell_len(header), 5) + 1 for header in headers)


def run_name(row: RunRow, position: int) -> Text:
    """Show a run's name, its model, and its number and rank on three lines; the number refers to the list
    below the table."""
    name = Text(plain(row.name) + row.mark, style="bold")
    rank = f", rank {row.rank_text}" if row.rank else ""
    return name.append(f"\n{plain(row.model or '')}\nrun {position}{rank}", style="not bold dim")


def run_ids(scored: Leaderboard) -> list[str]:
    """Return a line with the id of each run, as ids are too long for the table."""
    return [f"run {position}: {row.run}" for position, row in enumerate(scored.rows, 1)]


def stack(cell: MeanScores) -> str:
    """Format a cell of the table of runs on three lines: correctness, hallucination, denominators."""
    return f"{figure(cell.correctness)}\n{figure(cell.hallucination)}\n{both_counts(cell)}"


def legend(scored: Leaderboard, headers: Sequence[str]) -> Text:
    """State the profile, the meaning of the two means, and the full names of abbreviated columns."""
    pairs = zip(headers[2:], scored.categories, strict=True)
    short = [f"{header} = {plain(name)}" for header, name in pairs if header != plain(name)]
    profiles = " and ".join(sorted({row.profile for row in scored.rows}))
    means = "Overall is the mean of the categories, Micro of the questions"
    return note("; ".join([f"profile {profiles}", means, *short]))


def review_tables(runs: Sequence[Run], scores: str | None) -> list[RenderableType]:
    """Show how far human reviewers agree with the scores; empty if there are no reviews."""
    found = reviews(runs, scores)
    if found is None:
        return []
    parts: list[RenderableType] = []
    for headers, lines in found.tables:
        table = plain_table(*headers)
        for cells in lines:
            table.add_row(*(Text(shorten(cell, CELL)) for cell in cells))
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
        parts.append(f"{summary.seconds.wall:.1f} s")
    return note(", ".join(parts))


def cut_by_server(run: Run) -> list[Text]:
    """Warn if the model server truncated prompts; empty if it did not."""
    number = run.summary.counts.cut_by_server
    if not number:
        return []
    subject = "1 prompt was" if number == 1 else f"{number} prompts were"
    return [Text(f"{subject} cut by the server: raise generate.n_ctx or retrieve less", style="red")]


def abstention_table(run: Run, profile: str) -> list[RenderableType]:
    """Show how many answerable and unanswerable questions were answered or abstained from, with the share of
    each line; empty if that is not known."""
    figures = run.figures(profile)
    lines, rates = figures.abstention_table.lines, figures.abstention_rates or AbstentionRates()
    if not lines:
        return []
    table = plain_table("answers", *OUTCOMES)
    for kind, line in lines.items():
        table.add_row(kind, *outcomes(line))
    said = ", ".join(f"{name} {rate_text(rates, key)}" for key, name in RATES.items())
    of = "of the answers to answerable questions, and of those that do not abstain"
    return [Padding(table, (0, 0, 1, 0)), note(f"{said}: {of}")]


def hallucination_table(run: Run, profile: str) -> list[RenderableType]:
    """Show the hallucination rates by answerability with their denominators; empty under profiles without
    them, and where no question is unanswerable."""
    rates = run.figures(profile).overall.hallucination_over
    if rates is None or not rates.unanswerable.n:
        return []
    table = plain_table("hallucination over", "rate", "n")
    for name, rate in (
        ("all questions", rates.all),
        ("answerable questions", rates.answerable),
        ("unanswerable questions", rates.unanswerable),
    ):
        table.add_row(name, figure(rate.value), str(rate.n))
    return [Padding(table, (0, 0, 1, 0))]


def left_out(run: Run) -> list[Text]:
    """List the documents that could not be read, one per line."""
    failed = run.manifest.ingest.failures.items()
    return [Text(plain(f"left out {document}: {reason}")) for document, reason in failed]


def failures(run: Run, profile: str) -> list[RenderableType]:
    """Show the number of failures of each kind, with the first message of each."""
    kinds = run.summary.errors
    if not kinds:
        return []
    messages = first_messages(run, profile)
    table = bare_table()
    for header in ("failed", "kind", "first message"):
        table.add_column(header)
    for kind, count in sorted(kinds.items(), key=lambda pair: -pair[1]):
        table.add_row(str(count), Text(shorten(kind, 24)), Text(shorten(messages.get(kind, ""), 120)))
    return [with_blank_lines(table)]


def change_line(run: Run, previous: Run, profile: str) -> Text:
    """Describe the change since an earlier run in one sentence."""
    found = change(run, previous, profile)
    start = f"Change since {plain(found.previous)}: "
    if found.obstacle:
        return Text(f"{start}not comparable, {found.obstacle}")
    deltas = (found.correctness, found.hallucination)
    correctness, hallucination = ("n/a" if delta is None else f"{delta:+.2f}" for delta in deltas)
    return Text(f"{start}correctness {correctness}, hallucination {hallucination} (the same questions)")


def worst_table(misses: Sequence[Miss]) -> list[RenderableType]:
    """List the worst questions, one per line; empty if there are none.

    Long ids are wrapped and never truncated, so that they can be copied for `fathoms show --question`.
    """
    if not misses:
        return []
    ids = [plain(miss.id) for miss in misses]
    id_width = min(ID, max(map(cell_len, ["id", *ids])))
    text_width = (WIDTH - 2 * 5 - id_width - 4) // 2
    table = bare_table()
    for header, width in (("corr.", 5), ("hall.", 5), ("id", id_width)):
        table.add_column(header, width=width, overflow="fold")
    for header in ("worst questions", "answer"):
        table.add_column(header, width=text_width, no_wrap=True, overflow="ellipsis")
    for id, miss in zip(ids, misses, strict=True):
        answer = Text(shorten(miss.error or miss.answer, text_width), style="red" if miss.error else "")
        question = Text(shorten(miss.question, text_width))
        table.add_row(figure(miss.correctness), figure(miss.hallucination), Text(id), question, answer)
    return [with_blank_lines(table)]
