"""Cross-encoders whose configuration names their labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from fathoms.errors import ConfigError
from fathoms.judges.prompts import filled
from fathoms.models.weights.hub import load
from fathoms.types import Judgement


class CrossEncoder:
    """A loaded cross-encoder, and the columns of the wanted labels among its outputs."""

    def __init__(self, model: Any, order: Sequence[int], max_tokens: int) -> None:
        self.model = model
        self.order = order
        self.max_tokens = max_tokens

    def probabilities(
        self, asked: Sequence[Judgement], pair: str | None, batch_size: int
    ) -> tuple[list[list[float]], list[bool]]:
        """Return the softmax probabilities of the wanted labels for each judgement, and whether each was cut.

        `pair` is the one text of premise and claim, `None` for a model that reads them as two texts.
        """
        if pair is None:
            pairs: list[Any] = [(judgement.premise, judgement.claim) for judgement in asked]
            found = self.model.predict(
                pairs, apply_softmax=True, batch_size=batch_size, show_progress_bar=False
            )
        else:
            pairs = [filled(pair, {"premise": one.premise, "claim": one.claim}) for one in asked]
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
