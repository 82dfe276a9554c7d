"""How far people, judges and metrics agree about the answers of runs, from saved reviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fathoms.errors import DataError
from fathoms.extras.review.agreement import mean_rating
from fathoms.judges.agreement import figures, intervals, same_interval
from fathoms.judges.rubrics import WORDS
from fathoms.report.metrics_table import MAIN, is_shown
from fathoms.runs.pairs import reviewer_pairs
from fathoms.runs.people import (
    ERRORS_FILE,
    GRADES_FILE,
    LABELS_FILE,
    ClaimLabel,
    FoundErrors,
    Grade,
    Kind,
    judged,
    read_all,
)
from fathoms.runs.run import Run
from fathoms.types import Judgement, Rubric, Verdict

if TYPE_CHECKING:
    from fathoms.stats.ranking import RankAgreement

Json = dict[str, Any]


def read_of_runs(runs: Sequence[Run], kind: type[Kind], reviewers: Collection[str] = ()) -> list[Kind]:
    """Read the reviews of some runs from their folders, of all reviewers or some."""
    file = {Grade: GRADES_FILE, FoundErrors: ERRORS_FILE, ClaimLabel: LABELS_FILE}[kind]
    ids = {run.original_id for run in runs}
    paths = [run.path / file for run in runs if run.path]
    return [
        said
        for said in read_all(paths, kind)
        if said.run in ids and (not reviewers or said.reviewer in reviewers)
    ]


def quality_json(runs: Sequence[Run], grades: Sequence[Grade], scores: str | None) -> Json | None:
    """Return the mean grade of every run, the agreement of reviewers, and how far metrics rank the runs as
    the grades do; `None` without grades. If several people graded an answer, their mean counts."""
    if not grades:
        return None
    given = _means(grades)
    return {
        "reviewers": sorted({grade.reviewer for grade in grades}),
        "runs": [
            {"run": run.original_id, "name": run.name, **asdict(mean)}
            for run in runs
            if (mean := mean_rating([value for key, value in given.items() if key[0] == run.original_id]))
        ],
        "pairs": [asdict(pair) for pair in reviewer_pairs(grades, lambda one: one.grade, range(1, 6))],
        "ranking": {name: _ranking_json(found) for name, found in rankings(runs, given, scores).items()},
    }


def _means(grades: Iterable[Grade]) -> dict[tuple[str, str, int], float]:
    """Return the mean grade of each answer, by run, question and repeat."""
    found: dict[tuple[str, str, int], list[int]] = {}
    for grade in grades:
        found.setdefault((grade.run, grade.question, grade.repeat), []).append(grade.grade)
    return {key: fmean(values) for key, values in found.items()}


def signs_of_shown(runs: Sequence[Run], scores: str | None) -> dict[str, int]:
    """Return the metrics that are compared with people, each with 1, or -1 where lower values are better.
    Metrics that reports do not show, and counts, are left out."""
    return {
        name: -1 if figures.direction == "lower" else 1
        for run in runs
        for name, figures in run.metrics(scores).items()
        if (name in MAIN or is_shown(run, name, figures)) and figures.pooling != "counts"
    }


def rankings(
    runs: Sequence[Run], given: Mapping[tuple[str, str, int], float], scores: str | None
) -> dict[str, RankAgreement]:
    """Return how far each shown metric ranks the runs as people do, question by question.

    Metrics where lower values are better are counted the other way round, so that a tau of 1 always means
    the ranking of people. A metric is left out if no question has values of it in two runs.
    """
    from fathoms.stats.ranking import rank_agreement

    shown = signs_of_shown(runs, scores)
    values: dict[str, dict[str, list[tuple[float, float]]]] = {name: {} for name in shown}
    for run in runs:
        profile = run.profile(scores)
        for view in run.questions():
            for repeat in view.repeats:
                grade = given.get((run.original_id, view.question.id, repeat.repeat))
                for name in shown if grade is not None else ():
                    value = repeat.value(name, profile)
                    if value is not None and grade is not None:
                        values[name].setdefault(view.question.id, []).append((shown[name] * value, grade))
    found = {}
    for name, topics in values.items():
        compared = [pairs for pairs in topics.values() if len(pairs) > 1]
        if compared:
            ours, theirs = ([[pair[side] for pair in pairs] for pairs in compared] for side in (0, 1))
            found[name] = rank_agreement(ours, theirs)
    return found


def _ranking_json(found: RankAgreement) -> Json:
    """Return the coefficients with their intervals as JSON data."""
    return {name: one._asdict() if hasattr(one, "_asdict") else one for name, one in found._asdict().items()}


def errors_json(found: Iterable[FoundErrors]) -> list[Json]:
    """Return in how many answers people found each error, and how far two of them agree about it.

    There is a table for each taxonomy that people used: who did not see an error among those to choose from
    has not said that it is absent. The one with the most answers comes first.
    """
    by_taxonomy: dict[str, list[FoundErrors]] = {}
    for one in found:
        by_taxonomy.setdefault(one.taxonomy, []).append(one)
    tables = [_errors_by(taxonomy, group) for taxonomy, group in by_taxonomy.items()]
    return sorted(tables, key=lambda table: -table["answers"])


def _errors_by(taxonomy: str, found: Sequence[FoundErrors]) -> Json:
    """Return the table of one taxonomy. An answer that several people searched counts by the share of them
    who found the error."""
    names = Counter(name for one in found for name in one.errors)
    by_answer: dict[tuple[Hashable, ...], list[FoundErrors]] = {}
    for one in found:
        by_answer.setdefault(one.key, []).append(one)
    return {
        "taxonomy": taxonomy,
        "answers": len(by_answer),
        "reviewers": sorted({one.reviewer for one in found}),
        "none": sum(fmean(not one.errors for one in group) for group in by_answer.values()),
        "errors": {
            name: {
                "answers": sum(fmean(name in one.errors for one in group) for group in by_answer.values()),
                "pairs": [asdict(pair) for pair in reviewer_pairs(found, partial(_has, name))],
            }
            for name, _ in names.most_common()
        },
    }


def means_json(runs: Iterable[Run]) -> list[Json]:
    """Return the estimates of the judged metrics of some runs by the labels of people, from the last scoring;
    see `metrics.people`. Metrics without a labelled answer are left out."""
    return [
        {"run": run.original_id, "name": run.name, "metric": name, "sentence": found.sentence}
        | found.model_dump(exclude_none=True, exclude_unset=True)
        for run in runs
        for name, figures in run.metrics().items()
        if (found := figures.people) and found.labels
    ]


def _has(name: str, found: FoundErrors) -> bool:
    return name in found.errors


def claims_json(
    labels: Sequence[ClaimLabel], verdicts: Mapping[str, Mapping[Judgement, Verdict]]
) -> Json | None:
    """Return how far two people agree about claims, and a judge with people; `None` without labels.

    `verdicts` are those of the judge by run. People who disagree about a claim are decided by the majority; a
    claim with as many on both sides is left out and counted in `disputed`. Labels on other scales, such as
    grades, are in `grades_json`.
    """
    labels = [label for label in labels if label.rubric == "support"]
    if not labels:
        return None
    said: dict[tuple[Hashable, ...], list[ClaimLabel]] = {}
    for label in labels:
        said.setdefault(label.key, []).append(label)
    known = {
        (run, judged(judgement)): verdict
        for run, found in verdicts.items()
        for judgement, verdict in found.items()
        if judgement.rubric == "support"
    }
    rows = []
    disputed = unjudged = 0
    for group in said.values():
        share = fmean(one.label in ("supported", "entailment") for one in group)
        verdict = known.get((group[0].run, group[0].what))
        if share == 0.5:
            disputed += 1
        elif verdict is None or verdict.supports is None:
            unjudged += 1
        else:
            rows.append((share > 0.5, verdict.supports, verdict.p, group[0].question))
    people, judge, p, groups = (list(side) for side in zip(*rows, strict=True)) if rows else ([], [], [], [])
    return {
        "reviewers": sorted({label.reviewer for label in labels}),
        "claims": len(said),
        "answers": len({(label.run, label.question) for label in labels}),
        "pairs": [asdict(pair) for pair in reviewer_pairs(labels, lambda one: one.label)],
        "disputed": disputed,
        "unjudged": unjudged,
        "n": len(rows),
        "judge": figures(people, judge, p) | {"intervals": intervals(people, judge, p, groups)},
    }


def grades_json(
    labels: Sequence[ClaimLabel], verdicts: Mapping[str, Mapping[Judgement, Verdict]]
) -> list[Json]:
    """Return how far two people agree about labels on a scale, such as grades of passages, and a judge with
    people: a table for each rubric. Every label of a person counts; without a verdict it is `unjudged`."""
    by_rubric: dict[Rubric, list[ClaimLabel]] = {}
    for label in labels:
        if label.rubric not in WORDS:
            continue
        if label.label not in WORDS[label.rubric].values():
            raise DataError(f"labels.jsonl of {label.run}: '{label.label}' is no label of {label.rubric}")
        by_rubric.setdefault(label.rubric, []).append(label)
    return [_graded(rubric, group, verdicts) for rubric, group in by_rubric.items()]


def _graded(
    rubric: Rubric, labels: Sequence[ClaimLabel], verdicts: Mapping[str, Mapping[Judgement, Verdict]]
) -> Json:
    """Return the table of one rubric. Kappa is weighted by the squared distance on the scale."""
    from fathoms.stats.kappa import kappa

    scale = list(WORDS[rubric].values())
    known = {
        (run, judged(judgement)): verdict.label
        for run, found in verdicts.items()
        for judgement, verdict in found.items()
        if judgement.rubric == rubric and verdict.label in scale
    }
    rows = [(label, said) for label in labels if (said := known.get((label.run, label.what))) is not None]
    table = [[0] * len(scale) for _ in scale]
    for label, said in rows:
        table[scale.index(label.label)][scale.index(said)] += 1
    same = [label.label == said for label, said in rows]
    return {
        "rubric": rubric,
        "scale": scale,
        "reviewers": sorted({label.reviewer for label in labels}),
        "items": len({label.key for label in labels}),
        "pairs": [asdict(pair) for pair in reviewer_pairs(labels, lambda one: one.label, scale)],
        "n": len(rows),
        "unjudged": len(labels) - len(rows),
        "same": fmean(same) if same else None,
        "interval": same_interval(same, [label.question for label, _ in rows]),
        "kappa": kappa(table),
        "weighted": kappa(table, quadratic=True),
    }
