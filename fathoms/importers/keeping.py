"""Stores imported answers as a run on disk, so that they can be scored and compared like any run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from fathoms.config import VERSION, fingerprint
from fathoms.corpora.versions import keep_questions
from fathoms.errors import DataError
from fathoms.importers.imported import Imported
from fathoms.importers.parsing import NO_DOCUMENTS, ParsedFolder
from fathoms.runs.documents import keep_documents
from fathoms.runs.marks import variants_among
from fathoms.runs.store import Run, refusal
from fathoms.types.run.manifest import Data, Manifest


def keep(imported: Imported, data: str, out: Path, parsed: ParsedFolder = NO_DOCUMENTS) -> Run:
    """Write imported answers as a new, unscored run under `out`, and return the run.

    `data` is the name of the data set. The parsed documents are stored with the run: the funnel needs them.
    Claims and verdicts that came with the answers are stored as those of the judge of the run.
    """
    sizes = Counter(question.category for question in imported.questions)
    for record in imported.records:
        if (why := refusal(record)) is not None:
            raise DataError(f"{imported.name}: the answer to '{record.question.id}' cannot be kept: {why}")
    kept = imported.kept
    judge = {"judge": kept.judge.model_dump(mode="json")} if kept else {}
    config = {**judge, **({"metrics": list(imported.metrics)} if imported.metrics else {})}
    asked = {record.question.id: record.question for record in imported.records}
    manifest = Manifest(
        model=imported.model,
        pipeline=imported.pipeline,
        imported=True,
        repeats=max((record.repeat for record in imported.records), default=0) + 1,
        config=config,
        data=Data(
            name=data,
            questions_copy=keep_questions(out, imported.questions, ()),
            questions=len(imported.questions),
            categories=tuple(sizes),
            category_sizes=dict(sizes),
            asked=len(asked),
            variants=variants_among(asked.values()) or None,
            warnings=(*imported.warnings, *parsed.warnings),
            parser=parsed.parser,
            folder=str(parsed.folder) if parsed.folder else None,
        ),
        versions={"fathoms": VERSION},
    )
    state = fingerprint([record.model_dump(mode="json") for record in imported.records])
    run = Run.create(out, imported.name, state, manifest)
    keep_documents(run, parsed.documents)
    run.append(imported.records)
    if kept:
        kept.store(run.path)
    return run
