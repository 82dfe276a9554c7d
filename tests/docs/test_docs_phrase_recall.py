"""The worked examples of docs/phrase-recall.md and docs/data.md are what the code says."""

from __future__ import annotations

import json
import re

from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.profiles import PROFILES
from fathoms.types import Question
from tests.support.doc_pages import DOCS

ROWS = re.findall(
    r"^\| `(\[\[.*\]\])` \| (.+?) \| (\d\.\d\d) \| (\d\.\d\d) \|$",
    (DOCS / "phrase-recall.md").read_text(),
    re.MULTILINE,
)
FORMS = re.findall(r"^\| `(\{.*\})` \| (.+?) \| (.+?) \|$", (DOCS / "data.md").read_text(), re.MULTILINE)


def test_there_are_examples() -> None:
    assert (len(ROWS), len(FORMS)) == (28, 7)


def test_every_example_has_the_printed_recall() -> None:
    for gold, answer, paper, fathoms in ROWS:
        variants = Question(id="q", text="q", category="c", answers=json.loads(gold)).answers
        printed = {"paper": paper, "fathoms": fathoms}
        for profile in PROFILES:
            if profile.name in printed:
                found = phrase_recall(answer, variants, profile.match, profile.hyphens)
                assert f"{found.value:.2f}" == printed[profile.name], (gold, answer, profile.name)


def test_every_richer_form_finds_what_the_table_says() -> None:
    for form, found, absent in FORMS:
        gold = json.loads(form.replace(r"\|", "|"))
        variants = Question(id="q", text="q", category="c", answers=[[gold]]).answers
        for cell, value in ((found, 1), (absent, 0)):
            for answer in cell.split("; "):
                assert phrase_recall(answer, variants, "word").value == value, (form, answer)
