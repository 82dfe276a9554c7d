"""What the replies of an external pipeline say about it as a whole: the warnings after a run.

A path of the configuration may match nothing in many replies, contexts may be from documents that the data
set does not have, and the service may change its version during a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fathoms.types import ServiceReply

_NAMED = 5
_LONGEST = 100


def service_figures(
    replies: int, dated: Iterable[tuple[str, ServiceReply]], config: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Count over the replies of a run what `dated` says of them, each with the time when it came; `None` if
    there is nothing to say.

    - `replies` is the number of replies.
    - `unmatched` counts the replies in which a path of the configuration matched nothing, by its key.
    - `unknown` counts the contexts by document, for documents that the data set does not have.
    - `versions` counts the replies by version of the service, in the order in which they came.
    - `warnings` says all of this in sentences.

    Replies without a version are left out of `versions`. `config` is the configuration of the run.
    """
    said = [reply for _, reply in sorted(dated, key=lambda one: one[0])]
    if not said:
        return None
    unmatched = Counter(name for one in said for name in one.unmatched)
    unknown = sum((Counter(one.unknown) for one in said), Counter())
    placed, nowhere = sum(one.placed for one in said), sum(one.nowhere for one in said)
    versions = Counter(one.version for one in said if one.version is not None)
    return {
        "replies": replies,
        "unmatched": dict(unmatched),
        "unknown": dict(unknown.most_common()),
        "versions": dict(versions),
        "warnings": list(_warnings(replies, unmatched, unknown, placed, nowhere, versions, config)),
    }


def _warnings(
    replies: int,
    unmatched: Counter[str],
    unknown: Counter[str],
    placed: int,
    nowhere: int,
    versions: Counter[str],
    config: Mapping[str, Any],
) -> Iterator[str]:
    """Yield what `service_figures` has counted, in sentences."""
    for name, count in unmatched.items():
        path = _written(config.get("pipeline"), name.split("."))
        shown = f"{name} ({path})" if path else name
        yield f"{shown} matched nothing in {count} of {replies} replies"
    if unknown:
        names = ", ".join(f"{_on_one_line(name)} ({count})" for name, count in unknown.most_common(_NAMED))
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        total = sum(unknown.values())
        subject = "1 context is from a document" if total == 1 else f"{total} contexts are from documents"
        yield f"{subject} that the data set does not have: {names}{more}"
    if placed:
        yield (
            f"{placed} contexts without a document were placed by their texts, which stand in one document of"
            " the data set (as the parser pdfium reads it); texts of fewer than 40 letters and digits are not"
            " looked for"
        )
    if nowhere:
        yield (
            f"{nowhere} contexts name no document, and what rests on their places is not known: their texts"
            " stand in no document of the data set, in several, or are shorter than 40 letters and digits"
        )
    if len(versions) > 1:
        listed = ", ".join(f"{_on_one_line(version)} ({count})" for version, count in versions.items())
        yield f"the version of the service changed during the run (replies): {listed}"


def _on_one_line(name: str) -> str:
    """A name of the service's own, shortened for a message."""
    return " ".join(name.split())[:_LONGEST]


def _written(config: Any, keys: list[str]) -> str | None:
    """The path that a configuration has at a key; that of the list where the key is that of a mapping."""
    for key in keys:
        config = config.get(key) if isinstance(config, dict) else None
    found = config.get("each") if isinstance(config, dict) else config
    return found if isinstance(found, str) else None
