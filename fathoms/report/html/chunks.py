"""Packs the details of questions into compressed chunks that the page unpacks when they are needed.

Neighbouring questions share a chunk, and each text is stored once per chunk. All chunks together have a byte
budget; if they would exceed it, long texts are shortened.
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
"""A chunk is closed when it has `QUESTIONS` questions or this many characters of text."""
LENGTHS = (64_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 100)
"""The lengths in characters to which texts are shortened, step by step, until a chunk is small enough."""
_NUL = "\\u0000"


@dataclass(frozen=True)
class Chunk:
    """A named chunk; `data` is base64 of gzip-compressed JSON."""

    name: str
    data: str


def packed(value: Any) -> str:
    """Compress a value into the data of a chunk; the same value always gives the same text.

    Cleaning every text is slow and rarely needed, so it is done only if the value cannot be stored as it is.
    """
    try:
        text = _dumped(value)
        data = text.encode()
    except ValueError:  # a lone surrogate, or a float that is NaN or infinite
        text = ""
    if not text or _NUL in text:
        data = _dumped(clean(value)).encode()
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode("ascii")


def _dumped(value: Any) -> str:
    """Serialise a value as JSON without spaces; infinity and NaN raise ValueError."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class Budget:
    """The byte budget for the chunks of all runs, shared out in proportion to the questions."""

    def __init__(self, size: int, questions: int) -> None:
        self._size = size
        self._questions = questions

    def share(self, questions: int) -> int:
        """Return the bytes that some of the remaining questions may take."""
        return self._size * questions // max(self._questions, questions, 1)

    def spend(self, size: int, questions: int) -> None:
        """Record that some questions took `size` bytes."""
        self._size = max(0, self._size - size)
        self._questions -= questions

    def release(self, questions: int) -> None:
        """Record that there are fewer questions than expected (or more, if negative)."""
        self._questions -= questions


class Details:
    """The detail chunks of one run: all are packed except the last, which is open.

    `shortened` says whether texts of any chunk were cut.
    """

    def __init__(self, run: int, budget: Budget) -> None:
        self.pool = Pool()
        self.chunks: list[Chunk] = []
        self.shortened = False
        self._run = run
        self._budget = budget
        self._questions: dict[str, Any] = {}
        self._step = 0

    def add(self, question: str, detail: dict[str, Any]) -> int:
        """Add a question whose texts are in `pool`, and return the number of its chunk."""
        number = len(self.chunks)
        self._questions[question] = detail
        if len(self._questions) >= QUESTIONS or self.pool.size >= CHARACTERS:
            self.close()
        return number

    def close(self) -> None:
        """Pack the open chunk, unless it is empty."""
        if not self._questions:
            return
        count = len(self._questions)
        data = self._small(self._budget.share(count))
        self._budget.spend(len(data), count)
        self.chunks.append(Chunk(f"d{self._run}-{len(self.chunks)}", data))
        self.pool, self._questions = Pool(), {}

    def _small(self, limit: int) -> str:
        """Return the packed open chunk, cut to the limit; it starts with the step that the last needed. Where
        shortened texts are not enough, judged claims are left out."""
        cut = self._step > 0 and self.pool.cut(LENGTHS[self._step - 1])
        data = self._packed()
        if len(data) < limit // 2:  # there is room to spare: the next chunk may keep longer texts
            self._step = max(0, self._step - 1)
        while len(data) > limit and self._step < len(LENGTHS):
            if self.pool.cut(LENGTHS[self._step]):
                cut = True
                data = self._packed()
            self._step += 1
        if len(data) > limit and self._leave_out_claims():
            cut, data = True, self._packed()
        self.shortened = self.shortened or cut
        return data

    def _leave_out_claims(self) -> bool:
        """Replace the judged claims in the open chunk by a note, and return whether there are any."""
        repeats = [one for detail in self._questions.values() for one in detail.get("repeats", ())]
        with_claims = [one for one in repeats if one.get("claims")]
        for one in with_claims:
            one["claims"] = {"left_out": True}
        return bool(with_claims)

    def _packed(self) -> str:
        """Return the packed open chunk as it is."""
        return packed({"texts": self.pool.texts, "questions": self._questions})
