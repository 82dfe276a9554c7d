"""Nuggets without a gold answer: which facts an answer says, of those that a good answer says.

Pradeep et al. 2024 and 2025 (AutoNuggetizer), with the scores of TREC 2024's RAG track. The facts stand in
the question set (`Question.facts`), written by people or drafted by `fathoms questions facts` once for all
runs that are compared. The judge says of each whether the answer supports it in full, in part or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from fathoms.metrics.claims.argue import DRAFTED
from fathoms.metrics.claims.terms import Term, mean_of
from fathoms.metrics.claims.texts import ClaimsOf, answer_text
from fathoms.metrics.metric import Facts, JudgedMetric, Need, Pooling
from fathoms.types import Fact, Judgement, Record, Rubric, Score, Verdict

EXTENT = {"supported": 1.0, "partial": 0.5, "unsupported": 0.0}
"""How much a label of the rubric `extent` counts where parts count."""
WEIGHTS = {"vital": 1.0, "okay": 0.5}


class Nuggets(JudgedMetric):
    """Base class of the metrics on facts. `strict` ones count only what is supported in full, others half of
    what is supported in part. An empty answer says nothing, and a failed call has no value."""

    source: ClassVar[str] = "AutoNuggetizer, Pradeep et al. 2024"
    needs: ClassVar[tuple[Need, ...]] = ("answer", "facts")
    pooling: ClassVar[Pooling] = "questions"
    splits: ClassVar[bool] = False
    strict: ClassVar[bool] = False
    weights: ClassVar[Mapping[str, float]] = {"vital": 1.0, "okay": 1.0}

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """What the judge is asked for."""
        return frozenset({"extent"})

    def judgements(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """Each fact by the answer, which the judge reads with its question; none for an empty answer."""
        return [_asks(record, fact) for fact in record.question.facts] if answer_text(record) else ()

    def score(self, facts: Facts) -> Score:
        """Return the share of the weight of the facts that the answer says; `None` where none counts."""
        record = facts.record
        rows = [(fact, _label(facts, fact)) for fact in record.question.facts]
        counting = [(fact, label) for fact, label in rows if self.weights[fact.importance]]
        listed = [{"claim": fact.text, "label": f"{fact.importance}: {label}"} for fact, label in rows]
        score = mean_of(self.name, [self._term(*one) for one in counting], {"facts": listed})
        counts = Counter(label for _, label in counting)
        drafted = sum(fact.origin == "drafted" for fact, _ in counting)
        more = {"partial": float(counts["partial"]), "drafted": float(drafted)}
        return score.model_copy(update={"parts": {**score.parts, **more}})

    def _term(self, fact: Fact, label: str) -> Term:
        """Return what a fact adds; between nothing and all of its weight where it has no label."""
        weight = self.weights[fact.importance]
        if label not in EXTENT:
            return Term(0.0, weight, weight)
        value = weight * (float(label == "supported") if self.strict else EXTENT[label])
        return Term(value, value, weight)

    def counted(self, score: Score) -> Mapping[str, int]:
        """Return how many of the facts behind the figures were drafted."""
        drafted = int(score.parts.get("drafted") or 0)
        return {DRAFTED: drafted} if drafted else {}


class StrictVital(Nuggets):
    """The share of the vital facts that the answer says in full: the score by which TREC 2024 ranks."""

    strict: ClassVar[bool] = True
    weights: ClassVar[Mapping[str, float]] = {"vital": 1.0, "okay": 0.0}

    kind: Literal["nuggets.strict-vital"] = "nuggets.strict-vital"


class Vital(Nuggets):
    """The share of the vital facts that the answer says, those that it says in part counting half."""

    weights: ClassVar[Mapping[str, float]] = {"vital": 1.0, "okay": 0.0}

    kind: Literal["nuggets.vital"] = "nuggets.vital"


class StrictAll(Nuggets):
    """The share of all facts that the answer says in full."""

    strict: ClassVar[bool] = True

    kind: Literal["nuggets.strict-all"] = "nuggets.strict-all"


class All(Nuggets):
    """The share of all facts that the answer says, those that it says in part counting half."""

    kind: Literal["nuggets.all"] = "nuggets.all"


class StrictWeighted(Nuggets):
    """The share of the facts that the answer says in full, a vital one counting 1 and an okay one a half."""

    strict: ClassVar[bool] = True
    weights: ClassVar[Mapping[str, float]] = WEIGHTS

    kind: Literal["nuggets.strict-weighted"] = "nuggets.strict-weighted"


class Weighted(Nuggets):
    """The share of the facts that the answer says, a vital one counting 1 and an okay one a half, and those
    that it says in part counting half of that."""

    weights: ClassVar[Mapping[str, float]] = WEIGHTS

    kind: Literal["nuggets.weighted"] = "nuggets.weighted"


def extent_of(verdict: Verdict | None) -> str:
    """Return the label of a verdict of the rubric `extent`, or why there is none."""
    if verdict is None:
        return "failed"
    return verdict.label if verdict.label in EXTENT else "unparsed"


def _asks(record: Record, fact: Fact) -> Judgement:
    """Return what is asked of a fact: the question belongs to the text, because an answer may say "yes"."""
    text = answer_text(record) or ("", "")
    return Judgement(claim=fact.text, premise=f"Question: {text[1]}\n\nAnswer: {text[0]}", rubric="extent")


def _label(facts: Facts, fact: Fact) -> str:
    """Return how far the answer says a fact; an empty answer says nothing."""
    if answer_text(facts.record) is None:
        return "unsupported"
    return extent_of(facts.verdicts.get(_asks(facts.record, fact)))


NUGGETS: tuple[type[Nuggets], ...] = (StrictVital, Vital, StrictAll, All, StrictWeighted, Weighted)
