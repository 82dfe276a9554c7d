"""The worked examples of docs/phrase-recall.md are what the code says."""

from __future__ import annotations

import json
import re

from fathoms.metrics import PROFILES, phrase_recall
from tests.support.doc_pages import DOCS

ROWS = re.findall(
    r"^\| `(\[\[.*\]\])` \| (.+?) \| (\d\.\d\d) \| (\d\.\d\d) \|$",
    (DOCS / "phrase-recall.md").read_text(),
    re.MULTILINE,
)


def test_there_are_examples() -> None:
    assert len(ROWS) == 24


def test_every_example_has_the_printed_recall() -> None:
    for gold, answer, paper, fathoms in ROWS:
        printed = {"paper": paper, "fathoms": fathoms}
        for profile in PROFILES:
            if profile.name in printed:
                found = phrase_recall(answer, json.loads(gold), profile.match, profile.hyphens)
                assert f"{found.value:.2f}" == printed[profile.name], (gold, answer, profile.name)
