"""Builds fathoms as a package and tries it in empty environments: `nox` or `make packages`.

`nox` alone takes the wheel and the sdist without extras. `nox -s extra` takes each extra alone, which
downloads several GB; `nox -s "extra(bm25)"` takes one. `nox -s lowest` (`make lowest`) runs tests with
the lowest versions that pyproject.toml allows. With `-db uv`, uv installs, which is much quicker.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"docs", "test"}
TOOLS = """
    check-jsonschema flask flask-cors hypothesis ipython jsonschema moto pypdf pytest pytest-cov pytest-xdist
    reportlab requests rouge-score threadpoolctl uvicorn
"""
"""What the tests need besides the extras, in the versions of requirements.lock."""
OF_EXTRAS = """
    tests/extras/cluster tests/ingest/test_ingest_docling.py tests/metrics/test_metrics_reference.py
    tests/models/test_models_embedded.py tests/models/test_models_sentence_transformers.py
    tests/retrieve/test_retrieve_bm25.py tests/retrieve/test_retrieve_lance_multi_vectors.py
    tests/retrieve/test_retrieve_stores.py
"""
"""Tests of which many are slow, because they use an extra that the quick tests hardly touch."""
LOWEST = ROOT / "requirements.lowest"
LOCK = ROOT / "requirements.lock"

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


@nox.session(venv_backend="uv", python="3.11")
def lowest(session: nox.Session) -> None:
    """The quick tests, and those of the extras, with the lowest versions that pyproject.toml allows, as
    requirements.lowest has them. `-- renew` looks for these versions again and writes that file first."""
    tools = TOOLS.split()
    package = f"{ROOT}[{','.join(sorted(EXTRAS.keys() - FOR_DEVELOPERS))}]"
    # uv does not read pip's variable, which may name a folder with a torch for CPUs
    folders = {"UV_FIND_LINKS": os.environ["PIP_FIND_LINKS"]} if "PIP_FIND_LINKS" in os.environ else {}
    if "renew" in session.posargs:
        lock = dict(line.split("==") for line in LOCK.read_text().splitlines() if ";" not in line)
        tested = [f"{name}=={lock[name]}" for name in tools]
        session.install("--resolution", "lowest-direct", "-e", package, *tested, env=folders)
        found = str(session.run("uv", "pip", "freeze", "--exclude-editable", external=True, silent=True))
        LOWEST.write_text("".join(re.findall(r"^[\w.-]+==[^+\n]+", line)[0] + "\n" for line in found.split()))
    else:
        session.install("-c", str(LOWEST), "-e", package, *tools, env=folders)
    workers = ["-n", "2", "--dist", "loadfile"]
    session.run("python", "-m", "pytest", "-q", *workers, "-m", "not slow and not long")
    session.run("python", "-m", "pytest", "-q", *workers, "-m", "slow and not long", *OF_EXTRAS.split())


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
    session.install("-c", str(LOCK), str(what))
    check = ["uv", "pip", "check"] if session.venv_backend == "uv" else ["python", "-m", "pip", "check"]
    session.run(*check, external=True)


def tried(session: nox.Session, extra: str = "") -> None:
    """Use what is installed, in a folder where nothing of the checkout can be imported."""
    folder = Path(session.create_tmp()) / "used"
    folder.mkdir(exist_ok=True)
    session.chdir(folder)
    session.run("python", "-I", str(ROOT / "tests" / "package" / "smoke.py"), extra)
