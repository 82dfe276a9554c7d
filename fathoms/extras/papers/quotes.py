"""Computes tables of MMDocRAG from the answers and the judge's grades that its authors released.

A folder of results has the answers in `responses/`, the grades in `judge/`, and beside them a file with the
gold quotes. The names are as released: `gpt-4.1_pure-text_quotes20_response.jsonl` and
`gpt-4.1_pure-text_quotes20_llm-judge.jsonl`. The folders of the authors' repository (`response/`,
`response/evaluation/`, `dataset/`), those of their data set (`resp/`, `eval/`) and older names are found as
well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from fathoms.errors import DataError, UsageError
from fathoms.extras.papers.figures import Figures
from fathoms.extras.papers.tables import QuotesRow, QuotesTable
from fathoms.importers.imported import Imported, fold_letters
from fathoms.importers.mmdocrag import read_gold, read_mmdocrag
from fathoms.metrics.metric import Facts
from fathoms.metrics.pooling import Pool
from fathoms.metrics.registry import named, sets
from fathoms.metrics.score_records import RecordScore
from fathoms.safety.inputs import read_file

FAMILIES = ("mmdocrag-quality", "mmdocrag-quality-released")
_NAME = re.compile(
    r"(?P<model>.+?)_(?P<before>ocr_)?(?P<mode>pure-text|multimodal)(?P<after>_ocr)?(?P<rest>[_.].*)"
)
_INSTRUCT = re.compile(r"inst(?:ruct)?(?=(?:ft)?$)")
"""What some names of models have before their end, and others leave out."""
_ANSWERS = ("responses", "response", "resp")
_GRADES = ("judge", "response/evaluation", "responses/evaluation", "eval")
_GOLD = ("gold*.jsonl", "evaluation_{quotes}.jsonl", "dataset/evaluation_{quotes}.jsonl")


@dataclass(frozen=True)
class Setting:
    """What the name of a file says: the model, whether it saw the pictures (`multimodal`) or texts in their
    place (`pure-text`, `pure-text-ocr`), and the number of candidate quotes (`None` if it does not say)."""

    model: str
    mode: str
    quotes: int | None

    @property
    def key(self) -> tuple[str, str]:
        """The model in letters and digits, and the mode; equal for files that belong together."""
        return _INSTRUCT.sub("", fold_letters(self.model)), self.mode


@dataclass(frozen=True)
class QuotesRun:
    """The figures of one file of answers: the row of the table, the value of each metric (`None` where it has
    none), and how many answers and grades there were and could be read."""

    setting: Setting
    row: QuotesRow
    answers: Path
    judge: Path | None
    values: Mapping[str, float | None]
    counts: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The model and the mode."""
        return f"{self.setting.model}, {self.setting.mode}"


def setting_of(path: Path) -> Setting:
    """Read the model, the mode and the number of quotes from the name of a file."""
    found = _NAME.fullmatch(path.name)
    count = re.search(r"quotes_?(\d+)", path.name)
    quotes = int(count[1]) if count else None
    if found is None:
        model = re.split(r"_(?:quotes|response|llm-judge|evaluation)", path.stem)[0]
        return Setting(model, "unknown", quotes)
    read_by_ocr = found["before"] or found["after"]
    return Setting(found["model"], found["mode"] + ("-ocr" if read_by_ocr else ""), quotes)


def quotes_runs(table: QuotesTable, folder: Path) -> tuple[list[QuotesRun], tuple[str, ...]]:
    """Compute the figures of every file of answers in a folder.

    Returns the runs, and one message per file that is left out: one that cannot be read, and files that are
    of one model and mode and differ. A run that is not in the table gets a row without printed cells.
    Thoughts are parted from answers as released. Raises UsageError if the folder does not exist, and
    DataError without gold quotes or answers.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: the folder of results does not exist")
    questions = read_gold(_gold(table, folder))
    damaged: list[str] = []
    grades = _by_key(_files(folder, _GRADES), table, damaged)
    answers = _by_key(_files(folder, _ANSWERS), table, damaged)
    if not answers and not damaged:
        raise DataError(
            f"{folder} contains no answers with {table.quotes} quotes: expected files such as"
            f" responses/gpt-4.1_pure-text_quotes{table.quotes}_response.jsonl"
        )
    found = []
    for key, path in answers.items():
        setting, judge = setting_of(path), grades.get(key)
        row = table.row_of(*key) or table.unprinted(setting.model, setting.mode)
        try:
            imported = read_mmdocrag(path, questions, judge, released=True)
        except DataError as error:
            damaged.append(f"left out: {error}")
            continue
        values, counts = measured(imported)
        notes = (
            imported.warnings if judge else (*imported.warnings, f"{path}: there is no file of grades for it")
        )
        found.append(QuotesRun(setting, row, path, judge, values, counts, notes))
    if not found:
        raise DataError("\n".join(damaged))
    places = {row.row: place for place, row in enumerate(table.rows)}
    return sorted(found, key=lambda run: (places.get(run.row.row, len(places)), run.name)), tuple(damaged)


def measured(imported: Imported) -> tuple[dict[str, float | None], dict[str, int]]:
    """Return the value of each metric for imported answers, and the counts of what they rest on."""
    judged = imported.judged
    names = [*sets()["mmdocrag"][:-2], *(name for family in FAMILIES if judged for name in sets()[family])]
    metrics = named(names)
    verdicts = judged.verdicts if judged else {}
    counts = {
        "questions": len(imported.questions),
        "answers": len(imported.records),
        "failed": sum(record.error is not None for record in imported.records),
        "rows_left_out": imported.left_out,
        "grades": len(verdicts),
        "unread_grades": sum(verdict.label == "unparsed" for verdict in verdicts.values()),
    }
    pools = [Pool(metric) for metric in metrics]
    for record in imported.records:  # in the outer loop, because metrics share what they find in an answer
        facts = Facts(record, RecordScore(), verdicts=verdicts)
        for pool in pools:
            pool.add(record.question, pool.metric.of(facts))
    values = {pool.metric.name: pool.figures().overall.value for pool in pools}
    return values, counts


def figures_of_runs(table: QuotesTable, runs: Sequence[QuotesRun]) -> dict[str, Figures]:
    """Return the figures of the columns of the table, by row."""
    return {run.row.row: Figures({"printed": {**_columns(table, run)}}, ours={}) for run in runs}


def figures_of_modes(
    table: QuotesTable, runs: Sequence[QuotesRun]
) -> tuple[list[QuotesRow], dict[str, Figures]]:
    """Return a row for each model that has runs of both `modes` of the table, and its figures; the
    figures of the table's own row are the means over these models. Raises DataError if there is no model."""
    assert table.modes is not None
    by_key = {run.setting.key: run for run in runs}
    rows: list[QuotesRow] = []
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for (model, mode), run in by_key.items():
        other = by_key.get((model, table.modes[1]))
        if mode != table.modes[0] or other is None:
            continue
        first, second = _columns(table, run), _columns(table, other)
        gain = {column: first[column] - second[column] for column in first if column in second}
        sides = {"first": first, "second": second, "difference": gain}
        row = table.unprinted(run.setting.model)
        rows.append(row)
        figures[row.row] = {name: sides[side] for name, side in table.compare.items()}
    if not rows:
        raise DataError(f"of no model are there answers of both kinds: {' and '.join(table.modes)}")
    means = {
        name: {
            column: fmean(known)
            for column in table.columns
            if (known := [one[name][column] for one in figures.values() if column in one[name]])
        }
        for name in table.compare
    }
    named = {**figures, table.rows[0].row: means}
    return rows, {
        row: Figures({name: {**values} for name, values in metrics.items()}, ours={})
        for row, metrics in named.items()
    }


def _columns(table: QuotesTable, run: QuotesRun) -> dict[str, float]:
    """Return the values of a run by column, without those that it lacks."""
    values = {column: run.values.get(one.metric) for column, one in table.columns.items()}
    return {column: value for column, value in values.items() if value is not None}


def _files(folder: Path, places: Sequence[str]) -> list[Path]:
    """Return the JSONL files in the first of some folders that is there."""
    for place in places:
        if (folder / place).is_dir():
            return sorted((folder / place).glob("*.jsonl"))
    return []


def _by_key(paths: Sequence[Path], table: QuotesTable, damaged: list[str]) -> dict[tuple[str, str], Path]:
    """Return files by model and mode, without those of another number of quotes. Of equal files, the first
    counts; of files that differ none does, and `damaged` gets a message."""
    found: dict[tuple[str, str], list[Path]] = {}
    for path in paths:
        setting = setting_of(path)
        if setting.quotes in (None, table.quotes):
            found.setdefault(setting.key, []).append(path)
    for key, same in list(found.items()):
        if len(same) > 1 and len(set(map(read_file, same))) > 1:
            damaged.append(f"left out: these files are of one model and mode, and differ: {_listed(same)}")
            del found[key]
    return {key: same[0] for key, same in found.items()}


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))


def _gold(table: QuotesTable, folder: Path) -> Path:
    """Return the file with the gold quotes; raises DataError if there is none, or more than one."""
    for pattern in _GOLD:
        paths = sorted(folder.glob(pattern.format(quotes=table.quotes)))
        if len(paths) > 1:
            raise DataError(f"{folder} has several files of gold quotes: {_listed(paths)}")
        if paths:
            return paths[0]
    raise DataError(
        f"{folder} contains no gold quotes: expected a file gold*.jsonl, or evaluation_{table.quotes}.jsonl"
        " of the data set"
    )
