"""Every error fathoms raises on purpose, in one tree.

    FathomsError                 exit code 1
      UsageError                 2   a flag, a run id or a combination that cannot work
        ConfigError              2   a YAML file or a --set, with file:line:col where known
      MissingExtraError          2   a package of an extra is not installed; names the command
      MissingWeightsError        2   model weights are not on this machine; names the command
      ServerError                2   a model server is not there, or has not the model; says what to do
      DataError                  1   questions, manifests, result files
        QuestionsError           1   rows of a question file, each with its complaint
        ChecksumError            1   a file is not the one that was pinned
      DocumentError              1   one PDF that could not be read, with the reason
      ModelError                 1   a model or its server failed to answer
        NoAnswerError            1   no connection, or it broke off, or silence
        RateLimitError           1   the server asks to come back later, and may say when
        PromptTooLongError       1   more than the model or its vendor takes
      StoreError                 1   a run directory that cannot be read or written

Raise the most specific one where the fact is known; `cli.py` turns it into one sentence and the exit
code. The message says what is wrong and, where anything can be done, what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar


class FathomsError(Exception):
    """Base of the tree. `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 1


class UsageError(FathomsError):
    """The call itself cannot work."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration that is not valid. The message carries `file:line:col` where they are known."""


class MissingExtraError(FathomsError):
    """A package that only an extra installs is not there."""

    exit_code = 2

    def __init__(self, package: str, extra: str, why: str) -> None:
        super().__init__(f"{why} needs the package '{package}': pip install 'fathoms[{extra}]'")


class MissingWeightsError(FathomsError):
    """Model weights that `fathoms models pull` fetches are not on this machine."""

    exit_code = 2

    def __init__(self, asset: str) -> None:
        super().__init__(
            f"the weights of '{asset}' are not on this machine: run 'fathoms models pull {asset}'"
        )


class ServerError(FathomsError):
    """A model server that does not answer beforehand, refuses the key or lacks the model.

    The message names the command or the setting that mends it.
    """

    exit_code = 2


class DataError(FathomsError):
    """Questions, a manifest or a result file that cannot be used."""


class QuestionsError(DataError):
    """Rows of a question file that cannot be used: all `complaints`, of which the message has the first."""

    _SHOWN: ClassVar[int] = 10

    def __init__(self, complaints: Sequence[str]) -> None:
        self.complaints = tuple(complaints)
        left = len(complaints) - self._SHOWN
        more = [f"... and {left} more"] if left > 0 else []
        super().__init__("\n".join([*complaints[: self._SHOWN], *more]))


class ChecksumError(DataError):
    """A file whose sha256 is not the pinned one."""

    def __init__(self, path: Path, expected: str, found: str) -> None:
        super().__init__(f"{path}: sha256 is {found}, expected {expected}; delete it and pull again")


class DocumentError(FathomsError):
    """One document that could not be read.

    `reason` is one of `encrypted`, `empty`, `not-a-pdf`, `damaged`, `timeout`, `memory`, `crash`, `missing`.
    """

    def __init__(self, document: str, reason: str, detail: str) -> None:
        super().__init__(f"{document}: {detail}")
        self.document = document
        self.reason = reason
        self.detail = detail


class ModelError(FathomsError):
    """A model or its server gave no usable reply.

    `status` is that of its answer over HTTP, `retry_after` the seconds it asks to wait; `None` where there
    was no answer, or nothing said.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NoAnswerError(ModelError):
    """The server could not be reached, the connection broke off, or it said nothing for too long."""


class RateLimitError(ModelError):
    """Too many requests or tokens for now (429, or a vendor's own status for being overloaded)."""


class PromptTooLongError(ModelError):
    """Prompt and attachments are more than the model's context, or the vendor's limits, take."""


class StoreError(FathomsError):
    """A run directory or the cache that cannot be read or written."""
