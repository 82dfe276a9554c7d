"""Candidate quotes for one's own questions: the gold quotes of each among others that are most like it.

As in MMDocRAG (Dong et al. 2025), a question gets a fixed number of candidates, of which a few are gold, and
the rest are hard to tell from them: what retrieval ranks highest for the question and is not gold.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fathoms.errors import StoreError, UsageError
from fathoms.retrieve import Index, QuoteSearch, Retriever
from fathoms.retrieve.oracle import known_places
from fathoms.retrieve.without_gold import deeper
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Document, Evidence, Hit, Question, Quote

Modality = Literal["text", "image"]
_TEXT = "text"
_DEEP = 50
"""For each candidate that is wanted, so many chunks are searched for: those on gold pages are left out, and
there must be enough texts among the pictures."""


@dataclass(frozen=True)
class Sizes:
    """How many texts and pictures a question gets. MMDocRAG has 10 and 5, or 12 and 8."""

    texts: int = 12
    pictures: int = 8

    @staticmethod
    def of(total: int, pictures: int | None = None) -> Sizes:
        """Divide a number of candidates as MMDocRAG does: a third of 15, and two fifths of 20 and of any
        other number are pictures, unless their number is given. Raises UsageError for more pictures than
        candidates."""
        if pictures is None:
            pictures = total // 3 if total == 15 else total * 2 // 5
        if pictures > total:
            raise UsageError(f"{pictures} pictures are more than the {total} candidates: lower --pictures")
        return Sizes(total - pictures, pictures)


def with_candidates(question: Question, similar: Sequence[Quote], sizes: Sizes, seed: int = 0) -> Question:
    """Return a question with its gold quotes and the first of the others in `similar`, which are the quotes
    most like it, best first. Their places are drawn by the seed and the id of the question, and their ids say
    the places: `text1`, `text2`, ..., `image1`, ...

    Gold quotes are never left out, even if there are more than `sizes` says; there are fewer quotes where
    `similar` has too few.
    """
    quotes: list[Quote] = []
    modalities: tuple[tuple[Modality, int], ...] = (("text", sizes.texts), ("image", sizes.pictures))
    for modality, wanted in modalities:
        gold = [quote for quote in question.quotes if quote.gold and quote.modality == modality]
        known = {quote.content for quote in gold}
        others = []
        for quote in similar:
            if quote.modality == modality and quote.content not in known:
                known.add(quote.content)
                others.append(quote.model_copy(update={"gold": False}))
        chosen = [*gold, *others[: max(0, wanted - len(gold))]]
        random.Random(f"{seed} {question.id} {modality}").shuffle(chosen)
        quotes += [
            quote.model_copy(update={"id": f"{modality}{place}"}) for place, quote in enumerate(chosen, 1)
        ]
    return question.model_copy(update={"quotes": tuple(quotes)})


@dataclass(frozen=True)
class FromSearch:
    """What a search found for a question, as quotes: `gold` are those on its gold pages that count as gold,
    and `others`, best first, those on other pages. `guessed` counts gold pages where the quote most like the
    question was taken, because the evidence says no more than the page. `without` are the gold pages where
    nothing was found.
    """

    gold: tuple[Quote, ...]
    others: tuple[Quote, ...]
    guessed: int = 0
    without: tuple[Evidence, ...] = ()


def from_search(
    question: Question, hits: Sequence[Hit], documents: Mapping[str, Document], *, described: bool = False
) -> FromSearch:
    """Divide the hits of a question into gold and others. `documents` tell the page of evidence that gives
    only a quote, and `described` says that the words of pictures are descriptions.

    Gold is what holds the words that evidence quotes, what touches its box, or else the first hit on its page
    of its modality (`text`, or any other for a picture). Nothing else on a gold page becomes a distractor,
    because it may hold the answer, too.
    """
    quotes = [(_quote(hit, described=described), hit) for hit in hits]
    gold: dict[int, None] = {}
    guessed, without = 0, []
    for evidence in question.gold_evidence:
        places = known_places([evidence], documents)
        on_page = [at for at, (_, hit) in enumerate(quotes) if not places.isdisjoint(hit.chunk.places)]
        exact = [at for at in on_page if _holds(quotes[at][1], evidence)]
        first = exact or _first(on_page, [quote for quote, _ in quotes], evidence)
        guessed += bool(first and not exact)
        if not first:
            without.append(evidence)
        gold.update(dict.fromkeys(first))
    pages = known_places(question.gold_evidence, documents)
    others = tuple(quote for quote, hit in quotes if pages.isdisjoint(hit.chunk.places))
    chosen = tuple(quotes[at][0].model_copy(update={"gold": True}) for at in gold)
    return FromSearch(chosen, others, guessed, tuple(without))


def _quote(hit: Hit, *, described: bool = False) -> Quote:
    """Return a hit as a quote; its id is that of the chunk. `described` says that the words of a picture are
    a description of it, and not what is written in it."""
    chunk = hit.chunk
    is_picture = chunk.modality == "image"
    return Quote(
        id=chunk.id,
        modality="image" if is_picture else "text",
        text="" if described and is_picture else chunk.text,
        description=chunk.text if described and is_picture else "",
        image=chunk.image,
        document=chunk.document,
        page=chunk.pages[0] if chunk.pages else None,
    )


def _holds(hit: Hit, evidence: Evidence) -> bool:
    """Whether a hit on the page of the evidence has the words that it quotes, or touches its box."""
    if evidence.quote:
        return " ".join(evidence.quote.split()).casefold() in " ".join(hit.chunk.text.split()).casefold()
    if evidence.bbox is None:
        return False
    x0, y0, x1, y1 = evidence.bbox
    return any(
        box.page == evidence.page
        and min(x1, box.bbox[2]) > max(x0, box.bbox[0])
        and min(y1, box.bbox[3]) > max(y0, box.bbox[1])
        for box in hit.chunk.boxes
    )


def _first(on_page: Sequence[int], quotes: Sequence[Quote], evidence: Evidence) -> list[int]:
    """Return the first quote of the modality of the evidence among those on its page, or else of any."""
    wanted = None if evidence.modality is None else ("text" if evidence.modality == _TEXT else "image")
    of_kind = [at for at in on_page if wanted is None or quotes[at].modality == wanted]
    return (of_kind or list(on_page))[:1]


@dataclass(frozen=True)
class WithCandidates:
    """A question with its candidates. `guessed` counts gold pages where the quote most like the question
    counts as gold, and `without` those where nothing was found."""

    question: Question
    guessed: int = 0
    without: int = 0


def deepened(retriever: Retriever, top_k: int) -> Retriever:
    """Return a retriever that finds so many chunks, with those that it combines or reranks. Raises UsageError
    for a kind that does not rank all chunks by itself."""
    if "distractors" not in retriever.usable_in or retriever.called:
        raise UsageError(
            f"candidates are found by a retriever that ranks all chunks by itself, and kind"
            f" '{retriever.kind}' does not: name dense, bm25, hybrid or visual"
        )
    return deeper(retriever, top_k)


def candidates(
    index: Index,
    retriever: Retriever,
    questions: Sequence[Question],
    sizes: Sizes,
    seed: int = 0,
    *,
    described: bool = False,
) -> list[WithCandidates]:
    """Return questions with candidate quotes: the chunks that the retriever ranks highest for each.

    A question that has gold quotes keeps them; for others they are found by the evidence (`from_search`).
    With `quote-search`, they are the quotes of the set. Where the corpus has no chunks of pictures, all
    candidates are texts. Pictures without a file and words
    are left out. Raises UsageError as `deepened` does.
    """
    total = sizes.texts + sizes.pictures
    if isinstance(retriever, QuoteSearch):
        update = {"number": total * _DEEP, "pictures": None, "for_pictures": None}
        ranked = retriever.model_copy(update=update).ranked(index, questions)
        return [
            WithCandidates(with_candidates(question, _distracting(question, row), sizes, seed))
            for question, row in zip(questions, ranked, strict=True)
        ]
    found = deepened(retriever, total * _DEEP).search(index, questions)
    rows = [[hit for hit in row if hit.chunk.image is not None or hit.chunk.text.strip()] for row in found]
    if not any(hit.chunk.modality == "image" for row in rows for hit in row):
        sizes = Sizes(total, 0)
    documents = {document.id: document for document in index.documents}
    pairs = zip(questions, rows, strict=True)
    return [
        _with_candidates(question, row, documents, sizes, seed, described=described)
        for question, row in pairs
    ]


def _distracting(question: Question, row: Sequence[tuple[Quote, float]]) -> list[Quote]:
    """Return the quotes that can be distractors: those that the question has itself, and those of others that
    do not stand on its gold pages."""
    own = {quote.id for quote in question.quotes}
    pages = {(quote.document, quote.page) for quote in question.quotes if quote.gold}
    return [one for one, _ in row if one.id in own or (one.document, one.page) not in pages]


def _with_candidates(
    question: Question,
    hits: Sequence[Hit],
    documents: Mapping[str, Document],
    sizes: Sizes,
    seed: int,
    *,
    described: bool,
) -> WithCandidates:
    """Return one question with its candidates."""
    if any(quote.gold for quote in question.quotes):
        pages = {(one.document, one.page) for one in question.quotes if one.gold}
        pages |= known_places(question.gold_evidence, documents)
        others = [_quote(hit, described=described) for hit in hits if pages.isdisjoint(hit.chunk.places)]
        return WithCandidates(with_candidates(question, others, sizes, seed))
    found = from_search(question, hits, documents, described=described)
    own = question.model_copy(update={"quotes": found.gold})
    return WithCandidates(with_candidates(own, found.others, sizes, seed), found.guessed, len(found.without))


def with_copied_pictures(questions: Sequence[Question], path: Path) -> list[Question]:
    """Copy the pictures of quotes into a folder beside a question file, `NAME-pictures`, and return the
    questions with paths relative to the file. Raises StoreError if that is not possible."""
    folder = path.with_name(f"{path.stem}-pictures")
    if not path.parent.is_dir():
        raise StoreError(f"{path.parent} is no folder: make it first")
    copied: dict[Path, Path] = {}

    def placed(quote: Quote) -> Quote:
        if quote.image is None or not quote.image.is_file():  # a set whose pictures were not unpacked
            return quote.model_copy(update={"image": None})
        if quote.image not in copied:
            name = f"{fingerprint(quote.document, quote.page, quote.id, str(quote.image))[:16]}"
            copied[quote.image] = Path(folder.name, f"{name}{quote.image.suffix}")
            folder.mkdir(exist_ok=True)
            shutil.copyfile(quote.image, path.parent / copied[quote.image])
        return quote.model_copy(update={"image": copied[quote.image]})

    try:
        return [
            question.model_copy(update={"quotes": tuple(map(placed, question.quotes))})
            for question in questions
        ]
    except OSError as error:
        raise StoreError(f"the pictures cannot be copied into {folder}: {error}") from error
