"""Fingerprints: hashes of values as canonical JSON, by which stages, questions and texts are told apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
quoted = json.encoder.encode_basestring
"""Returns a text as canonical JSON."""
# `JSONEncoder.encode` makes an encoder for each value; that of CPython can be used again.
_make_encoder = getattr(json.encoder, "c_make_encoder", None)
_chunks = _make_encoder and _make_encoder(None, str, quoted, None, ":", ",", True, False, True)


def _canonical(value: Any) -> str:
    """Return a value as canonical JSON."""
    return "".join(_chunks(value, 0)) if _chunks else _CANONICAL.encode(value)


def fingerprint(*parts: Any) -> str:
    """Hash the parts as canonical JSON; returns the first 32 hex digits of the sha256."""
    return fingerprint_of(_canonical(parts))


def fingerprint_of_list(items: Iterable[Any]) -> str:
    """Return the `fingerprint` of a list, whose items are made one at a time and need not fit into memory."""
    hashed = hashlib.sha256(b"[[")
    for number, item in enumerate(items):
        hashed.update(b"," * (number > 0) + _canonical(item).encode("utf-8", "surrogatepass"))
    hashed.update(b"]]")
    return hashed.hexdigest()[:32]


def fingerprint_of(parts: str) -> str:
    """Return the `fingerprint` of what is canonical JSON already."""
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def flat_fingerprint(*parts: str | int | None) -> str:
    """Return the `fingerprint` of texts, whole numbers and `None` in half of the time: a large run has a
    million of them."""
    return fingerprint_of(f"[{_flat(parts)}]")


def fingerprints_after(*first: Any) -> Callable[..., str]:
    """Return `fingerprint` with its first parts, which are encoded once for all the texts that follow."""
    head = _canonical(first)[:-1]
    return lambda *parts: fingerprint_of(f"{head},{_flat(parts)}]")


def _flat(parts: Iterable[str | int | None]) -> str:
    """Return texts, whole numbers and `None` as canonical JSON, without brackets."""
    return ",".join(
        [quoted(part) if isinstance(part, str) else "null" if part is None else str(part) for part in parts]
    )
