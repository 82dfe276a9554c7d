"""Which tests need an extra, for a copy of fathoms from which it was deleted."""

from __future__ import annotations

import pytest

from fathoms import hooks


def needs_extra(name: str) -> pytest.MarkDecorator:
    """Skip a test where an extra was deleted."""
    return pytest.mark.skipif(name not in hooks.extras(), reason=f"fathoms/extras/{name} is not there")


def installed(call: str) -> bool:
    """Whether a command is there, such as `questions check FILE`."""
    deleted = [name for name, extra in hooks.COMES_WITH.items() if extra not in hooks.extras()]
    return not call.startswith(tuple(f"{name} " for name in deleted))
