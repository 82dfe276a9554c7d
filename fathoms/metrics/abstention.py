"""Classify answers as statements or abstentions, and reuse stored verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, get_args

from pydantic import Field

from fathoms.metrics.cues import Cues
from fathoms.metrics.judged_abstention import JudgedAbstention
from fathoms.metrics.labels import Label
from fathoms.metrics.linear import Linear
from fathoms.metrics.nearest_neighbour import NearestNeighbour
from fathoms.text.fingerprints import fingerprints_after
from fathoms.types import Verdict

TextClassifier = Linear | Cues | NearestNeighbour
"""The classifiers that need no more than the text of an answer."""
Classifier = Annotated[TextClassifier | JudgedAbstention, Field(discriminator="kind")]

LONGEST = 100_000
"""The most characters of an answer that are classified; see `excerpt`."""
_LABELS: dict[str, Label] = {label: label for label in get_args(Label)}


def label_answers(
    texts: Sequence[str], classifier: TextClassifier, known: Mapping[str, Verdict]
) -> tuple[dict[str, Verdict], dict[str, Verdict]]:
    """Return the verdict on each text, and the verdicts that were not in `known`.

    The first dictionary is keyed by text. The second holds only new verdicts, keyed by a fingerprint of the
    classifier and the text, under which the caller should store them; `known` is keyed the same way. Empty
    texts get no verdict. The classifier (and so its embedder) is not called if every verdict is known.
    """
    key_of = fingerprints_after(classifier.key)
    keys = {text: key_of(text) for text in texts if text.strip()}
    unknown = [text for text, key in keys.items() if key not in known]
    excerpts = [excerpt(text) for text in unknown]
    new = dict(zip(unknown, classifier.classify(excerpts), strict=True)) if unknown else {}
    verdicts = {text: new.get(text) or known[key] for text, key in keys.items()}
    return verdicts, {keys[text]: verdict for text, verdict in new.items()}


def excerpt(text: str) -> str:
    """Return the text to classify: the whole answer, or the first and last half of `LONGEST` characters.

    A model that never stops can produce megabytes of text, and classifying takes about a millisecond per
    clause.
    """
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"


def label_of(verdict: Verdict) -> Label:
    """Return the label of a verdict; `statement` if the stored label is not a known one."""
    return _LABELS.get(verdict.label, "statement")
