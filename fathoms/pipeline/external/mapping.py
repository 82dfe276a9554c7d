"""From a service's JSON to an answer: where each part of it stands, as JSONPath (RFC 9535)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from fathoms.errors import ModelError
from fathoms.models.chat.closed_errors import without_halves
from fathoms.pipeline.external.answer import Answer
from fathoms.safety.masking import known_mask

if TYPE_CHECKING:
    from jsonpath import JSONPath

_SHOWN = 10
_WHOLE = TypeAdapter(int)


@lru_cache(maxsize=256)
def _compiled(path: str) -> JSONPath:
    """The path, ready; raises ValueError where it is none."""
    from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

    try:
        made = JSONPathEnvironment(strict=True).compile(path)
    except JSONPathError as error:  # its text cannot always be made
        raise ValueError(f"no JSONPath such as $.data.answer: {error.args[0]}") from error
    assert isinstance(made, JSONPath)  # two joined into one are not of the standard
    return made


def _valid(path: str) -> str:
    """The path itself, once it is known to be one."""
    _compiled(path)
    return path


JsonPath = Annotated[str, AfterValidator(_valid)]


def _one(data: Any, path: str | None) -> Any:
    """The first value at a path that is not null; `None` where there is none, or no path."""
    if path is None:
        return None
    matches = _compiled(path).findall(data)
    return next((match for match in matches if match is not None), None)


def _text(data: Any, path: str | None) -> Any:
    """The value at a path; texts at a path of several places are joined."""
    if path is None:
        return None
    if _compiled(path).singular_query():
        return _one(data, path)
    matches = [match for match in _compiled(path).findall(data) if isinstance(match, str)]
    return "".join(matches) if matches else None


def _many(data: Any, path: str) -> Any:
    """The list at a path of one place, or all that is at a path of several; `None` where nothing is told.

    Several places without any match are an empty list where the list they are looked for in is there.
    """
    compiled = _compiled(path)
    if compiled.singular_query():
        return _one(data, path)
    if matches := compiled.findall(data):
        return matches
    return None if _one(data, _stem(path)) is None else []


@lru_cache(maxsize=256)
def _stem(path: str) -> str:
    """The beginning of a path as far as it names one place: `$.a` of `$.a[*].b`."""
    from jsonpath import JSONPath

    whole = _compiled(path)
    stems = (JSONPath(env=whole.env, segments=whole.segments[:n]) for n in range(len(whole.segments), -1, -1))
    return next(str(stem) for stem in stems if stem.singular_query())


class _Paths(BaseModel):
    """Keys with a path each; null where a part is not to be looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class _Each(_Paths):
    """A list, and where in each of its objects the parts stand; a bare text among them is one as it is."""

    each: JsonPath
    """The list, or the places of its members."""

    def read(self, data: Any, shift: int) -> Any:
        """The members in the shape of `fathoms.Answer`, `shift` added to their pages."""
        found = _many(data, self.each)
        if not isinstance(found, list):
            return found  # nothing, or what will be refused
        return [self._member(member, shift) if isinstance(member, dict) else member for member in found]

    def _member(self, member: dict[str, Any], shift: int) -> dict[str, Any]:
        """What is told of one."""
        paths = self.model_dump(exclude={"each"})
        parts = {name: _one(member, path) for name, path in paths.items()}
        if "page" in parts:
            parts["page"] = _shifted(parts["page"], shift)
        if isinstance(parts.get("pages"), list):
            parts["pages"] = [_shifted(page, shift) for page in parts["pages"]]
        return {name: part for name, part in parts.items() if part is not None}


class Contexts(_Each):
    """The texts that the answer was made from."""

    each: JsonPath = "$.contexts"
    """The list, or the places of its members."""
    text: JsonPath = "$.text"
    """In each: the text itself."""
    document: JsonPath = "$.document"
    """In each: the file's name, as the questions name it."""
    page: JsonPath | None = "$.page"
    """In each: the page."""
    pages: JsonPath | None = "$.pages"
    """In each: the pages, where there are several."""
    score: JsonPath | None = "$.score"
    """In each: how well it fits; higher is better."""


class Citations(_Each):
    """The places that the answer names."""

    each: JsonPath = "$.citations"
    """The list, or the places of its members."""
    document: JsonPath = "$.document"
    """In each: the file's name, as the questions name it."""
    page: JsonPath | None = "$.page"
    """In each: the page."""
    quote: JsonPath | None = "$.quote"
    """In each: the words that are cited."""


class Tokens(_Paths):
    """What the service counted."""

    prompt_tokens: JsonPath | None = "$.usage.prompt_tokens"
    """Tokens that were read."""
    completion_tokens: JsonPath | None = "$.usage.completion_tokens"
    """Tokens that were written."""
    cached_tokens: JsonPath | None = "$.usage.cached_tokens"
    """Tokens that were read from a cache, among those read."""
    cache_write_tokens: JsonPath | None = "$.usage.cache_write_tokens"
    """Tokens that were put into a cache, among those read."""
    reasoning_tokens: JsonPath | None = "$.usage.reasoning_tokens"
    """Tokens that were thought, among those written."""

    def read(self, data: Any) -> dict[str, Any] | None:
        """The counts there are."""
        found = {name: _one(data, path) for name, path in self.model_dump().items()}
        return {name: count for name, count in found.items() if count is not None} or None


def _list_at(value: Any) -> Any:
    """A path alone is that of the list."""
    return {"each": value} if isinstance(value, str) else value


class Response(_Paths):
    """Where the parts of an answer stand in what a service sends; null leaves a part out."""

    answer: JsonPath = "$.answer"
    """The answer's text; texts at several places are joined."""
    contexts: Annotated[Contexts | None, BeforeValidator(_list_at)] = Contexts()
    """What was retrieved."""
    citations: Annotated[Citations | None, BeforeValidator(_list_at)] = Citations()
    """What the answer cites."""
    usage: Tokens | None = Tokens()
    """Tokens."""
    reasoning: JsonPath | None = "$.reasoning"
    """What the model thought."""
    stop_reason: JsonPath | None = "$.stop_reason"
    """Why the model stopped."""
    refusal: JsonPath | None = "$.refusal"
    """Why there is no real answer, where it was refused."""
    model: JsonPath | None = "$.model"
    """The model that answered."""
    cost: JsonPath | None = "$.cost"
    """What the answer cost."""
    error: JsonPath | None = "$.error"
    """What went wrong; whatever stands here, but for null, false and nothing, is a failure."""

    def parts(self, data: Any, *, first_page: int = 1) -> dict[str, Any]:
        """The parts that `data` holds, not validated yet; raises ModelError for what went wrong there."""
        if not isinstance(data, dict | list):
            raise ModelError(f"want a JSON object, this is {known_mask().text(str(data))[:100]!r}")
        if error := _one(data, self.error):
            raise ModelError(f"it reports an error: {_message(error)}")
        shift = 1 - first_page
        found = {
            "answer": _text(data, self.answer),
            "reasoning": _text(data, self.reasoning),
            "contexts": self.contexts and self.contexts.read(data, shift),
            "citations": self.citations and self.citations.read(data, shift),
            "usage": self.usage and self.usage.read(data),
        }
        for name in ("stop_reason", "refusal", "model", "cost"):
            part = _one(data, getattr(self, name))
            found[name] = None if isinstance(part, str) and not part.strip() else part
        return {name: part for name, part in found.items() if part is not None}

    def made(self, parts: Mapping[str, Any], data: Any) -> Answer:
        """The answer of these parts; raises ModelError that names the path or the part that is wrong.

        `data` is what they were read from. A refusal needs no text.
        """
        parts = {name: _without_halves(part) for name, part in parts.items()}
        if parts.get("stop_reason") == "content_filter":
            parts.setdefault("refusal", "content_filter")
        if "refusal" in parts:
            parts.setdefault("answer", "")
        if "answer" not in parts:
            raise ModelError(f"no answer at {self.answer}: {_there(data)}")
        try:
            return Answer.model_validate(parts)
        except ValidationError as error:
            raise ModelError(
                f"its answer has not the right shape: {complaint(error)}{_way_out(error)}"
            ) from error


def _without_halves(value: Any) -> Any:
    """A value whose texts have no half characters (lone surrogates), which no file could hold."""
    if isinstance(value, str):
        return without_halves(value)
    if isinstance(value, dict):
        return {key: _without_halves(child) for key, child in value.items()}
    return [_without_halves(child) for child in value] if isinstance(value, list) else value


def complaint(error: ValidationError) -> str:
    """The first complaint: `contexts.0.page: Input should be ...`."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _way_out(error: ValidationError) -> str:
    """How to do without the part that is wrong, where an answer can."""
    part = next(iter(error.errors(include_url=False)[0]["loc"]), "answer")
    return "" if part == "answer" else f"; 'response: {{{part}: null}}' leaves it out"


def _shifted(page: Any, shift: int) -> Any:
    """A page as one counts from 1; what is no whole number is left to be refused."""
    try:
        return _WHOLE.validate_python(page) + shift
    except ValidationError:
        return page


def _message(error: Any) -> str:
    """What an error says, from the object that it mostly is."""
    told = error.get("message") if isinstance(error, dict) else None
    return known_mask().text(str(told or error))[:500]


def _there(data: Any) -> str:
    """What there is in place of the answer."""
    if isinstance(data, list):
        return f"a list of {len(data)}"
    keys = ", ".join(f"'{key}'" for key in list(data)[:_SHOWN]) or "none"
    return f"the keys there are: {keys}{', ...' if len(data) > _SHOWN else ''}"
