"""`fathoms agree RUN...` and `--people`: how far people, the judge and the metrics agree about answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathoms.cli import console
from fathoms.errors import DataError, UsageError
from fathoms.text.amounts import percent

if TYPE_CHECKING:
    from fathoms.runs.run import Run
    from fathoms.types import Judgement, Verdict

Json = dict[str, Any]


def agree_with_people(
    sources: Sequence[str], people: Sequence[Path], out: Path, reviewers: Sequence[str], as_json: bool
) -> int:
    """Print how far the scores of runs, or of files of other tools, agree with the ratings or preferences of
    people for the same answers."""
    from fathoms.extras.review.metrics_and_people import agreement, table_of_runs
    from fathoms.extras.review.score_tables import read_table

    files = [path for one in sources if (path := Path(one)).is_file()]
    if files and len(files) < len(sources):
        raise UsageError("name either files of scores or runs: " + ", ".join(sources))
    scores = read_table(files) if files else table_of_runs(sources, out)
    found = agreement(scores, read_table(people, reviewers))
    if as_json:
        console.show_json(found)
        return 0
    for column in dict.fromkeys(row["people"] for row in found["agreement"]):
        rows = [row for row in found["agreement"] if row["people"] == column]
        console.say(f"{column}, as people see it ({rows[0]['kind']} on {rows[0]['topics']} topics)")
        lines = [
            (
                row["metric"].replace(".", ".\n", 1),
                *(_stacked(row[name]) for name in ("tau", "pearson", "spearman", "accuracy")),
                f"{row['pairs']}\n{row['tied_by_people']} + {row['tied_by_metric']}",
            )
            for row in rows
        ]
        console.show_table(("metric", "tau-b", "Pearson", "Spearman", "pairs right", "pairs"), lines)
        console.say("")
    console.say(
        "pairs: those that people order; below, the others, and those that the metric does not order, which"
        " count half"
    )
    for note in found["notes"]:
        console.say(note)
    return 0


def agree_about_runs(
    references: Sequence[str], out: Path, judge: Path | None, reviewers: Sequence[str], as_json: bool
) -> int:
    """Print what people said of some runs with `fathoms review`, how far they agree with one another and with
    the judge, and how far metrics rank the runs as people do. `reviewers` are those who count, by default
    all."""
    from fathoms.extras.review.people import (
        claims_json,
        errors_json,
        grades_json,
        means_json,
        quality_json,
        read_of_runs,
    )
    from fathoms.judges.people import UNEVEN
    from fathoms.runs.people import ClaimLabel, FoundErrors, Grade
    from fathoms.runs.run import Run

    stores = {store.path.resolve(): store for store in (Run.open(one, out) for one in references)}
    views = [Run.scored(path) for path in stores]
    labels = read_of_runs(views, ClaimLabel, reviewers)
    labelled = {label.run for label in labels}
    verdicts = {store.id: _verdicts(store, judge) for store in stores.values() if store.id in labelled}
    found: Json = {
        "quality": quality_json(views, read_of_runs(views, Grade, reviewers), None),
        "claims": claims_json(labels, verdicts),
        "grades": grades_json(labels, verdicts),
        "errors": errors_json(read_of_runs(views, FoundErrors, reviewers)),
    }
    if not any(found.values()):
        raise DataError(
            "nobody has graded answers, judged claims or named errors of these runs: run 'fathoms review'"
            " with --quality, --claims or --errors first"
            + ("; or name others than --reviewer does" if reviewers else "")
        )
    if any(label.size for label in labels):
        console.note(UNEVEN)
    means = means_json(view for view in views if view.original_id in labelled)
    if as_json:
        console.show_json(found | {"means": means})
        return 0
    shown: list[tuple[str, Callable[[Any], None]]] = [
        ("quality", _show_quality),
        ("claims", _show_claims),
        ("grades", _show_grades),
        ("errors", _show_errors),
    ]
    for name, show in shown:
        if figures := found[name]:
            show(figures)
    for row in means:
        console.say(f"\n{row['metric']} of {row['name']}: {row['sentence']}")
    if labels and not means:
        console.say("\nrun 'fathoms score' for means that are corrected by these labels")
    return 0


def _verdicts(store: Run, judge: Path | None) -> Mapping[Judgement, Verdict]:
    """The verdicts of the judge that the run holds; none if no judge is known."""
    from fathoms.judges.of_run import read_judge, stored_judgements
    from fathoms.scoring import judged_by

    own, metrics = judged_by(store)
    by = own if judge is None else read_judge(judge)
    return {} if by is None else stored_judgements(store, by, metrics, store.records.all).verdicts


def _show_quality(found: Json) -> None:
    """Print the mean grades, the agreement of reviewers, and the ranking of the runs."""
    lines = [(row["name"], row["run"], _bounded(row, 2), row["n"]) for row in found["runs"]]
    console.show_table(("quality, 1-5", "run", "mean [95 %]", "answers"), lines)
    _show_pairs(found["pairs"])
    names = ("tau", "pearson", "spearman")
    ranking = [
        (
            metric,
            *(_value(one[name], 2) for name in names),
            one["topics"],
            one["undefined"],
        )
        for metric, one in found["ranking"].items()
    ]
    if not ranking:
        console.say("\nno question has grades in two runs, so no ranking of runs can be compared")
        return
    console.say("")
    console.show_table(
        ("ranking of runs by", "tau-b [95 %]", "Pearson", "Spearman", "questions", "ties"), ranking
    )
    console.say(
        "coefficients between the metric and the grades of people among the runs of each question, averaged"
        " over questions; ties: questions in which one of both rates all runs alike, which count 0"
    )


def _show_claims(found: Json) -> None:
    """Print how far people and the judge agree about claims."""
    claims, answers = console.amount(found["claims"], "claim"), console.amount(found["answers"], "answer")
    console.say(f"\n{claims} of {answers}, judged by {', '.join(found['reviewers'])}")
    _show_pairs(found["pairs"])
    judge = found["judge"]
    lines = [
        (name.replace("_", " "), _figure(judge[name], 3), _range(bounds, 3))
        for name, bounds in judge["intervals"].items()
    ]
    console.show_table(("judge against people", "value", "95 %"), lines)
    console.say(
        f"on {console.amount(found['n'], 'claim')}; {found['unjudged']} more without a verdict of the judge,"
        f" and {found['disputed']} about which people are divided"
    )


def _show_grades(tables: Sequence[Json]) -> None:
    """Print how far people and the judge agree about labels on a scale."""
    for found in tables:
        console.say(
            f"\n{found['rubric']}: {found['items']} items, labelled by {', '.join(found['reviewers'])} from"
            f" {found['scale'][0]} to {found['scale'][-1]}"
        )
        _show_pairs(found["pairs"])
        within = _range(found["interval"], 2)
        console.say(
            f"judge against people: the same label in {_figure(found['same'], 2)}"
            f"{f' ({within})' if within else ''} of {found['n']}, kappa {_figure(found['kappa'], 2)},"
            f" weighted kappa {_figure(found['weighted'], 2)}; {found['unjudged']} more without a verdict of"
            " the judge"
        )


def _show_errors(tables: Sequence[Json]) -> None:
    """Print how often people found each error, in a table for each taxonomy."""
    for table in tables:
        _show_taxonomy(table)
    if len(tables) > 1:
        console.say(f"\npeople named errors by {len(tables)} different taxonomies, which are not compared")


def _show_taxonomy(found: Json) -> None:
    """Print how often people found each error of one taxonomy."""
    lines = [
        (
            name,
            f"{one['answers']:g}",
            percent(one["answers"] / found["answers"]),
            ", ".join(_kappas(one["pairs"])),
        )
        for name, one in found["errors"].items()
    ]
    lines.append(("none", f"{found['none']:g}", percent(found["none"] / found["answers"]), ""))
    console.say("")
    console.show_table(("error", "answers", "share", "kappa"), lines)
    console.say(
        f"in {console.amount(found['answers'], 'answer')}, searched by {', '.join(found['reviewers'])}"
    )


def _show_pairs(pairs: Sequence[Json]) -> None:
    """Print the agreement of every two reviewers."""
    if pairs:
        console.say("")
        lines = [
            (
                " and ".join(one["reviewers"]),
                *(_figure(one[name], 2) for name in ("same", "kappa", "weighted")),
                one["n"],
            )
            for one in pairs
        ]
        console.show_table(("reviewers", "same", "kappa", "weighted", "n"), lines)
        console.say("")


def _kappas(pairs: Sequence[Json]) -> Iterator[str]:
    for one in pairs:
        yield f"{' and '.join(one['reviewers'])} {_figure(one['kappa'], 2)}"


def _bounded(found: Json, digits: int) -> str:
    """Format a mean with its interval."""
    low, high = found["low"], found["high"]
    bounds = "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return _figure(found["mean"], digits) + bounds


def _stacked(found: Json) -> str:
    """Format a coefficient with its interval below it."""
    return _value(found, 2).replace(" [", "\n[", 1)


def _value(found: Json, digits: int) -> str:
    """Format a coefficient with its interval."""
    return _bounded(found | {"mean": found["value"]}, digits)


def _range(bounds: Sequence[float] | None, digits: int) -> str:
    return f"{bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}" if bounds else ""


def _figure(value: float | None, digits: int) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"
