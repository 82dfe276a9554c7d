"""The table of scores of a run (`scores.npz`) says what its question files say, or is not read."""

from __future__ import annotations

import json
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.compare.question_scores import read_scores
from fathoms.executors import LocalExecutor
from fathoms.metrics.profiles import scored_under
from fathoms.metrics.score_records import Scoring
from fathoms.runs.documents import StoredDocuments
from fathoms.runs.folder import LARGEST_FILE
from fathoms.runs.records import Entry
from fathoms.runs.run import Run
from fathoms.runs.score_table import FILE, ScoreTable, TableMaker, read_head, read_table, write_table
from fathoms.runs.views import read_views, scored_question
from fathoms.scoring import score_run
from fathoms.scoring.measures import measuring, read_measures
from fathoms.scoring.questions import Rules
from fathoms.scoring.shares import ScoreJob, shares_of, working
from fathoms.scoring.work import ScoreWork, score_shares
from tests.golden.outputs import RUNS, names


def scored(name: str, folder: Path) -> Run:
    """A copy of a golden run that was scored again."""
    path = folder / names()[name].name
    shutil.copytree(names()[name], path)
    shutil.copytree(RUNS / ".documents", folder / ".documents", dirs_exist_ok=True)
    run = Run(path)
    score_run(run)
    return run


def content(table: ScoreTable | None) -> Any:
    """What a table says, to compare it with another."""
    assert table is not None
    arrays = {**table.hashes, **table.columns}
    return (
        list(zip(table.ids, table.category_of, table.documents_of, strict=True)),
        {name: (part.shape, part.tobytes()) for name, part in arrays.items()},
        {id: dict(metadata) for id, metadata in table.compared.items()},
        list(table.errors),
        table.head,
    )


def figures(run: Run) -> dict[str, Any]:
    """What comparisons read of a run."""
    found = read_scores(run)
    values = {id: (dict(one.values), dict(one.ratios)) for id, one in found.questions.items()}
    return {**found.model_dump(exclude={"questions"}), "questions": values}


def of_files(run: Run) -> ScoreTable:
    """The table of the question files of a run."""
    maker = TableMaker()
    for view in read_views(run.path, run.manifest):
        maker.add_view(scored_question(view))
    return maker.table()


def members(path: Path) -> dict[str, bytes]:
    """What stands in a table."""
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(files: dict[str, bytes]) -> bytes:
    """A table of such members."""
    to = BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return to.getvalue()


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with failed calls; its table is put back after each test."""
    return scored("some-failed", tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run(golden: Run) -> Any:
    """The run with its table as scoring wrote it."""
    whole = (golden.path / FILE).read_bytes()
    yield golden
    (golden.path / FILE).unlink(missing_ok=True)
    (golden.path / FILE).write_bytes(whole)


OTHERS = ("judged", "graded", "repeats", "variants", "retrieval-only", "http-failed", "quotes", "reviewed")


@pytest.mark.parametrize(
    "name", ["some-failed", *(pytest.param(one, marks=pytest.mark.slow) for one in OTHERS)]
)
def test_the_file_says_what_the_question_files_say(name: str, tmp_path: Path) -> None:
    run = scored(name, tmp_path)
    assert content(read_table(run.path)) == content(of_files(run))
    assert content(Run.scored(run.path).scores) == content(of_files(run))
    assert read_head(run.path) == of_files(run).head
    before, whole = figures(run), (run.path / FILE).read_bytes()
    (run.path / FILE).unlink()
    assert figures(run) == before
    score_run(run)
    assert (run.path / FILE).read_bytes() == whole


def unread(run: Run) -> None:
    """The table is not read, and figures are those of the question files."""
    assert read_table(run.path) is None
    assert read_head(run.path) is None
    assert content(Run.scored(run.path).scores) == content(of_files(run))


def test_a_missing_or_cut_file_is_not_read(run: Run) -> None:
    path, before = run.path / FILE, figures(run)
    whole = path.read_bytes()
    for data in (whole[:-1], whole[: len(whole) // 2], whole[5:], b""):
        path.write_bytes(data)
        unread(run)
    path.unlink()
    unread(run)
    assert figures(run) == before


def test_the_table_of_another_summary_or_of_other_question_files_is_not_read(run: Run) -> None:
    summary = run.path / "summary.json"
    text = summary.read_bytes()
    try:
        summary.write_bytes(text.replace(b"\n", b"\n ", 1))
        assert read_table(run.path) is None
    finally:
        summary.write_bytes(text)
    assert read_table(run.path) is not None
    more = run.path / "questions" / "more.json"
    more.write_bytes(b"{}")
    try:
        assert read_table(run.path) is None
    finally:
        more.unlink()


def test_no_changed_byte_changes_what_is_read(run: Run) -> None:
    path, before = run.path / FILE, content(read_table(run.path))
    whole = path.read_bytes()
    unusable = 0
    for place in range(0, len(whole), 397):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        found = read_table(run.path)
        unusable += found is None
        assert found is None or content(found) == before, place  # a changed time in the zip changes nothing
    assert unusable > 10


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gold.npy", lambda data: data[:-16]),
        ("answer/question.npy", lambda data: data[:-8] + data[-16:-8][::-1]),
        ("metric/more.npy", lambda _: npy(np.zeros(3))),
        ("metric/more.npy", lambda _: npy(np.zeros(6, np.float32))),
        ("answer/error.npy", lambda _: npy(np.full(6, 7.0))),
        ("question/category.npy", lambda data: data[:-8] + np.float64(7).tobytes()),
        ("question/documents.npy", lambda data: data[:-8] + np.float64(np.nan).tobytes()),
        ("ids.json", lambda _: b"[1, 2, 3, 4, 5, 6]"),
        ("ids.json", lambda _: b"[]"),
        ("ids.json", lambda data: b"[" * 100_000),
        ("documents.json", lambda _: b'["one", "two", "three", "four", "five", "six"]'),
        ("head.json", lambda data: data.replace(b'"errors":[', b'"errors":[],"x":[')),
        ("head.json", lambda data: data.replace(b'"worst":{', b'"worst":[],"x":{')),
        ("head.json", lambda _: b"[]"),
    ],
)
def test_parts_that_do_not_fit_together_are_not_read(
    run: Run, name: str, change: Callable[[bytes], bytes]
) -> None:
    files = members(run.path / FILE)
    (run.path / FILE).write_bytes(packed({**files, name: change(files.get(name, b""))}))
    assert read_table(run.path) is None


def npy(values: Any) -> bytes:
    """An array as NumPy writes it, objects pickled."""
    to = BytesIO()
    np.save(to, values, allow_pickle=True)
    return to.getvalue()


class Hostile:
    """An object that leaves a file behind where it is unpickled."""

    def __init__(self, to: Path) -> None:
        self.to = to

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.to,)


@pytest.mark.parametrize("name", ["metric/more.npy", "answer/cost.npy", "gold.npy"])
def test_objects_are_not_loaded(run: Run, tmp_path: Path, name: str) -> None:
    trace = tmp_path / "trace"
    data = npy(np.array([Hostile(trace)] * 6, dtype=object))
    np.load(BytesIO(data), allow_pickle=True)
    assert trace.exists()
    trace.unlink()
    (run.path / FILE).write_bytes(packed({**members(run.path / FILE), name: data}))
    assert read_table(run.path) is None
    assert not trace.exists()


def test_a_file_that_states_too_large_a_member_is_not_unpacked(run: Run) -> None:
    files, to = members(run.path / FILE), BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
        file.getinfo("ids.json").file_size = LARGEST_FILE
    (run.path / FILE).write_bytes(to.getvalue())
    assert read_table(run.path) is None


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_member_takes_no_more_memory_than_it_states(run: Run, method: int) -> None:
    to = BytesIO()
    with zipfile.ZipFile(to, "w", method) as file:
        file.writestr("head.json", bytes(16_000_000), compresslevel=1)
        file.getinfo("head.json").file_size = 10
    (run.path / FILE).write_bytes(to.getvalue())
    tracemalloc.start()
    try:
        assert read_table(run.path) is None
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_damaged_member_of_another_compression_is_not_read(run: Run) -> None:
    to = BytesIO()
    with zipfile.ZipFile(to, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("head.json", bytes(range(256)) * 4)
    data = bytearray(to.getvalue())
    data[50:60] = b"\xff" * 10
    (run.path / FILE).write_bytes(data)
    assert read_table(run.path) is None


def in_shares(run: Run, size: int) -> list[list[Any]]:
    """The question files of a run as TableMakers take them, in groups."""
    views = list(map(scored_question, read_views(run.path, run.manifest)))
    return [views[start : start + size] for start in range(0, len(views), size)]


@pytest.mark.parametrize("size", [1, 4])
def test_shares_of_several_processes_make_one_table(run: Run, size: int) -> None:
    whole = TableMaker()
    for share in in_shares(run, size):
        one = TableMaker()
        for view in share:
            one.add_view(view)
        whole.extend(json.loads(json.dumps(one.state())))
    before = (run.path / FILE).read_bytes()
    write_table(run.path, whole.table())
    assert (run.path / FILE).read_bytes() == before


@pytest.mark.slow
def test_four_processes_write_the_same_bytes(run: Run) -> None:
    rules = Rules(Scoring(), scored_under("fathoms"), "fathoms")
    manifest = run.manifest
    metrics = measuring(read_measures(manifest).metrics, StoredDocuments(run, manifest))
    questions: dict[str, list[Entry]] = {}
    for (wanted, _), entry in run.records.entries().items():
        questions.setdefault(wanted, []).append(entry)
    shares = shares_of(questions, manifest.data.asked_ids, size=1)
    job = ScoreJob(run, manifest, rules, metrics, shares)
    found = []
    for count in (0, 4):
        with working(count) as children:
            scorer, stages = job.scorer()
            work = ScoreWork(run, job.setup(stages, judged=False), children)
            score_shares(scorer, shares, work, LocalExecutor(count or 1))
        write_table(run.path, scorer.table.table())
        found.append((run.path / FILE).read_bytes())
    assert found[0] == found[1]
    assert len(shares) == 6
