"""Weights of claims and of sources, read from a file of the user."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from fathoms.config import read_yaml, validate
from fathoms.metrics.claims.gold_sources import Source
from fathoms.metrics.claims.premises import place_of
from fathoms.types import Claim

Weight = Annotated[float, Field(ge=0, le=1e6)]


class Weights(BaseModel):
    """How important claims are, by their texts, and how good sources are, by document or page: `a.pdf`,
    `a.pdf, page 4`. What is not named has the weight 1."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    claims: dict[str, Weight] = Field(default_factory=dict)
    sources: dict[str, Weight] = Field(default_factory=dict)

    def of_claims(self, claims: Sequence[Claim]) -> list[float]:
        """Return the importance of each claim."""
        return [self.claims.get(claim.text, 1.0) for claim in claims]

    def of_sources(self, sources: Sequence[Source]) -> dict[Source, float]:
        """Return the quality of each source."""
        found = {}
        for source in sources:
            page = self.sources.get(place_of(source.document, source.page))
            found[source] = self.sources.get(source.document, 1.0) if page is None else page
        return found


EQUAL = Weights()


@cache
def read_weights(path: Path) -> Weights:
    """Read a YAML or JSON file with weights; raises ConfigError with the place of an error."""
    return validate(Weights, read_yaml(path))
