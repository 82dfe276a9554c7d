"""One YAML file: a pipeline, the data that it is measured on, and how it is scored.

The pipeline is either of our stages, which then stand at the top of the file, or `pipeline:`, which is
anybody's own. The runner sees both through the same few methods.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field, field_validator

from fathoms.config import Component, Source, override, read_yaml, validate
from fathoms.corpora import DataSource
from fathoms.errors import ConfigError, DocumentError, UsageError
from fathoms.metrics import Scoring
from fathoms.models.calling.lane import Lane, Patience
from fathoms.pipeline.external import Connected, External
from fathoms.pipeline.pipeline import Pipeline, Progress, silent
from fathoms.runs.cache import Cache
from fathoms.safety.limits import LONGEST_WAIT
from fathoms.types import Document, Hit, Question, Record


class Prepared(Protocol):
    """What is ready for questions: an ingested corpus, or a pipeline that is not ours."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """The documents; those of a pipeline that reads them itself have no pages."""

    @property
    def failures(self) -> tuple[DocumentError, ...]:
        """Documents that were left out."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """The state of every stage; the last stands for all."""

    def report(self) -> dict[str, Any]:
        """What came out of the documents."""

    def retrieve(self, questions: Sequence[Question]) -> dict[str, tuple[Hit, ...]]:
        """The hits by question, where retrieving is a stage of its own."""

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...],
        *,
        repeat: int = 0,
        timeout: float | None = None,
        lane: Lane | None = None,
    ) -> Record:
        """Ask one question by the way to the provider; what fails is a record too."""


class Measured(Component):
    """What every configuration says beside its pipeline."""

    name: str = Field(min_length=1)
    """What the runs are called."""
    data: DataSource
    """A data set by name, or `{questions: FILE, documents: DIR}`."""
    scoring: Scoring = Scoring()
    """How answers are judged."""
    question_timeout: float = Field(default=600, gt=0, le=LONGEST_WAIT)
    """Seconds that one answer may take, all attempts together, before the question counts as failed."""
    execution: Patience = Patience()
    """How often and how fast the provider is asked."""


class Experiment(Pipeline, Measured):
    """One YAML file: a pipeline of our stages, the data it is measured on, and how it is scored."""

    @property
    def answerer(self) -> str | None:
        """The model that answers, for the manifest and for tables."""
        found = getattr(self.generate, "model", None) or getattr(self.generate, "target", None)
        return None if found is None else str(found)

    @property
    def max_concurrency(self) -> int:
        """Questions asked at once."""
        return self.generate.max_concurrency

    @property
    def provider(self) -> str:
        """Who answers: what has the same provider shares its limits."""
        return provider_of(self.generate)

    def at(self, base: Path) -> Experiment:
        """With the files that it names found from `base`, the folder of the configuration."""
        return self.model_copy(update={"scoring": self.scoring.at(base)})

    def check(self) -> None:
        """As for the pipeline, and that the answers can be scored."""
        super().check()
        self.scoring.check()

    def served(self) -> dict[str, Any]:
        """What servers say they run under the names that the configuration gives, by stage."""
        stages: dict[str, Component] = {"generate": self.generate, "retrieve": self.retrieve}
        if self.retrieve.needs == "vectors":
            stages["embed"] = self.embed
        return {stage: told for stage, component in stages.items() if (told := component.served())}


class ExternalExperiment(Measured):
    """One YAML file: a pipeline that is not built of our stages, its data, and how it is scored."""

    pipeline: External
    """What answers: `http` or `python`."""

    @field_validator("execution")
    @classmethod
    def _limits_that_hold(cls, execution: Patience) -> Patience:
        """What another pipeline sends to its model is known to nobody here, so tokens cannot be held back."""
        if execution.tokens_per_minute is not None:
            raise ValueError(
                "tokens_per_minute cannot hold: the tokens of a pipeline that is not ours are not known"
                " beforehand; set requests_per_minute"
            )
        return execution

    @property
    def answerer(self) -> str:
        """The pipeline's model, address or target."""
        return self.pipeline.name

    @property
    def max_concurrency(self) -> int:
        """Questions asked at once."""
        return self.pipeline.max_concurrency

    @property
    def provider(self) -> str:
        """Who answers: what has the same provider shares its limits."""
        return provider_of(self.pipeline)

    def at(self, base: Path) -> ExternalExperiment:
        """With the files and modules that it names found from `base`, the folder of the configuration."""
        return self.model_copy(update={"scoring": self.scoring.at(base), "pipeline": self.pipeline.at(base)})

    def check(self) -> None:
        """Raise now what would fail later."""
        for check in self.checks().values():
            check()
        self.scoring.check()

    def checks(self) -> dict[str, Callable[[], None]]:
        """What can be asked beforehand, by the name of its key."""
        return {"pipeline": self.pipeline.check}

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
        reuse_replies: bool = False,
    ) -> Connected:
        """Make the pipeline ready for questions on the documents; raises FathomsError.

        Its replies are never reused, whatever is asked for: nobody knows what changed behind it.
        """
        return self.pipeline.prepare(documents, cache)


AnyExperiment = Experiment | ExternalExperiment


def load_experiment(
    path: Path, settings: Iterable[str] = (), *, model: str | None = None, concurrency: int | None = None
) -> AnyExperiment:
    """Read a config file and override keys of it; the name defaults to the file's.

    `model` and `concurrency` override those of the model or of the pipeline that is not ours. Raises
    ConfigError, and UsageError for a `model` where there is no such key.
    """
    source = read_yaml(path)
    source.data.setdefault("name", path.stem)
    source = override(source, settings)
    if "pipeline" not in source.data:
        source = override(source, _shortcuts("generate", model, concurrency))
        return validate(Experiment, source).at(path.parent)
    _refuse_stages(source)
    if model is not None and _kind_of(source) == "python":
        raise UsageError(f"another model, {model}: a pipeline of the kind 'python' has no key 'model'")
    source = override(source, _shortcuts("pipeline", model, concurrency))
    experiment = validate(ExternalExperiment, source)
    try:
        return experiment.at(path.parent)
    except ConfigError as error:
        raise source.complain(("pipeline", "target"), str(error)) from error


def provider_of(component: Component) -> str:
    """The server or the target behind a component, by its kind and its address."""
    names = ("address", "base_url", "url", "target")
    parts = (getattr(component, name, None) for name in ("kind", *names))
    return " ".join(str(part) for part in parts if part)


def _shortcuts(section: str, model: str | None, concurrency: int | None) -> Iterator[str]:
    """The settings that a model and a concurrency stand for."""
    if model is not None:
        yield f"{section}.model={json.dumps(model)}"  # as text, whatever it looks like
    if concurrency is not None:
        yield f"{section}.max_concurrency={concurrency}"


def _kind_of(source: Source) -> Any:
    """The kind of the pipeline, whatever stands there."""
    section = source.data["pipeline"]
    return section.get("kind") if isinstance(section, dict) else None


def _refuse_stages(source: Source) -> None:
    """Raise ConfigError where a configuration has a pipeline of its own and stages of ours."""
    for stage in Pipeline.model_fields:
        if stage in source.data:
            raise source.complain(
                (stage,),
                f"'{stage}' is a stage of fathoms' own pipelines, and this configuration has another one"
                f" ('pipeline', {source.at(('pipeline',))}): take one of the two out",
            )
