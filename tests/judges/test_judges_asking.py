"""Asking a judge: what is asked, stored and found again, and what an unreadable or failed reply becomes."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.errors import ConfigError, DataError, UsageError
from fathoms.judges.asking import Bench, Judged, Spending, decided, verdict_key
from fathoms.judges.cascade import Cascade
from fathoms.judges.claims import model_claims, sentence_claims
from fathoms.judges.journal import NAME, VerdictJournal
from fathoms.judges.judge import Judge
from fathoms.judges.llm import LLMJudge
from fathoms.judges.of_run import read_judge
from fathoms.judges.people import PeopleJudge
from fathoms.judges.scripted import ScriptedJudge
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.models.chat.forms import read_choice
from fathoms.models.sentences import sentences
from fathoms.text.fingerprints import fingerprint, fingerprints_after, flat_fingerprint
from fathoms.types import Claim, Failure, Judgement, Usage, Verdict
from tests.support.http_stub import serving

GREEN = Judgement(claim="The door is green.", premise="The tower is 41 m tall. Its door is painted green.")
TALL = Judgement(claim="The tower is 50 m tall.", premise=GREEN.premise, context="It is 50 m tall.")


def judge_all(
    judge: Judge, folder: Path, *judgements: Judgement, limit: float | None = None
) -> tuple[Judged, Spending]:
    judged, spending = Judged(), Spending(limit)
    bench = Bench(judge, VerdictJournal(folder), Caller(), spending)
    asyncio.run(bench.ask(judgements, judged))
    return judged, spending


def llm(default: str, **options: object) -> LLMJudge:
    model = ScriptedModel.model_validate({"default": default, **options.pop("model", {})})  # type: ignore[dict-item]
    return LLMJudge.model_validate({"model": model, **options})


def test_a_verdict_is_asked_for_once_and_found_again(tmp_path: Path) -> None:
    first, spent = judge_all(ScriptedJudge(), tmp_path, GREEN, TALL, GREEN)
    assert (spent.calls, spent.found) == (2, 0)
    again, spent = judge_all(ScriptedJudge(latency=1), tmp_path, TALL, GREEN)  # latency decides no verdict
    assert (spent.calls, spent.found) == (0, 2)
    assert again.verdicts == first.verdicts
    _, spent = judge_all(ScriptedJudge(labels="three-way"), tmp_path, GREEN)
    assert spent.calls == 1


def test_a_changed_prompt_claim_context_or_model_asks_anew(tmp_path: Path) -> None:
    judge = llm("yes")
    assert judge_all(judge, tmp_path, GREEN)[1].calls == 1
    changed = [
        (llm("yes", prompt="{premise} -- {claim}? yes or no"), GREEN),
        (judge, GREEN._replace(context="So it is.")),
        (judge, GREEN._replace(claim="The door is red.")),
        (llm("yes", model={"model": "another"}), GREEN),
    ]
    for other, judgement in changed:
        assert judge_all(other, tmp_path, judgement)[1].calls == 1
    assert judge_all(judge, tmp_path, GREEN)[1].calls == 0


def test_what_only_concerns_claims_asks_for_no_grade_again(tmp_path: Path) -> None:
    right = Judgement(claim="Green.", premise="It is green.", context="What colour?", rubric="correct")
    judge = llm("yes")

    async def as_before() -> None:  # when the whole identity of a judge was in the key under every rubric
        journal = VerdictJournal(tmp_path)
        verdict = Verdict(claim=right.claim, premise=right.premise, label="supported")
        await journal.put(verdict_key(fingerprint(judge.identity()), right, 0, 2), verdict)
        await journal.finish()

    asyncio.run(as_before())
    assert judge_all(judge, tmp_path, right)[1].found == 1
    options = {"labels": "three-way", "claims_a_call": 4, "premise": {"retrieve": 3}}
    assert judge_all(llm("yes", **options), tmp_path, right)[1].calls == 1
    for other in (llm("yes", threshold=0.7), llm("yes", prompt="{premise} -- {claim}? yes or no")):
        assert judge_all(other, tmp_path, right)[1].calls == 0
    assert judge_all(llm("yes", model={"model": "another"}), tmp_path, right)[1].calls == 1


@given(st.lists(st.text(st.characters()) | st.integers() | st.none()))
def test_the_faster_fingerprint_is_the_same(parts: list[str | int | None]) -> None:
    """Or verdicts of earlier versions would not be found."""
    assert flat_fingerprint(*parts) == fingerprint(*parts)
    first = {"é": [1.5, None]}
    assert fingerprints_after(first, "x")("y", *parts) == fingerprint(first, "x", "y", *parts)


@given(st.text(st.characters()), st.text(st.characters()), st.text(st.characters()))
def test_a_verdict_is_found_by_what_was_asked(claim: str, premise: str, context: str) -> None:
    judgement = Judgement(claim, premise, context)
    assert verdict_key("0f" * 16, judgement, 2) == fingerprint(
        "0f" * 16, claim, context, fingerprint(premise), None, 2
    )


def test_a_half_line_of_a_killed_writer_costs_one_verdict(tmp_path: Path) -> None:
    judge_all(ScriptedJudge(), tmp_path, GREEN, TALL)
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-30])
    _, spent = judge_all(ScriptedJudge(), tmp_path, GREEN, TALL)
    assert (spent.calls, spent.found) == (1, 1)
    assert judge_all(ScriptedJudge(), tmp_path, GREEN, TALL)[1].found == 2


def test_an_unreadable_reply_is_asked_for_once_more(tmp_path: Path) -> None:
    (verdict,) = judge_all(llm("I like it."), tmp_path, GREEN)[0].verdicts.values()
    assert (verdict.label, verdict.supports) == ("unparsed", None)
    assert verdict.why == "unreadable: 'I like it.'"
    assert verdict.usage is not None
    assert verdict.usage.completion_tokens == 2 * 3  # two replies of three words


def test_a_reply_cut_at_its_token_limit_is_not_asked_for_again(tmp_path: Path) -> None:
    judge = llm("I think that yes", model={"max_tokens": 3})
    (verdict,) = judge_all(judge, tmp_path, GREEN)[0].verdicts.values()
    assert (verdict.label, verdict.why) == ("unparsed", "the reply was cut at its token limit")
    assert verdict.usage is not None
    assert verdict.usage.completion_tokens == 3
    assert judge_all(judge, tmp_path, GREEN)[1].calls == 0  # it would be cut again


def test_what_could_not_be_read_is_asked_for_again_later_and_nothing_else(tmp_path: Path) -> None:
    """The verdict that takes its place has the cost and tokens of both, a failure leaves it, and where nobody
    can be asked the journal gives it back."""
    said = {"50 m": "Well."}

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        prompt = body["messages"][-1]["content"]
        words = said["50 m"] if "50 m" in prompt else "yes"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}
        usage = {"prompt_tokens": 0, "completion_tokens": 1, "total_tokens": 1}
        return (200, {"choices": [choice], "usage": usage}) if words else (400, {"error": {"message": "no"}})

    with serving({"/v1/chat/completions": answer, "/v1/models": {"data": [{"id": "m"}]}}) as server:
        model = {"kind": "openai-compatible", "base_url": f"{server.address}/v1", "model": "m"}
        priced = {**model, "price": {"input": 0, "output": 1e6}}
        judge = LLMJudge.model_validate({"model": priced, "claims_a_call": 1})
        both = (GREEN, TALL)
        first, spent = judge_all(judge, tmp_path, *both)
        assert (first.verdicts[TALL].label, spent.calls, spent.cost) == ("unparsed", 2, 1 + 2)
        stored, spent = judge_all(judge, tmp_path, *both, limit=-1)
        assert (stored.verdicts, spent.calls, spent.found) == (first.verdicts, 0, 2)
        said["50 m"] = ""
        failed, spent = judge_all(judge, tmp_path, *both)
        assert (failed.verdicts, spent.calls, spent.failed) == (first.verdicts, 1, 1)
        said["50 m"] = "no"
        later, spent = judge_all(judge, tmp_path, *both)
        assert (later.verdicts[TALL].label, later.verdicts[GREEN]) == ("unsupported", first.verdicts[GREEN])
        assert (spent.calls, spent.found, spent.cost) == (1, 1, 1)
        assert (spent.again, spent.reread) == (1, 1)
        assert later.verdicts[TALL].cost == 2 + 1
        assert later.verdicts[TALL].usage == Usage(prompt_tokens=0, completion_tokens=3)
        assert judge_all(judge, tmp_path, *both)[1].calls == 0


def test_a_failed_call_is_no_verdict_and_is_asked_for_again(tmp_path: Path) -> None:
    judged, spent = judge_all(llm("yes", model={"fail_on": {"green": "the server is down"}}), tmp_path, GREEN)
    assert judged.verdicts == {}
    (failure,) = judged.unjudged.values()
    assert (failure.kind, failure.message, spent.failed) == ("ModelError", "the server is down", 1)
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ("yes", "yes"),
        ("No.", "no"),
        ('{"label": "yes"}', "yes"),
        ('```json\n{"label": "no",}\n```', "no"),
        ("The answer is yes", "yes"),
        ("yes and no", "yes"),  # the first word is the answer
        ("neither yes nor no", None),
        ("", None),
        ('{"label": "perhaps"}', None),
    ],
)
def test_the_label_is_read_from_the_reply(reply: str, word: str | None) -> None:
    assert read_choice(reply, ("yes", "no")) == word


def test_the_majority_of_the_votes_decides(tmp_path: Path) -> None:
    votes = [
        Verdict(claim="c", premise="p", label=label, p=p)
        for label, p in (("supported", 0.9), ("unsupported", 0.3), ("supported", 0.6))
    ]
    found = decided(votes)
    assert (found.label, found.votes) == ("supported", {"supported": 2, "unsupported": 1})
    assert found.p == pytest.approx(0.6)
    assert judge_all(llm("yes", votes=3), tmp_path, GREEN)[1].calls == 3
    _, spent = judge_all(llm("yes", votes=5), tmp_path, GREEN)  # two more votes are asked for, not five
    assert (spent.calls, spent.found) == (2, 3)


def test_a_cascade_asks_the_dear_judge_only_where_the_cheap_one_is_not_sure(tmp_path: Path) -> None:
    cheap = ScriptedJudge(labels_by={"50 m": "unparsed"})
    judged, _ = judge_all(Cascade(cheap=cheap, dear=llm("yes")), tmp_path, GREEN, TALL)
    assert judged.verdicts[GREEN].usage is None  # decided by the cheap one
    assert judged.verdicts[TALL].label == "supported"  # the dear one says yes to everything
    assert judged.verdicts[TALL].usage is not None


class _Noting(Caller):
    """Notes what the models reply."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    async def reply(self, model: Any, *more: Any, **options: Any) -> Any:
        found = await super().reply(model, *more, **options)
        self.said.append(found[0].text)
        return found


@pytest.mark.parametrize("ends", ["fails", "is killed"])
def test_no_judge_of_a_cascade_is_paid_twice_where_the_other_one_fails_or_is_killed(
    tmp_path: Path, ends: str
) -> None:
    # the cheap judge gives no probability, so the dear one decides everything
    trouble = {"fail_on": {"50 m": "down"}} if ends == "fails" else {"latency": 30}

    def ask(dear: dict[str, Any], seconds: float | None = None) -> tuple[list[str], Judged]:
        cascade = Cascade(cheap=llm("no"), dear=llm("yes", model=dear, claims_a_call=1))
        caller, judged = _Noting(), Judged()
        bench = Bench(cascade, VerdictJournal(tmp_path), caller, Spending())
        with suppress(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(bench.ask([GREEN, TALL], judged), seconds))
        return caller.said, judged

    replies, _ = ask(trouble, 2 if "latency" in trouble else None)
    assert replies == ["no", "no", *(["yes"] if ends == "fails" else [])]
    replies, judged = ask(trouble if ends == "fails" else {})
    assert replies == ([] if ends == "fails" else ["yes", "yes"])
    assert [one.label for one in judged.verdicts.values()] == ["supported"] * (1 if ends == "fails" else 2)
    assert [one.message for one in judged.unjudged.values()] == (["down"] if ends == "fails" else [])


def test_verdicts_that_a_cascade_stored_as_its_own_are_found(tmp_path: Path) -> None:
    cascade = Cascade(cheap=llm("no"), dear=llm("yes"))

    async def as_before() -> None:
        journal = VerdictJournal(tmp_path)
        verdict = Verdict(claim=GREEN.claim, premise=GREEN.premise, label="unsupported")
        await journal.put(verdict_key(fingerprint(cascade.identity()), GREEN, 0), verdict)
        await journal.finish()

    asyncio.run(as_before())
    judged, spent = judge_all(cascade, tmp_path, GREEN, TALL)
    assert [judged.verdicts[one].label for one in (GREEN, TALL)] == ["unsupported", "supported"]
    assert (spent.calls, spent.found) == (2, 1)


def test_people_are_looked_up_and_nobody_is_made_up(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    row = {"claim": GREEN.claim, "premise": GREEN.premise, "label": "supported"}
    labels.write_text(json.dumps(row) + "\n")
    judged, _ = judge_all(PeopleJudge(labels=labels), tmp_path / "run", GREEN, TALL)
    assert judged.verdicts[GREEN].label == "supported"
    assert judged.unjudged[TALL] == Failure(kind="DataError", message="no label in labels.jsonl")
    labels.write_text('{"claim": "c", "premise": "p", "label": "maybe"}\n')
    with pytest.raises(DataError, match=r"labels.jsonl:1: unknown label 'maybe'"):
        PeopleJudge(labels=labels).check()


def test_the_budget_stops_before_a_call_that_would_pass_it(tmp_path: Path) -> None:
    price = {"price": {"input": 1_000_000, "output": 0}}  # a dollar a token: about 70 a verdict
    judge = llm("yes", model=price, claims_a_call=1)
    cost = judge_all(judge, tmp_path / "free", GREEN)[1].cost
    assert cost is not None
    many = [GREEN._replace(claim=f"The door {number} is green.") for number in range(10)]
    judged, spent = judge_all(judge, tmp_path, *many, limit=4.5 * cost)
    assert spent.is_spent
    assert 3 <= len(judged.verdicts) <= 4
    assert spent.cost is not None
    assert spent.cost <= 4.5 * cost * 1.05  # the claims differ by a token
    _, rest = judge_all(judge, tmp_path, *many)
    assert rest.calls == 10 - len(judged.verdicts)


def test_sentences_are_split_without_downloads() -> None:
    text = (
        "It is 41.5 m tall (see Fig. 2). Its door is green!\n- built in 1912\n\n1. by Dr. Lund et al. in Varn"
    )
    assert sentences(text) == [
        "It is 41.5 m tall (see Fig. 2).",
        "Its door is green!",
        "built in 1912",
        "by Dr. Lund et al. in Varn",
    ]
    assert [claim.sentence for claim in sentence_claims(text)] == [0, 1, 2, 3]


def test_claims_keep_their_sentence() -> None:
    reply = 'Sure: {"1": ["The tower is tall.", " "], "2": ["It is green"'
    found, _ = asyncio.run(
        model_claims(ScriptedModel(default=reply), "It is tall. It is green.", "?", Caller())
    )
    assert found == (
        Claim(text="The tower is tall.", context="It is tall.", sentence=0),
        Claim(text="It is green", context="It is green.", sentence=1),
    )


@pytest.mark.parametrize("reply", ["{}", "Sorry {", '{"1": ["a"]}', '{"1": ["a"], "2": [3]}'])
def test_a_reply_that_passes_over_a_sentence_is_no_list_of_claims(reply: str) -> None:
    found, _ = asyncio.run(
        model_claims(ScriptedModel(default=reply), "It is tall. It is red.", "?", Caller())
    )
    assert isinstance(found, Failure)
    assert found.kind == "Unparsed"


def test_a_cut_list_of_claims_is_a_failure() -> None:
    model = ScriptedModel(default='{"1": ["It is tall", "It is green"]}', max_tokens=4)
    found, spent = asyncio.run(model_claims(model, "It is tall.", "?", Caller()))
    assert spent["usage"]["completion_tokens"] == 4  # it was paid for
    assert isinstance(found, Failure)
    assert found.kind == "Cut"


def test_a_judge_is_read_from_a_file_of_its_own_or_from_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "judge.yaml"
    path.write_text("kind: scripted\nlatency: 0.5\n")
    assert read_judge(path) == ScriptedJudge(latency=0.5)
    path.write_text("name: x\njudge: {kind: scripted}\n")
    assert read_judge(path) == ScriptedJudge()
    path.write_text("kind: scripted\nlatncy: 0.5\n")
    with pytest.raises(ConfigError, match=r"judge.yaml:2:1: unknown key 'latncy' \(did you mean 'latency'"):
        read_judge(path)


@pytest.mark.parametrize("places", ["{claim}", "{premise}"])
def test_a_prompt_without_claim_or_premise_is_refused(places: str) -> None:
    with pytest.raises(ValueError, match="must contain"):
        llm("yes", prompt=f"yes or no? {places}")


def test_a_judge_that_reads_no_pictures_is_refused_before_the_first_call(tmp_path: Path) -> None:
    picture = GREEN._replace(image=tmp_path / "door.png")
    with pytest.raises(UsageError, match="scripted reads no pictures"):
        judge_all(ScriptedJudge(), tmp_path, GREEN, picture)
    assert not (tmp_path / NAME).exists()
