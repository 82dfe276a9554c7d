"""PDFs and images that go to a model: whether one request holds them, and what is done where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fathoms.errors import ConfigError
from fathoms.models import FileLimits
from fathoms.types import Attachment, Chunk, Document, Hit

MEGABYTE = 1_000_000
_SHOWN = 5

Cut = Callable[[Document, int, int], Attachment]
"""Makes a PDF of (document, first page, number of pages)."""
Render = Callable[[Document], Mapping[int, Path]]
"""The images of the pages of a document, by number."""


@dataclass(frozen=True)
class Fitting:
    """How the files of questions are made to fit `limits`; `too_long` and `form` are those of `Files`."""

    limits: FileLimits
    form: Literal["pdf", "images"]
    too_long: Literal["refuse", "split", "images"]
    documents: Mapping[str, Document]
    cut: Cut
    render: Render

    def fit(self, found: Mapping[str, tuple[Hit, ...]]) -> dict[str, tuple[Hit, ...]]:
        """The hits of every question, each small enough for a request.

        Raises ConfigError that names the questions whose files no request takes, before any is asked.
        """
        fitted = {name: self._fit(hits) for name, hits in found.items()}
        split = self.form == "pdf" and self.too_long == "split"
        refused = {
            name: hits
            for name, hits in fitted.items()
            if (len(in_requests(hits, self.limits)) > 1 and not split) or self._too_big(hits)
        }
        if refused:
            raise ConfigError(_refusal(refused, self.limits, self.form, self.too_long))
        return fitted

    def _fit(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The hits of one question: as they are, their pages as images, or their PDFs in parts."""
        if self.form == "images":
            return self._as_images(hits)
        if len(in_requests(hits, self.limits)) <= 1 and not self._too_big(hits):
            return hits
        if self.too_long == "images":
            return self._as_images(hits)
        return self._in_parts(hits) if self.too_long == "split" else hits

    def _too_big(self, hits: Iterable[Hit]) -> bool:
        """Whether a single file is more than a request takes."""
        return any(not _holds([hit], self.limits) for hit in hits)

    def _as_images(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """A hit a page."""
        return _ranked(
            Chunk(id=f"{name}#p{page}", document=name, pages=(page,), modality="image", image=image)
            for hit in hits
            for name in [hit.chunk.document]
            for page, image in self.render(self.documents[name]).items()
        )

    def _in_parts(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """The PDFs that no request takes whole in as few parts as the limits allow."""
        return _ranked(part for hit in hits for part in self._parts(hit))

    def _parts(self, hit: Hit) -> Iterable[Chunk]:
        """One PDF in runs of pages: as long as `limits` allow, and half as long until the bytes fit too."""
        if _holds([hit], self.limits) or hit.chunk.file is None:
            yield hit.chunk
            return
        document, last = self.documents[hit.chunk.document], len(hit.chunk.pages)
        first, longest = 1, self.limits.pages or last
        while first <= last:
            length = min(longest, last - first + 1)
            part = self.cut(document, first, length)
            while length > 1 and not _fits([part], 0, self.limits):
                length = (length + 1) // 2
                part = self.cut(document, first, length)
            name = f"{document.id}#p{first}-{first + length - 1}"
            yield Chunk(id=name, document=document.id, pages=part.pages, modality="file", file=part)
            first += length


def in_requests(hits: Sequence[Hit], limits: FileLimits | None) -> list[tuple[Hit, ...]]:
    """The hits as few requests take them, in their order; one request where there is nothing to limit."""
    requests: list[list[Hit]] = [[]]
    for hit in hits:
        if requests[-1] and limits is not None and not _holds([*requests[-1], hit], limits):
            requests.append([])
        requests[-1].append(hit)
    return [tuple(request) for request in requests]


def _holds(hits: Sequence[Hit], limits: FileLimits) -> bool:
    """Whether one request holds the files and images of the hits."""
    files = [hit.chunk.file for hit in hits if hit.chunk.file is not None]
    images = [hit.chunk.image for hit in hits if hit.chunk.image is not None]
    if limits.images is not None and len(images) > limits.images:
        return False
    return _fits(files, sum(image.stat().st_size for image in images), limits)


def _fits(files: Sequence[Attachment], others: int, limits: FileLimits) -> bool:
    """Whether the pages and bytes of files, and `others` bytes, are within the limits."""
    pages, size = sum(len(file.pages) for file in files), others + sum(file.size for file in files)
    return (limits.pages is None or pages <= limits.pages) and (limits.size is None or size <= limits.size)


def _ranked(chunks: Iterable[Chunk]) -> tuple[Hit, ...]:
    """Hits of the chunks in their order, each with score 1."""
    return tuple(Hit(chunk=chunk, score=1.0, rank=rank) for rank, chunk in enumerate(chunks, start=1))


def _refusal(refused: Mapping[str, Sequence[Hit]], limits: FileLimits, form: str, too_long: str) -> str:
    """What is too long for what, and what can be done."""
    rows = [f"  {name}: {_extent(hits)}" for name, hits in list(refused.items())[:_SHOWN]]
    more = [f"  and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
    bounds = [
        f"{limits.pages} pages" if limits.pages is not None else "",
        f"{limits.images} images" if limits.images is not None else "",
        f"{limits.size / MEGABYTE:.1f} MB" if limits.size is not None else "",
    ]
    split = "set retrieve.too_long to 'split' (several requests and one that merges)"
    images = " or 'images' (the pages as images)" if form == "pdf" and too_long == "refuse" else ""
    advice = "a single page is too large" if form == "pdf" and too_long == "split" else f"{split}{images}"
    head = f"{len(refused)} questions have more attached than the model takes in one request"
    return "\n".join([f"{head} ({', '.join(filter(None, bounds))}): {advice}", *rows, *more])


def _extent(hits: Sequence[Hit]) -> str:
    """`3 files, 132 pages, 3.1 MB`."""
    names = dict.fromkeys(hit.chunk.document for hit in hits)
    pages = sum(len(hit.chunk.pages) for hit in hits)
    paths = [hit.chunk.file.path if hit.chunk.file else hit.chunk.image for hit in hits]
    size = sum(path.stat().st_size for path in paths if path is not None)
    return f"{', '.join(names)}: {pages} pages, {size / MEGABYTE:.1f} MB"
