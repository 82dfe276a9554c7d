"""The parts of a report that are unpacked when they are looked at: JSON, compressed, as text.

The details of a question share a chunk with those of its neighbours, and the chunk's texts stand in it once.
All chunks together keep to a number of bytes: where they would take more, texts are shortened.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any

from fathoms.report.html.texts import Pool, clean

QUESTIONS = 40
CHARACTERS = 2_000_000
"""A chunk is closed with this many questions, or with this much text."""
LENGTHS = (64_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 100)
"""To how many characters texts are shortened, one step after the other, until a chunk is small enough."""
_NUL = "\\u0000"


@dataclass(frozen=True)
class Chunk:
    """A name, and base64 of gzip of JSON."""

    name: str
    data: str


def packed(value: Any) -> str:
    """A chunk's data: the same value gives the same text. It is cleaned only where it has to be: what a page
    cannot show is rare, and to look for it in every text takes long."""
    try:
        text = _dumped(value)
        data = text.encode()
    except ValueError:  # there is half a character in it, or something that is no number
        text = ""
    if not text or _NUL in text:
        data = _dumped(clean(value)).encode()
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def _dumped(value: Any) -> str:
    """JSON in as few letters as can be."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Budget:
    """Bytes for the chunks of all runs, shared out by questions."""

    def __init__(self, size: int, questions: int) -> None:
        self._size = size
        self._questions = questions

    def share(self, questions: int) -> int:
        """What some of the questions that are left may take."""
        return self._size * questions // max(self._questions, questions, 1)

    def spend(self, size: int, questions: int) -> None:
        """Some questions took so much."""
        self._size = max(0, self._size - size)
        self._questions -= questions

    def release(self, questions: int) -> None:
        """So many questions less are to come than was expected; more, where it is negative."""
        self._questions -= questions


class Details:
    """The detail chunks of one run; one is open, those before it are packed. `shortened` says whether
    texts of any were cut."""

    def __init__(self, run: int, budget: Budget) -> None:
        self.pool = Pool()
        self.chunks: list[Chunk] = []
        self.shortened = False
        self._run = run
        self._budget = budget
        self._questions: dict[str, Any] = {}
        self._step = 0

    def add(self, question: str, detail: dict[str, Any]) -> int:
        """Keep a question whose texts are in `pool`; returns the number of its chunk."""
        number = len(self.chunks)
        self._questions[question] = detail
        if len(self._questions) >= QUESTIONS or self.pool.size >= CHARACTERS:
            self.close()
        return number

    def close(self) -> None:
        """Pack the open chunk; nothing where it is empty."""
        if not self._questions:
            return
        count = len(self._questions)
        data = self._small(self._budget.share(count))
        self._budget.spend(len(data), count)
        self.chunks.append(Chunk(f"d{self._run}-{len(self.chunks)}", data))
        self.pool, self._questions = Pool(), {}

    def _small(self, limit: int) -> str:
        """The open chunk within its limit. The step that one chunk needed is the next one's first."""
        cut = self._step > 0 and self.pool.cut(LENGTHS[self._step - 1])
        data = self._packed()
        if len(data) < limit // 2:
            self._step = max(0, self._step - 1)
        while len(data) > limit and self._step < len(LENGTHS):
            if self.pool.cut(LENGTHS[self._step]):
                cut = True
                data = self._packed()
            self._step += 1
        self.shortened = self.shortened or cut
        return data

    def _packed(self) -> str:
        """The open chunk as it is."""
        return packed({"texts": self.pool.texts, "questions": self._questions})
