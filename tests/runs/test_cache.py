"""The cache: what is put is there, for other threads and processes too."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fathoms.errors import StoreError
from fathoms.paths import sha256_file
from fathoms.pipeline.document_chunks import ChunkFacts
from fathoms.pipeline.known_facts import known_facts
from fathoms.runs.cache import MANY, Cache


def test_round_trip(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get("a", "k") is None
    cache.put_many("a", {str(n): bytes([n % 256]) for n in range(1200)})
    assert cache.get_many("a", [str(n) for n in range(1200)])["1199"] == bytes([1199 % 256])
    assert cache.get("b", "1") is None
    cache.put_text("t", "k", "Ünïcode\n" * 1000)
    assert Cache(tmp_path).get_text("t", "k") == "Ünïcode\n" * 1000


def test_many_threads_and_two_connections(tmp_path: Path) -> None:
    caches = [Cache(tmp_path), Cache(tmp_path)]

    def work(number: int) -> None:
        caches[number % 2].put("x", str(number), b"v")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(200)))
    assert len(caches[0].get_many("x", [str(n) for n in range(200)])) == 200


def test_a_file_hash_follows_the_file(tmp_path: Path) -> None:
    cache, path = Cache(tmp_path / "c"), tmp_path / "f"
    path.write_bytes(b"abc")
    # the published test vector of SHA-256 for "abc"
    assert cache.file_hash(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    path.write_bytes(b"abd")
    os.utime(path, ns=(1, 1))
    assert cache.file_hash(path).startswith(
        "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9"
    )
    other = tmp_path / "other"
    other.write_bytes(b"abc")
    found = cache.file_hashes([path, other, tmp_path, tmp_path / "missing", other])
    assert {file.name: sha256[:8] for file, sha256 in found.items()} == {"f": "a52d159f", "other": "ba7816bf"}
    assert cache.file_hashes([other, path]) == found  # from the cache
    path.write_bytes(b"abc")
    os.utime(path, ns=(2, 2))
    assert cache.file_hash(path) == found[other]  # what was remembered of many files follows each, too


def test_what_is_known_of_many_files_is_read_as_one_value(tmp_path: Path) -> None:
    files = [tmp_path / f"f{number}" for number in range(MANY + 1)]
    for file in files:
        file.write_text(file.name)
    first = Cache(tmp_path / "c")
    hashes, states = first.file_hashes(files), {str(file): file.stat() for file in files}
    first.note_sound_files(states)
    assert first.sound_files(states) == states.keys()

    again, statements = Cache(tmp_path / "c"), []
    again._db.set_trace_callback(statements.append)
    assert again.file_hashes(files) == hashes
    assert again.sound_files(states) == states.keys()
    assert sum("SELECT" in one for one in statements) == 2  # of single values, 4 for this many
    assert len(again._touched) == 2

    files[3].write_text("another text")
    assert again.file_hashes(files)[files[3]] == sha256_file(files[3])
    assert again.sound_files({str(file): file.stat() for file in files}) == states.keys() - {str(files[3])}


def test_a_list_of_facts_is_as_new_as_the_values_that_it_is_about(tmp_path: Path) -> None:
    cache, keys = Cache(tmp_path), [f"k{number}" for number in range(MANY)]
    for number, key in enumerate(keys):
        cache.put_text("chunks", key, "old", ChunkFacts(number=number, digest="").model_dump_json())

    def numbers(cache: Cache) -> list[int]:
        facts = known_facts(cache, "chunks", keys, ChunkFacts, lambda text: ChunkFacts(number=-1, digest=""))
        return [facts[key].number for key in keys]

    assert numbers(cache) == numbers(Cache(tmp_path)) == list(range(MANY))
    assert len(cache.keys("chunk-facts-list")) == 1
    cache.put_text("chunks", keys[7], "new")  # without facts, which are then made of the value
    assert numbers(Cache(tmp_path)) == [*range(7), -1, *range(8, MANY)]
    cache.prune(0)
    assert not known_facts(cache, "chunks", keys, ChunkFacts, lambda text: ChunkFacts(number=0, digest=""))


def test_the_hash_of_a_link_follows_it_to_a_file_of_the_same_size_and_times(tmp_path: Path) -> None:
    cache, link, files = Cache(tmp_path / "c"), tmp_path / "link", [tmp_path / "a", tmp_path / "b"]
    for file in files:
        file.write_text(file.name)
    for _ in range(10_000):  # until both changes fall into one tick of the clock
        for file in files:
            os.utime(file, ns=(1, 1))
        if len({file.stat().st_ctime_ns for file in files}) == 1:
            break
    else:
        pytest.skip("this file system gives each change a time of its own")
    found = []
    for file in files:
        link.unlink(missing_ok=True)
        link.symlink_to(file)
        found.append(cache.file_hash(link))
    assert found == [sha256_file(file) for file in files]


def test_a_place_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used"):
        Cache(tmp_path / "file")


def test_a_vector_takes_little_more_than_its_bytes(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put_many("embedding", {f"{number:032x}": bytes(4 * 384 + 8) for number in range(2_000)})
    cache.close()
    assert (tmp_path / "cache.sqlite").stat().st_size < 2_000 * 2_300
