"""Statistics of a question set: what it covers, and how precisely it can measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from fathoms.gate.precision import interval_width, macro_width
from fathoms.gate.settings import ALPHA
from fathoms.text.folding import fold_words
from fathoms.types import Document, Question


def describe(
    questions: Sequence[Question], names: Iterable[str], documents: Mapping[str, Document]
) -> dict[str, Any]:
    """Return counts, phrase lengths and interval widths, overall and by category, and which documents are
    used.

    `names` are the names of all documents, `documents` holds those that could be parsed. `width` is the
    largest possible width of the 95 % interval of the mean correctness, from 0 to 1, and `None` without an
    answerable question. The overall `width` is that of the unweighted mean of the categories.
    `margin` is the smallest margin of a gate that the answerable questions can resolve, by
    `stats.power.smallest_margin` with the default alpha, and `None` likewise.
    """
    from fathoms.stats.power import smallest_margin

    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.category, []).append(question)
    sizes = [sum(question.answerable for question in group) for group in groups.values()]
    measured = [size for size in sizes if size]
    categories = {
        name: {
            **_counts(group),
            "width": interval_width(size) if size else None,
            "margin": smallest_margin((size,), ALPHA) if size else None,
        }
        for (name, group), size in zip(groups.items(), sizes, strict=True)
    }
    width = macro_width(measured) if measured else None
    margin = smallest_margin(tuple(measured), ALPHA) if measured else None
    return {
        "overall": {**_counts(questions), "width": width, "margin": margin},
        "categories": categories,
        "documents": _documents(questions, names, documents),
    }


def _counts(questions: Sequence[Question]) -> dict[str, Any]:
    """Count questions, variants and phrases; phrase lengths are in words after normalisation,
    and richer forms have none."""
    phrases = [phrase for question in questions for variant in question.answers for phrase in variant]
    lengths = [len(fold_words(phrase, hyphens=True).split()) for phrase in phrases if isinstance(phrase, str)]
    hops = Counter(question.hops for question in questions if question.hops is not None)
    return {
        "questions": len(questions),
        "answerable": sum(question.answerable for question in questions),
        "hops": {str(number): hops[number] for number in sorted(hops)},
        "variants": sum(len(question.answers) for question in questions),
        "phrases": len(phrases),
        "phrase_words": {"least": min(lengths), "median": median(lengths), "most": max(lengths)}
        if lengths
        else None,
    }


def _documents(
    questions: Sequence[Question], names: Iterable[str], documents: Mapping[str, Document]
) -> dict[str, Any]:
    """Return which documents the questions are about, and how many pages of each are evidence."""
    uses: Counter[str] = Counter()
    pages: dict[str, set[int]] = {}
    for question in questions:
        uses.update({*question.files, *(evidence.document for evidence in question.evidence)})
        for evidence in question.evidence:
            if evidence.page is not None:
                pages.setdefault(evidence.document, set()).add(evidence.page)
    counts = {name: document.page_count or len(document.pages) for name, document in documents.items()}
    known = list(dict.fromkeys(names))
    return {
        "used": {name: uses[name] for name in known if uses[name]},
        "unused": [name for name in known if not uses[name]],
        "unknown": sorted(set(uses).difference(known)),
        "naming_none": sum(not question.files and not question.evidence for question in questions),
        "pages": {name: {"evidence": len(pages.get(name, ())), "all": counts.get(name)} for name in known},
    }
