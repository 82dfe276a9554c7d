"""External pipelines: pipelines that are not built of fathoms' stages but reached by HTTP or as Python code.

A configuration selects one under `pipeline:` by its `kind`. Contexts and citations that it reports are stored
in the record; what it does not report counts as unknown, never as 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fathoms.pipeline.external.external_pipeline import Connected, ExternalPipeline
from fathoms.registry import OneOf, components_of

if TYPE_CHECKING:
    from fathoms.pipeline.external.http import Http
    from fathoms.pipeline.external.python import Python

__getattr__ = components_of("pipelines")

External = Annotated[ExternalPipeline, OneOf("pipelines")]

__all__ = ["Connected", "External", "ExternalPipeline", "Http", "Python"]
