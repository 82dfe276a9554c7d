"""Torch models by name or folder, as Sentence Transformers loads them: shared by embedder and reranker."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from fathoms.config import Component
from fathoms.errors import ConfigError, MissingExtraError, ServerError
from fathoms.models.cpus import available_cpus
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.torchvision import repair
from fathoms.models.weights.weights import digests, verified
from fathoms.safety.inputs import expanded
from fathoms.safety.limits import MOST_TEXTS

_HUB_TIMEOUT = 5.0  # seconds for one question to the hub; its own client would try for over a minute


class HubModel(Component):
    """What embedder and reranker share: a model by its name or folder, and how it is run."""

    packages: ClassVar[tuple[str, ...]] = ("sentence-transformers", "transformers")
    neutral: ClassVar[frozenset[str]] = frozenset({"model", "hub_revision", "batch_size", "device"})

    model: str
    """A folder, the name of an asset, or ORGANISATION/NAME on the hub."""
    hub_revision: str | None = None
    """The branch, tag or commit of a model on the hub; a commit is the only one that stays."""
    batch_size: int = Field(default=32, ge=1, le=MOST_TEXTS)
    """Texts, or pairs of them, at once."""
    device: str | None = None
    """`cpu`, `cuda`, `mps`, ...; the best there is, if not given."""

    def identity(self) -> dict[str, Any]:
        """The weights count by their hashes, or by their name where only the hub knows them."""
        return {**super().identity(), "weights": weights_of(self.model, self.hub_revision)}

    def check(self) -> None:
        """Load the model; raises MissingExtraError, MissingWeightsError, ConfigError or ServerError."""
        self._model()

    @abstractmethod
    def _model(self) -> Any:
        """The loaded model; the first call loads it."""


def library() -> Any:
    """The package `sentence_transformers`, or the command that installs it.

    Torch gets no more threads than this process may use CPUs.
    """
    try:
        repair()
        import sentence_transformers
        import torch
    except ModuleNotFoundError as error:
        missing = error.name or "sentence-transformers"
        raise MissingExtraError(missing, "sentence-transformers", "this model") from error
    torch.set_num_threads(min(torch.get_num_threads(), available_cpus()))
    return sentence_transformers


def folder_of(model: str) -> Path | None:
    """The folder of an asset or a path; `None` for a name on the hub.

    Raises MissingWeightsError for an asset that was not pulled, ChecksumError for one with other files than
    were pinned, ConfigError for what is none of the three.
    """
    if model in ASSETS:
        verified(model)  # a model's settings name classes of Python
        return ASSETS[model].folder
    path = expanded(Path(model))
    if path.is_dir():
        return path
    if model.startswith(("/", ".", "~")):
        raise ConfigError(f"{model}: no such folder")
    if model.count("/") != 1:
        raise ConfigError(
            f"no model '{model}': give a folder, a name of 'fathoms models list', or ORGANISATION/NAME"
            " as on the hub"
        )
    return None


def weights_of(model: str, revision: str | None) -> dict[str, str | None]:
    """What stands for the weights in a fingerprint: the sha256 of every file of a folder or an asset; the
    name and the revision of a model on the hub, which cannot be known better before it was fetched."""
    if model in ASSETS:
        return {**digests(model)}
    folder = folder_of(model)
    if folder is None:
        return {"hub": model, "revision": revision}
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    kept = [name for name in names if name.suffix != ".md" and not any(p[0] == "." for p in name.parts)]
    return {name.as_posix(): digests(str(folder / name))[name.name] for name in kept}


def load(kind: str, model: str, revision: str | None, **options: Any) -> Any:
    """An instance of `sentence_transformers.<kind>` on a model; no code that comes with a model is run.

    What the hub's own cache holds is used as it is. Raises ConfigError for a model that cannot be loaded,
    ServerError where the hub is needed and does not answer.
    """
    make = getattr(library(), kind)
    folder = folder_of(model)
    if folder is not None:
        with _quiet():
            return _made(make, model, str(folder), local_files_only=True, **options)
    options = {"revision": revision, **options}
    try:
        with _quiet():
            return make(model, local_files_only=True, **options)
    except OSError:  # not in the hub's cache
        _ask_hub(model, revision)
    return _made(make, model, model, **options)


def _made(make: Any, model: str, place: str, **options: Any) -> Any:
    """The instance, or our sentence on why there is none."""
    try:
        return make(place, **options)
    except Exception as error:  # every format of weights has errors of its own
        raise ConfigError(f"{model} could not be loaded: {_first_line(error)}") from error


def _ask_hub(model: str, revision: str | None) -> None:
    """Ask once whether the hub has the model, before its client tries again and again."""
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(model, revision=revision, timeout=_HUB_TIMEOUT)
    except Exception as error:  # no network, no such model, or one that wants an account
        raise ServerError(
            f"the model '{model}' is not on this machine and could not be fetched from the hub"
            f" ({_first_line(error)}): give the path of a folder that holds it"
        ) from error


def _first_line(error: Exception) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bar and the report of transformers: nothing is fetched, it takes a second."""
    from transformers.utils import logging as transformers_logging

    shown, level = transformers_logging.is_progress_bar_enabled(), transformers_logging.get_verbosity()
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if shown:
            transformers_logging.enable_progress_bar()
