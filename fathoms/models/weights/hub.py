"""Loads torch models with Sentence Transformers, by name or folder, for the embedder and the reranker."""

from __future__ import annotations

import logging
import re
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from fathoms.component import Component, Loads
from fathoms.errors import ConfigError, MissingExtraError, ModelError, ServerError
from fathoms.models.cpus import available_cpus
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.weights import WEIGHTS, digests, files
from fathoms.safety.inputs import expanded, parse_json, read_text
from fathoms.safety.option_limits import MOST_TEXTS

_HUB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
"""ORGANISATION/NAME, as the hub allows them."""
_HUB_TIMEOUT = 5.0  # seconds for one request to the hub, whose own client would retry for over a minute


class HubModel(Component):
    """The common options of embedder and reranker: the model, and how it is run."""

    inert: ClassVar[bool] = True
    loads: ClassVar[Mapping[str, Loads]] = {"model": WEIGHTS}
    packages: ClassVar[tuple[str, ...]] = ("sentence-transformers", "transformers")
    neutral: ClassVar[frozenset[str]] = frozenset({"model", "hub_revision", "batch_size", "device"})

    model: str
    """A name from `fathoms models list`, ORGANISATION/NAME on the Hugging Face hub, or a folder, written as a
    path such as `./NAME`."""
    hub_revision: str | None = None
    """Branch, tag or commit of a model on the hub. Only a commit always means the same files."""
    batch_size: int = Field(default=32, ge=1, le=MOST_TEXTS)
    """Number of texts, or of pairs of texts, that the model processes at a time."""
    device: str | None = None
    """The torch device, such as `cpu`, `cuda` or `mps`; the best available one if not given."""

    def identity(self) -> dict[str, Any]:
        """Extend the identity by the hashes of the weights, or by name and revision for a model on the
        hub."""
        return {**super().identity(), "weights": weights_of(self.model, self.hub_revision)}

    def check(self) -> None:
        """Load the model; raises MissingExtraError, MissingWeightsError, ConfigError or ServerError."""
        self._model()

    @abstractmethod
    def _model(self) -> Any:
        """Return the loaded model; the first call loads it."""


@cache
def repair_torchvision() -> Any:
    """Declare the operators that torchvision needs at its import, if it cannot load them itself.

    A torchvision built for CUDA cannot load its operators beside a CPU-only torch, and every library that
    imports it (transformers, EasyOCR, Docling) then fails with "operator torchvision::nms does not exist".
    Call this before such an import. It does nothing if torchvision works, was imported before, or is not
    installed. The declarations exist as long as the returned object, which the cache of this function keeps.
    """
    spec = None if "torchvision" in sys.modules else find_spec("torchvision")
    if spec is None or spec.origin is None:
        return None
    import torch

    for path in sorted(Path(spec.origin).parent.glob("_C*")):
        with suppress(ImportError, OSError):
            torch.ops.load_library(path)
            return None
    fragment = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):  # nothing that fathoms uses calls them
        fragment.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return fragment


def library() -> Any:
    """Return the module `sentence_transformers`, imported as `_imported` does."""
    return _imported("sentence_transformers")


def transformers() -> Any:
    """Import `transformers` alone, which takes three quarters of the time, see `_imported`."""
    return _imported("transformers")


def best_device() -> str:
    """Return the torch device of the accelerator of this machine, such as `cuda`, or else `cpu`."""
    import torch

    devices = {"cuda": torch.cuda, "mps": torch.backends.mps, "xpu": torch.xpu}
    return next((name for name, device in devices.items() if device.is_available()), "cpu")


def _imported(name: str) -> Any:
    """Import a library of models that run in torch; raises MissingExtraError if it is not installed.

    The number of torch threads is limited to the number of CPUs that this process may use. Convolutions on a
    GPU compute in float32 where a model is in float32; torch would round their inputs to 10 bits there.
    """
    try:
        repair_torchvision()
        library = import_module(name)
        import torch
    except ModuleNotFoundError as error:
        missing = error.name or "sentence-transformers"
        raise MissingExtraError(missing, "sentence-transformers", "this model") from error
    if loading := sys.modules.get("transformers.dynamic_module_utils"):
        # otherwise the library asks at the terminal whether to run the code of a model
        setattr(loading, "TIME_OUT_REMOTE_CODE", 0)  # noqa: B010 - unknown to type checkers
    torch.set_num_threads(min(torch.get_num_threads(), available_cpus()))
    torch.backends.cudnn.allow_tf32 = False
    return library


def folder_of(model: str) -> Path | None:
    """Return the folder of a model; `None` for a name on the hub.

    Only what is written as a path is a folder, such as `./NAME`. Raises MissingWeightsError for an asset that
    was not pulled, ChecksumError for an asset with a changed file, ConfigError if `model` is neither a
    folder, nor an asset, nor a name on the hub.
    """
    if model in ASSETS:
        files(model, rehash=True)  # the settings of a model name Python classes that are then loaded
        return ASSETS[model].folder
    if is_path(model):
        path = expanded(Path(model)).absolute()
        if not path.is_dir():
            raise ConfigError(f"{model}: no such folder")
        return path
    if not _HUB_NAME.fullmatch(model):
        raise ConfigError(
            f"no model '{model}': give a name from 'fathoms models list', ORGANISATION/NAME as on the hub, or"
            f" a folder as a path (./{model})"
        )
    require_no_folder(model)
    return None


def is_path(model: str) -> bool:
    """Whether a model is written as a path: absolute, or with `.`, `..` or `~` at its beginning."""
    first = model.replace("\\", "/").partition("/")[0]
    return Path(model).is_absolute() or first in (".", "..") or first.startswith("~")


def require_no_folder(model: str) -> None:
    """Raise ConfigError where the current folder has something of the name of a model on the hub: libraries
    would load that, and code of it, in the place of the model."""
    if Path(model).exists():
        raise ConfigError(
            f"{model} is a name on the hub, and there is a folder of this name here: write ./{model} for the"
            " folder, or start fathoms in another folder for the model of the hub"
        )


def weights_of(model: str, revision: str | None) -> dict[str, str | None]:
    """Return what identifies the weights in a fingerprint.

    For a folder or an asset, this is the sha256 of every file. For a model on the hub it is the name and the
    revision, because nothing more is known before the download.
    """
    if model in ASSETS:
        return {**digests(model)}
    folder = folder_of(model)
    if folder is None:
        return {"hub": model, "revision": revision}
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    hashed = [name for name in names if name.suffix != ".md" and not any(p[0] == "." for p in name.parts)]
    return {name.as_posix(): digests(str(folder / name))[name.name] for name in hashed}


def load(kind: str, model: str, revision: str | None, **options: Any) -> Any:
    """Create an instance of `sentence_transformers.<kind>` for a model; code that comes with a model is not
    run.

    Raises the errors of `read`.
    """
    folder_of(model)  # before the library is imported, which takes seconds
    make = getattr(library(), kind)

    def checked(place: str, **given: Any) -> Any:
        _refuse_code(place, given.get("revision"), local=given.get("local_files_only", False))
        return make(place, **given)

    return read(checked, model, revision, **options)


def _refuse_code(place: str, revision: str | None, *, local: bool) -> None:
    """Raise ConfigError for a model whose parts are not of Sentence Transformers. Before version 6, the
    library imports whatever the files of a folder name as the class of a part."""
    from sentence_transformers.util import load_file_path

    def content(name: str) -> Any:
        found = load_file_path(place, name, revision=revision, local_files_only=local)
        return None if found is None else parse_json(read_text(Path(found)), name)

    for part in content("modules.json") or ():
        named = [str(part["type"])]
        if named[0].rpartition(".")[2] in ("Router", "Asym"):
            for name in ("router_config.json", "config.json"):
                inner = content(Path(part["path"], name).as_posix()) or {}
                named += map(str, (inner.get("types") or {}).values())
        for one in named:
            if not one.startswith("sentence_transformers."):
                raise ConfigError(f"{one} is code that comes with the model, and such code is not run")


def read(make: Callable[..., Any], model: str, revision: str | None, **options: Any) -> Any:
    """Return what `make`, such as `from_pretrained` of a class of transformers, makes of a model.

    A model in the hub's local cache is used without asking the hub. Raises ConfigError if the model cannot be
    loaded, ServerError if the hub is needed and does not answer or does not have the model.
    """
    folder = folder_of(model)
    if folder is not None:
        with quiet():
            return _create(make, model, str(folder), local_files_only=True, **options)
    options = {"revision": revision, **options}
    try:
        with quiet():
            return _create(make, model, model, local_files_only=True, **options)
    except ConfigError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        ask_hub(model, revision)  # not in the hub's cache
    return _create(make, model, model, **options)


def lacks_memory(error: BaseException) -> bool:
    """Whether an error means that the memory of the device, or of this process, is too small."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        torch.cuda.empty_cache()
        return True
    said = str(error)
    # allocators other than that of CUDA raise a RuntimeError
    known = "out of memory" in said or "can't allocate memory" in said or "not enough memory" in said
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and known)


@contextmanager
def within_memory() -> Iterator[None]:
    """Raise ModelError, which says what to do, where a batch does not fit into the memory of the device."""
    try:
        yield
    except Exception as error:
        if not lacks_memory(error):
            raise
        raise ModelError(
            "a batch does not fit into the memory of the device: stop what else uses it, lower 'batch_size',"
            " or choose another 'device'"
        ) from error


def release_memory() -> None:
    """Give back what torch keeps of the memory of a GPU for later, beside what it needs now."""
    import torch

    torch.cuda.empty_cache()


def _create(make: Any, model: str, place: str, **options: Any) -> Any:
    """Create the instance; raises ConfigError if the model cannot be loaded."""
    try:
        return make(place, **options)
    except Exception as error:  # every format of weights has its own exception classes
        if lacks_memory(error):
            raise ConfigError(
                f"{model} does not fit into the memory of the device: stop what else uses it, or choose"
                " another 'device'"
            ) from error
        raise ConfigError(f"{model} could not be loaded: {_first_line(error)}") from error


def ask_hub(model: str, revision: str | None) -> None:
    """Raise ServerError if the hub does not answer or does not have the model. This is a single short
    request, because the hub's own client would retry for over a minute."""
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(model, revision=revision, timeout=_HUB_TIMEOUT)
    except Exception as error:  # no network, no such model, or a model that requires an account
        raise ServerError(
            f"the model '{model}' is not on this machine and could not be fetched from the hub"
            f" ({_first_line(error)}): give the path of a folder that holds it"
        ) from error


def _first_line(error: Exception) -> str:
    """Return the first line of an error message, or the name of the exception if it has none."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


@contextmanager
def quiet() -> Iterator[None]:
    """Turn off the progress bar and the log of transformers, for loading local files, which takes about a
    second."""
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
