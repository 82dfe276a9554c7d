"""Explains a verdict of a gate to people who do not see the terminal: as the text of a failed test, and as a
comment on a pull request. Both have the figures with their intervals and the worst questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fathoms.compare.question_scores import QuestionScores
from fathoms.errors import amount
from fathoms.gate.against_baseline import GateCheck, Gated
from fathoms.gate.limits import LimitCheck
from fathoms.gate.lines import check_name, deciding, deciding_p, gate_line, limited, loss_text, undecided
from fathoms.report.markdown import escape, table
from fathoms.report.of_sweeps import read_all_scores
from fathoms.report.text import gold, plain, shorten
from fathoms.runs.order import run_name
from fathoms.runs.run import Run
from fathoms.text.amounts import percent
from fathoms.types.run.figures import range_of
from fathoms.types.run.rows import BriefQuestion

MOST = 5
"""How many of the worst questions are shown."""
MOST_CHECKS = 20
"""How many checks a comment shows. GitHub refuses comments of more than 65,536 characters."""
TEXT = 200
MARKER = "<!-- fathoms: "
"""How the first line of every comment begins."""
_UNSAFE = re.compile(r"[^\w.]+", re.ASCII)


@dataclass(frozen=True)
class Lost:
    """A question that scored badly: its score in the baseline (`None` without one) and in the run. `answer`
    is that of the first repeat, or the message of its failure."""

    id: str
    question: str
    gold: str
    answer: str
    before: float | None
    now: float

    @property
    def scores(self) -> str:
        """The scores as text: `1.00 → 0.00`, or `0.00` without a baseline."""
        return f"{self.now:.2f}" if self.before is None else f"{self.before:.2f} → {self.now:.2f}"


@dataclass(frozen=True)
class Explained:
    """A verdict with what explains it: the newest run, and its worst questions by `metric`."""

    found: Gated
    run: Run
    view: Run
    metric: str
    worst: tuple[Lost, ...]


def explained(found: Gated, run: Run) -> Explained:
    """Collect what explains a verdict about a run, the newest that was judged.

    The worst questions are those that lost most against the baseline in the check that decided, or, where
    fixed limits decided, those that are furthest from the best value of that metric.
    """
    view = Run.scored(run.path)
    failed = [limit for limit in found.limits if not limit.kept]
    if lost := next((each for each in found.losses if each.lost), None):
        metric = lost.metric
        changes: dict[str, tuple[float | None, float]] = {id: (was, now) for id, was, now in lost.lost[:MOST]}
    elif found.losses and not failed:
        metric, changes = found.losses[0].metric, {}
    elif found.checks and (found.verdict != "FAIL" or any(check.verdict == "FAIL" for check in found.checks)):
        check = deciding(found)
        metric, changes = check.metric, _losses(found, check)
    else:
        limit = (failed or found.limits)[0]
        scores = read_all_scores(run, found.profile)
        metric, changes = limit.limit.metric, _misses(scores, limit)
    changes = {found.ids.get(id, id): scores for id, scores in changes.items()}
    texts = _texts(view, set(changes))
    return Explained(
        found, run, view, metric, tuple(_lost(texts[id], *changes[id]) for id in changes if id in texts)
    )


def _losses(found: Gated, check: GateCheck) -> dict[str, tuple[float | None, float]]:
    """Return the questions that lost most against the baseline, with both scores, the largest loss first."""
    better = -1 if check.metric in found.reversed else 1
    losses = sorted(((better * (now - before), id, before, now) for id, before, now in check.scores))
    return {id: (before, now) for change, id, before, now in losses[:MOST] if change < -1e-9}


def _misses(scores: QuestionScores, check: LimitCheck) -> dict[str, tuple[float | None, float]]:
    """Return the questions with the worst scores by the metric of a limit that are not at its best value."""
    metric = check.limit.metric
    if check.of != LimitCheck.of:  # a limit for the replies as a whole has no value for a question
        return {}
    higher = scores.higher_is_better(metric)
    ends = range_of(scores.kind_of(metric).unit)
    best = None if ends is None else ends[1] if higher else ends[0]
    known = {
        id: value
        for id, question in scores.questions.items()
        if check.category in (None, question.category)
        and (value := question.mean(metric)) is not None
        and value != best
    }
    order = sorted(known, key=lambda id: known[id] if higher else -known[id])
    return {id: (None, known[id]) for id in order[:MOST]}


def _texts(view: Run, wanted: set[str]) -> Mapping[str, BriefQuestion]:
    """Read some questions of a run."""
    return view.some_questions(wanted)


def _lost(view: BriefQuestion, before: float | None, now: float) -> Lost:
    """Add the texts of a question to its scores."""
    first = view.repeats[0] if view.repeats else None
    answer = ""
    if first is not None:
        answer = f"{first.error.kind}: {first.error.message}" if first.error else ""
        answer = first.answer.text if first.answer else answer
    original = view.question
    question, expected, answer = (shorten(text, TEXT) for text in (original.text, gold(original), answer))
    return Lost(original.id, question, expected, answer, before, now)


def interval_of(view: Run, profile: str, check: LimitCheck) -> str:
    """Format the 95 % interval of the figure that was compared with a limit; `not known` without one."""
    figures = view.metrics(profile).get(check.limit.metric)
    if figures is None:
        return "not known"
    cell = figures.overall if check.category is None else figures.cell(check.category)
    return f"[{cell.bounds[0]:.2f}, {cell.bounds[1]:.2f}]" if cell.bounds else "not known"


def failure_text(explained: Explained) -> str:
    """Return the message of a failed test: the verdict, each figure with its interval, the worst questions,
    and where the run lies. Texts of models and PDFs are on one line each and without control characters."""
    found, view = explained.found, explained.view
    lines = [gate_line(found)]
    if found.verdict == "UNDECIDED":
        lines.append(undecided(found))
    for limit in found.limits:
        lines.append(f"  {limited(limit)}, 95 % interval {interval_of(view, found.profile, limit)}")
    lines += [
        f"  {check_name(each)}: {change(each)}{deciding_p(found, each)}: {each.verdict}"
        for each in found.checks
    ]
    lines += [f"  {loss_text(each)}: {each.verdict}" for each in found.losses]
    if explained.worst:
        lines.append(f"worst questions by {explained.metric}:")
    for each in explained.worst:
        lines.append(f"  {plain(each.id)} ({each.scores}): {each.question}")
        lines += [f"    gold:   {each.gold}", f"    answer: {each.answer or '(empty)'}"]
    lines += [f"run: {explained.run.path}", f"all answers: fathoms report {explained.run.path} --open"]
    return "\n".join(lines)


def limit_name(check: LimitCheck) -> str:
    """Name the metric and the category of a limit."""
    return check.limit.metric + (f" in {plain(check.category)}" if check.category else "")


def change(check: GateCheck) -> str:
    """Format the change in the newest run with its bounds and the number of questions."""
    night, over = check.nights[-1], amount(check.questions, "question")
    return f"change {night.delta:+.3f} [{night.low:+.3f}, {night.high:+.3f}] on {over}"


def marker(name: str) -> str:
    """Return the first line of the comment about a run. It is the same for all runs of a name, so that
    `fathoms comment` finds the earlier comment and replaces it instead of adding another."""
    return f"{MARKER}{_UNSAFE.sub('_', name)[:80]} -->"


def comment_of_error(name: str, message: str, what: str = "not judged") -> str:
    """Return a comment that says why a run of a name could not be made or judged."""
    shown = escape(shorten(name, 80))
    return f"{marker(name)}\n### fathoms: {what}, {shown}\n\n{escape(shorten(message, 1000))}\n"


def comment(explained: Explained) -> str:
    """Return a verdict as GitHub-flavoured Markdown, always shorter than the 65,536 characters that GitHub
    accepts: the verdict first, and the tables folded. All texts of models and PDFs are escaped."""
    found = explained.found
    parts = [
        marker(run_name(explained.run.id)),
        f"### fathoms: {found.verdict}, {escape(shorten(explained.view.name, 80))}",
        "",
        escape(gate_line(found)),
        "",
        "<details><summary>figures and questions</summary>",
        "",
        *(f"{escape(loss_text(each))}\n" for each in found.losses),
        *_check_table(found),
        *_limit_table(explained),
        *_worst_table(explained),
        "</details>",
        "",
        f"<sub>Run `{_UNSAFE.sub('_', explained.run.id)}`, profile {escape(found.profile)}</sub>",
    ]
    return "\n".join(parts) + "\n"


def _check_table(found: Gated) -> Iterator[str]:
    """The change of each check with its bounds."""
    if not found.checks:
        return
    level = percent(1 - found.alpha, 1)
    heads = ["Check", "Questions", "Change", f"One-sided {level} bounds", "Verdict"]
    rows = []
    for check in found.checks[:MOST_CHECKS]:
        night = check.nights[-1]
        name = escape(shorten(check_name(check), 80))
        bounds = f"{night.low:+.3f} to {night.high:+.3f}"
        verdict = f"{check.verdict}{deciding_p(found, check)}"
        rows.append([name, str(check.questions), f"{night.delta:+.3f}", bounds, escape(verdict)])
    yield from table(heads, rows)
    yield from _more(len(found.checks))
    runs = f"{len(found.baseline)} baseline run{'s' * (len(found.baseline) != 1)}"
    sign = f"; the sign of {', '.join(found.reversed)} is reversed" if found.reversed else ""
    yield f"\nChange against {runs}; negative is worse{escape(sign)}. The margin is {found.margin:g}.\n"


def _limit_table(explained: Explained) -> Iterator[str]:
    """The figure of each limit with its interval."""
    found = explained.found
    if not found.limits:
        return
    rows = []
    for check in found.limits[:MOST_CHECKS]:
        side = "at least" if check.limit.side == "min" else "at most"
        rows.append(
            [
                escape(shorten(limit_name(check), 80)),
                str(check.questions),
                f"{check.found:.2f}",
                escape(interval_of(explained.view, found.profile, check)),
                f"{side} {check.limit.value:g}",
                "PASS" if check.kept else "FAIL",
            ]
        )
    yield from table(["Limit", "Questions", "Found", "95 % interval", "Wanted", "Verdict"], rows)
    yield from _more(len(found.limits))
    yield ""


def _more(count: int) -> Iterator[str]:
    """Say how many lines a table leaves out."""
    if count > MOST_CHECKS:
        yield f"\nand {count - MOST_CHECKS} more."


def _worst_table(explained: Explained) -> Iterator[str]:
    """The worst questions with their scores, gold answers and answers."""
    if not explained.worst:
        return
    count = (
        f"The worst {len(explained.worst)} questions" if len(explained.worst) > 1 else "The worst question"
    )
    yield f"**{count} by {escape(explained.metric)}**\n"
    rows = [
        [escape(shorten(each.id, 60)), each.scores, *map(escape, (each.question, each.gold, each.answer))]
        for each in explained.worst
    ]
    yield from table(["Question", "Score", "Text", "Gold answer", "Answer"], rows)
    yield ""
