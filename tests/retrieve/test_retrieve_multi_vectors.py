"""The store of page vectors: every page comes back, a killed or damaged one is refused, memory is bounded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import DataError, StoreError
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.vector_formats import FORMATS, Format

RAGGED = (3, 1, 70, 2)


def pages(lengths: tuple[int, ...] = RAGGED, width: int = 20, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal((length, width), dtype=np.float32) for length in lengths]


def test_pages_of_all_lengths_come_back(tmp_path: Path) -> None:
    result = pages()
    written = MultiVectors.write(tmp_path / "store", iter(result))
    for store in (written, MultiVectors.open(tmp_path / "store")):
        assert (len(store), store.width, store.dtype) == (4, 20, "float32")
        assert store.offsets.dtype == np.int64
        assert store.offsets.tolist() == [0, 3, 4, 74, 76]
        for number, page in enumerate(result):
            assert np.array_equal(store.page(number), page)
        assert np.array_equal(store.page(-1), result[-1])
        with pytest.raises(IndexError):
            store.page(4)
    assert sorted(path.name[0] for path in tmp_path.iterdir()) == ["s"]  # no unfinished folder is left


@pytest.mark.parametrize(
    ("dtype", "page", "expected", "nbytes"),
    [
        ("float32", [[0.1, -2.0]], [[0.1, -2.0]], 8),
        # between 1 and 2, float16 has steps of 2 ** -10: 1.0007 lies nearer to 1.0009765625 than to 1
        ("float16", [[1.0007, 2.0**-24]], [[1.0009765625, 2.0**-24]], 4),
        # scale 2.54 / 127 = 0.02, so 0.511 is 25.55 steps, rounded to 26
        ("int8", [[2.54, 0.511, -2.54], [0, 0, 0]], [[2.54, 0.52, -2.54], [0, 0, 0]], 2 * (3 + 4)),
        # nine bits need two bytes; zero counts as not above zero
        ("binary", [[0.3, -0.3, 0, 9, -9, 1, 1, -1, 2]], [[1, -1, -1, 1, -1, 1, 1, -1, 1]], 2),
    ],
)
def test_what_each_format_keeps(
    tmp_path: Path, dtype: Format, page: list[list[float]], expected: list[list[float]], nbytes: int
) -> None:
    store = MultiVectors.write(tmp_path / "store", [np.array(page, dtype=np.float32)], dtype)
    assert store.page(0).dtype == np.float32
    np.testing.assert_allclose(store.page(0), expected, rtol=1e-6)
    assert store.nbytes == nbytes


def test_float16_comes_back_as_numpy_reads_it(tmp_path: Path) -> None:
    every = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = every[np.isfinite(every)].reshape(-1, 64)  # with both zeros and all subnormal numbers
    found = MultiVectors.write(tmp_path / "store", [finite], "float16").page(0)
    assert np.array_equal(found.view(np.uint32), finite.view(np.uint32))


def test_the_error_of_int8_is_half_a_step(tmp_path: Path) -> None:
    (page,) = pages((500,), width=128)
    found = MultiVectors.write(tmp_path / "store", [page], "int8").page(0)
    steps = np.abs(page).max(axis=1, keepdims=True) / 127
    assert np.all(np.abs(found - page) <= 0.5001 * steps)


def test_pages_in_half_precision_and_from_a_view_are_stored(tmp_path: Path) -> None:
    (page,) = pages((8,))
    store = MultiVectors.write(tmp_path / "store", [page.astype(np.float16), page[::2], page.T[:20, :].T])
    assert np.array_equal(store.page(0), page.astype(np.float16).astype(np.float32))
    assert np.array_equal(store.page(1), page[::2])
    assert np.array_equal(store.page(2), page)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (np.zeros((2, 19), dtype=np.float32), "page 1 has vectors of 19 numbers, the pages before it of 20"),
        (np.zeros((0, 20), dtype=np.float32), "page 1 of the vectors has none"),
        (np.zeros(20, dtype=np.float32), r"page 1 of the vectors is a float32 array of shape \(20,\)"),
        (np.zeros((2, 20), dtype=np.int64), "page 1 of the vectors is a int64 array"),
        (np.full((2, 20), np.nan, dtype=np.float32), "page 1 has vectors with numbers that are not finite"),
        (np.full((2, 20), np.inf, dtype=np.float32), "page 1 has vectors with numbers that are not finite"),
        (np.full((2, 20), 7e4, dtype=np.float32), "page 1 of the vectors: .* over 65504.*float32"),
    ],
)
def test_a_page_that_cannot_be_stored_is_named(tmp_path: Path, bad: np.ndarray, says: str) -> None:
    with pytest.raises(DataError, match=says):
        MultiVectors.write(tmp_path / "store", [pages()[0], bad], "float16")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_store_before_it(tmp_path: Path) -> None:
    MultiVectors.write(tmp_path / "store", pages())

    def breaking() -> Iterator[np.ndarray]:
        yield pages()[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MultiVectors.write(tmp_path / "store", breaking())
    assert len(MultiVectors.open(tmp_path / "store")) == 4
    assert len(MultiVectors.write(tmp_path / "store", pages((5, 6)))) == 2
    assert MultiVectors.open(tmp_path / "store").offsets.tolist() == [0, 5, 11]


def test_no_pages_and_no_room_are_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no vectors of pages to store"):
        MultiVectors.write(tmp_path / "store", [])
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be written to .*: free some space"):
        MultiVectors.write(tmp_path / "file" / "store", pages())


@pytest.mark.slow
def test_a_killed_write_is_never_opened_and_swept_by_the_next(tmp_path: Path) -> None:
    program = f"""
import numpy as np, pathlib, time
from fathoms.retrieve.multi_vectors import MultiVectors

def pages():
    while True:
        yield np.ones((1000, 128), dtype=np.float32)
        print("a page", flush=True)

MultiVectors.write(pathlib.Path({str(tmp_path / "store")!r}), pages())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "a page\n"
        os.kill(process.pid, signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    for folder in (tmp_path / "store", left):
        with pytest.raises(StoreError, match="holds no complete vectors of pages: embed the pages again"):
            MultiVectors.open(folder)
    MultiVectors.write(tmp_path / "store", pages())
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_damage_is_noticed(tmp_path: Path, dtype: Format) -> None:
    store = MultiVectors.write(tmp_path / "store", pages(), dtype)
    names = [path.name for path in store.folder.iterdir() if path.name != "sha256.json"]
    assert "vectors.bin" in names
    for name in names:
        path = store.folder / name
        sound = path.read_bytes()
        if not sound:  # the scales, which only int8 has
            continue
        for damaged in (sound[:-1], sound[:-1] + bytes([sound[-1] ^ 1])):
            path.write_bytes(damaged)
            with pytest.raises(StoreError, match="are damaged: delete the folder, and embed the pages again"):
                MultiVectors.open(store.folder)
        path.write_bytes(sound)
    assert len(MultiVectors.open(store.folder)) == 4


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    from fathoms.paths import publish

    store = MultiVectors.write(tmp_path / "store", pages())
    about = store.folder / "multi-vectors.json"
    about.write_text(about.read_text().replace('"version": 1', '"version": 2'))
    (tmp_path / "new").mkdir()
    for path in store.folder.iterdir():
        path.rename(tmp_path / "new" / path.name)
    publish(tmp_path / "new", store.folder)
    with pytest.raises(StoreError, match=r"cannot be read \(written by another version of fathoms\)"):
        MultiVectors.open(store.folder)


def test_writing_takes_the_memory_of_one_page(tmp_path: Path) -> None:
    page = np.ones((1000, 128), dtype=np.float32)  # 0.5 MB
    tracemalloc.start()
    try:
        MultiVectors.write(tmp_path / "store", (page for _ in range(100)), "float16")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * page.nbytes  # all pages are 50 MB
