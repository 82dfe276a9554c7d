"""A run as tables, read back by pandas and pyarrow."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from fathoms.errors import DataError, UsageError
from fathoms.extras.exchange.writing.columns import ANSWERS, CLAIMS, HITS, Column
from fathoms.extras.exchange.writing.hf import write_hf
from fathoms.extras.exchange.writing.writing_tables import ParquetFile, write_csv, write_parquet
from fathoms.report.as_csv import COLUMNS
from tests.support.report_runs import EVIL, example_runs, hostile_run


@pytest.mark.slow
def test_csv_is_read_back_by_pandas(tmp_path: Path) -> None:
    import pandas

    (run,) = example_runs(["gamma"], questions=20)
    paths = write_csv(run, tmp_path / "out")
    assert [path.name for path in paths] == ["answers.csv", "hits.csv", "columns.csv"]  # nothing was judged
    rows = pandas.read_csv(paths[0])
    # gamma is never right, abstains on 0 and 10, and fails on 1
    assert list(rows["correctness"]) == [0.0] * 20
    assert rows["abstained"].sum() == 2
    assert list(rows["error"].dropna()) == ["Timeout"]
    assert rows["hallucination"].isna().sum() == 1
    assert rows["answer"].isna().sum() == 1
    assert set(rows["prompt_tokens"].dropna()) == {300}
    assert rows["cost"].isna().all()
    assert rows.loc[3, ["question", "text", "reference"]].tolist() == [
        "q-003",
        "What does door 3 cost?",
        "41.5 crowns.",
    ]
    assert json.loads(rows.loc[3, "phrases"]) == [["41.5 crowns"], ["41.5", "crowns"]]
    assert set(rows["seconds_generate"]) == {0.9}
    assert list(rows["recall-in-retrieved"])[:4] == [1, 0, 1, 0]  # odd ones are lost at `retrieved`
    assert "accuracy-on-hits" in rows  # no answer of these runs has a value

    hits = pandas.read_csv(paths[1])
    assert len(hits) == 40
    assert list(hits["gold_page"])[:2] == [1, 0]
    assert hits.loc[0, ["document", "page", "pages", "score"]].tolist() == ["mill.pdf", 2, "[2]", 0.5]

    listed = pandas.read_csv(paths[2])
    assert list(listed[listed["table"] == "answers"]["column"]) == list(rows.columns)
    assert list(listed[listed["table"] == "hits"]["column"]) == list(hits.columns)
    assert not listed["meaning"].isna().any()
    with pytest.raises(UsageError, match="already exists"):
        write_csv(run, tmp_path / "out")


def test_parquet_is_read_back_by_pyarrow(tmp_path: Path) -> None:
    """With types, the meaning of each column, and texts as they are: a spreadsheet never sees them."""
    from pyarrow import parquet

    run = hostile_run("\t=1+1\n\u202e")
    paths = write_parquet(run, tmp_path / "out")
    assert [path.name for path in paths] == ["answers.parquet", "hits.parquet", "claims.parquet"]
    answers, hits, claims = (parquet.read_table(path) for path in paths)
    assert answers.num_rows == 2
    assert answers["text"][0].as_py() == "Question \t=1+1\n\u202e?"
    assert [str(answers.schema.field(name).type) for name in ("repeat", "cost", "abstained", "model")] == [
        "int64",
        "double",
        "bool",
        "string",
    ]
    assert answers.schema.field("cost").metadata == {b"description": b"Cost of the answer in US dollars."}
    assert hits["document"][0].as_py() == "\t=1+1\n\u202e.pdf"
    assert claims["of"].to_pylist() == ["answer", "gold"]
    assert claims["claim"][0].as_py() == "\t=1+1\n\u202e"

    file = ParquetFile(
        tmp_path / "tokens.parquet", [Column("tokens", "integer", "As many as a server says.")]
    )
    file.write((2**63,))
    with pytest.raises(DataError, match="a value of 'tokens' is larger than Parquet's integers"):
        file.close()

    write_csv(run, tmp_path / "csv")
    with (tmp_path / "csv" / "claims.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["claim"] == "'\t=1+1\n\u202e"  # here one does


@pytest.mark.slow  # the library takes seconds to import
def test_a_dataset_folder_is_loaded_by_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline, table by table, with the types that the card states; a hostile name breaks no card."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "out"
    run = hostile_run()
    assert [path.name for path in write_hf(run, folder)] == [
        "README.md",
        "answers.parquet",
        "hits.parquet",
        "claims.parquet",
    ]
    cache = str(tmp_path / "cache")
    whole = datasets.load_dataset(str(folder), cache_dir=cache)  # the default configuration
    assert whole["test"]["error"] == [None, EVIL]
    assert whole["test"]["correctness"] == [0.0, 0.0]
    for name, columns in (("hits", HITS), ("claims", CLAIMS)):
        one = datasets.load_dataset(str(folder), name, split="test", cache_dir=cache)
        assert one.column_names == [column.name for column in columns]
    _, head, body = (folder / "README.md").read_text().split("---\n", 2)
    assert "<script>" not in body
    assert "license" not in yaml.safe_load(head)


def test_the_columns_of_the_report_come_first_and_the_page_names_all() -> None:
    assert tuple(column.name for column in ANSWERS)[: len(COLUMNS)] == COLUMNS
    page = (Path(__file__).parents[3] / "docs" / "exchange.md").read_text()
    missing = [column.name for column in (*ANSWERS, *HITS, *CLAIMS) if f"`{column.name}`" not in page]
    assert missing == []
