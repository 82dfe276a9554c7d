"""Fact checkers with their real weights, against the probabilities that their authors print.

They run only where the weights lie in the local cache of the Hugging Face hub, and have never run where
fathoms is developed, which has no access to the hub.
"""

from __future__ import annotations

import asyncio

import pytest

from fathoms.judges.nli import NLIJudge
from fathoms.judges.nli.judge import hub_name
from fathoms.models.caller import Caller
from fathoms.types import Judgement, Verdict

pytestmark = pytest.mark.slow  # real models

STUDENTS = "A group of students gather in the school library to study for their upcoming final exams."
PRINTED = {
    # the example of https://github.com/Liyan06/MiniCheck
    "minicheck-flan-t5-l": [
        (STUDENTS, "The students are preparing for an examination.", 0.98059),
        (STUDENTS, "The students are on vacation.", 0.00712),
    ],
    # four of the examples on the card of https://huggingface.co/vectara/hallucination_evaluation_model
    "hhem-2.1-open": [
        ("The capital of France is Berlin.", "The capital of France is Paris.", 0.0111),
        ("I am in California", "I am in United States.", 0.6474),
        ("I am in United States", "I am in California.", 0.1290),
        ("Mark Wahlberg was a fan of Manny.", "Manny was a fan of Mark Wahlberg.", 0.0543),
    ],
}


@pytest.mark.parametrize("name", list(PRINTED))
def test_the_probabilities_are_those_that_the_authors_print(name: str) -> None:
    hub = pytest.importorskip("huggingface_hub")
    if not isinstance(hub.try_to_load_from_cache(hub_name(name), "config.json"), str):
        pytest.skip(f"the weights of {hub_name(name)} are not on this machine")
    judgements = [Judgement(claim=claim, premise=premise) for premise, claim, _ in PRINTED[name]]
    judge = NLIJudge(model=name, device="cpu")
    judge.check()
    found = asyncio.run(judge.judge(judgements, Caller()))
    assert [one.p for one in found if isinstance(one, Verdict)] == pytest.approx(
        [p for _, _, p in PRINTED[name]], abs=2e-3
    )
