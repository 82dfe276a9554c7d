"""Small modules, small functions, documented names: what keeps the code readable."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "fathoms"
MODULES = sorted(PACKAGE.rglob("*.py"))


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_module(path: Path) -> None:
    assert path.read_text().count("\n") <= 400
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a module says what it is"
    for node in functions(path):
        assert length(node) <= 60, f"{node.name} has {length(node)} lines"
    for top in tree.body:
        if isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and top.name[0] != "_":
            assert ast.get_docstring(top), f"{top.name} has no docstring"


def test_the_median_function_is_short() -> None:
    assert statistics.median(length(node) for path in MODULES for node in functions(path)) <= 10
