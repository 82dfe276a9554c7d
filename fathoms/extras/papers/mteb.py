"""Reads published retrieval figures of ViDoRe: result files of MTEB and of vidore-benchmark.

| who wrote it | layout |
|---|---|
| MTEB since 1.11 | `{task_name, mteb_version, scores: {test: [{hf_subset, ndcg_at_5, ...}, ...]}}` |
| vidore-benchmark up to 5 | `{DATASET: {ndcg_at_5, ...}}`, or the same under `metrics` |
| vidore-benchmark, version 3 | `{dataset, aggregated_metrics: {by_language: {english: {ndcg_cut_5, ...}}}}` |

All values are shares in [0, 1]. A subset is what MTEB averages over: the queries of one language, or
`default` for all queries of a task in one language. The gain of their nDCG is linear in the grade of a page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathoms.errors import DataError, UsageError, suggest
from fathoms.importers.imported import fold_letters
from fathoms.safety.inputs import parse_json, read_text

PREFIX = "vidore/"
"""The beginning of the name of a task on the command line, as of a data set on the hub."""
DEFAULT = "default"
"""The subset of a task whose queries are in one language."""
NEEDED = ("ndcg@5", "ndcg@10")
"""The metrics that a result file must have."""
ALSO = ("recall@5", "recall@10", "map@10", "mrr@10")
"""The metrics that are compared too where a result file has them."""
TASKS = {
    "VidoreArxivQARetrieval": "arxivqa_test_subsampled",
    "VidoreDocVQARetrieval": "docvqa_test_subsampled",
    "VidoreInfoVQARetrieval": "infovqa_test_subsampled",
    "VidoreTabfquadRetrieval": "tabfquad_test_subsampled",
    "VidoreTatdqaRetrieval": "tatdqa_test",
    "VidoreShiftProjectRetrieval": "shiftproject_test",
    "VidoreSyntheticDocQAAIRetrieval": "syntheticDocQA_artificial_intelligence_test",
    "VidoreSyntheticDocQAEnergyRetrieval": "syntheticDocQA_energy_test",
    "VidoreSyntheticDocQAGovernmentReportsRetrieval": "syntheticDocQA_government_reports_test",
    "VidoreSyntheticDocQAHealthcareIndustryRetrieval": "syntheticDocQA_healthcare_industry_test",
    "Vidore2ESGReportsRetrieval": "esg_reports_v2",
    "Vidore2EconomicsReportsRetrieval": "economics_reports_v2",
    "Vidore2BioMedicalLecturesRetrieval": "biomedical_lectures_v2",
    "Vidore2ESGReportsHLRetrieval": "esg_reports_human_labeled_v2",
    "Vidore3ComputerScienceRetrieval": "vidore_v3_computer_science",
    "Vidore3EnergyRetrieval": "vidore_v3_energy",
    "Vidore3FinanceEnRetrieval": "vidore_v3_finance_en",
    "Vidore3FinanceFrRetrieval": "vidore_v3_finance_fr",
    "Vidore3HrRetrieval": "vidore_v3_hr",
    "Vidore3IndustrialRetrieval": "vidore_v3_industrial",
    "Vidore3PharmaceuticalsRetrieval": "vidore_v3_pharmaceuticals",
    "Vidore3PhysicsRetrieval": "vidore_v3_physics",
    "Vidore3NuclearRetrieval": "vidore_v3_nuclear",
    "Vidore3TelecomRetrieval": "vidore_v3_telecom",
}
"""The tasks of ViDoRe by their names in MTEB, with their data sets on the hub (without `vidore/`)."""
_ENDINGS = re.compile(r"(_beir|_mteb_format|Retrieval)+$")
_METRICS = {"ndcg": "ndcg", "map": "map", "recall": "recall", "precision": "precision", "P": "precision"}
_NAMES = re.compile(r"(?P<kind>ndcg|map|recall|precision|mrr|P)(?:_at|_cut)?_(?P<k>[1-9]\d*)")


@dataclass(frozen=True)
class Published:
    """The published figures of one task: a share in [0, 1] for each subset and metric.

    `program` is the program that computed the figures, with its version, and `model` the model, as far as
    the file names them.
    `queries` are the numbers of queries by subset; MTEB does not write them.
    """

    task: str
    cells: Mapping[str, Mapping[str, float]]
    program: str
    model: str | None = None
    queries: Mapping[str, int] | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics to compare: those that are needed, and the further ones that every subset has."""
        return (*NEEDED, *(one for one in ALSO if all(one in cells for cells in self.cells.values())))


def task_of(name: str) -> str:
    """Return MTEB's name of the task that is named so, or as its data set on the hub.

    `vidore/` before the name, `Retrieval`, `_beir` and `_mteb_format` at its end, and cases are not needed.
    Raises UsageError for an unknown task.
    """
    short = _ENDINGS.sub("", name.removeprefix(PREFIX))
    for task, data in TASKS.items():
        if fold_letters(short) in (fold_letters(_ENDINGS.sub("", task)), fold_letters(data)):
            return task
    raise UsageError(f"ViDoRe has no task '{short}'{suggest(short, (*TASKS, *TASKS.values()))}")


def read_published(path: Path, task: str) -> Published:
    """Read the figures of a task from a result file, or from the file of its name below a folder.

    `task` is MTEB's name. Raises DataError for a file in another format, for one of another task, and for one
    that lacks the nDCG of a subset; UsageError if a folder does not hold exactly one file of the task.
    """
    file = _file_of(path, task) if path.is_dir() else path
    data = parse_json(read_text(file), str(file), nan_as_null=True)
    if not isinstance(data, dict):
        raise DataError(f"{file}: is no result file of MTEB or vidore-benchmark: it holds no object")
    if "task_name" in data and "scores" in data:
        found = _of_mteb(file, data)
    elif "aggregated_metrics" in data:
        found = _of_version_3(file, data)
    else:
        found = _of_datasets(file, data, task)
    if found.task != task:
        raise DataError(f"{file}: holds the figures of {found.task}, not of {task}")
    for subset, cells in found.cells.items():
        if missing := [name for name in NEEDED if name not in cells]:
            raise DataError(
                f"{file}: lacks {' and '.join(missing)} of the subset '{subset}', without which nothing can"
                " be compared: take the file as MTEB wrote it"
            )
    return found


def _file_of(folder: Path, task: str) -> Path:
    """Return the one file of a task below a folder, such as `MODEL/REVISION/TASK.json`."""
    names = {fold_letters(task), fold_letters(TASKS[task])}
    found = [path for path in sorted(folder.rglob("*.json")) if fold_letters(path.stem) in names]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"{folder}: holds no {task}.json: give the result file of this task")
    several = ", ".join(str(path.relative_to(folder)) for path in found[:5])
    raise UsageError(f"{folder}: holds {len(found)} files of {task}: give one of them ({several})")


def _of_mteb(file: Path, data: dict[str, Any]) -> Published:
    """Read a result file of MTEB. Its split is `test`, or the only one there is."""
    splits = data["scores"]
    if not isinstance(splits, dict) or not splits:
        raise DataError(f"{file}: 'scores' has no split")
    if "test" not in splits and len(splits) > 1:
        raise DataError(f"{file}: has the splits {', '.join(splits)}, but not 'test', which is compared")
    rows = splits["test"] if "test" in splits else next(iter(splits.values()))
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{file}: the split has no list of subsets, as MTEB writes it since version 1.11")
    cells: dict[str, dict[str, float]] = {}
    for row in rows:
        subset = row.get("hf_subset")
        if not isinstance(subset, str) or subset in cells:
            raise DataError(f"{file}: 'hf_subset' is missing or occurs twice: {subset!r}")
        cells[subset] = dict(_figures(file, subset, row))
    version = data.get("mteb_version")
    return Published(
        _known(file, data["task_name"]), cells, f"MTEB {version}" if version else "MTEB", _model(file)
    )


def _of_version_3(file: Path, data: dict[str, Any]) -> Published:
    """Read a result file that vidore-benchmark writes for version 3."""
    aggregated = data["aggregated_metrics"]
    languages = aggregated.get("by_language") if isinstance(aggregated, dict) else None
    if not isinstance(languages, dict) or not all(isinstance(row, dict) for row in languages.values()):
        raise DataError(f"{file}: 'aggregated_metrics' has no 'by_language'")
    cells = {subset: dict(_figures(file, subset, row)) for subset, row in languages.items()}
    counts = {subset: row.get("num_queries") for subset, row in languages.items()}
    queries = {subset: count for subset, count in counts.items() if type(count) is int}
    model = data.get("class_name") or data.get("module_path") or file.parent.name
    return Published(_known(file, data.get("dataset")), cells, "vidore-benchmark", str(model), queries)


def _of_datasets(file: Path, data: dict[str, Any], task: str) -> Published:
    """Read a result file of vidore-benchmark with figures by data set."""
    by_data = data.get("metrics", data)
    rows = by_data if isinstance(by_data, dict) else {}
    tasks = {_task_or_none(name): row for name, row in rows.items() if isinstance(row, dict)}
    if row := tasks.get(task):
        return Published(
            task, {DEFAULT: dict(_figures(file, DEFAULT, row))}, "vidore-benchmark", _model(file)
        )
    others = ", ".join(name for name in tasks if name)
    if others:
        raise DataError(f"{file}: holds the figures of {others}, not of {task}")
    raise DataError(f"{file}: is no result file of MTEB or vidore-benchmark: it names no task of ViDoRe")


def _task_or_none(name: Any) -> str | None:
    try:
        return task_of(name)
    except UsageError:
        return None


def _known(file: Path, name: Any) -> str:
    """Return the task that a file names; raises DataError where it is none of ViDoRe."""
    task = _task_or_none(name) if isinstance(name, str) else None
    if task is None:
        raise DataError(f"{file}: is of the task {name!r}, which is none of ViDoRe")
    return task


def _figures(file: Path, subset: str, row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the metrics of a subset by our names; raises DataError for a value that is no share."""
    for key, value in row.items():
        if not (parts := _NAMES.fullmatch(key)) or value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise DataError(f"{file}: {key} of the subset '{subset}' is {value!r}, not a share from 0 to 1")
        yield f"{_METRICS.get(parts['kind'], parts['kind'])}@{parts['k']}", float(value)


def _model(file: Path) -> str | None:
    """Return the model that `model_meta.json` beside a result file names; MTEB writes it into each folder."""
    meta = file.with_name("model_meta.json")
    if not meta.is_file():
        return None
    data = parse_json(read_text(meta), str(meta), nan_as_null=True)
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else None


def same(published: float, ours: float) -> bool:
    """Return whether two shares agree in the five digits that MTEB writes."""
    return math.isclose(published, ours, rel_tol=0, abs_tol=5e-6 + 1e-9)
