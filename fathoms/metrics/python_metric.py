"""A metric of one's own: a Python function that scores one record.

    def length(record: fathoms.types.Record) -> float | None: ...

The function returns a number from -1e300 to 1e300, `None` where the metric does not apply, or a
`fathoms.types.Score` with parts and a reason. It is called only for answers, never for failed calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, PrivateAttr

from fathoms.component import Loads
from fathoms.errors import ConfigError, DataError
from fathoms.metrics.metric import Direction, Facts, Metric
from fathoms.safety.imported import source_sha256
from fathoms.safety.importing import load, sentence
from fathoms.types import Score


class PythonMetric(Metric):
    """A Python function that scores one record."""

    inert: ClassVar[bool] = False

    loads: ClassVar[Mapping[str, Loads]] = {"target": Loads("code")}

    kind: Literal["python"] = "python"
    target: str = Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")
    """The function, as `package.module:name`. The current directory and the folder of the configuration are
    searched first."""
    label: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9.@_-]*$")
    """Name of the metric; by default that of the function, with `-` for `_`."""
    lower_is_better: bool = False
    """Whether lower values are better."""
    unit_name: str = "share"
    """The unit of the values. A `share` is in [0, 1]."""
    show: bool = False
    """Whether tables show the metric without being asked to."""

    _folder: Path = PrivateAttr(default=Path())

    @property
    def name(self) -> str:
        """The name under which the metric is stored and shown."""
        return self.label or self.target.partition(":")[2].rpartition(".")[2].replace("_", "-").lower()

    @property
    def better(self) -> Direction:
        """Whether higher or lower values are better."""
        return "lower" if self.lower_is_better else "higher"

    @property
    def measured_in(self) -> str:
        """The unit of the values."""
        return self.unit_name

    @property
    def is_headline(self) -> bool:
        """Whether tables show the metric without being asked to."""
        return self.show

    def at(self, base: Path) -> PythonMetric:
        """Return a copy that also searches the folder `base` for the module."""
        placed = self.model_copy()
        placed._folder = base
        return placed

    def identity(self) -> dict[str, Any]:
        """Add the hash of the module's source, so that scores of another version are not taken for these."""
        self._function()
        return {**super().identity(), "source": source_sha256(self.target.partition(":")[0])}

    def check(self) -> None:
        """Raise ConfigError if the function cannot be imported."""
        self._function()

    def _function(self) -> Callable[..., Any]:
        found = load(self.target, self._folder)
        if not callable(found):
            raise ConfigError(f"'{self.target}' is not a function")
        return found  # type: ignore[no-any-return]

    def score(self, facts: Facts) -> Score:
        """Call the function; raises DataError if it fails or returns something else than a score."""
        function, record = self._function(), facts.record
        try:
            found = function(record)
        except Exception as error:
            raise DataError(
                f"metric '{self.name}', question '{record.question.id}': {sentence(error)}"
            ) from error
        if isinstance(found, Score) and _can_be_summed(found.value):
            return found.model_copy(update={"metric": self.name})
        if (found is None or isinstance(found, int | float)) and _can_be_summed(found):
            return Score(metric=self.name, value=None if found is None else float(found))
        raise DataError(
            f"metric '{self.name}' returned {found!r} for question '{record.question.id}': expected a number"
            " from -1e300 to 1e300, None or a Score"
        )


def _can_be_summed(value: float | None) -> bool:
    """Return whether a value can be summed over many answers: `None`, or a number from -1e300 to 1e300."""
    return value is None or abs(value) <= 1e300
