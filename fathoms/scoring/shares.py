"""Divides the questions of a run into shares, and scores one of them.

Who scores the shares is an executor: this process, child processes, or the workers of a cluster (`work`). A
child process runs `serve`: it gets the rules, then shares of questions as entries of the journal. It scores
them, writes their files, and answers with what the summary needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from fathoms.metrics.funnel import RunTexts
from fathoms.metrics.linear import Linear
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.profiles import PROFILES
from fathoms.metrics.score_records import Scoring
from fathoms.metrics.stages import Stage
from fathoms.models.calling.collecting import rare_collections
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.question_lines import LARGE, divided
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.runs.views import in_order
from fathoms.safety.child_main import ThisProcess
from fathoms.safety.children import Child
from fathoms.scoring.measures import own_metrics, read_measures
from fathoms.scoring.questions import QuestionScorer, Rules
from fathoms.scoring.stored_verdicts import StoredVerdicts
from fathoms.types import Question
from fathoms.types.run.manifest import Manifest

VERDICTS = "abstention"
"""The kind of the verdicts of abstention classifiers."""
WORTH = 4_000
"""With fewer answers for each process, starting it takes longer than it saves. With metrics that take longer
than the default ones, fewer answers are enough (`weight_of`)."""
WORTH_JUDGED = 1_000
"""As `WORTH`, of a run with verdicts of a judge."""
SHARE = 1_000
"""The answers that a process gets at once, fewer with metrics that take longer."""
SHARE_JUDGED = 256
"""As `SHARE`, of a run with verdicts of a judge."""
_MOST = 8


class Share(NamedTuple):
    """Questions that are scored together, each given by the entries of its repeats. Of a large run, `file` is
    the name of the file in which they stand (`runs.question_lines`)."""

    questions: Sequence[Sequence[Entry]]
    file: str | None = None

    @property
    def answers(self) -> int:
        """The number of answers in the share."""
        return sum(map(len, self.questions))


@dataclass(frozen=True)
class ScoreJob:
    """The questions of a run in shares, and by which rules and metrics they are scored. `on_done` is called
    with the number of answers that are scored."""

    run: Run
    manifest: Manifest
    rules: Rules
    metrics: Sequence[Metric]
    shares: Sequence[Share]
    on_done: Callable[[int], None] = lambda done: None

    @property
    def answers(self) -> int:
        """The number of answers in all shares."""
        return sum(share.answers for share in self.shares)

    @property
    def can_be_shared(self) -> bool:
        """Whether other processes can score by these rules and metrics: by those of the configuration, if
        they need neither a model nor anything that only this process has."""
        own = own_metrics(self.run, self.manifest)
        return (
            has_plain_rules(self.rules.scoring)
            and self.rules.profile == "fathoms"
            and all(map(_is_light, self.metrics))
            and [metric.name for metric in self.metrics] == [metric.name for metric in own]
        )

    def scorer(self) -> tuple[QuestionScorer, list[Stage]]:
        """Return what scores the questions, and the stages of the funnel that are known for any."""
        run, texts = self.run, run_texts(self.run, self.manifest)
        every = [entry for share in self.shares for entries in share.questions for entry in entries]
        possible: list[Stage] = ["answer"]
        if any(entry.retrieved for entry in every):
            possible.append("retrieved")
        if any(entry.prompted for entry in every):
            possible.append("prompt")
        stages = texts.known_stages(run.records.read(every), possible=possible)
        known = run.verdicts(VERDICTS)
        scorer = QuestionScorer(
            run,
            self.rules,
            self.metrics,
            known,
            texts,
            stages,
            self.on_done,
            weights=self.manifest.data.weights,
        )
        return scorer, sorted(stages)

    def setup(self, stages: Sequence[str], *, judged: bool = False) -> dict[str, Any]:
        """Return what a `ShareScorer` needs before the first share, as JSON values; `judged` says whether it
        scores from the verdicts that the run holds."""
        rules = self.rules
        return {
            "run": str(self.run.path),
            "manifest": self.manifest.plain(),
            "scoring": rules.scoring.model_dump(mode="json"),
            "profiles": [profile.name for profile in rules.profiles],
            "profile": rules.profile,
            "imported": rules.imported,
            "retrieval_only": rules.retrieval_only,
            "retrieves": rules.retrieves,
            "stages": list(stages),
            "judged": judged,
            "gold": [one.model_dump(mode="json") for one in self.run.records.gold.values()],
        }


def _is_light(metric: Metric) -> bool:
    """Return whether every process can have a metric of its own."""
    return metric.inert and metric.weight is not None and not isinstance(metric, JudgedMetric)


def weight_of(metrics: Sequence[Metric]) -> int:
    """Return how long these metrics take for an answer, as a multiple of the time of the default metrics."""
    return 1 + sum(metric.weight or 0 for metric in metrics)


def has_plain_rules(scoring: Scoring) -> bool:
    """Return whether other processes can score by these rules, apart from the results of a judge: no model
    is needed for them."""
    return isinstance(scoring.abstention, Linear) and scoring.profile in (None, "fathoms")


def run_texts(run: Run, manifest: Manifest) -> RunTexts:
    """Return the parsed documents, with which the funnel compares; those that could not be read have no
    text."""
    unread = manifest.data.ingest.failures if manifest.data.ingest else {}
    return RunTexts(StoredDocuments(run, manifest), unread)


def started_early(answers: int, scoring: Scoring, metrics: Sequence[Metric]) -> list[Child]:
    """Start the processes that will score so many answers, before it is known whether they are needed: they
    get ready while this process reads the journal. `working` takes them, and ends them."""
    if not (has_plain_rules(scoring) and all(map(_is_light, metrics))):
        return []
    return _started(processes(answers, WORTH // weight_of(metrics)))


@contextmanager
def working(count: int, started: Sequence[Child] = ()) -> Iterator[list[Child]]:
    """Give so many processes that score shares: those that are `started` already, and new ones for the rest.
    All of them end with the block. A process gets ready while this one does, too."""
    children = [*started, *_started(count - len(started))]
    try:
        yield children[:count]
    finally:
        for child in children:
            child.end()


def _started(count: int) -> list[Child]:
    """Start so many processes that score shares."""
    return [Child(__name__, stderr="discard") for _ in range(count)]


def processes(answers: int, worth: int, shares: int = _MOST) -> int:
    """Return how many processes score so many answers in so many shares if each gets `worth` answers or more;
    0 where not even two are worth their start."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = min(cores, _MOST, shares, answers // worth)
    return count if count > 1 else 0


def shares_of(
    questions: Mapping[str, Sequence[Entry]], order: Sequence[str], large: int = LARGE, size: int = SHARE
) -> list[Share]:
    """Return the questions, in the `order` of their ids, in shares of at least `size` answers, except for the
    last. Of a run with more than `large` questions, there is one share for each of its files."""
    if len(questions) <= large:
        return list(map(Share, _groups([questions[id] for id in in_order(questions, order)], size)))
    return [Share([questions[id] for id in ids], name) for name, ids in divided(questions, order).items()]


def _groups(questions: Sequence[Sequence[Entry]], size: int) -> Iterator[list[Sequence[Entry]]]:
    """Yield the questions in groups of at least `size` answers, except for the last."""
    share: list[Sequence[Entry]] = []
    answers = 0
    for entries in questions:
        share.append(entries)
        answers += len(entries)
        if answers >= size:
            yield share
            share, answers = [], 0
    if share:
        yield share


class ShareScorer:
    """Scores shares of the questions of a run by what `ScoreJob.setup` returned."""

    def __init__(self, run: Run, setup: Mapping[str, Any]) -> None:
        self._run = run
        self._stages = setup["stages"]
        manifest = Manifest.model_validate(setup["manifest"])
        run.records.gold = {one.id: one for one in map(Question.model_validate, setup["gold"])}
        self._rules = Rules(
            Scoring.model_validate(setup["scoring"]),
            tuple(profile for profile in PROFILES if profile.name in setup["profiles"]),
            setup["profile"],
            setup["imported"],
            setup["retrieval_only"],
            setup["retrieves"],
            variants=manifest.data.variant_ids,
        )
        self._known, self._texts = run.verdicts(VERDICTS), run_texts(run, manifest)
        self._metrics = own_metrics(run, manifest)
        self._weights = manifest.data.weights
        self._stored: StoredVerdicts | None = None
        if setup["judged"]:
            judge = read_measures(manifest).judge
            assert judge is not None
            self._stored = StoredVerdicts(run, judge, self._metrics)

    def score(self, share: Share) -> dict[str, Any]:
        """Score a share and write its files; returns what the summary needs as JSON values, and nothing where
        the run does not hold all verdicts."""
        rules, verdicts = self._rules, {}
        if self._stored is not None:
            if (judged := self._stored.of(share.questions)) is None:
                return {}
            rules, verdicts = replace(rules, judged=judged), {"verdicts_of_judge": self._stored.state()}
        scorer = QuestionScorer(
            self._run, rules, self._metrics, self._known, self._texts, self._stages, weights=self._weights
        )
        scorer.score(*share)
        return scorer.state() | verdicts


@rare_collections()
def serve(process: ThisProcess) -> None:
    """Score each share of questions that the parent sends."""
    requests = process.requests()
    setup = next(requests)
    scorer = ShareScorer(Run(Path(setup["run"])), setup)
    for shared, file in requests:
        process.answer(
            scorer.score(Share([[Entry(*entry) for entry in entries] for entries in shared], file))
        )
