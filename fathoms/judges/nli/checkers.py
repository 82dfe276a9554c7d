"""The fact checkers that are known by name: where their weights are, and which kind reads them."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Literal, NamedTuple

from fathoms.judges.nli.base import FactChecker
from fathoms.models.weights.hub import folder_of

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
