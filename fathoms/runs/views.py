"""The question files of a run (`questions/<id>.json`): making them, and reading them as typed values."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from fathoms.errors import StoreError
from fathoms.paths import old_unique_name, safe_name
from fathoms.runs.folder import (
    complaint,
    json_bytes,
    parsed_line,
    read_checked,
    sealed,
    sealed_line,
    write_file,
)
from fathoms.runs.question_lines import file_names, find_lines, id_of, new_lines, read_lines, remove
from fathoms.runs.records import Entry, Records
from fathoms.runs.trust import is_signed
from fathoms.types import (
    OTHER_QUOTE,
    Hit,
    Prompt,
    Quote,
    Record,
    StoredValue,
)
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.part import SCHEMA, Json, misfit
from fathoms.types.run.rows import BriefQuestion, ScoredQuestion

_View = TypeVar("_View", bound=StoredValue)


_CUT_OUT = re.compile(r"#p\d+-(figure|table)\d+$")
"""The end of the id of a figure or table that was cut out of its page."""
_PROMPT = [name for name, field in Prompt.model_fields.items() if name != "context" and not field.exclude]
"""What is shown of a prompt whose context is a part of its message."""


def view_of(
    record: Record, scores: Mapping[str, Any], metrics: Mapping[str, Any], claims: Mapping[str, Any]
) -> Json:
    """One record as its question file shows it: the answer, its scores by profile and by its other metrics
    and its judged claims first, then how it was produced. Writing it as JSON converts the values of types of
    fathoms in it."""
    whole = dict(vars(record))
    left_out = [name for name in ("service", "rounds", "tools", "trace", "retries") if not whole[name]]
    for name in ("question", "released", *left_out):
        del whole[name]
    quotes = {f"{record.question.id}#{quote.id}": quote for quote in record.question.quotes}
    shown = partial(_shown_hit, quotes=quotes)
    whole["hits"] = record.hits and list(map(shown, record.hits))
    if record.rounds:
        whole["rounds"] = [
            {"query": one.query, "calls": one.calls, "hits": list(map(shown, one.hits))}
            for one in record.rounds
        ]
    if record.prompt and any(record.prompt.context in one.text for one in record.prompt.messages):
        # it is a part of the message
        prompt = vars(record.prompt)
        # pydantic takes twice as long to call the method of a message by itself
        messages = [message.stored() for message in record.prompt.messages]
        whole["prompt"] = {name: prompt[name] for name in _PROMPT} | {"messages": messages}
    first = {key: whole.pop(key) for key in ("repeat", "answer", "error")}
    return {**first, "scores": scores, "metrics": metrics, **({"claims": claims} if claims else {}), **whole}


def _shown_hit(hit: Hit, quotes: Mapping[str, Quote]) -> Json:
    """One hit as a question file shows it. `quotes` are the candidate quotes of the question by the ids of
    their chunks."""
    chunk, quote = hit.chunk, quotes.get(hit.chunk.id)
    is_picture = quote or f"#{OTHER_QUOTE}" in chunk.id or _CUT_OUT.search(chunk.id)
    image = chunk.image if is_picture else None  # and not of a whole page
    if quote is not None and image is None:  # the model read its description
        image = quote.image
    return (
        {"rank": hit.rank, "score": hit.score, "document": chunk.document}
        | {"pages": list(chunk.pages), "modality": chunk.modality}
        | ({"header": chunk.header} if chunk.header else {})
        | ({"boxes": chunk.boxes} if chunk.boxes else {})
        | {"text": chunk.text}
        | ({"heatmap": hit.heatmap} if hit.heatmap else {})
        | ({"image": image} if image else {})
        | ({"gold": quote.gold} if quote else {})
    )


def view_name(question: str) -> str:
    """The name of a question's file under `questions/`."""
    return f"{safe_name(question, unique=True)}.json"


def view_names(question: str) -> tuple[str, str]:
    """The name of a question's file under `questions/`, and its name in runs of earlier versions."""
    return view_name(question), f"{old_unique_name(question)}.json"


def in_order(questions: Iterable[str], all_ids: Sequence[str]) -> list[str]:
    """Return the questions of a run in the order in which `read_views` yields their files."""
    places = {id: place for place, id in enumerate(all_ids)}
    keys = {id: (places.get(id, len(places)), "" if id in places else view_name(id)) for id in questions}
    return sorted(keys, key=keys.__getitem__)


def read_views(root: Path, manifest: Manifest) -> Iterator[Json]:
    """Yield the JSON of every question of a run: first those that it asked, in their order, then any others
    by the name of their file, or of a large run in the order in which they were answered.

    Raises StoreError for what is damaged, for a file that has the name of another question, and for two lines
    of one question, because a question would then be counted twice.
    """
    in_lines: set[str] = set()
    is_own = is_signed(manifest)
    for view in read_lines(root, is_own=is_own):
        if (id := view["question"]["id"]) in in_lines:
            raise StoreError(
                f"{root / 'questions'} holds the question '{id}' twice: run 'fathoms score {root}'"
            )
        in_lines.add(id)
        yield view
    if in_lines:  # a scoring that did not end can leave files beside them
        files = _read_files(root, manifest.data.asked_ids, is_own=is_own)
        yield from (view for view in files if view["question"]["id"] not in in_lines)
    else:
        yield from _read_files(root, manifest.data.asked_ids, is_own=is_own)


def _read_files(root: Path, all_ids: Sequence[str], *, is_own: bool) -> Iterator[Json]:
    """Yield the JSON of the files that hold one question each."""
    order = {name: number for number, id in enumerate(all_ids) for name in view_names(id)}
    paths = (root / "questions").glob("*.json")
    for path in sorted(paths, key=lambda path: (order.get(path.name, len(order)), path.name)):
        view = read_checked(root, f"questions/{path.name}", is_own=is_own)
        name, old = view_names(view["question"]["id"])
        if path.name == old != name and os.path.lexists(path.with_name(name)):
            continue  # there is a newer file with the current name
        if path.name not in (name, old):
            raise StoreError(f"{path} holds a question whose file is {name}: 'fathoms score' sets it aside")
        yield view


def find_views(root: Path, questions: Collection[str], manifest: Manifest) -> Iterator[Json]:
    """Yield the JSON of some questions of a run, from lines and from files that hold one question each.
    Raises StoreError for what is damaged."""
    is_own = is_signed(manifest)
    if file_names(root):
        yield from find_lines(root, questions, manifest.data.asked_ids, is_own=is_own)
    for question in questions:
        for name in view_names(question):
            if os.path.lexists(root / "questions" / name):
                yield read_checked(root, f"questions/{name}", is_own=is_own)


def scored_question(view: Json) -> ScoredQuestion:
    """Convert the JSON of a question file; raises StoreError if it cannot be used."""
    return _converted(ScoredQuestion, view)


def brief_question(view: Json) -> BriefQuestion:
    """Convert what tables need of a question file; raises StoreError if it cannot be used."""
    return _converted(BriefQuestion, view)


def _converted(kind: type[_View], view: Json) -> _View:
    """Convert the JSON of a question file; raises StoreError."""
    try:
        return kind.model_validate(view)
    except ValidationError as error:
        raise StoreError(f"question '{view['question']['id']}' cannot be used: {misfit(error)}") from None


def refusal(record: Record) -> str | None:
    """What reading would find wrong with the question file of a record, `None` if it can be read: what an
    import writes is what reading accepts."""
    repeats = [view_of(record, {}, {}, {})]
    view = {"schema": SCHEMA, "run": "x", "question": record.question, "repeats": repeats}
    return complaint(parsed_line(json_bytes(view)))


_OfRecords = Sequence[Mapping[str, Any]] | None
WriteView = Callable[[Sequence[Record], _OfRecords, _OfRecords, _OfRecords], None]
"""Writes the view of one question: of its records, with their scores by profile, the scores by their metrics,
and their judged claims."""


class QuestionFiles:
    """The question files of a run: a readable view of its records with their scores, written again where it
    is missing. `manifest` returns that of the run."""

    def __init__(self, root: Path, records: Records, manifest: Callable[[], Manifest]) -> None:
        self._root = root
        self._records = records
        self._manifest = manifest

    def of(self, question: str) -> dict[str, Any] | None:
        """Read one question: its file, or the same without scores where it has answers that are not scored
        yet. `None` where the run has no answer to it; raises StoreError."""
        entries = [entry for (id, _), entry in self._records.entries_of(question).items() if id == question]
        if not entries:
            return None
        records = list(self._records.read(entries))
        answered = {(record.repeat, record.finished) for record in records}
        for view in self._stored_views(question):
            shown = {(repeat.get("repeat"), repeat.get("finished")) for repeat in view["repeats"]}
            if view["question"]["id"] == question and shown == answered:
                return view
        return self._plain_view(records)

    def scored(self, question: str) -> dict[str, Any] | None:
        """Read one question as it was scored last, which does not need the journal; `None` where it was not.
        Raises StoreError."""
        views = self._stored_views(question)
        return next((view for view in views if view["question"]["id"] == question), None)

    def at(self, offsets: Iterable[int]) -> dict[str, Any]:
        """Read one question from those lines of the journal that have its repeats, without scores; raises
        StoreError."""
        return self._plain_view(
            list(self._records.read(Entry(0, offset, failed=False) for offset in offsets))
        )

    def _plain_view(self, records: Sequence[Record]) -> dict[str, Any]:
        """What `of` returns where the answers to a question are not scored yet."""
        plain: dict[str, Any] = parsed_line(json_bytes(self._view(records)))
        return plain

    def _stored_views(self, question: str) -> Iterator[dict[str, Any]]:
        """The views of a question that scoring has written, in lines or in a file."""
        yield from find_views(self._root, [question], self._manifest())

    def write(
        self,
        records: Sequence[Record],
        scores: _OfRecords = None,
        metrics: _OfRecords = None,
        claims: _OfRecords = None,
    ) -> None:
        """Write `questions/<id>.json` with all repeats of one question."""
        view = self._view(records, scores, metrics, claims)
        name = f"questions/{view_name(records[0].question.id)}"
        write_file(self._root, name, sealed(json_bytes(view)))

    @contextmanager
    def writing(self, file: str | None) -> Iterator[WriteView]:
        """Give the function that writes the views of some questions: each to a file of its own, as
        `write` does, or with the name of a file as a line of `questions/FILE`. Such a file replaces the
        one before when the block ends."""
        if file is None:
            yield self.write
            return
        with new_lines(self._root, file) as add:

            def write(
                records: Sequence[Record],
                scores: _OfRecords = None,
                metrics: _OfRecords = None,
                claims: _OfRecords = None,
            ) -> None:
                line = sealed_line(json_bytes(self._view(records, scores, metrics, claims), indent=None)[:-1])
                add(records[0].question.id, line)

            yield write

    def take(self, file: str | None, views: Mapping[str, bytes]) -> None:
        """Write question files, given by their names, that another machine has made by `writing` with
        the same `file`."""
        if file is not None:
            with new_lines(self._root, file) as add:
                for line in views[file].splitlines(keepends=True):
                    add(id_of(line) or "", line)
            return
        for name, data in views.items():
            write_file(self._root, f"questions/{name}", data)

    def _view(
        self,
        records: Sequence[Record],
        scores: _OfRecords = None,
        metrics: _OfRecords = None,
        claims: _OfRecords = None,
    ) -> dict[str, Any]:
        """What stands in the file of a question; see `view_of`."""
        repeats = [
            view_of(record, *(rows[index] if rows else {} for rows in (scores, metrics, claims)))
            for index, record in enumerate(records)
        ]
        return {"schema": SCHEMA, "run": self._root.name, "question": records[0].question, "repeats": repeats}

    def set_aside(self, answered: Collection[str], in_lines: Collection[str] = ()) -> None:
        """Rename question files of other questions than those `answered` to `NAME.json.stale`.

        Reports then no longer count them, but nothing is lost: where a line of the journal is damaged, its
        question file can be the only copy of the answer. With the names of the files that hold all answered
        questions `in_lines`, other files of answered questions are removed.
        """
        files = {path.name for path in (self._root / "questions").glob("*.json")}
        current = set(map(view_name, answered)) if files else set()
        for name in sorted(files - current):
            self._changed(name, lambda path: path.replace(path.with_name(f"{path.name}.stale")))
        for name in files & current if in_lines else ():
            self._changed(name, Path.unlink)
        for name in set(file_names(self._root)).difference(in_lines):
            self._changed(name, lambda path: remove(self._root, path.name, answered))

    def _changed(self, name: str, change: Callable[[Path], object]) -> None:
        """Rename or remove a question file; raises StoreError."""
        path = self._root / "questions" / name
        try:
            change(path)
        except OSError as error:
            raise StoreError(f"{path} cannot be renamed: {error.strerror or error}") from error
