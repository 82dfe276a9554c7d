"""Claims and verdicts that another program made, and that came with an imported run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from fathoms.judges.asking import Text, verdict_key
from fathoms.judges.claims import foreign_claims_key
from fathoms.judges.journal import open_journal
from fathoms.judges.judge import NOT_IN_FILE, Judge
from fathoms.models.caller import Caller
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Claim, Failure, Judgement, Rubric, Verdict


class ImportedJudge(Judge):
    """`kind: kept`: the claims and verdicts that came with an imported run. No model is called: what the
    imported file did not hold has no verdict."""

    neutral: ClassVar[frozenset[str]] = Judge.neutral | {"people"}
    usable_in: ClassVar[frozenset[str]] = frozenset()

    kind: Literal["kept"] = "kept"
    by: str
    """What made the verdicts, as reports name it."""
    people: bool = False
    """Whether people made the verdicts, so that there is nobody to check them against."""

    @property
    def name(self) -> str:
        """The name of the judge in reports, which says who made the verdicts."""
        return f"kept verdicts of {self.by}"

    @property
    def is_people(self) -> bool:
        """Whether people made the verdicts."""
        return self.people

    @property
    def sees_images(self) -> bool:
        """Whoever gave the verdicts may have seen pictures."""
        return True

    @property
    def rubrics(self) -> frozenset[Rubric]:
        """Whether claims are supported, and grades of answers."""
        return frozenset({"support", "quality"})

    @property
    def keeps_claims(self) -> bool:
        """Whether the claims come with the run, too."""
        return True

    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Return failures, because the verdicts of the imported file are in the journal of the run."""
        return [Failure(kind="NotKept", message=NOT_IN_FILE) for _ in judgements]


@dataclass(frozen=True)
class ImportedVerdicts:
    """Claims of texts and verdicts that another program made, to be stored in a run."""

    judge: ImportedJudge
    claims: Mapping[Text, tuple[Claim, ...]]
    verdicts: Mapping[Judgement, Verdict]

    def store(self, run: Path) -> None:
        """Write everything to the verdict journal of a run directory; raises StoreError."""
        journal, identity = open_journal(run), self.judge.identity()
        of_judge = fingerprint(identity)

        async def write() -> None:
            storing = [
                journal.put(foreign_claims_key(identity, *text), claims)
                for text, claims in self.claims.items()
            ]
            for judgement, verdict in self.verdicts.items():
                storing.append(journal.put(verdict_key(of_judge, judgement, 0), verdict))
            await journal.finish()
            await asyncio.gather(*storing)

        asyncio.run(write())
