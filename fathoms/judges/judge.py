"""The interface of all judges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from fathoms.component import Component
from fathoms.judges.prompts import Template, shipped
from fathoms.models.caller import Caller
from fathoms.types import Failure, Judgement, Rubric, Verdict

Labels = Literal["binary", "three-way"]
LABELS: dict[Labels, tuple[str, ...]] = {
    "binary": ("supported", "unsupported"),
    "three-way": ("entailment", "neutral", "contradiction"),
}
UNPARSED = "unparsed"
"""The label of a reply that could not be read. It is no label of a claim, and counts in no figure."""
CUT = "the reply was cut at its token limit"
"""Why a reply could not be read that would be cut at the same limit again."""
NOT_IN_FILE = "the imported file does not hold it"
"""Why a judge that is not there any more gives no claims or verdict."""


class Judge(Component):
    """Says of claims whether a premise supports them.

    Results of `judge` are stored under `identity()`, so everything that can change a verdict must be in it.
    """

    neutral: ClassVar[frozenset[str]] = frozenset({"claims"})
    inert: ClassVar[bool] = True
    usable_in: ClassVar[frozenset[str]] = frozenset({"cascade"})

    claims: Literal["model", "sentences"] = "model"
    """How texts are split into claims: by the language model of the judge, or each sentence is one claim. A
    judge without a language model always takes the sentences."""

    def identity_for(self, rubric: Rubric) -> dict[str, Any]:
        """Return the part of the identity that can change what the judge says under a rubric; by default
        all of it."""
        return self.identity()

    @property
    def name(self) -> str:
        """The judge as shown in reports: its kind, and its model where it has one."""
        return str(getattr(self, "kind", type(self).__name__))

    @property
    def is_people(self) -> bool:
        """Whether the verdicts are those of people."""
        return False

    @property
    def max_concurrency(self) -> int:
        """The most calls to the judge at a time."""
        return 1

    def together(self, rubric: Rubric = "support") -> int:
        """Return the most judgements in one call."""
        return 1

    def calls_of(self, judgements: Sequence[Judgement]) -> list[list[int]] | None:
        """Return the places of the judgements that share a call, where one call may have several premises;
        `None` where none has."""
        return None

    @property
    def shares_premise(self) -> bool:
        """Whether the judgements of one call must have the same premise."""
        return False

    def prompt_of(self, kind: Rubric | Literal["claims"]) -> str | None:
        """Return the name and the version of the prompt for a rubric, or for splitting texts into `claims`,
        or say that it is the user's own; `None` for a judge without prompts."""
        return None

    def version_of(self, rubric: Rubric) -> int:
        """Return the version of the prompt for another rubric than `support`, as the keys of verdicts have
        it; 1 for a judge without prompts, and for a prompt of the user, whose text is in `identity_for`."""
        return 1

    @property
    def splitting(self) -> Template:
        """The prompt by which the language model of the judge splits texts into claims."""
        return shipped("claims")

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge can be asked for."""
        return frozenset({"support"})

    @property
    def keeps_claims(self) -> bool:
        """Whether the claims of texts are those that came with the run, which was imported."""
        return False

    @property
    def repeats(self) -> int:
        """How often every judgement is asked for."""
        return 1

    @property
    def sees_images(self) -> bool:
        """Whether a premise may be a picture."""
        return False

    def check(self) -> None:
        """Raise an error if a package, weights, a server or a file is missing; called before the first
        verdict."""

    def parts(self) -> dict[str, Any]:
        """The models inside, by the key of the configuration, for checks of limits and prices."""
        return {}

    @property
    def is_local(self) -> bool:
        """Whether `judge_here` says all that `judge` says, so that any machine can be the judge."""
        return False

    def judge_here(self, judgements: Sequence[Judgement]) -> list[Verdict | Failure]:
        """Do what `judge` does, without an event loop; only of a judge that `is_local`."""
        raise TypeError(f"{type(self).__name__} is not local: await its `judge`")

    @abstractmethod
    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Return a verdict for each judgement, in their order, or the failure of a call.

        At most `together` judgements are given. `repeat` counts the votes from 0. Raises Stopped.
        """
