"""What happens on a GPU where a batch of pages does not fit: the memory is filled before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fathoms.errors import ModelError
from fathoms.models import MultiVectorEmbedder
from fathoms.models.embed import pages

if TYPE_CHECKING:
    from __main__ import Bench

TRIED: list[int] = []
"""The sizes of the batches of `Watched`."""
NEAR = 0.05
"""Vectors of length 1 in bfloat16, which has 8 significant bits, differ by less between batches."""


class Watched(MultiVectorEmbedder):
    """Notes the size of every batch that is tried."""

    def _encoded(self, encode: Any, inputs: list[Any], **options: Any) -> list[Any]:
        TRIED.append(len(inputs))
        return super()._encoded(encode, inputs, **options)


def halve(bench: Bench, dpi: int, batch: int) -> bool:
    """Embed pages with ever less free memory; whether all vectors are near those of batches that fit."""
    import torch

    paths = bench.pages[dpi]
    embedder = Watched(**bench.embedder(batch=batch).model_dump())
    whole = embedder.embed_pages(paths)
    single = embedder.model_copy(update={"batch_size": 1})
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    single.embed_pages(paths[:1])
    one = torch.cuda.max_memory_allocated() - before
    embedder.embed_pages(paths)
    most = torch.cuda.max_memory_allocated() - before
    near = True
    for room in (1.2 * most, 0.7 * most, 0.3 * most, 3 * one, 1.5 * one, 0.8 * one, 0.3 * one, 0.05 * one):
        near &= _in_room(bench, embedder, paths, whole, int(room))
    _forget()
    again = embedder.embed_pages(paths)
    bench.keep("memory", free_gb=None, tried=_short(TRIED), largest_difference=difference(again, whole))
    return near


def _in_room(
    bench: Bench, embedder: MultiVectorEmbedder, paths: Sequence[Path], whole: list[Any], room: int
) -> bool:
    """Embed pages with so many bytes of the GPU free."""
    import torch

    torch.cuda.empty_cache()
    free = torch.cuda.mem_get_info()[0]
    filler = torch.empty(max(0, free - room), dtype=torch.uint8, device="cuda")
    _forget()
    reported: dict[str, Any] = {"free_gb": room / 1e9}
    try:
        found = embedder.embed_pages(paths)
        reported["largest_difference"] = difference(found, whole)
    except Exception as error:
        reported |= {"error": type(error).__name__, "says": str(error)[:300]}
        if not isinstance(error, ModelError):
            reported["fault"] = True
    del filler
    bench.keep("memory", **reported, tried=_short(TRIED))
    return "fault" not in reported and reported.get("largest_difference", 0) < NEAR


def _forget() -> None:
    """Begin with whole batches again."""
    TRIED.clear()
    pages.FITS.clear()


def _short(tried: Sequence[int]) -> str:
    """The first batches, and how many followed."""
    return " ".join(map(str, tried[:8])) + (f" … {len(tried)} in all" if len(tried) > 8 else "")


def difference(one: Sequence[Any], other: Sequence[Any]) -> float:
    """The largest difference of a number of the vectors."""
    return max(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))
