"""Writes `report.html`: a single file that shows runs in a browser, without any network access.

The page loads an overview at once, then an index of all questions, and the details of a question only when it
is opened. Index and details are compressed chunks inside the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from fathoms import __version__
from fathoms.report.html.assembling import assemble
from fathoms.report.html.chunks import Budget, Chunk, Details, packed
from fathoms.report.html.detail import NoPictures
from fathoms.report.html.overview import judging_of, overview_run, printed
from fathoms.report.html.pictures import Pictures
from fathoms.report.html.questions import Questions
from fathoms.report.html.reading import IndexedRun, index_run
from fathoms.report.html.texts import clean
from fathoms.report.leaderboard import leaderboard, run_labels
from fathoms.report.metrics_table import metrics_sections
from fathoms.report.section import Section
from fathoms.report.sections import evidence_sections, page_sections
from fathoms.runs.run import Run

DETAILS = 24_000_000
"""The bytes available for the details of all questions, so that the file stays under 30 MB."""
WHOLE = 28_000_000
"""The bytes available for details and pictures together."""
DETAILED = 20_000
"""The most questions, counted once for each run, whose details are in the file: with more, there would be
room for hardly any text of each."""
SHORTENED = (
    "Long texts are shortened, and judged claims left out where that is not enough, to keep this file small:"
    " all of it is in the folder of each run, in the file named with the question."
)

MOST_CATEGORIES = 100
"""The largest number of categories shown: with more, tables and charts become unreadable, and browsers take
minutes to draw them."""
NAMED = 3
"""The largest number of runs that the title names."""


@dataclass(frozen=True)
class Payload:
    """The data for the page, and sentences about what it leaves out."""

    overview: dict[str, Any]
    chunks: list[Chunk]
    warnings: list[str]


def report_html(
    runs: Sequence[Run],
    scores: str | None = None,
    *,
    thumbnails: bool | None = False,
    warn: Callable[[str], None] = lambda _: None,
    home: str | None = None,
) -> str:
    """Return the text of `report.html`; the same runs always give the same text.

    Every question view is read once, one run at a time, and the lines of `scores.csv` are collected meanwhile
    (`Run.tables`). `thumbnails` adds pictures of gold and retrieved
    pages if the documents are on this machine, and by `None` says nothing if none of them is; `warn` is
    called with a sentence about each thing that is left out. `home` is the address of a list of runs to which
    the page leads back. Raises DataError if a run was not scored under `scores`, UsageError if `scores` is
    not the name of a profile, and StoreError if a view cannot be read.
    """
    content = payload(runs, scores, thumbnails=thumbnails)
    for warning in content.warnings:
        warn(warning)
    return assemble(content.overview | ({"home": home} if home else {}), content.chunks)


def payload(
    runs: Sequence[Run],
    scores: str | None = None,
    *,
    thumbnails: bool | None = False,
    size: int = DETAILS,
    detailed: int = DETAILED,
) -> Payload:
    """Collect the data of the page; the details take at most about `size` bytes, and where there are more
    than `detailed` questions, they are those of the questions that `_chosen` names."""
    profiles = [run.profile(scores) for run in runs]
    questions, pictures = Questions(runs), Pictures()
    number = sum(map(_expected, runs))
    chosen = _chosen(runs, profiles, detailed // len(runs)) if number > detailed else None
    expected = [_expected(run) if chosen is None else len(chosen) for run in runs]
    budget = Budget(size, sum(expected))
    indexes: list[IndexedRun] = []
    overviews: list[dict[str, Any]] = []
    chunks: list[Chunk] = []
    shortened = False
    for key, (run, label, profile) in enumerate(zip(runs, run_labels(runs), profiles, strict=True)):
        details = Details(key, budget)
        indexed = index_run(
            run,
            profile,
            questions,
            details,
            NoPictures() if thumbnails is False else pictures.of(run),
            chosen,
        )
        overviews.append(shown_run(key, label, run, profile, indexed))
        budget.release(expected[key] - len(indexed.numbers))
        indexes.append(indexed)
        chunks += details.chunks
        shortened = shortened or details.shortened
    drawn = pictures.draw(WHOLE - sum(len(chunk.data) for chunk in chunks))
    if drawn:
        pages = {"sizes": pictures.sizes, "places": pictures.places}
        chunks[:0] = [
            Chunk("pages", packed(pages)),
            *(Chunk(f"picture-{key}", data) for key, data in drawn.items()),
        ]
    about_pictures = pictures.warnings() if drawn or thumbnails else ()
    left_out = sum(len(indexed.rows) - len(indexed.numbers) for indexed in indexes)
    about_details = [_left_out(left_out, number)] if left_out else []
    warnings = [*about_details, *([SHORTENED] if shortened else []), *about_pictures]
    order = questions.order()
    index = {"questions": questions.columns(order), "runs": [indexed.columns(order) for indexed in indexes]}
    same = all(len(indexed.rows) == len(order) for indexed in indexes)
    overview = whole_overview(runs, scores, overviews, same, warnings)
    return Payload(overview, [Chunk("index", packed(index)), *chunks], warnings)


def shown_run(key: int, label: str, run: Run, profile: str, indexed: IndexedRun) -> dict[str, Any]:
    """Build the part of the overview that is of one run."""
    return {
        **overview_run(key, label, run, profile, indexed.sums),
        "standing": indexed.standing(),
        "disagreements": indexed.disagreements,
        "claims": indexed.claims.overview(),
        "judging": judging_of(run),
    }


def whole_overview(
    runs: Sequence[Run],
    scores: str | None,
    overviews: list[dict[str, Any]],
    same: bool,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Build the overview of all runs."""
    scored = leaderboard(runs, scores)
    superscripts = {row.mark for row in scored.rows}  # the page shows at each run why it is incomplete
    notes = [note for note in scored.notes if note.split(" ")[0] not in superscripts]
    if len(scored.categories) > MOST_CATEGORIES:
        notes.append(
            f"This page draws the first {MOST_CATEGORIES} of {len(scored.categories):,} categories; overall"
            " figures are of all of them, and scores.csv and 'fathoms report --json' have every one."
        )
    title = ", ".join(run["label"] for run in overviews)
    if len(overviews) > NAMED:
        data = list(dict.fromkeys(run["data"] for run in overviews if run["data"]))
        title = f"{len(overviews)} runs" + (f" on {data[0]}" if len(data) == 1 else "")
    metrics = partial(metrics_sections, by_category=len(scored.categories) <= MOST_CATEGORIES)
    overview = {
        "sections": list(map(_shown_section, page_sections(runs))),
        "metrics": list(map(_shown_section, metrics(runs, scores))),
        "others": list(map(_shown_section, metrics(runs, scores, groups=(None,), others=True))),
        "tables": list(map(_shown_section, evidence_sections(runs, scores))),
        "title": f"fathoms: {title}",
        "version": f"fathoms {__version__}",
        "categories": list(scored.categories)[:MOST_CATEGORIES],
        "runs": [
            run | {"rank": row.rank and row.rank_text, "best": row.is_best}
            for run, row in zip(overviews, scored.rows, strict=True)
        ],
        "same_questions": same,
        "notes": [*notes, *warnings],
    }
    return dict(clean(overview))


def _shown_section(section: Section) -> dict[str, Any]:
    """Return a table of several runs, and the points of its chart also as texts."""
    shown = {key: value for key, value in asdict(section).items() if key != "figures"}
    for line in (shown["chart"] or {"lines": {}})["lines"].values():
        for point in line.values():
            point |= printed(point.get("value"), point.get("low"), point.get("high"))
    return shown


def _left_out(number: int, every: int) -> str:
    """Say how many questions have no details in the file."""
    return (
        f"To keep this file small, {number:,} of {every:,} questions have only their scores and the beginning"
        " of their answer here. Those that were not answered correctly come first; where they are too"
        " many, some are chosen evenly. 'fathoms view' shows all."
    )


def _chosen(runs: Sequence[Run], profiles: Sequence[str], room: int) -> Collection[str]:
    """Choose the questions whose details are shown of every run: those that any run did not answer rightly,
    then others, evenly from all that there are."""
    every: dict[str, None] = {}
    wrong: set[str] = set()
    for run, profile in zip(runs, profiles, strict=True):
        table = run.scores
        every |= dict.fromkeys(table.ids)
        wrong.update(table.ids[number] for number in table.wrong(profile).tolist())
    first = _evenly([id for id in every if id in wrong], room)
    return {*first, *_evenly([id for id in every if id not in wrong], room - len(first))}


def _evenly(ids: Sequence[str], number: int) -> Sequence[str]:
    """Return so many of some ids, evenly from all of them; all where there are fewer."""
    return ids if len(ids) <= number else [ids[at * len(ids) // number] for at in range(number)]


def _expected(run: Run) -> int:
    """Return how many question views a run is expected to have, according to its summary."""
    counts = run.summary.counts
    return max(1, (counts.asked or counts.questions or 1) - (counts.unanswered or 0))
