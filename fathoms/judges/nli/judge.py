"""A classifier that runs on this machine as a judge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field, field_validator

from fathoms.component import Loads
from fathoms.errors import ConfigError
from fathoms.judges.judge import LABELS, Judge
from fathoms.judges.nli.fact_checker import FactChecker, Reading
from fathoms.judges.prompts import filled, places
from fathoms.models.caller import Caller
from fathoms.models.weights.hub import HubModel, folder_of, load, within_memory
from fathoms.models.weights.weights import WEIGHTS
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.types import Failure, Judgement, Rubric, Verdict

_LABELS = LABELS["three-way"]
_MAX_TOKENS = 512


CheckerKind = Literal["factcg", "minicheck", "hhem", "lettucedetect"]

MOST_READ: dict[CheckerKind, int] = {"factcg": 2048, "minicheck": 2048, "hhem": 4096, "lettucedetect": 4096}
"""Most tokens of premise and claim: the limits of the released code. That of HHEM has none, but the memory
that it takes grows with the square of the length."""


class Known(NamedTuple):
    """A fact checker: its place on the Hugging Face hub, and what reads it."""

    hub: str
    kind: CheckerKind


CHECKERS = {
    "factcg-deberta-l": Known("yaxili96/FactCG-DeBERTa-v3-Large", "factcg"),
    "minicheck-flan-t5-l": Known("lytang/MiniCheck-Flan-T5-Large", "minicheck"),
    "hhem-2.1-open": Known("vectara/hallucination_evaluation_model", "hhem"),
    "lettucedetect-base": Known("KRLabsOrg/lettucedect-base-modernbert-en-v1", "lettucedetect"),
    "lettucedetect-large": Known("KRLabsOrg/lettucedect-large-modernbert-en-v1", "lettucedetect"),
}


def hub_name(model: str) -> str:
    """Return the name on the hub of a fact checker that is known by name; other names stay as they are."""
    known = CHECKERS.get(model.lower())
    return known.hub if known else model


def kind_of(model: str) -> CheckerKind | None:
    """Return the kind of a fact checker by its name on the hub, `None` for another model."""
    return next((known.kind for known in CHECKERS.values() if known.hub.lower() == model.lower()), None)


@lru_cache(maxsize=2)
def load_checker(
    kind: CheckerKind, model: str, revision: str | None, device: str | None, max_tokens: int
) -> FactChecker:
    """Load a fact checker; raises MissingExtraError, ServerError, or ConfigError for weights of another
    architecture."""
    folder_of(model)  # before transformers is imported, which takes seconds
    module = import_module(f"fathoms.judges.nli.{kind}")
    checker: FactChecker = module.load(model, revision, device, max_tokens)
    return checker


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
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Classify the pairs of premise and claim, in a thread."""
        return await asyncio.to_thread(self.judge_here, judgements)

    @property
    def is_local(self) -> bool:
        """The model runs where it is asked."""
        return True

    def judge_here(self, judgements: Sequence[Judgement]) -> list[Verdict | Failure]:
        """Classify the pairs of premise and claim."""
        started = time.perf_counter()
        with within_memory():
            said = self._labelled(judgements)
        seconds = round((time.perf_counter() - started) / len(judgements), 4)
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
            for judgement, (label, reading) in zip(judgements, said, strict=True)
        ]

    def _labelled(self, judgements: Sequence[Judgement]) -> list[tuple[str, Reading]]:
        """Return the label of each judgement with the reading that it comes from."""
        model = self._model()
        if self.read_as is not None:
            read = model.check_all([(one.premise, one.claim) for one in judgements], self.batch_size)
            return [(_binary(reading.p), reading) for reading in read]
        rows, cut = model.probabilities(judgements, self.pair, self.batch_size)
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


class CrossEncoder:
    """A loaded cross-encoder, and the columns of the wanted labels among its outputs."""

    def __init__(self, model: Any, order: Sequence[int], max_tokens: int) -> None:
        self.model = model
        self.order = order
        self.max_tokens = max_tokens

    def probabilities(
        self, judgements: Sequence[Judgement], pair: str | None, batch_size: int
    ) -> tuple[list[list[float]], list[bool]]:
        """Return the softmax probabilities of the wanted labels for each judgement, and whether each was cut.

        `pair` is the one text of premise and claim, `None` for a model that reads them as two texts.
        """
        if pair is None:
            pairs: list[Any] = [(judgement.premise, judgement.claim) for judgement in judgements]
            found = self.model.predict(
                pairs, apply_softmax=True, batch_size=batch_size, show_progress_bar=False
            )
        else:
            pairs = [filled(pair, {"premise": one.premise, "claim": one.claim}) for one in judgements]
            found = [self._of_one_text(text) for text in pairs]
        tokens = self.model.tokenizer(pairs, truncation=False, verbose=False)["input_ids"]
        cut = [len(ids) > self.max_tokens for ids in tokens]
        return [[float(row[column]) for column in self.order] for row in found], cut

    def _of_one_text(self, text: str) -> list[float]:
        """Return the probabilities of the labels of one text; `predict` of a cross-encoder only takes
        pairs."""
        import torch

        inputs = self.model.tokenizer(text, truncation=True, max_length=self.max_tokens, return_tensors="pt")
        with torch.no_grad():
            logits = self.model.model(**inputs.to(self.model.device)).logits
        row: list[float] = logits.softmax(dim=-1)[0].tolist()
        return row


@lru_cache(maxsize=2)
def load_cross_encoder(
    model: str, revision: str | None, device: str | None, max_tokens: int, labels: tuple[str, ...]
) -> CrossEncoder:
    """Load a model and find the column of each label; raises ConfigError if it lacks one."""
    loaded = load("CrossEncoder", model, revision, device=device, max_length=max_tokens)
    names = {str(name).lower(): int(column) for column, name in loaded.config.id2label.items()}
    if missing := [label for label in labels if label not in names]:
        raise ConfigError(
            f"{model} has no label '{missing[0]}' (its labels: {', '.join(names)}): name a model that was"
            " trained for natural language inference, or its label that means support by 'supported_label',"
            " or the fact checker that it is by 'checker'"
        )
    return CrossEncoder(loaded, [names[label] for label in labels], max_tokens)
