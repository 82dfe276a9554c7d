"""`fathoms score --until-width`: a metric is judged until its interval is narrow, and the rest is not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.judges.forecast import Narrowing
from fathoms.judges.of_run import Judging, read_judge
from fathoms.metrics.registry import named
from fathoms.runs.run import Run
from fathoms.scoring import score_run
from fathoms.scoring.until_width import FIRST, MORE
from fathoms.stats.betting import mean_of_these
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own

ANSWERS = 120
WIDTH = 0.1
JUDGED = ("--metric", "faithfulness", "--judge", "judge.yaml")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of answers of one claim each, in one category, all of which the judge supports."""
    one_project = Project(tmp_path_factory.mktemp("until"))
    wanted = [
        {"id": f"q{n}", "question": f"Which colour has lamp {n}?", "answers": [["red"]]}
        for n in range(ANSWERS)
    ]
    one_project.write("questions.json", json.dumps({"lamps": wanted}))
    one_project.write("judge.yaml", "kind: scripted\n")
    write(one_project, "lamps", {n: f"Lamp {n} is red." for n in range(ANSWERS)})
    return one_project


def write(project: Project, name: str, sources: dict[int, str]) -> None:
    """Make a run of answers of one claim each, with what was retrieved for each."""
    rows = [
        {"id": f"q{n}", "answer": f"Lamp {n} is red.", "contexts": [{"document": "a.pdf", "text": source}]}
        for n, source in sources.items()
    ]
    project.write("answers.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = project.fathoms(
        "import", "answers", "answers.jsonl", "--questions", "questions.json", "--name", name
    )
    assert done.returncode == 0, done.stderr


def summary(project: Project, name: str) -> dict[str, Any]:
    (run,) = (one for one in project.runs() if f"_{name}_" in one.name)
    return json.loads(Path(run, "summary.json").read_text())


def looks(total: int) -> Iterator[int]:
    """After how many questions the interval is looked at."""
    count = 0
    while count < total:
        count = min(total, count + max(FIRST - count, math.ceil(MORE * count)))
        yield count


def test_judging_stops_when_the_interval_is_narrow_and_the_rest_can_be_judged_later(project: Project) -> None:
    """Of 120 supported claims, so many are judged as the interval of that many ones needs: one call each."""
    weights = np.full(ANSWERS, 1 / ANSWERS)
    ends = {n: mean_of_these(np.ones(n), weights) for n in looks(ANSWERS)}
    count = next(n for n, (low, high) in ends.items() if high - low <= WIDTH)
    assert FIRST <= count < 40  # more than 80 of 120 calls are saved
    done = project.fathoms("score", "lamps", *JUDGED, "--until-width", str(WIDTH))
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"judged {count} of {ANSWERS} questions, the others not on purpose" in said
    assert f"wide after {count} of {ANSWERS} questions; " in done.stderr
    found = summary(project, "lamps")
    assert (found["judging"]["asked"], found["judging"]["unjudged"]) == (count, 0)
    figures = found["metrics"]["faithfulness"]
    low, high = ends[count]
    assert figures["until"] == pytest.approx(
        {"judged": count, "of": ANSWERS, "width": WIDTH, "low": low, "high": high}
    )
    assert (figures["overall"]["value"], figures["overall"]["n"]) == (1.0, count)
    assert (figures["overall"]["low"], figures["overall"]["method"]) == (pytest.approx(low), "betting")
    (row,) = project.json("report", "lamps")
    assert row["metrics"]["faithfulness"]["until"]["judged"] == count

    write(project, "others", {n: f"Lamp {n} is red." for n in range(ANSWERS)})
    assert project.fathoms("score", "others", *JUDGED).returncode == 0
    refused = f"faithfulness of .* was judged for {count} of {ANSWERS} questions until its interval"
    for arguments in (
        ("compare", "others", "lamps", "--metric", "faithfulness"),
        ("gate", "lamps", "--min", "faithfulness=0.5", "--allow-unchecked-judge"),
    ):
        failed = project.fathoms(*arguments)
        assert failed.returncode == 1
        assert re.search(refused, " ".join(failed.stderr.split()))

    again = project.fathoms("--quiet", "score", "lamps", *JUDGED, "--until-width", str(WIDTH))
    assert (again.returncode, again.stderr) == (0, "")
    assert summary(project, "lamps")["judging"]["asked"] == 0  # the order is the same
    assert project.fathoms("score", "lamps", *JUDGED).returncode == 0
    found = summary(project, "lamps")
    assert found["judging"]["asked"] == ANSWERS - count
    assert "until" not in found["metrics"]["faithfulness"]


def test_more_questions_by_hand() -> None:
    """Half the width of 20 questions needs four times as many, or of 100 questions 1 / (0.01 + 0.04 / 4)."""
    assert Narrowing("m", 20, 10**9, 0.2, 0.1).more == 60
    assert Narrowing("m", 20, 100, 0.2, 0.1).more == 30
    assert Narrowing("m", 20, 100, 0.1, 0.1).more == 0
    assert Narrowing("m", 100, 100, 0.0, 0.1).more == 0
    said = "m: the interval is 0.200 wide after 20 of 100 questions; 0.1 needs about 30 more"
    assert Narrowing("m", 20, 100, 0.2, 0.1).sentence == said
    assert Narrowing("m", 20, 100, 0.2, 0.1, 0.01).sentence == f"{said}, about $0.30"


def test_what_a_narrower_interval_needs_and_costs_is_said(project: Project) -> None:
    """At the end, of half the width, or if the budget was spent before, of the width that is wanted."""
    model = "{kind: scripted, default: 'yes', price: {input: 1, output: 1}}"
    project.write("paid.yaml", f"kind: llm\nclaims: sentences\nclaims_a_call: 1\nmodel: {model}\n")
    requested, judge = named(["faithfulness"]), read_judge(project.path / "paid.yaml")
    weights = np.full(ANSWERS, 1 / ANSWERS)

    def scored(name: str, max_cost: float | None) -> tuple[float, int, list[str], list[tuple[int, int, str]]]:
        write(project, name, {n: f"Lamp {n} is red." for n in range(ANSWERS)})
        (path,) = (one for one in project.runs() if f"_{name}_" in one.name)
        steps: list[tuple[int, int, str]] = []
        said: list[str] = []
        how = Judging(
            judge,
            max_cost,
            WIDTH,
            on_forecast=lambda forecast: said.append(forecast.sentence),
            on_narrower=lambda *step: steps.append(step),
        )
        found = score_run(Run(path), metrics=requested, judging=how).judging
        assert found is not None
        return found.cost or 0.0, found.asked, said, steps

    cost, count, said, steps = scored("paid", None)
    low, high = mean_of_these(np.ones(count), weights)
    end = Narrowing("faithfulness", count, ANSWERS, high - low, (high - low) / 2, cost / count)
    assert said == [end.sentence]
    assert f"needs about {end.more} more, about $" in end.sentence
    assert steps[0] == (1, ANSWERS, "")  # nothing is known before the first look
    assert steps[-1][0] == steps[-1][1] == count
    _, query, said, _ = scored("budget", 25 * cost / count)
    assert FIRST < query < count
    (sentence,) = said
    looked = int(sentence.split(" of ")[0].split()[-1])
    assert FIRST <= looked < query
    low, high = mean_of_these(np.ones(looked), weights)
    wanted = Narrowing("faithfulness", looked, ANSWERS, high - low, WIDTH).sentence
    assert re.fullmatch(re.escape(wanted) + r", about \$0\.[0-9]+", sentence)


def test_categories_weigh_alike_and_a_failed_verdict_widens_the_interval(project: Project) -> None:
    """A category of 40 among 120, of which the judge supports half: the mean of both is 3/4. The interval
    holds it; a question without a verdict may be right or wrong."""
    fields = {"lamps": [], "few": []}
    for n in range(ANSWERS):
        item = {"id": f"q{n}", "question": f"Which colour has lamp {n}?", "answers": [["red"]]}
        fields["few" if n < 40 else "lamps"].append(item)
    project.write("questions.json", json.dumps(fields))
    write(project, "mixed", {n: "Nothing." if n < 20 else f"Lamp {n} is red." for n in range(ANSWERS)})
    done = project.fathoms("score", "mixed", *JUDGED, "--until-width", "0.25")
    assert done.returncode == 0, done.stderr
    plain = summary(project, "mixed")["metrics"]["faithfulness"]
    assert plain["until"]["low"] <= 0.75 <= plain["until"]["high"]
    assert plain["until"]["high"] - plain["until"]["low"] <= 0.25
    assert plain["micro"]["value"] is None  # the few are judged more often than they count
    project.write(
        "failing.yaml", "{kind: scripted, labels_by: {Lamp 7: failed, Lamp 25: failed, Lamp 9: failed}}"
    )
    failing = ("--metric", "faithfulness", "--judge", "failing.yaml", "--until-width", "0.25")
    done = project.fathoms("score", "mixed", *failing)
    assert done.returncode == 1  # some of the judged ones have no verdict
    found = summary(project, "mixed")["metrics"]["faithfulness"]
    assert found["judged"]["unjudged"] > 0
    assert found["until"]["judged"] > plain["until"]["judged"]


def test_what_cannot_be_stopped_is_refused(project: Project) -> None:
    refused = project.fathoms("score", "lamps", "--until-width", "0.1")
    assert refused.returncode == 2
    assert "--until-width needs a judged metric, and" in " ".join(refused.stderr.split())
    refused = project.fathoms(
        "score", "lamps", "--metric", "argue.f1-micro", *JUDGED[2:], "--until-width", "0.1"
    )
    assert refused.returncode == 2
    assert "needs means of values with bounds: argue.f1-micro is none" in " ".join(refused.stderr.split())
