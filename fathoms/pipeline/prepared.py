"""What the runner asks questions of: a corpus or an external pipeline that is ready for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from fathoms.errors import DocumentError
from fathoms.models.caller import Caller
from fathoms.pipeline.answering import PackedQuestion
from fathoms.types import Document, DocumentFacts, Hit, Question, Record


class Prepared(Protocol):
    """What the runner asks questions of: `Ingested` or `Searching` for a corpus, `Connected` for an external
    pipeline."""

    @property
    def documents(self) -> Sequence[Document]:
        """The documents; they have no pages where an external pipeline reads them itself."""

    @property
    def stated(self) -> Sequence[DocumentFacts]:
        """What the manifest states of each document, in the same order, without loading it."""

    @property
    def failures(self) -> tuple[DocumentError, ...]:
        """Documents that could not be read and were left out."""

    @property
    def fingerprints(self) -> dict[str, str]:
        """Fingerprint per stage; the last one covers all stages."""

    def report(self) -> dict[str, Any]:
        """Counts and warnings of the ingested documents."""

    @property
    def notes(self) -> dict[str, Any]:
        """What `assess` and `retrieve` found worth noting in the manifest, by a name."""

    def assess(self, questions: Sequence[Question]) -> None:
        """Note what an approximate search loses on these questions; `retrieve` does so too."""

    def retrieve(
        self, questions: Sequence[Question], among: Sequence[Question] = ()
    ) -> dict[str, tuple[Hit, ...]]:
        """The hits by question id; empty where retrieval is not a separate stage. `among` are all questions
        of the data set."""

    async def answer(
        self,
        question: Question,
        hits: tuple[Hit, ...],
        *,
        repeat: int = 0,
        timeout: float | None = None,
        caller: Caller | None = None,
        packed: PackedQuestion | None = None,
    ) -> Record:
        """Ask one question through `caller`; a failure is returned as a record too. `packed` holds its
        prompts where they were made before."""
