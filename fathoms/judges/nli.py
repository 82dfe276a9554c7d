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
from fathoms.models.caller import Caller
from fathoms.models.weights.hub import HubModel, load
from fathoms.safety.option_limits import MOST_TOKENS
from fathoms.types import Failure, Judgement, Verdict

_LABELS = LABELS["three-way"]


class NLIJudge(HubModel, Judge):
    """`kind: nli`: a cross-encoder with the labels entailment, neutral and contradiction, from the Hugging
    Face hub or a folder. It runs on this machine, without a server or a key.

    `p` of a verdict is the softmax probability of entailment. Where premise and claim together are longer
    than `max_tokens`, the longer of them is cut, and the verdict says so. The default model was never loaded
    by the tests of fathoms, which use small random weights.
    """

    neutral: ClassVar[frozenset[str]] = HubModel.neutral | Judge.neutral

    kind: Literal["nli"] = "nli"
    model: str = "cross-encoder/nli-deberta-v3-base"
    """A folder, or ORGANISATION/NAME on the Hugging Face hub. Its configuration names the three labels."""
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
        self._model()

    def _model(self) -> Any:
        """Return the loaded model and the columns of its labels."""
        return _load(self.model, self.hub_revision, self.device, self.max_tokens)

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
                label=_LABELS[max(range(3), key=row.__getitem__)],
                p=row[0],
                why=f"premise and claim were cut to {self.max_tokens} tokens" if is_cut else None,
                cost=0.0,
                seconds=seconds,
            )
            for judgement, row, is_cut in zip(asked, rows, cut, strict=True)
        ]

    def _probabilities(self, asked: Sequence[Judgement]) -> tuple[list[list[float]], list[bool]]:
        """Return the probabilities of entailment, neutral and contradiction for each judgement, and whether
        each was cut."""
        model, order = self._model()
        pairs = [(judgement.premise, judgement.claim) for judgement in asked]
        found = model.predict(pairs, apply_softmax=True, batch_size=self.batch_size, show_progress_bar=False)
        tokens = model.tokenizer(pairs, truncation=False, verbose=False)["input_ids"]
        cut = [len(ids) > self.max_tokens for ids in tokens]
        return [[float(row[column]) for column in order] for row in found], cut


@lru_cache(maxsize=2)
def _load(model: str, revision: str | None, device: str | None, max_tokens: int) -> tuple[Any, list[int]]:
    """Load a model and find the column of each of the three labels; raises ConfigError if it lacks one."""
    loaded = load("CrossEncoder", model, revision, device=device, max_length=max_tokens)
    names = {str(name).lower(): int(column) for column, name in loaded.config.id2label.items()}
    if missing := [label for label in _LABELS if label not in names]:
        raise ConfigError(
            f"{model} has no label '{missing[0]}' (its labels: {', '.join(names)}): name a model that was"
            " trained for natural language inference"
        )
    return loaded, [names[label] for label in _LABELS]
