"""Measures how well answers are split into claims, against the claims that MiRAGE released.

    python benchmarks/judges/extraction.py MIRAGE_DIR [--model qwen2.5-coder-1.5b] [--answers 30] [--write]
    python benchmarks/judges/extraction.py MIRAGE_DIR --ragchecker FILE     how the threshold was chosen

Without `--model`, each sentence is one claim. With it, the language model of a judge splits `--answers` of
the 30 answers, drawn at random with a fixed seed; its replies are stored in the cache folder, so that a
second call goes on. `--write` puts the figures into `fathoms/metrics/claims/extraction.yaml`, from which
reports print them. The rule of matching is that of `fathoms/metrics/claims/extraction.py`; the intervals
resample topics.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import yaml

from fathoms.importers.mirage_release import Answer, find_release
from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.llm import LLMJudge
from fathoms.metrics.claims.extraction import (
    FILE,
    THRESHOLD,
    Extraction,
    Matched,
    Share,
    confusable,
    matched,
    measured,
)
from fathoms.models.caller import Caller
from fathoms.models.sentences import sentences
from fathoms.paths import cache_dir
from fathoms.text.amounts import percent

SOURCE = "MiRAGE"
Split = dict[tuple[str, str], list[str] | None]
"""The claims of each answer by its text and topic; `None` where splitting failed."""


def main() -> None:
    """Split the answers, match the claims, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirage", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--answers", type=int, default=30)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--ragchecker", type=Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.ragchecker:
        _print_threshold(args.ragchecker)
        return
    release = find_release(args.mirage)
    answers = [
        (topic, answer) for system in release.answers.values() for topic, answer in sorted(system.items())
    ]
    random.Random(0).shuffle(answers)
    answers = answers[: args.answers]
    started = time.perf_counter()
    split = _by_model(answers, args.model, args.threads) if args.model else _by_sentence(answers)
    seconds = time.perf_counter() - started
    found = _figures(args.model or "sentences", answers, split)
    print(found.sentence)
    print(json.dumps(found.model_dump(), indent=1))
    print(f"{seconds:.0f} s; {found.failed} answers could not be split")
    for threshold in (0.5, 0.8):
        rows = [row for _, row in _rows(answers, split, threshold)]
        print(f"with a threshold of {threshold}: precision {_rate(rows, 1):.3f}, recall {_rate(rows, 2):.3f}")
    if args.write:
        known = {**measured(), found.decomposer: found}
        text = yaml.safe_dump([row.model_dump() for row in known.values()], sort_keys=False)
        FILE.write_text("# Written by benchmarks/judges/extraction.py --write.\n" + text)


def _by_sentence(answers: Sequence[tuple[str, Answer]]) -> Split:
    """Each sentence is one claim."""
    return {(answer.prediction, topic): sentences(answer.prediction) for topic, answer in answers}


def _by_model(answers: Sequence[tuple[str, Answer]], model: str, threads: int | None) -> Split:
    """Split by an embedded language model, as a judge does it."""
    options = {"kind": "embedded", "model": model, "n_ctx": 4096, "max_tokens": 1500, "threads": threads}
    judge = LLMJudge.model_validate({"model": options})
    texts = [(answer.prediction, topic.replace("_", " ")) for topic, answer in answers]
    judged = Judged()
    bench = Bench(judge, VerdictJournal(cache_dir() / "extraction"), Caller(), Spending(), _say)
    asyncio.run(bench.split(texts, "model", judged))
    return {
        (answer.prediction, topic): [claim.text for claim in judged.claims[text]]
        if text in judged.claims
        else None
        for text, (topic, answer) in zip(texts, answers, strict=True)
    }


def _say(done: int, total: int) -> None:
    print(f"{done} of {total} answers are split", flush=True)


def _rows(
    answers: Sequence[tuple[str, Answer]], split: Split, threshold: float = THRESHOLD
) -> list[tuple[str, Matched]]:
    """Match each answer that could be split."""
    return [
        (topic, matched(claims, [claim for part in answer.claims for claim in part], threshold))
        for topic, answer in answers
        if (claims := split[answer.prediction, topic]) is not None
    ]


def _figures(name: str, answers: Sequence[tuple[str, Answer]], split: Split) -> Extraction:
    """Return the figures over all answers that could be split."""
    rows = _rows(answers, split)
    counts = [row for _, row in rows]
    length = sum(len(a.sentences) for topic, a in answers if split[a.prediction, topic] is not None)
    claims, released = sum(row.extracted for row in counts), sum(row.released for row in counts)
    return Extraction(
        decomposer=name,
        precision=_share(rows, lambda found: _rate(found, 1)),
        recall=_share(rows, lambda found: _rate(found, 2)),
        claims_a_sentence=round(claims / length, 3),
        released_a_sentence=round(released / length, 3),
        answers=len(rows),
        claims=claims,
        released=released,
        failed=len(answers) - len(rows),
        source=SOURCE,
    )


def _rate(rows: Sequence[Matched], column: int) -> float:
    """Return matched claims per extracted (1) or released (2) ones."""
    return sum(row.matched for row in rows) / max(1, sum(row[column] for row in rows))


def _share(rows: Sequence[tuple[str, Matched]], rate: Callable[[Sequence[Matched]], float]) -> Share:
    """Return a share with a percentile bootstrap interval over topics."""
    topics = sorted({topic for topic, _ in rows})
    by_topic = {topic: [row for other, row in rows if other == topic] for topic in topics}
    rng = np.random.default_rng(0)
    drawn = [
        rate([row for at in rng.integers(0, len(topics), len(topics)) for row in by_topic[topics[at]]])
        for _ in range(2000)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    value = rate([row for _, row in rows])
    return Share(value=round(value, 4), low=round(float(low), 4), high=round(float(high), 4))


def _print_threshold(file: Path) -> None:
    """Print how many released claims of RAGChecker are similar to another claim of the same text."""
    results = json.loads(file.read_text())["results"]
    lists = [
        [" ".join(claim) for claim in result[key]]
        for result in results
        for key in ("response_claims", "gt_answer_claims")
    ]
    size = sum(map(len, lists))
    for threshold in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8):
        number = sum(confusable(claims, threshold) for claims in lists)
        print(f"{threshold:.2f}: {number} of {size} ({percent(number / size, 1)})")


if __name__ == "__main__":
    main()
