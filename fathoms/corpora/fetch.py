"""Data sets onto this machine: pull, verify, list.

A file with a pinned sha256 has to be exactly that. Of any other the sha256 is recorded when it first
comes from its address, and it is held to that ever after. Files from a folder of the user's
(`--from`) are taken as they are: one that is not the expected file is used, with a warning that stays
in the record and in every corpus that is loaded from it.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fathoms.corpora.manifests import Manifest, ManifestFile, find_manifest, known_sets
from fathoms.corpora.pulled import PulledFile, describe, read_record, write_record
from fathoms.errors import ChecksumError, DataError, UsageError
from fathoms.paths import sha256_file, sweep, temporary_path

if TYPE_CHECKING:
    from fathoms.corpora.download import Policy

Progress = Callable[[str, int, int | None], None]
"""Called with a file name, its bytes that are here and, where known, those there will be."""


@dataclass(frozen=True)
class FileReport:
    """What became of one file.

    After a pull: `pulled` over the network, `copied` from a folder, `present` before, `missing` in
    that folder, `mismatch`: copied although it is not the expected file.
    After verifying: `verified`, `missing`, `changed` since it came, `mismatch` as above, or `unpinned`:
    there, but neither pinned nor recorded.
    """

    file: str
    state: Literal["pulled", "copied", "present", "missing", "mismatch", "verified", "changed", "unpinned"]
    bytes: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class PullReport:
    """What a pull did, file by file."""

    name: str
    folder: Path
    files: tuple[FileReport, ...]

    @property
    def complete(self) -> bool:
        """Whether every file of the data set is here now."""
        return all(report.state not in ("missing", "changed") for report in self.files)


@dataclass(frozen=True)
class SetInfo:
    """A data set and how much of it is on this machine; `bytes` counts the files that are here."""

    name: str
    title: str
    licence: str
    folder: Path
    files: int
    here: int
    bytes: int
    state: Literal["shipped", "pulled", "partial", "absent"]


class _NotAPdfError(DataError):
    """A server sent something else, as gateways and rate limiters do."""


def pull(
    name: str | Manifest,
    *,
    dest: Path | None = None,
    source: Path | None = None,
    on_progress: Progress | None = None,
    policy: Policy | None = None,
    trust: bool = False,
) -> PullReport:
    """Bring a data set onto this machine, or what is still missing of it.

    `dest` is the folder (default: in the cache, where `load` looks); `source` is a folder that holds
    the files under their names, to copy from instead of the network: what it does not hold is reported.
    Over the network, a file that is not the expected one is kept as `NAME.rejected`; the others are
    still fetched, then ChecksumError is raised.

    A manifest that does not come with fathoms may have us ask public servers by https; others only with
    `trust`. Raises UsageError for such an address, for a manifest that takes the name of a set of ours, for
    an unknown name or no such `source`, and DataError when a server cannot be reached.
    """
    manifest = find_manifest(name) if isinstance(name, str) else name
    if manifest.shipped:
        return PullReport(manifest.name, manifest.folder, verify(manifest))
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
"""Brings one file to a path, given the sha256 it should have; `None` where there is none to bring."""


def _pull_all(manifest: Manifest, folder: Path, fetch: Fetch) -> tuple[FileReport, ...]:
    """Bring every file that is not here yet, recording each as soon as it came."""
    pulled = read_record(folder)
    reports = []
    refused: list[DataError] = []
    for entry in manifest.files:
        path, old = folder / entry.file, pulled.files.get(entry.file)
        if _is_good(path, entry, old):
            reports.append(FileReport(entry.file, "present", path.stat().st_size))
            continue
        try:
            new = fetch(entry, path, _expected(entry, old))
        except (ChecksumError, _NotAPdfError) as error:
            refused.append(error)
            continue
        if new:
            pulled = pulled.with_file(entry.file, new)
            write_record(folder, pulled)
        reports.append(_report(entry, new))
    if refused:
        raise refused[0]
    return tuple(reports)


def _is_good(path: Path, entry: ManifestFile, old: PulledFile | None) -> bool:
    """Whether a file is here and is what it should be."""
    if not path.is_file():
        return False
    found = sha256_file(path)
    return found == (old.sha256 if old else entry.sha256) and entry.sha256 in (None, found)


def _expected(entry: ManifestFile, old: PulledFile | None) -> str | None:
    """The sha256 that is pinned, else the one recorded from the network."""
    return entry.sha256 or (old.sha256 if old and old.from_network else None)


def _report(entry: ManifestFile, new: PulledFile | None) -> FileReport:
    """What a fetch brought."""
    if new is None:
        return FileReport(entry.file, "missing")
    if new.warning:
        return FileReport(entry.file, "mismatch", new.bytes, new.warning)
    return FileReport(entry.file, "pulled" if new.from_network else "copied", new.bytes, new.origin)


def _from_network(on_progress: Progress | None, policy: Policy | None, *, public_only: bool) -> Fetch:
    """Fetching each file from its address, or only from those of public servers."""
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
    """Put a file that is not the expected one aside, and raise."""
    found = sha256_file(part)
    rejected = path.with_name(path.name + ".rejected")
    if expected not in (None, found):
        part.replace(rejected)
        raise ChecksumError(rejected, str(expected), found)
    with part.open("rb") as file:
        is_pdf = b"%PDF-" in file.read(1024)
    if path.suffix.lower() == ".pdf" and not is_pdf:
        part.replace(rejected)
        raise _NotAPdfError(f"{rejected}: the server sent something that is not a PDF")


def _from_folder(source: Path) -> Fetch:
    """Copying each file from a folder, or a folder in it."""
    if not source.is_dir():
        raise UsageError(f"{source}: no such folder to copy from")
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
    """Compare every file of a data set with its pin and its record."""
    manifest = find_manifest(name) if isinstance(name, str) else name
    folder = dest or manifest.folder
    pulled = read_record(folder)
    return tuple(
        _verified(folder / entry.file, entry, pulled.files.get(entry.file)) for entry in manifest.files
    )


def _verified(path: Path, entry: ManifestFile, record: PulledFile | None) -> FileReport:
    """The state of one file."""
    if not path.is_file():
        return FileReport(entry.file, "missing")
    size, found = path.stat().st_size, sha256_file(path)
    expected = record.sha256 if record else entry.sha256
    if expected is None:
        return FileReport(entry.file, "unpinned", size)
    if found != expected:
        return FileReport(entry.file, "changed", size, f"sha256 is {found}, expected {expected}")
    if record and record.warning:
        return FileReport(entry.file, "mismatch", size, record.warning)
    return FileReport(entry.file, "verified", size)


def list_sets() -> tuple[SetInfo, ...]:
    """Every data set that has a manifest, by name."""
    return tuple(_info(find_manifest(name)) for name in known_sets())


def _info(manifest: Manifest) -> SetInfo:
    """How much of a data set is here."""
    paths = [manifest.folder / entry.file for entry in manifest.files]
    sizes = [path.stat().st_size for path in paths if path.is_file()]
    state: Literal["shipped", "pulled", "partial", "absent"] = "partial" if sizes else "absent"
    if len(sizes) == len(paths):
        state = "shipped" if manifest.shipped else "pulled"
    return SetInfo(
        name=manifest.name,
        title=manifest.title,
        licence=manifest.licence,
        folder=manifest.folder,
        files=len(paths),
        here=len(sizes),
        bytes=sum(sizes),
        state=state,
    )
