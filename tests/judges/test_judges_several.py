"""Several claims in one call, and judges that see only passages of a premise."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fathoms.errors import ConfigError
from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.cascade import Cascade
from fathoms.judges.excerpts import Excerpts
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.llm import LLMJudge
from fathoms.judges.scripted import ScriptedJudge
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.types import Judgement

TOWER = "The tower is 41 m tall. Its door is painted green."
MINE = "The mine was closed in 1911."


def asked(judge: LLMJudge, folder: Path, *judgements: Judgement) -> tuple[Judged, Spending]:
    judged, spending = Judged(), Spending()
    asyncio.run(Bench(judge, VerdictJournal(folder), Caller(), spending).ask(judgements, judged))
    return judged, spending


def several(default: str, size: int, **options: object) -> LLMJudge:
    model = ScriptedModel.model_validate({"default": default, **options})
    return LLMJudge.model_validate({"model": model, "claims_a_call": size})


def of(premise: str, *claims: str) -> list[Judgement]:
    return [Judgement(claim=claim, premise=premise, context="It is said.") for claim in claims]


def test_labels_are_read_by_the_number_of_the_claim(tmp_path: Path) -> None:
    judgements = of(TOWER, "It is tall.", "It is red.", "It has a door.")
    judge = several('{"3": "yes", "1": "no", "4": "yes"}', 8)  # in another order, and one number too many
    judged, spending = asked(judge, tmp_path, *judgements)
    verdicts = [judged.verdicts[one] for one in judgements]
    assert [verdict.label for verdict in verdicts] == ["unsupported", "unparsed", "supported"]
    assert verdicts[1].why == "the reply has no label for claim 2"
    assert (spending.asked, spending.found) == (1, 0)
    (text,) = {message.text for message in judge._messages(judgements[0], TOWER, {"claims": "1. A\n2. B"})}
    assert text.index(TOWER) < text.index("1. A\n2. B") < text.index("Reply with JSON")


def test_a_call_has_the_claims_of_one_premise_and_only_those_that_are_missing(tmp_path: Path) -> None:
    judge = several('{"1": "yes", "2": "yes"}', 2)
    first, second = of(TOWER, "It is tall.", "It is red.", "It has a door."), of(MINE, "It was closed.")
    mixed = [first[0], second[0], first[1], first[2]]
    judged, spending = asked(judge, tmp_path, *mixed)
    assert spending.asked == 3  # two and one of the tower, one of the mine
    assert {verdict.label for verdict in judged.verdicts.values()} == {"supported"}
    _, spending = asked(judge, tmp_path, *mixed, *of(TOWER, "It has a bell."))
    assert (spending.asked, spending.found) == (1, 4)
    # single claims have other verdicts than claims in company
    assert asked(several("yes", 1), tmp_path, *mixed)[1].found == 0
    assert asked(several('{"1": "yes"}', 3), tmp_path, *mixed)[1].found == 0


@pytest.mark.parametrize(
    ("reply", "calls", "why"),
    [("I cannot say.", 2, "unreadable: 'I cannot say.'"), ('{"1": "perhaps"}', 1, "no label for claim 1")],
)
def test_a_reply_without_labels_is_unparsed(tmp_path: Path, reply: str, calls: int, why: str) -> None:
    judged, _ = asked(several(reply, 2), tmp_path, *of(TOWER, "It is tall.", "It is red."))
    first, second = judged.verdicts.values()
    assert (first.label, second.label) == ("unparsed", "unparsed")
    assert first.why is not None
    assert why in first.why
    # the tokens of all calls stand with the first verdict
    assert first.usage is not None
    assert second.usage is not None
    assert first.usage.completion_tokens == calls * len(reply.split())
    assert second.usage.completion_tokens == 0


def test_options_that_cannot_work_together_are_refused() -> None:
    with pytest.raises(ConfigError, match="max_tokens is 16, and the labels of 8 claims take up to 64"):
        several("{}", 8, max_tokens=16).check()
    with pytest.raises(ConfigError, match=r"must contain \{claims\}"):
        LLMJudge(model=ScriptedModel(), claims_a_call=2, prompt="{premise} {claim} yes or no").check()
    with pytest.raises(ConfigError, match=r"nothing is filled in for \{context\} with claims_a_call: 2"):
        LLMJudge(model=ScriptedModel(), claims_a_call=2, prompt="{premise} {context} {claims}").check()
    with pytest.raises(ConfigError, match="threshold has no effect with claims_a_call"):
        LLMJudge(model=ScriptedModel(), claims_a_call=2, threshold=0.7).check()
    with pytest.raises(ConfigError, match="threshold has no effect with labels: three-way"):
        LLMJudge(model=ScriptedModel(), labels="three-way", threshold=0.7).check()
    with pytest.raises(ConfigError, match="the dear judge would decide everything"):
        Cascade(cheap=several("{}", 2), dear=ScriptedJudge()).check()


def test_a_judge_sees_the_passages_that_share_rare_words_with_the_claims(tmp_path: Path) -> None:
    premise = "The mine is deep. Its ore is iron. It rained. The tower is tall. Its door is green. It rained."
    # "door" and "green" occur in one sentence, "tower" in another one; each comes with its neighbours
    door, tower = of(premise, "The door is green.", "The tower is high.")
    excerpts = Excerpts(retrieve=1, neighbours=0)
    assert excerpts.of(premise, [door]) == "Its door is green."
    assert excerpts.of(premise, [door, tower]) == "The tower is tall. Its door is green."
    assert Excerpts(retrieve=1).of(premise, [tower]) == "It rained. The tower is tall. Its door is green."
    mine = of(premise, "The mine is deep.")
    assert excerpts.of(premise, [*mine, door]) == "The mine is deep. [...] Its door is green."
    assert Excerpts(retrieve=6).of(premise, [door]) == premise
    model = ScriptedModel(replies={"The mine is deep": "yes"}, default="no")
    whole, some = LLMJudge(model=model), LLMJudge(model=model, premise=excerpts)
    assert [next(iter(asked(one, tmp_path, door)[0].verdicts.values())).label for one in (whole, some)] == [
        "supported",
        "unsupported",
    ]
