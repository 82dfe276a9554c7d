"""Experiments: one YAML file with a pipeline, the data that it is measured on, and the scoring.

An experiment either configures the stages of fathoms at the top level of the file (`Experiment`), or names an
external pipeline under `pipeline:` (`ExternalExperiment`). The runner uses both through the same methods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import Field, field_validator

from fathoms.compare.gate_settings import GateSettings
from fathoms.component import Component, Loads
from fathoms.config import Source, override, read_yaml, validate
from fathoms.corpora import DataSource
from fathoms.errors import ConfigError, DocumentError, UsageError
from fathoms.judges import AnyJudge
from fathoms.metrics.metric import JudgedMetric
from fathoms.metrics.registry import Metrics, default_metrics, distinct, search_metrics
from fathoms.metrics.score_records import Scoring
from fathoms.models import Generator
from fathoms.models.caller import Caller, provider_of
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.embed.process import embed
from fathoms.pipeline.answering import PackedQuestion
from fathoms.pipeline.external import Connected, External
from fathoms.pipeline.matrix import Cell, at_cell, axes_of, cells_in, read_axes, titled
from fathoms.pipeline.pipeline import Pipeline, Progress, Stages, silent
from fathoms.pipeline.questions_anew import QuestionsAnew
from fathoms.pipeline.searching import Depth, Searching, depth_for
from fathoms.retrieve import Describe
from fathoms.runs.cache import Cache
from fathoms.runs.shared import checked_address
from fathoms.safety.option_limits import LONGEST_WAIT
from fathoms.types import Document, DocumentFacts, Hit, Purpose, Question, Record


class Prepared(Protocol):
    """What the runner asks questions of: `Ingested` for a corpus, `Connected` for an external pipeline."""

    @property
    def documents(self) -> Sequence[Document]:
        """The documents; they have no pages where an external pipeline reads them itself."""

    @property
    def stated(self) -> Sequence[DocumentFacts]:
        """What the manifest states of each document, in the same order, without loading it."""

    @property
    def failures(self) -> tuple[DocumentError, ...]:
        """Documents that could not be read and were left out."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """Fingerprint per stage; the last one covers all stages."""

    def report(self) -> dict[str, Any]:
        """Counts and warnings of the ingested documents."""

    @property
    def notes(self) -> dict[str, Any]:
        """What `assess` and `retrieve` found worth noting in the manifest, by a name."""

    def assess(self, questions: Sequence[Question]) -> None:
        """Note what an approximate search loses on these questions; `retrieve` does so too."""

    def retrieve(
        self, questions: Sequence[Question], among: Sequence[Question] = ()
    ) -> dict[str, tuple[Hit, ...]]:
        """The hits by question id; empty where retrieval is not a separate stage. `among` are all questions
        of the data set."""

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...],
        *,
        repeat: int = 0,
        timeout: float | None = None,
        caller: Caller | None = None,
        packed: PackedQuestion | None = None,
    ) -> Record:
        """Ask one question through `caller`; a failure is returned as a record too. `packed` holds its
        prompts where they were made before."""


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
    cache: str | None = None
    """Where several machines share what they make of documents: `s3://BUCKET/PREFIX`, `gs://`, `az://` or
    `file:///FOLDER`. Credentials come from the environment. Default: `$FATHOMS_SHARED_CACHE`, or nowhere."""

    @field_validator("cache")
    @classmethod
    def _an_address(cls, cache: str | None) -> str | None:
        """Refuse what is no address of a shared cache."""
        return None if cache is None else checked_address(cache)

    def _placed(self, base: Path) -> dict[str, Any]:
        """The scoring and the metrics with relative paths resolved from a folder."""
        metrics = distinct(metric.at(base) for metric in self.metrics)
        return {"scoring": self.scoring.at(base), "metrics": metrics}

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
    def _answering(self) -> Generator | External:
        """The component that answers the questions."""
        raise NotImplementedError

    @property
    def max_concurrency(self) -> int:
        """The most questions in flight at once."""
        return self._answering.max_concurrency

    @property
    def called(self) -> dict[Purpose, Generator | External]:
        """What is called for each purpose when a question is asked."""
        return {"answer": self._answering}

    @property
    def provider(self) -> str:
        """Identifies the provider of the answers."""
        return provider_of(self._answering)

    @property
    def providers(self) -> frozenset[str]:
        """All providers that are called for a question; experiments with the same provider share its rate
        limits."""
        return frozenset(map(provider_of, self.called.values()))


class Experiment(Pipeline, Measured):
    """An experiment with a pipeline built of fathoms' stages."""

    @property
    def _calling(self) -> ExecutionSettings:
        return self.execution

    @property
    def answerer(self) -> str | None:
        """Model or target of the generator, as tables show it; `None` where it has no name."""
        found = getattr(self.generate, "model", None) or getattr(self.generate, "target", None)
        return None if found is None else str(found)

    @property
    def _answering(self) -> Generator:
        return self.generate

    @property
    def called(self) -> dict[Purpose, Generator | External]:
        """The models that answer and, where there is one, that helps to retrieve."""
        return {"answer": self.generate, **self.retrieve.called}

    def at(self, base: Path) -> Experiment:
        """Return a copy whose relative paths are resolved from `base`, the folder of the configuration."""
        return self.model_copy(update=self._placed(base))

    def check(self) -> None:
        """Run the checks of the pipeline, and check that the answers can be scored."""
        super().check()
        self.check_scoring()

    def served(self) -> dict[str, Any]:
        """What the servers report about the configured models, by stage."""
        return _served({"generate": self.generate, **self.used_stages()})


def _served(stages: Mapping[str, Component]) -> dict[str, Any]:
    """What the servers report about the models of stages; those that report nothing are left out."""
    return {stage: found for stage, component in stages.items() if (found := component.served())}


class SearchExperiment(Stages, Measured):
    """An experiment that only searches: it has no model that answers, and its scoring needs no judge."""

    answerer: ClassVar[str | None] = None

    @property
    def _calling(self) -> ExecutionSettings:
        return self.execution

    @property
    def max_concurrency(self) -> int:
        """The most questions in flight at once: that of the model that helps to retrieve, if there is one."""
        return max((model.max_concurrency for model in self.called.values()), default=1)

    @property
    def called(self) -> dict[Purpose, Generator | External]:
        """The language model that helps to retrieve, if there is one."""
        return {**self.retrieve.called}

    @property
    def provider(self) -> str:
        """The provider of the language model that helps to retrieve; without one, no provider is called."""
        return next(map(provider_of, self.called.values()), NO_PROVIDER)

    @property
    def providers(self) -> frozenset[str]:
        """The same as a set."""
        return frozenset({self.provider})

    @property
    def depth(self) -> Depth:
        """How deep the search must go for the metrics of the run."""
        return depth_for(search_metrics(self.metrics))

    def at(self, base: Path) -> SearchExperiment:
        """Return a copy whose relative paths are resolved from `base`, the folder of the configuration."""
        return self.model_copy(update=self._placed(base))

    def check(self) -> None:
        """Run the checks of the stages, and check that the hits can be scored."""
        super().check()
        self.check_scoring()

    def check_scoring(self) -> None:
        """Check the metrics that need no answer; nothing else will be computed."""
        for metric in self.metrics:
            if "answer" not in metric.needs:
                metric.check()

    def served(self) -> dict[str, Any]:
        """What the servers report about the configured models, by stage."""
        return _served(self.used_stages())

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
    ) -> Searching:
        """Parse, chunk and embed what the cache does not hold yet, and return the corpus ready to be
        searched; raises as `Pipeline.prepare` does."""
        built = self.build(documents, cache, workers, progress)
        pages, handling = built.index.pages, self.retrieve.pages
        if pages is not None and handling is not None:
            pages = replace(pages, embed=QuestionsAnew(handling.embed, self.execution, built.times))
        return Searching(
            ingest=self.ingest,
            retriever=self.retrieve,
            depth=self.depth,
            documents=built.documents,
            facts=built.facts,
            failures=built.failures,
            # questions are embedded anew, because the time that this takes is measured
            index=replace(built.index, embed=partial(embed, self.embed, query=True), pages=pages),
            fingerprints=self.fingerprints(built.hashes),
            times=built.times,
        )


NO_PROVIDER = "no model"
"""Stands for the provider of runs that call no model."""


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
    def answerer(self) -> str:
        """The pipeline's model, address or target."""
        return self.pipeline.name

    @property
    def _answering(self) -> External:
        return self.pipeline

    def at(self, base: Path) -> ExternalExperiment:
        """Return a copy with paths and modules resolved from `base`, the folder of the configuration."""
        return self.model_copy(update={**self._placed(base), "pipeline": self.pipeline.at(base)})

    def check(self) -> None:
        """Raise now what would fail later."""
        for check in self.checks().values():
            check()
        self.check_scoring()

    def checks(self) -> dict[str, Callable[[], None]]:
        """The checks that can be made beforehand, by configuration key."""
        return {"pipeline": self.pipeline.check}

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
    ) -> Connected:
        """Make the external pipeline ready for questions on the documents; raises FathomsError."""
        return self.pipeline.prepare(documents, cache)


AnyExperiment = Experiment | SearchExperiment | ExternalExperiment
E = TypeVar("E", bound=Measured)


def load_experiment(
    path: Path,
    settings: Iterable[str] = (),
    *,
    model: str | None = None,
    concurrency: int | None = None,
    retrieval_only: bool = False,
    cell: Cell | None = None,
) -> AnyExperiment:
    """Read a configuration file and override keys of it. `name` defaults to the name of the file.

    `cell` has the name chosen on each axis of the file's matrix; without it, the configuration is read as it
    stands without the matrix. `model` and `concurrency` override those of the generator or of the external
    pipeline. With `retrieval_only`, the keys `prompt` and `generate` are not read, and need not be there.
    Raises ConfigError for an invalid configuration, and UsageError for a `model` where there is no such key,
    and for a cell that there is not.
    """
    source = read_yaml(path)
    source.data.setdefault("name", path.stem)
    settings = list(settings)
    source = override(at_cell(source, axes_of(source, KEYS), cell or {}), settings)
    if retrieval_only:
        return _search(source, settings, model, concurrency).at(path.parent)
    if "pipeline" not in source.data:
        if not source.data.keys() & Pipeline.model_fields.keys():  # else it is one of fathoms' own pipelines
            for key in get_close_matches("pipeline", map(str, source.data), 1, 0.8):
                raise source.complain((key,), f"unknown key '{key}' (did you mean 'pipeline'?)")
        source = override(source, _shortcuts("generate", model, concurrency))
        return _with_known_metrics(validate(Experiment, source), source).at(path.parent)
    for stage in Pipeline.model_fields:
        if stage in source.data:
            raise source.complain(
                (stage,),
                f"'{stage}' is a stage of fathoms' own pipelines, and this configuration has another one"
                f" ('pipeline', {source.at(('pipeline',))}): remove one of the two",
            )
    section = source.data["pipeline"]  # as written, not validated yet
    if model is not None and isinstance(section, dict) and section.get("kind") == "python":
        raise UsageError(f"another model, {model}: a pipeline of the kind 'python' has no key 'model'")
    source = override(source, _shortcuts("pipeline", model, concurrency))
    experiment = _with_known_metrics(validate(ExternalExperiment, source), source)
    try:
        return experiment.at(path.parent)
    except ConfigError as error:
        raise source.complain(("pipeline", "target"), str(error)) from error


def load_cells(path: Path, settings: Iterable[str] = ()) -> Iterator[tuple[Cell, AnyExperiment]]:
    """Yield every cell of the matrix of a configuration file with its experiment, named after both; without
    a matrix, the one experiment with an empty cell. Raises as `load_experiment` does."""
    settings = list(settings)
    for cell in cells_in(read_axes(path, KEYS)):
        experiment = load_experiment(path, settings, cell=cell)
        yield cell, experiment.model_copy(update={"name": titled(experiment.name, cell)})


def _search(
    source: Source, settings: Sequence[str], model: str | None, concurrency: int | None
) -> SearchExperiment:
    """Read the experiment of a run that only searches."""
    if "pipeline" in source.data:
        raise UsageError(
            f"{source.at(('pipeline',))}: --retrieval-only searches with the stages of fathoms, and this"
            " configuration has another pipeline: 'fathoms import hits' measures what that one found"
        )
    unused = [each.partition("=")[0] for each in settings if each.split(".")[0] in AFTER_RETRIEVAL]
    unused += ["--model"] if model is not None else []
    unused += ["--max-concurrency"] if concurrency is not None else []
    if unused:
        raise UsageError(f"--retrieval-only asks no model for answers: leave out {', '.join(unused)}")
    data = {key: value for key, value in source.data.items() if key not in AFTER_RETRIEVAL}
    source = Source(source.name, data, source.places)
    experiment = _with_known_metrics(validate(SearchExperiment, source), source)
    if isinstance(experiment.retrieve, Describe):  # what is found is not changed by how it is read
        experiment = experiment.model_copy(update={"retrieve": experiment.retrieve.first})
    if experiment.retrieve.needs == "nothing":
        raise source.complain(
            ("retrieve", "kind"), f"kind '{experiment.retrieve.kind}' searches for nothing: name a retriever"
        )
    return experiment


KEYS = frozenset({*Experiment.model_fields, *ExternalExperiment.model_fields})
"""The keys at the top of a configuration."""

AFTER_RETRIEVAL = ("prompt", "generate")
"""The stages that a run has not which only searches."""


def _with_known_metrics(experiment: E, source: Source) -> E:
    """Return the experiment; raises ConfigError if its gate names a metric that its runs will not have, or
    one that cannot be gated."""
    units = {metric.name: metric.measured_in for metric in (*default_metrics(), *experiment.metrics)}
    if experiment.gate is not None:
        for place, message in experiment.gate.mistakes(units):
            raise source.complain(("gate", *place), message)
    return experiment


def _shortcuts(section: str, model: str | None, concurrency: int | None) -> Iterator[str]:
    """The `--set` settings that are equal to a model and a concurrency."""
    if model is not None:
        yield f"{section}.model={json.dumps(model)}"  # quoted, so that YAML reads it as text
    if concurrency is not None:
        yield f"{section}.max_concurrency={concurrency}"
