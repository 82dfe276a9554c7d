"""Measures how often an excerpt of a long premise holds the sentence that a claim was made of.

python benchmarks/judges/excerpts.py MIRAGE_DIR

MiRAGE's `human_eval_subset.json` has whole articles by sentences, and the claims of each sentence. The
premise is the article.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from fathoms.judges.excerpts import Excerpts
from fathoms.text.amounts import percent
from fathoms.types import Judgement


def main() -> None:
    """Print the share of claims whose sentence is shown, and of the words that are shown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirage", type=Path)
    topics = json.loads((parser.parse_args().mirage / "human_eval_subset.json").read_text())
    for retrieve in (1, 3):
        excerpts = Excerpts(retrieve=retrieve)
        count = claims = shown = words = 0
        for topic in topics.values() if isinstance(topics, dict) else topics:
            sentences = [" ".join(one.split()) for one in topic["original_article"]]
            article = "\n".join(sentences)
            for sentence, result in zip(sentences, topic["claims"], strict=True):
                for claim in result:
                    part = excerpts.of(article, [Judgement(claim=claim, premise=article)])
                    count += sentence in part.replace("[...] ", "")
                    claims += 1
                    shown += len(part.split())
                    words += len(article.split())
        print(
            f"retrieve: {retrieve}: the sentence of {percent(count / claims, 1)} of {claims} claims is shown,"
            f" with {percent(shown / words, 1)} of {words / claims:.0f} words"
        )


if __name__ == "__main__":
    main()
