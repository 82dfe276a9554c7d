"""`doctor`: what is missing for a config, or on this machine, and the command that mends it."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console
from fathoms.cli.options import RUNS, Json, Out
from fathoms.cli.running import Set
from fathoms.errors import FathomsError

if TYPE_CHECKING:
    from fathoms.experiment import AnyExperiment

_EXTRA = re.compile(r"^(?P<package>[\w.-]+).*;.*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")
_GROUPS = {"all", "test"}  # extras that stand for others


def doctor(
    configs: Annotated[
        list[Path] | None, typer.Argument(help="Pipelines' YAML files.", show_default=False)
    ] = None,
    settings: Set = None,
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Find what is missing.

    Of every CONFIG: its data, every stage and its scoring, each with the command that mends it. Of this
    machine: space, extras, and without CONFIG also weights and servers.
    """
    report: dict[str, Any] = {"machine": _machine(out), "extras": _extras()}
    if not configs:
        report |= {"weights": _weights(), "servers": _servers()}
    report["configs"] = [
        {"config": str(config), "checks": list(config_checks(config, settings or ()))}
        for config in configs or ()
    ]
    report["ok"] = all(check["ok"] for entry in report["configs"] for check in entry["checks"])
    if as_json:
        console.show_json(report)
    else:
        _print(report)
    return 0 if report["ok"] else 1


def config_checks(config: Path, settings: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Everything that the config needs, whatever failed before it."""
    from fathoms.experiment import load_experiment

    try:
        experiment = load_experiment(config, settings)
    except FathomsError as error:
        yield _row("config", False, str(error))
        return
    yield _row("config", True, experiment.name)
    stages = {**experiment.checks(), "scoring": experiment.scoring.check}
    yield _checked("data", lambda: _data(experiment, config))
    for stage, check in stages.items():
        yield _checked(stage, partial(_stage, experiment, stage, check))


def _checked(name: str, check: Callable[[], str]) -> dict[str, Any]:
    """The row of one check: what it says, or why it failed."""
    try:
        return _row(name, True, check())
    except FathomsError as error:
        return _row(name, False, str(error))
    except Exception as error:  # a doctor goes on, whatever a library raises
        return _row(name, False, f"{type(error).__name__}: {error}")


def _row(name: str, ok: bool, detail: str) -> dict[str, Any]:
    """One line of the findings."""
    return {"name": name, "ok": ok, "detail": detail}


def _data(experiment: AnyExperiment, config: Path) -> str:
    """Load the data; how much there is of it."""
    from fathoms import corpora

    corpus = corpora.load(experiment.data, config.parent)
    return f"{len(corpus.questions)} questions on {len(corpus.documents)} documents of {corpus.name}"


def _stage(experiment: AnyExperiment, stage: str, check: Callable[[], None]) -> str:
    """Check a stage; its kind, and its model where it has one."""
    from fathoms.plan import described

    check()
    return described(getattr(experiment, stage))


def _machine(out: Path) -> dict[str, Any]:
    """Facts that decide what can be run here."""
    from fathoms.models.cpus import available_cpus
    from fathoms.paths import cache_dir

    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": available_cpus(),
        "memory_gb": _memory(),
        "cache": {"folder": str(cache_dir()), "free_gb": _free(cache_dir())},
        "runs": {"folder": str(out), "free_gb": _free(out)},
    }


def _memory() -> float | None:
    """Gigabytes of this machine; `None` where the system does not say."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):
        return None


def _free(folder: Path) -> float:
    """Gigabytes that are free where a folder is, or will be made."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())
    return round(shutil.disk_usage(there).free / 1e9, 1)


def _extras() -> list[dict[str, Any]]:
    """Every extra, and which of its packages are missing; none where fathoms was not installed."""
    try:
        required = metadata.requires("fathoms") or []
    except metadata.PackageNotFoundError:
        return []
    packages: dict[str, list[str]] = {}
    for requirement in required:
        if (found := _EXTRA.match(requirement)) and found["extra"] not in _GROUPS:
            packages.setdefault(found["extra"], []).append(found["package"])
    return [
        {"extra": extra, "missing": [name for name in names if not _installed(name)]}
        for extra, names in sorted(packages.items())
    ]


def _installed(package: str) -> bool:
    """Whether a distribution is installed."""
    from fathoms.config import package_version

    return package_version(package) is not None


def _weights() -> list[dict[str, Any]]:
    """The weights that can be pulled, and whether they are here."""
    from fathoms.models.assets import ASSETS
    from fathoms.models.weights import is_installed

    return [{"name": name, "here": is_installed(name)} for name in ASSETS]


def _servers() -> list[dict[str, Any]]:
    """The Ollama server that a config finds by itself; its version where it answers."""
    from fathoms.models.ollama import server_address, server_version

    try:
        address = server_address()
    except FathomsError as error:
        return [{"name": "ollama", "address": str(error), "version": None}]
    return [{"name": "ollama", "address": address, "version": server_version(address)}]


def _print(report: dict[str, Any]) -> None:
    """The findings for people."""
    machine = report["machine"]
    memory = "memory unknown" if machine["memory_gb"] is None else f"{machine['memory_gb']} GB"
    console.say(f"Python {machine['python']}, {machine['cpus']} CPUs, {memory}")
    for name in ("cache", "runs"):
        console.say(f"{name}: {machine[name]['folder']} ({machine[name]['free_gb']} GB free)")
    whole = [row["extra"] for row in report["extras"] if not row["missing"]]
    console.say(f"extras: {', '.join(whole) or 'none'}")
    partly = [row["extra"] for row in report["extras"] if row["missing"]]
    if partly:
        console.say(f"not installed: {', '.join(partly)} (pip install 'fathoms[NAME]')")
    _print_weights(report)
    for entry in report["configs"]:
        console.say(f"\n{entry['config']}")
        for row in entry["checks"]:
            detail = row["detail"].replace("\n", "\n" + " " * 17)
            console.say(f"  {'ok' if row['ok'] else 'fails':<6} {row['name']:<8} {detail}")


def _print_weights(report: dict[str, Any]) -> None:
    """Weights and servers, where no config was named."""
    if "weights" not in report:
        return
    here = [row["name"] for row in report["weights"] if row["here"]]
    console.say(f"weights: {', '.join(here) or 'none'}")
    absent = [row["name"] for row in report["weights"] if not row["here"]]
    if absent:
        console.say(f"not here: {', '.join(absent)} (fathoms models pull NAME)")
    for server in report["servers"]:
        answer = "does not answer" if server["version"] is None else f"version {server['version']}"
        console.say(f"{server['name']}: {answer} at {server['address']}")
