"""Whether a judge tells hops that build on one another from hops that are only joined: 20 questions on the
sample corpus, in `hops.jsonl`, of which the category says it. Prints each wrong verdict and the counts."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

from fathoms.corpora import read_questions
from fathoms.extras.questions.inspecting import LINKED, inspect
from fathoms.judges.of_run import read_judge
from fathoms.models.caching import ReplyCache
from fathoms.runs.cache import Cache

QUESTIONS = Path(__file__).with_name("hops.jsonl")


def main(judge: Path) -> None:
    """Judge all questions, and compare the verdicts with their categories."""
    questions = read_questions(QUESTIONS).questions
    with closing(Cache()) as cache:
        found = inspect(questions, {}, read_judge(judge), ReplyCache(cache), items=lambda one: (LINKED,))
    said: Counter[tuple[str, str]] = Counter()
    for one in questions:
        verdict = "linked" if found[one.id].passed else "joined" if found[one.id].checks else "not judged"
        said[one.category, verdict] += 1
        if verdict != one.category:
            reason = next((check.reason for check in found[one.id].checks), "")
            print(f"{one.id} is {one.category}, and said to be {verdict}: {reason}")
    for (category, verdict), number in sorted(said.items()):
        print(f"{category}, said to be {verdict}: {number}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
