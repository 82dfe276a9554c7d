"""Recordings as documents: a transcript with timestamps, and a folder of frames beside it.

`talk.vtt` or `talk.srt` is the transcript, and the pictures in `talk.frames/` show what was to be seen, each
named by its time (`00-01-30.png`). Both become one PDF in the cache, whose pages are stretches of time:
with frames, a page begins with each frame, otherwise with each minute. So page pictures, attached files
and gold pages work as with any other document. The PDF holds the exact text of its pages as an embedded file,
from which every parser takes it (`fathoms.types.TRANSCRIPTS`).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fathoms.corpora.picture_documents import PICTURES, key_of
from fathoms.corpora.picture_pdf import PicturePdf, long_side
from fathoms.errors import DataError
from fathoms.paths import cache_dir, write_atomic
from fathoms.safety.inputs import parse_json, read_file, read_text
from fathoms.types import TRANSCRIPTS

MINUTE = 60.0
"""Seconds of a page where there are no frames."""
LONGEST = 7 * 24 * 3600
"""Seconds up to which cues are read; a later time is taken for a mistake."""
VERSION = 1
"""Part of the key of every PDF in the cache: raise it when the same files give other PDFs."""
_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_CUE = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}.*")
_FRAME = re.compile(r"(?:(?:(\d{1,4})[-_:])?(\d{1,2})[-_:])?(\d{1,6}(?:\.\d{1,3})?)")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[^<>]{0,200}>")
_SHOWN = 5


class Cue(NamedTuple):
    """A piece of a transcript: when it begins, in seconds, and what is said."""

    start: float
    text: str


class Stretch(NamedTuple):
    """A page of a recording: the second in which it begins, its text, and the path of its frame, if any."""

    start: float
    text: str
    frame: Path | None

    @property
    def label(self) -> str:
        """The time at which the page begins, as its label: `00:01:30`."""
        return timestamp(self.start)


def timestamp(seconds: float) -> str:
    """Write a time as hours, minutes and whole seconds."""
    whole = int(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def cues_of(text: str) -> list[Cue]:
    """Return the cues of a transcript in the format WebVTT or SubRip, in the order of their beginnings.

    Speakers of WebVTT (`<v Ada>`) are written before what they say, other tags are left out. Notes, styles,
    cue numbers and settings are not read.
    """
    found: list[tuple[float, list[str]]] = []
    inside = False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if (mark := _CUE.fullmatch(line)) is not None:
            if inside and found[-1][1] and found[-1][1][-1].strip().isdigit():
                found[-1][1].pop()  # the number of this cue, without an empty line before it
            found.append((_seconds(mark.groups()[:4]), []))
            inside = True
        elif not line.strip():
            inside = False
        elif inside:
            found[-1][1].append(line)
    cues = [Cue(start, _plain("\n".join(lines))) for start, lines in found if start <= LONGEST]
    return sorted((cue for cue in cues if cue.text), key=lambda cue: cue.start)


def _seconds(parts: Sequence[str | None]) -> float:
    """Return the seconds of hours, minutes, seconds and a decimal fraction."""
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + float(f"{seconds}.{fraction}")


def _plain(said: str) -> str:
    """Return the text of a cue without tags, and with its speakers."""
    spoken = _SPEAKER.sub(lambda match: f"{match[1].strip()}: ", said)
    lines = (" ".join(line.split()) for line in html.unescape(_TAG.sub("", spoken)).split("\n"))
    return "\n".join(filter(None, lines))


def frame_time(name: str) -> float | None:
    """Return the seconds that the name of a frame states: `00-01-30`, `01-30` or `90`, each with or without a
    decimal fraction; `None` for another name."""
    match = _FRAME.fullmatch(name)
    if match is None:
        return None
    hours, minutes, seconds = match.groups()
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)


def stretches(cues: Sequence[Cue], frames: dict[float, Path]) -> list[Stretch]:
    """Divide a recording into pages.

    With frames, a page begins with each of them, and one at 0 if a cue begins before the first. Without,
    page n is the n-th minute, also if nothing is said in it. A cue belongs to the page in which it begins.
    Each page with text begins with its label, so that the text says when.
    """
    if frames:
        starts = sorted(frames)
        if cues and cues[0].start < starts[0]:
            starts.insert(0, 0.0)
    else:
        starts = [MINUTE * n for n in range(int(cues[-1].start // MINUTE) + 1)] if cues else []
    pages, place = [], 0
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else float("inf")
        lines: list[str] = []
        while place < len(cues) and cues[place].start < end:
            if not lines or lines[-1] != cues[place].text:  # rolling captions repeat what was said
                lines.append(cues[place].text)
            place += 1
        text = "\n".join([f"[{timestamp(start)}]", *lines]) if lines else ""
        pages.append(Stretch(start, text, frames.get(start)))
    return pages


def recording(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the PDF that is made of a transcript and its frames, and warnings.

    The PDF has the file name of the transcript. A transcript without any cue and frame is returned itself,
    and no parser reads it.
    """
    frames, warnings = _frames(path)
    key = key_of([path, *frames.values()], VERSION)
    folder = cache_dir() / "recordings" / key
    index = folder / "index.json"
    if not index.is_file():
        pages = stretches(cues_of(read_text(path)), frames)
        if not pages:
            return path, (f"{path}: no cue in it: expected lines such as 00:00:01.000 --> 00:00:04.000",)
        damaged = _write(folder / path.name, pages)
        write_atomic(index, json.dumps({"damaged": damaged}).encode())
    damaged = parse_json(read_text(index), str(index))["damaged"]
    return folder / path.name, (*warnings, *_listed(f"{path}: frames cannot be read", damaged))


def _frames(path: Path) -> tuple[dict[float, Path], tuple[str, ...]]:
    """Return the frames of a transcript by their times, and warnings about pictures whose names state none.

    Links that lead out of the folder of the transcript are not followed.
    """
    folder = path.with_suffix(".frames")
    inside = path.parent.resolve()
    frames: dict[float, Path] = {}
    nameless = []
    for picture in sorted(folder.iterdir()) if folder.is_dir() else []:
        if picture.suffix.lower() not in PICTURES or not picture.is_file() or picture.name.startswith("."):
            continue
        if not picture.resolve().is_relative_to(inside):
            continue
        time = frame_time(picture.stem)
        if time is None or time > LONGEST or time in frames:
            nameless.append(picture.name)
        else:
            frames[time] = picture
    what = (
        f"{folder}: pictures left out, because their names state no time of their own, such as 00-01-30.png"
    )
    return frames, _listed(what, nameless)


def _listed(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return a warning that names some of the files that it is about; none if there are none."""
    more = "; ..." if names[_SHOWN:] else ""
    return (f"{what}: {len(names)}: {'; '.join(names[:_SHOWN])}{more}",) if names else ()


def _write(path: Path, pages: Sequence[Stretch]) -> list[str]:
    """Write the PDF of a recording, and return the names of frames that cannot be read."""
    pdf, damaged = PicturePdf(path), []
    try:
        for number, page in enumerate(pages, start=1):
            try:
                picture = None if page.frame is None else read_file(page.frame)
                pdf.add(number, picture, long_side(), text=page.text)
            except DataError:
                damaged.append(str(page.frame and page.frame.name))
                pdf.add(number, None, long_side(), text=page.text)
        pdf.label([page.label for page in pages])
        texts = [{"text": page.text, "pictures": int(page.frame is not None)} for page in pages]
        pdf.embed("pages.json", json.dumps(texts).encode())
        pdf.close()
    finally:
        pdf.discard()
    return damaged


def with_recordings(paths: Iterable[Path]) -> tuple[list[Path], tuple[str, ...]]:
    """Replace the transcripts among the paths of documents by the PDFs that are made of them; returns the
    paths and warnings."""
    found: list[Path] = []
    warnings: list[str] = []
    for path in paths:
        if path.suffix.lower() in TRANSCRIPTS and path.is_file():
            path, found_warnings = recording(path)
            warnings += found_warnings
        found.append(path)
    return found, tuple(warnings)
