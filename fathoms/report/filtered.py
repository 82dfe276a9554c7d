"""The figures of a run over a full set of questions beside those over the questions that a filter keeps.

`fathoms questions filter` writes the full set with a reason in the metadata of each question that it drops.
The kept and the dropped questions are two groups of different questions, which are compared as independent
ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathoms.metrics.columns import column_of
from fathoms.report.graded import figure_text
from fathoms.report.section import Section
from fathoms.runs.metadata import DROPPED
from fathoms.runs.run import Run
from fathoms.stats.unpaired import difference_of_means

Values = tuple[str, frozenset[str], Sequence[float | None]]
"""One value per repeat of a question, after a category and its gold documents."""


def filtered_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of the runs with questions that a filter drops; `None` if there is no such run."""
    found = [(run, one) for run in runs if (one := _of_run(run)) is not None]
    if not found:
        return None
    rows = [
        [run.name, metric, *map(figure_text, (of["full"], of["filtered"], of["dropped"], of["change"]))]
        for run, one in found
        for metric, of in one["metrics"].items()
    ]
    notes = [
        "filtered: the questions that 'fathoms questions filter' keeps, of the full set; every question"
        " counts alike, and variants are left out; filtered - dropped compares two independent groups",
        *dict.fromkeys(map(_counted, (one for _, one in found))),
    ]
    return Section(
        "filtered",
        "The full set, and what a filter keeps of it",
        ("run", "metric", "full", "filtered", "dropped", "filtered - dropped"),
        rows,
        notes,
        {"runs": [{"run": run.original_id, **one} for run, one in found]},
        numbers=4,
    )


def _counted(found: Mapping[str, Any]) -> str:
    """Say how many questions a filter drops, and why."""
    reasons = "; ".join(f"{number} {reason}" for reason, number in found["reasons"].items())
    return f"{found['filtered']} of {found['full']} questions are kept; dropped: {reasons}"


def _of_run(run: Run) -> dict[str, Any] | None:
    """Return the figures of both sets by metric, and the reasons with their numbers; `None` if no question of
    the run is dropped."""
    variants = run.manifest.data.variant_ids
    reasons = Counter(
        str(metadata[DROPPED])[:200]
        for id, metadata in run.compared_metadata.items()
        if metadata.get(DROPPED) and id not in variants
    )
    if not reasons or run.summary.profile not in run.summary.profiles:
        return None
    names = [
        name
        for name, kind in run.metrics(None).items()
        if (kind.headline or kind.asked) and kind.unit == "share"
    ]
    retained: dict[str, list[Values]] = {name: [] for name in names}
    dropped: dict[str, list[Values]] = {name: [] for name in names}
    total = 0
    for view in run.questions():
        if view.question.id in variants:
            continue
        total += 1
        groups = dropped if view.question.metadata.get(DROPPED) else retained
        for name in names:
            groups[name].append(("", view.question.gold_documents, view.values(name, run.profile(None))))
    return {
        "full": total,
        "filtered": total - reasons.total(),
        "reasons": dict(reasons),
        "metrics": dict(_compared(retained, dropped)),
    }


def _compared(
    retained: Mapping[str, Sequence[Values]], dropped: Mapping[str, Sequence[Values]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the figures of each metric that has values: over all, kept and dropped questions, and the
    difference."""
    for name in retained:
        full, filtered, without = map(
            _figure, ([*retained[name], *dropped[name]], retained[name], dropped[name])
        )
        if full is not None:
            change = difference_of_means(without or {}, filtered or {})
            yield name, {"full": full, "filtered": filtered, "dropped": without, "change": change}


def _figure(values: Sequence[Values]) -> Mapping[str, Any] | None:
    """Return the mean over questions with its interval; `None` if no question has a value."""
    known = [row for row in values if any(value is not None for value in row[2])]
    if not known:
        return None
    from fathoms.metrics.pooling import pooled  # with it come all metrics, which most reports do not need

    found: Mapping[str, Any] = pooled(column_of(known), "questions", "share").overall.plain()
    return found
