"""The exceptions that fathoms raises on purpose, and the exit code of each.

    FathomsError                 exit code 1
      UsageError                 2   a flag, a run id or a combination of options that cannot work
        ConfigError              2   an invalid YAML file or --set, with file:line:col where known
        PluginRefusedError       2   a run from elsewhere names a plug-in, which is not imported
      MissingExtraError          2   a package of an extra is not installed; names the install command
      MissingWeightsError        2   model weights are not on this machine; names the download command
      ServerError                2   a model server is not reachable or lacks the model; says what to do
      DataError                  1   unusable questions, manifests or result files
        MissingFileError         2   a file or folder that a call names and that is not there
        QuestionsError           1   invalid rows of a question file, with a message per row
        ChecksumError            1   a file whose sha256 is not the pinned one
      DocumentError              1   one PDF that could not be read, with the reason
      ModelError                 1   a model or its server gave no usable reply
        NoAnswerError            1   no connection, a broken connection or a time-out
        RateLimitError           1   the server asks to be called later, and may say when
        PromptTooLongError       1   the prompt is longer than the model or its vendor accepts
      StoreError                 1   a run directory or cache that cannot be read or written

Raise the most specific class. The command line prints the message as one sentence and ends with the exit
code. A message says what is wrong and, where possible, what to do about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import ClassVar


class ExitCode(IntEnum):
    """Every exit code of the command line; `meaning` describes it for the documentation."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    OK = 0, "the command did what was asked"
    FAILED = (
        1,
        "something failed: a document, a model, or a file that cannot be read as what it should be (a"
        " configuration: 2); or more questions failed, or were judged in"
        " part, than `--fail-on-error` allows (a number, or a share such as `2%`; none by default)",
    )
    UNUSABLE = (
        2,
        "the call or the configuration cannot work, or something that it needs is missing, such as a file or"
        " folder that it names",
    )
    OVER_BUDGET = 3, "stopped by its budget (`--max-cost`, `--max-tokens-total`); `run --resume` continues"
    GATE_FAILED = 100, "the gate failed: the runs are worse than the baseline, or pass a fixed limit"
    GATE_UNDECIDED = (
        101,
        "the gate is undecided, and a quarter of a metric's range or more was lost or `--strict` was given"
        " (else 0 and a warning)",
    )
    INTERRUPTED = (
        130,
        "interrupted by SIGINT (Ctrl-C): answers in flight were awaited and stored, the other questions not"
        " asked; after a second one, nothing was awaited",
    )
    TERMINATED = (
        143,
        "ended by SIGTERM: as 130, but whatever was not answered within `FATHOMS_STOP_TIMEOUT` seconds (10 by"
        " default) was not awaited",
    )


def amount(number: int, noun: str) -> str:
    """Format a count with its noun in the singular or plural: `1 question`, `2 questions`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


_OF_ONE = {"are": "is", "do": "does", "have": "has", "their": "its", "were": "was"}


def amount_of(number: int, what: str) -> str:
    """Format a count of what a phrase in the plural describes, such as `1 reply that does not end` for
    `replies that do not end`: of one, the first plural noun and the verbs get the singular."""
    if number == 1:
        what = re.sub(
            r"(\w*?)(ies|s)\b", lambda one: one[1] + ("y" if one[2] == "ies" else ""), what, count=1
        )
        what = re.sub(rf"\b({'|'.join(_OF_ONE)})\b", lambda word: _OF_ONE[word[1]], what)
    return f"{number} {what}"


def not_set(variable: str, why: str) -> str:
    """Say that an environment variable is not set, why it is needed, and how to set it."""
    return f"the environment variable {variable} is not set{why}; set it: export {variable}=..."


def suggest(word: str, names: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)`, or a list of the valid names where none is similar."""
    from difflib import get_close_matches

    names = list(names)
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f" (did you mean '{near[0]}'?)"
    return f" (available: {', '.join(names)})" if names else ""


def some_of(names: Sequence[str], shown: int = 5) -> str:
    """Return the first few names of a list, for a message."""
    return ", ".join(names[:shown]) + (", ..." if len(names) > shown else "")


class FathomsError(Exception):
    """Base class of all errors of fathoms. `exit_code` is the exit code of the command line."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED


class UsageError(FathomsError):
    """The command or call itself cannot work as given."""

    exit_code = ExitCode.UNUSABLE


class ConfigError(UsageError):
    """The configuration is not valid. The message gives `file:line:col` where it is known."""


class PluginRefusedError(UsageError):
    """A configuration from elsewhere names a component of another package, which was not imported."""


class MissingExtraError(FathomsError):
    """A package that belongs to an optional extra is not installed."""

    exit_code = ExitCode.UNUSABLE

    def __init__(self, package: str, extra: str, why: str) -> None:
        super().__init__(f"{why} needs the package '{package}': pip install 'fathoms[{extra}]'")


class MissingWeightsError(FathomsError):
    """Model weights that `fathoms models pull` downloads are not on this machine."""

    exit_code = ExitCode.UNUSABLE

    def __init__(self, *assets: str) -> None:
        named = " and ".join(f"'{asset}'" for asset in assets)
        super().__init__(
            f"the weights of {named} are not on this machine: run 'fathoms models pull {' '.join(assets)}'"
        )
        self.assets = assets


class ServerError(FathomsError):
    """A check before the run failed: a model server is unreachable, rejects the key or lacks the model.

    The message names the command or the setting that solves the problem.
    """

    exit_code = ExitCode.UNUSABLE


class DataError(FathomsError):
    """Questions, a manifest or a result file cannot be used."""


class QuestionsError(DataError):
    """Rows of a question file cannot be used. `complaints` holds all messages, the text the first ten."""

    _SHOWN: ClassVar[int] = 10

    def __init__(self, complaints: Sequence[str]) -> None:
        self.complaints = tuple(complaints)
        left = len(complaints) - self._SHOWN
        more = [f"... and {left} more"] if left > 0 else []
        super().__init__("\n".join([*complaints[: self._SHOWN], *more]))


class MissingFileError(DataError):
    """A file or folder that a call names is not there."""

    exit_code = ExitCode.UNUSABLE


class NotThereError(DataError):
    """A server has no file at an address of a data set."""


class ChecksumError(DataError):
    """A file's sha256 is not the pinned one."""

    def __init__(self, path: Path, expected: str, found: str) -> None:
        super().__init__(f"{path}: sha256 is {found}, expected {expected}; delete it and pull again")


class DocumentError(FathomsError):
    """One document could not be read.

    `reason` is one of `encrypted`, `empty`, `not-a-pdf`, `damaged`, `timeout`, `memory`, `crash`, `missing`.
    """

    _SHOWN: ClassVar[int] = 50

    def __init__(self, document: str, reason: str, detail: str) -> None:
        super().__init__(f"{document}: {detail}")
        self.document = document
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[DocumentError], tuple[str, str, str]]:
        """Say how a pickle makes the error again."""
        return DocumentError, (self.document, self.reason, self.detail)

    def named(self, document: str) -> DocumentError:
        """Return the error under the name that the document has in a corpus; parsers know only its file."""
        return DocumentError(document, self.reason, self.detail)

    @classmethod
    def stopping(cls, failures: Sequence[DocumentError]) -> DocumentError:
        """Make the error of documents that stop a command: it names all of them, and the option that goes on
        without them."""
        first, *others = failures
        lines = [first.detail, *map(str, others[: cls._SHOWN])]
        lines += [f"... and {len(others) - cls._SHOWN} more"] if len(others) > cls._SHOWN else []
        left_out = f"these {len(failures)} documents" if others else "this document"
        lines.append(f"ingest: {{on_error: skip}} (--set ingest.on_error=skip) goes on without {left_out}")
        return cls(first.document, first.reason, "\n".join(lines))


class ModelError(FathomsError):
    """A model or its server gave no usable reply.

    `status` is the status of its HTTP response, `retry_after` the seconds that the server asks to wait. Each
    is `None` where there was no response or it did not say.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class NoAnswerError(ModelError):
    """The server could not be reached, the connection broke off, or the server was silent for too long."""


class TimedOutError(NoAnswerError):
    """A call took longer, with all its attempts, than its time limit."""


class RateLimitError(ModelError):
    """Too many requests or tokens for now: status 429, or a vendor's own status for overload."""


class PromptTooLongError(ModelError):
    """Prompt and attachments are more than the model's context window or the vendor's limits allow."""


class ContentFilterError(ModelError):
    """A content filter of the vendor or of a gateway refused the request: `refusal` is its name for that.

    It is no failure of the service, so `Caller` makes a reply of it, which is counted as a refusal.
    """

    def __init__(self, message: str, refusal: str, *, status: int | None = None) -> None:
        super().__init__(message, status=status)
        self.refusal = refusal


class StoreError(FathomsError):
    """A run directory or the cache cannot be read or written."""


class OverBudgetError(FathomsError):
    """A command has spent more than it was allowed to (`--max-cost`)."""

    exit_code = ExitCode.OVER_BUDGET


def error_of(name: str, message: str) -> FathomsError:
    """Make the error of a class of this module again, which was raised in another process."""
    kind = globals()[name]
    if issubclass(kind, ModelError):
        return ModelError(message)
    error: FathomsError = kind.__new__(kind, message)  # `__init__` would format the message again
    return error
