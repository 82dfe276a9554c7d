"""Manifests of data sets: `data/NAME.yaml` says which files there are, where from, and under what licence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

import fathoms
from fathoms.config import read_yaml, suggest, validate
from fathoms.errors import UsageError
from fathoms.paths import cache_dir


def _plain_name(name: str) -> str:
    """A file name that cannot leave its folder."""
    if not name.isprintable() or not name or name.startswith(".") or "/" in name or "\\" in name:
        raise ValueError("want the name of a file, without a folder")
    return name


class ManifestFile(BaseModel):
    """One file of a data set."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    file: Annotated[str, AfterValidator(_plain_name)]
    """Its name in the data set."""
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """Where it comes from; none if it lies beside the manifest, in the folder `NAME/`."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """What it must be; none if that is not known before the first pull."""
    licence: str | None = None
    """Its licence, where it is not that of the set."""


class Manifest(BaseModel):
    """A data set: its files and what to say about them."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, AfterValidator(_plain_name)]
    """The name that configurations use; the file is `NAME.yaml`."""
    title: str
    """One line about it."""
    homepage: str | None = None
    """Where people read about it."""
    licence: str
    """The licence, or the licences and what each is for."""
    citation: str | None = None
    """How to cite it."""
    questions: ManifestFile
    """The question file."""
    exemplars: ManifestFile | None = None
    """Statements and abstentions for the abstention classifier."""
    documents: tuple[ManifestFile, ...]
    """The PDFs."""
    _path: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _consistent(self) -> Manifest:
        names = [entry.file for entry in self.files]
        if len({name.casefold() for name in names}) < len(names):
            raise ValueError("a file stands twice in this data set (capital and small letters are the same)")
        if len({entry.url is None for entry in self.files}) > 1:
            raise ValueError("either every file has a 'url' or none has (they lie in the folder NAME/)")
        return self

    @property
    def files(self) -> tuple[ManifestFile, ...]:
        """Every file: questions, exemplars, documents."""
        exemplars = (self.exemplars,) if self.exemplars else ()
        return (self.questions, *exemplars, *self.documents)

    @property
    def reference(self) -> str:
        """What configurations and commands call the set: its name, or the path of its manifest."""
        return str(self._path) if self.from_elsewhere else self.name

    @property
    def from_elsewhere(self) -> bool:
        """Whether it was read from a file that does not come with fathoms."""
        return self._path is not None and self._path.parent != data_dir()

    @property
    def shipped(self) -> bool:
        """Whether the files are beside the manifest, and nothing has to be pulled."""
        return self.questions.url is None

    @property
    def folder(self) -> Path:
        """Where the files are on this machine, or will be once they are pulled."""
        beside = self._path.parent if self._path else data_dir()
        return (beside if self.shipped else cache_dir() / "data") / self.name


def data_dir() -> Path:
    """The folder of the manifests: the checkout's `data/`, else the one inside the installed package."""
    package = Path(fathoms.__file__).parent
    checkout = package.parent / "data"
    return checkout if (checkout / "sample.yaml").is_file() else package / "_data"


def known_sets() -> tuple[str, ...]:
    """The names of the data sets that have a manifest."""
    return tuple(sorted(path.stem for path in data_dir().glob("*.yaml")))


def is_path(name: str) -> bool:
    """Whether a data set is called by the path of its manifest."""
    return name.endswith(".yaml")


def find_manifest(name: str, base: Path = Path()) -> Manifest:
    """The manifest of a data set: one that comes with fathoms, or that of a file, found from `base`.

    Raises UsageError with a suggestion for a name that has none, and ConfigError for a file that is none.
    """
    if is_path(name):
        return read_manifest((base / name).absolute())
    if name not in known_sets():
        raise UsageError(f"unknown data set '{name}'{suggest(name, known_sets())}")
    return read_manifest(data_dir() / f"{name}.yaml")


def read_manifest(path: Path) -> Manifest:
    """Read and check one manifest; raises ConfigError with file:line:col."""
    source = read_yaml(path)
    manifest = validate(Manifest, source)
    if manifest.name != path.stem:
        raise source.complain(("name",), f"'{manifest.name}' has to be '{path.stem}', as the file is called")
    manifest._path = path
    return manifest
