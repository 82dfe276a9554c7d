"""The verdict journal on disk: what is read again, and what damage costs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fathoms.judges.journal import NAME, VerdictJournal
from fathoms.runs.journal import journal_line
from fathoms.types import Claim, Judgement, Verdict

JUDGEMENTS = [
    Judgement(claim=f"claim {n}", context="as it says", premise='a "quoted" source') for n in range(3)
]


def verdict_on(judgement: Judgement) -> Verdict:
    return Verdict(
        claim=judgement.claim,
        premise=judgement.premise,
        context=judgement.context,
        label="supported",
        p=0.75,
        cost=0.25,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    async def write() -> None:
        journal = VerdictJournal(tmp_path)
        await asyncio.gather(
            *(journal.put(f"{n:032x}", verdict_on(wanted)) for n, wanted in enumerate(JUDGEMENTS))
        )
        await journal.put("f" * 32, (Claim(text="the door is green", sentence=0),), cost=0.5)
        await journal.finish()

    asyncio.run(write())
    return tmp_path


def found(folder: Path) -> list[Verdict | None]:
    journal = VerdictJournal(folder)
    return [journal.verdict(f"{n:032x}", wanted) for n, wanted in enumerate(JUDGEMENTS)]


def test_verdicts_and_claims_are_read_as_they_were_written(folder: Path) -> None:
    assert found(folder) == [verdict_on(wanted) for wanted in JUDGEMENTS]
    journal = VerdictJournal(folder)
    assert journal.claims("f" * 32) == (Claim(text="the door is green", sentence=0),)
    assert journal.verdict("0" * 31 + "9", JUDGEMENTS[0]) is None
    assert len(journal) == 4


@pytest.mark.parametrize("cut", [1, 5, 20, 40, 100])
def test_a_torn_last_line_costs_that_line_only(folder: Path, cut: int) -> None:
    path = folder / NAME
    path.write_bytes(path.read_bytes()[:-cut])
    assert found(folder) == [verdict_on(wanted) for wanted in JUDGEMENTS]
    assert (VerdictJournal(folder).claims("f" * 32) is None) == (cut > 1)
    assert VerdictJournal(folder).damaged == 0  # its writer was killed


def test_a_changed_byte_costs_that_line_only(folder: Path) -> None:
    path = folder / NAME
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([first.replace(b"supported", b"supporteX"), *rest]))
    assert found(folder) == [None, verdict_on(JUDGEMENTS[1]), verdict_on(JUDGEMENTS[2])]
    assert VerdictJournal(folder).damaged == 1


def test_other_lines_are_ignored_and_counted(folder: Path) -> None:
    path = folder / NAME
    path.write_bytes(b'[1]\n{"key": "x"}\n\n{}\nno json\n' + path.read_bytes())
    assert len(VerdictJournal(folder)) == 4
    assert VerdictJournal(folder).damaged == 4  # all but the empty line


def test_results_that_are_none_are_left_out_and_counted(folder: Path) -> None:
    """Their checksums fit: another version of fathoms or another program has written them."""
    wrong = [{}, {"label": ["yes"]}, {"label": "supported", "cost": "much"}]
    lines = [journal_line({"key": f"{n:032x}", "result": result}) for n, result in enumerate(wrong)]
    lists = [{}, {"claims": 3}, {"claims": [{"text": 1}]}, {"claims": [], "cost": "much"}]
    lines += [journal_line({"key": f"{n:031x}c", "result": result}) for n, result in enumerate(lists)]
    (folder / NAME).write_bytes((folder / NAME).read_bytes() + b"".join(lines))
    assert found(folder) == [None] * len(JUDGEMENTS)
    journal = VerdictJournal(folder)
    assert [journal.claims(f"{n:031x}c") for n in range(len(lists))] == [None] * len(lists)
    assert journal.claims("f" * 32) is not None
    assert journal.damaged == len(lists)
