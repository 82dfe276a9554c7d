"""What a set of questions is called on the command line: a file beside its PDFs, a config, a data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathoms.config import suggest
from fathoms.corpora import NamedSource, gather_pdfs, known_sets, located
from fathoms.errors import UsageError
from fathoms.ingest import Parser, Pdfium, PyMuPDF
from fathoms.metrics import PROFILES, Profile
from fathoms.metrics.profiles import headline
from fathoms.pipeline.experiment import Experiment, load_experiment

PARSERS: dict[str, type[Pdfium] | type[PyMuPDF]] = {"pdfium": Pdfium, "pymupdf": PyMuPDF}


@dataclass(frozen=True)
class Source:
    """A question file, all its documents by name, what reads them, and the profile that finds phrases."""

    path: Path
    documents: Mapping[str, Path]
    parser: Parser
    profile: Profile


def find_source(
    name: str, pdfs: Sequence[Path] = (), *, parser: str | None = None, profile: str | None = None
) -> Source:
    """The questions called `name`: a file, with its PDFs or folders of them; a config; or a data set.

    `parser` and `profile` override those of the config and the defaults. Raises UsageError for a name that
    is none of these, and ConfigError for a config that is not valid.
    """
    if pdfs:
        found = Source(Path(name), gather_pdfs(pdfs)[0], Pdfium(), _profile(headline(None)))
    elif Path(name).suffix.lower() in (".yaml", ".yml"):
        found = _of_config(Path(name))
    elif name in known_sets():
        path, documents = located(NamedSource(name=name))
        found = Source(path, documents, Pdfium(), _profile(headline(name)))
    else:
        raise UsageError(
            f"{name}: name the PDFs too, or folders of them; alone stand a config (.yaml) and the data sets"
            f" {', '.join(known_sets())}"
        )
    return Source(
        found.path,
        found.documents,
        found.parser if parser is None else find_parser(parser),
        found.profile if profile is None else _profile(profile),
    )


def find_parser(kind: str) -> Parser:
    """A parser by its kind; raises UsageError for one that needs a config."""
    if kind not in PARSERS:
        raise UsageError(f"no parser '{kind}' here{suggest(kind, PARSERS)}; a config may name any")
    return PARSERS[kind]()


def _of_config(path: Path) -> Source:
    """What a config names; a pipeline that reads documents itself is checked by our parser."""
    experiment = load_experiment(path)
    questions, documents = located(experiment.data, path.parent)
    if not documents:
        raise UsageError(f"{path} names no documents that are here: name {questions} and its PDFs instead")
    parser = experiment.ingest if isinstance(experiment, Experiment) else Pdfium()
    name = experiment.data.name if isinstance(experiment.data, NamedSource) else None
    return Source(questions, documents, parser, _profile(experiment.scoring.profile or headline(name)))


def _profile(name: str) -> Profile:
    """A profile by its name; raises UsageError."""
    known = {profile.name: profile for profile in PROFILES}
    if name not in known:
        raise UsageError(f"no profile '{name}'{suggest(name, known)}")
    return known[name]
