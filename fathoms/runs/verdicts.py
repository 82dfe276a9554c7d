"""The judgements that a run has stored, so that scoring again need not repeat them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fathoms.errors import StoreError
from fathoms.paths import safe_name
from fathoms.runs.folder import json_bytes, read_object, write_sealed
from fathoms.types import Verdict


def verdict_text(key: str, verdict: Verdict) -> str:
    """A verdict with its key as JSON text, for `Verdicts.add`. As text, it takes much less memory."""
    return _inner({key: verdict.model_dump(exclude_none=True)})


def _inner(value: Mapping[str, Any]) -> str:
    """What stands between the brackets of a JSON object."""
    return json_bytes(value).decode("utf-8", "replace")[2:-3]


def _blocks(old: Mapping[str, Any], new: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the JSON of verdicts block by block, except for the line that closes it: those that are `old`,
    and the texts of the `new` ones."""
    texts, start = chain([_inner(old)] if old else (), new.values()), "{\n"
    while block := list(islice(texts, 1_000)):
        yield (start + ",\n".join(block)).encode("utf-8", "replace")
        start = ",\n"


class Verdicts(Mapping[str, Verdict]):
    """The judgements of one kind that a run has stored, by key, each converted when it is asked for."""

    def __init__(self, root: Path, kind: str) -> None:
        self._root = root
        self._name = f"verdicts/{safe_name(kind)}.json"
        there = os.path.lexists(root / self._name)
        self.stored: Mapping[str, Any] = read_object(root, self._name) if there else {}
        if not all(isinstance(value, dict) for value in self.stored.values()):
            raise self._unusable()

    def __getitem__(self, key: str) -> Verdict:
        """Return a verdict; raises KeyError, and StoreError if it cannot be used."""
        try:
            return Verdict.model_validate(self.stored[key])
        except ValidationError as error:
            raise self._unusable() from error

    def __contains__(self, key: object) -> bool:
        return key in self.stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def _unusable(self) -> StoreError:
        return StoreError(f"{self._root / self._name} does not hold verdicts; delete it to judge again")

    def add(self, texts: Mapping[str, str]) -> None:
        """Write judgements, at least one, each as `verdict_text` makes it; those with the same key are
        replaced."""
        old = {key: value for key, value in self.stored.items() if key not in texts}
        write_sealed(self._root, self._name, _blocks(old, texts))
