"""Trains the abstention classifier `kind: linear`, and writes its weights.

    python benchmarks/abstention/train.py ../shared/data/abstention

1. The sentence scores are learnt only from text that was written for fathoms: the templates in
   `sentences.yaml`, the answers in tests/metrics/abstention_answers.yaml, and fathoms/metrics/exemplars.yaml.
   The words that they know are those of the same text and of `words.yaml`. No answer of a model is read here.
2. The features of whole answers are weighed by a logistic regression on the written answers and on two
   labelled sets: `dev.jsonl` (answers that FATHOMS-RAG released, without a licence) and `other-domains.jsonl`
   (answers of MMDocRAG's repository, CC-BY-NC-4.0). What is kept of these is one number per feature, and the
   threshold.

It needs scikit-learn, which is not a dependency of fathoms. The result depends on nothing random.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression

from fathoms.metrics.answer_features import BUCKETS, HEADS, Lexicon, features, split_sentences
from fathoms.metrics.linear import WEIGHTS
from fathoms.metrics.linear_weights import Weights, sentence_matrix
from fathoms.paths import sha256_file

HERE = Path(__file__).parent
EXEMPLARS = HERE.parents[1] / "fathoms" / "metrics" / "exemplars.yaml"
ANSWERS = HERE.parents[1] / "tests" / "metrics" / "abstention_answers.yaml"
SEED, FILLINGS = 7, 40
WRITTEN_WEIGHT = 0.3
"""What a written answer counts for, where an answer of a model counts 1."""
STRENGTH = 0.02
"""The inverse strength of the regularisation of the second model (scikit-learn's C)."""
STEP = 1 / 512
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|[\u3040-\u30ff\u3400-\u9fff]")
UNABLE = re.compile(
    r"\{find\}|cannot|insufficient|unable|impossible|unknown|know|enough|would need|unanswerable"
    r"|conclusion|possible"
    r"|impossible|peux|permettent|puedo|posible|suficiente|kann|möglich|weiß|无法|不足|不知道|できません|わかりません|不足"
    r"|يمكن|أعرف|أستطيع|كافية"
)


class Row(NamedTuple):
    """A labelled answer: where it comes from, the model and the question, and whether it abstains."""

    source: str
    model: str
    question: str
    answer: str
    abstains: bool
    id: str


class SentenceModel(NamedTuple):
    """The weights of the first step."""

    classes: dict[str, list[str]]
    words: list[str]
    weights: Weights


def main(folder: Path) -> None:
    """Write the weights, and print their hash."""
    first = sentence_model()
    labelled, written = read_labelled(folder), written_answers()
    answers, threshold = fit(
        describe(first, [row.answer for row in labelled]),
        [row.abstains for row in labelled],
        [row.question for row in labelled],
        describe(first, [text for text, _ in written]),
        [abstains for _, abstains in written],
    )
    words = json.dumps({"classes": first.classes, "words": first.words}, ensure_ascii=False).encode()
    np.savez_compressed(
        WEIGHTS,
        words=np.frombuffer(words, dtype=np.uint8),
        sentences=first.weights.sentences,
        step=np.float64(STEP),
        bias=first.weights.bias,
        answers=answers,
        threshold=np.float64(threshold),
    )
    print(f"{WEIGHTS}: {WEIGHTS.stat().st_size} bytes, WEIGHTS_SHA256 = {sha256_file(WEIGHTS)}")


def read_labelled(folder: Path) -> list[Row]:
    """The answers of both labelled sets that are a statement or an abstention; hedged ones are left out."""
    rows = []
    for source in ("dev", "other-domains"):
        for line in (folder / f"{source}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["label"] in ("statement", "abstention"):
                question = f"{source} {row.get('question', row.get('q_id'))}"
                abstains = row["label"] == "abstention"
                rows.append(Row(source, row["run"], question, row["answer"], abstains, row["id"]))
    return rows


def written_answers() -> list[tuple[str, bool]]:
    """The answers that were written for the tests, and the exemplars of fathoms, and whether they abstain."""
    groups = yaml.safe_load(ANSWERS.read_text(encoding="utf-8"))
    exemplars = yaml.safe_load(EXEMPLARS.read_text(encoding="utf-8"))
    rows = []
    for label in ("abstention", "statement"):
        texts = [text for group in groups[label].values() for text in group]
        texts += [*groups["still wrong"][label], *exemplars[label]]
        rows += [(text, label == "abstention") for text in texts]
    return rows


def written_sentences() -> tuple[list[tuple[str, str, bool]], set[str]]:
    """The templates with their places filled: what the sentence does, the text, and whether it says that the
    question cannot be answered; and the words of the templates, without those of a document's subject."""
    spec = yaml.safe_load((HERE / "sentences.yaml").read_text(encoding="utf-8"))
    places, dice = spec["open"] | spec["closed"], random.Random(SEED)
    known = {
        word for texts in spec["closed"].values() for text in texts for word in WORD.findall(text.lower())
    }
    rows = []
    for kind in ("stop", "refuse", "commit", "other", "aside"):
        for template in spec[kind]:
            known.update(WORD.findall(re.sub(r"\{\w+\}", " ", template).lower()))
            for _ in range(FILLINGS if "{" in template else 1):
                text = re.sub(r"\{(\w+)\}", lambda place: dice.choice(places[place[1]]), template)
                rows.append((kind, text, kind == "stop" and UNABLE.search(template) is not None))
    return rows, known


@lru_cache(maxsize=1)
def sentence_model() -> SentenceModel:
    """Learn the scores of sentences from written text."""
    templates, known = written_sentences()
    answers = written_answers()
    counts = Counter(word for text, _ in answers for word in set(WORD.findall(text.lower())))
    words = sorted(known | {word for word, count in counts.items() if count >= 3})
    classes = yaml.safe_load((HERE / "words.yaml").read_text(encoding="utf-8"))
    classes = {name: list(dict.fromkeys(text.split())) for name, text in classes.items()}
    lexicon = Lexicon(classes, words)

    rows = [(kind, part, unable) for kind, text, unable in templates for part in split_sentences(text)]
    kinds = np.array([kind for kind, _, _ in rows])
    unable = np.array([each for _, _, each in rows])
    plain = kinds != "aside"  # an answer that concedes something is neither silent nor not
    matrix = to_matrix(lexicon, [text for _, text, _ in rows])
    silent = np.isin(kinds, ("stop", "refuse"))
    models = {
        "commits": fitted(matrix, np.isin(kinds, ("commit", "aside"))),
        "refuses": fitted(matrix, kinds == "refuse"),
        "silent": fitted(matrix[plain], silent[plain]),
    }
    # The sentences of written answers have no labels of their own. Those of an abstention that the model
    # takes for one so far, or the likeliest, are learnt as such; of others, those that it takes for none.
    parts = [split_sentences(text) for text, _ in answers]
    real = to_matrix(lexicon, [part for each in parts for part in each])
    for _ in range(2):
        score, place = models["silent"].decision_function(real), 0
        label, used = np.zeros(len(score), dtype=bool), np.ones(len(score), dtype=bool)
        for (_, abstains), each in zip(answers, parts, strict=True):
            here = slice(place, place + len(each))
            place += len(each)
            if abstains:
                label[here] = (score[here] > 0) | (score[here] == score[here].max())
                used[here] = label[here] | (score[here] <= -2)
            else:
                used[here] = score[here] <= 0
        models["silent"] = fitted(vstack([matrix[plain], real[used]]), np.r_[silent[plain], label[used]])
    spoken = models["silent"].decision_function(real) < -1
    models["unable"] = fitted(
        vstack([matrix, real[spoken]]), np.r_[unable, np.zeros(spoken.sum(), dtype=bool)]
    )
    table = np.stack([models[head].coef_[0] for head in HEADS], axis=1)
    bias = np.array([models[head].intercept_[0] for head in HEADS]).round(4)
    steps = np.clip(np.round(table / STEP), -32767, 32767).astype(np.int16)
    weights = Weights(lexicon, steps, STEP, bias, np.zeros(0), 0.0)
    return SentenceModel(classes, words, weights)


def fitted(matrix: Any, labels: Any) -> LogisticRegression:
    """A logistic regression on n-grams."""
    return LogisticRegression(C=10, max_iter=300, solver="liblinear", random_state=0).fit(matrix, labels)


def to_matrix(lexicon: Lexicon, texts: Sequence[str]) -> Any:
    """The n-grams of sentences as a sparse matrix."""
    values, rows, columns = sentence_matrix(lexicon, texts)
    return csr_matrix((values, (rows, columns)), shape=(len(texts), BUCKETS))


def describe(first: SentenceModel, texts: Sequence[str]) -> Any:
    """The features of answers, one row each."""
    return np.array(
        [features(first.weights.score_sentences(split_sentences(text) or ["?"]), len(text)) for text in texts]
    )


def fit(
    rows: Any, abstains: Sequence[bool], groups: Sequence[str], written: Any, written_abstain: Sequence[bool]
) -> tuple[Any, float]:
    """Learn the weights of the features of answers, and the threshold, which is chosen by inner folds that
    keep `groups` together."""
    labels = np.array(abstains)
    folds = np.array([number_of(group) % 5 for group in groups])
    scores = np.zeros(len(rows))
    for fold in range(5):
        held = folds == fold
        if held.any():
            weights, bias = _logistic(rows[~held], labels[~held], written, written_abstain)
            scores[held] = rows[held] @ weights + bias
    weights, bias = _logistic(rows, labels, written, written_abstain)
    return weights.round(6), round(best_threshold(scores, labels) - bias, 6)


def best_threshold(scores: Any, labels: Any) -> float:
    """The middle of the thresholds (log-odds) with the highest mean F1 of three neighbours."""
    grid = np.arange(-2.0, 1.01, 0.1)
    f1s = np.array([f1(scores > at, labels) for at in grid])
    smooth = np.convolve(np.pad(f1s, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    return float(np.mean(grid[smooth >= smooth.max() - 1e-9]))


def f1(said: Any, labels: Any) -> float:
    """F1 of abstention."""
    return float(2 * (said & labels).sum() / max(said.sum() + labels.sum(), 1))


def number_of(text: str) -> int:
    """A number that depends on the text alone, for folds."""
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big")


def _logistic(rows: Any, labels: Any, written: Any, written_abstain: Sequence[bool]) -> tuple[Any, float]:
    """A logistic regression on standardised features: weights of the features as they are, and the bias."""
    every = np.vstack([rows, written])
    weight = np.r_[np.ones(len(rows)), np.full(len(written), WRITTEN_WEIGHT)]
    base = rows if len(rows) else written
    mean, spread = base.mean(axis=0), base.std(axis=0) + 1e-6
    model = LogisticRegression(C=STRENGTH, max_iter=2000, tol=1e-8)
    model.fit((every - mean) / spread, np.r_[labels, written_abstain].astype(bool), sample_weight=weight)
    weights = model.coef_[0] / spread
    return weights, float(model.intercept_[0] - mean @ weights)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
