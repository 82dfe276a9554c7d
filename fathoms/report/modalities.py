"""The table of hits by modality of the gold, such as text, table and image: how often the first k pages that
a run retrieved hold a gold page with evidence of that modality. It sets retrieval by text, by page images and
by both side by side; the terminal, Markdown and the page share it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.report.leaderboard import bracket, figure
from fathoms.report.search_table import row_labels
from fathoms.runs.run import Run
from fathoms.types.run.figures import MetricFigure

NOTE = (
    "hit@k by modality: the share of the questions with gold of that modality for which such a gold page is"
    " among the first k pages; [low, high]: 95 % intervals; n: questions with such gold"
)
_HIT = re.compile(r"hit@([1-9]\d*)")
_PART = "modality "

Hits = Mapping[str, Mapping[int, MetricFigure]]
"""The figure of each k, by modality."""


@dataclass(frozen=True)
class ModalityRow:
    """One modality and one run: the figure of each k, and the number of questions."""

    modality: str
    label: str
    hits: Mapping[int, MetricFigure]

    @property
    def n(self) -> int:
        """The questions with gold of the modality."""
        return max(found.n or 0 for found in self.hits.values())

    def cell(self, k: int) -> tuple[str, str]:
        """The value at k and its interval, as texts."""
        found = self.hits.get(k)
        return ("n/a", "") if found is None else (figure(found.value), bracket(found.bounds).strip())


@dataclass(frozen=True)
class ModalityTable:
    """The rows, all runs of a modality together, the `k` of the columns, and a note on how to read them."""

    ks: tuple[int, ...]
    rows: tuple[ModalityRow, ...]
    note: str = NOTE


def modality_table(runs: Sequence[Run]) -> ModalityTable | None:
    """Return the table of the runs whose questions state modalities; `None` if there is no such run."""
    found = [(label, modality_hits(run)) for run, label in zip(runs, row_labels(runs), strict=True)]
    modalities = sorted({modality for _, hits in found for modality in hits})
    rows = tuple(
        ModalityRow(modality, label, hits[modality])
        for modality in modalities
        for label, hits in found
        if modality in hits
    )
    ks = sorted({k for row in rows for k in row.hits})
    return ModalityTable(tuple(ks), rows) if rows else None


def modality_hits(run: Run) -> Hits:
    """Return hit@k of a run for each k that it was scored by, by modality of the gold; empty if its questions
    state no modality, or no pages were retrieved."""
    hits: dict[str, dict[int, MetricFigure]] = {}
    for name, figures in run.summary.metrics.items():  # under every profile alike
        if known := _HIT.fullmatch(name):
            for part, found in figures.parts.items():
                if part.startswith(_PART) and found.value is not None:
                    hits.setdefault(part.removeprefix(_PART), {})[int(known[1])] = found
    return {modality: dict(sorted(hits[modality].items())) for modality in sorted(hits)}


def is_in_table(metric: str, part: str) -> bool:
    """Whether the table shows this part of a metric, so that the list of metrics need not repeat it."""
    return part.startswith(_PART) and _HIT.fullmatch(metric) is not None
