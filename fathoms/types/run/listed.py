"""What a list of runs reads of a manifest and of a summary. Such a list shows damaged runs, too: a key that
cannot be used has its default, and a sentence about it is appended to the context of the validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import AliasPath, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from fathoms.types.run.part import Amount, Count, Flag, Json, Number, Part, Position, Positive, misfit


class ListedPlace(Part):
    """The part of `Manifest` that gives a run its place among others."""

    NEEDED: ClassVar = ("created",)

    sequence: Position = 0
    created: str = ""


class _ListedPart(Part):
    """Base class of what is read key by key; keys that a list does not need are left out."""

    model_config = ConfigDict(extra="ignore")

    @field_validator("*", mode="wrap")
    @classmethod
    def _default_if_damaged(cls, value: Any, read: Callable[[Any], Any], info: ValidationInfo) -> Any:
        try:
            return read(value)
        except ValidationError as error:
            if info.context is not None:
                info.context.append(f"'{info.field_name}' cannot be used: {misfit(error).lstrip(': ')}")
            return cls.model_fields[str(info.field_name)].get_default(call_default_factory=True)


class ListedData(_ListedPart):
    """The part of `Data` that a list needs."""

    name: str | None = None
    asked: Count = 0
    questions: Count = 0


class ListedSweep(_ListedPart):
    """The part of `Sweep` that a list needs."""

    id: str | None = None
    cell: Json = Field(default_factory=dict)


class ListedTotals(_ListedPart):
    """The part of `Totals` that a list needs."""

    answers: Count = 0
    errors: Count = 0
    seconds: Amount | None = None
    cost: Amount | None = None


class ListedManifest(_ListedPart):
    """The part of `Manifest` that a list needs."""

    name: str | None = None
    model: str | None = None
    sequence: Position = 0
    created: str = ""
    repeats: Positive = 1
    data: ListedData = Field(default_factory=ListedData)
    sweep: ListedSweep = Field(default_factory=ListedSweep)
    totals: ListedTotals | None = None
    """`None` of a run that has not ended."""


class ListedInterval(_ListedPart):
    """The part of `Bounds` that a list needs."""

    low: Number | None = None
    high: Number | None = None


class ListedScores(_ListedPart):
    """The part of `Overall` that a list needs."""

    correctness: Number | None = None
    hallucination: Number | None = None
    n: Count | None = None
    errors: Count | None = None
    intervals: dict[str, ListedInterval | None] = Field(default_factory=dict)


class ListedProfile(_ListedPart):
    """The part of `ProfileFigures` that a list needs."""

    overall: ListedScores = Field(default_factory=ListedScores)


class ListedCounts(_ListedPart):
    """The part of `Counts` that a list needs."""

    searched: Count | None = None


class ListedSummary(_ListedPart):
    """The part of `Summary` that a list needs."""

    profile: str | None = None
    complete: Flag | None = None
    incomplete: tuple[str, ...] = ()
    retrieval_only: Flag = False
    counts: ListedCounts = Field(default_factory=ListedCounts)
    profiles: dict[str, ListedProfile] = Field(default_factory=dict)
    recall: Number | None = Field(
        None, validation_alias=AliasPath("metrics", "recall@10", "overall", "value")
    )

    @property
    def headline(self) -> ListedScores:
        """The scores under the headline profile, all unknown if the run has none."""
        return self.profiles.get(self.profile or "", ListedProfile()).overall
