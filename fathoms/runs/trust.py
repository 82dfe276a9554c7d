"""Signatures that tell this user's own runs from runs made elsewhere, and what the latter would do here.

A manifest holds a configuration, and a configuration can import code, contact servers, and read environment
variables and files. A run from somebody else is treated as data, so none of this is done because its manifest
says so. A run made here carries a signature: an HMAC-SHA256 over the parts of the manifest that later
commands act on, with a random key that only this user can read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from platformdirs import user_data_path
from pydantic import BaseModel

from fathoms.errors import UsageError
from fathoms.safety.masking import without_logins
from fathoms.types.run.manifest import Manifest

if TYPE_CHECKING:
    from fathoms.component import Loads
    from fathoms.config import Key

KEY_VARIABLE = "FATHOMS_KEY_FILE"
_KEY_BYTES = 32
_SHOWN = 200
_REFERENCE = re.compile(r"\$\{(\w+)\}")


class Demand(NamedTuple):
    """A key of a configuration, and what fathoms would do because of it."""

    key: Key
    what: str


# ----- signatures


def signed(manifest: Manifest) -> Manifest:
    """Sign a manifest; unsigned where no key can be stored."""
    key = _key(make=True)
    signature = None if key is None else _signature(manifest, key)
    return Manifest.model_validate({**manifest.plain(), "signature": signature})


def is_signed(manifest: Manifest) -> bool:
    """Whether a manifest has this user's signature and the signed parts have not changed since."""
    given, key = manifest.signature, _key(make=False)
    if key is None or given is None:
        return False
    # compared in constant time, so that timing reveals nothing about the signature
    return hmac.compare_digest(given.encode("utf-8", "replace"), _signature(manifest, key).encode())


def _signature(manifest: Manifest, key: bytes) -> str:
    """The HMAC over the parts that later commands act on; totals and texts may be added later."""
    of_data = ("name", "folder", "questions_sha256")
    # the list of questions of a large run is long
    stored = manifest.plain(include={"config": True, "folder": True, "data": set(of_data)})
    data = stored.get("data", {})
    parts = [
        "fathoms run 1",
        stored.get("config"),  # what is absent was signed as null
        stored.get("folder"),
        {name: data.get(name) for name in of_data},
    ]
    text = json.dumps(parts, sort_keys=True)
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _key(*, make: bool) -> bytes | None:
    """This user's key, created if missing and `make` is set; `None` where there is no usable key. A file of
    the wrong length is not used, because a short key could be guessed."""
    named = os.environ.get(KEY_VARIABLE)
    path = Path(named) if named else user_data_path("fathoms") / "signing.key"
    with suppress(OSError):
        if make and not path.exists():
            _make_key(path)
        key = path.read_bytes()
        return key if len(key) == _KEY_BYTES else None
    return None


def _make_key(path: Path) -> None:
    """Write a new key that only this user can read. If several processes do so at once, one key stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        temporary.touch(0o600, exist_ok=False)
        temporary.write_bytes(secrets.token_bytes(_KEY_BYTES))
        with suppress(FileExistsError):
            os.link(temporary, path)  # never replaces the key of another process
    finally:
        temporary.unlink(missing_ok=True)


# ----- what a configuration demands


def demands(config: BaseModel, above: Key = (), *, own: Iterable[str] = ()) -> list[Demand]:
    """What a validated configuration would make fathoms import, contact, look up or read.

    Nothing is imported, resolved or opened to find out. `above` is the path of keys that leads to `config`.
    `own` holds dotted keys, relative to `config`, that the user has set himself and that are not listed.
    """
    mine = [(*above, *key.split(".")) for key in own]
    found = _demands(config, above)
    return [demand for demand in found if not any(demand.key[: len(key)] == key for key in mine)]


def refuse(run: str, manifest: Manifest, found: Collection[Demand]) -> None:
    """Raise UsageError that lists the demands, if there are any."""
    if not found:
        return
    why = (
        "it was made on another machine or by another user, or was changed since"
        if manifest.signature
        else "it has no signature, like runs that were made elsewhere or by an earlier version of fathoms"
    )
    listed = "\n".join(f"  {_printable('.'.join(map(str, key)))}: {_printable(what)}" for key, what in found)
    raise UsageError(
        f"{run} is not known to be a run of yours ({why}), and its manifest would have fathoms do this:\n"
        f"{listed}\nNone of this was done; add --trust if you trust the origin of this run"
    )


def _demands(value: Any, key: Key) -> Iterator[Demand]:
    """The demands of a section and of all sections inside it, by what its component states of itself. What a
    plug-in states vouches for nothing."""
    if isinstance(value, Mapping | list | tuple):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, child in items:
            yield from _demands(child, (*key, name))
    if not isinstance(value, BaseModel):
        return
    kind = getattr(value, "kind", None)
    from fathoms.registry import is_plugin

    loads: Mapping[str, Loads] = getattr(value, "loads", {})
    if kind is not None and (is_plugin(type(value)) or not getattr(value, "inert", False)):
        details = list(_details(value.model_dump(mode="json"), key, loads))
        yield from details or [Demand((*key, "kind"), f"asks a server, or runs code, for the kind '{kind}'")]
        return
    for name in type(value).model_fields:
        option = getattr(value, name)
        if isinstance(option, Path) or (isinstance(option, str) and _is_outside(option, loads.get(name))):
            verb = "shares parsed documents with" if name == "cache" else "reads"
            yield Demand((*key, name), f"{verb} {option}")
        else:
            yield from _demands(option, (*key, name))


def _is_outside(text: str, loads: Loads | None) -> bool:
    """Whether an option of an inert section names something that is not a part of fathoms or of the run. A
    bare name may be that of a folder, and a name on the hub is asked for there: only names that fathoms has
    given are known."""
    if loads is None:
        return False
    return text.endswith(".yaml") if loads.what == "file" else text not in loads.known


def _details(value: Any, key: Key, loads: Mapping[str, Loads] = MappingProxyType({})) -> Iterator[Demand]:
    """The demands in the texts of a section whose kind is not inert."""
    if isinstance(value, dict | list):
        for name, child in value.items() if isinstance(value, dict) else enumerate(value):
            below = {one: found for one, found in loads.items() if one == name}
            yield from _details(child, (*key, name), below)
    if not isinstance(value, str):
        return
    name = str(key[-1])
    what = loads[name].what if name in loads else None
    if what == "code" or name == "target":
        yield Demand(key, f"imports and runs {value}")
    elif what == "variable" or name.endswith("_env"):
        yield Demand(key, f"reads the environment variable {value}")
    elif what == "server" or "://" in value:
        yield Demand(key, f"asks {without_logins(value)}")
    elif what is not None and value not in loads[name].known:
        yield Demand(key, f"reads {value}")
    for variable in dict.fromkeys(_REFERENCE.findall(value)):
        yield Demand(key, f"reads the environment variable {variable}")


def _printable(text: str) -> str:
    """Put a foreign text on one line, with characters replaced that could control a terminal."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text[:_SHOWN])
    return shown + ("..." if len(text) > _SHOWN else "")
