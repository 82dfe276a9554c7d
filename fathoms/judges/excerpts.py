"""The passages of a long premise that are most like some claims, for judges that shall read less."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from pydantic import BaseModel, ConfigDict, Field

from fathoms.models.sentences import sentences
from fathoms.types import Judgement

_WORD = re.compile(r"\w+")


class Excerpts(BaseModel):
    """How much of a premise a judge sees.

    The premise is split into sentences, and each passage is a sentence with its neighbours. The passages
    that share the rarest words with a claim and its sentence are shown, in the order of the premise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    retrieve: int = Field(ge=1, le=100)
    """Passages for each claim. The claims of one call see the passages of all of them."""
    neighbours: int = Field(default=1, ge=0, le=20)
    """Sentences before and after the one that is most like the claim."""

    def of(self, premise: str, judgements: Sequence[Judgement]) -> str:
        """Return the passages of a premise for some claims; the premise itself if they are all of it."""
        split = sentences(premise)
        words = [_words(sentence) for sentence in split]
        having = Counter(word for found in words for word in found)
        weight = {word: log(1 + len(split) / number) for word, number in having.items()}
        shown: set[int] = set()
        for one in judgements:
            wanted = _words(f"{one.claim} {one.context}")
            likeness = [sum(weight[word] for word in found & wanted) for found in words]
            best = sorted(range(len(split)), key=lambda at: (-likeness[at], at))[: self.retrieve]
            shown.update(
                near for at in best for near in range(at - self.neighbours, at + self.neighbours + 1)
            )
        chosen = [at for at in range(len(split)) if at in shown]
        if len(chosen) == len(split):
            return premise
        parts = [
            split[at] if not number or chosen[number - 1] == at - 1 else f"[...] {split[at]}"
            for number, at in enumerate(chosen)
        ]
        return " ".join(parts)


def _words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(_WORD.findall(text.lower()))
