"""Asks a judge for the same labels claim by claim and in batches, and compares both with people's.

    python benchmarks/judges/batches.py MIRAGE_DIR --to FILE.jsonl [--model qwen2.5-coder-1.5b] [--minutes 60]
    python benchmarks/judges/batches.py MIRAGE_DIR --to FILE.jsonl --figures

The labels are those of two people on the claims of MiRAGE's references, each by the answers of up to three
systems: about 900. Of each of 10 topics in turn, the next 8 claims are asked for one by one, in one call with
all texts (the default of `kind: llm`), and in one call with claims and texts in reverse order. Every reply is
appended to the file, with the probability of yes of each label, so a later call goes on with what is missing.
In a batch, it is that of the token of the label, which fathoms does not read: there it decides by the word.

`--figures` prints balanced accuracy against each person, the difference to one by one on the same labels with
a 95 % interval that resamples topics, and both with thresholds: of each topic, the one that is best on the
other topics by the same person's labels.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import labels  # beside this file
import numpy as np

from fathoms.judges.llm import LLMJudge
from fathoms.judges.several import Crossed
from fathoms.models.chat.forms import form_options
from fathoms.models.chat.llama_server import Settings, start
from fathoms.models.weights.weights import locate
from fathoms.types import Form, Judgement

Row = dict[str, Any]
Ask = Callable[[str, Form], tuple[list[float | None], list[str]]]
EACH = 8
STEPS = np.arange(0.05, 1.0, 0.05)


def main() -> None:
    """Ask for labels, or print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mirage", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--figures", action="store_true")
    args = parser.parse_args()
    runs = labels.read_mirage(args.mirage)
    people = [
        labels._labels([run for run in runs if run.name.endswith(f"annotator {one}")]) for one in (1, 2)
    ]
    if args.figures:
        print_figures([json.loads(line) for line in args.to.read_text().splitlines()])
        return
    done = (
        {tuple(json.loads(line)["chunk"]) for line in args.to.read_text().splitlines()}
        if args.to.exists()
        else set()
    )
    end = time.monotonic() + 60 * args.minutes
    judge, ask = LLMJudge(model={"kind": "embedded", "model": args.model}), asking(args.model)
    for chunk, of in chunks(people):
        if chunk in done:
            continue
        if time.monotonic() > end:
            break
        row: Row = {
            "chunk": chunk,
            "people": [[one[each]["label"] == "supported" for each in of] for one in people],
        }
        for way, wanted in (("one", one_by_one), ("batch", batch), ("reversed", reverse)):
            began = time.process_time(), time.monotonic()
            row[way] = wanted(judge, of, ask)
            row[f"{way} s"] = [
                round(time.process_time() - began[0], 1),
                round(time.monotonic() - began[1], 1),
            ]
        with args.to.open("a") as file:
            file.write(json.dumps(row) + "\n")


def chunks(people: list[dict[Judgement, labels.Row]]) -> Iterator[tuple[tuple[str, int], list[Judgement]]]:
    """Yield 8 claims by all texts of a topic, topic by topic, with what names them."""
    topics: dict[str, dict[str, list[Judgement]]] = {}
    for one in people[0]:
        if one in people[1] and not one.context:  # claims of answers have a sentence
            topics.setdefault(people[0][one]["group"], {}).setdefault(one.claim, []).append(one)
    rng = random.Random(0)
    drawn = {topic: rng.sample(list(topics[topic].values()), len(topics[topic])) for topic in sorted(topics)}
    for start_at in range(0, max(map(len, drawn.values())), EACH):
        for topic, claims in drawn.items():
            if of := [one for each in claims[start_at : start_at + EACH] for one in each]:
                yield (topic, start_at), of


def asking(model: str) -> Ask:
    """Return what asks a model and returns the words of its reply, and the probability of yes of each."""
    server = start(Settings(model=str(locate(model)), projector=None, n_ctx=4096, threads=2), "key")
    client = httpx.Client(headers={"Authorization": "Bearer key"}, timeout=None, trust_env=False)

    def ask(prompt: str, form: Form) -> tuple[list[float | None], list[str]]:
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": 600,
            "temperature": 0,
            "top_k": 0,
            "min_p": 0.0,
            "cache_prompt": True,
            **form_options(form),
            "logprobs": True,
            "top_logprobs": 20,
        }
        reply = client.post(f"{server.listening_address}/v1/chat/completions", json=body).json()["choices"][0]
        found = [_shares(token) for token in reply["logprobs"]["content"]]
        words = [word for word, _ in filter(None, found)]
        return [p for _, p in filter(None, found)], words

    return ask


def _shares(token: Row) -> tuple[str, float | None] | None:
    """Return the word of a token that is a label, and the share of yes of both words."""
    word = token["token"].strip(' "').lower()
    if word not in ("yes", "no"):
        return None
    shares = {"yes": 0.0, "no": 0.0}
    for one in token["top_logprobs"]:
        if (other := one["token"].strip(' "').lower()) in shares:
            shares[other] += math.exp(one["logprob"])
    total = sum(shares.values())
    return word, shares["yes"] / total if total else None


def one_by_one(judge: LLMJudge, of: list[Judgement], ask: Ask) -> list[Any]:
    """Ask for each label alone, those of one text in a row."""
    form = Form(choices=("yes", "no"), probabilities=True)
    found = {}
    for one in sorted(of, key=lambda each: each.premise):
        (p,), (word,) = ask(judge._messages(one, one.premise)[0].text, form)
        found[one] = [word == "yes", p]
    return [found[one] for one in of]


def batch(judge: LLMJudge, of: list[Judgement], ask: Ask) -> list[Any] | None:
    """Ask for all labels in one call; `None` if some are missing."""
    crossed = Crossed(of, {one.premise: one.premise for one in of})
    values = {"texts": crossed.listed_texts, "claims": crossed.listed_claims}
    p, words = ask(judge._messages(of[0], "", values)[0].text, crossed.form(("yes", "no")))
    cells = [(claim, text) for claim, texts in crossed.of.items() for text in texts]
    if len(words) != len(cells):
        return None
    found = dict(zip(cells, zip((word == "yes" for word in words), p, strict=True), strict=True))
    return [list(found[cell]) for cell in crossed.cells]


def reverse(judge: LLMJudge, of: list[Judgement], ask: Ask) -> list[Any] | None:
    """Ask for all labels in one call, with the claims and the texts in reverse order."""
    found = batch(judge, of[::-1], ask)
    return found and found[::-1]


def print_figures(rows: list[Row]) -> None:
    """Print the balanced accuracy of each way, and its difference to one by one."""
    rows = [row for row in rows if row["batch"] and row["reversed"]]
    topic = np.array([row["chunk"][0] for row in rows for _ in row["one"]])
    p = {
        way: np.array([one[1] for row in rows for one in row[way]], float)
        for way in ("one", "batch", "reversed")
    }
    words = {way: np.array([one[0] for row in rows for one in row[way]], bool) for way in p}
    p["mean of both orders"] = (p["batch"] + p["reversed"]) / 2
    said = words | {
        "yes in both orders": words["batch"] & words["reversed"],
        "mean of both orders": p["mean of both orders"] >= 0.5,
    }
    print(f"{len(topic)} labels of {len(rows)} x {EACH} claims, {len(set(topic))} topics")
    for way in ("one", "batch", "reversed"):
        seconds = np.sum([row[f"{way} s"] for row in rows], axis=0)
        print(
            f"{way}: {seconds[0]:.0f} s of CPU, {seconds[1]:.0f} s;",
            f"same word as one by one: {np.mean(words[way] == words['one']):.2f}",
        )
    for person in (0, 1):
        truth = np.array([one for row in rows for one in row["people"][person]], bool)
        print(f"\nperson {person + 1}: {truth.sum()} supported")
        ways = said | {f"{way}, threshold": _with_threshold(one, truth, topic) for way, one in p.items()}
        for way, guess in ways.items():
            print(f"{way}: {balanced(truth, guess):.3f}, yes {guess.mean():.2f}", end="")
            for other in ("one", "one, threshold"):
                less = balanced(truth, guess) - balanced(truth, ways[other])
                low, high = _interval(truth, guess, ways[other], topic)
                print(f"; less {other}: {less:+.3f} ({low:+.3f} to {high:+.3f})", end="")
            print()


def balanced(truth: np.ndarray, guess: np.ndarray) -> float:
    """The mean of the share of supported claims found and of the share of others refused."""
    return float((guess[truth].mean() + (~guess)[~truth].mean()) / 2)


def _with_threshold(p: np.ndarray, truth: np.ndarray, topic: np.ndarray) -> np.ndarray:
    """Say yes from a threshold on, which is the best on the other topics."""
    said = np.zeros(len(p), bool)
    for own in set(topic):
        others = topic != own
        best = max(STEPS, key=lambda step: balanced(truth[others], p[others] >= step))
        said[~others] = p[~others] >= best
    return said


def _interval(
    truth: np.ndarray, guess: np.ndarray, other: np.ndarray, topic: np.ndarray
) -> tuple[float, float]:
    """The 95 % interval of a difference, by resampling topics."""
    rng = np.random.default_rng(0)
    places = [np.flatnonzero(topic == one) for one in sorted(set(topic))]
    drawn = []
    for _ in range(2000):
        at = np.concatenate([places[one] for one in rng.integers(len(places), size=len(places))])
        drawn.append(balanced(truth[at], guess[at]) - balanced(truth[at], other[at]))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(high)


if __name__ == "__main__":
    main()
