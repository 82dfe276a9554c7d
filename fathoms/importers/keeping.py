"""Imported answers as a run on disk, which is then like any other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import fathoms
from fathoms.config import fingerprint
from fathoms.importers.imported import Imported
from fathoms.store import Run


def keep(imported: Imported, data: str, out: Path) -> Run:
    """Write the answers as a new run under `out`, not scored yet; `data` names the question set."""
    sizes = Counter(question.category for question in imported.questions)
    manifest = {
        "model": imported.model,
        "pipeline": imported.pipeline,
        "imported": True,
        "config": {},
        "data": {
            "name": data,
            "questions": len(imported.questions),
            "categories": list(sizes),
            "category_sizes": dict(sizes),
            "asked": len(imported.records),
            "warnings": list(imported.warnings),
        },
        "versions": {"fathoms": fathoms.__version__},
    }
    state = fingerprint([record.model_dump(mode="json") for record in imported.records])
    run = Run.create(out, imported.name, state, manifest)
    run.append(imported.records)
    return run
