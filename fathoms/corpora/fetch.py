"""Gets data sets onto this machine: pulls and verifies their files, and lists the sets.

A file whose manifest entry pins a sha256 must have exactly that checksum. For any other file, the sha256 is
recorded at its first download, and later downloads must match it. Files copied from a folder of the user
(`--from`) are accepted even if they differ from the expected ones: the difference is a warning, kept in the
record and repeated for every corpus loaded from these files.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.corpora.manifests import Manifest, ManifestFile, find_manifest, known_sets
from fathoms.corpora.pdfs import cut_short
from fathoms.corpora.pulled import Pulled, PulledFile, describe, read_record, write_record
from fathoms.errors import ChecksumError, DataError, NotThereError, UsageError
from fathoms.paths import sha256_file, sweep, temporary_path

if TYPE_CHECKING:
    from fathoms.corpora.download import Policy

Progress = Callable[[str, int, int | None], None]
"""Called with a file name, the number of bytes received so far and the total, `None` if not known."""


State = Literal[
    "pulled", "copied", "present", "missing", "mismatch", "verified", "same", "changed", "unpinned"
]


@dataclass(frozen=True)
class FileReport:
    """The result of a pull or a verification for one file.

    After a pull, `state` is `pulled` (downloaded), `copied` (from a folder), `present` (was here before),
    `missing` (not in the folder to copy from) or `mismatch` (copied, but not the expected file).

    After a verification, it is `verified` (has the sha256 that the manifest pins), `same` (the manifest pins
    none, but the file is as it was when it came), `missing`, `changed` (differs from the record or the pin),
    `mismatch` (as after a pull) or `unpinned` (present, but with no checksum to compare it with). `detail`
    also says that the end of a PDF is missing.
    """

    file: str
    state: State
    bytes: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class PullReport:
    """The result of a pull, per file."""

    name: str
    folder: Path
    files: tuple[FileReport, ...]

    @property
    def complete(self) -> bool:
        """Whether every file of the data set is now present and unchanged."""
        return all(report.state not in ("missing", "changed") for report in self.files)


@dataclass(frozen=True)
class SetInfo:
    """A data set and how much of it is on this machine.

    `files` is the number of files of the set, `here` how many of them are present, and `bytes` the size of
    those that are present.
    """

    name: str
    title: str
    licence: str
    folder: Path
    files: int
    here: int
    bytes: int
    state: Literal["shipped", "pulled", "partial", "absent"]


class _NotAPdfError(DataError):
    """A server answered with something other than a PDF, as gateways and rate limiters do."""


def pull(
    name: str | Manifest,
    *,
    dest: Path | None = None,
    source: Path | None = None,
    on_progress: Progress | None = None,
    policy: Policy | None = None,
    trust: bool = False,
) -> PullReport:
    """Download the files of a data set that are not yet on this machine, or copy them from a folder.

    `dest` is the folder to write to (default: the data folder in the cache, where `load` looks). `source` is
    a folder to copy the files from, by name, instead of downloading them; files that it lacks are reported
    as missing. A downloaded file that is not the expected one is kept as `NAME.rejected`: the remaining
    files are still fetched, then the first such error is raised (ChecksumError, or DataError if the file is
    not a PDF). So is the error about a file that its server does not have.

    The URLs of a manifest that does not come with fathoms must lead to public servers over https, unless
    `trust` is set. Raises UsageError for any other URL, for a set whose files are got by hand, for a manifest
    that uses the name of a data set of fathoms, for an unknown data set and for a `source` that does not
    exist. Raises DataError if a download fails or the folder cannot be written.
    """
    manifest = find_manifest(name) if isinstance(name, str) else name
    if manifest.shipped:
        return PullReport(manifest.name, manifest.folder, verify(manifest))
    if manifest.by_hand and source is None:
        raise UsageError(f"the files of '{manifest.reference}' cannot be downloaded: {manifest.by_hand}")
    if manifest.from_elsewhere and dest is None and manifest.name in known_sets():
        raise UsageError(
            f"{manifest.reference}: fathoms has a data set '{manifest.name}' of its own, whose files these"
            " would replace: rename this one"
        )
    folder = dest or manifest.folder
    public_only = manifest.from_elsewhere and not trust
    fetch = _from_folder(source) if source else _from_network(on_progress, policy, public_only=public_only)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sweep(folder)
        return PullReport(manifest.name, folder, _pull_all(manifest, folder, fetch))
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error}") from error


Fetch = Callable[[ManifestFile, Path, str | None], PulledFile | None]
"""Writes one file to a path, given its expected sha256 (`None` if unknown).

Returns its record, or `None` if the file was not found.
"""


def _pull_all(manifest: Manifest, folder: Path, fetch: Fetch) -> tuple[FileReport, ...]:
    """Fetch and record every file that is absent or wrong. A file that fails its check does not stop the
    others; the first such error is raised at the end."""
    pulled = read_record(folder)
    reports = []
    refused: list[DataError] = []
    for entry in _entries(manifest, folder):
        path, old = folder / entry.file, pulled.files.get(entry.file)
        # A file is kept if it matches its record, or its pin if there is no record, and the pin in any case.
        here = sha256_file(path) if path.is_file() else None
        if here and here == (old.sha256 if old else entry.sha256) and entry.sha256 in (None, here):
            reports.append(FileReport(entry.file, "present", path.stat().st_size))
            continue
        try:
            new = fetch(entry, path, entry.sha256 or (old.sha256 if old and old.from_network else None))
        except (ChecksumError, _NotAPdfError, NotThereError) as error:
            refused.append(error)
            continue
        if new is None:
            reports.append(FileReport(entry.file, "missing"))
            continue
        pulled = Pulled(files={**pulled.files, entry.file: new})
        write_record(folder, pulled)  # after every file, so that an interrupted pull keeps its records
        state: State = "mismatch" if new.warning else "pulled" if new.from_network else "copied"
        locked = "" if entry.sha256 or not new.from_network else f"; sha256 {new.sha256} is recorded"
        reports.append(FileReport(entry.file, state, new.bytes, new.warning or new.origin + locked))
    if refused:
        raise refused[0]
    return tuple(reports)


def _entries(manifest: Manifest, folder: Path) -> Iterator[ManifestFile]:
    """Yield the files of a data set: those of the manifest, then the PDFs that the questions name if the
    manifest says where to find them. The questions are there by then."""
    yield from manifest.files
    path = folder / manifest.questions.file
    if manifest.each_document and path.is_file():
        from urllib.parse import quote

        from fathoms.corpora.corpus import needs
        from fathoms.corpora.questions import read_questions

        for name in sorted(set().union(*map(needs, read_questions(path).questions))):
            yield ManifestFile(file=name, url=manifest.each_document.replace("{file}", quote(name)))


def _from_network(on_progress: Progress | None, policy: Policy | None, *, public_only: bool) -> Fetch:
    """Return a `Fetch` that downloads each file from its URL, from public servers only if so asked."""
    from fathoms.corpora.download import Policy, download

    patience = policy or Policy()

    def fetch(entry: ManifestFile, path: Path, expected: str | None) -> PulledFile:
        part = path.with_name(path.name + ".part")
        url = str(entry.url)

        def progress(done: int, total: int | None) -> None:
            if on_progress:
                on_progress(entry.file, done, total)

        download(url, part, policy=patience, on_bytes=progress, public_only=public_only)
        _refuse_wrong(part, path, expected)
        part.replace(path)
        return describe(path, url)

    return fetch


def _refuse_wrong(part: Path, path: Path, expected: str | None) -> None:
    """Check a downloaded file; if it is not the expected one, rename it to `NAME.rejected` and raise. Raises
    ChecksumError for a wrong sha256 and _NotAPdfError for a `.pdf` that is not a PDF."""
    found = sha256_file(part)
    rejected = path.with_name(path.name + ".rejected")
    if expected not in (None, found):
        part.replace(rejected)
        raise ChecksumError(rejected, str(expected), found)
    with part.open("rb") as file:
        # PDF readers accept the header anywhere in the first 1,024 bytes.
        is_pdf = b"%PDF-" in file.read(1024)
    if path.suffix.lower() == ".pdf" and not is_pdf:
        part.replace(rejected)
        raise _NotAPdfError(f"{rejected}: the server sent something that is not a PDF")


def _from_folder(source: Path) -> Fetch:
    """Return a `Fetch` that copies each file from a folder or its subfolders. Among several files with the
    right name, one with the expected sha256 is preferred. Raises UsageError if the folder does not exist."""
    if not source.is_dir():
        raise UsageError(f"{source}: the folder to copy from does not exist")
    found: dict[str, list[Path]] = defaultdict(list)
    for candidate in sorted(source.rglob("*")):
        if candidate.is_file():
            found[candidate.name].append(candidate)

    def fetch(entry: ManifestFile, path: Path, expected: str | None) -> PulledFile | None:
        candidates = found.get(entry.file, [])
        if not candidates:
            return None
        best = next((c for c in candidates if sha256_file(c) == expected), candidates[0])
        part = temporary_path(path.parent)  # not NAME.part, which a download would continue
        try:
            shutil.copyfile(best, part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        sha256 = sha256_file(path)
        wrong = f"copied from {best}, sha256 is {sha256}, expected {expected}"
        return describe(path, str(best.resolve()), warning=None if expected in (None, sha256) else wrong)

    return fetch


def verify(name: str | Manifest, dest: Path | None = None) -> tuple[FileReport, ...]:
    """Compare every file of a data set with its recorded sha256, or its pinned one if nothing is recorded.

    `dest` is the folder of the files (default: the one `load` uses). Raises UsageError for an unknown set.
    """
    manifest = find_manifest(name) if isinstance(name, str) else name
    folder = dest or manifest.folder
    pulled = read_record(folder)
    reports = []
    for entry in manifest.with_recorded(pulled.files):
        path, record = folder / entry.file, pulled.files.get(entry.file)
        if not path.is_file():
            reports.append(FileReport(entry.file, "missing"))
            continue
        found, expected = sha256_file(path), record.sha256 if record else entry.sha256
        state: State = "verified"
        detail = ""
        if expected is None:
            state = "unpinned"
        elif found != expected:
            state, detail = "changed", f"sha256 is {found}, expected {expected}"
        elif record and record.warning:
            state, detail = "mismatch", record.warning
        elif entry.sha256 is None:
            state, detail = "same", "as it came; no sha256 of it is published to compare it with"
        if cut := cut_short(path):
            detail = f"{detail}; {cut}" if detail else cut
        reports.append(FileReport(entry.file, state, path.stat().st_size, detail))
    return tuple(reports)


def list_sets() -> tuple[SetInfo, ...]:
    """Return all data sets that come with fathoms, sorted by name; the contents of files are not checked."""
    infos = []
    for manifest in map(find_manifest, known_sets()):
        pulled = read_record(manifest.folder).files if manifest.each_document else ()
        files = manifest.with_recorded(pulled)
        paths = [manifest.folder / entry.file for entry in files]
        sizes = [path.stat().st_size for path in paths if path.is_file()]
        state: Literal["shipped", "pulled", "partial", "absent"] = "partial" if sizes else "absent"
        if len(sizes) == len(paths):
            state = "shipped" if manifest.shipped else "pulled"
        infos.append(
            SetInfo(
                manifest.name,
                manifest.title,
                manifest.licence,
                manifest.folder,
                files=len(paths),
                here=len(sizes),
                bytes=sum(sizes),
                state=state,
            )
        )
    return tuple(infos)
