"""What an answer took, as its server said it; nothing of one that is from the cache."""

from __future__ import annotations

from fathoms.metrics.metric import Facts
from fathoms.metrics.registry import named
from fathoms.metrics.score_records import RecordScore
from fathoms.types import Question, Record, Reply, Usage

QUESTION = Question(id="q", text="?", category="c")
USAGE = Usage(prompt_tokens=120, completion_tokens=30)
SPENT = {"latency": 1.5, "prompt-tokens": 120, "completion-tokens": 30, "cost": 0.25}


def took(**reply: object) -> dict[str, float | None]:
    one = Record(question=QUESTION, answer=Reply.model_validate({"text": "x", **reply}), hits=())
    return {name: named([name])[0].of(Facts(one, RecordScore())).value for name in SPENT}


def test_what_an_answer_took() -> None:
    known = {"usage": USAGE, "latency": 1.5, "cost": 0.25}
    assert took(**known) == SPENT
    assert took(**known, cached=True) == dict.fromkeys(SPENT)
    assert took(usage=Usage(), latency=1.5) == {**dict.fromkeys(SPENT), "latency": 1.5}
