"""What the runner needs to know of an experiment.

The experiments themselves are on a floor above, because their scoring belongs to them: `fathoms/experiment`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fathoms.models import ChatModel, Generator
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.pipeline.external import External
from fathoms.pipeline.pipeline import Stages
from fathoms.pipeline.preparation import Progress, silent
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.searching import Depth
from fathoms.runs.cache import Cache
from fathoms.types import Document, JudgeCalls, Purpose, Record


@dataclass(frozen=True)
class Judging:
    """The language model that scoring will ask, and the calls that it needs for some records, given the
    parsed documents."""

    model: ChatModel
    calls: Callable[[Sequence[Record], Mapping[str, Document]], JudgeCalls]


class Runnable(Protocol):
    """What the runner needs of an experiment, of whatever kind it is."""

    @property
    def name(self) -> str:
        """The name of the experiment and of its runs."""

    @property
    def question_timeout(self) -> float:
        """The seconds that one answer may take, all attempts included."""

    @property
    def execution(self) -> ExecutionSettings:
        """The retries and rate limits of the requests to each provider."""

    @property
    def cache(self) -> str | None:
        """The address at which machines share what they make of documents."""

    @property
    def stages(self) -> Stages | None:
        """The stages up to retrieval; `None` where an external pipeline has its own."""

    @property
    def generator(self) -> Generator | None:
        """The model that answers the prompts of fathoms; `None` where there is none."""

    @property
    def depth(self) -> Depth | None:
        """How deep a run goes that only searches; `None` for one that asks for answers."""

    @property
    def judging(self) -> Judging | None:
        """How scoring will ask a language model; `None` where it asks none."""

    @property
    def answerer(self) -> str | None:
        """The name of what answers, as tables show it."""

    @property
    def max_concurrency(self) -> int:
        """The most questions in flight at once."""

    @property
    def called(self) -> dict[Purpose, Generator | External]:
        """What is called for each purpose when a question is asked."""

    @property
    def provider(self) -> str:
        """Identifies the provider of the answers."""

    @property
    def providers(self) -> frozenset[str]:
        """All providers that are called for a question."""

    def check(self) -> None:
        """Raise now what would fail later."""

    def checks(self) -> dict[str, Callable[[], None]]:
        """The checks that can be made beforehand, by configuration key."""

    def check_scoring(self) -> None:
        """Check that the answers can be scored."""

    def served(self) -> dict[str, Any]:
        """What the servers report about the configured models, by stage."""

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """The configuration as the manifest has it."""

    def prepare(
        self,
        documents: Mapping[str, Path],
        cache: Cache,
        *,
        workers: int = 2,
        progress: Progress = silent,
        spared: Collection[str] = (),
    ) -> Prepared:
        """Make everything ready for questions on the documents; raises FathomsError, not for one of `spared`
        that cannot be read."""
