"""Experiments: a pipeline, the data that it is measured on, and the scoring, as one YAML file has them.

| class | what the file has | what answers | its stages up to retrieval |
|---|---|---|---|
| `Experiment` | the stages of fathoms | a model (`generate`) | those of the file |
| `SearchExperiment` | the same, with `--retrieval-only` | nothing | those of the file |
| `ExternalExperiment` | another pipeline (`pipeline`) | that pipeline | its own |

What they have in common is in `Measured`. The runner uses all three alike, as `Runnable`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator

from fathoms.component import Component, Loads
from fathoms.corpora import DataSource
from fathoms.errors import ConfigError
from fathoms.gate.settings import GateSettings
from fathoms.ingest import Pdfium
from fathoms.judges import AnyJudge
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.registry import Metrics, distinct, search_metrics
from fathoms.metrics.score_records import Scoring
from fathoms.models import Generator
from fathoms.models.caller import provider_of
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.pipeline.external import Connected, External
from fathoms.pipeline.pipeline import Pipeline, Stages
from fathoms.pipeline.preparation import Preparation, Progress, silent
from fathoms.pipeline.runnable import Judging
from fathoms.pipeline.searching import LEAST, Depth, SearchPipeline
from fathoms.retrieve import WholeDocument
from fathoms.runs.cache import Cache
from fathoms.runs.sharing import checked_address
from fathoms.safety.option_limits import LONGEST_WAIT, MOST_REPEATS
from fathoms.types import Document, JudgeCalls, Purpose, Record

if TYPE_CHECKING:
    from fathoms.judges.of_run import NeedsVerdicts

NO_PROVIDER = "no model"
"""Stands for the provider of runs that call no model."""


class TuneSettings(Component):
    """What `fathoms tune` decides, and by what; options on the command line win.

    It changes no answer, so it is not part of any fingerprint.
    """

    metric: str | None = None
    """What is best: any metric from 0 to 1, a judge's too. Default: `correctness`."""
    profile: str | None = None
    """The scoring profile of the metric. Default: the one that reports show first."""
    confidence: float | None = Field(default=None, ge=0.5, lt=1)
    """The probability with which the best on these questions is never dropped. Default: 0.95."""
    within: float | None = Field(default=None, ge=0, lt=1)
    """Stop when one candidate is at most this much worse than any other. Default: 0."""
    front: Literal["cost", "latency"] | None = None
    """Drop a candidate only where one that costs (or takes) no more is better."""
    screen: Literal["retrieval"] | None = None
    """Search for all questions first, and compare with the candidates that find the gold pages best."""
    max_cost: float | None = Field(default=None, ge=0)
    """Stop before the race costs more US dollars, judges included."""
    max_calls: int | None = Field(default=None, ge=1)
    """Stop before more questions are asked."""
    seed: int | None = Field(default=None, ge=0)
    """The seed that orders the questions. Default: 0."""
    repeats: int | None = Field(default=None, ge=1, le=MOST_REPEATS)
    """How many times each question is asked. Default: 1."""


class Measured(Component):
    """The configuration keys that every experiment has besides its pipeline."""

    loads: ClassVar[Mapping[str, Loads]] = {"cache": Loads("server")}

    name: str = Field(min_length=1)
    """Name of the experiment and of its runs. Default: the name of the file without its extension."""
    data: DataSource
    """The data set: a name, or `{questions: FILE, documents: DIR}`."""
    scoring: Scoring = Scoring()
    """How answers are scored."""
    metrics: Metrics = ()
    """Metrics that are computed besides those of `fathoms`: names of metrics or of sets (`fathoms metrics`
    lists them), or mappings with a `kind` and options."""
    judge: AnyJudge | None = None
    """The judge for metrics that need one, such as `faithfulness`, and for `abstention: {kind: judge}`."""
    question_timeout: float = Field(default=600, gt=0, le=LONGEST_WAIT)
    """Seconds that one answer may take, all attempts included, before the question counts as failed."""
    execution: ExecutionSettings = ExecutionSettings()
    """Retries and rate limits of the requests to each provider."""
    gate: GateSettings | None = None
    """How `fathoms gate` judges the runs of this configuration; options on the command line win."""
    # no part of a run: it is not stored with one
    tune: TuneSettings | None = Field(default=None, exclude=True)
    """How `fathoms tune` chooses between the candidates of this configuration."""
    cache: str | None = None
    """Where several machines share what they make of documents: `s3://BUCKET/PREFIX`, `gs://`, `az://` or
    `file:///FOLDER`. Credentials come from the environment. Default: `$FATHOMS_SHARED_CACHE`, or nowhere."""

    @field_validator("cache")
    @classmethod
    def _an_address(cls, cache: str | None) -> str | None:
        """Refuse what is no address of a shared cache."""
        return None if cache is None else checked_address(cache)

    def at(self, base: Path) -> Self:
        """Return a copy whose relative paths are resolved from `base`, the folder of the configuration."""
        metrics = distinct(metric.at(base) for metric in self.metrics)
        return self.model_copy(update={"scoring": self.scoring.at(base), "metrics": metrics})

    def check(self) -> None:
        """Raise now what would fail later: a missing package, weights or server, and what scoring lacks."""
        self.execution.executor(1)  # whose extra may be missing
        for check in self.checks().values():
            check()
        self.check_scoring()

    @abstractmethod
    def checks(self) -> dict[str, Callable[[], None]]:
        """The checks that can be made beforehand, by configuration key."""

    def check_scoring(self) -> None:
        """Check that the answers can be scored; raises the errors that scoring would raise."""
        self.scoring.check()
        for metric in self.metrics:
            metric.check()
        if self.judge is not None:
            self.judge.check()
        elif self.asks_judge:
            judged = [f"metrics: {each.name}" for each in self.metrics if isinstance(each, JudgedMetric)]
            first = [*judged, "scoring.abstention: kind 'judge'"][0]
            raise ConfigError(f"{first} needs a judge: add 'judge: {{kind: llm, model: ...}}'")

    @property
    def asks_judge(self) -> bool:
        """Whether scoring asks the judge: for a metric, or whether answers abstain."""
        judged = any(isinstance(metric, JudgedMetric) for metric in self.metrics)
        return judged or self.scoring.abstention.kind == "judge"

    @property
    def judging(self) -> Judging | None:
        """How scoring will ask a language model; `None` where it asks none. A cascade counts as if its last
        model judged everything."""
        if self.judge is None or not self.asks_judge or not (models := list(self.judge.parts().values())):
            return None
        judged = [metric for metric in self.metrics if isinstance(metric, JudgedMetric)]
        judge, abstention = self.judge, self.scoring.abstention

        def calls(records: Sequence[Record], documents: Mapping[str, Document]) -> JudgeCalls:
            from fathoms.judges.of_run import forecast_calls

            needing: list[NeedsVerdicts] = [metric.reading(documents) for metric in judged]
            needing += [abstention] if isinstance(abstention, JudgedAbstention) else []
            return forecast_calls(judge, needing, records)

        return Judging(models[-1], calls)

    @property
    def stages(self) -> Stages | None:
        """The stages up to retrieval; `None` where an external pipeline has its own."""
        return self if isinstance(self, Stages) else None

    @property
    def depth(self) -> Depth | None:
        """How deep a run goes that only searches; `None` for one that asks for answers."""
        return None

    @property
    def generator(self) -> Generator | None:
        """The model that answers the prompts of fathoms; `None` where there is none."""
        return None

    @property
    def answering(self) -> Generator | External | None:
        """The component that answers the questions; `None` where nothing does."""
        return self.generator

    @property
    def answerer(self) -> str | None:
        """Model or target of what answers, as tables show it; `None` where it has no name."""
        found = getattr(self.answering, "model", None) or getattr(self.answering, "target", None)
        return None if found is None else str(found)

    @property
    def called(self) -> dict[Purpose, Generator | External]:
        """What is called for each purpose when a question is asked: what answers, and the language model that
        helps to retrieve."""
        answering: dict[Purpose, Generator | External] = {}
        if self.answering is not None:
            answering["answer"] = self.answering
        return answering if self.stages is None else {**answering, **self.stages.retrieve.called}

    @property
    def max_concurrency(self) -> int:
        """The most questions in flight at once: what answers sets it, or else what helps to retrieve."""
        return next((each.max_concurrency for each in self.called.values()), 1)

    @property
    def provider(self) -> str:
        """Identifies the provider of the answers, or else of what helps to retrieve."""
        return next(map(provider_of, self.called.values()), NO_PROVIDER)

    @property
    def providers(self) -> frozenset[str]:
        """All providers that are called for a question; experiments with the same provider share its rate
        limits."""
        return frozenset({self.provider, *map(provider_of, self.called.values())})

    def served(self) -> dict[str, Any]:
        """What the servers report about the configured models, by stage; those that report nothing are left
        out."""
        models: dict[str, Component] = {} if self.generator is None else {"generate": self.generator}
        models |= {} if self.stages is None else self.stages.used_stages()
        return {stage: found for stage, component in models.items() if (found := component.served())}


class Experiment(Pipeline, Measured):
    """An experiment with a pipeline built of fathoms' stages."""

    @property
    def _calling(self) -> ExecutionSettings:
        return self.execution

    def check(self) -> None:
        """Run the checks of the stages, and check that the answers can be scored."""
        super().check()
        self.check_scoring()

    @property
    def generator(self) -> Generator:
        """The stage whose model answers the questions."""
        return self.generate


class SearchExperiment(SearchPipeline, Measured):
    """An experiment that only searches: it has no model that answers, and its scoring needs no judge."""

    @property
    def _calling(self) -> ExecutionSettings:
        return self.execution

    @property
    def depth(self) -> Depth:
        """How deep the search must go for the metrics of the run."""
        return depth_for(search_metrics(self.metrics))

    @property
    def judging(self) -> None:
        """Nothing is judged, because there are no answers."""

    def check(self) -> None:
        """Run the checks of the stages, and check that the hits can be scored."""
        super().check()
        self.check_scoring()

    def check_scoring(self) -> None:
        """Check the metrics that need no answer; nothing else will be computed."""
        for metric in self.metrics:
            if "answer" not in metric.needs:
                metric.check()


def depth_for(metrics: Iterable[Metric]) -> Depth:
    """Return how deep a search must go for these metrics: as deep as the largest `k` of any of them, and at
    least to `LEAST`, for the curves of recall."""
    found = Depth(LEAST)
    for metric in metrics:
        k = int(getattr(metric, "k", None) or 0)
        by_document = k > 0 and getattr(metric, "level", None) == "document"
        found = Depth(max(found.k, k), found.documents or by_document)
    return found


class ExternalExperiment(Measured):
    """An experiment with an external pipeline."""

    pipeline: External
    """The external pipeline, of kind `http` or `python`."""

    @field_validator("execution")
    @classmethod
    def _limits_that_hold(cls, execution: ExecutionSettings) -> ExecutionSettings:
        """Refuse `tokens_per_minute`: the tokens of an external pipeline are not known beforehand."""
        if execution.tokens_per_minute is not None:
            raise ValueError(
                "tokens_per_minute cannot be enforced: the tokens of an external pipeline are not known"
                " beforehand; set requests_per_minute"
            )
        return execution

    @property
    def answering(self) -> External:
        """The external pipeline, which does everything itself."""
        return self.pipeline

    @property
    def answerer(self) -> str:
        """The pipeline's model, address or target."""
        return self.pipeline.name

    def at(self, base: Path) -> Self:
        """Return a copy with paths and modules resolved from `base`, the folder of the configuration."""
        return super().at(base).model_copy(update={"pipeline": self.pipeline.at(base)})

    def checks(self) -> dict[str, Callable[[], None]]:
        """The check of the pipeline, by its configuration key."""
        return {"pipeline": self.pipeline.check}

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
        spared: Collection[str] = (),
    ) -> Connected:
        """Make the external pipeline ready for questions on the documents; raises FathomsError.

        The documents are read by the default parser, for the funnel and for metrics that need their text:
        how the pipeline itself reads them is not known.
        """
        connected = self.pipeline.prepare(documents, cache)
        reading = Stages(ingest=Pdfium(on_error="skip"), retrieve=WholeDocument())
        there = {document.id: document.path for document in connected.documents}
        read = reading.build(there, Preparation(cache, workers, progress, spared=spared))
        return connected.with_texts(read, reading.ingest.title)


AnyExperiment = Experiment | SearchExperiment | ExternalExperiment
