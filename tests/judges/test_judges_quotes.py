"""A judge that quotes the words of the source that decide; they count only where they stand there."""

from __future__ import annotations

import asyncio
import re

import pytest

from fathoms.errors import ConfigError
from fathoms.judges.cascade import Cascade
from fathoms.judges.llm import LLMJudge
from fathoms.judges.scripted import ScriptedJudge
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.types import Judgement, Verdict

PREMISE = "The tower is (about)\n41.5 m tall. Its door is green."


def verdict(reply: str, **options: object) -> Verdict:
    judge = LLMJudge.model_validate({"model": ScriptedModel(default=reply), "quote": True, **options})
    judge.check()
    (found,) = asyncio.run(judge.judge([Judgement(claim="It is 41.5 m tall.", premise=PREMISE)], Caller()))
    assert isinstance(found, Verdict)
    return found


@pytest.mark.parametrize(
    ("reply", "label", "quote", "wrong"),
    [
        ('{"quote": "The tower is (about) 41.5 m", "label": "yes"}', "supported", PREMISE[:27], None),
        (
            '{"quote": "\\u201eIts door is green.\\u201c", "label": "no"}',
            "unsupported",
            PREMISE[-18:-1],
            None,
        ),
        ('{"quote": "", "label": "no"}', "unsupported", None, None),
        # a quote in other words is none, and the label counts
        (
            '{"quote": "The tower is tall", "label": "yes"}',
            "supported",
            None,
            "not in the source: 'The tower",
        ),
        ('{"quote": "its door is green", "label": "yes"}', "supported", None, "not in the source"),
        ('{"quote": ["Its door"], "label": "yes"}', "supported", None, None),
        ("Yes.", "supported", None, None),
        ('{"quote": "Its door is green"}', "unparsed", None, "unreadable"),
    ],
)
def test_a_quote_counts_where_it_stands_in_the_source(
    reply: str, label: str, quote: str | None, wrong: str | None
) -> None:
    found = verdict(reply)
    assert (found.label, found.quote, found.p) == (label, quote, None)
    assert (wrong is None) == (found.why is None)
    assert re.search(wrong or "", found.why or "")


def test_three_labels_and_the_prompt_that_asks_for_a_quote() -> None:
    found = verdict('{"quote": "41.5 m tall", "label": "entailment"}', labels="three-way")
    assert (found.label, found.quote) == ("entailment", "41.5 m tall")
    judge = LLMJudge(model=ScriptedModel(), labels="three-way", quote=True)
    assert judge.prompt_of("support") == "quoted-three-way 1"
    assert "copy the words of the source" in judge.template


@pytest.mark.parametrize("option", [{"claims_a_call": 4}, {"threshold": 0.7}])
def test_options_that_do_not_go_with_quotes_are_refused(option: dict[str, float]) -> None:
    quoting = LLMJudge.model_validate({"model": ScriptedModel(), "quote": True})
    with pytest.raises(ConfigError, match=r"judge\.quote cannot be combined with"):
        quoting.model_copy(update=option).check()
    with pytest.raises(ConfigError, match=r"judge\.cheap: with quote it gives no probabilities"):
        Cascade(cheap=quoting, dear=ScriptedJudge()).check()
