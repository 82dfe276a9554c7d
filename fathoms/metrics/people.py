"""What a judged metric would be if people had judged: figures from a judge and the labels of people.

A metric is arithmetic on verdicts, so an answer of which people have labelled everything that the metric
asks for has a value by people. Where enough answers have one, the mean that people would give all answers is
estimated from both (PPI++; `stats.prediction_powered`), and a rate is also corrected for the errors of the
judge (`stats.rogan_gladen`).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

from fathoms.metrics.metric import Facts, JudgedMetric
from fathoms.runs.people import ClaimLabel, DrawnSample, Judged, SampleKey, judged
from fathoms.types import Judgement, Score, Verdict
from fathoms.types.run.figures import CorrectedRate, PeopleFigures, PoweredMean

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray

    from fathoms.metrics.columns import Codes, Column, Values
    from fathoms.stats.rogan_gladen import Agreeing

Pairs = list[tuple[bool, bool]]
"""For yes-or-no items: what people say, and what the judge says."""


class Labels:
    """The labels that people gave to claims of a run, by question and reviewer."""

    def __init__(self, labels: Iterable[ClaimLabel], samples: Iterable[DrawnSample] = ()) -> None:
        self._by_question: dict[str, dict[str, dict[Judged, str]]] = {}
        self._sizes: dict[SampleKey, dict[str, float]] = {}
        self._drawn: dict[str, set[SampleKey | None]] = {}
        for sample in samples:
            self._sizes.setdefault(sample.key, sample.sizes)
        for label in labels:
            reviewers = self._by_question.setdefault(label.question, {})
            reviewers.setdefault(label.reviewer, {})[label.what] = label.label
            key = (label.metric, label.seed)
            self._drawn.setdefault(label.question, set()).add(key if key in self._sizes else None)

    def __bool__(self) -> bool:
        return bool(self._by_question)

    def drawn(self, question: str) -> set[SampleKey | None]:
        """Return the samples for which answers to a question were labelled; `None` is one in which all have
        the same chance."""
        return self._drawn.get(question, set())

    def sizes(self, sample: SampleKey) -> Mapping[str, float]:
        """Return how likely the answer to each question was to be drawn, relative to the average."""
        return self._sizes[sample]

    def verdicts(self, metric: JudgedMetric, facts: Facts) -> list[dict[Judgement, Verdict]]:
        """Return the verdicts of each reviewer who has labelled all that the metric asks of a record."""
        record = facts.record
        reviewers = self._by_question.get(record.question.id)
        if not reviewers:
            return []
        found = (_complete(metric, facts, labels) for labels in reviewers.values())
        return [verdicts for verdicts in found if verdicts]


def _complete(
    metric: JudgedMetric, facts: Facts, labels: Mapping[Judged, str]
) -> dict[Judgement, Verdict] | None:
    """Return the labels as verdicts on all that a metric asks of a record, also on what it only asks because
    of other verdicts, round after round; `None` if any is missing."""
    verdicts = _verdicts(metric.judgements(facts.record, facts.claims), labels)
    further = getattr(metric, "further", None)
    while verdicts is not None and further is not None:
        new = [one for one in further(facts.record, facts.claims, verdicts) if one not in verdicts]
        if not new:
            break
        more = _verdicts(new, labels)
        verdicts = None if more is None else verdicts | more
    return verdicts


def _verdicts(
    judgements: Iterable[Judgement], labels: Mapping[Judged, str]
) -> dict[Judgement, Verdict] | None:
    """Return the labels as verdicts, `None` if any is missing."""
    found = {}
    for judgement in judgements:
        label = labels.get(judged(judgement))
        if label is None:
            return None
        found[judgement] = Verdict(claim=judgement.claim, premise=judgement.premise, label=label)
    return found


class ByPeople:
    """Collects, for one metric, the values that answers have by the labels of people.

    A metric is a rate of items if its value is 0 or 1 for every answer, or if for every labelled answer it is
    the share of its verdicts that support their claims, both by the judge and by people.
    """

    def __init__(self, metric: JudgedMetric, labels: Labels) -> None:
        self._metric = metric
        self._labels = labels
        self._values: dict[int, list[float]] = {}
        self._claims: dict[int, Pairs] = {}
        self._question_ids: dict[int, str] = {}
        self._shares = True

    def add(self, number: int, facts: Facts, score: Score) -> None:
        """Add a record, with the number of its question and its score by the judge."""
        if score.value is None:
            return
        judgements = self._metric.judgements(facts.record, facts.claims)
        if judgements:
            self._question_ids[number] = facts.record.question.id
        for verdicts in self._labels.verdicts(self._metric, facts):
            value = self._metric.of(replace(facts, verdicts=verdicts, failures={}, compared=[])).value
            if value is None:
                continue
            self._values.setdefault(number, []).append(value)
            both = [
                (bool(verdict.supports), facts.verdicts[one].supports)
                for one, verdict in verdicts.items()
                if one in facts.verdicts
            ]
            pairs = [(people, judge) for people, judge in both if judge is not None]
            self._claims.setdefault(number, []).extend(pairs)
            if self._metric.rubrics != {"support"}:
                self._shares = False  # grades and extents are not right or wrong
            elif len(pairs) == len(verdicts):
                sides = tuple(fmean(side) for side in zip(*pairs, strict=True))
                self._shares = self._shares and sides == (value, score.value)

    def figures(
        self, numbers: Codes, column: Column, ends: tuple[float, float] | None, macro: bool
    ) -> PeopleFigures:
        """Return the figures as the summary stores them, given the numbers of the questions, their values by
        the judge, and the lowest and the highest value of the metric; `macro` says that the figure of the run
        is the mean of its categories.

        `labels` counts the questions with a value by people, `answers` all questions with a value: the
        repeats of a question are one value, their mean. `overall` and `micro` are prediction-powered,
        `corrected` is Rogan-Gladen's; where there is none, `why`, `why_not_overall` or `why_not_corrected`
        says why.
        """
        import numpy as np

        from fathoms.stats.prediction_powered import FEWEST_IN_STRATUM, FEWEST_LABELS

        known = column.values == column.values
        numbers, column = numbers[known], column.take(known)
        sample, every = self._sample(numbers)
        labelled = np.array([int(number) in every for number in numbers], dtype=bool)
        count = int(labelled.sum())
        others = sum(int(number) in self._values for number in numbers) - count
        more = {"drawn_otherwise": others} if others else {}
        found = PeopleFigures(labels=count, answers=len(column), **more)
        if count < FEWEST_LABELS:
            few = f"people have labelled answers to {count} of {len(column)} questions"
            why = f"{few}; {FEWEST_LABELS} are needed"
            return found.model_copy(update={"why": why})
        if ends is None:
            return found.model_copy(update={"why": "the values of the metric have no bounds"})
        people = column.values.copy()
        for place in np.flatnonzero(labelled):
            people[place] = fmean(self._values[int(numbers[place])])
        if late := self._late(numbers, sample):
            why = f"{late} of the answers could not be drawn for this sample: label one with another --seed"
            return found.model_copy(update={"why": why})
        chances = None if sample is None else self._chances(numbers, count, sample)
        drawn = self._with_certain(numbers, labelled, weighted=chances is not None)
        scaled = [(values - ends[0]) / (ends[1] - ends[0]) for values in (people, column.values)]
        micro = _powered(scaled, drawn, [np.arange(len(column))], ends, chances)
        more_figures: dict[str, object] = {"micro": micro, "overall": micro}
        if macro:
            places = column.places()
            fewest = min((int(drawn[group].sum()), name) for name, group in places.items())
            if fewest[0] < FEWEST_IN_STRATUM:
                more_figures["overall"] = None
                more_figures["why_not_overall"] = (
                    f"people have labelled answers to {fewest[0]} questions of {fewest[1]}, and"
                    f" {FEWEST_IN_STRATUM} of every category are needed for the mean of the categories"
                )
            else:
                more_figures["overall"] = _powered(scaled, drawn, list(places.values()), ends, chances)
        corrected: CorrectedRate | str = "the labelled answers were drawn with different chances"
        if chances is None:
            corrected = self._corrected(numbers, people, column.values, labelled)
        else:
            more_figures["weighted"] = True
        more_figures["why_not_corrected" if isinstance(corrected, str) else "corrected"] = corrected
        return found.model_copy(update=more_figures)

    def _sample(self, numbers: Codes) -> tuple[SampleKey | None, set[int]]:
        """Return the sample to which most labelled questions belong, and these; `None` is one in which all
        have the same chance."""
        drawn = {n: self._labels.drawn(self._question_ids[n]) for n in map(int, numbers) if n in self._values}
        counts = Counter(sample for samples in drawn.values() for sample in samples)
        best = max(counts, key=lambda sample: (counts[sample], sample is None), default=None)
        return best, {number for number, samples in drawn.items() if best in samples}

    def _late(self, numbers: Codes, sample: SampleKey | None) -> int:
        """Return of how many questions no answer could be drawn, such as of those that were asked later."""
        if sample is None:
            return 0
        sizes = self._labels.sizes(sample)
        return sum(self._question_ids[n] not in sizes for n in map(int, numbers) if n in self._question_ids)

    def _chances(self, numbers: Codes, count: int, sample: SampleKey) -> Values:
        """Return the probability with which each question was among the `count` that were drawn. What nothing
        is asked of is certain: people would give it the same value."""
        import numpy as np

        from fathoms.stats.weighted_sample import chances_of

        sizes = self._labels.sizes(sample)
        judged_questions = [
            (place, self._question_ids[n])
            for place, n in enumerate(map(int, numbers))
            if n in self._question_ids
        ]
        chances = np.ones(len(numbers))
        known = chances_of(np.array([sizes[question] for _, question in judged_questions]), count)
        chances[[place for place, _ in judged_questions]] = known
        return chances

    def _with_certain(self, numbers: Codes, labelled: NDArray[bool_], *, weighted: bool) -> NDArray[bool_]:
        """Return which answers count as labelled. Where a metric asks nothing of some answers, such as empty
        ones, people would give them the same value; a share of these joins the labelled ones, so that the
        sample stays a random one of all answers. All of them join a weighted one, in which they count as
        drawn for certain."""
        import numpy as np

        certain = [place for place, number in enumerate(numbers) if int(number) not in self._question_ids]
        share = 1.0 if weighted else float(labelled.sum()) / max(1, len(numbers) - len(certain))
        drawn = labelled.copy()
        drawn[random.Random(0).sample(certain, round(min(share, 1.0) * len(certain)))] = True
        return np.asarray(drawn)

    def _corrected(
        self, numbers: Codes, people: Values, judge: Values, labelled: NDArray[bool_]
    ) -> CorrectedRate | str:
        """Return Rogan-Gladen's correction of the rate of the unlabelled answers, or why there is none."""
        import numpy as np

        from fathoms.stats.rogan_gladen import corrected_share

        if np.isin(judge, (0, 1)).all() and np.isin(people, (0, 1)).all():
            items = "answers"
            pairs = [[(bool(people[place]), bool(judge[place]))] for place in np.flatnonzero(labelled)]
        elif self._shares:
            items, pairs = "claims", [self._claims[int(number)] for number in numbers[labelled]]
        else:
            return "the metric is no rate of answers or claims"
        has_judgements = np.array([int(number) in self._question_ids for number in numbers], dtype=bool)
        if not (has_judgements & ~labelled).any():
            return "people have labelled all answers"
        yes, no = _agreeing(pairs, True), _agreeing(pairs, False)
        found = corrected_share(judge[has_judgements & ~labelled], yes, no)
        if found is None:
            return "the judge is no better than chance, or people gave only one of both labels"
        # answers without anything to judge keep their values, in which the judge has no part
        certain = float(judge[~has_judgements].sum()) / judge.size
        bounds = {name: certain + has_judgements.mean() * end for name, end in found._asdict().items()}
        return CorrectedRate(
            **bounds,
            items=items,
            sensitivity=yes.rate,
            specificity=no.rate,
            positives=int(yes.sizes.sum()),
            negatives=int(no.sizes.sum()),
        )


def _powered(
    scaled: Sequence[Values],
    labelled: NDArray[bool_],
    groups: Sequence[Codes],
    ends: tuple[float, float],
    chances: Values | None,
) -> PoweredMean:
    """Return the prediction-powered mean of the means of groups of answers, on the scale of the metric.
    `chances` are the probabilities with which the answers were drawn, if these differ."""
    from fathoms.stats.prediction_powered import Stratum, labels_to_halve, prediction_powered_mean
    from fathoms.stats.weighted_sample import WeightedStratum, weighted_mean

    people, judge = scaled
    weights = [1 / len(groups)] * len(groups)
    own = [group[labelled[group]] for group in groups]
    if chances is None:
        strata = [
            Stratum(people[some], judge[some], judge[group[~labelled[group]]])
            for some, group in zip(own, groups, strict=True)
        ]
        found = prediction_powered_mean(strata, weights)._asdict()
        found["to_halve"] = labels_to_halve(strata, weights, prediction_powered_mean)
    else:
        weighted = [
            WeightedStratum(people[some], judge[some], chances[some], judge[group])
            for some, group in zip(own, groups, strict=True)
        ]
        found = weighted_mean(weighted, weights)._asdict()
        found["to_halve"] = labels_to_halve(weighted, weights, weighted_mean)
    found["judge"] = fmean(float(judge[group].mean()) for group in groups)
    low, high = ends
    scale = {name: low + (high - low) * found[name] for name in ("value", "low", "high", "judge")}
    return PoweredMean(**found | scale)


def _agreeing(pairs: Sequence[Pairs], said: bool) -> Agreeing:
    """Return on which of the items to which people say yes, or no, the judge agrees."""
    import numpy as np

    from fathoms.stats.rogan_gladen import Agreeing

    own = [[judge == said for people, judge in items if people == said] for items in pairs]
    sizes = np.array([float(len(one)) for one in own if one])
    return Agreeing(np.array([fmean(one) for one in own if one]), sizes)
