"""Reads and writes `pulled.json`, the record of where each file of a data set came from and its sha256."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from fathoms.errors import DataError
from fathoms.paths import sha256_file, write_atomic

RECORD = "pulled.json"


class PulledFile(BaseModel):
    """The record of one file.

    `origin` is the URL or the path that it came from, `at` the time in UTC (ISO 8601), and `warning` says
    how it differs from the expected file, `None` if it does not.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    sha256: str
    bytes: int
    origin: str
    at: str
    warning: str | None = None

    @property
    def from_network(self) -> bool:
        """Whether the file was downloaded rather than copied from a folder."""
        return self.origin.startswith(("http://", "https://"))


class Pulled(BaseModel):
    """The record of one folder: `files` maps file names to their records."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    version: Literal[1] = 1
    files: dict[str, PulledFile] = {}


def describe(path: Path, origin: str, warning: str | None = None) -> PulledFile:
    """Return the record of a file that has just been downloaded or copied."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return PulledFile(
        sha256=sha256_file(path), bytes=path.stat().st_size, origin=origin, at=now, warning=warning
    )


def read_record(folder: Path) -> Pulled:
    """Read the record of a folder; it is empty if nothing was pulled yet.

    Raises DataError if the record cannot be read or is invalid.
    """
    path = folder / RECORD
    try:
        return Pulled.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Pulled()
    except (OSError, ValidationError) as error:
        raise DataError(f"{path}: cannot be read; delete it and pull again") from error


def write_record(folder: Path, pulled: Pulled) -> None:
    """Write the record of a folder, replacing an earlier one atomically."""
    write_atomic(folder / RECORD, (pulled.model_dump_json(indent=2, exclude_none=True) + "\n").encode())
