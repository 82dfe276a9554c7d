"""Names in the code are words of the field: a reader of one line sees what a variable is."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fathoms"

VAGUE = {"told", "noted", "held", "kept", "ahead", "anew", "asked", "made"}
VAGUE |= {"marks", "marked", "remembered", "begun"}
"""Participles and nouns that say what happened to a thing, but not what it is."""

KEYS = {
    "extras/questions/making/manifest.py": {"made"},
    "gate/limits.py": {"kept"},
    "runs/score_table.py": {"marks"},
    "tune/premerge.py": {"asked"},
    "tune/result.py": {"asked"},
    "types/run/figures.py": {"asked"},
    "types/run/listed.py": {"asked"},
    "types/run/manifest.py": {"asked", "asked_categories", "asked_ids", "made"},
    "types/run/summary.py": {"asked", "kept"},
}
"""Names that are keys of files or of what `--json` prints, which stay, by the module of their class."""

TERMS = {"text/folding.py": {"without_vowel_marks"}}
"""Names in which such a word is the term of the field."""

WORD = re.compile("[A-Z]?[a-z]+")


def names_in(text: str) -> Iterator[str]:
    """Yield every name that a module defines: of functions, classes, parameters, variables and attributes."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def variables_in(text: str) -> Iterator[str]:
    """Yield the variables and parameters of a module's functions. Names of tests are sentences, in which such
    words have an object; attributes and keys belong to what is tested."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, functions)):
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                yield node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def vague(text: str, names: Callable[[str], Iterator[str]] = names_in) -> set[str]:
    """Return the names in a module that have a vague word."""
    return {name for name in names(text) if VAGUE & {word.lower() for word in WORD.findall(name)}}


@pytest.mark.slow
def test_no_name_has_a_vague_word_unless_it_is_a_key_or_a_term() -> None:
    found = {}
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).as_posix()
        allowed = KEYS.get(module, set()) | TERMS.get(module, set())
        names = vague(path.read_text(encoding="utf-8") + f"\n{path.stem.replace('-', '_')} = 0\n")
        if more := sorted(names - allowed):
            found[module] = more
    assert not found, "name what it is, such as replies, calls, questions or built"


@pytest.mark.slow
def test_no_variable_of_tests_and_benchmarks_has_a_vague_word() -> None:
    found = {}
    for path in (path for part in ("tests", "benchmarks") for path in (ROOT / part).rglob("*.py")):
        module = path.relative_to(ROOT).as_posix()
        names = vague(path.read_text(encoding="utf-8"), variables_in)
        if names:
            found[module] = sorted(names)
    assert not found, "name what it is, such as replies, calls, questions or built"


def test_keys_and_terms_that_are_allowed_exist() -> None:
    allowed = {(module, name) for one in (KEYS, TERMS) for module, names in one.items() for name in names}
    modules = {module for module, _ in allowed if (PACKAGE / module).exists()}  # `make core` has no extras
    there = {(module, name) for module in modules for name in vague((PACKAGE / module).read_text("utf-8"))}
    assert {one for one in allowed if one[0] in modules} <= there


def test_every_way_to_give_a_name_is_seen() -> None:
    text = """
import re as kept
def made(told, *, held):
    asked = [noted for noted in told]
class AskedOnce:
    marks: int
x.begun = 0
"""
    assert vague(text) == {"kept", "made", "told", "held", "asked", "noted", "AskedOnce", "marks", "begun"}
    assert vague("def make(maker): market = unmade(remarks)") == set()
