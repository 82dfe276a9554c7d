"""Probes for bias, on judges whose bias is known."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fathoms.judges.asking import Bench, Spending
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.judge import Judge
from fathoms.judges.llm import LLMJudge
from fathoms.judges.probe import Turned, probe_order, probe_padding, swapped
from fathoms.judges.scripted import ScriptedJudge
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.types import Judgement

JUDGEMENTS = [
    Judgement(claim="The door is green.", premise="Its door is green."),
    Judgement(claim="The door is red.", premise="Its door is green."),
]


def bench(judge: Judge, folder: Path) -> Bench:
    return Bench(judge, VerdictJournal(folder), Caller(), Spending())


def test_a_judge_that_follows_the_padding_is_found_out(tmp_path: Path) -> None:
    judge = ScriptedJudge(labels_by={"careful reading": "supported", "green": "supported"})
    found = asyncio.run(probe_padding(bench(judge, tmp_path), JUDGEMENTS))
    assert found == Turned(n=2, unjudged=0, to_supported=1, to_unsupported=0)
    assert found.share == 0.5


def test_a_judge_that_fails_has_no_share(tmp_path: Path) -> None:
    judge = ScriptedJudge(labels_by={"door": "failed"})
    found = asyncio.run(probe_padding(bench(judge, tmp_path), JUDGEMENTS))
    assert (found.n, found.unjudged, found.share) == (0, 2, None)


def test_the_claim_comes_first_in_the_swapped_prompt(tmp_path: Path) -> None:
    judge = LLMJudge(model=ScriptedModel(default="yes"), claims_a_call=1)
    assert swapped(LLMJudge(model=ScriptedModel())) is not None
    assert judge.template.index("{premise}") < judge.template.index("{claim}")
    other = swapped(judge)
    assert other is not None
    assert other.template.index("{claim}") < other.template.index("{premise}")
    assert sorted(other.template.split()) == sorted(judge.template.split())
    assert other.identity() != judge.identity()  # or the stored verdicts would answer the probe
    at = bench(judge, tmp_path)
    assert asyncio.run(probe_order(at, JUDGEMENTS)) == Turned(
        n=2, unjudged=0, to_supported=0, to_unsupported=0
    )
    assert at.spending.calls == 4


def test_a_judge_without_two_paragraphs_to_swap_is_not_probed(tmp_path: Path) -> None:
    assert asyncio.run(probe_order(bench(ScriptedJudge(), tmp_path), JUDGEMENTS)) is None
    assert swapped(LLMJudge(model=ScriptedModel(), prompt="{premise} -- {claim}? yes or no")) is None
