"""What all sections share: the server, the sizes, and how figures are collected and printed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from contestants import Bare, Contestant, Fathoms, InspectAI, LmEval, Promptfoo, fresh
from measuring import Cost, Server

Name = TypeVar("Name")
Turn = TypeVar("Turn")


@dataclass(frozen=True)
class Size:
    """How much is asked and how often."""

    questions: int
    few: int
    many: int
    large: int
    records: int
    runs: int
    rounds: int


@dataclass(frozen=True)
class TurnCost:
    """What one turn cost, and what the server saw of it: the request window in seconds, the time of the first
    request, and the mean bytes of a request's body."""

    cost: Cost
    window: float
    first_request: float
    body: float


@dataclass(frozen=True)
class Target:
    """What was promised of a figure: at most `limit`."""

    what: str
    limit: float
    found: float
    unit: str


@dataclass(frozen=True)
class Section:
    """A table with its heading, and the targets that it decides."""

    text: str
    targets: Sequence[Target] = ()


@dataclass(frozen=True)
class Bench:
    """One run of the benchmark. `others` are the programs of the other tools, by name."""

    server: Server
    work: Path
    size: Size
    latency: float
    others: Mapping[str, Path]

    @property
    def fathoms(self) -> Fathoms:
        """Without scoring and streams."""
        return Fathoms(self.work / "cache")

    @property
    def contestants(self) -> list[Contestant]:
        """All, in the order of their turns."""
        found: list[Contestant] = [Bare(stream=False), Bare(stream=True), self.fathoms]
        found.append(Fathoms(self.work / "cache", stream=True))
        found.append(Fathoms(self.work / "cache", score=True))
        kinds: dict[str, Callable[[Path], Contestant]] = {
            "inspect-ai": InspectAI,
            "lm-eval": LmEval,
            "promptfoo": Promptfoo,
        }
        return found + [kinds[name](program) for name, program in self.others.items()]

    def ask(self, contestant: Contestant, count: int, concurrency: int) -> TurnCost:
        """One turn, in a folder that is empty before."""
        self.server.reset(self.latency)
        cost = contestant.ask(self.server, fresh(self.work / "turn"), count, concurrency)
        stats = self.server.stats(count)
        return TurnCost(cost, stats["window"], stats["first_request"], stats["body_bytes"] / count)

    def rounds(self, turns: Mapping[Name, Callable[[], Turn]]) -> dict[Name, list[Turn]]:
        """Everybody's turn, one after another, as often as there are rounds."""
        found: dict[Name, list[Turn]] = {name: [] for name in turns}
        for _ in range(self.size.rounds):
            for name, turn in turns.items():
                found[name].append(turn())
        return found


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading and a Markdown table."""
    lines = [f"### {title}", "", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """`1.73 (1.70-1.90)`: the median, the least and the most."""
    middle = format(statistics.median(values), form)
    return middle if len(values) == 1 else f"{middle} ({min(values):{form}}-{max(values):{form}})"
