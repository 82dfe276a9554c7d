"""The section `gate:` of a configuration: the settings with which its runs are judged.

It changes no answer, so it is not part of any fingerprint. It can name no file, because the runs that it is
stored with may come from somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fathoms.compare.question_scores import OF_SWEEPS
from fathoms.config import Key
from fathoms.errors import UsageError, suggest
from fathoms.types.run.figures import range_of

MARGIN = 0.02
ALPHA = 0.025
FAIL_ON_ERROR = "2%"
CHANGED = "50%"


def can_be_gated(units: Mapping[str, str]) -> str:
    """List the metrics whose unit has a range, for a message. `units` has the unit of each metric."""
    return "can be gated: " + ", ".join(name for name, unit in units.items() if range_of(unit) is not None)


def allowance(text: str, option: str = "--fail-on-error") -> Callable[[int], float]:
    """Parse the value of an option (`3` or `2%`) into a function from questions asked to failures allowed.

    Raises UsageError for other texts.
    """
    share = text.endswith("%")
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1
    if not number >= 0:
        raise UsageError(f"{option} {text}: expected a count such as 3 or a share such as 2%")
    return lambda questions: questions * number / 100 if share else number


def _allowance(value: Any) -> Any:
    """Accept a count, as a number or text, or a share in percent."""
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(r"\d+(\.\d+)?%?", text):
        raise ValueError("expected a count such as 3 or a share such as 2%")
    return text


class GateSettings(BaseModel):
    """Settings of `fathoms gate` for the runs of this configuration; options on the command line win."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    preset: Literal["small"] | None = None
    """`small` judges by the right answers that were lost, which suits 15 to 100 questions: FAIL if more are
    lost than chance explains, if a fixed limit is crossed, or if calls failed."""
    metric: tuple[str, ...] = Field(default=("correctness",), min_length=1)
    """The metrics that are compared with the baseline."""
    margin: float = Field(default=MARGIN, ge=0, lt=1)
    """The smallest loss that counts as worse, as a difference of shares."""
    alpha: float = Field(default=ALPHA, gt=0, lt=0.5)
    """The accepted chance of PASS although the loss is as large as the margin."""
    by_category: bool = False
    """Judge every category, too, and not only the overall mean."""
    min: dict[str, float] = Field(default_factory=dict)
    """FAIL if the newest run has less than this, by metric, for example `{correctness: 0.6}`."""
    max_rate: dict[str, float] = Field(default_factory=dict)
    """FAIL if the newest run has more than this, by metric, for example `{hallucination: 0.2}`."""
    fail_on_error: Annotated[str, BeforeValidator(_allowance)] = FAIL_ON_ERROR
    """How many questions may fail: a number, or a share such as `2%`."""
    changed: Annotated[str, BeforeValidator(_allowance)] = CHANGED
    """How many questions of the baseline may be missing or have another text or gold answer: a number, or a
    share such as `10%`. They are left out; new questions are always left out, and do not count."""
    max_same: Annotated[str, BeforeValidator(_allowance)] | None = None
    """FAIL if more answers of the newest run are one and the same text, although their questions have
    different gold answers: a number, or a share such as `20%`."""
    max_empty: Annotated[str, BeforeValidator(_allowance)] | None = None
    """FAIL if more answers of the newest run are empty: a number, or a share such as `5%`."""
    max_retry_rate: Annotated[str, BeforeValidator(_allowance)] | None = None
    """FAIL if more calls of the newest run took several requests: a number, or a share such as `10%`."""

    def mistakes(self, units: Mapping[str, str]) -> Iterator[tuple[Key, str]]:
        """Yield each metric that cannot be judged, with a message: those that a run of the configuration does
        not have, and in `metric` those whose unit has no range. `units` has the unit of each metric that it
        has; those of several runs of one command (`OF_SWEEPS`) are known when it is judged."""
        for number, name in enumerate(self.metric):
            place: Key = ("metric", number)
            if name in OF_SWEEPS:
                continue
            if name not in units:
                yield place, f"{_unknown(name, units)}; {can_be_gated(units)}"
            elif range_of(units[name]) is None:
                yield (
                    place,
                    f"{name} is measured in {units[name]}, and the margin of a gate is a difference of"
                    f" shares; {can_be_gated(units)}",
                )
        for key in ("min", "max_rate"):
            for name in getattr(self, key):
                if name not in units and name not in OF_SWEEPS:
                    yield (key, name), _unknown(name, units)


def _unknown(name: str, units: Mapping[str, str]) -> str:
    """Say that the runs of a configuration have no such metric."""
    return f"no metric of this configuration is called '{name}'{suggest(name, units)}"
