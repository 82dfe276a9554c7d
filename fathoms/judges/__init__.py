"""Judges: models, people or scripts that say whether a text supports a claim.

`judge.py` has the interface, and each kind of judge has a file of its own. `claims.py` splits texts into
claims, `journal.py` stores every verdict as it comes, and `asking.py` asks for the verdicts that are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fathoms.judges.judge import Judge
from fathoms.registry import OneOf, components_of

if TYPE_CHECKING:
    from fathoms.judges.cascade import Cascade
    from fathoms.judges.imported import ImportedJudge
    from fathoms.judges.llm import LLMJudge
    from fathoms.judges.nli import NLIJudge
    from fathoms.judges.people import PeopleJudge
    from fathoms.judges.scripted import ScriptedJudge

__getattr__ = components_of("judges")

AnyJudge = Annotated[Judge, OneOf("judges")]

__all__ = [
    "AnyJudge",
    "Cascade",
    "ImportedJudge",
    "Judge",
    "LLMJudge",
    "NLIJudge",
    "PeopleJudge",
    "ScriptedJudge",
]
