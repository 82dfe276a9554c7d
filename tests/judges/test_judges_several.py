"""Several claims in one call, and judges that see only passages of a premise."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ConfigError
from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.cascade import Cascade
from fathoms.judges.excerpts import Excerpts
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.llm import LLMJudge
from fathoms.judges.scripted import ScriptedJudge
from fathoms.judges.several import Most, calls_of
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.types import Judgement
from tests.support.http_stub import serving
from tests.support.strict_server import CHAT, MODEL, strict_server

TOWER = "The tower is 41 m tall. Its door is painted green."
MINE = "The mine was closed in 1911."


def judge_all(judge: LLMJudge, folder: Path, *judgements: Judgement) -> tuple[Judged, Spending]:
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
    # in another order, and one number too many; the claim without a label is asked for again alone
    replies = {"1. It is red.": '{"1": "yes"}'}
    judge = several('{"3": "yes", "1": "no", "4": "yes"}', 8, replies=replies)
    judged, spending = judge_all(judge, tmp_path, *judgements)
    verdicts = [judged.verdicts[one] for one in judgements]
    assert [verdict.label for verdict in verdicts] == ["unsupported", "supported", "supported"]
    assert (spending.calls, spending.found) == (1, 0)
    assert verdicts[1].usage is not None
    assert verdicts[1].usage.completion_tokens == 2  # those of the call that it has alone
    (text,) = {message.text for message in judge._messages(judgements[0], TOWER, {"claims": "1. A\n2. B"})}
    assert text.index(TOWER) < text.index("1. A\n2. B") < text.index("Reply with JSON")


def test_a_call_has_the_claims_of_one_premise_and_only_those_that_are_missing(tmp_path: Path) -> None:
    judge = several('{"1": "yes", "2": "yes"}', 2)
    first, second = of(TOWER, "It is tall.", "It is red.", "It has a door."), of(MINE, "It was closed.")
    mixed = [first[0], second[0], first[1], first[2]]
    judged, spending = judge_all(judge, tmp_path, *mixed)
    assert spending.calls == 3  # two and one of the tower, one of the mine
    assert {verdict.label for verdict in judged.verdicts.values()} == {"supported"}
    _, spending = judge_all(judge, tmp_path, *mixed, *of(TOWER, "It has a bell."))
    assert (spending.calls, spending.found) == (1, 4)
    # single claims have other verdicts than claims in company
    assert judge_all(several("yes", 1), tmp_path, *mixed)[1].found == 0
    assert judge_all(several('{"1": "yes"}', 3), tmp_path, *mixed)[1].found == 0


@pytest.mark.parametrize(
    ("reply", "calls", "why"),
    # together, and then each alone, where a reply without any label is asked for once more
    [
        ("I cannot say.", (3, 2), "unreadable: 'I cannot say.'"),
        ('{"1": "perhaps"}', (2, 1), "no label for claim 1"),
    ],
)
def test_a_reply_without_labels_is_unparsed(
    tmp_path: Path, reply: str, calls: tuple[int, int], why: str
) -> None:
    judged, _ = judge_all(several(reply, 2), tmp_path, *of(TOWER, "It is tall.", "It is red."))
    first, second = judged.verdicts.values()
    assert (first.label, second.label) == ("unparsed", "unparsed")
    assert first.why is not None
    assert why in first.why
    # the tokens of the call of both stand with the first verdict
    assert first.usage is not None
    assert second.usage is not None
    spent = (first.usage.completion_tokens, second.usage.completion_tokens)
    assert spent == tuple(count * len(reply.split()) for count in calls)


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
    assert [
        next(iter(judge_all(one, tmp_path, door)[0].verdicts.values())).label for one in (whole, some)
    ] == [
        "supported",
        "unsupported",
    ]


GOLD = "The tower is 41 m tall and has a green door."
# the claims of an answer by the gold answer and two passages, and a gold claim by the answer and these
SHARED = [
    *(Judgement(claim, text, "S.") for text in (GOLD, TOWER, MINE) for claim in ("41 m tall", "green")),
    *(Judgement("painted", text, "G.") for text in ("It is painted.", TOWER, MINE)),
]
OTHER = [Judgement("1911", text, "T.") for text in ("In 1911.", MINE)]


def test_what_belongs_to_one_answer_shares_calls() -> None:
    """In the order of metrics: by the gold answer, by the answer, by passages that other answers have too."""
    ordered = [*SHARED[:2], SHARED[6], *SHARED[2:4], SHARED[7], *SHARED[4:6], SHARED[8], *OTHER]
    assert list(calls_of(ordered, Most(8, 6, 64))) == [[0, 1, 2, 3, 4, 5, 6, 7, 8], [9, 10]]
    # by text: gold answer and answer; the two passages
    assert list(calls_of(ordered, Most(8, 2, 64))) == [[0, 1, 2], [3, 4, 5, 6, 7, 8], [9, 10]]
    assert list(calls_of(ordered, Most(2, 6, 64))) == [[0, 1, 3, 4, 6, 7], [2, 5, 8], [9, 10]]
    assert list(calls_of(ordered, Most(8, 6, 5))) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]]
    # claims of several answers on one document
    several = [one for claim in "abc" for one in of(TOWER, claim)]
    assert list(calls_of(several, Most(8, 6, 64))) == [[0, 1, 2]]
    assert list(calls_of([], Most(8, 6, 64))) == []


def compared(prompt: str, without: str = "none") -> str:
    """Say of each claim and each text whether the text has the words of the claim, except for one claim."""
    before, _, claims = prompt.partition("\n\nClaims, numbered")
    texts = before.partition("Texts, numbered:\n")[2]
    source = before.partition("Source:\n")[2]
    by_number = dict(re.findall(r"^(\d+)\. (.+)$", texts, re.MULTILINE))
    whole = {
        number: re.sub(r"\[text (\d+)\]", lambda at: by_number[at[1]], text)
        for number, text in by_number.items()
    }
    found: dict[str, Any] = {}
    for number, claim, named in re.findall(r"^(\d+)\. (.+?)(?: \(texts ([\d, ]+)\))?$", claims, re.MULTILINE):
        if named and claim != without:
            found[number] = {text: "yes" if claim in whole[text] else "no" for text in named.split(", ")}
        elif not named:
            found[number] = "yes" if claim in source else "no"
    return json.dumps(found)


@pytest.mark.parametrize("order", [1, -1])
def test_claims_and_texts_of_one_call_are_told_apart(tmp_path: Path, order: int) -> None:
    """By a server that honours the schema it is sent to the letter, in any order."""
    whole = [Judgement(claim, f"[1] {TOWER}\n\n[2] {MINE}", "S.") for claim in ("41 m tall", "green")]
    judgements = [*SHARED, *whole, *OTHER][::order]
    with strict_server(compared) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        found, spending = judge_all(LLMJudge.model_validate({"model": model}), tmp_path, *judgements)
    for one in judgements:
        label = "supported" if one.claim in one.premise else "unsupported"
        assert found.verdicts[one].label == label, one
    prompts = [body["messages"][-1]["content"] for body in server.bodies(CHAT)]
    assert len(prompts) == spending.calls == 2
    (crossed,) = [prompt for prompt in prompts if "41 m tall" in prompt]
    # the context of the answer names the passages that are in the call
    assert crossed.count("Its door is painted green") == 1
    assert re.search(r"^\d\. \[1\] \[text \d\]$", crossed, re.MULTILINE)
    # the rubric comes first, so that all calls share their beginning
    assert len({prompt.partition("Texts, numbered:\n")[0] for prompt in prompts}) == 1


def test_what_has_no_label_in_a_common_reply_is_asked_for_by_text(tmp_path: Path) -> None:
    def says(prompt: str) -> str:
        return compared(prompt, without="green")

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        said = {"role": "assistant", "content": says(body["messages"][-1]["content"])}
        usage = {"prompt_tokens": 0, "completion_tokens": 1, "total_tokens": 1}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        return 200, {"choices": [choice], "usage": usage}

    with serving({CHAT: answer, "/v1/models": {"data": [{"id": MODEL}]}}) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": MODEL}
        judged, spending = judge_all(LLMJudge.model_validate({"model": model}), tmp_path, *SHARED)
        assert {one: judged.verdicts[one].label for one in SHARED} == {
            one: "supported" if one.claim in one.premise else "unsupported" for one in SHARED
        }
        assert spending.calls == 2  # the claims of the answer, and those of the gold answer
        assert len(server.bodies(CHAT)) == 2 + 3
