"""The names of retrieval metrics: `hit@5`, `quote-recall@20`, `recall@10-table`, `ndcg@5-exp`,
`layout-recall@10-released`."""

from __future__ import annotations

import re
from typing import Any

DEFAULT = ("hit@1", "hit@3", "hit@5", "recall@10", "mrr@10", "ndcg@10")
"""The metrics of the set `retrieval`."""
_LEVEL = r"(?:(?P<level>document|page|layout|chunk|quote)-)?"
_NAME = re.compile(
    rf"{_LEVEL}(?:(?P<kind>hit|recall|precision|mrr|ndcg|map)@(?P<k>[1-9]\d{{0,4}})(?:-(?P<more>\S+))?"
    r"|(?P<r>r-precision))"
)


def from_name(name: str) -> dict[str, Any] | None:
    """Return the configuration of the retrieval metric with a name, `None` if it is no such name."""
    if not (parts := _NAME.fullmatch(name)):
        return None
    kind, more = parts["kind"] or parts["r"], parts["more"]
    found: dict[str, Any] = {"kind": kind}
    if parts["level"]:
        found["level"] = parts["level"]
    if parts["k"]:
        found["k"] = int(parts["k"])
    if more is None:
        return found
    if (parts["level"], kind, more) == ("layout", "recall", "released"):
        return found | {"overlaps": "added"}
    if kind == "recall":
        return found | {"modality": more}
    named = {("hit", "fail"): {"without_page": "fail"}, ("ndcg", "exp"): {"gain": "exponential"}}
    return found | named[kind, more] if (kind, more) in named else None
