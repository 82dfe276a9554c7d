"""Every family of metrics reads the same answer: what a configuration leaves in it, each of them sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathoms.importers import keep, read_answers
from fathoms.metrics.claims.cited_sentences import cited_sentences
from fathoms.metrics.claims.texts import answer_text
from fathoms.metrics.correctness_judged import CorrectnessJudged
from fathoms.metrics.faithfulness import Faithfulness
from fathoms.metrics.premise import PREMISE
from fathoms.metrics.registry import named
from fathoms.scoring import score_run
from fathoms.types import Question

SAID = "The mast is 30 m high."
ANSWER = f"<think>Is it 31?</think>{SAID}\n\nSources:\n- survey.pdf, p. 41"
GOLD = {"answers": (("survey.pdf", "not said"),), "reference": SAID, "short_answer": SAID}
COMPARED = ("exact-match", "token-f1", "bleu", "rouge-l", "short-exact-match", "premise-adopted")


def seen(tmp_path: Path, settings: tuple[str, ...], **question: Any) -> dict[str, Any]:
    """What each family makes of one answer with a list of sources, scored with these settings."""
    one_question = Question(
        id="q", text="How high?", category="A", metadata={PREMISE: "survey.pdf"}, **GOLD, **question
    )
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps({"id": "q", "answer": ANSWER}))
    run = keep(read_answers(file, [one_question]), "said", tmp_path)
    score_run(run, settings, named(COMPARED))
    view = run.files.scored("q")
    assert view is not None
    (repeat,) = view["repeats"]
    (record,) = run.records.all()
    whole = answer_text(record)
    judged = [
        whole[0] if whole else "",
        Faithfulness().texts(record)[0][0],
        CorrectnessJudged().judgements(record, {})[0].claim,
        " ".join(one.claim.text for one in cited_sentences(record)),
    ]
    assert not any("31" in text for text in judged), "reasoning is never read"
    return {
        "recall": repeat["scores"]["fathoms"]["correctness"],
        "label": repeat["scores"]["fathoms"]["abstention"],
        "judged": ["survey.pdf" in text for text in judged],
        **{name: repeat["metrics"][name]["value"] for name in COMPARED},
    }


def test_sources_are_set_aside_by_every_family(tmp_path: Path) -> None:
    found = seen(tmp_path, ())
    assert found == {
        "recall": 0,
        "label": "statement",
        "judged": [False] * 4,
        **dict.fromkeys(("exact-match", "token-f1", "bleu", "rouge-l", "short-exact-match"), 1),
        "premise-adopted": 0,
    }


@pytest.mark.parametrize(("settings", "reading"), [(("reading.sources=keep",), None), ((), "raw")])
def test_what_stays_in_the_answer_is_seen_by_every_family(
    tmp_path: Path, settings: tuple[str, ...], reading: str | None
) -> None:
    found = seen(tmp_path, settings, reading=reading)
    assert found["judged"] == [True] * 4
    assert found["recall"] == 0.5
    assert found["exact-match"] == 0
    assert max(found[name] for name in ("token-f1", "bleu", "rouge-l")) < 1
    assert (found["label"], found["premise-adopted"]) == ("statement", 1)
