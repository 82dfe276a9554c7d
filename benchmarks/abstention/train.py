"""Trains the abstention classifier `kind: linear`, and writes its weights.

    python benchmarks/abstention/train.py ../shared/data/abstention

1. The sentence scores are learnt only from text that was written for fathoms: the templates in
   `sentences.yaml`, the answers in `answers*.yaml` and in tests/metrics/abstention_answers.yaml, and
   fathoms/metrics/exemplars.yaml. The words that they know are those of the same text and of `words.yaml`. No
   answer of a model is read here.
2. The features and n-grams of whole answers are weighed by a logistic regression on the written answers and
   on two labelled sets: `dev.jsonl` (answers that FATHOMS-RAG released, without a licence) and
   `other-domains.jsonl` (answers of MMDocRAG's repository, CC-BY-NC-4.0), with more released answers of both,
   which `labels.yaml` labels. What is kept of these is one number
   per feature, one per bucket of n-grams that at least three answers have, and the bias. A bucket is a hash,
   so no text can be recovered from it. The features alone are weighed once more, for answers whose
   n-grams are hardly known, as in other languages. Written answers are also learnt with what services put
   before and after them (`endings.yaml`), which does not change whether they abstain.
3. Answers on which these weights are in doubt are decided by their certainty and by what the cues of
   `kind: cues` say of them. How much these count is learnt from the certainty of weights that were learnt
   from the other half of the answers, because weights are too certain of answers they were learnt from.

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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from scipy.sparse import csr_matrix, diags, hstack, vstack
from sklearn.linear_model import LogisticRegression

from fathoms.answers import read
from fathoms.metrics.answer_features import BUCKETS, HEADS, WIDE, Lexicon, features, split_sentences
from fathoms.metrics.cues import cue_features
from fathoms.metrics.labels import classified_text
from fathoms.metrics.linear import WEIGHTS
from fathoms.metrics.linear_weights import DOUBT, Hashed, Weights, sentence_matrix
from fathoms.paths import sha256_file

HERE = Path(__file__).parent
EXEMPLARS = HERE.parents[1] / "fathoms" / "metrics" / "exemplars.yaml"
ANSWERS = HERE.parents[1] / "tests" / "metrics" / "abstention_answers.yaml"
SEED, FILLINGS, WHOLE = 7, 40, 3
"""The seed of the places, and how often a template is learnt: with places to fill, and without."""
WRITTEN_WEIGHT = 0.25
"""What a written answer counts for, with all its endings, where an answer of a model counts 1."""
VARIANTS = 2
"""How often each written answer is learnt with an opening or an ending, or both."""
SENTENCE_STRENGTH = 40
"""The inverse strength of the regularisation of the scores of sentences (scikit-learn's C)."""
PARTS = 4
"""The parts of the sources of written answers, each read by sentence scores learnt from the others."""
STRENGTH = 0.01
"""The inverse strength of the regularisation of the second model (scikit-learn's C)."""
NGRAM_SCALE = 40.0
"""How freely the weights of n-grams may grow beside those of the standardised features."""
FOREIGN = 1.2
"""How much less certain an answer in hardly known words need be, because its sentences have small scores.
It was chosen on tests/metrics/abstention_languages.yaml."""
LEAST_ANSWERS = 3
"""The number of answers that must have an n-gram, or it gets no weight."""
FURNITURE = 3
"""How often each sentence of an opening or ending is learnt as one that says nothing."""
STEP = 1 / 32
DOUBT_STRENGTH = 0.1
"""The inverse strength of the regularisation of the third step (scikit-learn's C)."""
RESPONSES = "_quotes20_response.jsonl"
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|[\u3040-\u30ff\u3400-\u9fff]")
UNABLE = re.compile(
    r"\{find\}|cannot|insufficient|unable|impossible|unknown|know|enough|would need|unanswerable"
    r"|conclusion|possible"
    r"|impossible|peux|permettent|puedo|posible|suficiente|kann|möglich|weiß|无法|不足|不知道|できません|わかりません|不足"
    r"|يمكن|أعرف|أستطيع|كافية"
)


class Row(NamedTuple):
    """A labelled answer: where it comes from, the model and the question, and whether it abstains. `more`
    says that its label is in `labels.yaml`, and that it is learnt from only."""

    source: str
    model: str
    question: str
    answer: str
    abstains: bool
    id: str
    more: bool = False


class Written(NamedTuple):
    """An answer that was written for fathoms: its source, and whether it abstains. `plain` says that it has
    neither opening nor ending."""

    source: str
    text: str
    abstains: bool
    plain: bool = True


class Seen(NamedTuple):
    """What the classifier sees of some answers, one row each: the features of their sentences, whether they
    have an n-gram, as a whole (the first half of the columns) or at the end, and what the cues say."""

    features: Any
    ngrams: Any
    cues: Any

    def of(self, rows: Any) -> Seen:
        """Return the given rows."""
        return Seen(self.features[rows], self.ngrams[rows], self.cues[rows])


class Lesson(NamedTuple):
    """Written answers as the classifier sees them, whether they abstain and are `plain`, and the half that
    their source is in."""

    seen: Seen
    abstains: Any
    plain: Any
    half: Any

    def of(self, rows: Any) -> Lesson:
        """Return the given rows."""
        return Lesson(self.seen.of(rows), self.abstains[rows], self.plain[rows], self.half[rows])


class Fitted(NamedTuple):
    """The weights of the second and third step."""

    answers: Any
    ngrams: Any
    threshold: float
    alone: Any
    doubt: Any


class SentenceModel(NamedTuple):
    """The weights of the first step."""

    classes: dict[str, list[str]]
    words: list[str]
    weights: Weights


def main(folder: Path) -> None:
    """Write the weights, and print their hash."""
    first = sentence_model()
    labelled = read_labelled(folder) + read_more_labelled(folder.parent)
    found = fit(
        describe(first, [said(row.answer) for row in labelled]),
        [row.abstains for row in labelled],
        lesson(),
    )
    words = json.dumps({"classes": first.classes, "words": first.words}, ensure_ascii=False).encode()
    np.savez_compressed(
        WEIGHTS,
        words=np.frombuffer(words, dtype=np.uint8),
        sentences=first.weights.sentences,
        step=np.float64(STEP),
        bias=first.weights.bias,
        answers=found.answers,
        known=np.array(np.nonzero(found.ngrams), dtype=np.uint32),
        ngrams=found.ngrams[np.nonzero(found.ngrams)],
        threshold=np.float64(found.threshold),
        alone=found.alone,
        doubt=found.doubt,
    )
    print(f"{WEIGHTS}: {WEIGHTS.stat().st_size} bytes, WEIGHTS_SHA256 = {sha256_file(WEIGHTS)}")


def read_more_labelled(data: Path) -> list[Row]:
    """The released answers that `labels.yaml` labels, of the same two sources; `data` holds them."""
    rows = []
    for run, by_label in _read(HERE / "labels.yaml").items():
        results = data / "fathoms-rag" / "results" / run
        if results.is_file():
            source, answers = "dev", json.loads(results.read_text(encoding="utf-8"))["responses"]
            found = {place: (one["question"], one["pred_answer"]) for place, one in enumerate(answers)}
        else:
            lines = (data / "mmdocrag" / "responses" / f"{run}{RESPONSES}").read_text(encoding="utf-8")
            source, answers = "other-domains", map(json.loads, lines.splitlines())
            found = {one["q_id"]: (one["q_id"], one["response"]) for one in answers}
        for label, places in by_label.items():
            for place in places:
                question, answer = found[place]
                abstains, name = label == "abstention", f"{run}-{place}"
                rows.append(Row(source, run, f"{source} {question}", answer, abstains, name, more=True))
    return rows


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


def written_answers(without: frozenset[str] = frozenset()) -> list[Written]:
    """The answers that were written for the training and for the tests, and the exemplars of fathoms, except
    for some sources."""
    groups = _read(ANSWERS)
    texts = {
        label: [*groups["still wrong"][label], *(text for group in groups[label].values() for text in group)]
        for label in ("abstention", "statement")
    }
    sources: dict[str, Any] = {"tests": texts, "exemplars": _read(EXEMPLARS)}
    for path in sorted(HERE.glob("answers*.yaml")):
        sources |= _read(path)
    return [
        Written(source, text, label == "abstention")
        for source, by_label in sources.items()
        for label, texts in by_label.items()
        for text in texts
        if source not in without
    ]


def with_endings(written: Sequence[Written], variants: int = VARIANTS) -> list[Written]:
    """The answers as they are, and so many `variants` of each with an opening or an ending, or both."""
    spec, dice = _read(HERE / "endings.yaml"), random.Random(SEED)
    rows = []
    for one in written:
        rows.append(one)
        for _ in range(variants):
            opening = dice.choice(spec["openings"]) if dice.random() < 0.4 else ""
            ending = dice.choice(spec["endings"]) if not opening or dice.random() < 0.8 else ""
            rows.append(one._replace(text=opening + one.text + ending, plain=False))
    return rows


@lru_cache(maxsize=8)
def _read(path: Path) -> Any:
    """The content of a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def written_sentences() -> tuple[list[tuple[str, str, bool]], set[str]]:
    """The templates with their places filled: what the sentence does, the text, and whether it says that the
    question cannot be answered; and the words of the templates, without those of a document's subject."""
    spec, around = _read(HERE / "sentences.yaml"), _read(HERE / "endings.yaml")
    spec = {**spec, "other": spec["other"] + around["no question back"], "ask": around["asks back"]}
    places, dice = spec["open"] | spec["closed"], random.Random(SEED)
    known = {
        word for texts in spec["closed"].values() for text in texts for word in WORD.findall(text.lower())
    }
    rows = []
    for kind in ("stop", "refuse", "commit", "other", "aside", "ask"):
        for template in spec[kind]:
            known.update(WORD.findall(re.sub(r"\{\w+\}", " ", template).lower()))
            for _ in range(FILLINGS if "{" in template else WHOLE):
                text = re.sub(r"\{(\w+)\}", lambda place: dice.choice(places[place[1]]), template)
                rows.append((kind, text, kind == "stop" and UNABLE.search(template) is not None))
    rows += [("other", text, False) for text in around["openings"] + around["endings"]] * FURNITURE
    return rows, known


@lru_cache(maxsize=16)
def sentence_model(
    without: frozenset[str] = frozenset(), unseen: frozenset[str] = frozenset()
) -> SentenceModel:
    """Learn the scores of sentences from written text, except for some sources of answers. Those `unseen`
    give their words, but no sentence."""
    templates, known = written_sentences()
    answers = [(one.text, one.abstains) for one in written_answers(without)]
    counts = Counter(word for text, _ in answers for word in set(WORD.findall(text.lower())))
    words = sorted(known | {word for word, count in counts.items() if count >= 3})
    answers = [(one.text, one.abstains) for one in written_answers(without | unseen)]
    classes = {name: list(dict.fromkeys(text.split())) for name, text in _read(HERE / "words.yaml").items()}
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
        "asks": fitted(matrix, kinds == "ask"),
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
            if not each:
                continue
            if abstains:
                label[here] = (score[here] > 0) | (score[here] == score[here].max())
                used[here] = label[here] | (score[here] <= -2)
            else:
                # A statement may say that something is missing beside what it states, but not alone.
                used[here] = (score[here] <= 0) | (len(each) == 1)
        models["silent"] = fitted(vstack([matrix[plain], real[used]]), np.r_[silent[plain], label[used]])
    spoken = models["silent"].decision_function(real) < -1
    models["unable"] = fitted(
        vstack([matrix, real[spoken]]), np.r_[unable, np.zeros(spoken.sum(), dtype=bool)]
    )
    table = np.stack([models[head].coef_[0] for head in HEADS], axis=1)
    bias = np.array([models[head].intercept_[0] for head in HEADS]).round(4)
    steps = np.clip(np.round(table / STEP), -32767, 32767).astype(np.int16)
    nothing = np.zeros((2, WIDE), dtype=np.int16)
    weights = Weights(lexicon, steps, STEP, bias, np.zeros(0), nothing, 0.0, np.zeros(1), np.zeros(1))
    return SentenceModel(classes, words, weights)


def fitted(matrix: Any, labels: Any) -> LogisticRegression:
    """A logistic regression on n-grams."""
    return LogisticRegression(C=SENTENCE_STRENGTH, max_iter=300, solver="liblinear", random_state=0).fit(
        matrix, labels
    )


def to_matrix(lexicon: Lexicon, texts: Sequence[str]) -> Any:
    """The n-grams of sentences as a sparse matrix."""
    values, rows, columns = sentence_matrix(lexicon, texts)
    return csr_matrix((values, (rows, columns)), shape=(len(texts), BUCKETS))


def describe(first: SentenceModel, texts: Sequence[str]) -> Seen:
    """Return what the classifier sees of answers."""
    parts = [split_sentences(text) or ["?"] for text in texts]
    read = first.weights.read(parts)
    places = np.cumsum([0, *map(len, parts)])
    values = [
        features(read.sentences[start:end], len(text))
        for start, end, text in zip(places, places[1:], texts, strict=False)
    ]
    return Seen(
        np.array(values),
        hstack([_has(found, len(texts)) for found in (read.whole, read.ending)]).tocsr(),
        np.array([cue_features(text) for text in texts]),
    )


def lesson(without: frozenset[str] = frozenset()) -> Lesson:
    """Return written answers, with their endings, as a classifier sees them that has learnt its scores of
    sentences from other sources. It would be too certain of sentences that it was learnt from."""
    rows = with_endings(written_answers(without))
    sources = list(dict.fromkeys(row.source for row in rows))
    parts, order = [], []
    for part in range(PARTS):
        here = frozenset(sources[part::PARTS])
        places = [place for place, row in enumerate(rows) if row.source in here]
        parts.append(describe(sentence_model(without, here), [said(rows[place].text) for place in places]))
        order += places
    back = np.argsort(order)
    seen = Seen(
        np.vstack([each.features for each in parts]),
        vstack([each.ngrams for each in parts]).tocsr(),
        np.vstack([each.cues for each in parts]),
    )
    return Lesson(
        seen.of(back),
        np.array([row.abstains for row in rows]),
        np.array([row.plain for row in rows]),
        np.array([sources.index(row.source) % 2 for row in rows]),
    )


def said(answer: str) -> str:
    """What an answer says, as the profile `fathoms` classifies it."""
    return classified_text(read(answer))


def _has(found: Hashed, count: int) -> Any:
    """Which n-grams the answers have, as a sparse matrix of 0 and 1."""
    pairs = np.unique(found.owners * WIDE + found.hashes)
    return csr_matrix((np.ones(len(pairs)), (pairs // WIDE, pairs % WIDE)), (count, WIDE))


def _shares(ngrams: Any, known: Any) -> Any:
    """The known n-grams of answers, divided by the root of their number, apart for both halves."""
    halves = []
    for half in (known[known < WIDE], known[known >= WIDE]):
        part = ngrams[:, half]
        halves.append(diags(1 / np.sqrt(np.maximum(part.sum(axis=1).A1, 1))) @ part)
    return hstack(halves).tocsr()


def fit(rows: Seen, abstains: Sequence[bool], written: Lesson) -> Fitted:
    """Learn the weights of the features and n-grams of answers, those of the features alone, and those of
    answers in doubt.

    An answer abstains if that is likelier than not. A threshold that is searched depends on very few
    abstentions, and did worse on answers of another source.
    """
    labels = np.array(abstains)
    answers, ngrams, bias = _logistic(rows, labels, written)
    bare, nothing = (each._replace(ngrams=each.ngrams * 0) for each in (rows, written.seen))
    alone, _, limit = _logistic(bare, labels, written._replace(seen=nothing))
    doubt = _in_doubt(rows, labels, written)
    return Fitted(answers, ngrams, round(-bias, 6), np.r_[alone, round(-limit - FOREIGN, 6)], doubt)


def _in_doubt(rows: Seen, labels: Any, written: Lesson) -> Any:
    """Learn how much the certainty and the cues of answers in doubt count: the weights, and the bias."""
    half = np.arange(len(labels)) * 2 // len(labels)
    seen, abstains, weight = [], [], []
    for other in (0, 1):
        one, two = half != other, written.half != other
        answers, ngrams, bias = _logistic(rows.of(one), labels[one], written.of(two))
        for tried, said, counts in (
            (rows.of(~one), labels[~one], 1.0),
            (written.seen.of(~two), written.abstains[~two], WRITTEN_WEIGHT * 2 / (1 + VARIANTS)),
        ):
            certainty = tried.features @ answers + bias
            known = np.nonzero(ngrams.ravel())[0]
            certainty += _shares(tried.ngrams, known) @ (ngrams.ravel()[known] * STEP)
            doubtful = np.abs(certainty) < DOUBT
            seen.append(np.c_[certainty, tried.cues][doubtful])
            abstains.append(said[doubtful])
            weight.append(np.full(doubtful.sum(), counts))
    model = LogisticRegression(C=DOUBT_STRENGTH, max_iter=1000)
    model.fit(np.vstack(seen), np.concatenate(abstains), sample_weight=np.concatenate(weight))
    return np.r_[model.coef_[0], model.intercept_].round(6)


def _logistic(rows: Seen, labels: Any, written: Lesson) -> tuple[Any, Any, float]:
    """A logistic regression on standardised features and n-grams: the weights, and the bias."""
    plain = np.vstack([rows.features, written.seen.features])
    mean, spread = rows.features.mean(axis=0), rows.features.std(axis=0) + 1e-6
    ngrams = vstack([rows.ngrams, written.seen.ngrams]).tocsr()
    ngrams.eliminate_zeros()
    # An answer counts once, however many endings it has.
    different = ngrams[np.r_[np.ones(len(labels), dtype=bool), written.plain]]
    known = np.nonzero(np.bincount(different.indices, minlength=2 * WIDE) >= LEAST_ANSWERS)[0]
    every = hstack([csr_matrix((plain - mean) / spread), NGRAM_SCALE * _shares(ngrams, known)]).tocsr()
    weight = np.r_[np.ones(len(labels)), np.full(len(written.plain), WRITTEN_WEIGHT / (1 + VARIANTS))]
    model = LogisticRegression(C=STRENGTH, max_iter=2000, tol=1e-4)
    model.fit(every, np.r_[labels, written.abstains].astype(bool), sample_weight=weight)
    answers, steps = np.split(model.coef_[0], [plain.shape[1]])
    answers = answers / spread
    steps = np.clip(np.round(NGRAM_SCALE * steps / STEP), -32767, 32767)
    ngram_steps = np.zeros(2 * WIDE, dtype=np.int16)
    ngram_steps[known] = np.where(steps == 0, 1, steps)  # 0 stands for an n-gram that is not known
    return answers.round(6), ngram_steps.reshape(2, WIDE), float(model.intercept_[0] - mean @ answers)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
