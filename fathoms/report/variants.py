"""How answers change when questions are put differently, and how ambiguous questions fare beside clear ones.

The questions of a run that have `variant` and `variant_of` in their metadata (`fathoms.runs.metadata`) are
paired with their originals. Those with `ambiguity` (`clear` or `ambiguous`) are two groups of different
questions, which are compared as independent ones.

An ambiguous question fails in one of two ways (MRAG-Suite, Ji 2025, appendix A.2). *Single interpretation*:
the answer commits to one sense, so claims of the gold answer are missing and every claim that it makes is
supported. *Conflation*: it merges several senses, so that claims are missing and others are unsupported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from fathoms.report.graded import Graded, by_which, figure_text, graded_questions, mean_figure
from fathoms.report.paired import paired, signed
from fathoms.report.section import Section
from fathoms.runs.metadata import AMBIGUITY, AMBIGUOUS, CLEAR, KIND, OF
from fathoms.runs.run import Run
from fathoms.stats.unpaired import difference_of_means
from fathoms.types.run.rows import ScoredQuestion

SINGLE, CONFLATION = "single interpretation", "conflation"
_CLAIMS = (
    ("ragchecker.recall", "ragchecker.hallucination"),
    ("mm-ragchecker.claim-recall", "mm-ragchecker.hallucination"),
)
"""The metrics that tell which claims of the gold answer are missing and which of an answer are
unsupported."""


def variants_section(runs: Sequence[Run]) -> Section | None:
    """Return the table of runs whose questions have variants, or are marked as clear and ambiguous; `None` if
    none are."""
    judged, by = by_which(runs)
    found = [_of_run(run, judged=judged) for run in runs]
    if not any(one["variants"] or one[AMBIGUITY] for one in found):
        return None
    rows = [row for run, one in zip(runs, found, strict=True) for row in _rows(run.name, one)]
    notes = [
        f"{by}; a variant is compared with its original, pair by pair; ambiguous and clear questions are"
        " different ones, and are compared as independent groups; n: pairs, or ambiguous questions",
    ]
    for run, one in zip(runs, found, strict=True):
        notes += _pattern_lines(run.name, one.get("patterns"), several=len(runs) > 1)
    return Section(
        "variants",
        "Questions put differently",
        ("run", "questions", "correct", "beside", "change", "n"),
        rows,
        notes,
        {"runs": [{"run": run.original_id, **one} for run, one in zip(runs, found, strict=True)]},
        numbers=4,
    )


def _of_run(run: Run, *, judged: bool) -> dict[str, Any]:
    """Return what is known of the variants and of the ambiguous questions of a run."""
    compared = {id: one for id, one in run.compared_metadata.items() if OF in one or AMBIGUITY in one}
    if not compared:
        return {"variants": {}, AMBIGUITY: None}
    graded = {one.id: one for one in graded_questions(run, judged=judged, variants=True)}
    return {
        "variants": dict(_pairs(compared, graded)),
        AMBIGUITY: _ambiguous(compared, graded),
        "patterns": _patterns(run, compared),
    }


def _pairs(
    compared: Mapping[str, Mapping[str, Any]], graded: Mapping[str, Graded]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each kind of variant with the share of correct answers to it, that of its originals, and the
    change."""
    kinds = dict.fromkeys(
        str(metadata[KIND]) for metadata in compared.values() if OF in metadata and KIND in metadata
    )
    for kind in kinds:
        of: dict[str, list[Graded]] = {}
        for id, metadata in compared.items():
            if str(metadata.get(KIND)) == kind and id in graded and metadata.get(OF) in graded:
                of.setdefault(str(metadata[OF]), []).append(graded[id])
        before = {first: graded[first].shares["correct"] for first in of}
        after = {first: fmean(one.shares["correct"] for one in several) for first, several in of.items()}
        if change := paired(before, after):
            own = [(graded[first], after[first]) for first in of]
            originals = [(graded[first], before[first]) for first in of]
            yield kind, {"correct": mean_figure(own), "originals": mean_figure(originals), "change": change}


def _ambiguous(
    compared: Mapping[str, Mapping[str, Any]], graded: Mapping[str, Graded]
) -> dict[str, Any] | None:
    """Return the share of correct answers to clear and to ambiguous questions, without variants, and the
    difference; `None` without questions of both kinds."""
    groups = {
        name: [
            (graded[id], graded[id].shares["correct"])
            for id, metadata in compared.items()
            if metadata.get(AMBIGUITY) == name and OF not in metadata and id in graded
        ]
        for name in (CLEAR, AMBIGUOUS)
    }
    clear, ambiguous = (mean_figure(groups[name]) for name in (CLEAR, AMBIGUOUS))
    if clear is None or ambiguous is None:
        return None
    change = difference_of_means(clear, ambiguous)
    return {CLEAR: clear, AMBIGUOUS: ambiguous, "change": change, "n": len(groups[AMBIGUOUS])}


def _patterns(run: Run, compared: Mapping[str, Mapping[str, Any]]) -> dict[str, int] | None:
    """Count the ambiguous questions whose answers miss claims, by pattern; `None` where no claim was
    judged. `n` are the questions whose pattern is known."""
    known = [pair for pair in _CLAIMS if set(pair) <= run.summary.metrics.keys()]
    if not known or not any(metadata.get(AMBIGUITY) == AMBIGUOUS for metadata in compared.values()):
        return None
    counts = {SINGLE: 0, CONFLATION: 0, "n": 0}
    for view in run.questions():
        metadata = view.question.metadata
        if metadata.get(AMBIGUITY) != AMBIGUOUS or OF in metadata:
            continue
        pattern = _pattern(view, *known[0])
        counts["n"] += pattern is not None
        if pattern in counts:
            counts[pattern] += 1
    return counts


def _pattern(view: ScoredQuestion, recall: str, hallucination: str) -> str | None:
    """Return the pattern of the answers to a question, the empty text if no claim is missing, and `None` if
    it is not known: nothing was judged, or claims are missing and the hallucination has no value."""
    found, unsupported = (
        [value for repeat in view.repeats if (value := repeat.metrics.get(name, {}).get("value")) is not None]
        for name in (recall, hallucination)
    )
    if not found:
        return None
    if fmean(found) == 1:
        return ""
    if not unsupported:
        return None
    return CONFLATION if fmean(unsupported) > 0 else SINGLE


def _rows(name: str, found: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a run."""
    for kind, one in found["variants"].items():
        change = one["change"]
        correct, originals = figure_text(one["correct"]), figure_text(one["originals"])
        yield [name, kind, correct, originals, signed(change), str(change["n"])]
    if (groups := found[AMBIGUITY]) is not None:
        yield [
            name,
            AMBIGUOUS,
            figure_text(groups[AMBIGUOUS]),
            f"{figure_text(groups[CLEAR])} clear",
            figure_text(groups["change"]),
            str(groups["n"]),
        ]


def _pattern_lines(name: str, counts: Mapping[str, int] | None, *, several: bool) -> Iterator[str]:
    """Say how ambiguous questions fail."""
    if counts and counts["n"]:
        which = f"{name}: " if several else ""
        yield (
            f"{which}of {counts['n']} ambiguous questions with judged claims, {counts[SINGLE]} have answers"
            " that miss claims and make no unsupported one (single interpretation), and"
            f" {counts[CONFLATION]} have answers that miss claims and make unsupported ones (conflation)"
        )
