"""The verdicts that the metrics of a run rest on: by which judge, and what they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

from fathoms.errors import UsageError
from fathoms.judges import Judge
from fathoms.judges.agreement import last_check
from fathoms.judges.asking import Judged as JudgeResults
from fathoms.judges.asking import Spending, decomposer
from fathoms.judges.of_run import Judging, judge_run
from fathoms.metrics.claims.compared import spending
from fathoms.metrics.claims.extraction import sentence_of
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.pooling import JudgedBy
from fathoms.metrics.registry import (
    judged_kinds,
    named,
)
from fathoms.metrics.score_records import Scoring
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.runs.trust import Demand, is_signed, refuse
from fathoms.scoring.measures import read_measures, trusted_scoring
from fathoms.scoring.stored_verdicts import Found
from fathoms.scoring.until_width import Stopped, Until
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Rubric, Verdict
from fathoms.types.run.manifest import Manifest


@dataclass(frozen=True)
class RunVerdicts:
    """The results of judging a run, what they took, and the metrics of which a part was judged on purpose."""

    judge: Judge
    judged: JudgeResults
    spending: Spending
    splits: bool = True
    stored: Found | None = None
    stopped: Mapping[str, Stopped] = field(default_factory=dict)

    @property
    def verdicts(self) -> Collection[Verdict]:
        """All verdicts, without their claims where other processes have looked them up."""
        return (self.stored or self.judged).verdicts.values()

    @property
    def key(self) -> str:
        """A fingerprint of the judge with all its settings."""
        return fingerprint(self.judge.identity())

    def prompts(self, kinds: Iterable[Rubric | Literal["claims"]]) -> tuple[str, ...]:
        """The prompts of the judge for what is asked, with their versions; none of a judge without any."""
        return tuple(sorted(filter(None, map(self.judge.prompt_of, kinds))))

    def key_of(self, rubrics: Iterable[Rubric]) -> str:
        """A fingerprint of the judge with all that decides its verdicts under some rubrics. That of claims
        is in the fingerprint of the judge."""
        others = self.prompts(set(rubrics) - {"support"})
        return fingerprint(self.key, others) if others else self.key

    def by(self, metric: Metric) -> JudgedBy:
        """Who gave the verdicts that a metric rests on, if it rests on any."""
        if not isinstance(metric, JudgedMetric):  # it reads the grades of answers
            return JudgedBy(self.judge.name, self.key_of(("grade", "correct")))
        prompts = self.prompts(metric.rubrics)
        if metric.splits and self.judge.claims == "model":
            prompts += self.prompts(["claims"])
        # people label claims, so a check says nothing of grades, relevance or nuggets
        checked = self.checked if metric.rubrics == {"support"} else None
        return JudgedBy(self.judge.name, self.key_of(metric.rubrics), prompts, checked)

    @cached_property
    def checked(self) -> dict[str, Any] | None:
        """How well the judge agreed with people on claims when it was last checked with these settings."""
        if self.judge.is_people:
            return {"judge": self.judge.name, "people": True}
        return None if (found := last_check(self.key)) is None else found.model_dump()

    @property
    def described(self) -> dict[str, Any]:
        """The judge and the counts, as the summary stores them.

        `asked` counts the calls of this scoring, `found` the results that the run held before. `cost` is in
        US dollars and covers this scoring alone, `None` where unknown.
        """
        spent, verdicts, lists = self.spending, self.verdicts, (self.stored or self.judged).lists
        total = spending(list(verdicts), list(lists.values()))
        return {
            "judge": self.judge.name,
            "key": self.key,
            "checked": self.checked,
            **({"claims": self._claims()} if self.splits else {}),
            "asked": spent.calls,
            "found": spent.found,
            "failed": spent.failed,
            **({"retried": spent.retried, "retries": spent.retries} if spent.retried else {}),
            "cost": spent.cost,
            "over_budget": spent.is_spent,
            "total_cost": total.cost,
            "verdicts": dict(Counter(verdict.label for verdict in verdicts)),
            "kept": total,
        }

    def _claims(self) -> dict[str, str]:
        """How texts were split into claims, and what is known of this way of splitting."""
        name = decomposer(self.judge)
        return {"decomposer": name, "sentence": sentence_of(name)}


def verdicts_of(
    run: Run,
    manifest: Manifest,
    needing: Sequence[JudgedMetric | JudgedAbstention],
    entries: Mapping[tuple[str, int], Entry],
    judging: Judging,
    until: Until | None = None,
) -> RunVerdicts | None:
    """Obtain the verdicts that metrics and the abstention classifier need; `None` if none needs any. With
    `until`, only those until intervals are narrow. Raises UsageError if there is no judge."""
    if not needing:
        return None
    measures = read_measures(manifest)
    judge = judging.judge or measures.judge
    if judge is None:
        first = needing[0]
        name = first.name if isinstance(first, JudgedMetric) else "scoring.abstention of kind judge"
        raise UsageError(
            f"{name} needs a judge, and the configuration of {run.id} has none: name a file"
            " with one by --judge"
        )
    read = partial(run.records.read, entries.values())
    if not is_signed(manifest) and any(hit.chunk.image for record in read() for hit in record.hits or ()):
        # the paths of a run from elsewhere may point at anything
        refuse(run.id, manifest, [Demand(("hits", "image"), "sends the pictures at its paths to the judge")])
    how = replace(judging, execution=measures.execution, timeout=measures.question_timeout)
    splits = any(isinstance(one, JudgedMetric) and one.splits for one in needing)
    if until is None:
        return RunVerdicts(judge, *judge_run(run, judge, needing, read, how), splits)
    metrics = [one for one in needing if isinstance(one, JudgedMetric)]
    if len(metrics) < len(needing):
        raise UsageError("--until-width needs another kind of scoring.abstention than judge, which needs all")
    return RunVerdicts(judge, *until.judge(run, judge, metrics, how), splits)


def with_key(scoring: Scoring, verdicts: RunVerdicts) -> Scoring:
    """Return the scoring; where the judge labels abstentions, with the fingerprint of the judge."""
    abstention = scoring.abstention
    if not isinstance(abstention, JudgedAbstention):
        return scoring
    return scoring.model_copy(update={"abstention": abstention.by(verdicts.key_of(abstention.rubrics))})


def judged_by(run: Run) -> tuple[Judge | None, tuple[JudgedMetric, ...]]:
    """Return the judge of a run's configuration, and all judged metrics, those of the configuration with its
    options. Raises UsageError where the run is from elsewhere and its configuration would do more than read
    the run."""
    manifest = run.manifest
    _, own = trusted_scoring(run, manifest, ())
    every = (*named(judged_kinds()), *own)
    known = {metric.name: metric for metric in every if isinstance(metric, JudgedMetric)}
    documents = StoredDocuments(run, manifest)
    return read_measures(manifest).judge, tuple(metric.reading(documents) for metric in known.values())
