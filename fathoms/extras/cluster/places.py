"""Where the shared cache lies: a folder that several machines mount, or a bucket, by an fsspec address."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fathoms.errors import MissingExtraError, StoreError
from fathoms.paths import unfinished, write_all
from fathoms.safety.masking import known_mask, without_shapes


class UnreachableError(Exception):
    """The place does not answer, or answers with an error that may be gone later."""


class Place(Protocol):
    """Bytes by name. A write is atomic: readers get all of the new bytes or all of the earlier ones.

    Both methods raise StoreError where only the user can help (credentials, a bucket that does not exist),
    and UnreachableError for everything else.
    """

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a name; `None` where there are none."""

    def write(self, name: str, data: bytes) -> None:
        """Store bytes under a name."""


class _Kind(NamedTuple):
    """A kind of bucket: the package for fsspec, the extra that brings it, its class, and options for it."""

    package: str
    extra: str
    client: str
    options: Callable[[float], dict[str, Any]]


def _s3_options(patience: float) -> dict[str, Any]:
    """One more attempt after a short wait, and no request without an end: two that never answer take the
    patience together. With a concurrency of 1, s3fs reads an object by one request, and does not ask for its
    size first."""
    waits = {"connect_timeout": min(10.0, patience / 2), "read_timeout": patience / 2}
    config = {**waits, "retries": {"mode": "standard", "total_max_attempts": 2}, "max_pool_connections": 32}
    return {"config_kwargs": config, "max_concurrency": 1}


_BUCKETS = {
    "s3": _Kind("s3fs", "s3", "S3FileSystem", _s3_options),
    "gs": _Kind("gcsfs", "gs", "GCSFileSystem", lambda patience: {}),
    "az": _Kind("adlfs", "az", "AzureBlobFileSystem", lambda patience: {}),
}


def place_at(address: str, patience: float) -> Place:
    """Return the place of a checked address; a request to it takes at most `patience` seconds. Raises
    MissingExtraError where the package for it is not installed."""
    scheme, _, path = address.partition("://")
    return Folder(Path(path)) if scheme == "file" else Bucket(_BUCKETS[scheme], address, path, patience)


class Folder:
    """A folder of this machine, or of a file server that other machines mount too."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, name: str) -> bytes | None:
        """Return what a file holds, or `None` where there is no such file."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _failure(error) from error

    def write(self, name: str, data: bytes) -> None:
        """Write a file beside the others, and move it to its name. What killed writers left is swept from the
        folder `unfinished` alone, so that no large folder is listed."""
        path = self._root / name
        try:
            temporary, file = unfinished(self._root / "unfinished" / "file")
            try:
                with file:
                    write_all(file, data)
                path.parent.mkdir(parents=True, exist_ok=True)
                Path(temporary).replace(path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise _failure(error) from error


class Bucket:
    """A bucket of a cloud, or of a server that speaks its protocol."""

    def __init__(self, kind: _Kind, address: str, path: str, patience: float) -> None:
        if find_spec(kind.package) is None:  # importing it takes most of a second, if it is used at all
            raise MissingExtraError(kind.package, kind.extra, f"the shared cache {address}")
        self._kind = kind
        self._path = path
        self._patience = patience
        self._clients: dict[int, Any] = {}

    def read(self, name: str) -> bytes | None:
        """Get an object, by one request."""
        try:
            return bytes(self._do("_cat_file", f"{self._path}/{name}"))
        except FileNotFoundError:
            return None
        except Exception as error:  # each of the libraries below raises its own
            raise _failure(error) from error

    def write(self, name: str, data: bytes) -> None:
        """Put an object, which the server makes visible when all of it has arrived."""
        try:
            self._do("_pipe_file", f"{self._path}/{name}", data)
        except Exception as error:
            raise _failure(error) from error

    def _do(self, method: str, *arguments: Any) -> Any:
        """Wait for a method of the client."""
        from fsspec.asyn import sync

        client = self._client()
        return sync(client.loop, getattr(client, method), *arguments, timeout=2 * self._patience)

    def _client(self) -> Any:
        """The client of this process: after a fork, the client of the parent would wait for a thread that
        does not exist."""
        if (pid := os.getpid()) not in self._clients:
            client_class = getattr(import_module(self._kind.package), self._kind.client)
            client = client_class(skip_instance_cache=True, **self._kind.options(self._patience))
            client.retries = 2  # of s3fs, for a response that ends early
            self._clients = {pid: client}
        return self._clients[pid]


_MISSING = {"ResourceNotFoundError"}
_REFUSED = {
    *("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "TokenRetrievalError"),
    *("ClientAuthenticationError", "CredentialUnavailableError", "DefaultCredentialsError", "RefreshError"),
}
"""Errors of the clients, by name, that mean the same as FileNotFoundError and PermissionError."""
_DENIED = (401, 403)


def _failure(error: Exception) -> Exception:
    """Say what a failed request means: StoreError where only the user can help, else UnreachableError.
    Nothing of it is a credential, because the libraries' own texts are masked."""
    name = type(error).__name__
    said = " ".join(without_shapes(known_mask().text(str(error))).split())[:300]
    what = f"{name}: {said}" if said else name
    if isinstance(error, FileNotFoundError | NotADirectoryError) or name in _MISSING:
        return StoreError(f"there is no such bucket or folder ({what}): create it, or correct the address")
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(error, PermissionError) or name in _REFUSED or status in _DENIED:
        return StoreError(f"access is denied ({what}): check the credentials in the environment")
    return UnreachableError(what)
