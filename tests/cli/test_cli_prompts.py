"""`fathoms run --prompts mrag-suite`: twelve prompts in one command, and the best one without its luck."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from fathoms.pipeline.prompt import PromptBuilder
from fathoms.report.graded import KINDS, Graded
from fathoms.report.prompts_table import _best
from tests.support.project import Project

ANSWERS = {"How tall is the Varn tower?": "41.5", "What does ore cost in Lune?": "17 crowns"}


@pytest.fixture
def prompted(project: Project) -> Project:
    """Two answerable questions, and a model that knows the answers only as an expert who reasons first."""
    replies = {"First list the parts": "The table says so.\nFinal answer: 41.5 and 17 crowns"}
    rows = [
        {"question": text, "answers": [[gold]], "evidence": [{"document": name, "page": 1}]}
        for (text, gold), name in zip(ANSWERS.items(), ("varn.pdf", "lune.pdf"), strict=True)
    ]
    project.write("questions.jsonl", "\n".join(map(json.dumps, rows)))
    project.write(
        "tiny.yaml",
        "data: {questions: questions.jsonl, documents: pdfs}\nchunk: {kind: page}\nretrieve: {kind: bm25}\n"
        f"generate: {{kind: scripted, replies: {json.dumps(replies)}}}\n",
    )
    return project


@pytest.mark.slow
def test_the_twelve_in_one_command(prompted: Project) -> None:
    done = prompted.fathoms("run", "tiny.yaml", "--prompts", "mrag-suite")
    assert done.returncode == 0, done.stderr
    assert len(prompted.runs()) == 12
    found = prompted.json("report", *(path.name for path in prompted.runs()))[0]["prompts"]
    correct = {row["prompt"]: row["correct"]["questions"]["value"] for row in found["rows"]}
    assert correct == {
        f"{init} {style} {reasoning}": float(reasoning == "retrieve-then-reason")
        for init in ("plain", "expert")
        for style in ("ex1", "ex3", "ex6")
        for reasoning in ("direct", "retrieve-then-reason")
    }
    best = found["best"]["questions"]
    assert best["prompt"] == best["chosen"] == "plain ex1 retrieve-then-reason"
    assert (best["as_winner"], best["value"], best["n"]) == (1, 1, 1)
    assert "best for questions: 'plain ex1 retrieve-then-reason' (1.00" in " ".join(done.stdout.split())
    refused = prompted.fathoms("run", "tiny.yaml", "--prompts", "mrag-suit")
    assert refused.returncode == 2
    assert "no set 'mrag-suit' (did you mean 'mrag-suite'?)" in " ".join(refused.stderr.split())


@pytest.mark.slow
def test_settings_are_no_sweep_of_prompts(prompted: Project) -> None:
    """These two differ in nothing but their prompts."""
    done = prompted.fathoms("run", "tiny.yaml", "--settings", "oracle,oracle-extract")
    assert done.returncode == 0, done.stderr
    report = prompted.json("report", *(path.name for path in prompted.runs()))[0]
    assert "settings" in report
    assert "prompts" not in report


def of(correct: dict[str, int]) -> dict[str, dict[str, Graded]]:
    """The questions of one data set with these answers."""
    whole = Graded("", frozenset(), frozenset(), dict.fromkeys(KINDS, 0.0))
    return {
        "d": {
            id: replace(whole, id=id, shares={**whole.shares, "correct": right})
            for id, right in correct.items()
        }
    }


def test_the_winner_has_no_luck() -> None:
    """Each prompt is right on one of the halves alone: the winner of the first is wrong on all of the
    second."""
    from fathoms.report.paired import halves

    first, second = halves("abcdef")
    scores = {
        "one": of({id: int(id in first) for id in "abcdef"}),
        "two": of({id: int(id in second) for id in "abcdef"}),
    }
    found = _best(scores, ["d"])
    assert found is not None
    assert (found["prompt"], found["as_winner"]) == ("one", 0.5)
    assert (found["chosen"], found["value"], found["n"]) == ("one", 0, 3)


def test_the_best_overall_is_the_best_mean_of_the_data_sets() -> None:
    """`even` is right on the small set and a third of the large one, `odd` on the large one alone."""
    ids = {"small": "ab", "large": "cdefgh"}
    right = {"even": {"a", "b", "c", "d"}, "odd": {"c", "d", "e", "f", "g", "h"}}
    scores = {
        prompt: {data: of({id: int(id in found) for id in some})["d"] for data, some in ids.items()}
        for prompt, found in right.items()
    }
    found = _best(scores, ["small", "large"])
    assert found is not None
    assert (found["prompt"], found["as_winner"]) == ("even", pytest.approx((1 + 2 / 6) / 2))
    assert found["n"] == 4
    large = _best(scores, ["large"])
    assert large is not None
    assert (large["prompt"], large["chosen"], large["value"]) == ("odd", "odd", 1)


def test_dimensions_of_a_prompt() -> None:
    builder = PromptBuilder(template="parts", choose={"style": "ex3", "ids": "shown"}, examples=2)
    texts = builder.texts()
    assert texts.user.count("Final answer: ") == 2, "two worked examples in the style"
    assert texts.user.endswith('begins with "Final answer:" and gives the answer.')
    assert texts.chunk == "[{document}, page {pages}]\n{text}"
    assert texts.answer_mark == "Final answer:"
    plain = PromptBuilder(template="parts").texts()
    assert plain.user.startswith("Context:\n{context}\n\nAnswer directly")
    assert (plain.chunk, plain.answer_mark) == ("{text}", "")
    for wrong, message in (
        ({"choose": {"init": "expert"}}, "need template: parts"),
        ({"template": "parts", "choose": {"styl": "ex1"}}, "did you mean 'style'"),
        ({"template": "parts", "choose": {"style": "ex2"}}, "'choose.style' has no 'ex2'"),
        ({"template": "parts", "examples": 6}, "5 'examples' at most"),
        ({"template": "parts", "user": "{question}"}, "'user' would replace the parts"),
    ):
        with pytest.raises(ValidationError, match=message):
            PromptBuilder.model_validate(wrong)
