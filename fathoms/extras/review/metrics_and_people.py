"""Computes how far scores agree with what people said of the same answers: ratings, or preferences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from fathoms.errors import DataError, UsageError
from fathoms.extras.review.score_tables import Item, Pair, ScoreTable

Json = dict[str, Any]


def table_of_runs(references: Sequence[str], out: Path) -> ScoreTable:
    """Return the scores of runs by question and name of the run, under the profile of the run. Of a question
    that a run answered several times, the mean counts. Values of which lower ones are better are negative, so
    that agreement always means the opinion of people. Raises UsageError where two runs have one name."""
    from fathoms.extras.review.people import signs_of_shown
    from fathoms.runs.run import Run

    runs = [Run.scored(Run.open(one, out).path) for one in references]
    names = [run.name for run in runs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two runs are called {twice[0]}, so that people's files cannot tell them apart")
    table, signs = ScoreTable(), signs_of_shown(runs, None)
    for run in runs:
        profile = run.profile(None)
        for view in run.questions():
            for repeat in view.repeats:
                for name, sign in signs.items():
                    value = repeat.value(name, profile)
                    if value is not None:
                        item = (view.question.id, run.name)
                        table.scores.setdefault(name, {}).setdefault(item, []).append(sign * value)
    return table


def agreement(scores: ScoreTable, people: ScoreTable) -> Json:
    """Return the agreement of every metric with every column of people's ratings and preferences.

    With ratings, `tau`, `pearson` and `spearman` are means over topics of the coefficient among the systems
    of a topic, and `overall` has those of all answers at once. With preferences, they are those of the
    preferences and the differences of the scores, over all pairs. `accuracy` is the share of the pairs that
    people order which the metric orders alike, where a pair that it does not order counts half. Intervals of
    means over topics are those of a mean, all others come from drawing whole topics. `notes` say what was
    left out.
    """
    rows, notes = [], []
    for name in scores.scores:
        values = scores.means(name)
        for column in people.scores:
            ratings = people.means(column)
            if found := _with_ratings(values, ratings):
                rows.append({"metric": name, "people": column, **found})
                notes.append(_missing(name, column, ratings, values, "rated answers"))
        for column, given in people.preferences.items():
            pairs = {pair: fmean(said) for pair, said in given.items()}
            if found := _with_preferences(values, pairs):
                rows.append({"metric": name, "people": column, **found})
                known = [pair for pair in pairs if _difference(values, pair) is not None]
                notes.append(_missing(name, column, pairs, known, "pairs"))
    if not rows:
        raise DataError(
            "the scores and people's files have no answers in common: their topics and systems need the same"
            f" names (scores: {_some(scores)}; people: {_some(people)})"
        )
    return {"agreement": rows, "notes": list(dict.fromkeys(filter(None, notes)))}


def _with_ratings(values: Mapping[Item, float], ratings: Mapping[Item, float]) -> Json | None:
    """Return the agreement with ratings; `None` where no topic has two answers with both."""
    from fathoms.stats.ranking import kendall, pair_accuracy, rank_agreement

    topics: dict[str, list[Item]] = {}
    for item in ratings:
        if item in values:
            topics.setdefault(item[0], []).append(item)
    compared = {topic: items for topic, items in topics.items() if len(items) > 1}
    if not compared:
        return None
    found = rank_agreement(
        [[values[item] for item in items] for items in compared.values()],
        [[ratings[item] for item in items] for items in compared.values()],
    )
    every = [item for items in compared.values() for item in items]
    ours, theirs = ([side[item] for item in every] for side in (values, ratings))
    tau = kendall(ours, theirs, [item[0] for item in every])
    pairs = [pair for items in compared.values() for pair in combinations(items, 2)]
    right = pair_accuracy(
        [values[b] - values[a] for a, b in pairs],
        [ratings[b] - ratings[a] for a, b in pairs],
        [a[0] for a, _ in pairs],
    )
    return {
        "kind": "ratings",
        "tau": found.tau._asdict(),
        "pearson": found.pearson._asdict(),
        "spearman": found.spearman._asdict(),
        "overall": {
            "tau": tau._asdict(),
            "pearson": found.pooled_pearson._asdict(),
            "spearman": found.pooled_spearman._asdict(),
        },
        "topics": found.topics,
        "answers": found.pairs,
        "topics_without_order": found.undefined,
        **_accuracy(right),
    }


def _with_preferences(values: Mapping[Item, float], given: Mapping[Pair, float]) -> Json | None:
    """Return the agreement with preferences; `None` where no pair has scores of both answers."""
    from fathoms.stats.ranking import kendall, pair_accuracy, pearson, spearman

    pairs = [pair for pair in given if _difference(values, pair) is not None]
    if not pairs:
        return None
    ours = [_difference(values, pair) or 0.0 for pair in pairs]
    theirs, topics = [given[pair] for pair in pairs], [pair[0] for pair in pairs]
    return {
        "kind": "preferences",
        "tau": kendall(ours, theirs, topics)._asdict(),
        "pearson": pearson(ours, theirs, topics)._asdict(),
        "spearman": spearman(ours, theirs, topics)._asdict(),
        "topics": len(set(topics)),
        **_accuracy(pair_accuracy(ours, theirs, topics)),
    }


def _accuracy(found: Any) -> Json:
    """Return the share of pairs with its interval, and the counts of pairs."""
    figures = found._asdict()
    bounds = {name: figures.pop(name) for name in ("value", "low", "high")}
    return {"accuracy": bounds, **figures}


def _difference(values: Mapping[Item, float], pair: Pair) -> float | None:
    topic, first, second = pair
    one, other = values.get((topic, first)), values.get((topic, second))
    return None if one is None or other is None else other - one


def _missing(name: str, column: str, said: Mapping[Any, Any], known: Any, what: str) -> str:
    """Say how much of what people judged has no score; empty where all of it has."""
    missing = sum(one not in known for one in said)
    return f"{name} has no score for {missing} of {len(said)} {what} of {column}" if missing else ""


def _some(table: ScoreTable) -> str:
    """Name a topic and a system of a table."""
    return "/".join(next(_items(table), ("none", "none")))


def _items(table: ScoreTable) -> Iterator[Item]:
    for items in table.scores.values():
        yield from items
    for pairs in table.preferences.values():
        yield from (pair[:2] for pair in pairs)
