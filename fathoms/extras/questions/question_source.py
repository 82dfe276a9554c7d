"""Resolves what the user named as questions: a file with its PDFs, a configuration, or a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathoms.corpora import NamedSource, gather_pdfs, known_sets, located
from fathoms.errors import UsageError, suggest
from fathoms.experiment import Experiment, load_experiment
from fathoms.ingest import Parser, Pdfium, PyMuPDF
from fathoms.metrics.profiles import Profile, headline, profile_named

PARSERS: dict[str, type[Pdfium] | type[PyMuPDF]] = {"pdfium": Pdfium, "pymupdf": PyMuPDF}


@dataclass(frozen=True)
class QuestionSource:
    """A question file, its documents by name, their parser, and the profile for finding phrases."""

    path: Path
    documents: Mapping[str, Path]
    parser: Parser
    profile: Profile
    warnings: tuple[str, ...] = ()
    """What was left out of the folder of the documents."""


def find_source(
    name: str, pdfs: Sequence[Path] = (), *, parser: str | None = None, profile: str | None = None
) -> QuestionSource:
    """Resolve `name` to questions: a question file (with `pdfs`), a configuration, or a built-in data set.

    `pdfs` are PDF files or folders of them. `parser` and `profile` override those of the configuration and
    the defaults. Raises UsageError if `name` is none of these, and ConfigError if a configuration is not
    valid.
    """
    if pdfs:
        documents, warnings = gather_pdfs(pdfs)
        found = QuestionSource(Path(name), documents, Pdfium(), profile_named(headline(None)), warnings)
    elif Path(name).suffix.lower() in (".yaml", ".yml"):
        found = _of_config(Path(name))
    elif name in known_sets():
        path, documents, warnings = located(NamedSource(name=name))
        found = QuestionSource(path, documents, Pdfium(), profile_named(headline(name)), warnings)
    else:
        raise UsageError(
            f"{name}: add its PDFs, or folders of them; only a config (.yaml) needs none, and the data sets"
            f" {', '.join(known_sets())}"
        )
    return QuestionSource(
        found.path,
        found.documents,
        found.parser if parser is None else find_parser(parser),
        found.profile if profile is None else profile_named(profile),
        found.warnings,
    )


def find_parser(kind: str) -> Parser:
    """Return the parser of this kind with default options; raises UsageError for any other kind."""
    if kind not in PARSERS:
        raise UsageError(f"unknown parser '{kind}'{suggest(kind, PARSERS)}; others need a configuration file")
    return PARSERS[kind]()


def _of_config(path: Path) -> QuestionSource:
    """Resolve a configuration; if its pipeline reads the documents itself, our default parser checks them."""
    experiment = load_experiment(path)
    questions, documents, warnings = located(experiment.data, path.parent)
    if not documents:
        raise UsageError(f"{path} names no local documents: name {questions} and its PDFs instead")
    parser = experiment.ingest if isinstance(experiment, Experiment) else Pdfium()
    name = experiment.data.name if isinstance(experiment.data, NamedSource) else None
    return QuestionSource(
        questions, documents, parser, profile_named(experiment.scoring.profile or headline(name)), warnings
    )
