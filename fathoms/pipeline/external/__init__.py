"""Pipelines that are not built of our stages: anybody's own, behind an address or a function.

A config's `pipeline:` is one of them, chosen by `kind`. Contexts and citations that they tell are kept in
the record; what they do not tell is not known, and never 0.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fathoms.pipeline.external.base import Connected, ExternalPipeline
from fathoms.pipeline.external.http import Http
from fathoms.pipeline.external.python import Python, Source

External = Annotated[Http | Python, Field(discriminator="kind")]

__all__ = ["Connected", "External", "ExternalPipeline", "Http", "Python", "Source"]
