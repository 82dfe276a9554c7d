"""Documents that are published as pictures of their pages: they become PDFs, once, in the cache.

A folder of documents without any PDF is searched for them. Each folder that holds pictures is a document with
its name, and so are the documents of a parquet file of pages (MMDocIR, ViDoRe). The PDFs have no text layer:
parsers say so, and only OCR or a model that sees the pages finds anything in them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.corpora import mmdocir, vidore
from fathoms.corpora.picture_pdf import Fit, PicturePdf, at_resolution, long_side
from fathoms.corpora.released import document_name
from fathoms.corpora.tables import columns_of, rows_of
from fathoms.errors import DataError
from fathoms.paths import cache_dir, write_atomic
from fathoms.safety.inputs import parse_json, read_file, read_text

PICTURES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
VERSION = 1
"""Part of the key of every PDF in the cache: raise it when the same pictures give other PDFs."""
_SHOWN = 5
"""Most pages that a warning names."""
_MMDOCIR_COLUMNS = {"doc_name", "passage_id", "image_binary"}

Found = tuple[dict[str, Path], tuple[str, ...]]
"""The PDFs by name, and the warnings about them."""


def picture_documents(folder: Path) -> Found:
    """Return the documents in a folder and its subfolders that consist of pictures, and warnings about them.

    Links that lead out of the folder are not followed. Raises DataError for two documents with the same name,
    and MissingExtraError for a parquet file without pyarrow.
    """
    inside = folder.resolve()
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.resolve().is_relative_to(inside)
    ]
    tables = [path for path in files if path.suffix.lower() == ".parquet"]
    by_folder: dict[Path, list[Path]] = {}
    for path in files:
        if path.suffix.lower() in PICTURES:
            by_folder.setdefault(path.parent, []).append(path)
    parts = [_from_folder(where, pictures) for where, pictures in by_folder.items()]
    return _joined([*parts, *_from_tables(tables)])


def _joined(parts: list[Found]) -> Found:
    """Join documents from several sources; raises DataError where two have the same name."""
    documents: dict[str, Path] = {}
    for found, _ in parts:
        for name, path in found.items():
            if documents.setdefault(name, path) != path:
                raise DataError(f"two different documents are called '{name}': rename a folder")
    return dict(sorted(documents.items())), tuple(text for _, warnings in parts for text in warnings)


def _from_folder(folder: Path, pictures: list[Path]) -> Found:
    """Make one PDF of the pictures in a folder."""
    name = document_name(folder.name)
    numbers = _numbers(pictures)

    def pages() -> Iterator[_Page]:
        for path, number in zip(pictures, numbers, strict=True):
            yield name, number, path, long_side()

    return _cached_documents(key_of(pictures), pages, f"{folder}")


def _numbers(pictures: list[Path]) -> list[int]:
    """Return the page numbers, from 1. If all names are different numbers, they are the page numbers: from 0
    if there is a 0, else from 1. Otherwise pages are numbered in the order of the names, in which `p10` comes
    after `p9`."""
    stems = [path.stem for path in pictures]
    if all(stem.isascii() and stem.isdigit() and len(stem) < 7 for stem in stems):
        numbers = [int(stem) for stem in stems]
        if len(set(numbers)) == len(numbers):
            return [number + (1 if 0 in numbers else 0) for number in numbers]
    names = [path.name for path in pictures]
    order = {name: number for number, name in enumerate(sorted(names, key=_natural), start=1)}
    return [order[name] for name in names]


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts the numbers in names by their value."""
    parts = re.split(r"([0-9]+)", name)  # every second part is a number
    return [(int(part) if place % 2 else 0, part) for place, part in enumerate(parts)]


def _from_tables(tables: list[Path]) -> list[Found]:
    """Make the PDFs of the parquet files of pages; what other parquet files hold is not looked at."""
    found: list[Found] = []
    corpus = []
    for path in tables:
        columns = columns_of(path)
        if set(columns) >= _MMDOCIR_COLUMNS:
            found.append(_from_mmdocir(path))
        elif vidore.is_table_of_pages(columns):
            if "query" in columns:
                found.append(_cached_documents(key_of([path]), partial(_paired, path), str(path)))
            else:
                corpus.append(path)
    if corpus:
        found.append(_cached_documents(key_of(corpus), partial(_corpus, corpus), str(corpus[0].parent)))
    return found


def _from_mmdocir(path: Path) -> Found:
    """Make the PDFs of MMDocIR's pages; their sizes are in the annotations beside the parquet file."""
    annotations = sorted(path.parent.glob("*annotations*.jsonl"))
    documents, warnings = _cached_documents(
        key_of([path, *annotations]), partial(_mmdocir, path, annotations), str(path)
    )
    if not annotations:
        warnings += (
            f"{path}: MMDocIR_annotations.jsonl is not beside this file, so the sizes of pages are not known:"
            " boxes of evidence do not fit them",
        )
    return documents, warnings


_Page = tuple[str, int, Any, Fit]
"""A document, the number of a page, its picture (bytes or the path of a file; else it is counted as damaged),
and the size of the page."""


def _mmdocir(path: Path, annotations: list[Path]) -> Iterator[_Page]:
    """Yield MMDocIR's pages. Each has the size in points that the annotations state for it. Other pages of a
    document get the most common of its sizes."""
    sizes: dict[str, dict[int, tuple[float, float]]] = {}
    for file in annotations:
        for number, line in enumerate(read_text(file).split("\n"), start=1):
            row = parse_json(line, str(file), number) if line.strip() else None
            if isinstance(row, dict):
                document, known = mmdocir.page_sizes(row)
                sizes.setdefault(document, {}).update(known)
    pages: Counter[str] = Counter()
    for row in rows_of(path, ["doc_name", "image_binary"]):
        document = document_name(str(row.get("doc_name")))
        pages[document] += 1  # rows are in the order of the pages; `passage_id` is not a page number
        known = sizes.get(document, {})
        yield document, pages[document], row.get("image_binary"), _fit(known, pages[document])


def _fit(known: dict[int, tuple[float, float]], page: int) -> Fit:
    """Return the size of a page: the one that is stated, or the longer side that is most common."""
    if page in known:
        return lambda width, height: known[page]
    sides = Counter(max(size) for size in known.values())
    return long_side(sides.most_common(1)[0][0]) if sides else long_side()


def _paired(path: Path) -> Iterator[_Page]:
    """Yield the pages of a ViDoRe table of version 1; a page that several rows hold comes once."""
    seen = set()
    for row, (document, page) in zip(rows_of(path, ["image"]), vidore.places_in_table(path), strict=True):
        if document not in seen:
            seen.add(document)
            yield document, page, vidore.picture_of(row.get("image")), at_resolution(vidore.DPI)


def _corpus(paths: list[Path]) -> Iterator[_Page]:
    """Yield the pages of a ViDoRe corpus."""
    places = iter(vidore.corpus_places(paths).values())
    for path in paths:
        for row in rows_of(path, ["image"]):
            document, page = next(places)
            yield document, page, vidore.picture_of(row.get("image")), at_resolution(vidore.DPI)


def key_of(paths: list[Path], version: int = VERSION) -> str:
    """Return the key of the PDFs that are made of files: a hash of their names, sizes and times of change,
    and of the version of what makes them. The contents of the files are not read for it, because that takes
    minutes for a large corpus."""
    found = [(str(path.resolve()), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in paths]
    return hashlib.sha256(json.dumps([version, found]).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _cached_documents(key: str, pages: Callable[[], Iterator[_Page]], source: str) -> Found:
    """Return the PDFs of pages from the cache, after making them if they are not there yet.

    The list of the PDFs is written last, so that an interrupted call is done again.
    """
    folder = cache_dir() / "picture-documents" / key
    index = folder / "index.json"
    if not index.is_file():
        documents, damaged, absent = _write(folder, pages())
        warnings = [
            f"{source}: {what}: {len(found)}: {'; '.join(found[:_SHOWN])}{'; ...' if found[_SHOWN:] else ''}"
            for what, found in (
                ("pictures cannot be read, so their pages are empty", damaged),
                ("pages have no picture, so they are empty", absent),
            )
            if found
        ]
        write_atomic(index, json.dumps({"documents": documents, "warnings": warnings}).encode())
    listed = parse_json(read_text(index), str(index))
    return {name: folder / name for name in listed["documents"]}, tuple(listed["warnings"])


def _write(folder: Path, pages: Iterator[_Page]) -> tuple[list[str], list[str], list[str]]:
    """Write the PDFs, and return their names, the pictures that cannot be read, and the pages without one."""
    pdfs: dict[str, PicturePdf] = {}
    numbers: dict[str, set[int]] = {}
    damaged: list[str] = []
    absent: list[str] = []
    try:
        for name, number, picture, fit in pages:
            if name not in pdfs:
                pdfs[name], numbers[name] = PicturePdf(folder / name), set()
            numbers[name].add(number)
            try:
                data = read_file(picture) if isinstance(picture, Path) else picture
                if not isinstance(data, bytes):
                    raise DataError("there is none in this row")
                pdfs[name].add(number, data, fit)
            except DataError as error:
                damaged.append(f"{name}, page {number}: {error}")
        for name, pdf in pdfs.items():
            empty = pdf.close(max(numbers[name]))
            absent += [f"{name}, page {page}" for page in empty if page not in numbers[name]]
    finally:
        for pdf in pdfs.values():
            pdf.discard()
    return sorted(pdfs), damaged, absent
