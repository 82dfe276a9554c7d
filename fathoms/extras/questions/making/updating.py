"""Updating a question set after documents came, changed or went (the dynamic updates of Double-Bench).

A question stays as it is while the pages of its evidence do; where they only moved, it gets the new numbers.
One whose evidence changed stays if the words that it quotes still stand on a page and the judge says that the
page still holds the answer. One whose evidence is gone is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fathoms.extras.questions.labelling import PageCall, prompts_about, read_label
from fathoms.extras.questions.making.asking import Asker
from fathoms.extras.questions.making.clarity import Searches, answering
from fathoms.extras.questions.making.manifest import Manifest, fresh_pages, moved_pages, states
from fathoms.extras.questions.making.single import standing
from fathoms.types import Document, Evidence, Failure, Place, Question

STAGE = "update"


@dataclass(frozen=True)
class Updated:
    """The questions that stay, what was changed in sentences, and the pages that are new."""

    questions: tuple[Question, ...]
    changes: tuple[str, ...]
    fresh: frozenset[Place]


def updated(
    questions: Sequence[Question],
    before: Manifest,
    documents: Mapping[str, Document],
    searches: Searches,
    asker: Asker,
) -> Updated:
    """Return the questions of a set that are still valid for the documents as they are now."""
    names = _renamed(before, documents)
    before, questions = _with_names(before, names), [_with_new_names(one, names) for one in questions]
    now = states(documents.values())
    fresh = fresh_pages(before.documents, now)
    moved = moved_pages(before.documents, now)
    changes = [f"document {old} is now {new}" for old, new in names.items()]
    changes += _documents(before, documents)
    still_valid: dict[str, Question] = {}
    doubtful: dict[str, Question] = {}
    for question in questions:
        if not question.answerable:
            continue
        if not question.evidence:
            still_valid[question.id] = question
            continue
        placed, intact = _placed(question, moved, documents)
        if placed is None:
            changes.append(f"dropped {question.id}: its evidence is gone")
        elif intact:
            still_valid[question.id] = placed
            if placed != question:
                changes.append(f"changed {question.id}: its evidence moved to other pages")
        else:
            doubtful[question.id] = placed
    for id, holds in _hold(list(doubtful.values()), documents, asker).items():
        if holds:
            still_valid[id] = doubtful[id]
            changes.append(f"checked {id}: its evidence changed, and still holds the answer")
        else:
            changes.append(f"dropped {id}: its evidence changed, and does not hold the answer any more")
    unanswerable = [one for one in questions if not one.answerable]
    if fresh:
        for id, found in answering(unanswerable, documents, searches, asker, stage=STAGE).items():
            if isinstance(found, Failure) or found:
                changes.append(f"dropped {id}: a page may answer it now")
                unanswerable = [one for one in unanswerable if one.id != id]
    still_valid |= {one.id: one for one in unanswerable}
    return Updated(
        tuple(still_valid[one.id] for one in questions if one.id in still_valid), tuple(changes), fresh
    )


def _renamed(before: Manifest, documents: Mapping[str, Document]) -> dict[str, str]:
    """Return the new name of each document whose file exists under another name only."""
    new: dict[str, list[str]] = {}
    for name, document in documents.items():
        if name not in before.documents:
            new.setdefault(document.sha256, []).append(name)
    gone = {name: one for name, one in before.documents.items() if name not in documents}
    return {name: new[one.sha256][0] for name, one in gone.items() if len(new.get(one.sha256, ())) == 1}


def _with_names(before: Manifest, names: Mapping[str, str]) -> Manifest:
    """Return a manifest with the new names of documents."""
    documents = {names.get(name, name): one for name, one in before.documents.items()}
    return before.model_copy(update={"documents": documents})


def _with_new_names(question: Question, names: Mapping[str, str]) -> Question:
    """Return a question with the new names of its documents."""
    evidence = tuple(
        one.model_copy(update={"document": names.get(one.document, one.document)})
        for one in question.evidence
    )
    files = tuple(names.get(name, name) for name in question.files)
    return question.model_copy(update={"evidence": evidence, "files": files})


def _documents(before: Manifest, documents: Mapping[str, Document]) -> list[str]:
    """Say which documents came, changed and went."""
    old = before.documents
    came = [f"new document {name}" for name in documents if name not in old]
    went = [f"document {name} is gone" for name in old if name not in documents]
    other = [
        f"document {name} changed"
        for name, document in documents.items()
        if name in old and old[name].sha256 != document.sha256
    ]
    return [*came, *other, *went]


def _placed(
    question: Question, moved: Mapping[Place, Place], documents: Mapping[str, Document]
) -> tuple[Question | None, bool]:
    """Return a question with its evidence on the pages as they are now, `None` if nothing of it is left, and
    whether all of it is as it was. A quote is looked for on every page of its document."""
    found: list[Evidence] = []
    intact = True
    for evidence in question.evidence:
        if evidence.page is None:
            found.append(evidence)
            intact = intact and evidence.document in documents
        elif (place := moved.get((evidence.document, evidence.page))) is not None:
            found.append(evidence.model_copy(update={"page": place[1]}))
        else:
            intact = False
            if (other := _elsewhere(evidence, documents)) is not None:
                found.append(other)
    steps = {one.step for one in question.evidence} - {one.step for one in found}
    if not found or steps:
        return None, False
    files = tuple(name for name in question.files if name in documents)
    return question.model_copy(update={"evidence": tuple(found), "files": files}), intact


def _elsewhere(evidence: Evidence, documents: Mapping[str, Document]) -> Evidence | None:
    """Return evidence at the page on which its quote stands now, `None` if it stands on none."""
    document = documents.get(evidence.document)
    if document is None or evidence.quote is None:
        return None
    pages = sorted(document.pages, key=lambda page: abs(page.number - (evidence.page or 0)))
    for page in pages:
        if (quote := standing(evidence.quote, page.text)) is not None:
            # where on the page it stands is not known any more
            return evidence.model_copy(update={"page": page.number, "quote": quote, "bbox": None})
    return None


def _hold(questions: Sequence[Question], documents: Mapping[str, Document], asker: Asker) -> dict[str, bool]:
    """Return for each question whether a page of its evidence holds its answer, as the judge says."""
    pages = sorted(
        {PageCall(one.id, *place) for one in questions for place in one.gold_pages if place[0] in documents},
        key=lambda item: item.place,
    )
    said = asker.ask(STAGE, pages, prompts_about(questions, documents), read_label, judging=True)
    holding = {item.question for item in pages if said[item] is True}
    return {one.id: one.id in holding for one in questions}
