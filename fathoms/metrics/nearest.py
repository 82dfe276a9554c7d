"""Abstention by nearest neighbour (FATHOMS-RAG, section III.C).

An answer takes the label of the exemplar that is nearest to it, by the cosine of their embeddings.
That is the paper's plain rule, `unit: answer` with `least_cosine: -1`, which the profiles `paper` and
`released-code` always follow. Where the profile `fathoms` is given this kind, it follows the options,
which add two refinements:

- the sentence of the answer that is nearest to any exemplar decides, because an abstention is one
  sentence even where a summary of the context follows it;
- an answer that resembles no exemplar is a statement: people abstain in few ways and state in many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from fathoms.config import Component, Source, fingerprint, read_yaml, validate
from fathoms.errors import DataError
from fathoms.metrics.labels import Why
from fathoms.models import Embedder, LexicalEmbedder
from fathoms.models.embed import process as embedding
from fathoms.safety.inputs import parse_json, read_text
from fathoms.types import Verdict

OWN_EXEMPLARS = Path(__file__).with_name("exemplars.yaml")

_BLOCK = 4096
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


class Exemplars(BaseModel):
    """Texts of known label, in the shape of the file that FATHOMS-RAG released."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statement: Annotated[tuple[str, ...], Field(min_length=1)]
    abstention: Annotated[tuple[str, ...], Field(min_length=1)]


class Nearest(NamedTuple):
    """The exemplar that is nearest to a text, and their cosine."""

    cosine: float
    exemplar: str
    abstains: bool


class NearestNeighbour(Component):
    """1-nearest-neighbour over labelled exemplars; never sees the question or the gold answer."""

    kind: Literal["nearest-neighbour"] = "nearest-neighbour"
    exemplars: Path | None = None
    """A YAML or JSON file `{statement: [...], abstention: [...]}`; by default our own."""
    embed: Embedder = LexicalEmbedder()
    """What turns answers and exemplars into vectors."""
    unit: Literal["sentence", "answer"] = "sentence"
    """What is compared with the exemplars: each sentence, the nearest one deciding, or the whole answer.
    This and `least_cosine` are options of the profile `fathoms` alone."""
    least_cosine: float = Field(default=0.4, ge=-1, le=1)
    """An abstention has to be at least this near to its exemplar; -1 takes any. What is near depends on the
    embedder: 0.4 fits `lexical`, 0.35 MiniLM."""

    @property
    def key(self) -> str:
        """Names what decides a label: options, the exemplars themselves, the embedder and its weights.

        Versions of the embedder's libraries are no part of it: what was judged once stands wherever the
        run is scored again, with another version or none. Raises ConfigError for weights that are given
        by a path where there is no file; those given by name are known by their pinned hashes.
        """
        exemplars = read_exemplars(self.exemplars or OWN_EXEMPLARS)
        options = self.model_dump(mode="json", include={"kind", "unit", "least_cosine"})
        embedder = {name: part for name, part in self.embed.identity().items() if name != "versions"}
        return fingerprint(options, self.revision, embedder, exemplars.model_dump())

    def plain(self) -> NearestNeighbour:
        """The paper's rule with these exemplars and this embedder."""
        return self.model_copy(update={"unit": "answer", "least_cosine": -1.0})

    def check(self) -> None:
        """Raise what `classify` would for exemplars that cannot be read or an embedder that is not here."""
        read_exemplars(self.exemplars or OWN_EXEMPLARS)
        embedding.check(self.embed)

    def classify(self, texts: Sequence[str]) -> list[Verdict]:
        """One verdict a text: `premise` is the nearest exemplar, `why` its cosine.

        Equal texts and sentences are embedded once, all of them in large batches. Raises ConfigError or
        DataError for a file of exemplars that cannot be used, and what the embedder raises.
        """
        parts = {text: self._units(text) for text in texts}
        pieces = list(dict.fromkeys(piece for units in parts.values() for piece in units))
        exemplars = read_exemplars(self.exemplars or OWN_EXEMPLARS)
        nearest = dict(zip(pieces, nearest_exemplars(pieces, exemplars, self.embed), strict=True))
        verdicts = {
            text: self._verdict(text, max(nearest[piece] for piece in units)) for text, units in parts.items()
        }
        return [verdicts[text] for text in texts]

    def explain(self, verdict: Verdict) -> Why:
        """What the label of a verdict rests on."""
        return Why(nearest=verdict.premise, cosine=float(verdict.why or "nan"))

    def _units(self, text: str) -> list[str]:
        """What of an answer is compared with the exemplars."""
        return _SENTENCE_END.split(" ".join(text.split())) if self.unit == "sentence" else [text]

    def _verdict(self, text: str, nearest: Nearest) -> Verdict:
        """The label, with what it rests on."""
        abstains = nearest.abstains and nearest.cosine >= self.least_cosine
        label = "abstention" if abstains else "statement"
        return Verdict(claim=text, premise=nearest.exemplar, label=label, why=f"{nearest.cosine:.4f}")


def nearest_exemplars(texts: Sequence[str], exemplars: Exemplars, embed: Embedder) -> Iterator[Nearest]:
    """The nearest exemplar of every text; raises what the embedder raises."""
    known = [*exemplars.statement, *exemplars.abstention]
    vectors = embedding.embed(embed, known)
    for start in range(0, len(texts), _BLOCK):
        cosines = embedding.embed(embed, texts[start : start + _BLOCK]) @ vectors.T
        for row, index in zip(cosines, cosines.argmax(axis=1), strict=True):
            yield Nearest(float(row[index]), known[index], bool(index >= len(exemplars.statement)))


def read_exemplars(path: Path) -> Exemplars:
    """Read a file of exemplars; raises ConfigError that names the place of what is wrong."""
    if path.suffix.lower() != ".json":
        return validate(Exemplars, read_yaml(path))
    data = parse_json(read_text(path), str(path))
    if not isinstance(data, dict):
        raise DataError(f"{path}: want an object with the lists 'statement' and 'abstention'")
    return validate(Exemplars, Source(str(path), data))
