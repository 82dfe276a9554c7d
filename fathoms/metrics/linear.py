"""Classify answers as statements or abstentions by weights that were learnt from labelled answers.

Each sentence is scored by the hashed n-grams of its words (`answer_features.py`): does it say that something
is missing, that the question cannot be answered, does it give an answer, does it refuse? A second linear
model weighs these scores by their places in the answer, and the n-grams of the answer and of its end. Where
these weights are in doubt, what the cues of `kind: cues` say of the answer counts too.
`benchmarks/abstention/train.py` makes the weights; docs/abstention.md says what they were learnt from and how
often they are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from fathoms.component import Component
from fathoms.metrics.grammar import read_grammar
from fathoms.metrics.labels import Why
from fathoms.metrics.nearest_neighbour import ExemplarFile, read_exemplars
from fathoms.models import Embedder
from fathoms.paths import require_own_file
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Verdict

WEIGHTS = Path(__file__).with_name("linear.npz")
WEIGHTS_SHA256 = "cfc1d0a6bc0df0856e832c1c1fc1d2697af97d0a398dfed64f6f2a1cbe0f4f3c"
"""The hash of `linear.npz`; `train.py` prints it."""


class Linear(Component):
    """An abstention classifier by learnt weights; the default of the profile `fathoms`.

    It sees neither the question nor the gold answer, and needs no model.
    """

    revision: ClassVar[int] = 7

    inert: ClassVar[bool] = True
    kind: Literal["linear"] = "linear"
    exemplars: ExemplarFile = None
    """A YAML or JSON file `{statement: [...], abstention: [...]}` for the profile `paper-configured`, which
    takes the place of `paper`, or `released` for that of FATHOMS-RAG where it was pulled; by default the
    exemplars of fathoms."""
    embed: Embedder | None = None
    """The embedder of the profile `paper-configured`, which takes the place of `paper`; that one always has
    `minilm-l6-v2`, and hashed words (`lexical`) are never taken for it."""

    @property
    def key(self) -> str:
        """A fingerprint of everything that decides a label: the weights, and the cues."""
        return fingerprint(self.kind, self.revision, WEIGHTS_SHA256, read_grammar().key)

    def check(self) -> None:
        """Check the weights and the exemplars; raises the errors that scoring would raise."""
        require_own_file(WEIGHTS, WEIGHTS_SHA256)  # reading them would load numpy before the first question
        if self.exemplars is not None:
            read_exemplars(self.exemplars)

    def classify(self, texts: Sequence[str]) -> list[Verdict]:
        """Return one verdict per text: `premise` is the sentence that decided, `why` the reason."""
        from fathoms.metrics.classifying import classify_together

        return classify_together(WEIGHTS, WEIGHTS_SHA256, texts)

    def explain(self, verdict: Verdict) -> Why:
        """Return the sentence and the reason behind a verdict's label."""
        return Why(clause=verdict.premise or None, reason=verdict.why)
