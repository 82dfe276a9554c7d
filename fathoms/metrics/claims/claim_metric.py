"""The base class of the metrics that compare claims with premises."""

from __future__ import annotations

from abc import abstractmethod
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import chain
from typing import ClassVar, Concatenate, ParamSpec, Self, TypeVar

from pydantic import PrivateAttr

from fathoms.metrics.claims.matrix import Grid, Matrix
from fathoms.metrics.claims.texts import ClaimsOf, Text, answer_text, gold_to_split, running_gold
from fathoms.metrics.metric import Facts, JudgedMetric, Pooling
from fathoms.models.sentences import sentences
from fathoms.types import Document, Judgement, Record, Score
from fathoms.types.run.figures import range_of

P = ParamSpec("P")
T = TypeVar("T")


class ClaimMetric(JudgedMetric):
    """Base class of the metrics that compare claims of the answer or of the gold answer with premises.

    A subclass says whose claims it needs (`of_answer`, `of_gold`), returns the `grids` of claims and
    premises, and computes its value from their matrices in `measure`. `with_gold` says whether it needs a
    gold answer in running text. An answer that the headline profile labels as an abstention makes no claims.
    """

    of_answer: ClassVar[bool] = True
    of_gold: ClassVar[bool] = False
    with_gold: ClassVar[bool] = True
    pooling: ClassVar[Pooling] = "questions"

    _documents: Mapping[str, Document] = PrivateAttr(default_factory=dict)

    def reading(self, documents: Mapping[str, Document]) -> Self:
        """Return the metric with the parsed documents of the run, for premises that are gold pages."""
        changed = self.model_copy()
        changed._documents = documents
        return changed

    def lacks(self, record: Record) -> str | None:
        """Return what the record lacks, a gold answer in running text and the files of pictures included."""
        lacking = super().lacks(record)
        if lacking is None and self.with_gold:
            has_gold = record.question.answerable and running_gold(record.question)
            lacking = None if has_gold else "a gold answer in running text"
        if lacking is None and "hits" in self.needs:
            pictures = [hit.chunk.image for hit in record.hits or () if hit.chunk.image]
            lacking = None if all(one.is_file() for one in pictures) else "the pictures that were retrieved"
        return lacking

    def texts(self, record: Record) -> Sequence[Text]:
        """The answer and the gold answer, as far as their claims are needed and not known."""
        answer = answer_text(record) if self.of_answer else None
        gold = gold_to_split(record.question) if self.of_gold else None
        return [text for text in (answer, gold) if text is not None]

    def judgements(self, record: Record, claims: ClaimsOf) -> Sequence[Judgement]:
        """All judgements of the grids; none where a text was not split."""
        if any(text not in claims for text in self.texts(record)):
            return ()
        return list(chain.from_iterable(grid.all_judgements for grid in self.grids(record, claims)))

    @abstractmethod
    def grids(self, record: Record, claims: ClaimsOf) -> Sequence[Grid]:
        """Return what is compared with what."""

    @abstractmethod
    def measure(self, facts: Facts, matrices: Sequence[Matrix]) -> Score:
        """Return the score, given the verdicts of the grids in their order."""

    def abstains(self, facts: Facts) -> bool:
        """Return whether the answer makes no claims because it is an abstention."""
        return bool(facts.scores.abstained)

    def score(self, facts: Facts) -> Score:
        """Return the score from the verdicts; `None` where a text could not be split into claims."""
        claims = facts.claims
        if self.abstains(facts) and (answer := answer_text(facts.record)) is not None:
            claims = ChainMap({answer: ()}, claims)  # type: ignore[arg-type]  # it only reads the second
        for text in self.texts(facts.record):
            if text not in claims:
                return not_split(self, facts, text)
        matrices = [grid.judged(facts.verdicts) for grid in self.grids(facts.record, claims)]
        facts.compared.extend(matrices)
        return self.measure(facts, matrices)


class ReleasedMetric(ClaimMetric):
    """Base class of the claim metrics that can also count as the released code of their authors does."""

    released: bool = False
    """Whether to count as the authors' released code does: empty lists give 0, verdicts that are missing or
    unreadable count as no support, and abstentions may make claims. The metric is then called
    `NAME-released`."""

    @property
    def name(self) -> str:
        """The kind, marked where the metric counts as the released code does."""
        return f"{super().name}-released" if self.released else super().name

    def abstains(self, facts: Facts) -> bool:
        """Return whether the answer makes no claims because it is an abstention."""
        return not self.released and super().abstains(facts)


def of_one_record(
    build: Callable[Concatenate[Record, ClaimsOf, P], T],
) -> Callable[Concatenate[Record, ClaimsOf, P], T]:
    """Keep the last result of a function, such as a grid, because several metrics ask for it, one record
    after the other."""
    last: tuple[Record, ClaimsOf, object, T] | None = None

    @wraps(build)
    def found(record: Record, claims: ClaimsOf, /, *args: P.args, **more: P.kwargs) -> T:
        nonlocal last
        if last is None or last[0] is not record or last[1] is not claims or last[2] != (args, more):
            last = record, claims, (args, more), build(record, claims, *args, **more)
        return last[3]

    return found


def not_split(metric: JudgedMetric, facts: Facts, text: Text) -> Score:
    """Return the score of a record with a text that could not be split into claims: any value is possible.
    Each sentence counts as an item without a verdict, because the number of claims is not known."""
    failed = facts.failures.get(text)
    lacking = "claims, because the judge " + (f"failed: {failed.message}" if failed else "was not asked")
    items = len(sentences(text[0])) or 1
    lowest, highest = range_of(metric.measured_in) or (None, None)
    parts = {"claims": items, "unjudged": items, "lowest": lowest, "highest": highest}
    return Score(metric=metric.name, value=None, n=0, parts=parts, why={"lacks": lacking})
