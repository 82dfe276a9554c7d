"""Phrase matching in the six languages of Double-Bench, and the table of it in docs/phrase-recall.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.types import Question
from tests.support.doc_pages import DOCS

ANSWERS = {
    name: yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8"))
    for name in ("phrases_languages", "phrases_languages_held_out")
}
SECTION = (DOCS / "phrase-recall.md").read_text(encoding="utf-8").partition("\n## Other languages\n")[2]
PRINTED = {
    row[0]: re.findall(r"(\d+) of (\d+)", row[1])
    for row in re.findall(r"^\| ([A-Z]\w+) \|(.*)$", SECTION, re.M)
}
"""What the table prints for each language: found, and found wrongly; then the same for those held out."""


def found(gold: object, answer: str) -> bool:
    variant = gold if isinstance(gold, list) else [gold]
    question = Question.model_validate({"id": "q", "text": "q", "category": "c", "answers": [variant]})
    return phrase_recall(answer, question.answers, "word").value == 1


def test_there_are_fifty_answers_in_each_language() -> None:
    sizes = {
        language: {label: len(rows) for label, rows in groups.items()}
        for language, groups in ANSWERS["phrases_languages"].items()
    }
    assert sizes == {language: {"contained": 30, "absent": 20} for language in PRINTED}


@pytest.mark.parametrize("language", sorted(PRINTED))
def test_the_table_shows_what_is_found(language: str) -> None:
    counts = [
        (str(sum(found(*row) for row in answers[language][label])), str(len(answers[language][label])))
        for answers in ANSWERS.values()
        if language in answers
        for label in ("contained", "absent")
    ]
    assert PRINTED[language] == counts
