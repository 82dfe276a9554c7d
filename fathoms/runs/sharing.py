"""The shared cache: what one machine has made of documents, for all others, at an fsspec address.

It is optional, a second layer behind the cache of each machine (`fathoms/runs/cache.py`). Here is what the
core knows of it: its address, and what it can do. It comes with an extra.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fathoms import hooks
from fathoms.errors import ConfigError
from fathoms.safety.masking import without_shapes

VARIABLE = "FATHOMS_SHARED_CACHE"
"""The environment variable with the address, where a configuration names none."""
SCHEMES = ("file", "s3", "gs", "az")
"""What an address may begin with: a folder that several machines mount, or a bucket of one of three kinds."""
_FORMS = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER"
_ADDRESS = re.compile(r"(?P<scheme>[a-z0-9]+)://(?P<path>[^\s?#@]+)")
_LONGEST_ADDRESS = 1000


class SharedStore(Protocol):
    """Bytes by (kind, key) at an address, for many machines at once; safe for threads, and after a fork.

    It is never in the way of a run: what cannot be read counts as missing, and what cannot be written is
    stored on this machine alone. `counts` says what became of the values: taken, stored, damaged, failed.
    """

    address: str
    counts: dict[str, int]

    def check(self) -> None:
        """Raise StoreError where only the user can help; whoever needs the place first calls it."""

    def probe(self) -> None:
        """Write a value and read it; raises StoreError where that fails, for whatever reason."""

    def get(self, kind: str, key: str) -> bytes | None:
        """Read one value; `None` where there is none that is sound."""

    def get_many(self, kind: str, keys: Sequence[str]) -> dict[str, bytes]:
        """Read the values that exist and are sound."""

    def get_files(self, kind: str, key: str) -> dict[str, bytes] | None:
        """Read the files of a folder by their names, which name no folder; `None` where there are none."""

    def put(self, kind: str, key: str, value: bytes) -> None:
        """Store one value, perhaps in the background."""

    def put_many(self, kind: str, values: Mapping[str, bytes]) -> None:
        """Store many values, perhaps in the background."""

    def put_files(self, kind: str, key: str, files: Iterable[Path]) -> bool:
        """Store the files of a folder as one value; returns whether they are small enough to be shared."""

    def finish(self) -> None:
        """Wait until everything is written, or has failed."""


def shared_store(address: str, *, refresh: bool = False) -> SharedStore:
    """Return the shared cache at an address that `checked_address` returned; with `refresh`, earlier values
    are ignored and written again. Raises UsageError where the extra was deleted, and MissingExtraError where
    the package for the address is not installed."""
    store: SharedStore = hooks.needed("the shared cache")(address, refresh=refresh)
    return store


def checked_address(address: str) -> str:
    """Return an address without its last slash; raises ValueError if it is none of a shared cache, or says
    more than a place: credentials come from the environment only."""
    found = _ADDRESS.fullmatch(address)
    if found is None or len(address) > _LONGEST_ADDRESS or found["scheme"] not in SCHEMES:
        raise ValueError(
            f"'{without_shapes(address[:_LONGEST_ADDRESS])}' is not the address of a shared cache: expected"
            f" {_FORMS}, without a login or options (credentials come from the environment)"
        )
    parts = found["path"].strip("/").split("/")
    if found["scheme"] == "file" and not found["path"].startswith("/"):
        raise ValueError(f"'{address}' must name a folder by its whole path: file:///FOLDER")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"'{address}' has an empty part, or one that is '.' or '..'")
    return address.rstrip("/")


def address_of_environment() -> str | None:
    """The address in `$FATHOMS_SHARED_CACHE`, `None` without one; raises ConfigError if it is none."""
    address = os.environ.get(VARIABLE, "").strip()
    try:
        return checked_address(address) if address else None
    except ValueError as error:
        raise ConfigError(f"{VARIABLE}: {error}") from None
