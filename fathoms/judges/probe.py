"""Two biases of judges: whether a label turns when the prompt has another order, or the claim more words.

Neither change alters what is asked, so a judge without these biases gives the same labels.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from fathoms.judges.asking import Bench, Judged, Spending
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.judge import Judge
from fathoms.judges.llm import LLMJudge
from fathoms.judges.people import LabelledClaim
from fathoms.models.caller import Caller
from fathoms.types import Judgement, StoredValue

PADDING = "As an answer to the question, and after careful reading of the text, it can be said: "
"""Words that say nothing, put in front of a claim."""
_CLAIM = re.compile(r"\{(claims?|context)\}")


class Turned(StoredValue):
    """How often a change turned the label from supported to unsupported or the other way.

    `n` counts the claims that have a readable verdict before and after the change, `unjudged` the others.
    `to_supported` and `to_unsupported` count the turned labels by their direction.
    """

    n: int
    unjudged: int
    to_supported: int
    to_unsupported: int

    @property
    def share(self) -> float | None:
        """The share of the labels that turned, `None` of nothing."""
        return (self.to_supported + self.to_unsupported) / self.n if self.n else None


async def probe_order(bench: Bench, judgements: Iterable[Judgement]) -> Turned | None:
    """Ask once more with claim and premise swapped in the prompt; `None` for a judge without a prompt that
    can be swapped. Raises Stopped."""
    judge = swapped(bench.judge)
    if judge is None:
        return None
    bench = replace(bench, judge=_on_one_text(bench.judge))
    pairs = [(judgement, judgement) for judgement in dict.fromkeys(judgements)]
    return await _turned(bench, judge, pairs)


async def probe_padding(bench: Bench, judgements: Iterable[Judgement]) -> Turned:
    """Ask once more with `PADDING` in front of the claim. Raises Stopped."""
    pairs = [
        (judgement, judgement._replace(claim=PADDING + judgement.claim))
        for judgement in dict.fromkeys(judgements)
    ]
    return await _turned(bench, bench.judge, pairs)


def probed(judge: Judge, rows: Sequence[LabelledClaim], folder: Path) -> dict[str, Turned | None]:
    """Probe a judge on labelled claims; returns what turned with the parts swapped, and with padded claims.
    Verdicts are stored in `folder`."""
    judgements = [Judgement(claim=row.claim, premise=row.premise, context=row.context) for row in rows]

    async def work() -> dict[str, Turned | None]:
        bench = Bench(judge, VerdictJournal(folder), Caller(), Spending(), asks_again=False)
        order = await probe_order(bench, judgements)
        return {"parts swapped": order, "claim padded": await probe_padding(bench, judgements)}

    return asyncio.run(work())


def swapped(judge: Judge) -> LLMJudge | None:
    """Return the judge with the paragraphs of premise and claim swapped in its prompt; `None` if it has no
    prompt, or has both in one paragraph."""
    judge = _on_one_text(judge)
    if not isinstance(judge, LLMJudge):
        return None
    parts = judge.template.split("\n\n")
    premise = [number for number, part in enumerate(parts) if "{premise}" in part]
    claim = [number for number, part in enumerate(parts) if _CLAIM.search(part)]
    if len(premise) != 1 or len(claim) != 1 or premise == claim:
        return None
    lines = parts[claim[0]].splitlines()
    end = max(number for number, line in enumerate(lines) if _CLAIM.search(line)) + 1
    # what asks for the label stays where it is
    parts[claim[0]] = "\n\n".join(filter(None, [parts[premise[0]], "\n".join(lines[end:])]))
    parts[premise[0]] = "\n".join(lines[:end])
    return judge.model_copy(update={"prompt": "\n\n".join(parts)})


def _on_one_text(judge: Judge) -> Judge:
    """Return the judge as it compares claims with one text, as the judge with the swapped prompt does."""
    return judge.model_copy(update={"texts_a_call": 1}) if isinstance(judge, LLMJudge) else judge


async def _turned(bench: Bench, changed: Judge, pairs: list[tuple[Judgement, Judgement]]) -> Turned:
    """Ask before and after a change, and count the labels that turned."""
    before, after = Judged(), Judged()
    await bench.ask([first for first, _ in pairs], before)
    other = Bench(changed, bench.journal, bench.caller, bench.spending, bench.on_done)
    await other.ask([second for _, second in pairs], after)
    turns = []
    for first, second in pairs:
        one, two = before.verdicts.get(first), after.verdicts.get(second)
        if one is not None and two is not None and None not in (one.supports, two.supports):
            turns.append((one.supports, two.supports))
    return Turned(
        n=len(turns),
        unjudged=len(pairs) - len(turns),
        to_supported=turns.count((False, True)),
        to_unsupported=turns.count((True, False)),
    )
