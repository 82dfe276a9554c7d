"""What axe-core finds on a page for people who use a screen reader or a keyboard."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PACKAGE = "axe_playwright_python"
RUN = "axe.run(document, {resultTypes: ['violations', 'incomplete']})"


def findings(page: Any) -> list[str]:
    """Return the violations of a page's content by rule, with the first element of each; the test is skipped
    where axe-core is not installed."""
    found = find_spec(PACKAGE)
    if found is None or found.origin is None:
        pytest.skip("axe-core is not installed: pip install axe-playwright-python")
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8"))
    result = page.evaluate(RUN)
    assert result["testEngine"]["name"] == "axe-core"
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in result["violations"]]
