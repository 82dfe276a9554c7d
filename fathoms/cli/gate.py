"""`fathoms gate`: judge runs against a baseline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.cli import console, nightly
from fathoms.cli.options import RUNS, Json, JUnitBy, LogFile, Metrics, Out, Profile, References
from fathoms.errors import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.gate.against_baseline import Gated
    from fathoms.gate.runs import Terms
    from fathoms.runs.run import Run


AGAINST, JUDGED, LIMITS, REPORTED = "What is compared", "How it is judged", "Fixed limits", "What is written"
"""The headings of the options in the help, those that people use first at the top."""

Baselines = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="A run or a saved baseline; several are pooled as repeats.",
        rich_help_panel=AGAINST,
    ),
]
SaveBaseline = Annotated[
    Path | None,
    typer.Option(
        "--save-baseline",
        help="Save the scores of the runs as a baseline, and judge nothing.",
        rich_help_panel=AGAINST,
    ),
]
Last = Annotated[
    int,
    typer.Option(
        "--last",
        min=1,
        max=30,
        help="Judge this many nights: the run, and those of its name before it, back to the baseline.",
        rich_help_panel=AGAINST,
    ),
]
Rescore = Annotated[
    bool,
    typer.Option(
        "--rescore",
        help="Compare with the answers of the baseline's runs, scored by the questions of the newest run;"
        " their stored scores stay what they are.",
        rich_help_panel=AGAINST,
    ),
]
Changed = Annotated[
    str | None,
    typer.Option(
        "--changed",
        help="How many questions of the baseline may be missing or have another text or gold, such as 3 or"
        " 10%. They are left out; new questions never count.",
        show_default="50%",
        rich_help_panel=AGAINST,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="small",
        help="'small' suits 15 to 100 questions: FAIL if more right answers of the baseline are lost than"
        " chance explains, a limit is crossed, or calls failed.",
        rich_help_panel=JUDGED,
    ),
]
Sequential = Annotated[
    bool,
    typer.Option(
        "--sequential",
        help="Judge the run by the evidence of all nights, with at most 5 % false alarms a year; they are"
        " remembered in a file beside the baseline.",
        rich_help_panel=JUDGED,
    ),
]
Acknowledge = Annotated[
    bool,
    typer.Option(
        "--acknowledge",
        help="Mark an alarm as seen: later runs that lost no other answers do not FAIL until --until. With"
        " --sequential, begin to collect evidence again, after a repair.",
        rich_help_panel=JUDGED,
    ),
]
Until = Annotated[
    datetime | None,
    typer.Option(
        "--until",
        formats=["%Y-%m-%d"],
        help="The last day for --acknowledge.",
        show_default="14 days after the run",
        rich_help_panel=JUDGED,
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        "--margin",
        help="The smallest loss that counts as worse.",
        show_default="0.02",
        rich_help_panel=JUDGED,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="The accepted chance of PASS although the loss is as large as the margin.",
        show_default="0.025",
        rich_help_panel=JUDGED,
    ),
]
ByCategory = Annotated[
    bool | None,
    typer.Option(
        "--by-category/--no-by-category",
        help="Judge every category, too, and not only the overall mean.",
        show_default="no-by-category",
        rich_help_panel=JUDGED,
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="End with exit code 101 if the verdict is UNDECIDED.", rich_help_panel=JUDGED
    ),
]
Unchecked = Annotated[
    bool,
    typer.Option(
        "--allow-unchecked-judge",
        help="Accept a metric whose judge was not checked against people, agrees too little with them, or"
        " gave too few verdicts.",
        rich_help_panel=JUDGED,
    ),
]
Least = Annotated[
    list[str] | None,
    typer.Option(
        "--min",
        metavar="METRIC=VALUE",
        help="FAIL if the newest run has less than this (repeatable).",
        rich_help_panel=LIMITS,
    ),
]
Most = Annotated[
    list[str] | None,
    typer.Option(
        "--max-rate",
        metavar="METRIC=VALUE",
        help="FAIL if the newest run has more than this (repeatable).",
        rich_help_panel=LIMITS,
    ),
]
FailOnError = Annotated[
    str | None,
    typer.Option(
        "--fail-on-error",
        help="How many questions may fail: a number, or a share such as 2%.",
        show_default="2%",
        rich_help_panel=LIMITS,
    ),
]
MaxSame = Annotated[
    str | None,
    typer.Option(
        "--max-same",
        help="FAIL if more answers of the newest run are one and the same text: a number, or a share such as"
        " 20%.",
        rich_help_panel=LIMITS,
    ),
]
MaxEmpty = Annotated[
    str | None,
    typer.Option(
        "--max-empty",
        help="FAIL if more answers of the newest run are empty, such as 3 or 5%.",
        rich_help_panel=LIMITS,
    ),
]
MaxRetryRate = Annotated[
    str | None,
    typer.Option(
        "--max-retry-rate",
        help="FAIL if more calls of the newest run took several requests, such as 3 or 10%.",
        rich_help_panel=LIMITS,
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        help="Add the verdicts to a JUnit XML file, which may be that of `run`.",
        rich_help_panel=REPORTED,
    ),
]
Comment = Annotated[
    Path | None,
    typer.Option(
        "--comment",
        help="Write the verdict as Markdown for a pull request, with the five worst questions; 'fathoms"
        " comment FILE' posts it.",
        rich_help_panel=REPORTED,
    ),
]


def gate(
    runs: References,
    baseline: Baselines = None,
    save_baseline: SaveBaseline = None,
    last: Last = 1,
    rescore: Rescore = False,
    changed: Changed = None,
    preset: Preset = None,
    acknowledge: Acknowledge = False,
    until: Until = None,
    sequential: Sequential = False,
    margin: Margin = None,
    alpha: Alpha = None,
    by_category: ByCategory = None,
    strict: Strict = False,
    allow_unchecked: Unchecked = False,
    least: Least = None,
    most: Most = None,
    fail_on_error: FailOnError = None,
    max_same: MaxSame = None,
    max_empty: MaxEmpty = None,
    max_retry_rate: MaxRetryRate = None,
    junit: JUnit = None,
    comment: Comment = None,
    metric: Metrics = None,
    log_file: LogFile = None,
    junit_by: JUnitBy = "category",
    profile: Profile = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Judge whether runs are worse than a baseline: PASS, FAIL (exit code 100) or UNDECIDED.

    Several RUNs count as successive nights: the newest one is judged alone, and pooled with those before it.
    UNDECIDED after a loss of a quarter of a metric's range or more ends with exit code 101, because another
    run is needed.
    Options that are not given are those of the section `gate` in the newest run's config.
    """
    from fathoms.gate.limits import read_limits
    from fathoms.gate.runs import Terms, acknowledged, judge_runs, settings_of
    from fathoms.runs.finding import oldest_first
    from fathoms.runs.run import Run

    if until is not None and not acknowledge:
        raise UsageError("--until says how long an alarm is acknowledged: give --acknowledge, too")
    if preset not in (None, "small"):
        raise UsageError(f"--preset {preset}: the only preset is 'small'")
    if save_baseline is not None and (least or most or baseline is not None or sequential):
        raise UsageError(
            "--save-baseline judges nothing: leave out --baseline, --min, --max-rate and --sequential"
        )
    _require_nights(runs, baseline, last, saves=save_baseline is not None, sequential=sequential)
    stored = oldest_first(Run.open(name, out) for name in runs)
    given = {
        "preset": preset,
        "metric": tuple(metric) if metric else None,
        "margin": margin,
        "alpha": alpha,
        "by_category": by_category,
        "min": read_limits("--min", least) if least else None,
        "max_rate": read_limits("--max-rate", most) if most else None,
        "fail_on_error": fail_on_error,
        "changed": changed,
        "max_same": max_same,
        "max_empty": max_empty,
        "max_retry_rate": max_retry_rate,
    }
    if save_baseline is None:
        _require_tonight(runs, stored[-1], out)
    settings, section = settings_of(stored[-1], given)
    terms = Terms(settings, section, baseline or (), profile, out, last, sequential, allow_unchecked)
    if rescore:
        terms = terms.with_rescored(saves=save_baseline is not None)
    if save_baseline is not None:
        return _save(stored, terms, save_baseline)
    if baseline is None and not terms.has_limits:
        raise UsageError(
            "gate needs --baseline RUN to compare with, --min, --max-rate or another --max option as fixed"
            " limits, or --save-baseline FILE to save one"
        )
    if acknowledge:
        console.say(acknowledged(stored, terms, until.date() if until else None))
        return 0
    return _judge_and_report(
        stored[-1],
        lambda: judge_runs(stored, terms),
        files=nightly.VerdictFiles(log_file, junit, comment),
        strict=strict,
        by_question=junit_by == "question",
        as_json=as_json,
    )


def _save(stored: Sequence[Run], terms: Terms, path: Path) -> int:
    """Save the scores of runs as a baseline."""
    from fathoms.compare.question_scores import pool, write_baseline
    from fathoms.gate.against_baseline import require_sound
    from fathoms.gate.settings import allowance
    from fathoms.report.of_sweeps import read_all_scores

    scores = pool([read_all_scores(run, terms.profile) for run in stored])
    require_sound(scores, allowance(terms.settings.fail_on_error))
    write_baseline(scores, path)
    console.say(f"baseline of {len(stored)} run{'s' * (len(stored) != 1)}: {path}")
    return 0


def _require_tonight(references: Sequence[str], newest: Run, out: Path) -> None:
    """Raise DataError where the newest run of a name is not that of the last night, because none could be
    made then."""
    from fathoms.runs.missed import missed_since
    from fathoms.runs.order import run_name

    if not {run_name(newest.id), "latest"} & set(references):
        return
    if found := missed_since(out, run_name(newest.id), newest.manifest.created):
        night = found.created[:16].replace("T", " ")
        raise DataError(
            f"no run of {found.name} on the night of {night}: {found.why}; run it again, or name {newest.id}"
        )


def _require_nights(
    runs: Sequence[str], baseline: Sequence[str] | None, last: int, *, saves: bool, sequential: bool
) -> None:
    """Raise UsageError where --last or --sequential does not go with the runs: both find the earlier nights
    themselves, and --sequential needs a saved baseline."""
    if last > 1 and (len(runs) > 1 or saves):
        raise UsageError("--last finds the earlier runs itself: name one run, and no --save-baseline")
    if not sequential:
        return
    if baseline is None or len(baseline) != 1 or not Path(baseline[0]).is_file():
        raise UsageError(
            "--sequential remembers the nights in a file beside the baseline: name one saved baseline with"
            " --baseline FILE ('fathoms gate RUN --save-baseline FILE' makes one)"
        )
    if len(runs) > 1 or last > 1:
        raise UsageError(
            "--sequential judges one run at a time and remembers the earlier ones itself: name one run, and"
            " no --last"
        )


def _judge_and_report(
    newest: Run,
    judge: Callable[[], Gated],
    *,
    files: nightly.VerdictFiles,
    strict: bool,
    by_question: bool,
    as_json: bool,
) -> int:
    """Judge, and report the verdict to the terminal, log, JUnit file and comment; returns the exit code."""
    from fathoms.gate.comment import comment as comment_on
    from fathoms.gate.comment import explained
    from fathoms.gate.lines import KIND, gate_line, gate_suite, gated_panel, undecided
    from fathoms.runs.order import run_name

    with files.judging(KIND, run_name(newest.id)):
        found = judge()
        line = gate_line(found)
        if as_json:
            console.show_json(asdict(found))
        else:
            console.show(*gated_panel(found))
            console.say(line)
        suite = gate_suite(found, strict=strict, by_question=by_question)
        written = files.report(
            found.runs[-1], found.verdict, line, suite, lambda: comment_on(explained(found, newest))
        )
    if found.verdict == "FAIL":
        return ExitCode.GATE_FAILED
    if found.verdict == "UNDECIDED":
        console.complain(undecided(found))
        if strict or found.large_losses:
            return ExitCode.GATE_UNDECIDED
    return ExitCode.OK if written else ExitCode.FAILED
