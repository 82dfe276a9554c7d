"""The two filters of MRAG-Suite (Ji 2025, section 3.4): what a model knows without documents, and what is
easiest.

1. **Retrieval-independent**: drops a question whose answer stands in the question, or that a closed-book
   model answers rightly with a confidence above a threshold. A confident and wrong answer drops nothing.
2. **Difficulty**: ranks the rest by the hops that a question needs, by whether it needs more than text, and
   by how often a baseline answers it, and drops the easiest share of each category.

Both read earlier runs, and call no model. The confidence is the one that an answer states (`Confidence:
0.95`, which the template `closed-book-confidence` asks for), and the agreement of the repeats: the share of
them that is right. Each must be above the threshold where it is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from fathoms.errors import UsageError, amount
from fathoms.metrics.ingestion import is_yes_no
from fathoms.metrics.phrase_recall import phrase_recall
from fathoms.metrics.profiles import Profile
from fathoms.runs.metadata import DROPPED, OF
from fathoms.runs.run import QuestionMean, Run
from fathoms.text.amounts import percent
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Question
from fathoms.types.run.rows import ScoredQuestion, ScoredRepeat

IN_QUESTION, SOLVED, EASY = (
    "its answer stands in the question",
    "solved without documents",
    "among the easiest",
)
LEAST = 5
"""So many repeats are needed to know how far answers agree, if none of them states its confidence."""
_STATED = re.compile(
    r"confidence(?:\s+(?:is|of|level)){0,3}\W{0,5}(\d+(?:[.,]\d+)?)\s*(%?)(?:/\s*(\d+))?", re.IGNORECASE
)
_DETAIL = f"{DROPPED}_detail"
_TEXT = frozenset({"text", None})


class Dropped(NamedTuple):
    """A question that a filter drops, the filter, and what it saw."""

    question: Question
    reason: str
    detail: str


@dataclass(frozen=True)
class Known:
    """What a closed-book run says of a question: the share of the repeats whose answer is right, their
    number, and the mean confidence that right answers state (`None` where none states one)."""

    right: float
    repeats: int
    stated: float | None

    def is_sure(self, confidence: float) -> bool:
        """Whether the question is solved with more than this confidence. Without a stated confidence, fewer
        than five answers are too few to say."""
        if self.stated is None and self.repeats < LEAST:
            return False
        return self.right > confidence and (self.stated is None or self.stated > confidence)

    def __str__(self) -> str:
        stated = "" if self.stated is None else f", stating a confidence of {self.stated:.2f}"
        return f"right in {percent(self.right)} of {amount(self.repeats, 'answer')}{stated}"


@dataclass(frozen=True)
class Filtered:
    """The questions that stay, and those that are dropped with their reasons, in the order of the set; `full`
    has all questions, the dropped ones with the reason in their metadata."""

    remaining: tuple[Question, ...]
    dropped: tuple[Dropped, ...]
    full: tuple[Question, ...]


def stated_confidence(answer: str) -> float | None:
    """Return the confidence from 0 to 1 that an answer states last, as `0.9`, `0,9`, `90 %`, `90` or `9/10`;
    `None` if it states none."""
    found = _STATED.findall(answer)
    if not found:
        return None
    number, percent, whole = found[-1]
    value = float(number.replace(",", "."))
    if whole:
        value /= float(whole) or math.inf
    elif percent or value > 1:
        value /= 100
    return value if 0 <= value <= 1 else None


def known_without_documents(run: Run, profile: Profile) -> dict[str, Known]:
    """Return what the questions of a closed-book run say, by their ids.

    Raises UsageError for a run that showed documents, and for one without confidence: its answers state none,
    and there are fewer than five repeats of a question.
    """
    found: dict[str, Known] = {}
    tells = False
    for view in run.questions():
        if any(repeat.hits for repeat in view.repeats):
            raise UsageError(
                f"{run.original_id} retrieved texts for question {view.question.id}: a closed-book run has"
                " retrieve: {kind: none}"
            )
        if (known := _known(view, profile)) is not None:
            found[view.question.id] = known
            tells = tells or known.repeats >= LEAST or any(_stated(one) is not None for one in view.repeats)
    if found and not tells:
        raise UsageError(
            f"{run.original_id} does not tell how sure its answers are: run it with --repeats {LEAST} or"
            " more and a temperature above 0, or with prompt: {template: closed-book-confidence}"
        )
    return found


def _known(view: ScoredQuestion, profile: Profile) -> Known | None:
    """Return what a closed-book run says of one question; `None` if no answer is scored."""
    values = view.values("correctness", profile.name)
    pairs = zip(values, view.repeats, strict=True)
    scored = [(value, repeat) for value, repeat in pairs if value is not None]
    if not scored:
        return None
    right = [repeat for value, repeat in scored if value == 1]
    stated = [one for one in map(_stated, right) if one is not None]
    return Known(len(right) / len(scored), len(scored), fmean(stated) if stated else None)


def _stated(repeat: ScoredRepeat) -> float | None:
    """Return the confidence that an answer states, also in what stands before its mark."""
    answer = repeat.answer
    return None if answer is None else stated_confidence(f"{answer.reasoning}\n{answer.text}")


def filtered(
    questions: Sequence[Question],
    profile: Profile,
    *,
    closed_book: Mapping[str, Known] | None = None,
    confidence: float = 0.9,
    baselines: Sequence[Run] = (),
    easiest: float = 0.1,
) -> Filtered:
    """Apply both filters. `closed_book` is what `known_without_documents` returns; `baselines` are runs whose
    correctness says how easy a question is. `easiest` is the share that is dropped of each category of what
    the first filter leaves, rounded down. Unanswerable questions pass both."""
    first = {
        question.id: drop
        for question in questions
        if (drop := _without_retrieval(question, profile, closed_book or {}, confidence)) is not None
    }
    rest = [one for one in questions if one.answerable and one.id not in first and OF not in one.metadata]
    second = {drop.question.id: drop for drop in _easiest(rest, baselines, profile, easiest)}
    dropped = first | second
    for one in questions:  # a variant goes with its original
        if (of := dropped.get(str(one.metadata.get(OF)))) is not None:
            dropped.setdefault(one.id, Dropped(one, of.reason, f"as its original {of.question.id}"))
    return Filtered(
        tuple(_with_reason(question, None) for question in questions if question.id not in dropped),
        tuple(dropped[question.id] for question in questions if question.id in dropped),
        tuple(_with_reason(question, dropped.get(question.id)) for question in questions),
    )


def _with_reason(question: Question, drop: Dropped | None) -> Question:
    """Return a question with the reason for which it is dropped in its metadata, and without one of an
    earlier filter."""
    metadata = {key: value for key, value in question.metadata.items() if key not in (DROPPED, _DETAIL)}
    if drop is not None:
        metadata |= {DROPPED: drop.reason, **({_DETAIL: drop.detail} if drop.detail else {})}
    return question.model_copy(update={"metadata": metadata})


def _without_retrieval(
    question: Question, profile: Profile, known: Mapping[str, Known], confidence: float
) -> Dropped | None:
    """Return why a question needs no documents; `None` if it may need them."""
    if not question.answerable or OF in question.metadata:
        return None
    variants = [variant for variant in question.answers if variant and not is_yes_no(variant)]
    if phrase_recall(question.text, variants, profile.match, profile.hyphens).value == 1:
        return Dropped(question, IN_QUESTION, "")
    found = known.get(question.id)
    if found is not None and found.is_sure(confidence):
        return Dropped(question, SOLVED, str(found))
    return None


def _easiest(
    questions: Sequence[Question], baselines: Sequence[Run], profile: Profile, share: float
) -> Iterable[Dropped]:
    """Yield the easiest questions of each category."""
    solved = [run.correctness(profile.name) for run in baselines]
    by_category: dict[str, list[Question]] = {}
    for question in questions:
        by_category.setdefault(question.category, []).append(question)
    for several in by_category.values():
        ranked = sorted(several, key=lambda one: _hardness(one, _success(one, solved)))
        for question in ranked[: math.floor(share * len(ranked))]:
            yield Dropped(question, EASY, _easiness(question, _success(question, solved)))


def _success(question: Question, solved: Sequence[Mapping[str, QuestionMean]]) -> float | None:
    """Return the mean correctness of a question in the baselines; `None` where none has it."""
    found = [row[question.id].mean for row in solved if question.id in row]
    return fmean(found) if found else None


def _hardness(question: Question, success: float | None) -> tuple[float, str]:
    """Return the sum of three parts from 0 to 1, the lower the easier: hops beyond the first (1 of two hops
    is half), evidence other than text, and failures of the baselines, which a question that none asked is
    taken to be. A hash of the id breaks ties."""
    hops = 1 - 1 / (question.hops or 1)
    seen = float(_needs_more_than_text(question))
    return hops + seen + (1.0 if success is None else 1 - success), fingerprint(question.id)


def _needs_more_than_text(question: Question) -> bool:
    """Whether any evidence is a table, a figure or anything else than text."""
    return any(one.modality not in _TEXT for one in question.gold_evidence)


def _easiness(question: Question, success: float | None) -> str:
    """Say why a question counts as easy."""
    kind = "more than text" if _needs_more_than_text(question) else "text alone"
    right = "" if success is None else f", right in {percent(success)} of the baselines' answers"
    return f"hops: {question.hops or 1}, {kind}{right}"
