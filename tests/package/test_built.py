"""The package as others get it: sdist and wheel are built without a network and used in an environment of
their own; the Dockerfile is checked by hadolint."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # builds, and runs in processes


def called(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist."""
    to = tmp_path_factory.mktemp("built")
    called(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", to)
    return to


def test_the_sdist_is_the_repository_and_nothing_else(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    # what git knows or would add; a checkout without git is held to its own files
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("no git here to say what belongs to the project")
    assert names == {*listed.stdout.splitlines(), "PKG-INFO"}


@pytest.mark.long
def test_the_wheel_works_in_an_environment_of_its_own(built: Path, tmp_path: Path) -> None:
    """It is built from what the sdist holds."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    called(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=source)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert {name.split("/")[0] for name in packed.namelist()} == {
            "fathoms",
            wheel.name[:13] + ".dist-info",
        }
        (points,) = [name for name in packed.namelist() if name.endswith("entry_points.txt")]
        assert "[pytest11]\nfathoms = fathoms.pytest_plugin" in packed.read(points).decode()
    place = tmp_path / "venv"
    called("uv", "venv", "--offline", "--python", sys.executable, place)
    python = place / "bin" / "python"
    called("uv", "pip", "install", "--offline", "--no-deps", "--python", python, wheel)
    # the packages that fathoms needs are those of the tests, because there may be no network here
    (home,) = place.glob("lib/python*/site-packages")
    (home / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    used = tmp_path / "used"
    used.mkdir()
    said = called(python, "-I", ROOT / "tests" / "package" / "smoke.py", cwd=used)
    assert said.splitlines()[-1] == "fathoms: passed"


def test_the_dockerfile(tmp_path: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    called(hadolint, ROOT / "Dockerfile")
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith(("USER", "ENTRYPOINT"))] == [
        "USER 10001",
        'ENTRYPOINT ["fathoms"]',
    ]
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM python\nRUN cd /tmp && sudo pip install x\n")
    assert subprocess.run([hadolint, bad], capture_output=True).returncode == 1
