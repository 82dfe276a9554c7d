"""Imports go down the floors of `fathoms/` and through no wall; every module says what it is, and few lie
loose."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from tests.support.extras import needs_extra

PACKAGE = Path(__file__).parents[2] / "fathoms"
# from the bottom to the top; rooms on one line never import one another
FLOORS = [
    {"errors", "stats", "text", "types"},
    {"answers", "hooks", "safety"},
    {"component"},
    {"registry"},
    {"config", "paths"},
    {"executors", "runs"},
    {"models", "pdf"},
    {"compare", "corpora", "ingest", "judges", "metrics", "retrieve"},
    {"pipeline"},
    {"importers", "report", "runner", "scoring"},
    {"gate"},
    {"experiment"},
    {"tune"},
    {"api"},
    {"cli", "pytest_plugin"},
    {"extras"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# what makes a run and what scores it never import one another: all that they share is the run directory
MAKE = {"ingest", "retrieve", "pipeline", "runner"}
SCORE = {"compare", "gate", "judges", "metrics", "report", "scoring"}
# `metrics` can score on a laptop: it sees no parser, no retriever and no run
SEEN_BY_METRICS = {"types", "errors", "component", "registry", "config", "paths", "runs", "safety", "stats"}
SEEN_BY_METRICS |= {"answers", "models", "text"}
# what each extra uses of the core: all of it, and no more; no extra imports another one
PORTS = {
    "review": {"cli", "config", "errors", "hooks", "judges", "report", "runs", "safety", "scoring", "stats"}
    | {"text", "types"},
    # by retrieval and parsers it finds the pages that questions are about; an experiment names them
    "questions": {"component", "config", "errors", "hooks", "paths", "registry", "safety", "text", "types"}
    | {"cli", "corpora", "experiment", "gate", "judges", "metrics", "models", "report", "runs", "stats"}
    | {"compare", "ingest", "pdf", "pipeline", "retrieve"},
    "papers": {"cli", "config", "corpora", "errors", "experiment", "hooks", "importers", "metrics"}
    | {"pipeline", "report", "runner", "runs", "safety", "scoring", "stats", "text", "types"},
    "exchange": {"answers", "cli", "corpora", "errors", "hooks", "importers", "ingest", "judges"}
    | {"metrics", "models", "paths", "pipeline", "runs", "safety", "scoring", "text", "types"},
    "cluster": {"component", "errors", "executors", "models", "paths", "runs", "safety"},
    "docling_offline": {"errors", "models"},
    # it runs an import, a judge, a comparison and a report in one go, and estimates the cost ahead
    "watch": {"cli", "compare", "config", "corpora", "errors", "hooks", "importers", "judges", "metrics"}
    | {"models", "pipeline", "report", "runner", "runs", "scoring", "stats", "types"},
    "live": {"cli", "errors", "hooks", "paths", "report", "runs", "safety", "types"},
}
MOST_LOOSE = 11
# a module under so many lines with one importer in its folder joins it, unless both would be longer than LONG
SHORT, LONG = 80, 450
# those that stay, and why
STAYING = {
    "cli.verbose": "imported late, for a quick start",
    "cli.version": "imported late, for a quick start",
    "corpora.chart_rag": "a data set of its own",
    "corpora.mmdocrag": "a data set of its own",
    "corpora.mmlongbench": "a data set of its own",
    "corpora.mrag_bench": "a data set of its own",
    "corpora.visual_rag": "a data set of its own",
    "extras.papers.live": "imported late: it runs pipelines, which most tables do not need",
    "importers.answers": "a format of its own",
    "metrics.classifying": "a child process runs it",
    "report.outcomes": "a table of its own",
}


def modules() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


# parsing all modules takes seconds, and finding their imports a twentieth of that
FROM = re.compile(r"from (fathoms[\w.]*) import (\([^)]*\)|.*)")
WHOLE = re.compile(r"import (fathoms[\w.]*)")


def imported(text: str, known: set[str]) -> set[str]:
    """The modules of fathoms that one imports, anywhere in its text."""
    found = set(WHOLE.findall(text))
    for module, names in FROM.findall(text):
        for name in re.findall(r"\w+", re.sub(r"#.*| as \w+", "", names)):
            full = f"{module}.{name}"
            found.add(full if full in known else module)
    return found & known - {"fathoms"}


def room(module: str) -> str:
    """The room of a module; each extra is one, such as `extras.live`."""
    parts = module.split(".")
    return ".".join(parts[1 : 3 if parts[1] == "extras" else 2])


def breaches(graph: dict[str, set[str]]) -> set[tuple[str, str]]:
    """The imports that go up, or through a wall."""
    return {
        (module, other)
        for module, others in graph.items()
        if module not in ("fathoms", "fathoms.__main__")
        for other in others
        if not may_import(room(module), room(other))
    }


def may_import(here: str, there: str) -> bool:
    """Whether a room may import another one."""
    if here == there:
        return True
    if there.startswith("extras"):
        return False
    if here.startswith("extras."):
        return there in PORTS[here.partition(".")[2]]
    if {here, there} & MAKE and {here, there} & SCORE:
        return False
    if here == "metrics" and there not in SEEN_BY_METRICS:
        return False
    return FLOOR[there] < FLOOR[here]


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
    return {name: imported(path.read_text(), set(known)) for name, path in known.items()}


def test_imports_go_down_and_through_no_wall() -> None:
    assert breaches(graph()) == set()


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("metrics.x", "report"),
        ("metrics.x", "ingest"),
        ("metrics.x", "corpora"),
        ("runner.x", "metrics.y"),
        ("report.x", "retrieve"),
        ("scoring.x", "pipeline"),
        ("pdf.x", "ingest"),
        ("cli.x", "extras.live"),
        ("extras.live.x", "retrieve"),
        ("extras.live.x", "extras.review"),
    ],
)
def test_a_forbidden_import_is_reported(here: str, there: str) -> None:
    text = f"def f():\n    from fathoms.{there} import (\n        a,\n    )\n"
    known = {f"fathoms.{here}", f"fathoms.{there}"}
    assert breaches({f"fathoms.{here}": imported(text, known)}) == {(f"fathoms.{here}", f"fathoms.{there}")}


def test_every_form_of_an_import_is_found() -> None:
    known = {"fathoms.a", "fathoms.a.b", "fathoms.c", "fathoms.d", "fathoms.e"}
    text = "from fathoms.a import b as x, f\nimport fathoms.c as c\n"
    text += "if True:\n    from fathoms import (\n        d,  # e\n    )\n"
    assert imported(text, known) == known - {"fathoms.e"}
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"a"}}) == [["a", "b"]]


def test_there_are_no_import_circles() -> None:
    assert circles(graph()) == []


def test_every_room_in_the_list_exists_and_few_modules_lie_loose() -> None:
    rooms = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    # the copy of `make core` has no extras
    assert {"extras", *rooms} - {"__init__", "__main__"} == set(FLOOR)
    assert len(list(PACKAGE.glob("*.py"))) <= MOST_LOOSE


def small_with_one_importer(graph: dict[str, set[str]], files: dict[str, Path]) -> set[str]:
    """The small modules that only one module imports, which lies in the same folder and is not too long for
    them. What the registry names, it imports when it is asked for it."""
    lines = {name: len(path.read_text().splitlines()) for name, path in files.items()}
    registered = set(re.findall(r'"(fathoms[\w.]+):', files["fathoms.registry"].read_text()))
    importers: dict[str, set[str]] = {name: {"fathoms.registry"} for name in registered}
    for module, others in graph.items():
        for other in others:
            importers.setdefault(other, set()).add(module)
    found = set()
    for name, by in importers.items():
        if len(by) == 1 and name in files and files[name].name != "__init__.py" and lines[name] < SHORT:
            (importer,) = by
            if files[importer].parent == files[name].parent and lines[name] + lines[importer] <= LONG:
                found.add(name.removeprefix("fathoms."))
    return found


# where an extra was deleted, its modules no longer count as importers
@needs_extra("papers")
@needs_extra("questions")
def test_small_modules_with_one_importer_have_joined_it_or_a_reason_to_stay() -> None:
    assert small_with_one_importer(graph(), modules()) == set(STAYING)


def test_a_small_module_with_one_importer_is_found(tmp_path: Path) -> None:
    # the length of each module and what it imports; the registry names `component`
    tree = {
        "registry": (1, ()),
        "one.long": (LONG - SHORT, ("small", "component", "shared", "large", "far")),
        "one.longer": (LONG - 5, ("shared", "other")),
        "one.small": (SHORT - 1, ()),
        "one.component": (10, ()),
        "one.shared": (10, ()),
        "one.large": (SHORT, ()),
        "one.other": (10, ()),
        "two.far": (10, ()),
    }
    homes = {name.rpartition(".")[2]: f"fathoms.{name}" for name in tree}
    files = {f"fathoms.{name}": tmp_path / f"{name.replace('.', '/')}.py" for name in tree}
    for name, (lines, _) in tree.items():
        files[f"fathoms.{name}"].parent.mkdir(exist_ok=True)
        files[f"fathoms.{name}"].write_text("\n" * lines)
    files["fathoms.registry"].write_text('"fathoms.one.component:Component"\n')
    graph = {f"fathoms.{name}": {homes[one] for one in others} for name, (_, others) in tree.items()}
    assert small_with_one_importer(graph, files) == {"one.small"}


@needs_extra("live")
def test_each_extra_uses_all_the_ports_that_are_listed_for_it_and_is_found_by_its_folder_alone() -> None:
    used: dict[str, set[str]] = {path.name: set() for path in (PACKAGE / "extras").glob("[a-z]*")}
    for module, others in graph().items():
        if module.startswith("fathoms.extras."):
            here = room(module)
            used[here.partition(".")[2]] |= {room(other) for other in others} - {here}
    assert used == PORTS
    core = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "extras")]
    assert [path.name for path in core if "fathoms.extras" in path.read_text()] == ["hooks.py"]


def test_the_map_of_rooms_in_contributing_is_the_list_of_floors() -> None:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    rows = re.findall(
        r"^\| (`[^|]*`) \|", text.partition("| from the top |")[2].partition("\n\n")[0], re.MULTILINE
    )
    found = [{name.removesuffix(".py") for name in re.findall(r"`([\w.]+)`", row)} for row in rows]
    assert found == FLOORS[::-1]
    for side, rooms in (("makes a run", MAKE), ("scores it", SCORE)):
        (named,) = re.findall(rf"What {side} is in ([^.;]*)[.;]", text)
        assert set(re.findall(r"`(\w+)`", named)) == rooms


@pytest.mark.slow
def test_modules_and_public_names_have_docstrings() -> None:
    missing = []
    for name, path in modules().items():
        tree = ast.parse(path.read_text())
        if not ast.get_docstring(tree):
            missing.append(name)
        for node in tree.body:
            is_definition = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            if is_definition and not node.name.startswith("_") and not ast.get_docstring(node):
                missing.append(f"{name}.{node.name}")
    assert missing == []


@pytest.mark.slow
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


@pytest.mark.slow
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
