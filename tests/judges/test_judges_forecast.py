"""How many calls judging makes is said before it begins, and how long they take once it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.importers import Imported, keep
from fathoms.judges.forecast import CALL, Forecast, Pace, Rate, minutes, sizes_of
from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import Judging, judge_run
from fathoms.metrics.registry import named
from fathoms.models import ScriptedModel
from fathoms.types import Judgement, Question, Record, Reply


def test_the_minutes_are_those_of_what_has_to_be_read() -> None:
    batches = [[Judgement(claim="abcd", premise="p" * 100)], [Judgement(claim="ab", premise="p" * 100)]]
    # a model that keeps the premise reads it once
    assert sizes_of(batches, keeps=True) == [CALL + 104, CALL + 2]
    assert sizes_of(batches, keeps=False) == [CALL + 104, CALL + 102]
    pace = Pace(split=Rate(seconds=60, characters=600), verdicts=Rate(seconds=30, characters=3000))
    # 0.1 s a character of the text, and 0.01 s of the 706 of the prompts, two at a time
    found = minutes(pace, ["t" * 600], batches, 2, keeps=True)
    assert found == pytest.approx((60 + 0.01 * 706) / 2 / 60)
    assert minutes(Pace(), ["t"], batches, 1, keeps=True) is None


def test_calls_are_announced_before_they_are_made_and_minutes_after_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    records = [
        Record(
            question=Question(
                id=f"q{number}", text=f"What is {number}?", category="A", reference=f"{number}."
            ),
            answer=Reply(text=f"It is {number}. It is not zero."),
            hits=None,
        )
        for number in range(1, 9)
    ]
    questions = tuple(record.question for record in records)
    model = ScriptedModel(replies={"Sentences:": '{"1": ["one claim"], "2": ["another"]}'}, default="yes")
    judge = LLMJudge(model=model, claims_a_call=1)

    def announced(name: str, before: str = "", *then: str) -> tuple[list[Forecast], int]:
        run = keep(Imported(name, None, tuple(records), questions), "data", tmp_path / "runs")
        metrics = named(["ragchecker.precision", *then])
        if before:
            judge_run(run, judge, named([before]), lambda: iter(records), Judging())  # type: ignore[arg-type]
        said: list[Forecast] = []
        _, spending = judge_run(run, judge, metrics, lambda: iter(records), Judging(on_forecast=said.append))  # type: ignore[arg-type]
        return said, spending.calls

    said, wanted = announced("first")
    # 8 answers of two sentences, with two claims assumed for each; the first is measured, and it is said once
    assert [one[:2] for one in said] == [(8, 32)]
    assert said[0].sentence.startswith("judging: about 40 calls (8 to split texts into claims, about 32 for")
    assert said[0].minutes is not None
    assert wanted == 8 + 2 * 8
    again, _ = announced("second")
    assert again[0][:2] == (8, 32)
    assert again[0].minutes is not None  # the pace is that of the first run
    grades = "correctness-judged"
    assert announced("third", grades, grades)[0][0][:2] == (8, 32)  # the grades are there
    # the claims of the answers and their verdicts are there: 8 gold answers of one sentence are left
    assert announced("fourth", "ragchecker.precision", "ragchecker.recall")[0][0][:2] == (8, 16)
