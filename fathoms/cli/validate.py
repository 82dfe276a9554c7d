"""`fathoms validate`: check a configuration and print it with every default filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fathoms.cli import console
from fathoms.cli.loading import Config, Set, load_cells
from fathoms.cli.options import Json
from fathoms.cli.trial import Offline, trial

if TYPE_CHECKING:
    from fathoms.corpora import Corpus


def validate(config: Config, settings: Set = None, offline: Offline = False, as_json: Json = False) -> int:
    """Check a config and its data.

    Prints the config with every default filled in, the number of questions and documents, and the
    smallest margin of a gate that so many questions can resolve; of a config with a `matrix`, that of each
    cell. To a service (`pipeline: {kind: http}`), sends one trial question and prints what the mapping finds
    in the reply; a path that matches nothing is an error.
    """
    from fathoms.experiment import KEYS
    from fathoms.gate.precision import margin_lines
    from fathoms.pipeline.matrix import cells_in, read_axes

    cells = list(cells_in(read_axes(config, KEYS)))
    loaded = load_cells(config, settings)
    names = [experiment.name for experiment, _ in loaded]
    shown = [experiment.model_dump(mode="json") for experiment, _ in loaded]
    with_matrix = cells != [{}]
    if as_json:
        console.show_json(shown if with_matrix else shown[0])
    say = console.note if as_json else console.say
    for cell, data, (experiment, corpus) in zip(cells, shown, loaded, strict=True):
        if with_matrix:
            say(f"# {experiment.name}" if as_json else "---")
        if not as_json:
            _show(data, corpus)
        remarks = margin_lines(corpus.questions, experiment.gate)
        tried = [] if offline else trial(config, settings, experiment, corpus, cell)
        for line in [*remarks, *tried]:
            say(f"# {line}")
    if with_matrix:
        say(f"# the matrix has {len(names)} cells: {', '.join(names)}")
    return 0


def _show(data: dict[str, Any], corpus: Corpus) -> None:
    """Print the config, and the size of the data."""
    import yaml

    console.say(yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip())
    sizes = ", ".join(f"{name} {size}" for name, size in corpus.sizes().items())
    questions = console.amount(len(corpus.questions), "question")
    console.say(f"# {questions} ({sizes}) on {console.amount(len(corpus.documents), 'document')}")
