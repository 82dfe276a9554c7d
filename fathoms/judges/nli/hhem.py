"""HHEM-2.1-open: the encoder of Flan-T5-base with two labels on its first token.

Vectara's model comes with Python code, which is not run here. What the code builds is in transformers:
`T5ForTokenClassification` with the configuration and the tokenizer of Flan-T5-base, which `config.json` of
the model names as its `foundation`; the names of the weights begin with `t5.`. The prompt begins with the
padding token. Its two logits are the decision, and the second one means that the premise supports the claim.
A premise is read in one piece.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fathoms.errors import ConfigError
from fathoms.judges.nli.fact_checker import Encoded, OneText, Reading
from fathoms.models.weights.hub import best_device, is_path, quiet, read, transformers

_FOUNDATION = "google/flan-t5-base"
_PREFIX = "t5."


class HHEM(OneText):
    """A loaded HHEM-2.1-open model, which decides by its first token."""

    def parts(self, premise: str) -> list[str]:
        """Return the premise, which is read in one piece."""
        return [premise]

    def text(self, premise: str, claim: str) -> str:
        """Return the prompt that the model was trained on."""
        asks = "Determine if the hypothesis is true given the premise?"
        return f"<pad> {asks}\n\nPremise: {premise}\n\nHypothesis: {claim}"

    def readings(self, inputs: Any, rows: Sequence[Encoded]) -> list[Reading]:
        """Return the probability of the second label of the first token."""
        found = self.model(**inputs).logits[:, 0].softmax(dim=-1)[:, 1].tolist()
        return [Reading(p, row.is_cut) for p, row in zip(found, rows, strict=True)]


def load(model: str, revision: str | None, device: str | None, max_tokens: int) -> HHEM:
    """Load the model; raises ConfigError if its weights are not those of this architecture."""
    transformers()
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoTokenizer, T5ForTokenClassification

    settings, weights = (_file(name, model, revision) for name in ("config.json", "model.safetensors"))
    foundation = _foundation(settings)
    config = read(AutoConfig.from_pretrained, foundation, None, num_labels=2)
    tokenizer = read(AutoTokenizer.from_pretrained, foundation, None)
    with quiet():
        loaded = T5ForTokenClassification(config)
    state = {name.removeprefix(_PREFIX): values for name, values in load_file(weights).items()}
    # the file has the embedding once, and the encoder has it under a name of its own
    shared = state.get("transformer.shared.weight")
    if shared is not None:
        state.setdefault("transformer.encoder.embed_tokens.weight", shared)
    try:
        loaded.load_state_dict(state)
    except RuntimeError as error:
        raise ConfigError(
            f"{model} is not HHEM-2.1-open: its weights are not those of the encoder of {foundation} with two"
            " labels"
        ) from error
    return HHEM(loaded.eval().to(device or best_device()), tokenizer, max_tokens)


def _file(name: str, model: str, revision: str | None) -> Path:
    """Return a file of the model; raises ConfigError if it is missing."""

    def found(place: str, *, local_files_only: bool = False, revision: str | None = None) -> Path:
        from huggingface_hub import hf_hub_download

        path = Path(place, name)
        if Path(place).is_dir():
            return path
        return Path(hf_hub_download(place, name, revision=revision, local_files_only=local_files_only))

    path: Path = read(found, model, revision)
    if not path.is_file():
        raise ConfigError(f"{model} is not HHEM-2.1-open: it has no file {name}")
    return path


def _foundation(settings: Path) -> str:
    """Return the model whose configuration and tokenizer are used: a folder beside the weights, or a name on
    the hub. Raises ConfigError for a path, because the files of a model have no say over other folders."""
    named = str(json.loads(settings.read_text(encoding="utf-8")).get("foundation") or _FOUNDATION)
    if is_path(named):
        raise ConfigError(f"{settings}: the foundation '{named[:100]}' is a path, not a name on the hub")
    beside = settings.parent / named
    return str(beside.absolute()) if beside.is_dir() else named
