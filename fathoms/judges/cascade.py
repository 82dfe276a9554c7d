"""A cheap judge that decides the clear cases, and a dear one for the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.errors import ConfigError
from fathoms.judges.judge import Judge
from fathoms.judges.prompts import Template
from fathoms.models.caller import Caller
from fathoms.registry import OneOf
from fathoms.runs.usage import total
from fathoms.types import Failure, Judgement, Rubric, Verdict

Stage = Annotated[Judge, OneOf("judges", within="cascade")]


class Cascade(Judge):
    """`kind: cascade`: the `cheap` judge decides where it is sure, the `dear` one decides the rest.

    The cheap judge is sure where `max(p, 1 - p)` is at least `threshold`. Where it gives no probability, the
    dear judge decides.
    """

    usable_in: ClassVar[frozenset[str]] = frozenset()

    kind: Literal["cascade"] = "cascade"
    cheap: Stage
    """The judge that is asked first. Its verdicts need a probability."""
    dear: Stage
    """The judge for what the cheap one is not sure of."""
    threshold: float = Field(default=0.9, ge=0.5, le=1)
    """The probability from which on the cheap judge decides."""

    @field_validator("cheap")
    @classmethod
    def _alone(cls, cheap: Judge) -> Judge:
        """Have the cheap judge asked for one claim a call unless it says otherwise."""
        is_open = getattr(cheap, "claims_a_call", 1) is None
        return cheap.model_copy(update={"claims_a_call": 1}) if is_open else cheap

    @property
    def name(self) -> str:
        """The names of both judges."""
        return f"cascade of {self.cheap.name} and {self.dear.name}"

    @property
    def max_concurrency(self) -> int:
        """The most calls at a time."""
        return max(self.cheap.max_concurrency, self.dear.max_concurrency)

    def together(self, rubric: Rubric = "support") -> int:
        """Return the most judgements in one call."""
        return self.cheap.together(rubric)

    @property
    def repeats(self) -> int:
        """How often every judgement is asked for: as often as the judge that wants the most votes."""
        return max(self.cheap.repeats, self.dear.repeats)

    def prompt_of(self, kind: Rubric | Literal["claims"]) -> str | None:
        """Return the prompts of both judges, as far as they have one; that of the splitter for `claims`."""
        if kind == "claims":
            return self._splitter.prompt_of(kind)
        found = filter(None, [self.cheap.prompt_of(kind), self.dear.prompt_of(kind)])
        return " and ".join(dict.fromkeys(found)) or None

    def version_of(self, rubric: Rubric) -> int:
        """Return the later one of the versions of both judges."""
        return max(self.cheap.version_of(rubric), self.dear.version_of(rubric))

    @property
    def splitting(self) -> Template:
        """The prompt of the judge that splits texts into claims."""
        return self._splitter.splitting

    @property
    def _splitter(self) -> Judge:
        """The judge whose language model splits texts into claims: the dear one, if it has one."""
        return self.dear if self.dear.parts() else self.cheap

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What both judges can be asked for."""
        return self.cheap.rubrics & self.dear.rubrics

    @property
    def sees_images(self) -> bool:
        """Whether both judges accept pictures."""
        return self.cheap.sees_images and self.dear.sees_images

    def identity(self) -> dict[str, Any]:
        """The identities of both judges, and the threshold."""
        return {"cheap": self.cheap.identity(), "dear": self.dear.identity(), "threshold": self.threshold}

    def identity_for(self, rubric: Rubric) -> dict[str, Any]:
        """Return what both judges have in theirs for the rubric, and the threshold."""
        cheap, dear = (stage.identity_for(rubric) for stage in (self.cheap, self.dear))
        return {"cheap": cheap, "dear": dear, "threshold": self.threshold}

    def parts(self) -> dict[str, Any]:
        """The models of both judges."""
        return {
            f"{stage}.{key}": model
            for stage, judge in (("cheap", self.cheap), ("dear", self.dear))
            for key, model in judge.parts().items()
        }

    def check(self) -> None:
        """Check both judges; raises their errors, and ConfigError for a cheap judge that quotes, or is asked
        for several claims in a call, because it then gives no probability to decide by."""
        several = getattr(self.cheap, "claims_a_call", 1) > 1
        if several or getattr(self.cheap, "quote", False):
            option = "claims_a_call" if several else "quote"
            raise ConfigError(
                f"judge.cheap: with {option} it gives no probabilities, so the dear judge would decide"
                f" everything: leave {option} out there"
            )
        self.cheap.check()
        self.dear.check()

    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Ask the cheap judge, and the dear one where the cheap one is not sure or failed."""
        found = await self.cheap.judge(judgements, caller, repeat)
        unsure = [number for number, verdict in enumerate(found) if not self.is_sure(verdict)]
        size = self.dear.together()
        parts = [unsure[start : start + size] for start in range(0, len(unsure), size)]
        answers = await asyncio.gather(
            *(self.dear.judge([judgements[number] for number in part], caller, repeat) for part in parts)
        )
        for part, verdicts in zip(parts, answers, strict=True):
            for number, verdict in zip(part, verdicts, strict=True):
                found[number] = self.decided(found[number], verdict)
        return found

    def decided(self, cheap: Verdict | Failure, dear: Verdict | Failure) -> Verdict | Failure:
        """Return the verdict of the cheap judge where it is sure, else that of the dear one with the cost and
        the seconds of both."""
        if self.is_sure(cheap):
            return cheap
        if isinstance(dear, Verdict) and isinstance(cheap, Verdict):
            both = {name: total([getattr(cheap, name), getattr(dear, name)]) for name in ("cost", "seconds")}
            return dear.model_copy(update=both)
        return dear

    def is_sure(self, verdict: Verdict | Failure) -> bool:
        """Whether the verdict of the cheap judge counts."""
        if isinstance(verdict, Failure) or verdict.p is None:
            return False
        return max(verdict.p, 1 - verdict.p) >= self.threshold
