"""Writes `report.md`, the report of one or more runs as GitHub-flavoured Markdown."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from fathoms.report.funnel import funnel_section
from fathoms.report.leaderboard import Leaderboard, RunRow, leaderboard
from fathoms.report.metrics_table import metrics_sections
from fathoms.report.purposes import purpose_lines
from fathoms.report.radar import TITLES
from fathoms.report.score_tables import categories_section, category_sections, scores_section
from fathoms.report.screen import lost_section
from fathoms.report.section import Section
from fathoms.report.sections import evidence_sections, reviews, sections
from fathoms.report.shrunk import shrunk_section
from fathoms.report.stage_times import times_section
from fathoms.report.text import describe, plain, shorten
from fathoms.report.worst import Miss, first_messages, worst_questions
from fathoms.runs.run import Run
from fathoms.runs.search_notes import search_notes
from fathoms.text.amounts import figure
from fathoms.types.run.figures import ProfileFigures

STRUCTURE = re.compile(r"[\\`*_{}\[\]|~#!]")
EXCERPT = 200


def report_markdown(
    runs: Sequence[Run],
    out: Path,
    scores: str | None = None,
    *,
    plots: bool = True,
    page: bool = False,
    metrics: Sequence[str] = (),
    shrink: bool = False,
) -> str:
    """Return the report of some runs under one profile, with links relative to the folder `out`.

    `plots` says whether the radar plots exist, and `page` whether `report.html` exists.
    `metrics` are further metrics to show, and `shrink` adds the shrunk categories.
    """
    scored = leaderboard(runs, scores)
    with_figures = [run for run in runs if not run.summary.all_failed]
    answered = [run for run in with_figures if not run.summary.retrieval_only]
    answers = leaderboard(answered, scores)
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"
    parts = (
        [f"# fathoms report: {escape(title)}"],
        first_sections(with_figures, scores),
        what_was_run(runs, scored),
        document_section(runs, scored),
        section_lines(
            [
                *category_sections(answered, scores),
                shrunk_section(answered, scores) if shrink and answered else None,
                *sections(with_figures),
                *metrics_sections(with_figures, scores, metrics, by_category=True),
            ]
        ),
        radar_section() if plots and answered else (),
        section_lines(
            [
                funnel_section(with_figures, scores),
                *evidence_sections(with_figures, scores),
            ]
        ),
        review_section(runs, scores),
        profile_section(answered, answers) if answered else (),
        no_figures_section(runs),
        failure_section(runs, scored),
        worst_sections(answered, answers, out) if answered else (),
        cost_section(runs, scored),
        file_section(runs, out, plots and bool(answered), page),
    )
    return "\n".join("\n".join(section) + "\n" for section in map(list, parts) if section)


def escape(text: object) -> str:
    """Escape text so that Markdown shows it literally, including inside a table cell."""
    safe = STRUCTURE.sub(r"\\\g<0>", html.escape(plain(text), quote=False))
    return (
        safe.replace("$", "&#36;").replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], figures: int = 0) -> list[str]:
    """Format a table from cells that are already escaped; the last `figures` columns are right-aligned."""
    rules = ["---"] * (len(headers) - figures) + ["---:"] * figures
    lines = [headers, rules, *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def link(text: str, target: Path, out: Path) -> str:
    """Format a relative link from the folder `out` to `target`."""
    return f"[{escape(text)}]({quote(Path(os.path.relpath(target, out)).as_posix())})"


def number(value: object) -> str:
    """Format a count, `n/a` if it is not known."""
    return "n/a" if value is None else str(value)


def title(row: RunRow) -> str:
    """Return the label of a run with its footnote mark."""
    return escape(row.label) + row.mark


def what_was_run(runs: Sequence[Run], scored: Leaderboard) -> Iterator[str]:
    """List the runs with their models, data, profiles and rules, and their question counts."""
    yield "## What was run\n"
    headers = ["Name", "Run", "Model", "Data", "Profile", "Match", "Hyphens", "Abstention classifier"]
    counts = ["questions", "asked", "answered", "refused", "errors", "unanswerable"]
    if any(run.summary.counts.searched for run in runs):
        counts.insert(3, "searched")
    rows = []
    for run, row in zip(runs, scored.rows, strict=True):
        rules = rules_of(run.figures(row.profile))
        facts = (row.run, row.model or "n/a", run.summary.data or "n/a", row.profile, *rules)
        known = run.summary.counts
        rows.append([title(row), *map(escape, facts), *(number(getattr(known, key)) for key in counts)])
    yield from table([*headers, *(key.capitalize() for key in counts)], rows, len(counts))
    yield from footnotes(scored)


def no_figures_section(runs: Sequence[Run]) -> Iterator[str]:
    """Name the runs whose figures are not printed."""
    for run in runs:
        if run.summary.all_failed:
            yield f"All calls of {escape(run.name)} failed, so no figure says anything about it.\n"


def first_sections(runs: Sequence[Run], scores: str | None) -> Iterator[str]:
    """Show the tables of the first screen: scores, correctness by category, and where answers were lost."""
    answered = [run for run in runs if not run.summary.retrieval_only]
    yield from section_lines(
        [
            scores_section(answered, scores, timed=False),
            categories_section(answered, scores),
            lost_section(runs, scores),
        ]
    )


def section_lines(found: Sequence[Section | None], level: str = "##") -> Iterator[str]:
    """Write some tables, each with its title and its notes."""
    for number, section in enumerate(one for one in found if one is not None):
        yield f"{chr(10) * (number > 0)}{level} {section.title}\n"
        headers = [escape(name[:1].upper() + name[1:]) or " " for name in section.header]
        rows = [[escape(cell) for cell in row] for row in section.rows]
        yield from table(headers, rows, section.numbers) if rows else ()
        yield from (f"\n{escape(text)}." for text in section.notes)


def rules_of(figures: ProfileFigures) -> list[str]:
    """Describe the rules behind the figures: the matching, the hyphens, and the abstention classifier."""
    return [describe(rule) for rule in (figures.match, figures.hyphens, figures.classifier)]


def footnotes(scored: Leaderboard) -> Iterator[str]:
    """Explain why runs are incomplete or cannot be compared."""
    for note in scored.notes:
        yield f"\n{escape(note)}"


def document_section(runs: Sequence[Run], scored: Leaderboard) -> Iterator[str]:
    """List how many documents, pages and chunks were read, and which documents were not read or repaired;
    empty if no run read any."""
    listed = zip(runs, scored.rows, strict=True)
    pairs = [(run, ingest, title(row)) for run, row in listed if (ingest := run.manifest.data.ingest)]
    if not pairs:
        return
    yield "## Documents\n"
    counts = ["documents", "pages", "tables", "pictures", "chunks"]
    headers = ["Run", *(key.capitalize() for key in counts), "Not read"]
    rows = [
        [name, *(number(getattr(ingest, key)) for key in counts), str(len(ingest.failures))]
        for _, ingest, name in pairs
    ]
    yield from table(headers, rows, len(headers) - 1)
    notes = []
    for run, ingest, name in pairs:
        for document, reason in ingest.failures.items():
            notes.append([name, escape(document), "not read", escape(reason)])
        notes += [[name, "all", "warning", escape(said)] for said in search_notes(run.manifest)]
        for document, warnings in ingest.warnings.items():
            notes += [[name, escape(document), "warning", escape(warning)] for warning in warnings]
    if notes:
        yield ""
        yield from table(["Run", "Document", "What", "Why"], notes)


def score_lines(runs: Sequence[Run]) -> list[str]:
    """Return the scores section of a report of these runs under their headline profiles, and the metrics of
    runs that only searched."""
    answered = [run for run in runs if not run.summary.retrieval_only]
    metrics = [] if len(answered) == len(runs) else metrics_sections(runs, by_category=True)
    return list(section_lines([*category_sections(answered), *metrics]))


def radar_section() -> list[str]:
    """Embed the radar plots, which are in the same folder."""
    pictures = [f"![{TITLES[metric]} as a radar plot](radar-{metric}.svg)" for metric in TITLES]
    return ["## Radar plots\n", *pictures]


def review_section(runs: Sequence[Run], scores: str | None) -> Iterator[str]:
    """Show how far human reviewers agree with the scores; empty if there are no reviews."""
    found = reviews(runs, scores)
    if found is None:
        return
    yield "## Human review"
    for headers, lines in found.tables:
        yield ""
        yield from table(headers, ([*map(escape, cells)] for cells in lines), len(headers) - 1)
    for remark in found.remarks:
        yield f"\n{escape(remark)}"


def profile_section(runs: Sequence[Run], scored: Leaderboard) -> Iterator[str]:
    """List the scores of every run under every profile that it was scored with."""
    yield "## Profiles side by side\n"
    headers = ["Run", "Profile", "Match", "Hyphens", "Abstention classifier"]
    metrics = ["correctness", "micro_correctness", "hallucination", "micro_hallucination", "abstention"]
    rows = []
    for run, row in zip(runs, scored.rows, strict=True):
        for name, figures in run.summary.profiles.items():
            means = [figure(figures.overall.mean(metric)) for metric in metrics]
            rules = map(escape, (name, *rules_of(figures)))
            rows.append([title(row), *rules, *means, str(figures.overall.n)])
    titles = [metric.replace("micro_", "all questions: ").capitalize() for metric in metrics]
    yield from table([*headers, *titles, "n"], rows, len(metrics) + 1)


def failure_section(runs: Sequence[Run], scored: Leaderboard) -> list[str]:
    """Count the failures of each kind, with the first message of each."""
    rows = []
    for run, row in zip(runs, scored.rows, strict=True):
        messages = first_messages(run)
        for kind, count in run.summary.errors.items():
            message = shorten(messages.get(kind, ""), EXCERPT)
            rows.append([title(row), escape(kind), escape(message), str(count)])
    listed = table(["Run", "Kind", "First message", "Failures"], rows, 1) if rows else ["None."]
    return ["## Failures\n", *listed]


def worst_sections(runs: Sequence[Run], scored: Leaderboard, out: Path) -> Iterator[str]:
    """List the ten worst questions of every run."""
    yield "## Worst questions"
    headers = ["Question", "Category", "Asked", "Gold", "Answer", "Correctness", "Hallucination"]
    for run, row in zip(runs, scored.rows, strict=True):
        misses = worst_questions(run, row.profile)
        yield f"\n### {title(row)}\n"
        yield from table(headers, (miss_cells(run, miss, out) for miss in misses), 2) if misses else ["None."]


def miss_cells(run: Run, miss: Miss, out: Path) -> list[str]:
    """Format the table line of one bad question."""
    file = run.question_file(miss.id)
    name = link(miss.id, file, out)
    answer = f"(failed) {miss.error}" if miss.error else miss.answer or "(empty)"
    texts = (escape(shorten(text, EXCERPT)) for text in (miss.category, miss.question, miss.gold, answer))
    return [name, *texts, figure(miss.correctness), figure(miss.hallucination)]


def cost_section(runs: Sequence[Run], scored: Leaderboard) -> Iterator[str]:
    """List the tokens, cost and time of each run, and the seconds of a question by stage."""
    yield "## Cost and time\n"
    yield "Tokens, cost and wall time are totals.\n"
    headers = [
        "Run",
        "Prompt tokens",
        "Completion tokens",
        "Cost (USD)",
        "From the cache",
        "Prompts cut",
        "Cut by the server",
        "Wall (s)",
    ]
    rows = []
    for run, row in zip(runs, scored.rows, strict=True):
        usage, counts, seconds = run.summary.usage, run.summary.counts, run.summary.seconds
        cells = [
            number(usage.prompt_tokens),
            number(usage.completion_tokens),
            figure(run.summary.known_cost, 4),
            number(counts.cached),
            number(counts.cut_prompts),
            number(counts.cut_by_server),
            figure(seconds.wall, 1),
        ]
        rows.append([title(row), *cells])
    yield from table(headers, rows, len(headers) - 1)
    for run, row in zip(runs, scored.rows, strict=True):
        yield from (f"\n{title(row)}: {escape(line)}" for line in purpose_lines(run))
    if times := times_section(runs, interval=True):
        yield from ["", *section_lines([times], "###")]


def file_section(runs: Sequence[Run], out: Path, plots: bool, page: bool) -> Iterator[str]:
    """Link to the other report files and to the folders of the runs."""
    yield "## Files\n"
    if page:
        yield "- [report.html](report.html): every question, for the browser"
    yield "- [report.json](report.json): these figures, unrounded"
    yield "- [scores.csv](scores.csv): every question, repeat and run"
    yield "- [table.tex](table.tex): the scores for LaTeX"
    for name in [f"radar-{metric}" for metric in TITLES if plots]:
        yield f"- {name}: [PNG]({name}.png), [SVG]({name}.svg), [PDF]({name}.pdf)"
    for run in runs:
        if run.path:
            files = (
                link(name, run.path / name, out) for name in ("manifest.json", "summary.json", "questions")
            )
            yield f"- {escape(run.original_id)}: {', '.join(files)}"
