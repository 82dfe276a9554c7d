"""Reranking by a cross-encoder, a model that reads question and passage together and returns one score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from fathoms.errors import ConfigError
from fathoms.models.weights.hub import HubModel, load, within_memory
from fathoms.safety.option_limits import MOST_TOKENS

_HEADLESS = ("Model", "ForMaskedLM", "ForPreTraining")
"""Endings of architecture names without a scoring head, to which the library would silently add random
weights."""


class CrossEncoder(HubModel):
    """`kind: cross-encoder`: any CrossEncoder of Sentence Transformers with one score per pair, for example
    `cross-encoder/ms-marco-MiniLM-L6-v2` (Nogueira and Cho, Passage Re-ranking with BERT, 2019).

    Scores are the outputs of the model after its own activation function. Code that comes with a model is not
    run.
    """

    kind: Literal["cross-encoder"] = "cross-encoder"
    max_tokens: int | None = Field(default=None, ge=8, le=MOST_TOKENS)
    """Maximum length of a pair in tokens; longer pairs are cut. The model's own limit if not given."""

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return a relevance score for each (question, passage) pair, in the given order."""
        if not pairs:
            return []
        model = self._model()
        with within_memory():
            found = model.predict(list(pairs), batch_size=self.batch_size, show_progress_bar=False)
        return [float(score) for score in found]

    def _model(self) -> Any:
        """Return the loaded model; the first call loads it."""
        return _load(self.model, self.hub_revision, self.device, self.max_tokens)


@lru_cache(maxsize=2)
def _load(model: str, revision: str | None, device: str | None, max_tokens: int | None) -> Any:
    """Load a model with these settings; raises ConfigError if it was not trained to give one score per
    pair."""
    loaded = load("CrossEncoder", model, revision, device=device, max_length=max_tokens)
    trained = loaded.config.architectures or ()
    if trained and all(name.endswith(_HEADLESS) for name in trained):
        raise ConfigError(f"{model} is not a reranker: it was saved without a head that scores pairs")
    if loaded.num_labels != 1:
        raise ConfigError(f"{model} gives {loaded.num_labels} scores per pair; a reranker gives one")
    return loaded
