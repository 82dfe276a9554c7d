"""What a run would do, and what it lacks: before the first question, and without one call to a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fathoms.answering import file_limits
from fathoms.attachments import attached, in_requests
from fathoms.cache import Cache
from fathoms.corpora import Corpus
from fathoms.errors import FathomsError
from fathoms.experiment import AnyExperiment, Experiment
from fathoms.retrieve import Files
from fathoms.types import Question


@dataclass(frozen=True)
class Plan:
    """The questions by category, the stages by name, and the requests that they make.

    `requests` leaves out those of a reranking model. `attached` counts pages and bytes of PDFs (or of images
    of their pages) in all requests, `None` where none are attached. `missing` are the reasons why the run
    would not start.
    """

    name: str
    data: str
    questions: dict[str, int]
    documents: int
    stages: dict[str, str]
    requests: int | None
    attached: dict[str, int] | None
    missing: dict[str, str]


def plan(experiment: AnyExperiment, corpus: Corpus, asked: Sequence[Question], cache: Cache) -> Plan:
    """What a run of these questions would do.

    Nothing is parsed but where PDFs are attached: their pages are counted. Servers of one's own are asked
    whether they are there.
    """
    missing = dict(_failing({**experiment.checks(), "scoring": experiment.scoring.check}))
    requests: int | None = len(asked)
    attached: dict[str, int] | None = None
    if isinstance(experiment, Experiment) and isinstance(experiment.retrieve, Files):
        try:
            requests, attached = _requests(experiment, corpus, asked, cache)
        except FathomsError as error:
            missing["retrieve"], requests = str(error), None
    return Plan(
        name=experiment.name,
        data=corpus.name,
        questions=dict(Counter(question.category for question in asked)),
        documents=len(corpus.documents),
        stages={name: described(getattr(experiment, name)) for name in experiment.checks()},
        requests=requests,
        attached=attached,
        missing=missing,
    )


def described(component: Any) -> str:
    """A component by its kind, and its model, target or address where it has one."""
    parts = (getattr(component, name, None) for name in ("kind", "model", "target", "url"))
    return " ".join(str(part) for part in parts if part) or "built in"


def _failing(checks: dict[str, Callable[[], None]]) -> Iterator[tuple[str, str]]:
    """The stages that lack something, and what."""
    for name, check in checks.items():
        try:
            check()
        except FathomsError as error:
            yield name, str(error)


def _requests(
    experiment: Experiment, corpus: Corpus, asked: Sequence[Question], cache: Cache
) -> tuple[int, dict[str, int]]:
    """How many requests attached files take, and the pages and bytes of PDFs in them; raises FathomsError."""
    hits = experiment.prepare(corpus.documents, cache).retrieve(asked)
    limits = file_limits(experiment.generate)
    counts = [len(in_requests(row, limits)) for row in hits.values()]
    merging = sum(count > 1 for count in counts)
    pages, size = attached([hit for row in hits.values() for hit in row])
    return sum(counts) + merging, {"pages": pages, "bytes": size}
