"""A classifier that runs on this machine as a judge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.component import Loads
from fathoms.errors import ConfigError
from fathoms.judges.base import LABELS, Judge
from fathoms.judges.nli.base import Reading
from fathoms.judges.nli.checkers import CHECKERS, MOST_READ, CheckerKind, hub_name, kind_of, load_checker
from fathoms.judges.nli.cross_encoder import load_cross_encoder
from fathoms.judges.prompts import places
from fathoms.models.caller import Caller
from fathoms.models.weights.hub import HubModel, within_memory
from fathoms.models.weights.weights import WEIGHTS
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.types import Failure, Judgement, Rubric, Verdict

_LABELS = LABELS["three-way"]
_MAX_TOKENS = 512


class NLIJudge(HubModel, Judge):
    """`kind: nli`: a cross-encoder with the labels entailment, neutral and contradiction, or a fact checker,
    from the Hugging Face hub or a folder. It runs on this machine, without a server or a key.

    Fact checkers known by name are `factcg-deberta-l`, `minicheck-flan-t5-l`, `hhem-2.1-open`,
    `lettucedetect-base` and `lettucedetect-large`; each is read as its authors do. Another one with two
    labels needs `supported_label`. `p` of a verdict is the probability of entailment, or of support. Where
    premise and claim together are longer than `max_tokens`, they are cut, and the verdict says so. No weights
    of the hub were ever loaded by the tests of fathoms, which use small random weights.
    """

    neutral: ClassVar[frozenset[str]] = HubModel.neutral | Judge.neutral
    loads: ClassVar[Mapping[str, Loads]] = {"model": Loads("weights", WEIGHTS.known | set(CHECKERS))}

    kind: Literal["nli"] = "nli"
    model: str = "cross-encoder/nli-deberta-v3-base"
    """A fact checker that is known by name, ORGANISATION/NAME on the Hugging Face hub, or a folder as a path
    (`./NAME`). The configuration of a cross-encoder names the three labels."""
    checker: CheckerKind | None = None
    """How a model in a folder is read: as the fact checker that it is. On the hub, the fact checkers are
    recognised."""
    supported_label: str | None = None
    """The label that means support, for a model with other labels than the three, such as `LABEL_1`. A claim
    is then supported if the probability of this label is at least 0.5, and unsupported otherwise."""
    pair: str | None = None
    """One text of premise and claim for a model that was trained on such a text, with the places `{premise}`
    and `{claim}`; by default they are two texts."""
    max_tokens: int | None = Field(default=None, ge=8, le=MOST_TOKENS)
    """Maximum length of premise and claim together, in tokens: 512 if not given, and for fact checkers known
    by name 2048 or 4096."""

    @field_validator("model")
    @classmethod
    def _on_the_hub(cls, model: str) -> str:
        """Replace the name of a fact checker by its place on the hub, which runs record."""
        return hub_name(model)

    @property
    def name(self) -> str:
        """The kind and the model."""
        return f"nli {self.model}"

    def together(self, rubric: Rubric = "support") -> int:
        """Return the most judgements in one call."""
        return self.batch_size

    @property
    def read_as(self) -> CheckerKind | None:
        """The fact checker that the model is read as; `None` for one that the options describe."""
        if self.checker is not None or self.supported_label is not None or self.pair is not None:
            return self.checker
        return kind_of(self.model)

    @property
    def most_read(self) -> int:
        """Maximum length of premise and claim together, in tokens."""
        kind = self.read_as
        return self.max_tokens or (_MAX_TOKENS if kind is None else MOST_READ[kind])

    def check(self) -> None:
        """Load the model; raises MissingExtraError, ServerError, or ConfigError for another kind of model."""
        if self.checker is not None and (self.supported_label is not None or self.pair is not None):
            raise ConfigError(
                "judge.checker says how the model is read: leave out supported_label and pair, or the checker"
            )
        if self.pair is not None and (missing := {"premise", "claim"} - places(self.pair)):
            raise ConfigError(f"judge.pair must contain {{{min(missing)}}}")
        self._model()

    def _model(self) -> Any:
        """Return the fact checker or cross-encoder, which is loaded at the first call."""
        kind = self.read_as
        if kind is not None:
            return load_checker(kind, self.model, self.hub_revision, self.device, self.most_read)
        labels = _LABELS if self.supported_label is None else (self.supported_label.lower(),)
        return load_cross_encoder(self.model, self.hub_revision, self.device, self.most_read, labels)

    def identity(self) -> dict[str, Any]:
        """Leave out the options that are not used, and name those that were not given, so that older
        verdicts are found."""
        found = super().identity()
        used = {"checker": self.read_as, "supported_label": self.supported_label, "pair": self.pair}
        options = {name: value for name, value in found["options"].items() if name not in used}
        options |= {name: value for name, value in used.items() if value is not None}
        return {**found, "options": options | {"max_tokens": self.most_read}}

    async def judge(
        self, asked: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Classify the pairs of premise and claim, in a thread."""
        return await asyncio.to_thread(self.judge_here, asked)

    @property
    def is_local(self) -> bool:
        """The model runs where it is asked."""
        return True

    def judge_here(self, asked: Sequence[Judgement]) -> list[Verdict | Failure]:
        """Classify the pairs of premise and claim."""
        started = time.perf_counter()
        with within_memory():
            said = self._said(asked)
        seconds = round((time.perf_counter() - started) / len(asked), 4)
        return [
            Verdict(
                claim=judgement.claim,
                premise=judgement.premise,
                context=judgement.context or None,
                label=label,
                p=reading.p,
                why=self._why(reading),
                cost=0.0,
                seconds=seconds,
            )
            for judgement, (label, reading) in zip(asked, said, strict=True)
        ]

    def _said(self, asked: Sequence[Judgement]) -> list[tuple[str, Reading]]:
        """Return the label of each judgement with the reading that it comes from."""
        model = self._model()
        if self.read_as is not None:
            read = model.check_all([(one.premise, one.claim) for one in asked], self.batch_size)
            return [(_binary(reading.p), reading) for reading in read]
        rows, cut = model.probabilities(asked, self.pair, self.batch_size)
        labels = [
            _binary(row[0])
            if self.supported_label is not None
            else _LABELS[max(range(3), key=row.__getitem__)]
            for row in rows
        ]
        return [
            (label, Reading(row[0], is_cut)) for label, row, is_cut in zip(labels, rows, cut, strict=True)
        ]

    def _why(self, reading: Reading) -> str | None:
        """Return what a verdict says beside its label: the words without support, and that it was cut."""
        words = ", ".join(f"'{words}'" for words in reading.unsupported)
        said = [f"not supported: {words}"] if words else []
        if reading.is_cut:
            said.append(f"premise and claim were cut to {self.most_read} tokens")
        return "; ".join(said) or None


def _binary(p: float) -> str:
    """Return the label for a probability of support."""
    return LABELS["binary"][0 if p >= 0.5 else 1]
