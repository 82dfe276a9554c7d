"""From a walk to a draft: the question put together of sub-questions, its gold, and the rules that it must
follow.

The rules need no model: the question names the entity at the beginning, and neither those on the way nor the
answer; each sub-question names the answer of the one before; the quote of each hop stands on its page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.graph import Entity
from fathoms.extras.questions.making.languages import language_of
from fathoms.extras.questions.making.paths import Hop
from fathoms.extras.questions.making.relations import Relation
from fathoms.extras.questions.making.single import box_of
from fathoms.extras.questions.making.verbatim import on_page
from fathoms.extras.questions.making.wording import named
from fathoms.extras.questions.source_words import source_named
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Document, Evidence, Failure, Page, Question, Step

MULTI_HOP, CROSS_DOCUMENT = "Multi-Hop", "Cross-Document"
"""The categories of the questions: a cross-document question needs pages of several documents."""
WALK, STEPS, WORDING, EVIDENCE = "walk", "sub-questions", "question", "evidence"
"""The names of the checks."""
INTENT = "intent"
"""The key of a question's metadata with what a reader wants to know."""


@dataclass(frozen=True)
class Walk:
    """A walk from a node, of so many hops as wanted, with its intent. `stopped` says why it ended before."""

    start: str
    wanted: int
    entity: Entity
    hops: tuple[Hop, ...] = ()
    intent: str = ""
    stopped: str = ""

    def __hash__(self) -> int:
        return hash((self.start, self.wanted))


Subs = Mapping[Hop, str | Failure]
"""The replies of a model with the sub-question of each hop."""


def composed(walk: Walk, subs: Subs) -> str | None:
    """Return the sub-questions of a walk, each in brackets in the place of the entity that the next one
    names; `None` if one is missing or does not keep the rules."""
    if walk.stopped or any(_flaws(walk, subs)):
        return None
    whole = ""
    for hop in walk.hops:
        text = str(subs[hop])
        if whole:
            name = named(hop.sources, text)
            place = _written(name, text) if name else None
            if place is None:
                return None
            text = f"{text[: place[0]]}[{whole}]{text[place[1] :]}"
        whole = text
    return whole


def drafted(
    walk: Walk,
    subs: Subs,
    text: str | Failure | None,
    documents: Mapping[str, Document],
    language: str = "same",
) -> Draft:
    """Return the draft of a walk with its checks. `text` is the whole question as far as there is one; a
    draft without one shows the way of the walk in its place."""
    if walk.stopped:
        return _draft(walk, subs, None, documents).after(Check(check=WALK, passed=False, reason=walk.stopped))
    draft = _draft(walk, subs, text if isinstance(text, str) else None, documents)
    draft = draft.after(Check(check=WALK, passed=True), *_checked(STEPS, _flaws(walk, subs)))
    if draft.failed is None and not isinstance(text, str):
        why = text.message if text else "the sub-questions cannot be put together"
        return draft.after(Check(check=WORDING, passed=False, reason=why))
    if draft.failed is None:
        wanted = language_of(page_text(walk.hops[-1], documents)) if language == "same" else language
        draft = draft.after(*_checked(WORDING, _wording_flaws(walk, str(text), wanted)))
        draft = draft.after(*_checked(EVIDENCE, _evidence_flaws(walk, documents)))
    return draft


def _checked(name: str, flaws: Iterator[str]) -> list[Check]:
    """Return a failed check for each flaw, or a passed one."""
    return [Check(check=name, passed=False, reason=flaw) for flaw in flaws] or [
        Check(check=name, passed=True)
    ]


def _flaws(walk: Walk, subs: Subs) -> Iterator[str]:
    """Yield what is wrong with the sub-questions of a complete walk."""
    for number, hop in enumerate(walk.hops, 1):
        text = subs[hop]
        if isinstance(text, Failure):
            yield f"step {number}: {text.message}"
        elif named(hop.sources, text) is None:
            yield f"step {number} does not name {hop.sources[0]!r}: {text}"
        elif (given := named(hop.targets, text)) is not None:
            yield f"step {number} gives its answer {given!r} away: {text}"


def _wording_flaws(walk: Walk, text: str, language: str | None) -> Iterator[str]:
    """Yield what is wrong with the wording of a question."""
    if named(walk.entity.names, text) is None:
        yield f"does not name {walk.entity.names[0]!r}, where it begins"
    for hop in walk.hops[:-1]:
        if (given := named(hop.targets, text)) is not None:
            yield f"names {given!r}, which a step asks for"
    if (given := named(walk.hops[-1].targets, text)) is not None:
        yield f"gives its answer {given!r} away"
    if "[" in text:
        yield "has brackets left"
    if (source := source_named(text)) is not None:
        yield f"names its source: {source}"
    if language and (other := language_of(text)) not in (None, language):
        yield f"is in the language {other}, not {language}"


def _evidence_flaws(walk: Walk, documents: Mapping[str, Document]) -> Iterator[str]:
    """Yield the quotes that do not stand on their pages."""
    for number, hop in enumerate(walk.hops, 1):
        for one in hop.relations:
            page = _page_of(one, documents)
            if page is None or on_page(one.quote, page.text) is None:
                yield f"step {number}: page {one.page} of {one.document} lacks {one.quote!r}"


def page_text(hop: Hop, documents: Mapping[str, Document]) -> str:
    """Return the text of the first page that says of a hop; empty if it is gone."""
    page = _page_of(hop.relation, documents)
    return page.text if page else ""


def _page_of(one: Relation, documents: Mapping[str, Document]) -> Page | None:
    """Return the page of a relation, `None` if it is gone."""
    pages = documents[one.document].pages if one.document in documents else ()
    return next((page for page in pages if page.number == one.page), None)


def _draft(walk: Walk, subs: Subs, text: str | None, documents: Mapping[str, Document]) -> Draft:
    """Return the question of a walk, so far without checks."""
    way = " > ".join([walk.entity.names[0], *(hop.targets[0] for hop in walk.hops)])
    last = walk.hops[-1].targets if walk.hops else ()
    cross = bool(walk.hops) and not frozenset.intersection(*(hop.documents for hop in walk.hops))
    ends = [(hop.source, hop.target, hop.relation.relation) for hop in walk.hops]
    question = Question(
        id=f"hops-{fingerprint(walk.start, walk.wanted, ends)[:12]}",
        text=text or way,
        category=CROSS_DOCUMENT if cross else MULTI_HOP,
        files=tuple(sorted({name for hop in walk.hops for name in hop.documents})),
        answers=tuple((name,) for name in last),
        reference=last[0] if last else None,
        short_answer=last[0] if last else None,
        evidence=tuple(_evidence(walk, documents)),
        hops=walk.wanted,
        steps=tuple(_steps(walk, subs)),
        metadata={INTENT: walk.intent},
    )
    return Draft(question=question)


def _steps(walk: Walk, subs: Subs) -> Iterator[Step]:
    """Yield the steps. The answer is the name by which the next sub-question calls it."""
    for number, hop in enumerate(walk.hops, 1):
        text = subs.get(hop, "")
        following = subs.get(walk.hops[number], "") if number < len(walk.hops) else ""
        name = named(hop.targets, following) if isinstance(following, str) else None
        yield Step(question=text if isinstance(text, str) else "", answer=name or hop.targets[0])


def _evidence(walk: Walk, documents: Mapping[str, Document]) -> Iterator[Evidence]:
    """Yield every place of every hop."""
    for number, hop in enumerate(walk.hops, 1):
        for one in hop.relations:
            page = _page_of(one, documents)
            yield Evidence(
                document=one.document,
                page=one.page,
                quote=one.quote,
                bbox=one.bbox or (box_of(one.quote, page) if page else None),
                step=number,
                modality=one.modality,
            )


def _written(name: str, text: str) -> tuple[int, int] | None:
    """Return where a text has a name, with an article before it; its spaces, hyphens and case may differ."""
    words = r"[\s-]+".join(re.escape(word) for word in re.split(r"[\s-]+", name) if word)
    alone = rf"(?<!\w)(?:(?:the|an?) )?{words}(?!\w)" if name.isascii() else words
    found = re.search(alone, text, re.IGNORECASE)
    return found.span() if found else None
