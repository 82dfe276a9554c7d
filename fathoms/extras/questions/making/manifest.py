"""The manifest of a question set that was built: its documents, recipe and models, and what it cost.

`manifest.json` stands in the folder of the drafts. It shows which pages have changed since, so that an update
works on the affected questions only.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from fathoms import __version__
from fathoms.corpora.writing import dumped
from fathoms.errors import DataError
from fathoms.extras.questions.making.asking import Journal
from fathoms.extras.questions.making.drafts import folder_of
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.paths import sha256_file, write_atomic
from fathoms.safety.masking import record_mask
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Document, Place, Question, StoredValue

FILE, NEXT = "manifest.json", "manifest.next.json"


class DocumentState(StoredValue):
    """A document when the set was built: the sha256 of its file, and a hash of the text of each page by its
    number."""

    sha256: str
    pages: dict[int, str]


class Entry(StoredValue):
    """One entry of the changelog of a set: the version, when it was made, and what changed, in sentences."""

    version: int
    made: str
    changes: tuple[str, ...]


class Manifest(StoredValue):
    """The sources and the costs of a question set. `version` counts from 1, `questions` is the sha256 of the
    file as it was written, `ids` are those of its questions and of those that people took out, and `cost` is
    in US dollars, for all versions together, as far as it is known; `recipe` has all settings, and `fathoms`
    is the version of the program."""

    version: int
    fathoms: str
    seed: int
    recipe: dict[str, Any]
    models: dict[str, str]
    documents: dict[str, DocumentState]
    questions: str
    ids: tuple[str, ...] = ()
    funnel: dict[str, int]
    spent: dict[str, dict[str, float]]
    cost: float
    changelog: tuple[Entry, ...] = Field(min_length=1)


def states(documents: Iterable[Document]) -> dict[str, DocumentState]:
    """Return the state of each document, by its name."""
    return {
        one.id: DocumentState(
            sha256=one.sha256, pages={page.number: page_hash(page.text) for page in one.pages}
        )
        for one in documents
    }


def page_hash(text: str) -> str:
    """Return a hash of the text of a page, in which white space does not count."""
    return fingerprint(" ".join(text.split()))[:16]


def read_manifest(path: Path) -> Manifest:
    """Read the manifest of a question set. Raises DataError if there is none, or it is damaged."""
    file = folder_of(path) / FILE
    if not file.is_file():
        raise DataError(f"{path} was not made by fathoms build: there is no {file}")
    try:
        return Manifest.model_validate_json(file.read_text(encoding="utf-8"))
    except (ValidationError, ValueError) as error:
        raise DataError(f"{file}: not a manifest of a question set: {str(error).splitlines()[0]}") from None


def removed_by_people(before: Manifest, questions: Iterable[Question]) -> frozenset[str]:
    """Return the ids of questions that the set once had and has no more, although no update dropped them."""
    return frozenset(before.ids) - {one.id for one in questions}


def write_set(
    path: Path,
    recipe: Recipe,
    documents: Iterable[Document],
    questions: Sequence[Question],
    funnel: Mapping[str, int],
    journal: Journal,
    changes: Iterable[str],
    before: Manifest | None = None,
    removed: Iterable[str] = (),
) -> Manifest:
    """Write a question set and its manifest. `before` is the manifest of the version that the file has now,
    which is copied into the folder of the drafts, and `removed` are ids that people took out of the set.

    The new manifest is written first, under another name, and gets its name when the set is written, so an
    interruption at any place is put right by `settle`. Raises as `write_questions` does.
    """
    models = {"model": recipe.model, "judge": recipe.judge or recipe.model, "embed": recipe.embed}
    version = before.version + 1 if before else 1
    text = dumped(path, questions)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(
        version=version,
        fathoms=__version__,
        seed=recipe.seed,
        recipe=recipe.model_dump(mode="json"),
        models={name: fingerprint(model.identity()) for name, model in models.items()},
        documents=states(documents),
        questions=hashlib.sha256(text.encode()).hexdigest(),
        ids=tuple(sorted({*(one.id for one in questions), *removed})),
        funnel=dict(funnel),
        spent={stage: vars(one) for stage, one in journal.spent.items()},
        cost=journal.whole_cost,
        changelog=(
            *(before.changelog if before else ()),
            Entry(version=version, made=now, changes=tuple(changes)),
        ),
    )
    _written(path, manifest, NEXT)
    if before is not None:
        keep_version(path, before.version)
    write_atomic(path, text.encode())
    (folder_of(path) / NEXT).replace(folder_of(path) / FILE)
    return manifest


def settle(path: Path) -> None:
    """Put right what an interruption of `write_set` left: the new manifest gets its name if the set was
    written, and is removed if it was not."""
    new = folder_of(path) / NEXT
    if not new.is_file():
        return
    try:
        written = Manifest.model_validate_json(new.read_text(encoding="utf-8")).questions
    except ValidationError:
        written = ""
    if path.is_file() and sha256_file(path) == written:
        new.replace(folder_of(path) / FILE)
    else:
        new.unlink()


def keep_version(path: Path, version: int) -> None:
    """Copy a question set, which has this version, into the folder of the drafts."""
    copy = folder_of(path) / "versions" / f"{path.stem}.v{version}{path.suffix}"
    copy.parent.mkdir(parents=True, exist_ok=True)
    if not copy.exists():
        shutil.copyfile(path, copy)


def note_edits(path: Path, changes: Iterable[str]) -> None:
    """Note in the manifest of a question set that people have changed its file, as a version of its own.
    Nothing is done for a set that was not built. Raises DataError for a damaged manifest."""
    if not (folder_of(path) / FILE).is_file():
        return
    before = read_manifest(path)
    version, now = before.version + 1, datetime.now(UTC).isoformat(timespec="seconds")
    entry = Entry(version=version, made=now, changes=tuple(changes))
    new = {"version": version, "questions": sha256_file(path), "changelog": (*before.changelog, entry)}
    _written(path, before.model_copy(update=new))


def _written(path: Path, manifest: Manifest, name: str = FILE) -> Manifest:
    """Write the manifest of a question set, and return it."""
    text = json.dumps(record_mask().inside(manifest.model_dump(mode="json")), indent=2, ensure_ascii=False)
    write_atomic(folder_of(path) / name, f"{text}\n".encode())
    return manifest


def moved_pages(before: Mapping[str, DocumentState], now: Mapping[str, DocumentState]) -> dict[Place, Place]:
    """Return the new number of each earlier page whose text is unchanged: the same number, or that of the
    page that has its text now, such as after a page was inserted before it."""
    found: dict[Place, Place] = {}
    for name, old in before.items():
        new = now.get(name)
        if new is None:
            continue
        places: dict[str, list[int]] = {}
        for number, text in new.pages.items():
            places.setdefault(text, []).append(number)
        for number, text in old.pages.items():
            if new.pages.get(number) == text:
                found[name, number] = (name, number)
            elif len(places.get(text, ())) == 1:
                found[name, number] = (name, places[text][0])
    return found


def fresh_pages(before: Mapping[str, DocumentState], now: Mapping[str, DocumentState]) -> frozenset[Place]:
    """Return the pages whose text was nowhere in their document before."""
    return frozenset(
        (name, number)
        for name, new in now.items()
        for number, text in new.pages.items()
        if name not in before or text not in before[name].pages.values()
    )
