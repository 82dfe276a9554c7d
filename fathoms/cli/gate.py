"""`fathoms gate`: judge runs against a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fathoms.cli import console, nightly
from fathoms.cli.options import (
    RUNS,
    All,
    AllowedErrors,
    Comment,
    Json,
    JUnit,
    JUnitBy,
    LogFile,
    Margin,
    Metrics,
    Out,
    Profile,
    References,
    Strict,
)
from fathoms.errors import DataError, ExitCode, UsageError

if TYPE_CHECKING:
    from fathoms.gate.against_baseline import Gated
    from fathoms.gate.brief import Brief
    from fathoms.gate.runs import Terms
    from fathoms.runs.run import Run

Shown = Literal["brief", "all", "line", "json"]
"""How a verdict is printed."""

Baselines = Annotated[
    list[str] | None,
    typer.Option("--baseline", help="A run or a saved baseline; several are pooled as repeats."),
]
SaveBaseline = Annotated[
    Path | None,
    typer.Option("--save-baseline", help="Save the scores of the runs as a baseline, and judge nothing."),
]
Last = Annotated[
    int,
    typer.Option(
        "--last",
        min=1,
        max=30,
        help="Judge this many nights: the run, and those of its name before it, back to the baseline.",
    ),
]
Rescore = Annotated[
    bool,
    typer.Option(
        "--rescore",
        help="Compare with the answers of the baseline's runs, scored by the questions of the newest run;"
        " their stored scores stay what they are.",
    ),
]
Changed = Annotated[
    str | None,
    typer.Option(
        "--changed",
        help="How many questions of the baseline may be missing or have another text or gold, such as 3 or"
        " 10%. They are left out; new questions never count.",
        show_default="50%",
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="small",
        help="'small' suits 15 to 100 questions: FAIL if more right answers of the baseline are lost than"
        " chance explains, a limit is crossed, or calls failed.",
    ),
]
Sequential = Annotated[
    bool,
    typer.Option(
        "--sequential",
        help="Judge the run by the evidence of all nights, with at most 5 % false alarms a year; they are"
        " stored in a file beside the baseline.",
    ),
]
Acknowledge = Annotated[
    bool,
    typer.Option(
        "--acknowledge",
        help="Mark an alarm as seen: later runs that lost no other answers do not FAIL until --until. With"
        " --sequential, begin to collect evidence again, after a repair.",
    ),
]
Until = Annotated[
    datetime | None,
    typer.Option(
        "--until",
        formats=["%Y-%m-%d"],
        help="The last day for --acknowledge.",
        show_default="14 days after the run",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="The accepted chance of PASS although the loss is as large as the margin.",
        show_default="0.025",
    ),
]
ByCategory = Annotated[
    bool | None,
    typer.Option(
        "--by-category/--no-by-category",
        help="Judge every category, too, and not only the overall mean.",
        show_default="no-by-category",
    ),
]
Unchecked = Annotated[
    bool,
    typer.Option(
        "--allow-unchecked-judge",
        help="Accept a metric whose judge was not checked against people, agrees too little with them, or"
        " gave too few verdicts.",
    ),
]
Least = Annotated[
    list[str] | None,
    typer.Option(
        "--min", metavar="METRIC=VALUE", help="FAIL if the newest run has less than this (repeatable)."
    ),
]
Most = Annotated[
    list[str] | None,
    typer.Option(
        "--max-rate", metavar="METRIC=VALUE", help="FAIL if the newest run has more than this (repeatable)."
    ),
]
MaxSame = Annotated[
    str | None,
    typer.Option(
        "--max-same",
        help="FAIL if more answers of the newest run are one and the same text: a number, or a share such as"
        " 20%.",
    ),
]
MaxEmpty = Annotated[
    str | None,
    typer.Option("--max-empty", help="FAIL if more answers of the newest run are empty, such as 3 or 5%."),
]
MaxRetryRate = Annotated[
    str | None,
    typer.Option(
        "--max-retry-rate",
        help="FAIL if more calls of the newest run took several requests, such as 3 or 10%.",
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
    fail_on_error: AllowedErrors = None,
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
    everything: All = False,
    as_json: Json = False,
) -> int:
    """Judge whether runs are worse than a baseline: PASS, FAIL (exit code 100) or UNDECIDED.

    Several RUNs count as successive nights: the newest one is judged alone, and pooled with those before it.
    UNDECIDED after a loss of a quarter of a metric's range or more ends with exit code 101, because another
    run is needed. With `fathoms --quiet gate`, the verdict is one line.
    Options that are not given are those of the section `gate` in the newest run's config.
    """
    from fathoms.gate.limits import read_limits
    from fathoms.gate.runs import acknowledged

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
    request = _Request(tuple(runs), baseline, save_baseline, last, rescore, sequential, preset)
    stored, terms = request.read(given, profile, out, allow_unchecked=allow_unchecked)
    if until is not None and not acknowledge:
        raise UsageError("--until says how long an alarm is acknowledged: give --acknowledge, too")
    if save_baseline is not None:
        return _save(stored, terms, save_baseline)
    if acknowledge:
        console.say(acknowledged(stored, terms, until.date() if until else None))
        return 0
    shown: Shown = (
        "json" if as_json else "line" if console.settings.quiet else "all" if everything else "brief"
    )
    files = nightly.VerdictFiles(log_file, junit, comment)
    return _judge_and_report(stored, terms, files, request, shown, strict, junit_by == "question")


@dataclass(frozen=True)
class _Request:
    """What `gate` is to compare, as it is named on the command line."""

    runs: tuple[str, ...]
    baseline: list[str] | None
    save_baseline: Path | None
    last: int
    rescore: bool
    sequential: bool
    preset: str | None

    def read(
        self, given: Mapping[str, Any], profile: str | None, out: Path, *, allow_unchecked: bool
    ) -> tuple[list[Run], Terms]:
        """Return the runs, oldest first, and how they are judged. Raises UsageError for options that do not
        go together, and DataError where the newest run is not that of the last night."""
        from fathoms.gate.runs import Terms, settings_of
        from fathoms.runs.finding import oldest_first
        from fathoms.runs.run import Run

        saves = self.save_baseline is not None
        self._require_nights(given)
        stored = list(oldest_first(Run.open(name, out) for name in self.runs))
        if not saves:
            _require_tonight(self.runs, stored[-1], out)
        settings, section = settings_of(stored[-1], given)
        terms = Terms(
            settings,
            section,
            self.baseline or (),
            profile,
            out,
            self.last,
            self.sequential,
            allow_unchecked,
        )
        if self.rescore:
            terms = terms.with_rescored(saves=saves)
        if not saves and self.baseline is None and not terms.has_limits:
            raise UsageError(
                "gate needs --baseline RUN to compare with, --min, --max-rate or another --max option as"
                " fixed limits, or --save-baseline FILE to save one"
            )
        return stored, terms

    def _require_nights(self, given: Mapping[str, Any]) -> None:
        """Raise UsageError where options do not go with the runs or each other: --last and --sequential both
        find the earlier nights themselves, and --sequential needs a saved baseline."""
        saves, limits = self.save_baseline is not None, given["min"] or given["max_rate"]
        if self.preset not in (None, "small"):
            raise UsageError(f"--preset {self.preset}: the only preset is 'small'")
        if saves and (limits or self.baseline is not None or self.sequential):
            raise UsageError(
                "--save-baseline judges nothing: leave out --baseline, --min, --max-rate and --sequential"
            )
        if self.last > 1 and (len(self.runs) > 1 or saves):
            raise UsageError("--last finds the earlier runs itself: name one run, and no --save-baseline")
        if not self.sequential:
            return
        if self.baseline is None or len(self.baseline) != 1 or not Path(self.baseline[0]).is_file():
            raise UsageError(
                "--sequential remembers the nights in a file beside the baseline: name one saved baseline"
                " with --baseline FILE ('fathoms gate RUN --save-baseline FILE' makes one)"
            )
        if len(self.runs) > 1 or self.last > 1:
            raise UsageError(
                "--sequential judges one run at a time and remembers the earlier ones itself: name one run,"
                " and no --last"
            )

    def brief(self, found: Gated, newest: Run) -> Brief:
        """Build the short report of a verdict, with commands that name the runs as the person did."""
        from fathoms.gate.brief import brief
        from fathoms.runs.order import in_order, is_run, references

        out = newest.path.parent
        run = self.runs[0] if len(self.runs) == 1 else newest.id
        first = self.baseline[0] if self.baseline else None
        options = [f"--baseline {first}", *(["--sequential"] if self.sequential else [])]
        options += [f"--preset {self.preset}"] if self.preset else []
        if first is not None and Path(first).is_file():
            ids = [path.name for path in in_order(out)]
            names = dict(zip(ids, references(ids), strict=True))
            first = next((names.get(one, one) for one in found.baseline if is_run(out / one)), None)
        where = "" if out == RUNS else f" --out {out}"
        alarms = found.losses or found.sequence
        acknowledge = f"fathoms gate {run} {' '.join(options)} --acknowledge{where}" if alarms else ""
        return brief(found, f"{run}{where}", first, acknowledge=acknowledge)


def _save(stored: Sequence[Run], terms: Terms, path: Path) -> int:
    """Save the scores of runs as a baseline."""
    from fathoms.compare.question_scores import pool
    from fathoms.gate.against_baseline import require_sound
    from fathoms.gate.baselines import write_baseline
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


def _judge_and_report(
    stored: Sequence[Run],
    terms: Terms,
    files: nightly.VerdictFiles,
    request: _Request,
    shown: Shown,
    strict: bool,
    by_question: bool,
) -> int:
    """Judge, and report the verdict to the terminal, log, JUnit file and comment; returns the exit code."""
    from fathoms.gate.comment import comment as comment_on
    from fathoms.gate.comment import explained
    from fathoms.gate.lines import KIND, gate_line, gate_suite, gated_panel, undecided
    from fathoms.gate.runs import judge_runs
    from fathoms.runs.order import run_name

    newest = stored[-1]
    with files.judging(KIND, run_name(newest.id)):
        found = judge_runs(stored, terms)
        line = gate_line(found)
        if shown == "json":
            console.show_json(asdict(found))
        elif shown == "brief":
            console.show(request.brief(found, newest))
        else:
            console.show(*(gated_panel(found) if shown == "all" else ()))
            console.say(line)
        suite = gate_suite(found, strict=strict, by_question=by_question)
        written = files.report(
            found.runs[-1], found.verdict, line, suite, lambda: comment_on(explained(found, newest))
        )
    if found.verdict == "FAIL":
        return ExitCode.GATE_FAILED
    if found.verdict == "UNDECIDED":
        if shown != "brief":
            console.complain(undecided(found))
        if strict or found.large_losses:
            return ExitCode.GATE_UNDECIDED
    return ExitCode.OK if written else ExitCode.FAILED
