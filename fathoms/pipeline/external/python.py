"""External pipelines in Python: a function that answers, or an object that also ingests documents.

    def answer(question: str) -> str | dict | fathoms.Answer: ...
    def ingest(documents: list[fathoms.pipeline.external.Source]) -> None: ...

Both may be async. `answer` gets only the text of the question, so that the same function that a service calls
can be measured; if it has a parameter named `files`, it also gets the names of the files that the question is
about. Neither sees a gold answer. `ingest` is called once, before the first question. Replies are never
cached.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, ValidationError

from fathoms.component import Loads
from fathoms.errors import ConfigError, FathomsError, ModelError
from fathoms.models.options import Options, resolved, secret_values, without_secrets
from fathoms.pipeline.external.answer import Answer
from fathoms.pipeline.external.calls import Functions, RaisedError
from fathoms.pipeline.external.external_pipeline import Ask, ExternalPipeline, PipelineReply
from fathoms.pipeline.external.mapping import complaint
from fathoms.safety.imported import source_sha256
from fathoms.safety.importing import importable, load
from fathoms.safety.masking import Mask
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Document, Question, TraceIds


@dataclass(frozen=True)
class Source:
    """A document as passed to `ingest`; `id` is the name that questions use for it."""

    id: str
    path: Path
    sha256: str


class Python(ExternalPipeline):
    """A Python function or object that runs in this process."""

    neutral: ClassVar[frozenset[str]] = frozenset({"max_concurrency"})
    loads: ClassVar[Mapping[str, Loads]] = {"target": Loads("code")}

    kind: Literal["python"] = "python"
    target: str = Field(pattern=r"^[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?$")
    """What answers: `package.module:name` of a function, of a class with a method `answer` or of an object
    with one, or `package.module` of a module with a function `answer`. The current directory and the folder
    of the configuration are searched first."""
    options: Options = Field(default_factory=dict)
    """Keyword arguments for a class. `${NAME}` in a text is replaced by that environment variable."""

    _folder: Path = PrivateAttr(default=Path())
    _loaded: Any = PrivateAttr(default=None)

    @property
    def name(self) -> str:
        """The target as it is written in the configuration, which names the pipeline."""
        return self.target

    def at(self, base: Path) -> Python:
        """Import the target, searching `base` too; raises ConfigError if it is missing or cannot answer."""
        placed = self.model_copy()
        placed._folder = base
        placed._loaded = placed._load()
        return placed

    def identity(self) -> dict[str, Any]:
        """Add the hash of the module's source as imported, and of the resolved options without secrets."""
        self._found()
        source = source_sha256(self.target.partition(":")[0])
        known = fingerprint(without_secrets(self.options))
        return {**super().identity(), "source": source, "resolved": known}

    def check(self) -> None:
        """Raise ConfigError where the target cannot answer or has changed since it was imported, or where an
        environment variable is not set."""
        self._loaded = self._load()
        resolved(self.options)

    def _found(self) -> Any:
        """The target as it was first imported, even if its file has changed since."""
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _load(self) -> Any:
        """Import the target; raises ConfigError where it has no way to answer."""
        found = load(self.target, self._folder)
        if self.options and not inspect.isclass(found):
            raise ConfigError(f"'{self.target}' is not a class, but only a class takes 'options'")
        has_answer = callable(getattr(found, "answer", None))
        if not has_answer and (inspect.isclass(found) or not callable(found)):
            raise ConfigError(f"'{self.target}' is not a function, and has no function 'answer'")
        return found

    def open(self, documents: Sequence[Document]) -> tuple[Ask, str]:
        """Create the object and let it ingest; raises FathomsError with the message of what it raised."""
        sources = [Source(item.id, item.path.resolve(), item.sha256) for item in documents]
        target, functions, mask = self._found(), Functions(), Mask(secret_values(self.options))
        with importable(self._folder), printed_aside():
            try:
                if inspect.isclass(target):
                    target = functions.call(target, **resolved(self.options))
                ingest = getattr(target, "ingest", None)
                if ingest is not None:
                    functions.call(ingest, sources)
            except RaisedError as error:
                message = mask.text(f"{self.target}: {error.failure.kind}: {error}")
                raise FathomsError(message) from None
        note = "no 'ingest': the pipeline reads its documents itself" if ingest is None else "ingested"
        return self._ask_function(getattr(target, "answer", target), functions, mask), note

    def _ask_function(self, answer: Callable[..., Any], functions: Functions, mask: Mask) -> Ask:
        """Return the function that asks one question."""
        takes_files = _has_files(answer)

        async def ask(question: Question, ids: TraceIds) -> PipelineReply:
            options = {"files": question.files} if takes_files else {}
            try:
                with importable(self._folder), printed_aside():
                    return PipelineReply(_answer(await functions.acall(answer, question.text, **options)))
            except RaisedError as error:
                raise error.masked(mask) from None
            except ModelError as error:
                raise ModelError(mask.text(str(error))) from None

        return ask


def _has_files(answer: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `files`; built-in functions may not reveal their parameters."""
    try:
        return "files" in inspect.signature(answer).parameters
    except (TypeError, ValueError):
        return False


def _answer(returned: Any) -> Answer:
    """Convert what a function returned; raises ModelError where it is not an answer."""
    if isinstance(returned, Answer):
        return returned
    if isinstance(returned, str):
        return Answer(answer=returned)
    if isinstance(returned, dict):
        _refuse_misspelt(returned)
    else:
        kind = "None" if returned is None else f"a value of type {type(returned).__name__}"
        raise ModelError(f"answer returned {kind}: expected a str, a dict or fathoms.Answer")
    try:
        return Answer.model_validate(returned)
    except ValidationError as error:
        raise ModelError(f"answer returned an invalid answer: {complaint(error)}") from error


def _refuse_misspelt(returned: dict[str, Any]) -> None:
    """Raise ModelError for a key that looks misspelt, because its value would be ignored."""
    names = Answer.model_fields.keys() - returned.keys()
    for key in returned.keys() - Answer.model_fields.keys():
        if near := get_close_matches(str(key), names, n=1, cutoff=0.85):
            raise ModelError(f"answer returned the key '{key}' (did you mean '{near[0]}'?)")


class _Aside:
    """A stdout that sends all output to stderr, except that of threads inside a `printed_aside` block."""

    def __init__(self, stdout: Any) -> None:
        self._stdout = stdout
        self._threads: list[int] = []

    def __getattr__(self, name: str) -> Any:
        is_ours = not self._threads or threading.get_ident() in self._threads
        return getattr(self._stdout if is_ours else sys.stderr, name)

    def enter(self) -> None:
        """Begin a block in this thread."""
        self._threads.append(threading.get_ident())

    def leave(self) -> None:
        """End a block; after the last one, the original stdout is restored."""
        self._threads.remove(threading.get_ident())
        if not self._threads and sys.stdout is self:
            sys.stdout = self._stdout


_lock = threading.Lock()
_wrappers: list[_Aside] = []
"""One wrapper per stdout that ever existed, never freed: `print` of Python 3.11 holds no reference to the
stdout that it writes to, and a thread that prints while a block ends would crash the process."""


@contextmanager
def printed_aside() -> Iterator[None]:
    """Send what other threads print to stderr while the block lasts; blocks may overlap."""
    with _lock:
        aside = next((aside for aside in _wrappers if sys.stdout in (aside, aside._stdout)), None)
        if aside is None:
            _wrappers.append(aside := _Aside(sys.stdout))
        sys.stdout = aside
        aside.enter()
    try:
        yield
    finally:
        with _lock:
            aside.leave()
