"""The findings of `fathoms doctor` as lines of text, with what to do about each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

EXTRAS = ("embedded", "llamaindex")
WEIGHTS = ("smollm2-135m", "minilm-l6-v2")
"""The weights that the pipeline of `fathoms init` uses."""
LITTLE_GB = 2
"""With less free space than this, parsed documents and model weights soon fill the disk."""


def next_commands(report: Mapping[str, Any]) -> list[str]:
    """The commands from here to a first run with the embedded model."""
    lacking = {row["extra"] for row in report["extras"] if row["missing"]}
    absent = {row["name"] for row in report["weights"] if not row["here"]}
    commands = []
    if lacking & set(EXTRAS):
        commands.append(f"pip install 'fathoms[{','.join(EXTRAS)}]'")
    if pull := [name for name in WEIGHTS if name in absent]:
        commands.append(f"fathoms models pull {' '.join(pull)}")
    return [*commands, "fathoms init DIR"]


def findings(report: Mapping[str, Any]) -> Iterator[str]:
    """All lines of the report."""
    yield from machine_lines(report["machine"])
    if "shared_cache" in report:
        yield f"shared cache: {report['shared_cache']['detail']}"
    if "cluster" in report:
        yield f"cluster: {report['cluster']['detail']}"
    yield from extra_lines(report["extras"])
    yield from plugin_lines(report["plugins"])
    if "weights" in report:
        yield from weight_lines(report["weights"])
        for server in report["servers"]:
            yield server_line(server)
        yield key_line(report["keys"])
        yield f"next: {'; '.join(report['next'])}"
    margin = ""
    for entry in report["configs"]:
        yield f"\n{entry['config']}"
        for row in entry["checks"]:
            detail = row["detail"].replace("\n", "\n" + " " * 17)
            if row["name"] == "gate":  # a paragraph that is the same for all cells of a matrix
                detail, margin = "as above" if detail == margin else detail, detail
            state = "note" if row.get("unverified") else "ok" if row["ok"] else "fails"
            yield f"  {state:<6} {row['name']:<8} {detail}"


def machine_lines(machine: Mapping[str, Any]) -> Iterator[str]:
    """The lines about Python, processors, memory and folders."""
    memory = "memory unknown" if machine["memory_gb"] is None else f"{machine['memory_gb']} GB"
    yield f"Python {machine['python']}, {machine['cpus']} CPUs, {memory}"
    for name, mend in (("cache", "set FATHOMS_CACHE_DIR to another"), ("runs", "name another with --out")):
        folder = machine[name]
        free = f"{folder['free_gb']} GB free"
        if not folder["writable"]:
            free = f"cannot be written: {mend}"
        elif folder["free_gb"] < LITTLE_GB:
            free += f", which is little: {mend}"
        yield f"{name}: {folder['folder']} ({free})"


def extra_lines(extras: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines about installed and missing extras."""
    yield f"extras: {', '.join(row['extra'] for row in extras if not row['missing']) or 'none'}"
    if partly := [row["extra"] for row in extras if row["missing"]]:
        yield f"not installed: {', '.join(partly)} (pip install 'fathoms[NAME]')"


def plugin_lines(plugins: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines about what other packages add, and about what has a name that fathoms uses itself."""
    for row in plugins:
        use = "" if row["used"] else ", which is not used: fathoms has its own of this name"
        yield f"plug-in: {row['name']} of fathoms.{row['room']}, from {row['package']}{use}"


def weight_lines(weights: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines about installed model weights, and about missing ones with what they are used for."""
    yield f"weights: {', '.join(row['name'] for row in weights if row['here']) or 'none'}"
    if absent := [f"{row['name']} ({row['use']})" for row in weights if not row["here"]]:
        yield f"not downloaded: {', '.join(absent)} (fathoms models pull NAME)"


def server_line(server: Mapping[str, Any]) -> str:
    """The line about a model server and its models."""
    if "error" in server:
        return f"{server['name']}: {server['error']}"
    if server["version"] is None:
        return f"{server['name']}: does not answer at {server['address']} ('ollama serve' starts it)"
    models = ", ".join(server["models"]) or "none ('ollama pull gemma3:4b' fetches one)"
    return f"{server['name']}: version {server['version']} at {server['address']}; models: {models}"


def key_line(keys: Sequence[Mapping[str, Any]]) -> str:
    """The line about which API keys are set."""
    here = ", ".join(row["name"] for row in keys if row["set"]) or "none"
    absent = ", ".join(row["name"] for row in keys if not row["set"])
    return f"keys: {here}" + (f"; not set: {absent} (in the environment, or in .env here)" if absent else "")
