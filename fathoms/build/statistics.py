"""What a set of questions covers, and how precisely it can measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from fathoms.build.precision import interval_width, macro_width
from fathoms.metrics.folding import fold_words
from fathoms.types import Document, Question


def describe(
    questions: Sequence[Question], names: Iterable[str], documents: Mapping[str, Document]
) -> dict[str, Any]:
    """Counts, lengths and widths over all questions and by category, and what of the documents is used.

    `names` are all documents, `documents` those that could be parsed. `width` is the widest that the 95 %
    interval of the mean correctness can be, from 0 to 1, `None` without an answerable question; overall it
    is that of the unweighted mean of the categories.
    """
    groups: dict[str, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.category, []).append(question)
    sizes = [sum(question.answerable for question in group) for group in groups.values()]
    measured = [size for size in sizes if size]
    categories = {
        name: {**_counts(group), "width": interval_width(size) if size else None}
        for (name, group), size in zip(groups.items(), sizes, strict=True)
    }
    width = macro_width(measured) if measured else None
    return {
        "overall": {**_counts(questions), "width": width},
        "categories": categories,
        "documents": _documents(questions, names, documents),
    }


def _counts(questions: Sequence[Question]) -> dict[str, Any]:
    """Figures of some questions; lengths are words of a phrase as they are compared."""
    phrases = [phrase for question in questions for variant in question.answers for phrase in variant]
    lengths = [len(fold_words(phrase, hyphens=True).split()) for phrase in phrases]
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
    """Which documents are asked about, and how many of their pages are evidence."""
    asked: Counter[str] = Counter()
    pages: dict[str, set[int]] = {}
    for question in questions:
        asked.update({*question.files, *(evidence.document for evidence in question.evidence)})
        for evidence in question.evidence:
            if evidence.page is not None:
                pages.setdefault(evidence.document, set()).add(evidence.page)
    counts = {name: document.page_count or len(document.pages) for name, document in documents.items()}
    known = list(dict.fromkeys(names))
    return {
        "used": {name: asked[name] for name in known if asked[name]},
        "unused": [name for name in known if not asked[name]],
        "unknown": sorted(set(asked).difference(known)),
        "naming_none": sum(not question.files and not question.evidence for question in questions),
        "pages": {name: {"evidence": len(pages.get(name, ())), "all": counts.get(name)} for name in known},
    }
