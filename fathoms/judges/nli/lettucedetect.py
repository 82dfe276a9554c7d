"""LettuceDetect: ModernBERT that marks the words of a text that a premise does not support.

Kovács and Recski, "LettuceDetect: A Hallucination Detection Framework for RAG Applications" (2025), with the
format of their released code for texts without a question. The second label of a token means that it is not
supported. A claim is supported if no token of it has a probability above 0.5 of that label, so the
probability of support is one minus the highest of them.

A premise that is too long is read in parts, and the part that supports the claim best counts. The released
code marks a word that any part does not support. With it, a claim with its evidence in one part would be
unsupported because of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fathoms.judges.nli.fact_checker import (
    Encoded,
    FactChecker,
    Reading,
    network,
    require_two_labels,
    tokenizer_of,
)
from fathoms.judges.nli.parts import parts
from fathoms.models.sentences import all_sentences

_ADDED = 8
"""Tokens left for the marks around premise and claim."""


class LettuceDetect(FactChecker):
    """A loaded LettuceDetect model, which marks the words that a premise does not support."""

    def encoded(self, premise: str, claim: str) -> list[Encoded]:
        """Return the premise with the claim, in parts if they are too long together."""
        whole = self._pair(premise, claim)
        if not whole.is_cut:
            return [whole]
        most = self.max_tokens - self._size(claim) - self._size(_prompt("")) - _ADDED
        grouped = parts(all_sentences(premise), max(most, 1), self._size)
        return [self._pair(" ".join(part), claim) for part in grouped]

    def readings(self, inputs: Any, rows: Sequence[Encoded]) -> list[Reading]:
        """Return one minus the highest probability of the second label, and the words that have it."""
        flagged = self.model(**inputs).logits.softmax(dim=-1)[:, :, 1].tolist()
        return [_reading(row, of_row) for row, of_row in zip(rows, flagged, strict=True)]

    def _pair(self, premise: str, claim: str) -> Encoded:
        """Return the tokens of the prompt and the claim; where they are too many, the prompt is cut."""
        fits = self._size(claim) + _ADDED < self.max_tokens
        pair = self.tokenizer(
            _prompt(premise),
            claim,
            truncation="only_first" if fits else True,
            max_length=self.max_tokens,
            return_offsets_mapping=True,
        )
        ids = pair["input_ids"]
        is_cut = len(ids) == self.max_tokens and len(
            self.tokenizer(_prompt(premise), claim, truncation=False, verbose=False)["input_ids"]
        ) > len(ids)
        words = tuple(
            (at, *pair["offset_mapping"][at])
            for at, text in enumerate(pair.sequence_ids(0))
            if text == 1 and pair["offset_mapping"][at][0] < pair["offset_mapping"][at][1]
        )
        return Encoded(ids, claim, is_cut, words)

    def _size(self, text: str) -> int:
        """Count the tokens of a text."""
        return len(
            self.tokenizer(text, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        )


def _prompt(premise: str) -> str:
    """Write the prompt that the model was trained on, with the premise as the only passage."""
    return f"Summarize the following text:\npassage 1: {premise}\noutput:"


def _reading(row: Encoded, flagged: Sequence[float]) -> Reading:
    """Return what the probabilities of the tokens say of a claim; tokens side by side make one span."""
    spans: list[tuple[int, int]] = []
    was_flagged = False
    for at, start, end in row.words:
        is_flagged = flagged[at] > 0.5
        if is_flagged and was_flagged:
            spans[-1] = spans[-1][0], end
        elif is_flagged:
            spans.append((start, end))
        was_flagged = is_flagged
    p = 1 - max((flagged[at] for at, _, _ in row.words), default=1.0)
    return Reading(p, row.is_cut, tuple(row.claim[start:end].strip() for start, end in spans))


def load(model: str, revision: str | None, device: str | None, max_tokens: int) -> LettuceDetect:
    """Load the model; raises ConfigError if it has not two labels."""
    loaded = network("AutoModelForTokenClassification", model, revision, device)
    require_two_labels(loaded, model)
    return LettuceDetect(loaded, tokenizer_of(model, revision), max_tokens)
