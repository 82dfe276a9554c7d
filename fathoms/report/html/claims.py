"""The judged claims of an answer, each tied to its sentence and to the passage that decided about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from fathoms.errors import StoreError
from fathoms.metrics.claims.premises import gold_pages
from fathoms.metrics.claims.texts import running_gold
from fathoms.models.sentences import sentences
from fathoms.report.html.texts import brief, units
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.run import Run
from fathoms.text.amounts import dollars, duration, figure
from fathoms.types import Document, Question
from fathoms.types.run.rows import ComparedClaim, Comparison, ScoredRepeat
from fathoms.types.run.summary import JudgingCost

Json = dict[str, Any]
Span = tuple[int, int]
MOST = 40
"""The most claims of one comparison that the page shows."""
LONGEST = 300
"""The most characters of a claim, of a passage or of a reason that are shown."""
MARKS = ("supported", "contradicted", "unsupported", "unparsed", "not judged")
"""What a claim can be; a judge with two labels does not tell a contradiction."""
READ = 200_000
"""Sentences are looked for in this many characters of a text."""
_OF_LABEL = {
    "supported": "supported",
    "entailment": "supported",
    "contradiction": "contradicted",
    "unsupported": "unsupported",
    "neutral": "unsupported",
    "unparsed": "unparsed",
}
_THREE = ("entailment", "neutral", "contradiction")
_SOURCES = ("retrieved", "context", "cited sources", "gold pages", "gold pages together", "cited gold pages")
_GOLD = ("gold answer", "gold claims of the cited pages")
_ANSWER = ("answer", "citing sentences", "claims of the answer")
_RANKS = re.compile(r"\bhit (\d+(?:, \d+)*)")
_WORD = re.compile(r"\w+")


def mark_of(label: str) -> str:
    """Return what a label says of a claim; `not judged` for a verdict that is missing."""
    return _OF_LABEL.get(label, "not judged")


def comparisons(repeat: ScoredRepeat) -> tuple[Comparison, ...]:
    """Return what was compared: the claims of the answer first, against sources before the gold answer."""
    found = repeat.claims.get("compared", []) if repeat.claims else ()
    order = {by: at for at, by in enumerate((*_SOURCES, *_GOLD))}
    return tuple(sorted(found, key=lambda one: (one["of"] != "answer", order.get(one["by"], len(order)))))


@dataclass
class ClaimCounts:
    """How many claims have each mark.

    `by_question` has for each question, by its index, the numbers for each of `MARKS` in the first comparison
    of the claims of the answer, and the number of claims of the gold answer that the answer misses. `overall`
    has the numbers for each of `MARKS` of the whole run, by whose claims they are and what they were compared
    with.
    """

    by_question: dict[int, list[int]] = field(default_factory=dict)
    overall: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def add(self, question: int, repeats: Iterable[ScoredRepeat]) -> None:
        """Count the claims of all repeats of a question."""
        row = [0] * (len(MARKS) + 1)
        judged = False
        for repeat in repeats:
            found = comparisons(repeat)
            judged = judged or bool(found)
            first = next((one for one in found if one["of"] == "answer"), None)
            for one in found:
                counts = Counter(mark_of(claim["label"]) for claim in one["claims"])
                self.overall.setdefault((one["of"], one["by"]), Counter()).update(counts)
                if one is first:
                    row = [count + counts[mark] for count, mark in zip(row, (*MARKS, ""), strict=True)]
                elif one["of"] == "gold" and one["by"] == "answer":
                    row[-1] += counts["unsupported"] + counts["contradicted"]
        if judged:
            self.by_question[question] = row

    def overview(self) -> list[Json]:
        """Return the numbers of the whole run as the page reads them."""
        return [
            {"of": of, "by": brief(by, LONGEST), "marks": [counts[mark] for mark in MARKS]}
            for (of, by), counts in self.overall.items()
        ]


def documents_of(run: Run) -> Mapping[str, Document]:
    """Return the parsed documents that a run holds."""
    return StoredDocuments(run, run.manifest)


class _Passage(NamedTuple):
    """A sentence in a text: that of a hit, by its `rank`, or else of what `place` names."""

    text: str
    span: Span
    words: frozenset[str]
    place: str
    rank: int | None = None

    @property
    def shown(self) -> Json:
        """The place of the sentence; the texts of hits and of the answer are on the page anyway."""
        start, end = self.span
        at = [units(self.text[:start]), units(self.text[:end])]
        if self.rank is not None:
            return {"rank": self.rank, "at": at}
        if self.place == "answer":
            return {"answer": at}
        return {"place": self.place, "passage": brief(self.text[start:end], LONGEST)}


class _Texts:
    """The texts that claims of one answer were compared with, as sentences."""

    def __init__(self, repeat: ScoredRepeat, question: Question, documents: Mapping[str, Document]) -> None:
        self._repeat, self._question, self._documents = repeat, question, documents

    @cached_property
    def answer(self) -> list[_Passage]:
        """The sentences of the answer."""
        return list(_passages(self._repeat.answer.text if self._repeat.answer else "", "answer"))

    @cached_property
    def _hits(self) -> list[_Passage]:
        hits = self._repeat.hits or ()
        return [one for hit in hits for one in _passages(hit.text, f"hit {hit.rank}", hit.rank)]

    @cached_property
    def _gold(self) -> list[_Passage]:
        return list(_passages(running_gold(self._question), "gold answer"))

    @cached_property
    def _pages(self) -> list[_Passage]:
        try:
            found = gold_pages(self._question, self._documents)
        except StoreError:  # a document is damaged, and the report has all else
            return []
        return [one for premise in found for one in _passages(premise.text, premise.place)]

    def passages(self, by: str, claim: ComparedClaim) -> list[_Passage]:
        """Return the sentences that can have decided about a claim: of the premise that did, or of all
        premises where none supports or contradicts it."""
        if by in _GOLD:
            return self._gold
        if by in _ANSWER:
            return self.answer
        whole = self._pages if by.endswith(("gold pages", "gold pages together")) else self._hits
        premise = claim.get("premise")
        if not premise or mark_of(claim["label"]) == "unsupported":
            return whole
        ranks = ranks_of(premise)
        named = [one for one in whole if one.rank in ranks or one.place in premise.split("; ")]
        return named or ([] if ranks else whole)


def ranks_of(premise: str) -> tuple[int, ...]:
    """Return the ranks of the hits that a premise such as `hit 1, 2 and hit 4` names."""
    return tuple(int(rank) for found in _RANKS.findall(premise) for rank in found.split(", "))


def _passages(text: str, place: str, rank: int | None = None) -> Iterator[_Passage]:
    """Yield the sentences of a text with their places in it."""
    at = 0
    for sentence in sentences(text[:READ]):
        start = text.find(sentence, at)
        if start >= 0:
            at = start + len(sentence)
            yield _Passage(text, (start, at), _words(sentence), place, rank)


def _quoted(quote: str | None, passages: Sequence[_Passage]) -> _Passage | None:
    """Return the words of a text that a judge quotes, with their place; `None` if no text has them."""
    for one in passages if quote else ():
        if quote and (start := one.text.find(quote)) >= 0:
            return one._replace(span=(start, start + len(quote)))
    return None


def _words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(_WORD.findall(text.lower()))


def _nearest(claim: str, passages: Sequence[_Passage]) -> _Passage | None:
    """Return the sentence that shares most words with a claim, the first of several; `None` if none shares
    any."""
    words = _words(claim)
    best = max(passages, key=lambda one: len(words & one.words), default=None)
    return best if best and words & best.words else None


def shown_claims(repeat: ScoredRepeat, question: Question, documents: Mapping[str, Document]) -> Json | None:
    """Return the claims of an answer and of its gold answer as the page reads them; `None` without any.

    Each claim has its `mark`; its place in the answer (`said`), which is that of its words if they stand
    there (`verbatim`), else that of its sentence, or if the judge named none, of the nearest (`guessed`); and
    as `near` the words of the premise that the judge quotes (`quoted`), else the sentence of it that is most
    like the claim, which helps a reader to check the verdict.
    """
    found = comparisons(repeat)
    if not (repeat.claims and found):
        return None
    texts = _Texts(repeat, question, documents)
    return {
        "compared": [
            {
                "of": one["of"],
                "by": brief(one["by"], LONGEST),
                "count": len(one["claims"]),
                "three": _has_three(row["label"] for row in one["claims"]),
                "claims": [_claim(row, one, texts) for row in one["claims"][:MOST]],
            }
            for one in found
        ],
        "judging": spent(repeat.claims.get("judging", JudgingCost())),
    }


def spent(judging: JudgingCost) -> Json:
    """Return what judging took, with cost and time as texts."""
    seconds = "time not known" if judging.seconds is None else duration(judging.seconds)
    return {**judging.model_dump(), "cost": cost_of(judging.cost), "seconds": seconds}


def cost_of(dollar: float | None) -> str:
    """Return a cost as text."""
    return "not known" if dollar is None else dollars(dollar)


def _has_three(labels: Iterable[str]) -> bool | None:
    """Return whether the labels are those of a judge with three; `None` if no claim has a label."""
    known = [label in _THREE for label in labels if mark_of(label) not in ("unparsed", "not judged")]
    return any(known) if known else None


def _claim(row: ComparedClaim, one: Comparison, texts: _Texts) -> Json:
    """Return one claim as the page reads it."""
    premise = row.get("premise")
    passages = texts.passages(one["by"], row)
    quoted = _quoted(row.get("quote"), passages)
    near = quoted or _nearest(row["claim"], passages)
    ranks = ranks_of(premise or "") if one["by"] not in (*_GOLD, *_ANSWER) else ()
    shown = {
        "claim": brief(row["claim"], LONGEST),
        "mark": mark_of(row["label"]),
        "p": None if (p := row.get("p")) is None else figure(p),
        "premise": premise and brief(premise, LONGEST),
        "ranks": ranks,
        "premises": row.get("premises", 0),
        "why": (why := row.get("why")) and brief(why, LONGEST),
        "near": near and near.shown,
        "quoted": quoted is not None,
        **(_said(row, texts.answer) if one["of"] == "answer" else {}),
    }
    return {key: value for key, value in shown.items() if value not in (None, (), False)}


def _said(row: ComparedClaim, answer: Sequence[_Passage]) -> Json:
    """Return where an answer states a claim."""
    if not answer:
        return {}
    number = row.get("sentence")
    named = number is not None and number < len(answer)
    sentence = answer[number or 0] if named else _nearest(row["claim"], answer)
    text = answer[0].text
    start, end = sentence.span if sentence else (0, len(text))
    at = text.find(row["claim"], start)
    if row["claim"] and at >= 0 and (at < end or not named):
        span, kind = (at, at + len(row["claim"])), {"verbatim": True}
    elif sentence:
        span, kind = sentence.span, {"guessed": not named}
    else:
        return {}
    return {"said": [units(text[: span[0]]), units(text[: span[1]])], **kind}
