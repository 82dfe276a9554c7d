"""Trains what says whether a sentence stands around an answer, and writes fathoms/answers/endings.json.

    python benchmarks/endings/train.py             # validates, and writes the weights
    python benchmarks/endings/train.py --check     # validates only

Everything that is learnt from was written for fathoms: the sentences of `sentences.yaml`, which have labels,
and those of the answers, templates and questions back in `../abstention`, which are no endings. Groups are
services, authors and subjects. A sentence is validated by weights that were learnt from other groups; the
table shows the share that is right, by kind. It needs scikit-learn, which is no dependency of fathoms.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from fathoms.answers import endings

HERE = Path(__file__).parent
ANSWERS = HERE.parent / "abstention" / "answers.yaml"
TEMPLATES = HERE.parent / "abstention" / "sentences.yaml"
QUESTIONS_BACK = HERE.parent / "abstention" / "endings.yaml"
KINDS = ("sources", "offer", "disclaimer", "confidence")
STRENGTH = 30.0
"""The inverse strength of the regularisation (scikit-learn's C)."""
GROUPS = 2
"""The number of groups that must have a feature or a known word."""
PLAIN = 0.4
"""What a sentence of a written answer counts for, where a labelled one counts 1."""
FOLDS = 8
RARE = 0.05
"""The least number of openings that begin by a word, for each sentence that is none and begins so."""
LEAST, LEAST_OF_KIND = 0.1, 0.5
"""The smallest weights that are written."""


class Row(NamedTuple):
    """A sentence: its group, its kind, and whether it stands first in an answer."""

    group: str
    kind: str
    text: str

    @property
    def is_first(self) -> bool:
        """Whether it stands at the beginning of an answer."""
        return self.kind in ("opening", "no opening", "plain opening")

    @property
    def label(self) -> bool:
        """Whether it stands around an answer."""
        return self.kind in (*KINDS, "opening")


def read_rows() -> list[Row]:
    """The labelled sentences, and those of answers, which are statements. Each sentence in another language
    is a group of its own, because there are few in each language."""
    rows = []
    for group, by_kind in _read(HERE / "sentences.yaml").items():
        for kind, texts in by_kind.items():
            for place, text in enumerate(texts):
                rows.append(Row(f"{group} {place}" if group == "other languages" else group, kind, text))
    for source, by_label in _read(ANSWERS).items():
        texts = [text for texts in by_label.values() for text in texts]
        rows += [Row(source, "plain", part) for text in texts for part in _parts(text)]
        rows += [Row(source, "plain opening", part) for text in texts for part in _beginnings(text)]
    for kind, texts in filled().items():
        rows += [Row(f"templates {kind}", "plain", text) for text in texts]
        rows += [
            Row(f"templates {kind}", "plain opening", part) for text in texts for part in _beginnings(text)
        ]
    around = _read(QUESTIONS_BACK)
    rows += [
        Row("questions back", "plain", text)
        for name in ("asks back", "no question back")
        for text in around[name]
    ]
    return list({(row.text.lower(), row.is_first): row for row in reversed(rows)}.values())


def filled() -> dict[str, list[str]]:
    """The sentences by which answers abstain, ask or answer, with their places filled."""
    spec, dice = _read(TEMPLATES), random.Random(0)
    places = spec["open"] | spec["closed"]
    return {
        kind: [re.sub(r"\{(\w+)\}", lambda place: dice.choice(places[place[1]]), text) for text in spec[kind]]
        for kind in ("stop", "refuse", "commit")
    }


def _parts(text: str) -> list[str]:
    """The sentences of an answer that are long enough, without what its author put around it."""
    parts = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text)]
    return [part for part in parts if len(part) > 3 and part[0] not in "{`" and not AROUND.search(part)]


def _beginnings(text: str) -> list[str]:
    """The first sentence of an answer, and its first clause."""
    found = re.match(r"([^.!?:,\n]*)[.!?:,]?[^.!?:\n]*[.!?:]?", text)
    parts = [found[0], found[1]] if found else []
    return [part for part in parts if part and part[0] not in "{`" and not OPENS.search(part)]


OPENS = re.compile(
    r"(?i)^\W*(?:sure|certainly|of course|based on|according|from the|thank|hello|hi\b|good|great|here|answer"
    r"|happy|i (?:looked|checked|reviewed|searched|read)|let me|after|in the (?:provided|given)|given|as)\b"
)
"""Matches what may be an opening of an answer that was written for the abstention classifier."""
AROUND = re.compile(
    r"(?i)\b(?:happy to|glad to|let me (?:check|know)|would you like|hope this|good question)\b"
    r"|support can help|^\W*sources?\W*$|great question"
)
"""The same for an ending."""


def _read(path: Path) -> dict[str, dict[str, list[str]]]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def known_words(rows: Sequence[Row]) -> frozenset[str]:
    """The words of endings and openings that several groups have."""
    groups = defaultdict(set)
    for row in rows:
        if row.label:
            for word in endings.words(row.text):
                groups[word].add(row.group)
    return frozenset(word for word, found in groups.items() if len(found) >= GROUPS)


def first_words(rows: Sequence[Row]) -> frozenset[str]:
    """The words by which openings begin, without those by which far more sentences begin that are none."""
    opens: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for row in rows:
        if row.is_first and (found := re.match(r"[\W_]*([^\W\d_]+)", row.text.lower())):
            (opens if row.label else others)[found[1]] += 1
    return frozenset(word for word, count in opens.items() if count >= others[word] * RARE)


def logistic(
    rows: Sequence[Row],
    labels: Sequence[bool],
    known: frozenset[str],
    classes: dict[str, str],
    least: float = LEAST,
) -> dict[str, float]:
    """Learn the weights of features."""
    seen = [sorted(seen_in(row.text, known, classes)) for row in rows]
    groups = defaultdict(set)
    for row, features in zip(rows, seen, strict=True):
        for feature in features:
            groups[feature].add(row.group)
    names = sorted(name for name, found in groups.items() if len(found) >= GROUPS)
    column = {name: place for place, name in enumerate(names)}
    values, owners, columns = [], [], []
    for place, features in enumerate(seen):
        found = [column[feature] for feature in features if feature in column]
        values += [1 / max(len(found), 1) ** 0.5] * len(found)
        owners += [place] * len(found)
        columns += found
    matrix = csr_matrix((values, (owners, columns)), shape=(len(rows), len(names)))
    model = LogisticRegression(C=STRENGTH, max_iter=300, solver="liblinear", random_state=0).fit(
        matrix, labels, sample_weight=[PLAIN if row.kind.startswith("plain") else 1.0 for row in rows]
    )
    weights = {name: round(float(weight), 1) for name, weight in zip(names, model.coef_[0], strict=True)}
    return {
        **{name: weight for name, weight in weights.items() if abs(weight) >= least},
        "@bias": round(float(model.intercept_[0]), 2),
    }


def seen_in(text: str, known: frozenset[str], classes: dict[str, str]) -> set[str]:
    """The features of a sentence."""
    found = endings.words(text)
    return set(endings.features(found, classes, sum(word not in known for word in found)))


def learn(rows: Sequence[Row], classes: dict[str, str]) -> endings.Weights:
    """Learn the weights of both places, and of the kinds."""
    known = known_words(rows)
    last, first = [row for row in rows if not row.is_first], [row for row in rows if row.is_first]
    around = [row for row in last if row.label]
    return endings.Weights(
        classes,
        known,
        first_words(rows),
        logistic(last, [row.label for row in last], known, classes),
        logistic(first, [row.label for row in first], known, classes),
        {
            kind: logistic(around, [row.kind == kind for row in around], known, classes, LEAST_OF_KIND)
            for kind in KINDS
        },
    )


def validate(rows: Sequence[Row], classes: dict[str, str]) -> None:
    """Print how many sentences are right by weights that were learnt from other groups."""
    groups = sorted({row.group for row in rows})
    fold = {group: place % FOLDS for place, group in enumerate(groups)}
    right: dict[str, Counter[bool]] = defaultdict(Counter)
    kinds: Counter[bool] = Counter()
    for part in range(FOLDS):
        weights = learn([row for row in rows if fold[row.group] != part], classes)
        for row in rows:
            if fold[row.group] == part:
                by = weights.opening if row.is_first else weights.closing
                least = endings.LEAST_OPENING if row.is_first else endings.LEAST_CLOSING
                most = endings.MOST_UNKNOWN_FIRST if row.is_first else endings.MOST_UNKNOWN
                said = endings.score(row.text, by, weights, most) > least
                right[row.kind][said == row.label] += 1
                if said and row.kind in KINDS:
                    kinds[endings.kind(row.text, weights) == row.kind] += 1
    print("| sentences | number | right |\n|---|---|---|")
    for kind, found in right.items():
        print(f"| {kind} | {sum(found.values())} | {found[True] / sum(found.values()):.3f} |")
    print(f"kinds of those that are found: {kinds[True] / sum(kinds.values()):.3f} right")


def main() -> None:
    """Validate, and write the weights."""
    rows = read_rows()
    classes = {
        word: f"@{name}" for name, found in _read(HERE / "words.yaml").items() for word in found.split()
    }
    validate(rows, classes)
    if "--check" not in sys.argv:
        weights = learn(rows, classes)
        found = {**weights._asdict(), "known": sorted(weights.known), "first": sorted(weights.first)}
        endings.WEIGHTS.write_text(
            json.dumps(found, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )
        print(
            endings.WEIGHTS.stat().st_size,
            "bytes;",
            len(weights.closing),
            len(weights.opening),
            [len(kind) for kind in weights.kinds.values()],
            len(weights.known),
        )


if __name__ == "__main__":
    main()
