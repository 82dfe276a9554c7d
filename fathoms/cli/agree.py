"""`fathoms agree`: measure how well the abstention classifier, a judge, metrics and people agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms import hooks
from fathoms.cli import console, progress
from fathoms.cli.options import RUNS, Json, Out
from fathoms.errors import DataError, ExitCode, UsageError
from fathoms.text.amounts import figure, percent

if TYPE_CHECKING:
    from fathoms.judges.probe import Turned
    from fathoms.metrics.agreement import Labelled
    from fathoms.types import Judgement, Verdict

NAMES = ("accuracy", "precision", "recall", "f1", "kappa")


Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        help="Write the reliability diagram of the judge's probabilities to this file (.svg, .png or .pdf).",
    ),
]
What = Annotated[
    list[str],
    typer.Argument(
        metavar="LABELS|RUN...",
        help="A JSONL file with rows {id, answer, label}, also {question} for --abstention judge; of"
        " claims {claim, premise, label}. Or runs that people rated with `fathoms review`.",
        show_default=False,
    ),
]
Abstention = Annotated[
    str | None,
    typer.Option(
        "--abstention",
        metavar="KIND",
        help="Which classifier: linear (default), cues, nearest-neighbour, or judge with --judge.",
        show_default=False,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a key of `scoring.abstention` (repeatable)."),
]
Judge = Annotated[Path | None, typer.Option("--judge", help="A YAML file with a judge, which is measured.")]
Probe = Annotated[
    bool,
    typer.Option(
        "--probe",
        help="Also ask the judge with the parts of its prompt swapped and with padded claims, and count"
        " the labels that turn.",
    ),
]
Against = Annotated[
    list[Path] | None,
    typer.Option(
        "--against",
        help="A YAML file with another judge, which labels the same claims: prints how far both agree,"
        " how much more or less accurate the first one is, and what each takes (repeatable).",
    ),
]
Sample = Annotated[
    int | None,
    typer.Option("--sample", min=1, help="Take only so many of the claims, drawn at random by --seed."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="Decides which claims --sample draws; 0 by default."),
]
People = Annotated[
    list[Path] | None,
    typer.Option(
        "--people",
        help="A file of people's ratings or preferences, with which the scores of runs, or of files of"
        " other tools, are compared (repeatable).",
    ),
]
Reviewer = Annotated[
    list[str] | None,
    typer.Option(
        "--reviewer", metavar="NAME", help="Given runs or --people, count only this person (repeatable)."
    ),
]


def agree(
    what: What,
    abstention: Abstention = None,
    settings: Settings = None,
    judge: Judge = None,
    probe: Probe = False,
    against: Against = None,
    sample: Sample = None,
    seed: Seed = None,
    people: People = None,
    reviewer: Reviewer = None,
    plot: Plot = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Measure how well the abstention classifier, a judge, metrics and people agree with one another.

    A file of labels is compared with the classifier or a judge. A label of an answer is `statement` or
    `abstention`; rows with another label are left out, and counted. With --judge, a label says whether a
    premise supports a claim: `supported` or `unsupported`, or `entailment`, `neutral` or `contradiction`,
    unless --abstention judge asks for labels of answers. Reports print the figure of a judge on claims beside
    the scores that rest on it, unless it rests on a sample or verdicts are missing. Where the judge gives
    probabilities, a table says how often people support the claims of each bin of them, with the expected
    calibration error (ECE). A cascade is compared with each of its judges alone. Ends with exit code 1 if a
    judge gave no verdict on a row.

    Given runs, it reads what people said of them with `fathoms review`, and asks nobody. It prints how far
    every two people agree about quality, claims and errors; how far the judge of a run agrees with people
    about claims; and how far metrics rank the runs as people do.

    With --people, scores are compared with what people said of the same answers: those of runs, or of CSV,
    JSON or JSON Lines files with a row for each topic and system. A file of people has such rows with
    ratings, or rows with two systems (`first`, `second`) and who was preferred. It prints Kendall's tau,
    Pearson's and Spearman's coefficients and the share of pairs in the same order, with intervals.
    """
    labels = Path(what[0])
    if plot is not None and (judge is None or abstention or people):
        raise UsageError("--plot is for the probabilities of a judge of claims: name its file by --judge")
    if people:
        if judge or abstention or settings or probe or against or sample or seed is not None:
            raise UsageError(
                "--people compares scores with people; leave out the options of judges and labels"
            )
        with_people = hooks.needed("agree --people")
        return int(with_people(what, people, out, reviewer or (), as_json))
    if len(what) > 1 or not (labels.is_file() or labels.suffix in (".jsonl", ".json")):
        if abstention or settings or probe or against or sample or seed is not None:
            raise UsageError(
                "--abstention, --set, --probe, --against, --sample and --seed are for a file of labels, and"
                f" {labels} is no file"
            )
        about_runs = hooks.needed("agree RUN")
        return int(about_runs(what, out, judge, reviewer or (), as_json))
    if reviewer:
        raise UsageError(f"--reviewer is for runs, and {labels} is a file of labels")
    if judge is not None and abstention is None:
        return _measure(judge, labels, against or [], probe, (sample, seed or 0), as_json, plot)
    if probe or against or sample:
        raise UsageError("--probe, --against and --sample need --judge, and claims as labels")
    if (judge is not None) != (abstention == "judge"):
        raise UsageError("--abstention judge needs a judge: name its file by --judge; other kinds need none")
    return _classify(labels, abstention or "linear", settings or (), judge, as_json)


def _classify(labels: Path, kind: str, settings: Sequence[str], judge: Path | None, as_json: bool) -> int:
    """Compare labels of answers with a classifier of abstentions, or with a judge; returns the exit code."""
    from fathoms.config import Source, override, validate
    from fathoms.metrics.agreement import agree as compare
    from fathoms.metrics.agreement import read_labels
    from fathoms.metrics.score_records import Scoring

    pairs = [f"abstention.{pair}" for pair in settings]
    source = override(Source("--abstention", {"abstention": {"kind": kind}}), pairs)
    classifier = validate(Scoring, source).abstention
    classifier.check()
    rows = read_labels(labels)
    figures = compare(rows, classifier, _verdicts(judge, rows) if judge else None)
    if as_json:
        console.show_json(figures)
    else:
        _print(figures)
    return _ended(figures["left_out"].get("unjudged", 0), len(rows))


def _ended(unjudged: int, rows: int) -> int:
    """Say that a judge gave no verdict on some rows; returns the exit code."""
    if not unjudged:
        return ExitCode.OK
    console.complain(
        f"{unjudged} of {rows} rows have no verdict of the judge, and the figures rest on the others: the"
        " same command asks again for what failed or could not be read"
    )
    return ExitCode.FAILED


def _verdicts(file: Path, rows: Sequence[Labelled]) -> Mapping[Judgement, Verdict]:
    """Ask a judge which answers abstain; raises UsageError for a row without a question."""
    from fathoms.answers import read
    from fathoms.judges.agreement import ask
    from fathoms.judges.of_run import read_judge
    from fathoms.metrics.judged_abstention import judgement
    from fathoms.metrics.labels import classified_text
    from fathoms.paths import cache_dir

    if bare := [row.id for row in rows if not row.question]:
        raise UsageError(f"a judge must see the question, and {bare[0]} has none: add 'question' to each row")
    judgements = [
        judgement(row.question, said) for row in rows if (said := classified_text(read(row.answer))).strip()
    ]
    with progress.bars() as bars:
        judged, _ = ask(read_judge(file), judgements, cache_dir() / "agree", partial(bars.stage, "judge"))
    return judged.verdicts


def _measure(
    file: Path,
    labels: Path,
    against: Sequence[Path],
    probe: bool,
    drawn: tuple[int | None, int],
    as_json: bool,
    plot: Path | None,
) -> int:
    """Measure a judge and print its figure, which is stored unless it rests on a sample, or verdicts are
    missing."""
    from fathoms.gate.against_baseline import MOST_UNJUDGED
    from fathoms.judges.agreement import agree, store_agreement
    from fathoms.judges.of_run import read_judge
    from fathoms.judges.people import UNEVEN, read_labels
    from fathoms.judges.probe import probed
    from fathoms.judges.threshold import threshold_of
    from fathoms.paths import cache_dir
    from fathoms.report.reliability import write_reliability

    every, judge = read_labels(labels), read_judge(file)
    rows = [row for row in every if row.rubric == "support"]
    if other := len(every) - len(rows):
        console.note(
            f"note: {other} labels of {labels} are on other scales, such as grades: 'fathoms agree RUN'"
            " compares them with the verdicts of the run"
        )
    if not rows:
        raise DataError(f"{labels} holds no labels of claims")
    if any(row.size for row in rows):
        console.note(UNEVEN)
    others = [read_judge(other) for other in against]
    size, seed = drawn
    if is_sample := size is not None and size < len(rows):
        rows = Random(seed).sample(rows, size or 0)
    with progress.bars() as bars:
        found = agree(judge, rows, cache_dir() / "agree", partial(bars.stage, "judge"), others)
        turned = probed(judge, rows, cache_dir() / "agree") if probe else {}
        try:
            chosen, no_threshold = threshold_of(judge, rows, cache_dir() / "agree"), ""
        except DataError as error:  # the other figures need no groups
            chosen, no_threshold = None, str(error)
    unjudged = max(one["unjudged"] for one in (found, *found["others"]))
    if not is_sample and found["unjudged"] <= MOST_UNJUDGED * len(rows):
        store_agreement(found, labels)
    if plot is not None:
        write_reliability(found["calibration"], found["judge"], plot)
    found["threshold"] = chosen and chosen.model_dump()
    found["probes"] = {name: one and one.model_dump() for name, one in turned.items()}
    if as_json:
        console.show_json(found)
        return _ended(unjudged, len(rows))
    names = [file.stem, *(one.stem for one in against)]
    taken = f" ({len(rows)} drawn at random by seed {seed})" if is_sample else ""
    _print_measured(found, turned, names, taken, no_threshold)
    return _ended(unjudged, len(rows))


def _print_measured(
    found: dict[str, Any],
    turned: Mapping[str, Turned | None],
    names: Sequence[str],
    taken: str,
    no_threshold: str,
) -> None:
    """Print the figures of a judge and of the others with these names, and the labels that were `turned` by
    probes; `taken` says which claims they rest on, and `no_threshold` why none was chosen."""
    from fathoms.judges.agreement import FIGURES
    from fathoms.judges.journal import damage_sentence
    from fathoms.report.reliability import reliability_lines, reliability_rows

    is_cascade = len(found["others"]) > len(names) - 1
    stages = ["cheap judge", "dear judge"] if is_cascade else []
    titles = [names[0] if stages or len(names) > 1 else found["judge"], *stages, *names[1:]]
    _print_figures(found, FIGURES, titles)
    console.say(
        f"\n{found['n']} claims{taken}, of which people support {found['supported_by_people']};"
        f" {found['unjudged']} without a verdict"
    )
    for title, one in zip(titles[1:], found["others"], strict=True):
        same, bounds = one["with_judge"], one["with_judge"]["interval"]
        within = f" ({bounds[0]:.3f} to {bounds[1]:.3f})" if bounds else ""
        console.say(
            f"{titles[0]} and {title} say the same of {_cell(same['same'])}{within} of"
            f" {same['n']} claims; kappa {_cell(same['kappa'])}"
        )
        gain = same["balanced_accuracy"]
        if bounds := gain["interval"]:
            console.say(
                f"balanced accuracy of {titles[0]} less that of {title} on the same claims:"
                f" {gain['difference']:+.3f} ({bounds[0]:+.3f} to {bounds[1]:+.3f})"
            )
    if "to_dear" in found:
        console.say(f"{titles[0]} asks the dear judge about {found['to_dear']} claims")
    if chosen := found["threshold"]:
        console.say(
            f"threshold {chosen['threshold']:.2f}, chosen on {chosen['chosen_on']} claims; on the other"
            f" {chosen['reported_on']}: balanced accuracy {_cell(chosen['cascade'])} (cheap judge"
            f" {_cell(chosen['cheap'])}, dear judge {_cell(chosen['dear'])}), and"
            f" {percent(chosen['share_dear'])} of the claims go to the dear judge"
        )
    elif no_threshold:
        console.say(f"no threshold was chosen: {no_threshold}")
    for name, one in turned.items():
        if one is None or one.share is None:
            console.say(f"{name}: cannot be probed for this judge")
        else:
            turns = f"{one.to_supported} to supported, {one.to_unsupported} to unsupported"
            console.say(f"{name}: {percent(one.share, 1)} of {one.n} labels turned ({turns})")
    if shown := reliability_rows(found["calibration"]):
        console.show_table(("probability", "claims", "mean", "people support", "95 %"), shown)
    for line in reliability_lines(found["calibration"]):
        console.say(line)
    if found["damaged_lines"]:
        console.complain(damage_sentence(found["damaged_lines"]))
    for row in found["differ"]:
        console.say(f"people {row['people']}, judge {row['judge']}: {row['claim']}")


def _print_figures(found: dict[str, Any], names: Sequence[str], titles: Sequence[str]) -> None:
    """Print the figures of judges with these titles, of one that always says yes, and what they took."""
    judges = [found, *found["others"]]
    lines = [
        (
            name.replace("_", " "),
            _cell(found[name]),
            f"{bounds[0]:.3f} to {bounds[1]:.3f}" if (bounds := found["intervals"][name]) else "",
            *(_cell(other[name]) for other in found["others"]),
            _cell(found["always_yes"][name]),
        )
        for name in names
    ]
    for name, form in (("asked", "{}"), ("seconds", "{:.1f}"), ("cost", "${:.4f}")):
        cells = ["n/a" if one[name] is None else form.format(one[name]) for one in judges]
        title = "calls made now" if name == "asked" else f"{name} of all verdicts"
        lines.append((title, cells[0], "", *cells[1:], ""))
    console.show_table(("", titles[0], "95 %", *titles[1:], "always yes"), lines)


def _print(figures: dict[str, Any]) -> None:
    """Print the figures with their intervals, the confusion matrix, and the rows on which both disagree."""
    ways = {name.replace("_", " "): values for name, values in figures["hedged"].items()}
    rows = [
        (
            name,
            _cell(figures[name]),
            f"{bounds[0]:.3f} to {bounds[1]:.3f}" if (bounds := figures["intervals"][name]) else "",
            *(_cell(way[name]) for way in ways.values()),
        )
        for name in NAMES
    ]
    rows.append(("n", figures["n"], "", *(way["n"] for way in ways.values())))
    console.show_table(("", "value", "95 %", *(f"hedged {way}" for way in ways)), rows)
    console.say("")
    classified = [f"classified {name}" for name in figures["confusion"]]
    lines = [(f"labelled {name}", *cells.values()) for name, cells in figures["confusion"].items()]
    console.show_table(("", *classified), lines)
    left = ", ".join(f"{number} {label}" for label, number in figures["left_out"].items())
    console.say(f"\nnot counted: {left or 'none'}")
    for row in figures["differ"]:
        why = row["reason"] or f"nearest: {row['nearest']} ({row['cosine']:.2f})"
        clause = f": '{row['clause']}'" if row["clause"] else ""
        console.say(f"{row['id']}: labelled {row['label']}, classified {row['classified']}: {why}{clause}")


def _cell(value: float | None) -> str:
    """Format a figure with three decimals, because labels are compared to the third, or `n/a`."""
    return figure(value, 3)
