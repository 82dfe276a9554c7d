"""The file of `fathoms watch`: where the traces are, which of them count, who judges them, and by what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fathoms.config import read_yaml, validate
from fathoms.corpora.rows import one_or_more
from fathoms.errors import ConfigError
from fathoms.judges import AnyJudge
from fathoms.metrics.metric import JudgedMetric, Metric
from fathoms.metrics.registry import Metrics, named
from fathoms.models import Embedder, OnnxEmbedder
from fathoms.types.run.figures import range_of

DEFAULT = ("umbrela", "citation-support", "faithfulness")

WHOLE = (
    *("umbrela.nothing-to-answer-from", "umbrela.abstained-on-passage"),
    *("faithfulness", "correctness-judged"),
)
"""The metrics that say of a whole answer whether it went wrong."""


class WatchConfig(BaseModel):
    """The settings of one job. `name` is that of its runs, by which earlier weeks are found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")
    """The name of the runs."""
    traces: Path
    """The file of traces, as `fathoms import otel` reads it; of a pattern such as `week-*.jsonl`, the newest
    one."""
    since: str | None = None
    """Only questions of the last time, such as `7d`."""
    by: str | None = None
    """The attribute of spans whose value is the category of a question, such as `route`."""
    sample: int | None = Field(default=None, ge=1)
    """How many questions are judged, drawn at random from each category."""
    seed: int = Field(default=0, ge=0)
    """Decides which questions are drawn."""
    dedupe: float | None = Field(default=None, ge=0.5, le=1)
    """The cosine from which a question is left out because an earlier one is nearly the same."""
    redact: Annotated[tuple[Literal["email", "phone", "iban"], ...], BeforeValidator(one_or_more)] = ()
    """The kinds of personal data that are removed from all texts before they are stored."""
    judge: AnyJudge
    """The judge of the answers."""
    metrics: Metrics = Field(default=DEFAULT, validate_default=True)
    """The metrics that are computed besides those of every run."""
    compare: tuple[str, ...] = ()
    """The metrics that are compared with the week of reference; by default all judged ones of `metrics` that
    are means over questions."""
    reference: str | None = None
    """The run of the week of reference; by default the oldest run of this name."""
    failed_by: tuple[str, ...] = ()
    """The metrics by which an answer counts as a failure; by default those of `compare` that are about a
    whole answer, such as `umbrela.nothing-to-answer-from` and `faithfulness`, or all of them."""
    failed_below: float = Field(default=0.5, gt=0, le=1)
    """An answer counts as a failure if one of these metrics is below this, from 0 (worst) to 1."""
    alike: float = Field(default=0.6, ge=0, le=1)
    """The cosine from which two failures belong to one group."""
    embed: Embedder = Field(default=OnnxEmbedder(), validate_default=True)
    """What says how alike two questions are."""
    max_cost: float | None = Field(default=None, ge=0)
    """The most that judging may cost, in US dollars."""

    @property
    def compared(self) -> tuple[Metric, ...]:
        """The metrics that are compared; raises UsageError for an unknown one."""
        if self.compare:
            return named(self.compare)
        return tuple(
            metric
            for metric in self.metrics
            if isinstance(metric, JudgedMetric)
            and metric.pooling == "questions"
            and range_of(metric.measured_in)
        )

    @property
    def failing(self) -> tuple[str, ...]:
        """The metrics by which an answer counts as a failure."""
        compared = tuple(metric.name for metric in self.compared)
        return self.failed_by or tuple(name for name in compared if name in WHOLE) or compared

    def newest(self, base: Path) -> Path:
        """Return the file of traces, the newest where the path is a pattern; raises ConfigError if there is
        none."""
        path = base / self.traces
        found = sorted(path.parent.glob(path.name), key=lambda one: (one.stat().st_mtime, one.name))
        if not found:
            raise ConfigError(f"traces: there is no file {path}")
        return found[-1]


def read_config(path: Path) -> WatchConfig:
    """Read the file of a job; raises ConfigError."""
    return validate(WatchConfig, read_yaml(path))
