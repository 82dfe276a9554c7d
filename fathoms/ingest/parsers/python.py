"""The parser for your own Python code: a file with a function `read(path, options)`.

Like every parser, it runs in a separate process for each PDF, with limits on time and memory. It may import
any installed package, but no file in its own folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fathoms.component import Loads
from fathoms.errors import ConfigError
from fathoms.paths import sha256_file
from fathoms.pdf.parser import PdfParser
from fathoms.pdf.raw import RawDocument, RawElement, RawPage
from fathoms.types import OFFICE, PDF


class _Element(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    kind: Literal["text", "table", "picture", "formula", "code"]
    text: str = ""
    bbox: list[float] = Field(min_length=4, max_length=4)

    @property
    def raw(self) -> RawElement:
        """The element as parsers return it."""
        x0, y0, x1, y1 = self.bbox
        return {"kind": self.kind, "text": self.text, "bbox": (x0, y0, x1, y1)}


class _Page(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    text: str | None
    pictures: int = Field(default=0, ge=0)
    elements: list[_Element] = []


class _Returned(BaseModel):
    """What the user's `read` may return."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    pages: list[_Page] = []
    page_count: int | None = Field(default=None, ge=0)
    warnings: list[str] = []
    error: str | None = None


class PythonParser(PdfParser):
    """Calls the function `read(path, options)` of the module `target`, which returns the text of each page.

    `path` is a PDF, or a DOCX, PPTX or HTML file if there are any among the documents.
    It returns `{"pages": [{"text": "..."}, ...]}`, with `None` as the text of a page that it could not read.
    A page may also have `pictures` (their number), or `elements`, each with `kind` (text, table, picture,
    formula, code), `text` and `bbox` ([x0, y0, x1, y1] in points from the top left corner). The result may
    have `warnings` (sentences) and `page_count` (the number of pages of the file, if not all were read).
    `{"error": "why"}` rejects the file.
    """

    reads: ClassVar[frozenset[str]] = OFFICE | {PDF}
    gives_transcripts: ClassVar[bool] = False
    gives_boxes: ClassVar[bool] = True
    needs_check: ClassVar[bool] = True
    loads: ClassVar[Mapping[str, Loads]] = {"target": Loads("code")}

    kind: Literal["python"] = "python"
    target: str = Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")
    """The module, as `package.module`: a file in the current directory, or an installed module."""
    options: dict[str, Any] = Field(default_factory=dict)
    """The dictionary that `read` receives as `options`; `max_pages` is added to it."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the hash of the source, so that a changed module is another parser."""
        return {**super().identity(), "source": sha256_file(self._file())}

    def require(self) -> None:
        """Raise ConfigError if there is no such module."""
        self._file()

    def reader_file(self) -> str:
        """Return the path of the module that holds `read`."""
        return str(self._file())

    def reader_options(self) -> dict[str, Any]:
        """Return the user's options and the maximum number of pages."""
        return {**self.options, "max_pages": self.max_pages}

    def accepted(self, returned: Any) -> RawDocument:
        """Check what the function returned; the result is an error of the file if it has another shape."""
        match returned:
            case {"error": [str(reason), str(detail)]}:  # from the child process, not from the function
                return {"error": (reason, detail)}
        try:
            found = _Returned.model_validate(returned)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "what it returned"
            return {"error": ("crash", f"{self.target}.read: {place}: {first['msg']}")}
        if found.error is not None:
            return {"error": ("damaged", found.error)}
        pages: list[RawPage] = [
            {"text": page.text, "pictures": page.pictures, "elements": [each.raw for each in page.elements]}
            for page in found.pages
        ]
        return {"page_count": found.page_count or len(pages), "pages": pages, "warnings": found.warnings}

    def _file(self) -> Path:
        """Find the file of the module without importing it."""
        spec = _spec(self.target, [str(Path.cwd())]) or _spec(self.target, None)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            places = f"in {Path.cwd()} or among what is installed"
            raise ConfigError(f"ingest: there is no module '{self.target}' {places}")
        return Path(spec.origin).resolve()


def _spec(target: str, places: Sequence[str] | None) -> ModuleSpec | None:
    """Find a module in these folders (`None`: on the import path) without running its parent packages."""
    spec, name = None, ""
    for part in target.split("."):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            return None
        places = spec.submodule_search_locations or []
    return spec
