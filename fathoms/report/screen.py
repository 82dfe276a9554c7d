"""What a person sees at the end of a run: the figures of some runs side by side, and where answers were lost.

Everything else stands behind `--all` and `--only`, on the page and in the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from fathoms.errors import amount, amount_of, some_of
from fathoms.metrics.stages import LOST_BY
from fathoms.report.ending import cause_of
from fathoms.report.funnel import assumed, funnel_of
from fathoms.report.grid import Grid, section_grid
from fathoms.report.leaderboard import labelled
from fathoms.report.metrics_table import is_requested, is_shown
from fathoms.report.score_tables import DASH, WIDTH, categories_section, scores_section
from fathoms.report.search_table import searched_section
from fathoms.report.section import Section
from fathoms.report.sections import sections
from fathoms.report.text import plain, shorten
from fathoms.report.worst import Miss, first_failures
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure, measured
from fathoms.types.run.figures import MetricFigures

MOST_RUNS = 4
"""Up to so many runs, the screen has the table of categories too."""
SWEPT = ("settings", "positions", "variants", "prompts", "planted")
"""The tables of runs of one sweep that are on the screen, because the command asked for them."""
MOST_ROWS = 12
"""The most rows of such a table."""
FEW_KS = (1, 5, 10)
"""The k whose recall is on the screen of a run that only searched."""
MESSAGE = 300
"""The characters of a message of a server that are shown."""
INTERVALS = "95 % interval in [ ]"
SHOWN_LOSS = 0.005
"""The smallest loss that is not printed as 0.00."""
JUDGED = "judged by "
"""How the sentence about the judge of a metric begins."""
MOST_FURTHER = 8
"""The further metrics that are on the screen."""


class Heading:
    """The first line of a screen: what was asked, and at its end what the brackets mean."""

    def __init__(self, text: str) -> None:
        self.text = plain(text)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        line = Text(self.text)
        room = min(options.max_width, WIDTH) - len(INTERVALS) - line.cell_len
        yield from [line.append(" " * room + INTERVALS)] if room > 1 else [line, Text(INTERVALS)]


class Steps:
    """What to do next: commands, which are never broken or cut, each with what it answers."""

    def __init__(self, steps: Sequence[tuple[str, str]]) -> None:
        self.steps = [(plain(command), why) for command, why in steps]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        room = options.max_width
        widest = max(
            (cell_len(command) for command, why in self.steps if _fits(command, why, room)), default=0
        )
        for number, (command, why) in enumerate(self.steps):
            start = "next   " if number == 0 else "       "
            line = Text(f"{start}{command}", no_wrap=True, overflow="ignore")
            if _fits(command, why, room):
                free = room - len(start) - cell_len(command) - len(why)
                yield line.append(" " * min(free, widest - cell_len(command) + 2) + why)
            else:
                yield line
                yield Text(f"         {why}", style="dim")


def _fits(command: str, why: str, room: int) -> bool:
    """Return whether a command and what it answers fit on one line."""
    return len("next   ") + cell_len(command) + 2 + len(why) <= room


def next_steps(
    runs: Sequence[Run], names: Sequence[str], where: str = "", *, alone: bool = False
) -> Iterator[RenderableType]:
    """Yield what to do next with some runs, by the names that the command line knows them by; `where` are
    options that every command needs, and `alone` says that all figures of the one run are a step."""
    pairs = [pair for pair in zip(runs, names, strict=True) if not pair[0].summary.all_failed]
    losses = [
        (loss, name, part) for run, name in pairs for part, loss in lost_by(run).items() if loss >= SHOWN_LOSS
    ]
    steps = []
    if losses:
        loss, name, part = max(losses, key=lambda one: one[0])
        steps.append((f"fathoms show {name} --lost {part}{where}", f"the questions behind {figure(loss)}"))
    if alone and pairs:
        steps.append((f"fathoms show {pairs[0][1]} --all{where}", "all figures"))
    for run, name in pairs:
        if (errors := run.summary.counts.errors) and not run.manifest.imported:
            steps.append(
                (f"fathoms run --resume {name}{where}", f"asks {amount(errors, 'failed question')} again")
            )
    answered = [name for run, name in pairs if not run.summary.retrieval_only]
    if len(answered) > 1:
        listed = " ".join(answered)
        steps.append((f"fathoms compare {listed}{where}", "is the difference more than chance?"))
    if pairs:
        listed = " ".join(name for _, name in pairs)
        steps.append((f"fathoms report {listed} --open{where}", "everything, in the browser"))
    if steps:
        yield Text()
        yield Steps(steps)


def screen(
    runs: Sequence[Run], scores: str | None = None, extra: Sequence[str] = ()
) -> Iterator[RenderableType]:
    """Yield the first screen of some runs: scores, categories, further metrics, and where answers were lost.

    The metrics `extra` come before the further ones, which do not all have room. Runs that only searched have
    a table of their own, and a run all of whose calls failed has a sentence in place of figures.
    """
    with_figures = [run for run in runs if not run.summary.all_failed]
    answered = [run for run in with_figures if not run.summary.retrieval_only]
    searched = [run for run in with_figures if run.summary.retrieval_only]
    if with_figures:
        yield Heading(heading(with_figures, scores))
    swept = [_first_rows(one) for one in sections(with_figures) if one.key in SWEPT]
    for found in (
        scores_section(answered, scores),
        *swept,
        categories_section(answered, scores) if len(runs) <= MOST_RUNS and not swept else None,
        further_section(answered, scores, extra),
        _searches(searched),
        lost_section(with_figures, scores),
    ):
        if found is not None:
            yield Text()
            yield section_grid(found)
            yield from (Text(plain(note), style="dim") for note in found.notes)
    remarks = [one for run in runs for one in remarks_of(run, scores)]
    yield from [Text()] if remarks and with_figures else []
    yield from (Text(plain(one), style="red") for one in remarks)


def _first_rows(section: Section) -> Section:
    """Return a table with the rows of its first group alone, if it has many."""
    first = [row for row in section.rows if row[0] == section.rows[0][0]]
    if len(section.rows) <= MOST_ROWS or len(first) < 2:
        return section
    more = f"{len(section.rows) - len(first)} more rows: --only tables"
    return replace(section, rows=first, notes=[*section.notes, more])


def heading(runs: Sequence[Run], scores: str | None) -> str:
    """Say what was asked: `sample: 50 questions, 42 answerable`, once for each data set and number."""
    said = "; ".join(dict.fromkeys(map(_sample, runs)))
    profiles = sorted({run.profile(scores) for run in runs})
    return said if profiles == ["fathoms"] else f"{said}; profile {' and '.join(profiles)}"


def _sample(run: Run) -> str:
    """Say how many questions were asked, and from which data set."""
    counts = run.summary.counts
    answered = (counts.asked or 0) - (counts.unanswered or 0)
    every = counts.questions or counts.asked or 0
    number = (
        f"{answered} of {amount(every, 'question')}" if answered < every else amount(answered, "question")
    )
    times = f" x {run.summary.repeats}" if run.summary.repeats > 1 else ""
    # whether the others have a gold answer is not known here: traces and BEIR's queries have none
    answers = f", {answered - counts.unanswerable} answerable" if counts.unanswerable else ""
    only = ", retrieval only" if run.summary.retrieval_only else ""
    return f"{run.summary.data or 'questions'}: {number}{times}{answers}{only}"


def further_section(
    runs: Sequence[Run], scores: str | None = None, extra: Sequence[str] = ()
) -> Section | None:
    """Return the metrics that the runs were scored by on request, those `extra` first, a column for each,
    with what is known of their judge; `None` without any."""
    known = [run.metrics(scores) for run in runs]
    wanted = {
        name: one
        for run, found in zip(runs, known, strict=True)
        for name, one in found.items()
        if (is_requested(name, one) or (one.judge and one.group is None)) and is_shown(run, name, one)
    }
    if not wanted:
        return None
    names = sorted(wanted, key=lambda name: name not in extra)[:MOST_FURTHER]
    labels, _ = labelled(runs)
    cells = [[_value(found.get(name)) for name in names] for found in known]
    hidden = len(wanted) - len(names)
    notes = _further_notes([(name, found[name]) for found in known for name in names if name in found])
    figures = {
        run.original_id: {name: found[name].overall.value for name in names if name in found}
        for run, found in zip(runs, known, strict=True)
    }
    rows = [[label, *line] for label, line in zip(labels, cells, strict=True)]
    header: Sequence[str] = ("metric", *names)
    if len(names) > len(runs):  # the shorter side is the one with the columns
        rows = [[name, *(line[number] for line in cells)] for number, name in enumerate(names)]
        header = ("metric", *labels)
    shown = [*notes, *([f"{amount(hidden, 'more metric')}: --only metrics"] if hidden else [])]
    return Section("further", "Further metrics", header, rows, shown, {"runs": figures}, len(header) - 1)


def _further_notes(metrics: Sequence[tuple[str, MetricFigures]]) -> list[str]:
    """Return what must be known of metrics, each sentence once; judges that differ name their metrics."""
    said: dict[str, list[str]] = {}
    for name, found in metrics:
        for note in _notes_of(found):
            said.setdefault(note, []).append(name)
    several = sum(note.startswith(JUDGED) for note in said) > 1
    return [
        f"{some_of(list(dict.fromkeys(names)), 3)}: {note}" if several and note.startswith(JUDGED) else note
        for note, names in said.items()
    ]


def _notes_of(found: MetricFigures) -> Iterator[str]:
    """Yield what must be known of a metric: what the run lacks, or its judge and what that left out."""
    if found.missing:
        yield found.missing
    elif found.judge:
        judged, unjudged = f"{JUDGED}{found.judge_sentence}, {found.checked.sentence}", found.judged
        if unjudged and unjudged.unjudged:
            judged += f"; {unjudged.unjudged} of {unjudged.items} items have no verdict"
        if found.people and (brief := found.people.brief):
            judged += f"; {brief}"
        yield judged
    yield from (amount_of(count, what) for what, count in found.counted.items())


def _value(found: MetricFigures | None) -> str:
    """Format the figure of a metric over a run with its interval."""
    if found is None:
        return DASH
    return measured(found.overall.value, found.unit) + bracket(found.overall.bounds, found.unit)


def _searches(runs: Sequence[Run]) -> Section | None:
    """Return the table of runs that only searched, with recall at few k; `None` without any."""
    if not runs:
        return None
    labels, _ = labelled(runs)
    found = searched_section(list(zip(runs, labels, strict=True)), FEW_KS)
    levels = found.notes[0].split(";")[0]
    return Section(found.key, found.title, ("", *found.header[1:]), found.rows, [levels], found.figures)


def lost_section(runs: Sequence[Run], scores: str | None = None) -> Section | None:
    """Return what each part of the pipelines lost of the gold answers, with a sentence for each run; `None`
    where that is known of no run."""
    found = {run.original_id: lost_by(run, scores) for run in runs}
    if not any(found.values()):
        return None
    rows = [
        [
            label,
            *(
                DASH if (lost := found[run.original_id].get(part)) is None else figure(lost)
                for part in LOST_BY
            ),
            lost_sentence(run, found[run.original_id]),
        ]
        for label, run in zip(labelled(runs)[0], runs, strict=True)
    ]
    funnels = [funnel_of(run, run.profile(scores)) for run in runs if found[run.original_id]]
    notes = dict.fromkeys(assumed(one.estimate) for one in funnels if one is not None and one.estimate)
    header = ("lost at", *LOST_BY, "")
    return Section("lost", "Where answers were lost", header, rows, list(notes), {"runs": found}, numbers=0)


def lost_by(run: Run, scores: str | None = None) -> dict[str, float]:
    """Return what each part of a pipeline lost of the gold answers, in [0, 1], as far as it is known."""
    funnel = funnel_of(run, run.profile(scores))
    if funnel is None or _retrieves_nothing(run):
        return {}
    stages = {part: funnel.overall.at(stage).lost for part, stage in LOST_BY.items()}
    known = {part: lost for part, lost in stages.items() if lost is not None}
    return known if known.keys() & {"parser", "retriever"} else {}


def _retrieves_nothing(run: Run) -> bool:
    """Whether the pipeline of a run is closed-book."""
    return (run.manifest.config.get("retrieve") or {}).get("kind") == "none"


def lost_sentence(run: Run, lost: dict[str, float]) -> str:
    """Say which part lost most: `most at the retriever`."""
    if "retriever" not in lost:
        return "no retrieval" if _retrieves_nothing(run) else "retrieval not known"
    part, most = max(lost.items(), key=lambda pair: pair[1])
    part = "prompt limit" if part == "prompt" else part
    return f"most at the {part}" if most >= SHOWN_LOSS else "nothing lost"


def remarks_of(run: Run, scores: str | None) -> Iterator[str]:
    """Yield what a reader must know before any figure: failed calls, documents that were not read, and
    prompts that a server cut."""
    summary = run.summary
    if summary.all_failed:
        yield no_answer(run, scores)
    elif summary.errors:
        first = first_failures(run)
        for kind, count in sorted(summary.errors.items(), key=lambda pair: -pair[1]):
            why = f": {shorten(first[kind].message, MESSAGE)}" if kind in first else ""
            yield f"{run.name}: {amount(count, 'call')} failed, {kind}{why}"
    if failures := run.manifest.ingest.failures:
        reasons = [f"{document} ({reason})" for document, reason in failures.items()]
        yield f"{run.name}: not read: {some_of(reasons, 3)}"
    if warnings := run.manifest.ingest.warnings:
        said = [f"{document}: {'; '.join(each)}" for document, each in warnings.items()]
        yield f"{run.name}: {some_of(said, 3)}"
    if number := summary.counts.cut_by_server:
        were = "1 prompt was" if number == 1 else f"{number} prompts were"
        yield f"{run.name}: {were} cut by the server: raise generate.n_ctx or retrieve less"


def no_answer(run: Run, scores: str | None = None) -> str:
    """Say of a run all of whose calls failed why, and how to go on."""
    errors = run.summary.counts.errors or 0
    failure = next(iter(first_failures(run).values()), None)
    why = f" ({cause_of(failure)})" if failure else ""
    name = f"{run.name}: " if run.summary.name else ""
    calls = f"No answer: {errors} of {amount(errors, 'call')} failed{why}"
    more = "" if run.manifest.imported else " Continue: fathoms run --resume"
    return f"{name}{calls}. Nothing was scored.{more}"


def worst_grid(misses: Sequence[Miss]) -> Grid:
    """Return the worst questions as a table: id, correctness and the question."""
    grid = Grid("worst", "correctness", "question")
    for miss in misses:
        what = shorten(miss.question, MESSAGE)
        grid.add_row(plain(miss.id), figure(miss.correctness), what)
    return grid
