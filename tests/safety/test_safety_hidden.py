"""Modules that are hidden from an import."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from fathoms.safety.hidden import hidden


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that can be imported, and that is forgotten at the end."""
    name = "large_module_of_a_test"
    (tmp_path / f"{name}.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, name, None)  # so that it is put back
    del sys.modules[name]
    return name


def test_a_module_is_hidden_from_this_thread_in_the_block_alone(large: str) -> None:
    with hidden(large):
        with pytest.raises(ModuleNotFoundError, match=large):
            import_module(large)
        with ThreadPoolExecutor(1) as other:
            assert other.submit(import_module, large).result().value == 1
        assert import_module(large).value == 1  # as it is imported now
    del sys.modules[large]
    assert import_module(large).value == 1
