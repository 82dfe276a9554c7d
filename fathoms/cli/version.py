"""`--version`: the versions of fathoms, Python, and the installed libraries that affect results."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

from fathoms import __version__

PACKAGES = (
    "pydantic",
    "numpy",
    "scipy",
    "matplotlib",
    "pypdfium2",
    "pymupdf",
    "docling-slim",
    "easyocr",
    "torch",
    "llama-index-core",
    "onnxruntime",
    "sentence-transformers",
    "bm25s",
    "xllamacpp",
    "ollama",
    "anthropic",
    "google-genai",
    "openai",
)


def version_lines() -> Iterator[str]:
    """Yield one line per version. The libraries are not imported."""
    yield f"fathoms {__version__}"
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in PACKAGES:
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
