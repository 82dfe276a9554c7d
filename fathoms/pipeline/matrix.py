"""The matrix of a configuration file: named changes of its keys; each combination is a run.

    matrix:
      reading:
        text: {}
        picture: {chunk: {kind: page, image_dpi: 100}, prompt.template: page-images}

A change replaces the value of a key as `--set` does, so a key can have dots; where two axes change the same
key, the one that is written later wins. An axis may not have the name of a key, because `--matrix KEY=V1,V2`
names either, nor that of a key by which the runs of a sweep are told apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from fathoms.config import Key, Source, put, read_yaml
from fathoms.errors import UsageError, suggest
from fathoms.runs.metadata import CONFIG, SETTING

MATRIX = "matrix"
"""The key of the matrix in a configuration."""

Axes = dict[str, dict[str, dict[str, Any]]]
"""The changes of a matrix: by axis, by name, by the key that is changed."""
Cell = Mapping[str, str]
"""A cell of a matrix: the name chosen on each axis."""


def axes_of(source: Source, keys: Iterable[str]) -> Axes:
    """Return the axes of a configuration, none if it has no matrix. `keys` are the keys of a configuration.

    Raises ConfigError, with the place, for a matrix that is not made of names and changes.
    """
    written = source.data.get(MATRIX, {})
    shape = "expected axes with names and the keys that each changes, such as {reading: {text: {}}}"
    if not isinstance(written, dict):
        raise source.complain((MATRIX,), f"{MATRIX}: {shape}")
    found: Axes = {}
    for axis, names in written.items():
        at: Key = (MATRIX, axis)
        if not isinstance(names, dict) or not names:
            raise source.complain(at, f"{MATRIX}.{axis}: {shape}")
        if axis in {*keys, MATRIX, CONFIG, SETTING} or not axis.replace("-", "_").isidentifier():
            raise source.complain(at, f"{MATRIX}: an axis cannot be called '{axis}': take another word")
        found[axis] = {}
        for name, changes in names.items():
            if not isinstance(changes, dict | None):
                raise source.complain((*at, name), f"{MATRIX}.{axis}.{name}: {shape}")
            found[axis][name] = changes or {}
    return found


def cells_in(axes: Axes, chosen: Mapping[str, Any] | None = None) -> Iterator[dict[str, str]]:
    """Yield every combination of names, a single empty one without axes; `chosen` has the name of an axis
    where there is only one to take. Raises UsageError for an unknown name."""
    chosen = chosen or {}
    _require(axes, chosen)
    names = ([chosen[axis]] if axis in chosen else list(changes) for axis, changes in axes.items())
    for cell in itertools.product(*names):
        yield dict(zip(axes, cell, strict=True))


def at_cell(source: Source, axes: Axes, cell: Cell) -> Source:
    """Return a configuration without its matrix, and with the changes of a cell in place. Places in the file
    stay those where a value is written. Raises UsageError for a cell that the matrix does not have."""
    _require(axes, cell)
    data = deepcopy({key: value for key, value in source.data.items() if key != MATRIX})
    places = {key: place for key, place in source.places.items() if key[:1] != (MATRIX,)}
    for axis, name in cell.items():
        for key, value in axes[axis][name].items():
            keys, written = tuple(key.split(".")), (MATRIX, axis, name, key)
            put(data, keys, deepcopy(value), partial(source.complain, written))
            places = {at: place for at, place in places.items() if at[: len(keys)] != keys}
            below = {at: place for at, place in source.places.items() if at[: len(written)] == written}
            places |= {(*keys, *at[len(written) :]): place for at, place in below.items()}
    return Source(source.name, data, places)


def _require(axes: Axes, chosen: Mapping[str, Any]) -> None:
    """Raise UsageError for a name that an axis does not have, and for an axis that there is not."""
    for axis, name in chosen.items():
        names = axes.get(axis)
        if names is None:
            raise UsageError(f"the configuration's matrix has no axis '{axis}'{suggest(axis, axes)}")
        if name not in names:
            raise UsageError(f"{MATRIX}.{axis}: there is no '{name}'{suggest(str(name), names)}")


def titled(name: str, cell: Cell) -> str:
    """Return the name of a run: that of the configuration, and the names of the cell."""
    return " ".join([name, *cell.values()])


def read_axes(path: Path, keys: Iterable[str]) -> Axes:
    """Return the axes of a configuration file; raises ConfigError."""
    return axes_of(read_yaml(path), keys)
