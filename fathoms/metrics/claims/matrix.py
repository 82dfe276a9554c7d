"""The verdicts of claims against premises, from which all claim metrics are computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Literal

from fathoms.metrics.claims.premises import Premise
from fathoms.metrics.claims.truth import Truth, any_true
from fathoms.types import Claim, Judgement, Verdict
from fathoms.types.run.rows import Decided, ListedClaim

Side = Literal["answer", "gold"]
"""Whose claims are compared: those of the answer or of the gold answer."""
_BINARY = frozenset({"supported", "unsupported"})
BINARY_LACKS = "a judge with three labels (labels: three-way)"
"""What a metric of contradictions lacks where the judge has two labels."""


@dataclass(frozen=True)
class Grid:
    """Claims that are each compared with each of some premises. A claim that occurs twice is listed twice and
    judged once.

    `of` says whose claims they are, and `by` what the premises are (`retrieved`, `gold answer`), under which
    reports show the verdicts; without it, they show none.
    """

    claims: tuple[Claim, ...]
    premises: tuple[Premise, ...]
    of: Side = "answer"
    by: str = ""
    _last: tuple[Mapping[Judgement, Verdict], Matrix] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def judgements(self) -> tuple[tuple[Judgement, ...], ...]:
        """The judgements of each claim, one for each premise."""
        premises = [(premise.text, premise.image) for premise in self.premises]
        return tuple(
            tuple([Judgement(claim.text, text, claim.context, image) for text, image in premises])
            for claim in self.claims
        )

    @cached_property
    def all_judgements(self) -> tuple[Judgement, ...]:
        """All judgements, claim by claim."""
        return tuple(chain.from_iterable(self.judgements))

    def judged(self, verdicts: Mapping[Judgement, Verdict]) -> Matrix:
        """Return the matrix of the verdicts that are there."""
        last = self._last
        if last is None or last[0] is not verdicts:  # several metrics ask for the same
            found = tuple([tuple(map(verdicts.get, row)) for row in self.judgements])
            last = verdicts, Matrix(self.claims, self.premises, found, self.of, self.by)
            object.__setattr__(self, "_last", last)
        return last[1]


@dataclass(frozen=True)
class Matrix:
    """Verdicts by claim and premise; one that is missing is `None`.

    A verdict that could not be read, and one that is missing, is neither true nor false. A premise entails a
    claim if the label is `entailment` or `supported`.
    """

    claims: tuple[Claim, ...]
    premises: tuple[Premise, ...]
    verdicts: tuple[tuple[Verdict | None, ...], ...]
    of: Side = "answer"
    by: str = ""

    @property
    def by_claim(self) -> Iterator[tuple[Claim, tuple[Verdict | None, ...]]]:
        """Each claim with its verdicts, one for each premise."""
        return zip(self.claims, self.verdicts, strict=True)

    @cached_property
    def entails(self) -> tuple[tuple[Truth, ...], ...]:
        """Whether each premise entails each claim."""
        return tuple(tuple([None if one is None else one.supports for one in row]) for row in self.verdicts)

    @cached_property
    def settled(self) -> Matrix:
        """The matrix with a neutral verdict in the place of each that is missing or could not be read."""
        filled = tuple(
            tuple(
                Verdict(claim=claim.text, premise=premise.text, label="neutral")
                if one is None or one.supports is None
                else one
                for premise, one in zip(self.premises, row, strict=True)
            )
            for claim, row in zip(self.claims, self.verdicts, strict=True)
        )
        return Matrix(self.claims, self.premises, filled, self.of, self.by)

    @property
    def is_binary(self) -> bool:
        """Whether the judge has two labels, so that it does not tell contradictions."""
        return any(one is not None and one.label in _BINARY for row in self.verdicts for one in row)

    @cached_property
    def contradicts(self) -> tuple[tuple[Truth, ...], ...]:
        """Whether each premise contradicts each claim. A judge with two labels does not say why a claim is
        unsupported, so that this is unknown."""
        return tuple(tuple(map(_contradicts, row)) for row in self.verdicts)

    @cached_property
    def supported(self) -> tuple[Truth, ...]:
        """Whether any premise entails each claim."""
        return tuple(map(any_true, self.entails))

    @cached_property
    def chances(self) -> tuple[float | None, ...]:
        """The probability that each claim is supported: that of the premise that most probably does, so that
        nothing is assumed of how premises depend on one another. `None` if any is missing, unless one is 1;
        0 without premises."""
        rows = [[None if one is None else one.p for one in row] for row in self.verdicts]
        return tuple(
            None if None in row and 1.0 not in row else max(filter(None, row), default=0.0) for row in rows
        )

    @cached_property
    def contradicted(self) -> tuple[Truth, ...]:
        """Whether any premise contradicts each claim."""
        return tuple(map(any_true, self.contradicts))

    @cached_property
    def useful(self) -> tuple[Truth, ...]:
        """Whether each premise entails any claim."""
        return tuple(any_true(row[column] for row in self.entails) for column in range(len(self.premises)))

    @cached_property
    def listed(self) -> list[ListedClaim]:
        """Each claim with the label of the verdict that decides and the place of its premise, for readers:
        one that entails the claim, else one that is missing or unreadable, else one that contradicts it."""
        return [{"claim": claim.text, **deciding(row, self.premises)} for claim, row in self.by_claim]


def _contradicts(verdict: Verdict | None) -> Truth:
    """Return whether a verdict is a contradiction; `None` if it is missing or does not tell."""
    if verdict is None or verdict.supports is None or verdict.label == "unsupported":
        return None
    return verdict.label == "contradiction"


_WEIGHTS = {"supported": 0, "entailment": 0, "unparsed": 1, "contradiction": 2}
"""The places of verdicts among those that may decide about a claim, by their labels; others come last."""


def deciding(row: Sequence[Verdict | None], premises: Sequence[Premise]) -> Decided:
    """Return the label of the deciding verdict, its probability, the place of its premise, and the words of
    it that the judge quotes."""
    if not row:
        return {"label": "neutral", "p": None, "premise": None}
    weights = [1 if one is None else _WEIGHTS.get(one.label, 3) for one in row]
    at = weights.index(min(weights))
    verdict = row[at]
    if verdict is None:
        return {"label": "failed", "p": None, "premise": premises[at].place}
    found: Decided = {"label": verdict.label, "p": verdict.p, "premise": premises[at].place}
    if verdict.why:
        found["why"] = verdict.why
    if verdict.quote:
        found["quote"] = verdict.quote
    return found
