"""Imports between the rooms of `fathoms/` go down only, every module says what it is, and few lie loose."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PACKAGE = Path(__file__).parents[2] / "fathoms"
# from the bottom to the top; rooms on one line never import one another
FLOORS = [
    {"errors", "stats", "types"},
    {"safety"},
    {"component"},
    {"registry"},
    {"config", "paths"},
    {"executors", "runs"},
    {"models"},
    {"compare", "corpora", "ingest", "judges", "metrics", "retrieve"},
    {"pipeline"},
    {"build", "exporters", "importers", "report", "runner", "scoring"},
    {"api", "reproduce"},
    {"cli", "pytest_plugin"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# `metrics` can score on a laptop: it sees no parser, no retriever and no run
SEEN_BY_METRICS = {"types", "errors", "component", "registry", "config", "paths", "runs", "safety", "stats"}
SEEN_BY_METRICS |= {"models"}
MOST_LOOSE = 10


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The code of a module, for all tests."""
    return ast.parse(path.read_text())


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules of fathoms that one imports, anywhere in it."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "fathoms":
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in known else node.module)
    return found - {"fathoms"}


def room(module: str) -> str:
    return module.split(".")[1]


def breaches(graph: dict[str, set[str]]) -> list[str]:
    found = []
    for module, others in graph.items():
        if module in ("fathoms", "fathoms.__main__"):
            continue
        for other in others:
            here, there = room(module), room(other)
            down = here == there or FLOOR[there] < FLOOR[here]
            if not down or (here == "metrics" and there not in SEEN_BY_METRICS | {"metrics"}):
                found.append(f"{module} -> {other}")
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import one another, round about; a package's own `__init__` counts too."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            circle = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(circle) > 1:
                found.append(circle)

    for name in graph:
        if name not in index:
            visit(name)
    return found


@functools.cache
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imported(path, set(known)) & set(known) for name, path in known.items()}


def test_imports_go_down() -> None:
    assert breaches(graph()) == []


def test_a_forbidden_import_is_reported() -> None:
    assert breaches({"fathoms.metrics.x": {"fathoms.report"}}) == ["fathoms.metrics.x -> fathoms.report"]
    assert breaches({"fathoms.metrics.x": {"fathoms.ingest"}}) == ["fathoms.metrics.x -> fathoms.ingest"]
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == [["a", "b"]]


def test_there_are_no_import_circles() -> None:
    assert circles(graph()) == []


def test_every_room_in_the_list_exists_and_few_modules_lie_loose() -> None:
    rooms = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms - {"__init__", "__main__"} == set(FLOOR)
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_LOOSE


def test_modules_and_public_names_have_docstrings() -> None:
    missing = []
    for name, path in modules().items():
        tree = parsed(path)
        if not ast.get_docstring(tree):
            missing.append(name)
        for node in tree.body:
            is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if is_definition and not node.name.startswith("_") and not ast.get_docstring(node):
                missing.append(f"{name}.{node.name}")
    assert missing == []


def test_files_that_the_code_and_the_docs_point_to_exist() -> None:
    """A pointer such as `fathoms/pipeline/pipeline.py`, in the code or in a page."""
    root = PACKAGE.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *root.glob("docs/*.md"), *PACKAGE.rglob("*.py")]
    gone = []
    for page in pages:
        for found in re.findall(
            r"\bfathoms/[\w/]+\.(?:py|yaml|json)\b", page.read_text() if page.exists() else ""
        ):
            if not (root / found).exists():
                gone.append(f"{page.relative_to(root)}: {found}")
    assert gone == []


def test_the_way_of_one_question_is_as_contributing_describes_it() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    steps = re.findall(r"^\d+\. `(fathoms/[\w/]+\.py)`: `(\w+)`[ ,]", text, flags=re.MULTILINE)
    assert 10 <= len(steps) <= 15
    for file, function in steps:
        tree = ast.parse((PACKAGE.parent / file).read_text())
        names = {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert function in names, f"{file} has no function {function}"
