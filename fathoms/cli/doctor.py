"""`fathoms doctor`: check what is missing for a config or on this machine, and how to fix it."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathoms.cli import console
from fathoms.cli.doctor_findings import findings, next_commands
from fathoms.cli.loading import Address, Executor, Set, cluster_at, settings_with
from fathoms.cli.options import RUNS, Json, Out
from fathoms.cli.trial import Offline, trial
from fathoms.cli.verification import read_verified, verification_lines
from fathoms.config import read_yaml
from fathoms.errors import ExitCode, FathomsError

if TYPE_CHECKING:
    from fathoms.component import Component
    from fathoms.corpora import Corpus
    from fathoms.experiment import AnyExperiment
    from fathoms.models.calling.provider_calls import ExecutionSettings

_EXTRA = re.compile(r"^(?P<package>[\w.-]+).*;.*extra\s*==\s*['\"](?P<extra>[\w-]+)['\"]")
_ON_WORKERS = ("ingest", "chunk", "embed")
_GROUPS = {"all", "docs", "test"}  # extras that combine others, or that only developers of fathoms need


def doctor(
    configs: Annotated[
        list[Path] | None, typer.Argument(help="The YAML files of one or more pipelines.", show_default=False)
    ] = None,
    settings: Set = None,
    offline: Offline = False,
    executor: Executor = None,
    address: Address = "auto",
    out: Out = RUNS,
    as_json: Json = False,
) -> int:
    """Check what is missing to run pipelines, and print the command that fixes it.

    For every CONFIG, checks the data, each stage and the scoring, and sends one trial question to a service
    (`pipeline: {kind: http}`). Marks the kinds that were never run with trained weights, a vendor's API or
    released files (the last chapter of CONTRIBUTING.md), which is no failure. For a Ray cluster that a CONFIG
    or --executor ray names, says how many machines and processors it has, which versions and weights differ
    there, and who can reach it. Always checks this machine: Python, disk space and optional packages. Without
    a CONFIG, also lists model weights, servers and API keys, and says what to do next. Ends with exit code 1
    if a CONFIG cannot be run, if the cluster cannot do the work, or if the cache or the folder of runs is not
    writable.
    """
    from fathoms.pipeline.matrix import titled
    from fathoms.runs.sharing import VARIABLE

    for config in configs or ():
        if not config.exists():
            read_yaml(config)  # says so
    settings = settings_with(settings, executor)
    settings += [] if executor is None else [f"execution.address={address}"]
    report: dict[str, Any] = {"machine": _machine(out), "extras": _extras(), "plugins": _plugins()}
    if not configs:
        report |= {"weights": _weights(), "servers": _servers(), "keys": _keys()}
        if os.environ.get(VARIABLE):
            report["shared_cache"] = _checked("shared cache", partial(_shared, None))
        report["next"] = next_commands(report)
    if executor == "ray" and not configs:
        report["cluster"] = _checked("cluster", partial(_cluster, cluster_at(executor, address), {}))
    report["configs"] = [
        {
            "config": titled(str(config), cell),
            "checks": list(config_checks(config, settings, offline=offline, cell=cell)),
        }
        for config in configs or ()
        for cell in _cells(config)
    ]
    checks = [check["ok"] for entry in report["configs"] for check in entry["checks"]]
    checks += [report[name]["ok"] for name in ("shared_cache", "cluster") if name in report]
    report["ok"] = all([*checks, *(report["machine"][name]["writable"] for name in ("cache", "runs"))])
    if as_json:
        console.show_json(report)
    else:
        for line in findings(report):
            console.say(line)
    return ExitCode.OK if report["ok"] else ExitCode.FAILED


def _cells(config: Path) -> list[dict[str, str]]:
    """The cells of a config's matrix; a single empty one without a matrix, or where it cannot be read."""
    from fathoms.experiment import KEYS
    from fathoms.pipeline.matrix import cells_in, read_axes

    try:
        return list(cells_in(read_axes(config, KEYS)))
    except FathomsError:  # which is what its checks say then
        return [{}]


def config_checks(
    config: Path,
    settings: Sequence[str] = (),
    *,
    offline: bool = False,
    cell: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Check everything that a config needs, one row per check. A failed check does not stop the next ones.
    `cell` is that of its matrix."""
    from fathoms.experiment import ExternalExperiment, load_experiment
    from fathoms.runs.sharing import VARIABLE

    try:
        experiment = load_experiment(config, settings, cell=cell)
    except FathomsError as error:
        yield _row("config", False, str(error))
        return
    yield _row("config", True, experiment.name)
    stages = {**experiment.checks(), "scoring": experiment.check_scoring}
    yield (data := _checked("data", lambda: _data(experiment, config)))
    if experiment.cache or os.environ.get(VARIABLE):
        yield _checked("cache", partial(_shared, experiment.cache))
    if experiment.execution.kind == "ray":
        used: dict[str, Component] = {}
        used |= {stage: getattr(experiment, stage) for stage in stages if stage in _ON_WORKERS}
        yield _checked("cluster", partial(_cluster, experiment.execution, used))
    reached = True
    for stage, check in stages.items():
        yield (row := _checked(stage, partial(_stage, experiment, stage, check)))
        reached = reached and (row["ok"] or stage != "pipeline")
    if data["ok"]:
        yield _checked("gate", lambda: _margin(experiment, config))
    if found := list(verification_lines(experiment, read_verified())):
        yield _row("verified", True, "\n".join(line for line, _ in found)) | {
            "unverified": sum(not ran for _, ran in found)
        }
    is_service = isinstance(experiment, ExternalExperiment) and experiment.pipeline.kind == "http"
    if is_service and reached and not offline:
        yield _checked("trial", lambda: _trial(experiment, config, settings, cell))


def _checked(name: str, check: Callable[[], str]) -> dict[str, Any]:
    """Run one check; the row has what it returns, or the error it raises."""
    try:
        return _row(name, True, check())
    except FathomsError as error:
        return _row(name, False, str(error))
    except Exception as error:  # libraries may raise anything, and the other checks should still run
        return _row(name, False, f"{type(error).__name__}: {error}")


def _row(name: str, ok: bool, detail: str) -> dict[str, Any]:
    """The row of one check, as in the JSON output."""
    return {"name": name, "ok": ok, "detail": detail}


def _data(experiment: AnyExperiment, config: Path) -> str:
    """Load the data, and describe it: the number of questions and documents, and problems of documents.

    Nothing is parsed for this check, so warnings of the parser are known only for documents in the cache.
    Raises DocumentError for a document that would stop a run before it is parsed.
    """
    from fathoms import corpora

    corpus = corpora.load(experiment.data, config.parent)
    questions, documents = len(corpus.questions), len(corpus.documents)
    amount = (
        f"{console.amount(questions, 'question')} on {console.amount(documents, 'document')} of {corpus.name}"
    )
    return "\n".join([amount, *_documents(experiment, corpus)])


def _shared(named: str | None) -> str:
    """Check the shared cache that a config or else the environment names; raises StoreError where it cannot
    be read or written."""
    from fathoms.runs.sharing import address_of_environment, shared_store

    if (address := named or address_of_environment()) is None:
        return "none"
    shared_store(address).probe()
    return f"{address} can be read and written"


def _cluster(execution: ExecutionSettings, stages: Mapping[str, Component]) -> str:
    """Describe a Ray cluster, where stages of a pipeline would be done; raises ServerError where it cannot do
    the work."""
    return execution.cluster().described(stages)


def _margin(experiment: AnyExperiment, config: Path) -> str:
    """Say which margin of a gate the questions can resolve."""
    from fathoms import corpora
    from fathoms.gate.precision import margin_lines

    questions = corpora.load(experiment.data, config.parent).questions
    return "\n".join(margin_lines(questions, experiment.gate)) or "no question is answerable"


def _documents(experiment: AnyExperiment, corpus: Corpus) -> Iterator[str]:
    """Problems of the documents; none are looked for if the pipeline is external or needs no documents."""
    from fathoms.cli.cache import opened
    from fathoms.errors import DocumentError
    from fathoms.experiment import Experiment
    from fathoms.pdf.raw import NO_PAGES
    from fathoms.types import has_pages

    if not isinstance(experiment, Experiment) or experiment.retrieve.needs == "nothing":
        return
    documents, failures = corpus.documents, []
    for name, path in documents.items():
        try:
            experiment.ingest.check_file(path)
        except DocumentError as error:
            failures.append(error.named(name))
            yield f"not read: {failures[-1]}"
        else:
            if not has_pages(name):
                yield f"{name}: {NO_PAGES}"
    if experiment.ingest.on_error == "fail" and {each.document for each in failures} - corpus.spared:
        raise DocumentError.stopping(failures)
    with opened(alone=True) as cache:
        known = experiment.parsed_before(documents, cache)
    for document in known:
        yield from (f"{document.id}: {warning}" for warning in document.warnings if warning != NO_PAGES)
    if unknown := len(documents) - len(known) - len(failures):
        yield (
            f"{unknown} of {console.amount(len(documents), 'document')} not parsed yet: 'fathoms ingest' says"
            " what may be missing of their text"
        )


def _trial(
    experiment: AnyExperiment, config: Path, settings: Sequence[str], cell: Mapping[str, str] | None
) -> str:
    """Send one question to the service, and describe what was found in the reply."""
    from fathoms import corpora

    corpus = corpora.load(experiment.data, config.parent)
    return "\n".join(trial(config, settings, experiment, corpus, cell))


def _stage(experiment: AnyExperiment, stage: str, check: Callable[[], None]) -> str:
    """Check a stage, and describe it: its kind, its model if it has one, and what a parser will download."""
    from fathoms.pdf.parser import PdfParser
    from fathoms.runner.plan import described

    check()
    component = getattr(experiment, stage)
    is_here = isinstance(component, PdfParser) and experiment.execution.kind == "local"
    later = component.require_downloads() if is_here else ""
    return "\n".join(filter(None, [described(component), later]))


def _machine(out: Path) -> dict[str, Any]:
    """Facts about this machine: versions, processors, memory and folders."""
    from fathoms.models.cpus import available_cpus
    from fathoms.paths import cache_dir

    try:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):  # the system does not report it
        memory = None
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": available_cpus(),
        "memory_gb": memory,
        "cache": _folder(cache_dir()),
        "runs": _folder(out),
    }


def _folder(folder: Path) -> dict[str, Any]:
    """Free gigabytes of a folder, or of its closest existing parent, and whether it is writable."""
    candidates = (folder.absolute(), *folder.absolute().parents)
    there = next(path for path in candidates if os.path.exists(path))  # noqa: PTH110 - `exists` of a Path raises where nobody may look
    free = round(shutil.disk_usage(there).free / 1e9, 1)
    return {"folder": str(folder), "free_gb": free, "writable": there.is_dir() and os.access(there, os.W_OK)}


def _extras() -> list[dict[str, Any]]:
    """Every extra with its missing packages; empty if fathoms itself is not installed as a package."""
    from fathoms.component import package_version

    try:
        required = metadata.requires("fathoms") or []
    except metadata.PackageNotFoundError:
        return []
    missing: dict[str, list[str]] = {}
    for requirement in required:
        if (found := _EXTRA.match(requirement)) and found["extra"] not in _GROUPS:
            names = missing.setdefault(found["extra"], [])
            names += [found["package"]] if package_version(found["package"]) is None else []
    return [{"extra": extra, "missing": names} for extra, names in sorted(missing.items())]


def _weights() -> list[dict[str, Any]]:
    """The model weights that can be pulled, and whether they are on this machine."""
    from fathoms.models.weights.assets import ASSETS
    from fathoms.models.weights.weights import is_installed

    return [{"name": name, "here": is_installed(name), "use": asset.use} for name, asset in ASSETS.items()]


def _servers() -> list[dict[str, Any]]:
    """The Ollama server at the default address, with its version and models if it answers."""
    from fathoms.models.chat.ollama import server_address, server_models, server_version

    try:
        address = server_address()
    except FathomsError as error:
        return [{"name": "ollama", "address": None, "version": None, "models": [], "error": str(error)}]
    version = server_version(address)
    models = [] if version is None else server_models(address)
    return [{"name": "ollama", "address": address, "version": version, "models": models}]


def _keys() -> list[dict[str, Any]]:
    """The environment variables for API keys, and whether each is set. Their values are never returned."""
    from fathoms.registry import rooms

    named = {
        component.model_fields[option].default
        for component in rooms()
        for option, loads in component.loads.items()
        if loads.what == "variable"
    }
    names = sorted(name for name in named if isinstance(name, str))
    return [{"name": name, "set": bool(os.environ.get(name, "").strip())} for name in names]


def _plugins() -> list[dict[str, Any]]:
    """The components and commands that other packages add, and whether fathoms uses each."""
    from fathoms.cli.commands import commands
    from fathoms.registry import distribution, plugins

    return [
        {"room": room, "name": entry.name, "package": distribution(entry), "used": not is_own}
        for room, entry, is_own in plugins(commands())
    ]
