"""Makes pictures of the gold pages, the retrieved pages and the picture quotes of questions.

Pages are rendered from the documents that a run names, and only if their SHA-256 is still the same: a
picture of a changed file would be misleading. A run does not have the SHA-256 of pictures in files of their
own, such as figures that were cut out of their pages, so these files are shown as they are now.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fathoms.corpora import find_manifest
from fathoms.errors import DocumentError, FathomsError
from fathoms.paths import cache_dir, sha256_file
from fathoms.report.html.detail import Pictures as OfRun
from fathoms.report.html.places import PageText, Sought
from fathoms.runs.documents import listed_documents
from fathoms.runs.run import Run
from fathoms.runs.trust import is_signed
from fathoms.safety.inputs import expanded
from fathoms.text.fingerprints import fingerprint
from fathoms.types.run.manifest import KnownDocument

PAGES = 300
LARGE = 80
"""Of so many pages, those that are gold first, the pictures are large; the others are small."""
BYTES = 18_000_000
"""The largest total size of all pictures in the file."""
LEAST = 4_000_000
"""The size that pictures may take however large the rest of the file is."""
WIDTH, SMALL = 900, 220
FIGURE = 420
"""The longer side in pixels of a figure or table that was cut out, whose text is to be legible."""
NAMED = 5
"""The largest number of documents that a warning names."""


@dataclass
class Wanted:
    """A page, and how often it is shown in total (`uses`) and as gold evidence (`gold`)."""

    document: str
    path: Path
    number: int
    gold: int = 0
    uses: int = 0


class Pictures:
    """Collects the pages that the report shows, and renders them at the end."""

    def __init__(self) -> None:
        self._wanted: dict[str, Wanted] = {}
        self._missing: dict[str, None] = {}
        self._failed: dict[str, None] = {}
        self._unread: dict[str, None] = {}
        self._elsewhere: dict[str, None] = {}
        self._sought: dict[tuple[str, Sought], int] = {}
        self.sizes: dict[str, tuple[float, float]] = {}
        """The width and height of the drawn pages in points, by key."""
        self.places: dict[int, Any] = {}
        """Where on the drawn pages stands what was sought, by the numbers that `seek` has returned."""

    def of(self, run: Run) -> OfRun:
        """Return what registers the pages and pictures of a run."""
        if not is_signed(run.manifest) and any(_named_folders(run)):
            self._elsewhere.setdefault(run.original_id)
        return _OfRun(self, _Documents(run), tuple(_picture_folders(run)))

    def want(self, key: str, document: str, path: Path, number: int, gold: bool) -> str:
        """Register a page, or with the number 0 a picture in a file of its own, and return the key."""
        wanted = self._wanted.setdefault(key, Wanted(document, path, number))
        wanted.gold += gold
        wanted.uses += 1
        return key

    def seek(self, key: str, sought: Sought) -> int:
        """Register what is to be found on a page, and return the number of its places in `places`."""
        return self._sought.setdefault((key, sought), len(self._sought))

    def lacks(self, document: str) -> None:
        """Note that a document was not found."""
        self._missing.setdefault(document)

    def cannot_read(self, name: str) -> None:
        """Note that a picture in a file of its own is missing or cannot be read."""
        self._unread.setdefault(name)

    def draw(self, room: int = BYTES, keys: Collection[str] | None = None) -> dict[str, str]:
        """Return the pictures by key, or those with some `keys`, as JPEG files in base64 that take `room`
        bytes together.

        Gold pages come first, then the pages retrieved most often, as far as the limits on number and size
        allow.
        """
        wanted = [item for item in self._wanted.items() if keys is None or item[0] in keys]
        ranked = sorted(wanted, key=lambda item: (-item[1].gold, -item[1].uses))[:PAGES]
        sought: dict[str, list[tuple[int, Sought]]] = {}
        for (key, one), number in self._sought.items():
            sought.setdefault(key, []).append((number, one))
        pictures: dict[str, str] = {}
        for width, some in ((WIDTH, ranked[:LARGE]), (SMALL, ranked[LARGE:])):
            for path in dict.fromkeys(wanted.path for _, wanted in some):
                pages = {key: page for key, page in some if page.path == path}
                pictures |= self._of_document(path, pages, width, sought)
        drawn: dict[str, str] = {}
        room = max(LEAST, min(room, BYTES))
        for key, _ in ranked:
            room -= len(pictures.get(key, ""))
            if key in pictures and room >= 0:
                drawn[key] = pictures[key]
        self.sizes = {key: size for key, size in self.sizes.items() if key in drawn}
        return drawn

    def of_keys(self, keys: Collection[str]) -> dict[str, Any]:
        """Draw some of the registered pages: their pictures, sizes and what was found on them, by key."""
        pictures = self.draw(keys=keys)
        numbers = {number for (key, _), number in self._sought.items() if key in pictures}
        places = {number: place for number, place in self.places.items() if number in numbers}
        return {"pictures": pictures, "sizes": self.sizes, "places": places}

    def _of_document(
        self,
        path: Path,
        pages: dict[str, Wanted],
        width: int,
        sought: Mapping[str, Sequence[tuple[int, Sought]]],
    ) -> dict[str, str]:
        """Render pages of a file and find there what was sought, or make a picture of its own smaller."""
        from fathoms.pdf.thumbnails import page_thumbnails

        if 0 in {page.number for page in pages.values()}:
            thumbnail = _small(path)
            if thumbnail is None:
                self.cannot_read(path.name)
                return {}
            return dict.fromkeys(pages, thumbnail)
        try:
            found = page_thumbnails(path, {page.number for page in pages.values()}, width, words=True)
        except DocumentError:
            self._failed.update(dict.fromkeys(page.document for page in pages.values()))
            return {}
        there = {key: found[page.number] for key, page in pages.items() if page.number in found}
        self.sizes |= {key: one.size for key, one in there.items()}
        for key, one in there.items():
            text = PageText(one.words)
            self.places |= {number: place for number, what in sought.get(key, ()) if (place := what.on(text))}
        return {key: base64.b64encode(one.jpeg).decode("ascii") for key, one in there.items()}

    def warnings(self) -> Iterator[str]:
        """Yield warnings about the documents without pictures, and about pictures that cannot be read.

        A document is not reported as missing if any run found it, because some runs read no documents at all.
        """
        found = {page.document for page in self._wanted.values()}
        if missing := {name: None for name in self._missing if name not in found}:
            yield f"no pictures of pages of {_some(missing)}: not found here, or changed since the run"
        if self._failed:
            yield f"no pictures of pages of {_some(self._failed)}: they cannot be rendered"
        if self._unread:
            yield f"no picture of {_some(self._unread)}: the file is missing or cannot be read"
        if self._elsewhere:
            yield (
                f"no pictures from the folders that {_some(self._elsewhere)} names: not known to be a run of"
                " yours; add --trust if you trust its origin"
            )


@dataclass(frozen=True)
class _OfRun:
    """Registers the pages and pictures of one run in `all`. Pictures in files of their own are read only from
    `folders`, because the run names them by their paths, which somebody else may have written."""

    all: Pictures
    documents: _Documents
    folders: tuple[Path, ...]

    def page(self, document: str, number: int | None, gold: bool) -> str | None:
        """Return the key of a page; `None` if the page or the document is not known."""
        if number is None or not document:
            return None
        found = self.documents.find(document)
        if found is None:
            self.all.lacks(document)
            return None
        path, sha256 = found
        return self.all.want(f"{sha256[:16]}-{number}", document, path, number, gold)

    def seek(self, key: str, sought: Sought) -> int:
        """Return the number of the places of what is sought on a page."""
        return self.all.seek(key, sought)

    def file(self, path: Path, gold: bool) -> str | None:
        """Return the key of a picture; `None` if it is not in the folders, or not there."""
        try:
            real = path.resolve()
            if not any(real.is_relative_to(folder) for folder in self.folders):
                return None
            there = real.is_file()
        except (OSError, RuntimeError, ValueError):  # such as links in a circle, and names with a NUL
            there = False
        if not there:
            self.all.cannot_read(path.name)
            return None
        return self.all.want(f"file-{fingerprint(str(path))[:16]}", path.name, path, 0, gold)


def _small(path: Path) -> str | None:
    """Return a small copy of a picture as a JPEG file in base64; `None` if it cannot be read."""
    from PIL import Image

    from fathoms.pdf.pictures import FORMATS, opaque

    try:
        with Image.open(path, formats=FORMATS) as whole:
            small = opaque(whole)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    small.thumbnail((FIGURE, FIGURE))
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=80)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _picture_folders(run: Run) -> Iterator[Path]:
    """Yield the folders whose pictures a report may show: of a run that is known to be of this user, the
    cache, the folder of its question file, and that of its data set."""
    if not is_signed(run.manifest):
        return
    yield (cache_dir() / "images").resolve()
    source = run.manifest.config.get("data")
    if not isinstance(source, dict):
        return
    base = Path(run.manifest.folder)
    with suppress(FathomsError, OSError):
        if source.get("questions"):
            yield (base / expanded(Path(str(source["questions"])))).parent.resolve()
    with suppress(FathomsError, OSError):
        if source.get("name"):
            yield find_manifest(str(source["name"]), base).folder.resolve()


class _Documents:
    """Finds the files of one run's documents."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._folders = list(folders(run))
        self._files: dict[str, list[Path]] | None = None
        self._found: dict[str, tuple[Path, str] | None] = {}

    def find(self, name: str) -> tuple[Path, str] | None:
        """Return the file of a document and its SHA-256, `None` if it is missing or has changed."""
        if name not in self._found:
            self._found[name] = self._look(name)
        return self._found[name]

    @cached_property
    def _listed(self) -> Mapping[str, KnownDocument]:
        """What the run states of its documents."""
        return listed_documents(self._run, self._run.manifest)

    def _look(self, name: str) -> tuple[Path, str] | None:
        """Return the file with the document's name that has the same SHA-256 as in the run."""
        if self._files is None:
            self._files = {}
            for folder in filter(Path.is_dir, self._folders):
                for path in sorted(folder.rglob("*")):
                    if path.suffix.lower() == ".pdf" and path.is_file():
                        self._files.setdefault(path.name, []).append(path)
        for path in self._files.get(name, ()):
            sha256 = sha256_file(path)
            if (known := self._listed.get(name)) and sha256 == known.sha256:
                return path, sha256
        return None


def folders(run: Run) -> Iterator[Path]:
    """Yield the folders that may hold the documents of a run.

    The folders in a manifest are used only if the manifest is signed as a run of this user. The folder of a
    built-in data set is always used.
    """
    from fathoms.corpora import find_manifest, known_sets

    trusted = is_signed(run.manifest)
    if trusted:
        yield from _named_folders(run)
    name = str(run.manifest.data.name)
    if trusted or name in known_sets():  # any other name could be the path of a file chosen by someone else
        with suppress(FathomsError):
            yield find_manifest(name).folder


def _named_folders(run: Run) -> Iterator[Path]:
    """Yield the folder in a run's configuration, relative to the configuration, and that of an import."""
    source = run.manifest.config.get("data")
    if isinstance(source, dict) and source.get("documents"):
        with suppress(FathomsError):  # `~name` of a user who does not exist here
            yield Path(run.manifest.folder) / expanded(Path(str(source["documents"])))
    if run.manifest.data.folder:
        yield Path(run.manifest.data.folder)


def _some(names: dict[str, None]) -> str:
    """List a few names, and count the others."""
    more = len(names) - NAMED
    return ", ".join(list(names)[:NAMED]) + (f" and {more} more" if more > 0 else "")
