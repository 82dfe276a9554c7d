"""The claims of a record with the verdicts that decided about them, as the files of a run show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fathoms.metrics.claims.matrix import Matrix, Side, deciding
from fathoms.metrics.claims.premises import Premise
from fathoms.runs.usage import total
from fathoms.types import Claim, Failure, Judgement, Spent, Usage, Verdict
from fathoms.types.run.rows import ComparedClaim, ComparedClaims, Comparison, Decided, ListedClaim
from fathoms.types.run.summary import JudgingCost

_UNKNOWN = Usage()
"""The tokens of a verdict that has none stored."""
Failures = Mapping[Judgement | tuple[str, str], Failure]


class _Row(NamedTuple):
    """A claim with its verdicts by premise."""

    claim: Claim
    verdicts: dict[Premise, Verdict | None]


def shown_claims(matrices: Sequence[Matrix], failures: Failures, lists: Sequence[Spent]) -> ComparedClaims:
    """Return what was compared with what, and what judging took; empty if nothing was compared.

    Matrices of the same claims and the same kind of premise, as several metrics read them, are one
    comparison. `lists` are what splitting the texts of the record into claims took.
    """
    found: dict[tuple[Side, str], list[Matrix]] = {}
    matrices = list({id(matrix): matrix for matrix in matrices}.values())  # several metrics read the same
    for matrix in matrices:
        if matrix.by:
            found.setdefault((matrix.of, matrix.by), []).append(matrix)
    if not found:
        return {}
    compared: list[Comparison] = [
        {"of": of, "by": by, "claims": claim_rows(several, failures)} for (of, by), several in found.items()
    ]
    verdicts = {id(one): one for matrix in matrices for row in matrix.verdicts for one in row if one}
    return {"compared": compared, "judging": spending(list(verdicts.values()), lists)}


def spending(verdicts: Sequence[Verdict], lists: Sequence[Spent]) -> JudgingCost:
    """Return the number of verdicts and of lists of claims, and the sums of what they took; a sum is `None`
    if a part of it is unknown."""
    found: list[Verdict | Spent] = [*verdicts, *lists]
    usages = [one.usage or _UNKNOWN for one in found]
    return JudgingCost(
        verdicts=len(verdicts),
        lists=len(lists),
        prompt_tokens=total([one.prompt_tokens for one in usages]),
        completion_tokens=total([one.completion_tokens for one in usages]),
        cost=total([one.cost for one in found]),
        seconds=total([one.seconds for one in found]),
    )


def claim_rows(matrices: Sequence[Matrix], failures: Failures) -> list[ComparedClaim]:
    """Return each claim with the label of the verdict that decides, the place of its premise, the number of
    premises it was compared with, and the number of its sentence. `why` says why a verdict is missing."""
    if len(matrices) == 1:
        (one,) = matrices
        return [
            _row(claim, one.premises, decided, failures)
            for claim, decided in zip(one.claims, one.listed, strict=True)
        ]
    return [
        _row(row.claim, premises, deciding(tuple(row.verdicts.values()), premises), failures)
        for row in _merged(matrices)
        for premises in (tuple(row.verdicts),)
    ]


def _row(claim: Claim, premises: tuple[Premise, ...], decided: Decided, failures: Failures) -> ComparedClaim:
    """Return one claim as it is shown; `decided` says which verdict decides about it."""
    listed: ListedClaim = {"claim": claim.text, **decided}
    row: ComparedClaim = {**listed, "premises": len(premises)}  # type: ignore[typeddict-item]  # no sentence yet
    if claim.sentence is not None:
        row["sentence"] = claim.sentence
    if row["label"] == "failed":
        failed = [failures[judgement] for one in premises if (judgement := one.judges(claim)) in failures]
        if failed:
            row["why"] = f"{failed[0].kind}: {failed[0].message}"
    return row


def _merged(matrices: Sequence[Matrix]) -> list[_Row]:
    """Return the claims of several matrices, each with the verdicts of all of them."""
    first = matrices[0]
    rows = [_Row(claim, dict(zip(first.premises, row, strict=True))) for claim, row in first.by_claim]
    places = {row.claim: at for at, row in reversed(list(enumerate(rows)))}
    for matrix in matrices[1:]:
        same = matrix.claims == first.claims  # then claims that occur twice are told apart by their places
        for number, (claim, row) in enumerate(matrix.by_claim):
            at = number if same else places.setdefault(claim, len(rows))
            if at == len(rows):
                rows.append(_Row(claim, {}))
            for premise, verdict in zip(matrix.premises, row, strict=True):
                rows[at].verdicts.setdefault(premise, verdict)
    return rows
