"""`--version`: fathoms, Python, and what is installed of the libraries that decide what comes out."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata

import fathoms

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
    """A line each; nothing is imported."""
    yield f"fathoms {fathoms.__version__}"
    yield f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in PACKAGES:
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
