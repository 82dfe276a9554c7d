"""The base class and the kinds of numbers of the files of a run."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, ClassVar, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from fathoms.types import StoredValue

SCHEMA = 1
"""The version of the format of runs."""
LARGEST = 1e300
"""Larger numbers, and infinite ones, are refused, because sums of them would be infinite."""
_HUGE = 10**300
Json = dict[str, Any]


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is an integer there."""
    return int(value) if type(value) is float and value.is_integer() else value


_Bounded = Field(strict=True, ge=-LARGEST, le=LARGEST)
_Share = Field(strict=True, ge=0, le=1)
_Amount = Field(strict=True, ge=0, le=LARGEST)
_NUMBER = {"type": "number"}
# unlike `float` alone, the unions keep 1 apart from 1.0, so that numbers are shown as they were stored
Number = Annotated[
    Annotated[int, Field(strict=True, ge=-_HUGE, le=_HUGE)] | Annotated[float, _Bounded],
    WithJsonSchema(_NUMBER, mode="validation"),
]
Amount = Annotated[
    Annotated[int, Field(strict=True, ge=0, le=_HUGE)] | Annotated[float, _Amount],
    WithJsonSchema({**_NUMBER, "minimum": 0}, mode="validation"),
]
Share = Annotated[
    Annotated[int, _Share] | Annotated[float, _Share],
    WithJsonSchema({**_NUMBER, "minimum": 0, "maximum": 1}, mode="validation"),
]
Whole = Annotated[int, Field(strict=True, ge=-_HUGE, le=_HUGE), BeforeValidator(_whole)]
Count = Annotated[int, Field(strict=True, ge=0, le=_HUGE), BeforeValidator(_whole)]
Positive = Annotated[int, Field(strict=True, ge=1, le=_HUGE), BeforeValidator(_whole)]
Position = Annotated[int, Field(strict=True, ge=0, le=999_999_999_999_999), BeforeValidator(_whole)]
Flag = Annotated[bool, Field(strict=True)]
ABSENT = {"absent": True}
FILE, MADE = "file", "made"
"""The context of a validation that reads a file, and of one of what fathoms has just made."""


def absent(default: Any = None) -> Any:
    """A field whose key is absent where the value is not known; it is never null in the file."""
    return Field(default, json_schema_extra=dict(ABSENT))


class Part(StoredValue):
    """Base class of the files of a run and of their parts. Unknown keys of newer versions are kept.

    Where a key may not be null, `null` gives the default of its field, as a missing key does.
    """

    model_config = ConfigDict(extra="allow")
    NEEDED: ClassVar[tuple[str, ...]] = ()
    """The keys that a file must have, although their fields have defaults for values made in the code."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Part):
            return value
        if info.context == FILE and (lacking := [key for key in cls.NEEDED if key not in value]):
            raise ValueError(f"there is no '{lacking[0]}'")
        if info.context == MADE and (unknown := [key for key in value if key not in cls.model_fields]):
            raise ValueError(f"no file of a run has the key '{unknown[0]}'")
        if not isinstance(value, Mapping) or None not in value.values():
            return value
        fields = cls.model_fields
        return {k: v for k, v in value.items() if v is not None or (k in fields and is_nullable(fields[k]))}

    def plain(self, include: Mapping[str, Any] | None = None) -> Json:
        """Return the JSON value with the keys that were set and no others, or those of them to `include`."""
        wanted = None if include is None else dict(include)
        return self.model_dump(mode="json", exclude_unset=True, by_alias=True, include=wanted)


def is_nullable(field: Any) -> bool:
    """Return whether the key of a field may be null in the file."""
    return NoneType in get_args(field.annotation) and field.json_schema_extra != ABSENT


def misfit(error: ValidationError) -> str:
    """Describe the first thing that is wrong with a value, with its place."""
    first, *others = error.errors()
    if first["loc"][-1:] == ("constrained-int",):  # the first kind of number that was tried
        place = first["loc"][:-1]
        first = next((other for other in others if other["loc"][:-1] == place), first) | {"loc": place}
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def known_cost(cost: float | None, answers: float | None, failed: float | None) -> float | None:
    """Return a cost; `None` where it is 0 only because no call gave an answer: a failed one may have cost
    something."""
    return None if not cost and failed and failed >= (answers or 0) else cost
