"""The stored judgements of one kind of a run, of which there may be one for each answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from fathoms.errors import StoreError
from fathoms.types import Verdict


class Verdicts(Mapping[str, Verdict]):
    """Verdicts by key, each converted when it is asked for; `file` is named in errors."""

    def __init__(self, stored: Mapping[str, Any], file: str) -> None:
        self.stored = stored
        self._file = file
        if not all(isinstance(value, dict) for value in stored.values()):
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
        return StoreError(f"{self._file} does not hold verdicts; delete it to judge again")
