"""A parser of yours: one Python file with a function `read(path, options)`.

It is run as every parser is, in a process of its own for each PDF, with limits on time and memory. So it may
import whatever is installed, but no file beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fathoms.errors import ConfigError
from fathoms.ingest.parsers.base import PdfParser
from fathoms.ingest.parsers.reading import PageReading, Reading
from fathoms.paths import sha256_file


class _Page(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    text: str | None
    pictures: int = Field(default=0, ge=0)


class _Returned(BaseModel):
    """What a `read` of somebody's may return."""

    model_config = ConfigDict(extra="forbid", strict=True)

    pages: list[_Page] = []
    page_count: int | None = Field(default=None, ge=0)
    warnings: list[str] = []
    error: str | None = None


class PythonParser(PdfParser):
    """The function `read(path, options)` of the module `target` gives the text of each page.

    It returns `{"pages": [{"text": "..."}, ...]}`, with `None` as the text of a page that it could not read.
    There may be `pictures` on a page (how many), and beside `pages` `warnings` (sentences) and `page_count`
    (what the file claims, where not all pages were read). `{"error": "why"}` refuses the file.
    """

    kind: Literal["python"] = "python"
    target: str = Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
    """The module, as `package.module`: a file in the current directory, or what is installed."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What `read` gets as `options`, beside `max_pages`."""

    def identity(self) -> dict[str, Any]:
        """With the source of the module: another parser makes another text."""
        return {**super().identity(), "source": sha256_file(self._file())}

    def require(self) -> None:
        """Raise ConfigError where there is no such module."""
        self._file()

    def reader_file(self) -> str:
        """Return the path of the module that holds `read`."""
        return str(self._file())

    def reader_options(self) -> dict[str, Any]:
        """The options as they are, and how many pages are wanted."""
        return {**self.options, "max_pages": self.max_pages}

    def accepted(self, reading: Any) -> Reading:
        """What the function returned, checked; an error of the file where it has another shape."""
        match reading:
            case {"error": [str(reason), str(detail)]}:  # of the process, not of the function
                return {"error": (reason, detail)}
        try:
            found = _Returned.model_validate(reading)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "what it returned"
            return {"error": ("crash", f"{self.target}.read: {place}: {first['msg']}")}
        if found.error is not None:
            return {"error": ("damaged", found.error)}
        pages: list[PageReading] = [{"text": page.text, "pictures": page.pictures} for page in found.pages]
        return {"page_count": found.page_count or len(pages), "pages": pages, "warnings": found.warnings}

    def _file(self) -> Path:
        """Where the module is, found without importing it."""
        spec = _spec(self.target, [str(Path.cwd())]) or _spec(self.target, None)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            places = f"in {Path.cwd()} or among what is installed"
            raise ConfigError(f"ingest: there is no module '{self.target}' {places}")
        return Path(spec.origin).resolve()


def _spec(target: str, places: Sequence[str] | None) -> ModuleSpec | None:
    """A module of these folders (`None`: of what is installed), its packages looked through and not run."""
    spec, name = None, ""
    for part in target.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            return None
        places = spec.submodule_search_locations or []
    return spec
