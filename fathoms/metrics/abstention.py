"""Which answers are abstentions: the classifiers there are, and the verdicts that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, get_args

from pydantic import Field

from fathoms.config import fingerprint
from fathoms.metrics.cues import Cues
from fathoms.metrics.labels import Label
from fathoms.metrics.nearest import NearestNeighbour
from fathoms.types import Verdict

Classifier = Annotated[Cues | NearestNeighbour, Field(discriminator="kind")]

LONGEST = 100_000
"""Characters of an answer that are classified."""
_LABELS: dict[str, Label] = {label: label for label in get_args(Label)}


def label_answers(
    texts: Sequence[str], classifier: Classifier, known: Mapping[str, Verdict]
) -> tuple[dict[str, Verdict], dict[str, Verdict]]:
    """Verdicts by text, and those among them that are new, by the key they are to be kept under.

    What is `known` under its key is not classified again; empty texts have no verdict. The embedder is
    not touched where nothing is new.
    """
    name = classifier.key
    keys = {text: fingerprint(name, text) for text in texts if text.strip()}
    unknown = [text for text, key in keys.items() if key not in known]
    excerpts = [excerpt(text) for text in unknown]
    new = dict(zip(unknown, classifier.classify(excerpts), strict=True)) if unknown else {}
    verdicts = {text: new.get(text) or known[key] for text, key in keys.items()}
    return verdicts, {keys[text]: verdict for text, verdict in new.items()}


def excerpt(text: str) -> str:
    """What of an answer is classified: all of it, or the beginning and the end of one that is longer than
    any answer that people read. A model that never stops can say megabytes, and every clause of it takes a
    millisecond."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"


def label_of(verdict: Verdict) -> Label:
    """The label of a verdict; `statement` for one that is none of ours."""
    return _LABELS.get(verdict.label, "statement")
