"""A damaged cache costs time and never changes a result; what a killed process leaves is removed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.errors import ChecksumError
from fathoms.ingest import PageChunker, Pdfium
from fathoms.ingest.workers.page_files import page_images, pdf_part
from fathoms.models import LexicalEmbedder, ScriptedModel
from fathoms.models.caching import embed_cached
from fathoms.models.weights.assets import ASSETS, Asset, File
from fathoms.models.weights.weights import locate, pull
from fathoms.paths import publish, sealed, sweep, temporary_folder, temporary_path, write_atomic
from fathoms.pipeline.pipeline import Pipeline
from fathoms.retrieve import Dense
from fathoms.retrieve.segments import SegmentedVectors
from fathoms.runs.cache import LONGEST_TEXT, Cache
from fathoms.runs.writing import locked, new_run
from fathoms.types import Question
from tests.support.project import Project, write_pdf


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The sentences that were told since the last call."""
    found = [str(record.__dict__["facts"]["message"]) for record in caplog.records]
    caplog.clear()
    return found


def hits(run: Path) -> dict[str, Any]:
    """What each question was answered, and from what."""
    views = (json.loads(path.read_text()) for path in (run / "questions").glob("*.json"))
    return {
        view["question"]["id"]: (view["repeats"][0]["answer"]["text"], view["repeats"][0]["hits"])
        for view in views
    }


# ----- what is damaged is made again


def ingested(project: Project, found: Cache) -> tuple[Any, list[Any]]:
    """The vectors of the project's chunks, and the chunks that are found for two questions."""
    documents = {path.name: path for path in sorted((project.path / "pdfs").glob("*.pdf"))}
    pipeline = Pipeline(
        chunk=PageChunker(), embed=LexicalEmbedder(), retrieve=Dense(top_k=2), generate=ScriptedModel()
    )
    ready = pipeline.prepare(documents, found)
    texts = ("How tall is the Varn tower?", "What does ore cost in Lune?")
    questions = [Question(id=text, text=text, category="c") for text in texts]
    assert isinstance(ready.index.vectors, SegmentedVectors)
    return np.array(ready.index.vectors), list(ready.retrieve(questions).values())


@pytest.mark.slow
def test_a_damaged_index_changes_no_result(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache()
    expected, found = ingested(project, cache)
    (path,) = (project.path / "cache" / "indexes").glob("*/vectors.npy")
    whole = path.read_bytes()

    def saved(array: Any) -> bytes:
        out = io.BytesIO()
        np.save(out, array)
        return out.getvalue()

    damages = {
        "zeroed": saved(np.zeros_like(expected)),
        "turned": saved(expected[::-1]),
        "another type in the same bytes": whole.replace(b"<f4", b"<i4", 1),
        "narrower": saved(expected[:, :-1]),
        "cut": whole[:-4],
    }
    for name, data in damages.items():
        path.write_bytes(data)
        vectors, hits_now = ingested(project, cache)
        assert np.array_equal(vectors, expected), name
        assert hits_now == found, name
        (sentence,) = messages(caplog)
        assert sentence.startswith("the cached index "), name
        assert path.read_bytes() == whole, name
    ingested(project, cache)
    assert messages(caplog) == []


@pytest.mark.slow
def test_damaged_values_of_every_kind_are_made_again(project: Project) -> None:
    command = ("run", "tiny.yaml", "--reuse-replies", "--no-score")
    assert project.fathoms(*command).returncode == 0
    expected = hits(project.runs()[0])
    shutil.rmtree(project.path / "cache" / "indexes")
    with sqlite3.connect(project.path / "cache" / "cache.sqlite") as db:
        kinds = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM sealed")}
        # the last byte of every value is another: the value of an embedding is still one, of the same length
        for kind, key, value in db.execute("SELECT kind, key, value FROM sealed").fetchall():
            changed = value[:-1] + bytes([value[-1] ^ 0x40])
            db.execute("UPDATE sealed SET value = ? WHERE kind = ? AND key = ?", (changed, kind, key))
    db.close()
    texts = {"document", "document-facts", "text", "chunks", "chunk-facts"}
    texts |= {"embedding", "vector-parts", "vector-place", "vector-index"}
    assert kinds == texts | {"reply", "file-hash", "sound-file"}
    done = project.fathoms(*command)
    assert done.returncode == 0, done.stderr
    reported = done.stderr.count("are damaged and will be recomputed")
    # a text is written again with its document, and the parts of vectors are read by `cache push` alone
    assert reported == len(kinds) - 2, done.stderr
    assert hits(project.runs()[-1]) == expected


def test_values_that_got_to_another_key_are_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(tmp_path)
    cache.put_many("embedding", {"a": b"first", "b": b"other"})
    with sqlite3.connect(tmp_path / "cache.sqlite") as db:
        db.execute(
            "UPDATE sealed SET (value, sha256) ="
            " (SELECT value, sha256 FROM sealed WHERE key = 'a') WHERE key = 'b'"
        )
    db.close()
    assert cache.get_many("embedding", ["a", "b"]) == {"a": b"first"}
    assert len(messages(caplog)) == 1


@pytest.mark.slow
def test_cached_texts_with_valid_checksums_but_bad_content_are_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Their checksums are right: somebody else's fathoms, or no fathoms at all, has put them there."""
    cache = Cache(tmp_path)
    bomb = zlib.compressobj(9, wbits=-15)
    piece = bomb.compress(bytes(1 << 24)) + bomb.flush(
        zlib.Z_FULL_FLUSH
    )  # stands for itself: may be repeated
    bomb_bytes = zlib.compress(b"")[:2] + piece * (LONGEST_TEXT // (1 << 24) + 1)
    wrong = {
        "no zlib": b"{}",
        "cut": zlib.compress(b"{}" * 1000)[:-5],
        "more behind it": zlib.compress(b"{}") + b"more",
        "no UTF-8": zlib.compress(b"\xff\xfe"),
        "nested": zlib.compress(b"[" * 100_000),
        "too long": bomb_bytes,
    }
    for kind, value in wrong.items():
        cache.put(kind, "key", value)
        assert cache.load(kind, "key", json.loads) is None, kind
        assert len(messages(caplog)) == 1, kind
    cache.put_text("text", "key", "{}")
    assert cache.load("text", "key", json.loads) == {}


def test_embeddings_of_another_type_or_length(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embedder, texts = LexicalEmbedder(), ["the first", "the second", "the third"]
    expected = embed_cached(embedder, texts, Cache(tmp_path / "reference"))
    for name, change in {
        "doubles": lambda value: value[:8] + np.frombuffer(value[8:], "<f4").astype("<f8").tobytes(),
        "shorter, and says so": lambda value: value[:4] + (2).to_bytes(4, "little") + value[8:16],
        "another type": lambda value: b"<i4" + value[3:],
        "nothing": lambda value: b"",
    }.items():
        cache = Cache(tmp_path / name)
        embed_cached(embedder, texts, cache)
        with sqlite3.connect(tmp_path / name / "cache.sqlite") as db:
            ((key, value),) = db.execute("SELECT key, value FROM sealed ORDER BY key LIMIT 1")
        db.close()
        cache.put("embedding", key, change(value))
        found = embed_cached(embedder, texts, cache)
        assert found.dtype == np.float32, name
        assert np.array_equal(found, expected), name
        assert len(messages(caplog)) == 1, name


def test_a_model_that_gives_another_length_now_embeds_all_again(tmp_path: Path) -> None:
    """As a server does whose model was exchanged under the same name."""
    embedder = LexicalEmbedder()
    cache = Cache(tmp_path)
    embed_cached(embedder, ["the first"], cache)
    with sqlite3.connect(tmp_path / "cache.sqlite") as db:
        ((key,),) = db.execute("SELECT key FROM sealed").fetchall()
    db.close()
    cache.put("embedding", key, b"<f4\0" + (2).to_bytes(4, "little") + bytes(8))
    found = embed_cached(embedder, ["the first", "the second"], cache)
    assert np.array_equal(found, embedder.embed(["the first", "the second"]))


def test_a_damaged_file_is_put_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "cache.sqlite"

    def fill() -> bytes:
        cache = Cache(tmp_path)
        cache.put_many("x", {str(number): bytes(500) for number in range(200)})
        cache.close()
        return path.read_bytes()

    whole = fill()
    assert len(whole) > 40_000
    damages = {
        "no database": b"this is no database, " * 100,
        "cut in the head": whole[:50],
        "cut": whole[: len(whole) // 2],
        "another schema": whole.replace(b"value BLOB", b"vague BLOB"),
        "pages of zeros": whole[:4096] + bytes(len(whole) - 4096),
    }
    for name, data in damages.items():
        for file in tmp_path.glob("cache.sqlite*"):
            file.unlink()
        path.write_bytes(data)
        cache = Cache(tmp_path)
        found = cache.get_many("x", [str(number) for number in range(200)])
        cache.put("x", "key", b"value")
        assert set(found.values()) <= {bytes(500)}, name
        assert cache.get("x", "key") == b"value", name
        cache.shares()
        cache.close()
        (sentence,) = messages(caplog)
        assert "is damaged: it was renamed to cache.sqlite.damaged" in sentence, name
        assert path.with_name("cache.sqlite.damaged").exists(), name
        fill()
    with Cache(tmp_path)._db as db:  # and it is whole
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert Cache(tmp_path).prune(0) > 1000
    assert not path.with_name("cache.sqlite.damaged").exists()


def test_a_file_with_statements_of_its_own_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Cache(tmp_path).close()
    with sqlite3.connect(tmp_path / "cache.sqlite") as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON sealed BEGIN DELETE FROM sealed; END")
    db.close()
    cache = Cache(tmp_path)
    cache.put("x", "key", b"value")
    assert cache.get("x", "key") == b"value"
    assert len(messages(caplog)) == 1


def test_two_that_find_the_damage_keep_one_new_file(tmp_path: Path) -> None:
    """The one that comes second uses what the first has begun."""
    first, second = Cache(tmp_path), Cache(tmp_path)
    first.put_many("x", {str(number): bytes(500) for number in range(200)})
    first._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / "cache.sqlite"
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    third = Cache(tmp_path)
    third.put("x", "new", b"kept")
    for cache in (first, second):
        cache.get("x", "1")
        cache.put("x", "other", b"v")
        cache.close()
    assert Cache(tmp_path).get("x", "new") == b"kept"


def test_caches_of_earlier_versions_are_made_again_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite3.connect(tmp_path / "cache.sqlite") as db:
        db.executescript(
            "CREATE TABLE entries (kind TEXT, key TEXT, value BLOB, PRIMARY KEY (kind, key)) WITHOUT ROWID;"
            "CREATE TABLE used (kind TEXT, key TEXT, day INTEGER, PRIMARY KEY (kind, key)) WITHOUT ROWID;"
            "INSERT INTO entries VALUES ('x', 'key', 'old'); INSERT INTO used VALUES ('x', 'key', 20000);"
        )
    db.close()
    index = tmp_path / "indexes" / "f"
    index.mkdir(parents=True)
    np.save(index / "vectors.npy", np.ones((1, 2), np.float32))
    cache = Cache(tmp_path)
    assert cache.get("x", "key") is None
    assert [share.kind for share in cache.shares()] == ["indexes"]
    assert sealed(index) == "missing"
    assert messages(caplog) == []


@pytest.mark.slow
def test_damaged_images_and_parts_are_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_pdf(tmp_path / "a.pdf", ["The first page.", "The second page."])
    document = Pdfium().parse(tmp_path / "a.pdf")

    def written_files() -> dict[str, bytes]:
        images = page_images(document, 40, tmp_path / "images", Pdfium())
        part = pdf_part(document, 1, 1, tmp_path / "parts", Pdfium())
        files = [*images.values(), part.path]
        return {path.name: path.read_bytes() for path in files}

    expected = written_files()
    assert expected.keys() == {"0001.png", "0002.png", "part.pdf"}
    for image in (tmp_path / "images").rglob("*.png"):
        image.write_bytes(expected["0001.png"])  # a page in the place of another
    (part,) = (tmp_path / "parts").rglob("part.pdf")
    part.unlink()
    assert {name: data for name, data in written_files().items() if name != "part.pdf"} == {
        name: data for name, data in expected.items() if name != "part.pdf"
    }
    assert len(messages(caplog)) == 2
    assert written_files()["part.pdf"].startswith(b"%PDF")
    assert messages(caplog) == []


@pytest.mark.slow
def test_nothing_is_ever_unpickled(project: Project) -> None:
    """An array of objects in the place of the index: reading it would run code."""

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(project.path / "pwned"),)

    cache = Cache()
    expected, _ = ingested(project, cache)
    (index,) = (project.path / "cache" / "indexes").iterdir()
    np.save(index / "vectors.npy", np.array([Evil()] * len(expected), dtype=object), allow_pickle=True)
    hashed = hashlib.sha256((index / "vectors.npy").read_bytes()).hexdigest()
    (index / "sha256.json").write_text(json.dumps({"vectors.npy": hashed}))  # whoever wrote it knows how
    found, _ = ingested(project, cache)
    assert np.array_equal(found, expected)
    assert not (project.path / "pwned").exists()


@pytest.fixture
def asset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asset]:
    """Weights of one small file, and where to pull them from."""
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    data = b"weights" * 1000
    (tmp_path / "small.bin").write_bytes(data)
    ASSETS["small"] = Asset(
        "small", "none", (File("small.bin", hashlib.sha256(data).hexdigest(), len(data)),)
    )
    yield ASSETS["small"]
    del ASSETS["small"]


def test_damaged_weights_are_not_used(asset: Asset, tmp_path: Path) -> None:
    pull("small", source=tmp_path)
    path = locate("small")
    stat = path.stat()
    path.write_bytes(bytes(asset.size))  # as many zeros, and the time of change is set back
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ChecksumError, match="pull again"):
        locate("small")
    pull("small", source=tmp_path)
    assert locate("small") == path
    (path.parent.parent / "verified.json").write_text("[")  # what it says is only a shortcut
    path.touch()
    assert locate("small") == path


# ----- what a killed process leaves


def test_temporary_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as alive:
        with subprocess.Popen(["sleep", "0"]) as dead:
            pass
        mine = temporary_path(tmp_path).name
        names = {
            "of a killed process": mine.replace(str(os.getpid()), str(dead.pid)),
            "of an earlier version": f".{dead.pid}-0123abcd-7.part",
            "of an earlier process of this number": mine.replace(mine.split("-")[1], "01234567"),
        }
        stays = {
            "of a running process": mine.replace(str(os.getpid()), str(alive.pid)),
            "of this process": mine,
            "of another machine": f".{dead.pid}-0123abcd89abcdef-0.part",
            "a download": "paper.pdf.part",
            "somebody's own": ".notes.part",
        }
        for name in [*names.values(), *stays.values()]:
            (tmp_path / name).write_bytes(b"half")
        folder = tmp_path / f".{dead.pid}-0123abcd-8.part"
        (folder / "inside").mkdir(parents=True)
        sweep(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == set(stays.values())
        long_ago = time.time() - 2 * 86_400  # nobody writes for so long
        os.utime(tmp_path / stays["of another machine"], (long_ago, long_ago))
        sweep(tmp_path)
        assert not (tmp_path / stays["of another machine"]).exists()
        alive.send_signal(signal.SIGKILL)


def test_opening_a_cache_or_run_removes_temporary_files(tmp_path: Path) -> None:
    """Opening the cache, and opening a run for writing, are starts."""
    run, cache = new_run(tmp_path / "runs", "r", "0" * 8, {}), tmp_path / "cache"
    places = [
        run.path,
        run.path / "questions",
        run.path / "blobs",
        cache,
        cache / "indexes",
        cache / "images",
    ]
    with subprocess.Popen(["sleep", "0"]) as dead:
        pass
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / f".{dead.pid}-0123abcd-7.part").write_bytes(b"half")
    Cache(cache).close()
    with locked(run):
        assert list(tmp_path.rglob(".*.part")) == []


def test_write_atomic_sweeps_a_folder_at_its_first_file(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "0"]) as dead:
        pass
    left = tmp_path / f".{dead.pid}-0123abcd-7.part"
    left.write_bytes(b"half")
    write_atomic(tmp_path / "file", b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_is_published_whole(tmp_path: Path) -> None:
    for data in (b"first", b"second"):
        with temporary_folder(tmp_path) as unfinished:
            (unfinished / "file").write_bytes(data)
            publish(unfinished, tmp_path / "place")
        assert sealed(tmp_path / "place") == "sound"
        assert (tmp_path / "place" / "file").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    (tmp_path / "place" / "more").write_bytes(b"")
    assert sealed(tmp_path / "place") == "damaged"


# ----- a full disk


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit on the size of files is Linux's")
def test_a_full_disk_under_the_cache_ends_no_run(project: Project) -> None:
    """No file grows beyond a limit that opening the cache just keeps: one sentence, and all is answered."""
    Cache().close()
    limit = 40 * 1024
    command = ["run", "tiny.yaml", "--no-score"]
    with project.start(*command, file_size=limit, stderr=subprocess.PIPE) as process:
        _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    assert said.count("new results are not stored") == 1, said
    (run,) = project.runs()
    assert len((run / "journal.jsonl").read_text().splitlines()) == 4
    assert list((project.path / "cache").rglob("*.part")) == []
