"""The manifest of a run: everything needed to know what was run."""

from __future__ import annotations

import os
import platform
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fathoms import __version__
from fathoms.component import package_version
from fathoms.corpora import Corpus
from fathoms.corpora.quote_pictures import pictures_sha256
from fathoms.models.caller import for_repeat
from fathoms.models.prices import price_data
from fathoms.pipeline.external import Connected
from fathoms.pipeline.prepared import Prepared
from fathoms.pipeline.runnable import Runnable
from fathoms.runs.cache import Cache
from fathoms.runs.documents import stated
from fathoms.runs.metadata import variants_among
from fathoms.types import Question
from fathoms.types.run.manifest import (
    Data,
    Host,
    Ingest,
    Manifest,
    ParserFacts,
    SharedCache,
)

_PACKAGES = (
    "pydantic",
    "aiohttp",
    "numpy",
    "pypdfium2",
    "pymupdf",
    "docling-slim",
    "easyocr",
    "torch",
    "bm25s",
    "anthropic",
    "openai",
    "google-genai",
    "llama-index-core",
    "llama-index-embeddings-ollama",
    "llama-index-llms-openai-like",
    "llama-index-embeddings-openai-like",
    "sentence-transformers",
    "lancedb",
    "onnxruntime",
    "xllamacpp",
)


def describe(
    experiment: Runnable,
    corpus: Corpus,
    prepared: Prepared,
    questions: Sequence[Question],
    folder: Path,
    repeats: int = 1,
) -> Manifest:
    """Describe what is run, on which data, with which versions. `folder` is where relative paths start."""
    seeds: list[int] = []
    if (model := experiment.generator) is not None:
        found = (for_repeat(model, repeat)[1] for repeat in range(repeats))
        seeds = [seed for seed in found if seed is not None]
    return Manifest(
        model=experiment.answerer,
        config=experiment.model_dump(mode="json"),
        folder=str(folder.absolute()),
        repeats=repeats,
        retrieval_only=None if experiment.depth is None else True,
        depth=None if experiment.depth is None else experiment.depth.k,
        seeds=tuple(seeds) or None,
        data=_data(experiment, corpus, prepared, questions),
        parser=_parser(experiment),
        fingerprints=prepared.fingerprints,
        served=experiment.served(),
        versions=versions(),
        prices=price_data(),
        git=git_commit(),
        host=Host(system=platform.platform(), cpus=os.cpu_count(), name=platform.node()),
        **prepared.notes,
    )


def pictures_of(experiment: Runnable, questions: Sequence[Question]) -> str | None:
    """A hash of the pictures of the candidate quotes that the model is shown; `None` if it is shown none."""
    shows = experiment.stages is not None and experiment.stages.retrieve.shows_pictures
    return pictures_sha256(questions) if shows else None


def shared_cache(cache: Cache) -> SharedCache | None:
    """Where what was made of documents is shared, and how many values came from there."""
    if (store := cache.shared) is None:
        return None
    store.finish()
    return SharedCache(address=store.address, **store.counts)


def _parser(experiment: Runnable) -> ParserFacts | None:
    """The parser that read the documents, if a parser of fathoms did. Its revision changes with the text that
    it makes of the same file."""
    if experiment.stages is None or experiment.stages.retrieve.needs == "nothing":
        return None
    return ParserFacts(kind=experiment.stages.ingest.kind, revision=experiment.stages.ingest.revision)


def versions() -> dict[str, str]:
    """Installed versions of fathoms, Python, and the packages that can change an answer."""
    return {
        "fathoms": __version__,
        "python": platform.python_version(),
        **{name: version for name in _PACKAGES if (version := package_version(name))},
    }


def _data(experiment: Runnable, corpus: Corpus, prepared: Prepared, questions: Sequence[Question]) -> Data:
    """Describe the questions and the documents."""
    parsed = any(document.pages for document in prepared.stated)
    return Data(
        name=corpus.name,
        questions_sha256=corpus.questions_sha256,
        questions=len(corpus.questions),
        categories=tuple(corpus.categories),
        category_sizes=corpus.sizes(),
        asked=len(questions),
        asked_ids=tuple(question.id for question in questions),
        written_ids=corpus.derived.isdisjoint(question.id for question in questions),
        variants=variants_among(questions) or None,
        asked_categories=dict(Counter(question.category for question in questions)),
        left_out=tuple(question.id for question in corpus.left_out()),
        missing_documents=tuple(corpus.missing),
        warnings=tuple(corpus.warnings),
        ingest=Ingest.model_validate(prepared.report()) if parsed or prepared.failures else None,
        **stated(prepared.stated),
        **({"parser": prepared.parser} if isinstance(prepared, Connected) and prepared.parser else {}),
        **({"pictures_sha256": pictures} if (pictures := pictures_of(experiment, questions)) else {}),
    )


def git_commit() -> str | None:
    """The commit of the checkout in the current directory, followed by `+` where it has changes; `None` if
    none.

    Looking for changes runs commands from the repository's own settings, which somebody else may have
    written. If the repository has such settings, changes are not looked for and the commit is followed by
    `?`.
    """
    commands = _git("config", "--show-scope", "--name-only", "--get-regexp", _COMMANDS) or ""
    if any(not line.startswith(("system", "global")) for line in commands.splitlines()):
        commit = _git("rev-parse", "HEAD")
        return f"{commit}?" if commit else None
    describe = ("describe", "--always", "--dirty=+", "--abbrev=40", "--exclude=*")
    return _git("-c", "core.fsmonitor=false", *describe)


_COMMANDS = r"^(filter\.|diff\..*\.(command|textconv)$)"
"""The git settings that name commands for converting or comparing files."""


def _git(*arguments: str) -> str | None:
    """What a git command prints, without network access; `None` where it fails or prints nothing."""
    offline = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    try:
        found = subprocess.run(
            ["git", *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            env={**os.environ, **offline},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
