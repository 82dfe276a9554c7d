"""Builds fathoms as a package and tries it in empty environments: `nox` or `make packages`.

`nox` alone takes the wheel and the sdist without extras. `nox -s extra` takes each extra alone, which
downloads several GB; `nox -s "extra(bm25)"` takes one. `nox -db uv -s lowest` runs the quick tests with the
lowest versions that pyproject.toml allows. With `-db uv`, uv installs, which is much quicker.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"docs", "test"}
LARGE = {"all", "az", "bertscore", "docling", "gs", "lancedb", "ray", "s3", "sentence-transformers"}
"""Extras that are not tried with their lowest versions, because they bring torch, several hundred MB, or what
only a server can try."""
TOOLS = """
    check-jsonschema flask flask-cors hypothesis ipython jsonschema moto pypdf pytest pytest-cov pytest-xdist
    reportlab requests rouge-score threadpoolctl uvicorn
"""
"""What the quick tests need besides the extras, in the versions of requirements.lock."""
OF_LARGE = """
    tests/executors tests/ingest/test_ingest_docling.py tests/pipeline/test_cut_outs_searched.py tests/real
    tests/runs/test_shared_cache.py
"""
"""Tests that need one of the extras that are too large."""

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["wheel", "sdist"]


@nox.session
def wheel(session: nox.Session) -> None:
    """The wheel without extras."""
    install(session, built(session, "wheel"))
    tried(session)


@nox.session
def sdist(session: nox.Session) -> None:
    """The package that pip builds from the sdist."""
    install(session, built(session, "sdist"))
    tried(session)


@nox.session
@nox.parametrize("extra", sorted(EXTRAS.keys() - FOR_DEVELOPERS), ids=sorted(EXTRAS.keys() - FOR_DEVELOPERS))
def extra(session: nox.Session, extra: str) -> None:
    """The wheel with one extra alone."""
    install(session, f"{built(session, 'wheel')}[{extra}]")
    tried(session, extra)


@nox.session(venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """The quick tests with the lowest version of each dependency that pyproject.toml allows."""
    lock = dict(
        line.split("==") for line in (ROOT / "requirements.lock").read_text().splitlines() if ";" not in line
    )
    tools = [f"{name}=={lock[name]}" for name in TOOLS.split()]
    extras = ",".join(sorted(EXTRAS.keys() - FOR_DEVELOPERS - LARGE))
    session.install("--resolution", "lowest-direct", "-e", f"{ROOT}[{extras}]", *tools)
    left_out = [f"--ignore={path}" for path in OF_LARGE.split()]
    quick = ["-m", "not slow and not long", "-n", "2", "--dist", "loadfile"]
    session.run("python", "-m", "pytest", "-q", *quick, *left_out)


def built(session: nox.Session, kind: str) -> Path:
    """Build the wheel or the sdist in the folder of the session; returns the file."""
    to = Path(session.create_tmp()) / "dist"
    shutil.rmtree(to, ignore_errors=True)
    if session.venv_backend == "uv":
        session.run("uv", "build", f"--{kind}", "--out-dir", str(to), str(ROOT), external=True, silent=True)
    else:
        session.run("python", "-m", "pip", "install", "build", silent=True)
        session.run("python", "-m", "build", f"--{kind}", "--outdir", str(to), str(ROOT), silent=True)
        session.run("python", "-m", "pip", "uninstall", "-y", "build", silent=True)
    (found,) = [path for path in to.iterdir() if path.suffix in (".whl", ".gz")]
    return found.resolve()


def install(session: nox.Session, what: object) -> None:
    """Install with the tested versions of all dependencies."""
    session.install("-c", str(ROOT / "requirements.lock"), str(what))
    check = ["uv", "pip", "check"] if session.venv_backend == "uv" else ["python", "-m", "pip", "check"]
    session.run(*check, external=True)


def tried(session: nox.Session, extra: str = "") -> None:
    """Use what is installed, in a folder where nothing of the checkout can be imported."""
    folder = Path(session.create_tmp()) / "used"
    folder.mkdir(exist_ok=True)
    session.chdir(folder)
    session.run("python", "-I", str(ROOT / "tests" / "package" / "smoke.py"), extra)
