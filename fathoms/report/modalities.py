"""The table of hits by modality of the gold, such as text, table and image: how often the first k pages that
a run retrieved hold a gold page with evidence of that modality. It sets retrieval by text, by page images and
by both side by side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fathoms.report.search_table import row_labels
from fathoms.report.section import Section
from fathoms.runs.run import Run
from fathoms.text.amounts import bracket, figure
from fathoms.types.run.figures import MetricFigure

NOTE = (
    "hit@k by modality: the share of the questions with gold of that modality for which such a gold page is"
    " among the first k pages; [low, high]: 95 % intervals; n: questions with such gold"
)
_HIT = re.compile(r"hit@([1-9]\d*)")
_PART = "modality "

Hits = Mapping[str, Mapping[int, MetricFigure]]
"""The figure of each k, by modality."""


def modality_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of the runs whose questions state modalities; `None` if there is no such run."""
    found = [(label, modality_hits(run)) for run, label in zip(runs, row_labels(runs), strict=True)]
    lines = [
        (modality, label, hits[modality])
        for modality in sorted({modality for _, hits in found for modality in hits})
        for label, hits in found
        if modality in hits
    ]
    if not lines:
        return None
    ks = sorted({k for _, _, hits in lines for k in hits})
    rows = [
        [
            modality,
            label,
            *(_cell(hits.get(k)) for k in ks),
            str(max(one.n or 0 for one in hits.values())),
        ]
        for modality, label, hits in lines
    ]
    figures = [
        {"modality": modality, "run": label, "hits": {str(k): one.model_dump() for k, one in hits.items()}}
        for modality, label, hits in lines
    ]
    header = ("modality", "run", *(f"hit@{k}" for k in ks), "n")
    return Section(
        "modalities", "Hits by modality", header, rows, [NOTE], {"rows": figures}, numbers=len(ks) + 1
    )


def _cell(found: MetricFigure | None) -> str:
    """Format a figure with its interval."""
    return "n/a" if found is None else figure(found.value) + bracket(found.bounds)


def modality_hits(run: Run) -> Hits:
    """Return hit@k of a run for each k that it was scored by, by modality of the gold; empty if its questions
    state no modality, or no pages were retrieved."""
    hits: dict[str, dict[int, MetricFigure]] = {}
    for name, figures in run.summary.metrics.items():  # under every profile alike
        if (known := _HIT.fullmatch(name)) and (
            run.manifest.most_chunks is None or int(known[1]) <= run.manifest.most_chunks
        ):
            for part, found in figures.parts.items():
                if part.startswith(_PART) and found.value is not None:
                    hits.setdefault(part.removeprefix(_PART), {})[int(known[1])] = found
    return {modality: dict(sorted(hits[modality].items())) for modality in sorted(hits)}


def is_in_table(metric: str, part: str) -> bool:
    """Whether the table shows this part of a metric, so that the list of metrics need not repeat it."""
    return part.startswith(_PART) and _HIT.fullmatch(metric) is not None
