"""Writes released labels of claims as label files for `fathoms agree`.

    python benchmarks/judges/labels.py MIRAGE_DIR --to FOLDER [--each 8] [--seed 0] [--every-answer]
    python benchmarks/judges/labels.py --ragchecker checking_outputs.json --to FOLDER
    fathoms agree FOLDER/people-1.jsonl --judge JUDGE.yaml [--against OTHER.yaml]

RAGChecker's labels are those of its own checker, not of people, and all of them are written, to
`ragchecker.jsonl`. Of MiRAGE, two people judged the claims. Both files have the same claims, `people-1.jsonl`
with the labels of the first person. Of each of 10 topics, `--each` claims of the three systems' answers, to
be compared with the reference, and as many claims of the reference, to be compared with one of the answers,
are drawn at random; the answer is drawn, too. With `--every-answer`, the claims of the reference alone are
drawn, to be compared with the answers of all three systems, so that several texts can share a call. It prints
how far the two people agree.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from fathoms.extras.exchange.reading.mirage import read_mirage
from fathoms.extras.exchange.reading.ragchecker import read_ragchecker
from fathoms.importers.imported import Imported
from fathoms.judges.agreement import figures
from fathoms.metrics.said import judged_text
from fathoms.types import Judgement

Row = dict[str, str]


def main() -> None:
    """Draw the claims and write both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirage", type=Path, nargs="?")
    parser.add_argument("--ragchecker", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every-answer", action="store_true")
    args = parser.parse_args()
    if (args.mirage is None) == (args.ragchecker is None):
        parser.error("Give either MiRAGE's folder or --ragchecker FILE.")
    args.to.mkdir(parents=True, exist_ok=True)
    if args.ragchecker:
        _write(args.to / "ragchecker.jsonl", _checked(args.ragchecker))
        return
    runs = read_mirage(args.mirage)
    people = [_labels([run for run in runs if run.name.endswith(f"annotator {one}")]) for one in (1, 2)]
    shared = [one for one in people[0] if one in people[1]]
    draw = _of_every_answer if args.every_answer else _drawn
    drawn = draw(shared, people[0], args.each, random.Random(args.seed))
    for number, labels in enumerate(people, 1):
        _write(args.to / f"people-{number}.jsonl", [labels[one] for one in drawn])
    for name, chosen in (("all", shared), ("drawn", drawn)):
        first, second = ([labels[one]["label"] == "supported" for one in chosen] for labels in people)
        print(f"{name}: {len(chosen)} claims, supported {sum(first)} and {sum(second)};", end=" ")
        print({key: value and round(value, 3) for key, value in figures(first, second, []).items()})


def _write(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(path, len(rows))


def _checked(path: Path) -> list[Row]:
    """The labels of RAGChecker's checker, with the questions as groups."""
    run, rows = read_ragchecker(path), []
    groups: dict[str, str] = {}
    for record in run.records:
        texts = (record.question.reference, record.answer.text if record.answer else None)
        hits = (hit.chunk.text for hit in record.hits or ())
        groups |= {text: record.question.id for text in (*texts, *hits) if text}
    for judgement, verdict in run.judged.verdicts.items() if run.judged else ():
        label = "supported" if verdict.supports else "unsupported"
        group = groups[judgement.premise]
        rows.append({"claim": judgement.claim, "premise": judgement.premise, "label": label, "group": group})
    return rows


def _labels(runs: list[Imported]) -> dict[Judgement, Row]:
    """The labels of one person on all systems, with the topics as groups."""
    found: dict[Judgement, Row] = {}
    for run in runs:
        topics: dict[str, str] = {}
        for record in run.records:
            texts = (record.question.reference, judged_text(record) if record.answer else None)
            topics |= {text: record.question.id for text in texts if text}
        for judgement, verdict in run.judged.verdicts.items() if run.judged else ():
            known = {"claim": judgement.claim, "premise": judgement.premise, "context": judgement.context}
            found[judgement] = {**known, "label": verdict.label, "group": topics[judgement.premise]}
    return found


def _drawn(
    shared: list[Judgement], rows: dict[Judgement, Row], each: int, rng: random.Random
) -> list[Judgement]:
    """Draw claims of each topic against the reference, and against one of the answers."""
    by_premise: dict[str, list[Judgement]] = {}
    for one in shared:
        by_premise.setdefault(one.premise, []).append(one)
    drawn: list[Judgement] = []
    for topic in sorted({rows[one]["group"] for one in shared}):
        own = [claims for claims in by_premise.values() if rows[claims[0]]["group"] == topic]
        against_reference = [
            claims for claims in own if claims[0].context
        ]  # claims of answers have a sentence
        against_answers = sorted(
            (claims for claims in own if not claims[0].context), key=lambda claims: claims[0].premise
        )
        for claims in (*against_reference, rng.choice(against_answers)):
            drawn += rng.sample(claims, each)
    return drawn


def _of_every_answer(
    shared: list[Judgement], rows: dict[Judgement, Row], each: int, rng: random.Random
) -> list[Judgement]:
    """Draw claims of the reference of each topic, and return them against every answer."""
    texts: dict[str, dict[str, list[Judgement]]] = {}
    for one in shared:
        if not one.context:  # claims of answers have a sentence
            texts.setdefault(rows[one]["group"], {}).setdefault(one.claim, []).append(one)
    drawn: list[Judgement] = []
    for topic in sorted(texts):
        most = max(map(len, texts[topic].values()))
        claims = [found for found in texts[topic].values() if len(found) == most]
        drawn += [one for found in rng.sample(claims, min(each, len(claims))) for one in found]
    return drawn


if __name__ == "__main__":
    main()
