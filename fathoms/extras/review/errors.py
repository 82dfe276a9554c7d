"""People say what is wrong with answers, by a small taxonomy that can be replaced."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from rich.console import RenderableType
from rich.rule import Rule

from fathoms.cli.asking import Review, labelled
from fathoms.config import read_yaml, validate
from fathoms.extras.review.answer import context_panel, excerpts
from fathoms.extras.review.quality import answer_parts
from fathoms.extras.review.sample import Item
from fathoms.runs.people import FoundErrors
from fathoms.text.amounts import figure
from fathoms.text.fingerprints import fingerprint

OWN = Path(__file__).with_name("errors.yaml")


class ErrorKind(BaseModel):
    """A kind of error, and what it means."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)
    meaning: str = Field(min_length=1, max_length=300)


class Taxonomy(BaseModel):
    """The kinds of error that reviewers choose from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    errors: tuple[ErrorKind, ...] = Field(min_length=1, max_length=40)

    @field_validator("errors")
    @classmethod
    def _different(cls, kinds: tuple[ErrorKind, ...]) -> tuple[ErrorKind, ...]:
        if len({kind.name for kind in kinds}) < len(kinds):
            raise ValueError("two kinds of error have the same name")
        return kinds

    @property
    def key(self) -> str:
        """A fingerprint of the names."""
        return fingerprint(*(kind.name for kind in self.errors))


def read_taxonomy(path: Path | None = None) -> Taxonomy:
    """Read a taxonomy, by default that of fathoms; raises ConfigError."""
    return validate(Taxonomy, read_yaml(path or OWN))


class ErrorReview(Review[Item, FoundErrors, tuple[str, ...]]):
    """One reviewer's search for errors in answers that are not scored as fully correct."""

    def __init__(
        self,
        items: Sequence[Item],
        files: Mapping[str, Path],
        reviewer: str,
        seed: int,
        taxonomy: Taxonomy,
    ) -> None:
        """Start with the first answer that the reviewer has not searched by this taxonomy yet."""
        self._taxonomy = taxonomy
        super().__init__(items, FoundErrors, files, reviewer, seed)
        kinds = [f"{n} {kind.name}: {kind.meaning}" for n, kind in enumerate(taxonomy.errors, start=1)]
        self.legend = "\n".join(
            ["the numbers of all errors in the answer, with spaces, or 0 for none:", *kinds]
        )

    def key(self, item: Item) -> tuple[Hashable, ...]:
        """Return the key of an answer that was searched by this taxonomy."""
        return *item.said_key, self._taxonomy.key

    def prompt(self, item: Item) -> str:
        """Return the question for the numbers of the errors in an answer."""
        return f"errors, 0-{len(self._taxonomy.errors)}"

    def read(self, item: Item, word: str) -> tuple[str, ...] | None:
        """Return the names of errors, given by their numbers."""
        words = word.replace(",", " ").split()
        names = {str(n): kind.name for n, kind in enumerate(self._taxonomy.errors, start=1)}
        if words == ["0"]:
            return ()
        if not words or any(one not in names for one in words):
            return None
        return tuple(dict.fromkeys(names[one] for one in words))

    def said(self, item: Item, value: tuple[str, ...], about: Mapping[str, Any]) -> FoundErrors:
        """Return the errors of an answer, as they are saved."""
        key = self._taxonomy.key
        return FoundErrors(
            question=item.question.id, repeat=item.repeat.repeat, errors=value, taxonomy=key, **about
        )

    def panel(self, item: Item, place: str) -> list[RenderableType]:
        """Return the question, the gold answer, the answer, its score, and the starts of the retrieved
        texts."""
        scores = item.scores
        missed = f" (missed: {' + '.join(scores.missed)})" if scores.missed else ""
        parts = [
            Rule(place, style="dim"),
            *answer_parts(item),
            labelled("contexts", excerpts(item.repeat), dim=True),
            labelled("score", f"correctness {figure(scores.correctness)}{missed}"),
        ]
        if self.before:
            names = ", ".join(self.before.errors) or "none"
            parts.append(labelled("you said", f"{names}; {self.before.comment or ''}".strip("; ")))
        return parts

    def more(self, item: Item) -> list[RenderableType]:
        """Return the retrieved texts in full."""
        return context_panel(item.repeat)


def not_correct(item: Item) -> bool:
    """Return whether an answer is to be searched for errors: it is not scored as fully correct."""
    correctness = item.scores.correctness
    return item.repeat.answer is not None and (correctness is None or correctness < 1)
