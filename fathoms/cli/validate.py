"""`fathoms validate`: check a configuration and print it with every default filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathoms.cli import console
from fathoms.cli.loading import Config, Set, load
from fathoms.cli.options import Json
from fathoms.cli.trial import Offline, trial

if TYPE_CHECKING:
    from fathoms.corpora import Corpus


def validate(config: Config, settings: Set = None, offline: Offline = False, as_json: Json = False) -> int:
    """Check a config and its data.

    Prints the config with every default filled in, the number of questions and documents, and the
    smallest margin of a gate that so many questions can resolve. To a service
    (`pipeline: {kind: http}`), sends one trial question and prints what the mapping finds in the reply; a
    path that matches nothing is an error.
    """
    from fathoms.build.precision import margin_lines
    from fathoms.pipeline.experiment import load_cells

    experiment, corpus = load(config, settings)
    cells = [each.name for cell, each in load_cells(config, settings or ()) if cell]
    data = experiment.model_dump(mode="json")
    if as_json:
        console.show_json(data)
    else:
        _show(data, corpus)
    remarks = [f"the matrix has {len(cells)} cells: {', '.join(cells)}"] if cells else []
    remarks += margin_lines(corpus.questions, experiment.gate)
    for line in remarks if offline else [*remarks, *trial(config, settings, experiment, corpus)]:
        (console.note if as_json else console.say)(f"# {line}")
    return 0


def _show(data: dict[str, Any], corpus: Corpus) -> None:
    """Print the config, and the size of the data."""
    import yaml

    console.say(yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip())
    sizes = ", ".join(f"{name} {size}" for name, size in corpus.sizes().items())
    console.say(f"# {len(corpus.questions)} questions ({sizes}) on {len(corpus.documents)} documents")
