"""fathoms measures document-RAG pipelines over PDFs end to end.

The Python interface is `fathoms.load`, `fathoms.run`, `fathoms.score`, `fathoms.find` and their
`fathoms.Result` (`api.py`). `fathoms.Run.open` reads a run as typed values (`runs/run.py`).
A Python pipeline under test returns a `fathoms.Answer` (`pipeline/external/answer.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from fathoms.api import Result as Result
    from fathoms.api import find as find
    from fathoms.api import load as load
    from fathoms.api import run as run
    from fathoms.api import score as score
    from fathoms.pipeline.external.answer import Answer as Answer
    from fathoms.pipeline.external.answer import Context as Context
    from fathoms.runs.run import Run as Run

_HOMES = {
    "Answer": "pipeline.external.answer",
    "Context": "pipeline.external.answer",
    "Result": "api",
    "Run": "runs.run",
    "find": "api",
    "load": "api",
    "run": "api",
    "score": "api",
}


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that `import fathoms` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'fathoms' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"fathoms.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
