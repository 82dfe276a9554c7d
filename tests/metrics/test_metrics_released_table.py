"""Table II of FATHOMS-RAG, digit for digit, from the answers that its authors released."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fathoms.importers import read_result_file
from fathoms.metrics.aggregate import summarise
from fathoms.metrics.profiles import profile_named
from fathoms.metrics.score_records import Scores, Scoring, score
from fathoms.types import Record

COLUMNS = ("Text-Only", "Tables", "Images", "Multimodal", "Cross-Document Multimodal")

# correctness and hallucination: overall, then the columns (FATHOMS-RAG, appendix A)
TABLE = {
    "gemma3-1b__LlamaIndex_RAG": ".19 .75 | .36 .48 | .08 .85 | .07 .86 | .13 .84 | .29 .70",
    "gemma3-4b__LlamaIndex_RAG": ".23 .53 | .49 .35 | .15 .54 | .21 .43 | .19 .72 | .12 .60",
    "llama3_3-70b__LlamaIndex_RAG": ".32 .54 | .62 .26 | .15 .38 | .21 .64 | .34 .60 | .29 .80",
    "gemma3-1b_Docling_with_easyOCR": ".28 .61 | .44 .48 | .08 .69 | .29 .50 | .31 .56 | .29 .80",
    "gpt_oss-20b_Docling_with_easyOCR": ".37 .43 | .66 .26 | .23 .38 | .07 .50 | .35 .60 | .55 .40",
    "llama3_3-70b_Docling_with_easyOCR": ".39 .39 | .78 .16 | .08 .38 | .36 .14 | .32 .48 | .41 .80",
    "gpt_4_1_openai_api": ".79 .20 | .90 .06 | .92 .08 | .79 .21 | .72 .24 | .64 .40",
    "gpt_4o_openai_api": ".71 .31 | .90 .10 | .77 .23 | .64 .36 | .74 .28 | .48 .60",
}


# Correctness needs no classifier, so the one that needs no weights is asked.
RULES = tuple(
    replace(profile_named(name), abstention="configured") for name in ("paper", "released-code", "fathoms")
)


@cache
def scored(path: Path) -> tuple[tuple[Record, ...], Scores, dict[str, dict[str, Any]]]:
    """One released file, imported and scored."""
    records = read_result_file(path).records
    scores = score(records, Scoring(), profiles=RULES)
    return records, scores, {name: one.plain() for name, one in summarise(records, scores).items()}


def cells(figures: dict[str, Any], metric: str) -> list[str]:
    """The printed cells of one metric: overall, then the columns."""
    assert tuple(figures["categories"]) == COLUMNS
    values = [figures["overall"], *figures["categories"].values()]
    return [f"{value[metric]:.2f}".removeprefix("0") for value in values]


def printed(name: str, metric: int) -> list[str]:
    """The cells of the paper's row."""
    return [cell.split()[metric] for cell in TABLE[name].split("|")]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_released_scores_and_flags_give_the_printed_row(shared: Path, name: str) -> None:
    _, _, summary = scored(shared / "fathoms-rag" / "results" / f"{name}.json")
    assert cells(summary["released"], "correctness") == printed(name, 0)
    assert cells(summary["released"], "hallucination") == printed(name, 1)
    assert summary["released"]["overall"]["n"] == 93


@pytest.mark.parametrize("name", TABLE)
def test_released_code_gives_every_score_and_the_printed_row(shared: Path, name: str) -> None:
    records, scores, summary = scored(shared / "fathoms-rag" / "results" / f"{name}.json")
    assert [row["released-code"].correctness for row in scores.rows] == [
        record.released["correctness"] for record in records
    ]
    assert cells(summary["released-code"], "correctness") == printed(name, 0)


def test_paper_profile_differs_in_one_of_744_scores_and_so_in_two_cells(shared: Path) -> None:
    differ, changed, compared = [], {}, 0
    for name in TABLE:
        records, scores, summary = scored(shared / "fathoms-rag" / "results" / f"{name}.json")
        compared += len(records)
        differ += [
            (name, record.question.id)
            for record, row in zip(records, scores.rows, strict=True)
            if row["paper"].correctness != record.released["correctness"]
        ]
        got = cells(summary["paper"], "correctness")
        if got != printed(name, 0):
            changed[name] = got
    assert compared == 744
    assert differ == [("gpt_4o_openai_api", "images-09")]
    assert changed == {"gpt_4o_openai_api": [".72", ".90", ".77", ".71", ".74", ".48"]}


def test_overall_is_the_files_own_to_the_last_digits(shared: Path) -> None:
    # overall_score and total_hallucination_rate as the file of gpt-4.1 states them
    *_, summary = scored(shared / "fathoms-rag" / "results" / "gpt_4_1_openai_api.json")
    overall = summary["released"]["overall"]
    assert overall["correctness"] == pytest.approx(0.7947367363818977, abs=1e-15)
    assert overall["hallucination"] == pytest.approx(0.19914498404820985, abs=1e-15)
    assert overall["micro_correctness"] != overall["correctness"]
