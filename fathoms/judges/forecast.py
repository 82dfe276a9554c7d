"""How many calls judging will make, and how long they are likely to take.

The seconds of earlier calls of the same judge on this machine that succeeded, for each character that it had
to read, are stored; where there are none, the calls for the first record are measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_data_path

from fathoms.paths import write_atomic
from fathoms.text.amounts import dollars
from fathoms.types import Claim, Judgement, StoredValue

CALL = 300
"""Characters of a call besides its premise and its claims."""
FEW = 20
"""Judging of fewer calls is not announced."""
CLAIMS_A_SENTENCE = 2
"""Claims that a language model is assumed to find in a sentence."""


class Rate(StoredValue):
    """The seconds that calls took, and the characters that they had to read."""

    seconds: float = 0.0
    characters: int = 0

    @property
    def each(self) -> float | None:
        """Seconds a character, `None` before the first call."""
        return self.seconds / self.characters if self.characters else None

    def with_call(self, seconds: float, characters: int) -> Rate:
        """Return the rate with one more call."""
        return Rate(seconds=self.seconds + seconds, characters=self.characters + characters)


class _Rates(StoredValue):
    """What is stored of a judge."""

    split: Rate
    verdicts: Rate


@dataclass
class Pace:
    """How fast a judge splits texts, and gives verdicts, on this machine."""

    split: Rate = field(default_factory=Rate)
    verdicts: Rate = field(default_factory=Rate)

    @property
    def is_known(self) -> bool:
        """Whether calls of both kinds were measured."""
        return None not in (self.split.each, self.verdicts.each)

    def store(self, key: str) -> None:
        """Store the pace of a judge on this machine; a folder that cannot be written costs only estimates."""
        if not self.verdicts.characters:
            return
        path = _place(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, _Rates(split=self.split, verdicts=self.verdicts).model_dump_json().encode())
        except OSError:
            return


def pace_of(key: str) -> Pace:
    """Return the pace of a judge over its calls on this machine, empty if there were none."""
    try:
        stored = _Rates.model_validate(json.loads(_place(key).read_text()))
    except (OSError, ValueError):
        return Pace()
    return Pace(stored.split, stored.verdicts)


def _place(key: str) -> Path:
    return user_data_path("fathoms") / "judges" / f"{key}.pace.json"


class Forecast(NamedTuple):
    """What judging has before it: texts to be split, calls for verdicts, and minutes, `None` if unknown."""

    texts: int
    verdicts: int
    minutes: float | None

    @property
    def sentence(self) -> str:
        """The numbers in a sentence."""
        parts = [f"{self.texts} to split texts into claims"] if self.texts else []
        about = "about " if self.texts else ""
        calls = f"judging: {about}{self.texts + self.verdicts} calls"
        if self.texts:
            calls += f" ({', '.join([*parts, f'{about}{self.verdicts} for verdicts'])})"
        if self.minutes is None:
            return f"{calls}; how long they take is not known yet"
        if self.minutes <= 1:
            return f"{calls}, less than a minute"
        return f"{calls}, about {math.ceil(self.minutes)} minutes"


class Narrowing(NamedTuple):
    """How wide the interval of a metric is of which a part of the questions is judged, and which width is
    wanted. `each` is what judging a question costs in US dollars, `None` if unknown."""

    metric: str
    judged: int
    of: int
    width: float
    wanted: float
    each: float | None = None

    @property
    def more(self) -> int:
        """How many more questions the wanted width is likely to need: a width shrinks with the square root of
        `1 / judged - 1 / of`."""
        left = (1 / self.judged - 1 / self.of) * (self.wanted / self.width) ** 2 if self.width else 0.0
        return max(0, min(self.of, math.ceil(1 / (left + 1 / self.of) - 1e-9)) - self.judged)

    @property
    def sentence(self) -> str:
        """The numbers in a sentence."""
        cost = f", about {dollars(self.more * self.each)}" if self.each else ""
        return (
            f"{self.metric}: the interval is {self.width:.3f} wide after {self.judged} of {self.of}"
            f" questions; {self.wanted:.3g} needs about {self.more} more{cost}"
        )


def minutes(
    pace: Pace, texts: Sequence[str], batches: Sequence[Sequence[Judgement]], at_once: int, *, keeps: bool
) -> float | None:
    """Return the minutes that splitting texts and judging batches takes at an earlier pace; `None` if that is
    not known. `keeps` says whether the model keeps the premise of the call before."""
    split = pace.split.each if texts else 0.0
    verdicts = pace.verdicts.each if batches else 0.0
    if split is None or verdicts is None:
        return None
    read = sum(sizes_of(batches, keeps=keeps))
    return (split * sum(map(len, texts)) + verdicts * read) / at_once / 60


def sizes_of(batches: Iterable[Sequence[Judgement]], *, keeps: bool) -> list[int]:
    """Return the characters that a judge has to read for each batch."""
    sizes = []
    last: str | None = None
    for batch in batches:
        size = CALL + sum(len(one.claim) for one in batch)
        size += sum(map(len, {one.context for one in batch}))
        premises = {one.premise for one in batch}
        size += sum(map(len, premises - {last} if keeps else premises))
        last = batch[-1].premise
        sizes.append(size)
    return sizes


def likely_claims(sentences: Iterable[Claim], each: int = CLAIMS_A_SENTENCE) -> tuple[Claim, ...]:
    """Return made-up claims, several of each sentence, to count what they would be judged by."""
    return tuple(
        sentence.model_copy(update={"text": f"{sentence.text} ({number})"})
        for sentence in sentences
        for number in range(each)
    )
