"""MiniCheck-Flan-T5: a sequence-to-sequence model whose first output token is the decision.

Tang, Laban and Durrett, "MiniCheck: Efficient Fact-Checking of LLMs on Grounding Documents" (EMNLP 2024),
with the format of their released code: the text is `predict: `, the premise, the end mark and the claim. The
probability is the softmax over the logits of the tokens `▁` (not supported) and `▁1` (supported) as the first
token of the output. A premise is read in parts of at most 500 words, and the highest probability counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fathoms.errors import ConfigError
from fathoms.judges.nli.fact_checker import Encoded, OneText, Reading, network, tokenizer_of
from fathoms.judges.nli.parts import parts
from fathoms.models.sentences import all_sentences

_WORDS = 500
_ANSWERS = {3: "▁", 209: "▁1"}
"""The tokens of Flan-T5 for no and for yes. Its vocabulary splits `0` into `▁` and `0`, so the first token of
no is the space."""


class MiniCheck(OneText):
    """The fact checker MiniCheck-Flan-T5, with its model loaded."""

    def parts(self, premise: str) -> list[str]:
        """Return parts of at most 500 words."""
        return premise_parts(premise)

    def text(self, premise: str, claim: str) -> str:
        """Return the two texts with the end mark between them."""
        return f"predict: {premise}{self.tokenizer.eos_token}{claim}"

    def readings(self, inputs: Any, rows: Sequence[Encoded]) -> list[Reading]:
        """Return the probability of yes as the first output token."""
        start = inputs["input_ids"].new_zeros((len(rows), 1))
        logits = self.model(**inputs, decoder_input_ids=start).logits[:, 0, list(_ANSWERS)]
        found = logits.softmax(dim=-1)[:, 1].tolist()
        return [Reading(p, row.is_cut) for p, row in zip(found, rows, strict=True)]


def load(model: str, revision: str | None, device: str | None, max_tokens: int) -> MiniCheck:
    """Load the model; raises ConfigError if it has not the vocabulary of Flan-T5."""
    tokenizer = tokenizer_of(model, revision)
    if tokenizer.convert_ids_to_tokens(list(_ANSWERS)) != list(_ANSWERS.values()):
        raise ConfigError(f"{model} is not MiniCheck-Flan-T5: its vocabulary is not that of Flan-T5")
    return MiniCheck(network("AutoModelForSeq2SeqLM", model, revision, device), tokenizer, max_tokens)


def premise_parts(premise: str) -> list[str]:
    """Split a premise into parts of at most 500 words; lines stay lines, and sentences are not split."""
    grouped = parts(_sentences(premise), _WORDS, lambda sentence: len(sentence.split()))
    joined = (" ".join(part).replace(" \n ", "\n").strip() for part in grouped)
    return [part for part in joined if part] or [""]


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of each line, and the end of each line."""
    for number, line in enumerate(text.split("\n")):
        if number:
            yield "\n"
        yield from all_sentences(line)
