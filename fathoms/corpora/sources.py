"""What `data:` may say in a configuration: the name of a data set, or one's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Tag, field_validator

from fathoms.config import suggest
from fathoms.corpora.manifests import is_path, known_sets


class FileSource(BaseModel):
    """Questions and PDFs of one's own."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    questions: Path
    """The question file (`.json`, `.jsonl`, `.csv`), relative to the folder of the configuration."""
    documents: Path | None = None
    """The folder of the PDFs, with all folders in it; none for a pipeline that has its own documents."""
    missing: Literal["fail", "skip"] = "fail"
    """What to do about documents that questions name and that are not there: fail, or leave those
    questions out and mark the run incomplete."""


class NamedSource(BaseModel):
    """A data set that has a manifest, if need be with files from elsewhere."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """The name of the manifest, or the path of one of yours, which ends in `.yaml`."""
    questions: Path | None = None
    """A question file to read instead of the pulled one."""
    documents: Path | None = None
    """A folder of PDFs to use instead of the pulled ones."""
    missing: Literal["fail", "skip"] = "fail"
    """As for one's own files."""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if not is_path(name) and name not in known_sets():
            raise ValueError(f"no data set of that name{suggest(name, known_sets())}")
        return name


def _spelled_out(value: Any) -> Any:
    """`data: sample` is short for `data: {name: sample}`."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, Mapping | FileSource | NamedSource):
        raise ValueError("want the name of a data set, or {questions: FILE, documents: FOLDER}")
    return value


def _form(value: Any) -> str:
    """Which of the two forms a mapping has."""
    named = isinstance(value, NamedSource) or (isinstance(value, Mapping) and "name" in value)
    return "named" if named else "files"


DataSource = Annotated[
    Annotated[NamedSource, Tag("named")] | Annotated[FileSource, Tag("files")],
    Discriminator(_form),
    BeforeValidator(_spelled_out),
]
"""The type of `data:` in a configuration."""
