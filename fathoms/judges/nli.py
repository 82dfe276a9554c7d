"""A cross-encoder for natural language inference as a judge."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.errors import ConfigError
from fathoms.judges.base import LABELS, Judge
from fathoms.judges.prompts import filled, places
from fathoms.models.caller import Caller
from fathoms.models.weights.hub import HubModel, load
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.types import Failure, Judgement, Verdict

_LABELS = LABELS["three-way"]


class NLIJudge(HubModel, Judge):
    """`kind: nli`: a cross-encoder with the labels entailment, neutral and contradiction, or a fact checker
    with two labels (`supported_label`), from the Hugging Face hub or a folder. It runs on this machine,
    without a server or a key.

    `p` of a verdict is the softmax probability of entailment, or of the supported label. Where premise and
    claim together are longer than `max_tokens`, the longer of them is cut, and the verdict says so. The
    default model was never loaded by the tests of fathoms, which use small random weights.
    """

    neutral: ClassVar[frozenset[str]] = HubModel.neutral | Judge.neutral

    kind: Literal["nli"] = "nli"
    model: str = "cross-encoder/nli-deberta-v3-base"
    """A folder, or ORGANISATION/NAME on the Hugging Face hub. Its configuration names the three labels."""
    supported_label: str | None = None
    """The label that means support, for a model with other labels than the three, such as `LABEL_1`. A claim
    is then supported if the probability of this label is at least 0.5, and unsupported otherwise."""
    pair: str | None = None
    """One text of premise and claim for a model that was trained on such a text, with the places `{premise}`
    and `{claim}`; by default they are two texts."""
    max_tokens: int = Field(default=512, ge=8, le=MOST_TOKENS)
    """Maximum length of premise and claim together, in tokens."""

    @property
    def name(self) -> str:
        """The kind and the model."""
        return f"nli {self.model}"

    @property
    def together(self) -> int:
        """The most judgements in one call."""
        return self.batch_size

    def check(self) -> None:
        """Load the model; raises MissingExtraError, ServerError, or ConfigError for other labels."""
        if self.pair is not None and (missing := {"premise", "claim"} - places(self.pair)):
            raise ConfigError(f"judge.pair must contain {{{min(missing)}}}")
        self._model()

    def _model(self) -> Any:
        """Return the loaded model and the columns of its labels."""
        labels = _LABELS if self.supported_label is None else (self.supported_label.lower(),)
        return _load(self.model, self.hub_revision, self.device, self.max_tokens, labels)

    def identity(self) -> dict[str, Any]:
        """Leave out the options for other labels where they are not used, so that older verdicts are
        found."""
        found = super().identity()
        unused = {name for name in ("supported_label", "pair") if getattr(self, name) is None}
        options = {name: value for name, value in found["options"].items() if name not in unused}
        return {**found, "options": options}

    async def judge(
        self, asked: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Classify the pairs of premise and claim, in a thread."""
        started = time.perf_counter()
        rows, cut = await asyncio.to_thread(self._probabilities, asked)
        seconds = round((time.perf_counter() - started) / len(asked), 4)
        return [
            Verdict(
                claim=judgement.claim,
                premise=judgement.premise,
                context=judgement.context or None,
                label=self._label(row),
                p=row[0],
                why=f"premise and claim were cut to {self.max_tokens} tokens" if is_cut else None,
                cost=0.0,
                seconds=seconds,
            )
            for judgement, row, is_cut in zip(asked, rows, cut, strict=True)
        ]

    def _label(self, row: Sequence[float]) -> str:
        """Return the label of the probabilities in their order."""
        if self.supported_label is not None:
            return LABELS["binary"][0 if row[0] >= 0.5 else 1]
        return _LABELS[max(range(3), key=row.__getitem__)]

    def _probabilities(self, asked: Sequence[Judgement]) -> tuple[list[list[float]], list[bool]]:
        """Return the probabilities of entailment, neutral and contradiction for each judgement, or that of
        the supported label alone, and whether each was cut."""
        model, order = self._model()
        if self.pair is None:
            pairs: list[Any] = [(judgement.premise, judgement.claim) for judgement in asked]
            found = model.predict(
                pairs, apply_softmax=True, batch_size=self.batch_size, show_progress_bar=False
            )
        else:
            pairs = [filled(self.pair, {"premise": one.premise, "claim": one.claim}) for one in asked]
            found = [_of_one_text(model, text, self.max_tokens) for text in pairs]
        tokens = model.tokenizer(pairs, truncation=False, verbose=False)["input_ids"]
        cut = [len(ids) > self.max_tokens for ids in tokens]
        return [[float(row[column]) for column in order] for row in found], cut


def _of_one_text(model: Any, text: str, max_tokens: int) -> list[float]:
    """Return the probabilities of the labels of one text; `predict` of a cross-encoder only takes pairs."""
    import torch

    inputs = model.tokenizer(text, truncation=True, max_length=max_tokens, return_tensors="pt")
    with torch.no_grad():
        logits = model.model(**inputs.to(model.device)).logits
    row: list[float] = logits.softmax(dim=-1)[0].tolist()
    return row


@lru_cache(maxsize=2)
def _load(
    model: str, revision: str | None, device: str | None, max_tokens: int, labels: tuple[str, ...]
) -> tuple[Any, list[int]]:
    """Load a model and find the column of each label; raises ConfigError if it lacks one."""
    loaded = load("CrossEncoder", model, revision, device=device, max_length=max_tokens)
    names = {str(name).lower(): int(column) for column, name in loaded.config.id2label.items()}
    if missing := [label for label in labels if label not in names]:
        raise ConfigError(
            f"{model} has no label '{missing[0]}' (its labels: {', '.join(names)}): name a model that was"
            " trained for natural language inference, or its label that means support by 'supported_label'"
        )
    return loaded, [names[label] for label in labels]
