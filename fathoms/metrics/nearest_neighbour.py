"""Classify answers as statements or abstentions by the nearest exemplar (FATHOMS-RAG, section III.C).

An answer takes the label of its nearest exemplar, by cosine similarity of the embeddings. This is the paper's
plain rule: `unit: answer` with `least_cosine: -1`. The profiles `paper` and `released-code` always use it. If
the profile `fathoms` is configured with this kind, the options add two refinements:

- The sentence of the answer that is nearest to any exemplar decides, because an abstention is usually one
  sentence, even if a summary of the context follows it.
- An answer that resembles no exemplar is a statement, because abstentions are phrased in few ways and
  statements in many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from fathoms.component import Component
from fathoms.config import Source, read_yaml, validate
from fathoms.errors import DataError
from fathoms.metrics.labels import Why
from fathoms.models import Embedder, LexicalEmbedder
from fathoms.models.embed import process as embedding
from fathoms.paths import cache_dir
from fathoms.safety.inputs import parse_json, read_text
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Verdict

OWN_EXEMPLARS = Path(__file__).with_name("exemplars.yaml")
RELEASED_EXEMPLARS = "statement_abstention_training.json"
"""The name of the file of exemplars that the authors of FATHOMS-RAG released."""

# Texts are compared in blocks, to bound the memory of the matrix of cosines.
_BLOCK = 4096
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


class Exemplars(BaseModel):
    """Example texts per label, in the format of the file that FATHOMS-RAG released."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    statement: Annotated[tuple[str, ...], Field(min_length=1)]
    abstention: Annotated[tuple[str, ...], Field(min_length=1)]


def released_exemplars() -> Path | None:
    """Return the exemplars that the authors of FATHOMS-RAG released, as they were pulled with the data set;
    `None` if they are not on this machine."""
    path = cache_dir() / "data" / "fathoms-rag" / RELEASED_EXEMPLARS
    return path if path.is_file() else None


def _located(path: Path | None) -> Path | None:
    """Return the place of a file of exemplars: that of the released ones if `released` is written for it."""
    return released_exemplars() if path == Path("released") else path


ExemplarFile = Annotated[Path | None, AfterValidator(_located)]
"""A file of exemplars; `released` is the one of FATHOMS-RAG, or none where it was not pulled."""


class Nearest(NamedTuple):
    """The nearest exemplar to a text, their cosine similarity, and whether the exemplar is an abstention."""

    cosine: float
    exemplar: str
    abstains: bool


class NearestNeighbour(Component):
    """An abstention classifier that gives an answer the label of its nearest exemplar (1-nearest-neighbour).

    It sees neither the question nor the gold answer.
    """

    inert: ClassVar[bool] = True
    kind: Literal["nearest-neighbour"] = "nearest-neighbour"
    exemplars: ExemplarFile = None
    """A YAML or JSON file `{statement: [...], abstention: [...]}`, or `released` for that of FATHOMS-RAG
    where it was pulled; by default the exemplars of fathoms."""
    embed: Embedder = LexicalEmbedder()
    """The embedder that turns answers and exemplars into vectors."""
    unit: Literal["sentence", "answer"] = "sentence"
    """What is compared with the exemplars: each sentence, of which the nearest one decides, or the whole
    answer. This option and `least_cosine` apply only to the profile `fathoms`."""
    least_cosine: float = Field(default=0.4, ge=-1, le=1)
    """The least cosine similarity between an abstention and its nearest exemplar; -1 accepts any. Good values
    depend on the embedder: 0.4 for `lexical`, 0.35 for MiniLM."""

    @property
    def key(self) -> str:
        """A fingerprint of everything that decides a label: options, the content of the exemplars, and the
        embedder with its weights.

        Library versions of the embedder are not included, so stored verdicts stay valid when a run is scored
        again with another version, or without the library. Weights given by name are identified by their
        pinned hashes. Raises ConfigError if weights are given by a path and the file does not exist.
        """
        exemplars = read_exemplars(self.exemplars or OWN_EXEMPLARS)
        options = self.model_dump(mode="json", include={"kind", "unit", "least_cosine"})
        embedder = {name: part for name, part in self.embed.identity().items() if name != "versions"}
        return fingerprint(options, self.revision, embedder, exemplars.model_dump())

    def plain(self) -> NearestNeighbour:
        """Return the paper's plain rule with the same exemplars and embedder."""
        return self.model_copy(update={"unit": "answer", "least_cosine": -1.0})

    def check(self) -> None:
        """Check the exemplars and the embedder; raises the errors that `classify` would raise."""
        read_exemplars(self.exemplars or OWN_EXEMPLARS)
        embedding.check(self.embed)

    def classify(self, texts: Sequence[str]) -> list[Verdict]:
        """Return one verdict per text: `premise` is the nearest exemplar, `why` its cosine similarity.

        Equal texts and sentences are embedded only once, in large batches. Raises ConfigError or DataError
        for an unusable file of exemplars, and any error of the embedder.
        """
        parts = {
            text: _SENTENCE_END.split(" ".join(text.split())) if self.unit == "sentence" else [text]
            for text in texts
        }
        pieces = list(dict.fromkeys(piece for units in parts.values() for piece in units))
        exemplars = read_exemplars(self.exemplars or OWN_EXEMPLARS)
        nearest = dict(zip(pieces, nearest_exemplars(pieces, exemplars, self.embed), strict=True))
        verdicts = {}
        for text, units in parts.items():
            best = max(nearest[piece] for piece in units)
            label = "abstention" if best.abstains and best.cosine >= self.least_cosine else "statement"
            verdicts[text] = Verdict(claim=text, premise=best.exemplar, label=label, why=f"{best.cosine:.4f}")
        return [verdicts[text] for text in texts]

    def explain(self, verdict: Verdict) -> Why:
        """Return the nearest exemplar and the cosine similarity behind a verdict's label."""
        return Why(nearest=verdict.premise, cosine=float(verdict.why or "nan"))


def nearest_exemplars(texts: Sequence[str], exemplars: Exemplars, embed: Embedder) -> Iterator[Nearest]:
    """Yield the nearest exemplar of each text, in order; raises any error of the embedder."""
    known = [*exemplars.statement, *exemplars.abstention]
    vectors = embedding.embed(embed, known)
    for start in range(0, len(texts), _BLOCK):
        cosines = embedding.embed(embed, texts[start : start + _BLOCK]) @ vectors.T
        for row, index in zip(cosines, cosines.argmax(axis=1), strict=True):
            yield Nearest(float(row[index]), known[index], bool(index >= len(exemplars.statement)))


def read_exemplars(path: Path) -> Exemplars:
    """Read a YAML or JSON file of exemplars.

    Raises ConfigError, which names the place of the mistake, or DataError for a file that cannot be read or
    parsed.
    """
    if path.suffix.lower() != ".json":
        return validate(Exemplars, read_yaml(path))
    data = parse_json(read_text(path), str(path))
    if not isinstance(data, dict):
        raise DataError(f"{path}: expected an object with the lists 'statement' and 'abstention'")
    return validate(Exemplars, Source(str(path), data))
