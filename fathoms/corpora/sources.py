"""The `data:` section of a configuration: the name of a data set, or the user's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Tag, field_validator

from fathoms.component import Loads
from fathoms.corpora.manifests import is_path, known_sets
from fathoms.errors import suggest


class FileSource(BaseModel):
    """Your own questions and PDFs."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    questions: Path
    """The question file (`.json`, `.jsonl`, `.ndjson`, `.csv`, `.tsv`, `.xlsx`), relative to the
    configuration."""
    documents: Path | None = None
    """The folder of the PDFs, searched with its subfolders and relative to the configuration's folder. Leave
    it out for a pipeline that has its own documents."""
    missing: Literal["fail", "skip"] = "fail"
    """What to do if documents that questions need are missing: `fail` stops with an error, `skip` leaves
    those questions out and marks the run incomplete."""


class NamedSource(BaseModel):
    """A data set that has a manifest; its questions or documents may be replaced by your own."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    loads: ClassVar[Mapping[str, Loads]] = {"name": Loads("file")}

    name: str
    """The name of a data set that comes with fathoms, or the path of a manifest of yours (`.yaml`)."""
    questions: Path | None = None
    """A question file to read instead of the first one of the data set: a path, or the name of another file
    of the set, such as `dev_15.jsonl` of `mmdocrag`."""
    documents: Path | None = None
    """A folder of PDFs to use instead of the pulled ones."""
    missing: Literal["fail", "skip"] = "fail"
    """What to do if documents of the data set are missing: `fail` stops with an error, `skip` leaves out the
    questions that need them and marks the run incomplete."""

    @field_validator("name")
    @classmethod
    def _known(cls, name: str) -> str:
        if not is_path(name) and name not in known_sets():
            raise ValueError(f"no data set of that name{suggest(name, known_sets())}")
        return name


def _spelled_out(value: Any) -> Any:
    """Expand the short form `data: sample` to `data: {name: sample}`."""
    if isinstance(value, str):
        return {"name": value}
    if not isinstance(value, Mapping | FileSource | NamedSource):
        raise ValueError("expected the name of a data set, or {questions: FILE, documents: FOLDER}")
    return value


def _form(value: Any) -> str:
    """Return the discriminator of the union: `named` if there is a `name`, else `files`."""
    named = isinstance(value, NamedSource) or (isinstance(value, Mapping) and "name" in value)
    return "named" if named else "files"


DataSource = Annotated[
    Annotated[NamedSource, Tag("named")] | Annotated[FileSource, Tag("files")],
    Discriminator(_form),
    BeforeValidator(_spelled_out),
]
"""The type of the `data:` field of a configuration."""
