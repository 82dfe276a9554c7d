"""Answer length against support: whether longer answers are supported less."""

from __future__ import annotations

from collections.abc import Mapping

from fathoms.metrics.answer_length import AnswerLength
from fathoms.metrics.pooling import Pool, pooled
from fathoms.types.run.summary import Correlation, LengthGroup, LengthSupport

_LENGTH = str(AnswerLength.model_fields["kind"].default)
_GROUPS, _SMALLEST = 4, 5
"""At most so many groups of answers, and the fewest answers in one."""


def is_support(metric: str) -> bool:
    """Return whether a metric says how far answers are supported: faithfulness under any of its names."""
    return "faithfulness" in metric.split(".")[-1]


def length_against_support(pools: Mapping[str, Pool]) -> dict[str, LengthSupport]:
    """Return, for each kind of faithfulness that a run was scored by together with `answer-length`, how it
    goes with the length of the answers; empty if there is none.

    `spearman` is Spearman's rank correlation over the `n` questions that have both, with an interval of a
    bootstrap that draws questions with the same gold documents together; it is negative where longer answers
    are supported less. `groups` are up to four groups of questions by length, of 5 or more each and about
    equally large, with their shortest and longest answer in words (`shortest`, `longest`) and the mean
    support with its interval. Repeats are averaged within their question.
    """
    length = pools.get(_LENGTH)
    if length is None:
        return {}
    of_support = {name: pool for name, pool in pools.items() if is_support(name)}
    return {name: _against(length, pool) for name, pool in of_support.items()}


def _against(length: Pool, support: Pool) -> LengthSupport:
    """Return how one kind of support goes with the length of answers."""
    import numpy as np

    from fathoms.stats.ranking import spearman

    words, shares = length.column(), support.column()
    both = (words.values == words.values) & (shares.values == shares.values)
    words, shares = words.take(both), shares.take(both)
    order = np.argsort(words.values, kind="stable")
    count = min(_GROUPS, max(1, len(order) // _SMALLEST)) if len(order) else 0
    groups = [
        LengthGroup(
            shortest=float(words.values[places[0]]),
            longest=float(words.values[places[-1]]),
            **dict(pooled(shares.take(places), "questions", support.metric.measured_in).overall),
        )
        for places in (np.array_split(order, count) if count else ())
    ]
    correlation = Correlation(**spearman(words.values, shares.values, words.documents)._asdict())
    return LengthSupport(n=len(order), spearman=correlation, groups=tuple(groups))
