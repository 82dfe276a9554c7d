"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from fathoms.cli import completion

RUNS = Path("runs")

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Out = Annotated[Path, typer.Option("--out", help="The folder in which runs are stored.")]
References = Annotated[
    list[str],
    typer.Argument(
        help="Runs: a path, an id, `latest`, NAME (its newest run) or NAME~1 (the one before).",
        show_default=False,
        autocompletion=completion.run_names,
    ),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="KEY",
        help="Group the figures by this key of the questions' metadata instead of the category.",
        show_default=False,
    ),
]
LogFile = Annotated[
    Path | None, typer.Option("--log-file", help="Append every event to this file, as JSON lines.")
]
FailOnError = Annotated[
    str,
    typer.Option(
        "--fail-on-error",
        help="How many questions may fail, or be judged in part: a number, or a share such as 2%.",
    ),
]
AllowedErrors = Annotated[
    str | None,
    typer.Option(
        "--fail-on-error",
        help="How many questions may fail: a number, or a share such as 2%.",
        show_default="2%",
    ),
]
Margin = Annotated[
    float | None,
    typer.Option("--margin", help="The smallest loss that counts as worse.", show_default="0.02"),
]
Strict = Annotated[bool, typer.Option("--strict", help="End with exit code 101 if the verdict is UNDECIDED.")]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="End with 0 although some questions have no document or no answer."),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not read the cache, and store nothing in it.")]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Compute everything again, and replace what the cache holds.")
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Trust a run that was made elsewhere: use the code, servers, keys and files that it names.",
    ),
]


All = Annotated[bool, typer.Option("--all", help="Print all figures.")]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="GROUP",
        help="Print a group of figures: scores, lost, retrieval, pages, abstention, time, metrics, worst,"
        " reviews or tables (repeatable).",
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="A metric that the runs have, such as correctness or hallucination (repeatable).",
        autocompletion=completion.metrics,
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        help="Write the results to a JUnit XML file; a verdict is added to what `run` wrote there.",
    ),
]
Comment = Annotated[
    Path | None,
    typer.Option(
        "--comment",
        help="Write the verdict, or why the run failed, as Markdown for a pull request;"
        " 'fathoms comment FILE' posts it.",
    ),
]
JUnitBy = Annotated[
    Literal["category", "question"],
    typer.Option("--junit-by", help="What a test case of the JUnit file is."),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        help="Scoring profile; by default the one that each run was scored with.",
        autocompletion=completion.scores,
    ),
]


From = Annotated[
    Path | None, typer.Option("--from", help="Copy the files from this folder instead of downloading them.")
]


QuestionFile = Annotated[Path, typer.Argument(help="The question file to read.", show_default=False)]
NewFile = Annotated[
    Path, typer.Argument(help="The .json, .jsonl or .csv file to create.", show_default=False)
]
JudgeFile = Annotated[
    Path, typer.Option("--judge", help="A YAML file with a judge whose model is asked.", show_default=False)
]
OtherJudge = Annotated[
    Path | None,
    typer.Option("--judge", help="A YAML file with the judge, instead of that of the run's configuration."),
]
ToFile = Annotated[
    Path | None, typer.Option("--to", help="The .json, .jsonl or .csv file to create.", show_default=False)
]
CountCalls = Annotated[
    bool, typer.Option("--dry-run", help="Print how many calls it takes, and ask nothing.")
]
Pdfs = Annotated[
    list[Path] | None,
    typer.Argument(help="The PDFs that the questions are about, or folders of them.", show_default=False),
]
