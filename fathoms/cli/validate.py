"""`fathoms validate`: check a configuration and print it with every default filled in."""

from __future__ import annotations

from fathoms.cli import console
from fathoms.cli.loading import Config, Set, load
from fathoms.cli.options import Json


def validate(config: Config, settings: Set = None, as_json: Json = False) -> int:
    """Check a config and its data.

    Prints the config with every default filled in, and the number of questions and documents.
    """
    import yaml

    experiment, corpus = load(config, settings)
    data = experiment.model_dump(mode="json")
    if as_json:
        console.show_json(data)
        return 0
    console.say(yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip())
    sizes = ", ".join(f"{name} {size}" for name, size in corpus.sizes().items())
    console.say(f"# {len(corpus.questions)} questions ({sizes}) on {len(corpus.documents)} documents")
    return 0
