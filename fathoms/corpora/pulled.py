"""`pulled.json`, the record beside the files of a data set: what came, from where, and its sha256."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from fathoms.errors import DataError
from fathoms.paths import sha256_file, write_atomic

RECORD = "pulled.json"


class PulledFile(BaseModel):
    """One file as it came. `origin` is a URL or a path, `warning` says that it is not the expected one."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    sha256: str
    bytes: int
    origin: str
    at: str
    warning: str | None = None

    @property
    def from_network(self) -> bool:
        """Whether it came from its own address and not from somebody's folder."""
        return self.origin.startswith(("http://", "https://"))


class Pulled(BaseModel):
    """The record of one folder, by file name."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    files: dict[str, PulledFile] = {}

    def with_file(self, name: str, file: PulledFile) -> Pulled:
        """The record with one file more, or replaced."""
        return Pulled(files={**self.files, name: file})


def describe(path: Path, origin: str, warning: str | None = None) -> PulledFile:
    """The record of a file that has just come."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return PulledFile(
        sha256=sha256_file(path), bytes=path.stat().st_size, origin=origin, at=now, warning=warning
    )


def read_record(folder: Path) -> Pulled:
    """The record of a folder; empty where nothing was pulled yet."""
    path = folder / RECORD
    try:
        return Pulled.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Pulled()
    except (OSError, ValidationError) as error:
        raise DataError(f"{path}: cannot be read; delete it and pull again") from error


def write_record(folder: Path, pulled: Pulled) -> None:
    """Replace the record of a folder."""
    write_atomic(folder / RECORD, (pulled.model_dump_json(indent=2, exclude_none=True) + "\n").encode())
