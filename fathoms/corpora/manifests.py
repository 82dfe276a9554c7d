"""Reads data set manifests: `data/NAME.yaml` lists a set's files, their URLs and their licence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from fathoms.config import read_yaml, validate
from fathoms.errors import UsageError, suggest
from fathoms.paths import cache_dir


def _plain_name(name: str) -> str:
    """Return the name unchanged; raise ValueError if it is hidden or could lead out of its folder."""
    if not name.isprintable() or not name or name.startswith(".") or "/" in name or "\\" in name:
        raise ValueError("must be a file name without a folder")
    return name


class ManifestFile(BaseModel):
    """One file of a data set."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    file: Annotated[str, AfterValidator(_plain_name)]
    """The file name, without a folder."""
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None
    """The download URL. Without one, the file lies in the folder `NAME/` beside the manifest."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The required sha256, 64 lower-case hex digits. Without one, the first pull records it."""
    licence: str | None = None
    """The licence of this file, if it differs from that of the data set."""


class Manifest(BaseModel):
    """A data set: its files, and its title, licence and citation."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: Annotated[str, AfterValidator(_plain_name)]
    """The name of the data set in configurations. The manifest file must be called `NAME.yaml`."""
    title: str
    """A one-line description of the data set."""
    homepage: str | None = None
    """The URL of the web page that describes the data set."""
    licence: str
    """The licence of the data set; if there are several, which of them covers what."""
    citation: str | None = None
    """How to cite the data set."""
    questions: ManifestFile
    """The question file."""
    exemplars: ManifestFile | None = None
    """A file of example statements and abstentions, for the abstention classifier."""
    tables: tuple[ManifestFile, ...] = ()
    """Further files that the questions are read from, such as the relevance judgements of ViDoRe."""
    documents: tuple[ManifestFile, ...] = ()
    """The PDFs that the questions are about, or the parquet files that hold their pages as pictures."""
    each_document: Annotated[str, Field(pattern=r"^https?://.*\{file\}")] | None = None
    """The URL of every PDF that the questions name, with `{file}` for its name; it replaces `documents`."""
    by_hand: str | None = None
    """How to get the files, where there is no address to download them from: said by `pull` and where the
    files are missing."""
    _path: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _consistent(self) -> Manifest:
        names = [entry.file for entry in self.files]
        if len({name.casefold() for name in names}) < len(names):
            raise ValueError("two files of this data set have the same name (ignoring case)")
        if len({entry.url is None for entry in self.files}) > 1:
            raise ValueError("either every file has a 'url' or none has (they lie in the folder NAME/)")
        return self

    @property
    def files(self) -> tuple[ManifestFile, ...]:
        """All files that the manifest lists: the questions, their tables, the exemplars, the documents."""
        exemplars = (self.exemplars,) if self.exemplars else ()
        return (self.questions, *self.tables, *exemplars, *self.documents)

    def with_recorded(self, recorded: Iterable[str]) -> tuple[ManifestFile, ...]:
        """Return the files of the manifest, and those that were pulled because the questions name them."""
        listed = {entry.file for entry in self.files}
        return (*self.files, *(ManifestFile(file=name) for name in recorded if name not in listed))

    @property
    def reference(self) -> str:
        """How configurations and commands refer to the set: by its name, or by the path of its manifest."""
        return str(self._path) if self.from_elsewhere else self.name

    @property
    def from_elsewhere(self) -> bool:
        """Whether the manifest is a file of the user rather than one that comes with fathoms."""
        return self._path is not None and self._path.parent != data_dir()

    @property
    def shipped(self) -> bool:
        """Whether the files lie beside the manifest, so that nothing has to be pulled."""
        return self.questions.url is None and self.by_hand is None

    @property
    def folder(self) -> Path:
        """The folder that holds the files on this machine, or will hold them once they are pulled."""
        beside = self._path.parent if self._path else data_dir()
        return (beside if self.shipped else cache_dir() / "data") / self.name


def data_dir() -> Path:
    """Return the folder of the manifests: `data/` of the checkout, else the copy in the installed package."""
    package = Path(__file__).parents[1]
    checkout = package.parent / "data"
    return checkout if (checkout / "sample.yaml").is_file() else package / "_data"


def known_sets() -> tuple[str, ...]:
    """Return the names of the data sets that come with fathoms, sorted."""
    return tuple(sorted(path.stem for path in data_dir().glob("*.yaml")))


def is_path(name: str) -> bool:
    """Return whether a reference to a data set is the path of a manifest rather than a name."""
    return name.endswith(".yaml")


def find_manifest(name: str, base: Path = Path()) -> Manifest:
    """Return the manifest of a data set, given its name or the path of a manifest, relative to `base`.

    Raises UsageError with a suggestion for an unknown name, and ConfigError for an invalid manifest.
    """
    if is_path(name):
        return read_manifest((base / name).absolute())
    if name not in known_sets():
        raise UsageError(f"unknown data set '{name}'{suggest(name, known_sets())}")
    return read_manifest(data_dir() / f"{name}.yaml")


def read_manifest(path: Path) -> Manifest:
    """Read and validate one manifest; raises ConfigError with `file:line:column` if it is invalid."""
    source = read_yaml(path)
    manifest = validate(Manifest, source)
    if manifest.name != path.stem:
        raise source.complain(("name",), f"'{manifest.name}' has to be '{path.stem}', as the file is called")
    manifest._path = path
    return manifest
