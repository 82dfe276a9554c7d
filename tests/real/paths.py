"""The list of paths: what is run, what it needs, and what is expected of it."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

LIST = Path(__file__).with_name("paths.yaml")
HUB = "HF_ENDPOINT"
"""The environment variable with the address of the hub, as its own client has it."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Needs(_Part):
    """What a path needs: environment variables with keys, modules, and the hub."""

    keys: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    hub: bool = False


class RealPath(_Part):
    """A path that runs with the real thing.

    `commands` are commands of fathoms in a new folder, in which the configuration is `config.yaml`; `{cost}`
    in them is what may still be spent. If none makes a run, the figures are those of the last one, which is
    `doctor --json`. `cost` are the dollars and `minutes` the time that it is expected to take the first time.
    """

    name: str
    verifies: tuple[str, ...]
    model: str | None = None
    needs: Needs = Needs()
    cost: float = Field(ge=0)
    minutes: float = Field(gt=0)
    config: str
    commands: tuple[str, ...] = ("run config.yaml --limit 3 --max-cost {cost}",)
    expect: dict[str, float] = {}
    """The least value of each figure: `answered`, or a metric of the report."""


def read_paths(file: Path = LIST) -> tuple[RealPath, ...]:
    """Read a list of paths; raises ValueError if two have one name."""
    paths = tuple(RealPath.model_validate(entry) for entry in yaml.safe_load(file.read_text()))
    if len({path.name for path in paths}) < len(paths):
        raise ValueError(f"{file}: two paths have the same name")
    return paths


def lacking(needs: Needs) -> Iterator[str]:
    """Yield what is missing here of what a path needs."""
    yield from (f"no key in {name}" for name in needs.keys if not os.environ.get(name, "").strip())
    yield from (f"no module {name}" for name in needs.modules if find_spec(name) is None)
    if needs.hub and not hub_answers():
        yield "no hub"


def hub_answers() -> bool:
    """Whether the hub for models and data sets answers within five seconds."""
    address = os.environ.get(HUB) or "https://huggingface.co"
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD"), timeout=5):
            return True
    except urllib.error.HTTPError:
        return True  # it answered
    except (OSError, ValueError):
        return False
