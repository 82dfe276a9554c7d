"""FactCG: DeBERTa with two labels that reads premise and claim as one instruction.

Lei et al., "FactCG: Enhancing Fact Checkers with Graph-Based Multi-Hop Data" (NAACL 2025), with the format
of their released code. The second label means support. A premise is read with each sentence on a line of its
own, in parts of at most 550 words and punctuation marks, and the highest probability counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fathoms.judges.nli.fact_checker import (
    Encoded,
    OneText,
    Reading,
    network,
    require_two_labels,
    tokenizer_of,
)
from fathoms.judges.nli.parts import parts
from fathoms.judges.prompts import filled
from fathoms.models.sentences import all_sentences
from fathoms.models.words import sentence_words

_WORDS = 550
_INSTRUCTION = (
    "{premise}\n\nChoose your answer: based on the paragraph above can we conclude that"
    ' "{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
)


class FactCG(OneText):
    """A loaded FactCG model, which reads premise and claim as one instruction."""

    def parts(self, premise: str) -> list[str]:
        """Return parts of at most 550 words and marks."""
        return premise_parts(premise)

    def text(self, premise: str, claim: str) -> str:
        """Return the instruction with the premise and the claim in it."""
        return filled(_INSTRUCTION, {"premise": premise, "claim": claim})

    def readings(self, inputs: Any, rows: Sequence[Encoded]) -> list[Reading]:
        """Return the probability of the second label."""
        found = self.model(**inputs).logits.softmax(dim=-1)[:, 1].tolist()
        return [Reading(p, row.is_cut) for p, row in zip(found, rows, strict=True)]


def load(model: str, revision: str | None, device: str | None, max_tokens: int) -> FactCG:
    """Load the model; raises ConfigError if it has not two labels."""
    loaded = network("AutoModelForSequenceClassification", model, revision, device)
    require_two_labels(loaded, model)
    return FactCG(loaded, tokenizer_of(model, revision), max_tokens)


def premise_parts(premise: str) -> list[str]:
    """Split a premise into parts of at most 550 words and marks, with a line for each sentence."""
    grouped = parts(all_sentences(premise), _WORDS, lambda sentence: len(sentence_words(sentence)))
    return ["\n".join(part) for part in grouped] or [""]
