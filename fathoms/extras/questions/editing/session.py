"""What one person sees of a set and decides about it; everything is saved before the next step."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from fathoms.corpora import read_questions
from fathoms.corpora.writing import dumped
from fathoms.errors import DataError, DocumentError, UsageError
from fathoms.extras.questions.editing.complaints import TO_CONFIRM, Checker, Complaint, of_error
from fathoms.extras.questions.editing.fields import Edited, differences, edited, fields_of
from fathoms.extras.questions.editing.standing import Standing, Summary, entries, standings, summary
from fathoms.extras.questions.editing.written import Target, write_set
from fathoms.extras.questions.making.drafts import Draft
from fathoms.paths import short_name
from fathoms.runs.people import Decision, append_said, read_decisions
from fathoms.types import Document, Question

LISTED = 160
"""The most characters of a question in the list of all."""

_CHANGED = "This question was changed or dropped in another window since it was shown here."
_LOOK_AGAIN = "Look at it as it is now, and decide once more."


def edits_of(path: Path) -> Path:
    """Return the file that holds what people decided about the questions of a set."""
    return path.with_name(f"{short_name(path)}-edits.jsonl")


class Seen(BaseModel):
    """An entry as the page showed it when a person began to change it or decided about it."""

    model_config = ConfigDict(extra="forbid")

    fields: Edited
    own: Literal["accept", "mend", "drop", "open"] | None = None


class DecisionRequest(BaseModel):
    """A decision that the page sends, about the entry `number`, which it showed as `seen`. A question is
    mended with `fields`; with `anyway` although warnings are left. `take` names the person whose decision
    settles a disagreement."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(strict=True, ge=0)
    decision: Literal["accept", "mend", "drop", "open"]
    fields: Edited | None = None
    seen: Seen | None = None
    anyway: bool = False
    take: str | None = Field(default=None, max_length=200)


class RefusedError(Exception):
    """A mended question is not saved, because of `complaints`."""

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__(f"{len(complaints)} complaints")
        self.complaints = complaints


WIDTH = 1100
"""The width of a picture in pixels."""
MOST_PICTURES = 60
"""The most pictures in memory; each has about 200 kB."""


class PagePictures:
    """Pictures of pages. Each is rendered in a child process when it is first asked for, one at a time, and
    stays in memory."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._pictures: OrderedDict[tuple[str, int], dict[str, Any]] = OrderedDict()
        self._lock = Lock()

    def page(self, document: str, number: int) -> dict[str, Any]:
        """Return the picture of a page as a data URL and its size in points, or in `error` why there is
        none."""
        with self._lock:
            if (document, number) not in self._pictures:
                self._pictures[document, number] = self._rendered(document, number)
                if len(self._pictures) > MOST_PICTURES:
                    self._pictures.popitem(last=False)
            self._pictures.move_to_end((document, number))
            return self._pictures[document, number]

    def _rendered(self, document: str, number: int) -> dict[str, Any]:
        """Return the picture of a page and its size, or why there is none."""
        from fathoms.pdf.thumbnails import page_thumbnails

        try:
            thumbnail = page_thumbnails(self._paths[document], [number], WIDTH).get(number)
        except DocumentError as error:
            return {"error": error.detail}
        if thumbnail is None:
            return {"error": "this page does not exist, or cannot be rendered"}
        picture = f"data:image/jpeg;base64,{base64.b64encode(thumbnail.jpeg).decode('ascii')}"
        return {"picture": picture, "width": thumbnail.size[0], "height": thumbnail.size[1]}


@dataclass(frozen=True)
class Material:
    """What is needed to look at a set: its documents as parsed, its drafts, and what checks its questions."""

    checker: Checker
    documents: Mapping[str, Document]
    drafts: Sequence[Draft] = ()

    @property
    def path(self) -> Path:
        """The path of the question file."""
        return self.checker.path


class Editing:
    """The decisions of one person (`person`) about a set, beside those of others."""

    def __init__(self, material: Material, person: str, to: Path | None = None) -> None:
        self._material = material
        self._person = person
        self._edits = edits_of(material.path)
        self._target = Target(material.path, to)
        self._pictures = PagePictures(material.checker.paths)
        self._names = sorted(material.checker.paths)
        self._lock = RLock()
        self._order: list[str] = []
        self._standings: dict[str, Standing] = {}
        self._seen: list[tuple[int, int] | None] | None = None
        self._questions: Sequence[Question] = ()
        self._doubts: dict[Question, list[Complaint]] = {}
        self._refresh()

    @property
    def path(self) -> Path:
        """The path of the question file."""
        return self._material.path

    def require_writable(self) -> None:
        """Raise UsageError if the set could not be written as people decide."""
        self._target.require_writable()

    def summary(self) -> Summary:
        """Return how all reviewers decided so far."""
        with self._lock:
            self._refresh()
            return summary(list(self._standings.values()))

    def unwritten(self) -> int:
        """Return how many questions the file does not have as people decided."""
        with self._lock:
            self._refresh()
            return self._target.unwritten(self._standings.values())

    def state(self) -> dict[str, Any]:
        """Return what the page shows of the whole set."""
        with self._lock:
            self._refresh()
            rows = [self._row(number) for number in range(len(self._order))]
            return {
                "title": self._material.path.name,
                "person": self._person,
                "target": self._target.path.name,
                "entries": rows,
                "decided": sum(row["listed"] and row["own"] is not None for row in rows),
                "total": sum(row["listed"] for row in rows),
                "unwritten": self.unwritten(),
                "summary": asdict(self.summary()),
                "documents": [{"name": name, "pages": self._pages(name)} for name in self._names],
            }

    def detail(self, number: int) -> dict[str, Any]:
        """Return what the page shows of one entry; raises IndexError."""
        with self._lock:
            self._refresh()
            standing = self._at(number)
            entry, shown = standing.entry, self._shown(standing)
            disagree = standing.differ and self._person in standing.said
            return {
                **self._row(number),
                "fields": fields_of(shown),
                "changes": differences(entry.question, shown),
                "files": list(shown.files),
                "hops": shown.hops,
                "steps": [step.model_dump() for step in shown.steps],
                "claims": list(shown.reference_claims),
                "nuggets": [nugget.question for nugget in shown.nuggets],
                "facts": [fact.text for fact in shown.facts],
                "metadata": [[key, str(value)] for key, value in shown.metadata.items()],
                "checks": [{**check.model_dump(), "name": check.name} for check in entry.checks],
                "doubts": [asdict(one) for one in self._doubts_of(shown)],
                "others": [_as_json(name, one) for name, one in standing.said.items() if disagree],
            }

    def page(self, document: int, number: int) -> dict[str, Any]:
        """Return the picture of a page and its text as parsed; raises IndexError for an unknown document."""
        name = self._names[document]
        parsed = self._material.documents.get(name)
        pages = parsed.pages if parsed else ()
        text = next((page.text for page in pages if page.number == number), "")
        return {**self._pictures.page(name, number), "text": text}

    def decide(self, request: DecisionRequest) -> None:
        """Save a decision. Raises RefusedError for a mended question with mistakes, IndexError for an unknown
        entry, and UsageError for a request that makes no sense."""
        with self._lock:
            self._refresh()
            standing = self._at(request.number)
            word, after = self._decided(standing, self._merged(standing, request))
            append_said(
                self._edits,
                Decision(
                    run=self._material.path.stem,
                    question=standing.entry.question.id,
                    reviewer=self._person,
                    seed=0,
                    time=datetime.now(UTC).isoformat(timespec="seconds"),
                    decision=word,
                    before=standing.entry.question,
                    listed=standing.entry.listed,
                    after=after,
                    settles=self._settles(standing, word),
                ),
            )
            self._refresh()

    def write(self) -> dict[str, Any]:
        """Write the set as people decided; raises UsageError, DataError or StoreError where that fails."""
        with self._lock:
            self._seen = None
            self._refresh()
            wrote = write_set(self._target, list(self._standings.values()))
            self._seen = None
            self._refresh()
            return {"file": self._target.path.name, **wrote._asdict()}

    def _merged(self, standing: Standing, request: DecisionRequest) -> DecisionRequest:
        """Return the decision with the fields that another window of the same person has saved meanwhile.

        Raises RefusedError where both windows changed the same field, or where the decision was made about a
        question that looks different now.
        """
        if request.seen is None:
            return request
        own = standing.said.get(self._person)
        before = request.seen.fields.model_dump(mode="json")
        now = Edited.model_validate(fields_of(self._shown(standing))).model_dump(mode="json")
        is_dropped = own is not None and own.decision == "drop" and request.seen.own != "drop"
        if now == before and not is_dropped:
            return request
        if request.fields is None or is_dropped:
            raise RefusedError([Complaint(_CHANGED, advice=_LOOK_AGAIN, code="changed")])
        changed = {
            name: value
            for name, value in request.fields.model_dump(mode="json").items()
            if value != before[name]
        }
        clashes = [name for name, value in changed.items() if now[name] not in (before[name], value)]
        if clashes:
            raise RefusedError([_clash(name, now[name]) for name in clashes])
        return request.model_copy(update={"fields": Edited.model_validate({**now, **changed})})

    def _settles(self, standing: Standing, word: str) -> bool:
        """Whether a decision is about a disagreement that the person has seen. What is taken back before
        anything was settled is the person's own decision."""
        seen = standing.differ and self._person in standing.said
        return seen and (word != "open" or standing.settled is not None)

    def _decided(
        self, standing: Standing, request: DecisionRequest
    ) -> tuple[Literal["accept", "mend", "drop", "open"], Question | None]:
        """Return the decision, and the mended question if it is one."""
        if request.take is not None:
            taken = standing.said.get(request.take)
            if taken is None or not standing.differ:
                raise UsageError("there is no decision of this person to take")
            return taken.decision, taken.after
        if request.decision != "mend":
            return request.decision, None
        if request.fields is None:
            raise UsageError("a mended question needs its fields")
        mended = self._mended(standing, request.fields, anyway=request.anyway)
        return ("accept", None) if mended == standing.entry.question else ("mend", mended)

    def _mended(self, standing: Standing, fields: Edited, *, anyway: bool) -> Question:
        """Return the mended question; raises RefusedError."""
        try:
            mended = edited(self._shown(standing), fields)
            dumped(self._target.path, [mended])
        except DataError as error:
            raise RefusedError(list(of_error(error))) from error
        found = [
            one for one in self._doubts_of(mended) if one.stops or (one.code in TO_CONFIRM and not anyway)
        ]
        if found:
            raise RefusedError(found)
        return mended

    def _row(self, number: int) -> dict[str, Any]:
        """Return what the list of all entries shows of one. What others decided is hidden until this person
        has decided."""
        standing = self._at(number)
        own, entry = standing.said.get(self._person), standing.entry
        return {
            "number": number,
            "id": entry.question.id,
            "text": self._shown(standing).text[:LISTED],
            "category": entry.question.category,
            "listed": entry.listed,
            "own": own.decision if own else None,
            "doubted": entry.is_doubted or (entry.listed and bool(self._doubts_of(entry.question))),
            "differ": own is not None and standing.is_open,
            "settled": standing.settled.decision if standing.settled else None,
        }

    def _shown(self, standing: Standing) -> Question:
        """Return the question as the person left it, or as a disagreement was settled."""
        own = standing.settled or standing.said.get(self._person)
        return own.after if own and own.after else standing.entry.question

    def _doubts_of(self, question: Question) -> list[Complaint]:
        """Return what the rules of the linter say of a question."""
        if question not in self._doubts:
            self._doubts[question] = self._material.checker.complaints(question)
        return self._doubts[question]

    def _pages(self, name: str) -> int | None:
        """Return the number of pages of a document, `None` if it was not parsed."""
        found = self._material.documents.get(name)
        return None if found is None else found.page_count or len(found.pages)

    def _at(self, number: int) -> Standing:
        """Return an entry by its number; raises IndexError."""
        if not 0 <= number < len(self._order):
            raise IndexError(number)
        return self._standings[self._order[number]]

    def _read(self) -> Sequence[Question]:
        """Read the set; a build that dropped every draft has written none."""
        if self._material.drafts and not self._material.path.exists():
            return ()
        return read_questions(self._material.path).questions

    def _refresh(self) -> None:
        """Read the set and the decisions again, if another process has changed them."""
        seen = [stamp(path) for path in (self._material.path, self._edits)]
        if seen == self._seen:
            return
        if self._seen is None or seen[0] != self._seen[0]:
            self._questions = self._read()
        history = read_decisions(self._edits)
        found = standings(entries(self._questions, self._material.drafts, history), history)
        self._standings = {one.entry.question.id: one for one in found}
        remaining = [name for name in self._order if name in self._standings]
        self._order = list(dict.fromkeys([*remaining, *self._standings]))
        self._seen = seen


def _clash(field: str, now: Any) -> Complaint:
    """Return the complaint about a field that another window has changed to another value."""
    value = now if isinstance(now, str) else json.dumps(now, ensure_ascii=False)
    message = f"This field was changed in another window since it was shown here. It is now: {value[:LISTED]}"
    return Complaint(message, field, advice="Save once more to keep what stands here.", code="changed")


def _as_json(name: str, said: Decision) -> dict[str, Any]:
    """Return what one person decided, for a disagreement."""
    changes = differences(said.before, said.after) if said.after else []
    return {"person": name, "decision": said.decision, "changes": changes}


def stamp(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
