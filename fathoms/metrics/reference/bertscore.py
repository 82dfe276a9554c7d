"""BERTScore (Zhang et al. 2020), by the library bert-score."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from fathoms.component import Loads
from fathoms.errors import ConfigError, FathomsError, MissingExtraError
from fathoms.metrics.reference.reference_metric import ReferenceMetric
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.hub import (
    ask_hub,
    folder_of,
    is_path,
    quiet,
    require_no_folder,
    transformers,
    weights_of,
)
from fathoms.models.weights.weights import WEIGHTS

_DEFAULT = "roberta-large"
_BARE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class BertScore(ReferenceMetric):
    """F1 of the best cosine similarities between the tokens of answer and reference, without idf weights and
    without rescaling.

    Only values of the same model and layer can be compared. The parts are precision and recall. The default
    model was never loaded by the tests of fathoms, which use a small model.
    """

    packages: ClassVar[tuple[str, ...]] = ("bert-score", "transformers")
    neutral: ClassVar[frozenset[str]] = frozenset({"optional"})
    source: ClassVar[str] = "Zhang et al. 2020"
    unit: ClassVar[str] = "cosine"
    weight: ClassVar[int | None] = None

    loads: ClassVar[Mapping[str, Loads]] = {"model": Loads("weights", WEIGHTS.known | {_DEFAULT})}

    kind: Literal["bertscore"] = "bertscore"
    model: str = _DEFAULT
    """A name from `fathoms models list`, a model that the library bert-score knows by name, ORGANISATION/NAME
    on the hub, or a folder, written as a path such as `./NAME`."""
    layer: int | None = Field(default=None, ge=1, le=200)
    """The layer whose vectors are compared; by default the one that the library recommends for the model. A
    model that the library does not know needs it."""

    optional: bool = False
    """Whether scoring goes on without the metric, and says why, where the library or the model is missing.
    In the sets `mirage-quick` and `mirage-full` it does."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the hashes of the weights where they are in a folder."""
        place = _folder(self.model)
        return {**super().identity(), "weights": weights_of(self.model, None) if place else None}

    def check(self) -> None:
        """Load the model; raises MissingExtraError, ServerError or ConfigError unless it is optional."""
        if not self.optional:
            _scorer(self.model, self.layer)

    def unusable(self) -> str | None:
        """Say why the optional metric cannot be computed on this machine; `None` if it can be."""
        if self.optional:
            try:
                _scorer(self.model, self.layer)
            except FathomsError as error:
                return str(error)
        return None

    def compare(self, answer: str, reference: str) -> tuple[float, dict[str, float | None]]:
        """Return the F1 of BERTScore, with its precision and recall."""
        found = _scorer(self.model, self.layer).score([answer], [reference])
        precision, recall, f1 = (float(values[0]) for values in found)
        return f1, {"precision": precision, "recall": recall}


def _folder(model: str) -> Path | None:
    """The folder of a model; `None` for a name on the hub, where the models that the library knows by name
    have no organisation before it."""
    if model in ASSETS or is_path(model) or not _BARE.fullmatch(model):
        return folder_of(model)
    require_no_folder(model)
    return None


@lru_cache(maxsize=1)
def _scorer(model: str, layer: int | None) -> Any:
    """Load the model; raises MissingExtraError if the library is missing, ServerError if the hub is needed
    and does not answer, and ConfigError if the model cannot be loaded."""
    place = _folder(model)
    transformers()  # mends torchvision, which transformers imports
    try:
        from bert_score import BERTScorer
        from bert_score.utils import model2layers
        from huggingface_hub import try_to_load_from_cache
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "bert-score", "bertscore", "the metric 'bertscore'") from error
    is_known = layer is not None or model in model2layers
    if place is None and is_known and not isinstance(try_to_load_from_cache(model, "config.json"), str):
        ask_hub(model, None)
    try:
        with quiet():
            return BERTScorer(model_type=str(place or model), num_layers=layer, device="cpu")
    except KeyError as error:
        raise ConfigError(f"bertscore: {model} is not known to the library: set 'layer'") from error
    except (OSError, ValueError, AssertionError) as error:
        raise ConfigError(f"bertscore: {model} cannot be loaded: {str(error).splitlines()[0]}") from error
