"""Fitting attached PDFs and page images into requests, within the limits of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fathoms.errors import ConfigError, DocumentError, amount_of
from fathoms.models import FileLimits, ImageLimits
from fathoms.types import Attachment, Chunk, Document, Hit

MEGABYTE = 1_000_000
_SHOWN = 5

Cut = Callable[[Document, int, int], Attachment]
"""Cuts a PDF out of (document, first page, number of pages); raises DocumentError."""
Render = Callable[..., Mapping[int, Path]]
"""Renders a document's page images, by page number; raises DocumentError. The argument is the document, with
`max_side` and `max_bytes` of an image where there are such limits."""


@dataclass(frozen=True)
class Fitting:
    """Rules that make the files of questions fit `limits`; `form` and `too_long` are options of the
    retriever.

    `fit` adds the questions whose files cannot be cut or rendered to `failures`, by question id.
    """

    limits: FileLimits
    form: Literal["pdf", "images"]
    too_long: Literal["refuse", "split", "images"]
    documents: Mapping[str, Document]
    cut: Cut
    render: Render
    images: ImageLimits = field(default_factory=ImageLimits)
    failures: dict[str, DocumentError] = field(default_factory=dict)

    def fit(self, found: Mapping[str, tuple[Hit, ...]]) -> dict[str, tuple[Hit, ...]]:
        """Return the hits of every question, each small enough for one request.

        Raises ConfigError, before any question is asked, that names the questions whose files do not fit.
        """
        fitted: dict[str, tuple[Hit, ...]] = {}
        for name, hits in found.items():
            try:
                fitted[name] = self._fit(hits)
            except DocumentError as error:
                self.failures[name], fitted[name] = error, ()
        split = self.too_long == "split"
        refused = {
            name: hits
            for name, hits in fitted.items()
            if (len(in_requests(hits, self.limits)) > 1 and not split) or self._too_big(hits)
        }
        if refused:
            raise ConfigError(_refusal(refused, self.limits, self.too_long))
        return fitted

    def _fit(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The hits of one question: unchanged, as page images, or as PDFs cut into parts."""
        if self.form == "images":
            return self._as_images(hits)
        if len(in_requests(hits, self.limits)) <= 1 and not self._too_big(hits):
            return hits
        if self.too_long == "images":
            return self._as_images(hits)
        if self.too_long == "split":
            return _ranked(part for hit in hits for part in self._parts(hit))
        return hits

    def _too_big(self, hits: Iterable[Hit]) -> bool:
        """Whether any single file is more than a request holds."""
        return any(not self._holds(hit) for hit in hits)

    def _holds(self, hit: Hit) -> bool:
        """Whether one request holds this hit by itself."""
        return _weight(hit.chunk.file, hit.chunk.image, self.limits).is_within(self.limits)

    def _as_images(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """One hit per page image. The images are small enough for the model, which may take larger ones in a
        request with few."""
        number = sum(len(hit.chunk.pages) for hit in hits)
        bounds = image_bounds(self.images, self.limits, min(number, self.limits.images or number))
        return _ranked(
            Chunk(id=f"{name}#p{page}", document=name, pages=(page,), modality="image", image=image)
            for hit in hits
            for name in [hit.chunk.source]
            for page, image in self.render(self.documents[name], **bounds).items()
        )

    def _parts(self, hit: Hit) -> Iterable[Chunk]:
        """Cut one PDF into page ranges: as long as the page limit allows, halved until the bytes fit too."""
        if self._holds(hit) or hit.chunk.file is None:
            yield hit.chunk
            return
        document, last = self.documents[hit.chunk.source], len(hit.chunk.pages)
        first, longest = 1, self.limits.pages or last
        while first <= last:
            length = min(longest, last - first + 1)
            part = self.cut(document, first, length)
            while length > 1 and not _weight(part, None, self.limits).is_within(self.limits):
                length = (length + 1) // 2
                part = self.cut(document, first, length)
            name = f"{document.id}#p{first}-{first + length - 1}"
            yield Chunk(id=name, document=document.id, pages=part.pages, modality="file", file=part)
            first += length


def image_bounds(images: ImageLimits, limits: FileLimits, number: int | None) -> dict[str, int]:
    """Return the `max_side` in pixels and the `max_bytes` of an image in a request with `number` images
    (`None` if that is not known), as far as the model has such limits."""
    side = images.side_among(number)
    size = None if images.size is None else int(images.size / (limits.image_weight or 1))
    bounds = {"max_side": side, "max_bytes": size}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def in_requests(hits: Sequence[Hit], limits: FileLimits | None) -> list[tuple[Hit, ...]]:
    """Distribute hits over requests in order, filling each; a single request where there are no limits."""
    requests: list[list[Hit]] = [[]]
    load = _Weight()
    for hit in hits:
        weight = _weight(hit.chunk.file, hit.chunk.image, limits) if limits else _Weight()
        if requests[-1] and limits and not (load + weight).is_within(limits):
            requests.append([])
            load = _Weight()
        requests[-1].append(hit)
        load += weight
    return [tuple(request) for request in requests]


@dataclass(frozen=True)
class _Weight:
    """Load of a request: pages of PDFs, images, and bytes as they are sent (encoded)."""

    pages: int = 0
    images: int = 0
    size: float = 0.0

    def __add__(self, other: _Weight) -> _Weight:
        return _Weight(self.pages + other.pages, self.images + other.images, self.size + other.size)

    def is_within(self, limits: FileLimits) -> bool:
        """Whether one request holds this load."""
        bounds = ((self.pages, limits.pages), (self.images, limits.images), (self.size, limits.size))
        return all(bound is None or amount <= bound for amount, bound in bounds)


def _weight(file: Attachment | None, image: Path | None, limits: FileLimits) -> _Weight:
    """The load of a file or an image; zero for neither."""
    if file is not None:
        return _Weight(pages=len(file.pages), size=file.size * limits.file_weight)
    if image is not None:
        return _Weight(images=1, size=image.stat().st_size * limits.image_weight)
    return _Weight()


def _ranked(chunks: Iterable[Chunk]) -> tuple[Hit, ...]:
    """Make hits of chunks in their order, each with score 1."""
    return tuple(Hit(chunk=chunk, score=1.0, rank=rank) for rank, chunk in enumerate(chunks, start=1))


def _refusal(refused: Mapping[str, Sequence[Hit]], limits: FileLimits, too_long: str) -> str:
    """Explain which questions exceed which limits, and which setting helps."""
    rows = [f"  {name}: {extent(hits)}" for name, hits in list(refused.items())[:_SHOWN]]
    more = [f"  and {len(refused) - _SHOWN} more"] if len(refused) > _SHOWN else []
    bounds = [
        f"{limits.pages} pages" if limits.pages is not None else "",
        f"{limits.images} images" if limits.images is not None else "",
        f"{limits.size / MEGABYTE:.1f} MB as sent" if limits.size is not None else "",
    ]
    advice = {
        "refuse": "set retrieve.too_long to 'split' (several requests and one that merges) or 'images'",
        "images": "set retrieve.too_long to 'split' (several requests and one that merges)",
        "split": "a single page is too large",
    }[too_long]
    head = amount_of(len(refused), "questions have more attached than the model takes in one request")
    return "\n".join([f"{head} ({', '.join(filter(None, bounds))}): {advice}", *rows, *more])


def extent(hits: Sequence[Hit]) -> str:
    """Describe the attached files, for example `a.pdf, b.pdf: 132 pages, 3.1 MB`."""
    names = dict.fromkeys(hit.chunk.source for hit in hits)
    pages, size = attached(hits)
    return f"{', '.join(names)}: {pages} pages, {size / MEGABYTE:.1f} MB"


def attached(hits: Iterable[Hit]) -> tuple[int, int]:
    """Total pages and bytes of the attached PDFs and page images."""
    pages = size = 0
    for hit in hits:
        if hit.chunk.file is not None:
            size += hit.chunk.file.size
        elif hit.chunk.image is not None:
            size += hit.chunk.image.stat().st_size
        else:
            continue
        pages += len(hit.chunk.pages)
    return pages, size
