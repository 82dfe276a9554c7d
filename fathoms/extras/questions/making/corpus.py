"""What a build reads: documents, the components that questions can be about, and an index to search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fathoms.errors import DataError, amount
from fathoms.extras.questions.making.asking import Progress
from fathoms.extras.questions.making.clarity import Searches
from fathoms.extras.questions.making.components import Components, components
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.ingest import PdfParser, cut_out_images, cut_outs
from fathoms.pipeline.picture_chunks import PictureChunks
from fathoms.pipeline.pipeline import Stages
from fathoms.pipeline.preparation import Preparation
from fathoms.runs.cache import Cache
from fathoms.types import Box, Document


@dataclass(frozen=True)
class Corpus:
    """The documents of a build, the components that questions can be about, and the searches of the clarity
    loop. `unread` and `left_out` say why documents could not be read or are left out by the settings, and
    `doubtful` of which text may be missing, such as scans."""

    documents: Mapping[str, Document]
    unread: Mapping[str, str]
    left_out: Mapping[str, str]
    doubtful: Mapping[str, str]
    components: Components
    searches: Searches


def read_corpus(
    recipe: Recipe, paths: Mapping[str, Path], cache: Cache, *, workers: int = 2, progress: Progress
) -> Corpus:
    """Parse the documents, divide them into components, and index them for the searches. Documents that
    cannot be read are left out and named. Raises DataError if no component is left."""
    deepest = max(recipe.clarity.retrievers, key=lambda one: one.needs == "vectors")
    stages = Stages(
        ingest=recipe.ingest.model_copy(update={"on_error": "skip"}),
        chunk=recipe.chunk,
        embed=recipe.embed,
        retrieve=deepest,
        pictures=PictureChunks() if _shows(recipe) else None,
    )
    built = stages.build(paths, Preparation(cache, workers, progress))
    unread = {error.document: error.detail for error in built.failures}
    left_out: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    settings = recipe.components
    documents: dict[str, Document] = {}
    for document in built.documents:
        pages = document.page_count or len(document.pages)
        if document.warnings:
            doubtful[document.id] = "; ".join(document.warnings)
        if pages < settings.least_pages or (settings.most_pages or pages) < pages:
            left_out[document.id] = f"it has {amount(pages, 'page')}"
        else:
            documents[document.id] = document
    pictures = _pictures(recipe, documents.values(), cache)
    found = components(documents.values(), settings.modalities, pictures)
    if not found.usable:
        raise DataError(
            "these documents have nothing that a question could be about:"
            f" {_reasons(found, {**unread, **doubtful, **left_out})}"
        )
    searches = Searches(built.index, recipe.clarity.retrievers, recipe.pages_judged)
    return Corpus({one.id: one for one in built.documents}, unread, left_out, doubtful, found, searches)


def _shows(recipe: Recipe) -> bool:
    """Whether figures and tables are cut out of their pages."""
    return bool({"table", "figure"} & set(recipe.components.modalities)) and recipe.ingest.gives_boxes


def _pictures(
    recipe: Recipe, documents: Iterable[Document], cache: Cache
) -> dict[tuple[str, int, Box], Path]:
    """Return the pictures of tables and figures by document, page and box, where the parser has boxes."""
    found: dict[tuple[str, int, Box], Path] = {}
    parser = recipe.ingest
    if not _shows(recipe) or not isinstance(parser, PdfParser):
        return found
    for document in documents:
        cuts = cut_outs(document)
        if cuts:
            folder, dpi = cache.folder / "images", recipe.components.dpi
            files = cut_out_images(document, dpi, folder, parser, shared=cache.shared)
            found |= {(document.id, cut.page, cut.bbox): files[cut.name] for cut in cuts if cut.name in files}
    return found


def _reasons(found: Components, left_out: Mapping[str, str]) -> str:
    """Say why no component is left."""
    dropped = [f"{number} {reason}" for reason, number in found.dropped.items()]
    return "; ".join([*(f"{name}: {why}" for name, why in left_out.items()), *dropped]) or "there is no text"
