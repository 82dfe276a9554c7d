"""People as judges: their labels come from a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, field_validator

from fathoms.errors import DataError
from fathoms.judges.judge import LABELS, Judge
from fathoms.judges.rubrics import WORDS
from fathoms.models.caller import Caller
from fathoms.paths import sha256_file
from fathoms.safety.inputs import parse_json, read_text
from fathoms.types import Failure, Judgement, Rubric, StoredValue, Verdict

UNEVEN = (
    "note: some answers were drawn more often because the judge was unsure of them, so it agrees better with"
    " people on answers at random"
)
_KNOWN = {label for labels in LABELS.values() for label in labels}


class LabelledClaim(StoredValue):
    """A line of a label file: a claim, the text that it was compared with, and the label that people gave.

    `group` is the topic or the question that the claim belongs to; claims of one group are never split
    between choosing a threshold and reporting it. A label of another `rubric` is no label of a claim. `size`
    is how likely the answer was to be drawn, relative to the average, where not all had the same chance.
    """

    claim: str
    premise: str
    label: str
    context: str = ""
    group: str = ""
    rubric: Rubric = "support"
    size: float | None = None

    @field_validator("rubric", mode="before")
    @classmethod
    def _of_an_export(cls, value: Any) -> Any:
        """Exports of claims up to 0.1.0 have the hash of the prompt here, or null, and are of support."""
        return "support" if value is None or re.fullmatch("[0-9a-f]{8,64}", str(value)) else value

    @property
    def supports(self) -> bool:
        """Whether people say that the premise supports the claim."""
        return self.label in ("supported", "entailment")


class PeopleJudge(Judge):
    """`kind: people`: labels that people gave. A claim that is not in the file has no verdict."""

    kind: Literal["people"] = "people"
    labels: Path
    """A file of JSON lines with `claim`, `premise`, `label` and, where given, `context` and `group`."""

    @property
    def name(self) -> str:
        """The kind and the name of the file."""
        return f"people ({self.labels.name})"

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the content of the file, which replaces its path."""
        return {**super().identity(), "options": {}, "sha256": sha256_file(self.labels)}

    def check(self) -> None:
        """Read the labels; raises DataError."""
        read_labels(self.labels)

    async def judge(
        self, judgements: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Look the claims up in the file."""
        known = _by_claim(self.labels, self.labels.stat().st_mtime_ns)
        found: list[Verdict | Failure] = []
        for judgement in judgements:
            label = known.get((judgement.claim, judgement.premise))
            if label is None:
                found.append(Failure(kind="DataError", message=f"no label in {self.labels.name}"))
            else:
                found.append(
                    Verdict(
                        claim=judgement.claim,
                        premise=judgement.premise,
                        context=judgement.context or None,
                        label=label,
                        cost=0.0,
                    )
                )
        return found


def read_labels(path: Path) -> list[LabelledClaim]:
    """Read a file of labelled claims; raises DataError that names the line."""
    found = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = LabelledClaim.model_validate(parse_json(line, f"{path}:{number}"))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise DataError(f"{path}:{number}: {place}: {first['msg']}") from error
        known = WORDS[row.rubric].values() if row.rubric in WORDS else _KNOWN
        if row.label not in known:
            raise DataError(
                f"{path}:{number}: unknown label '{row.label}' (available: {', '.join(sorted(known))})"
            )
        found.append(row)
    if not found:
        raise DataError(f"{path} holds no labels")
    return found


@lru_cache(maxsize=4)
def _by_claim(path: Path, _changed: int) -> dict[tuple[str, str], str]:
    """The labels by claim and premise; read again if the file has changed."""
    return {(row.claim, row.premise): row.label for row in read_labels(path) if row.rubric == "support"}
