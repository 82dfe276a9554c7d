"""Mapping a service's JSON to an answer, with a JSONPath (RFC 9535) for each part of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from fathoms.errors import ModelError
from fathoms.models.chat.closed_errors import Fault, refusal_in, without_lone_surrogates
from fathoms.pipeline.external.answer import Answer
from fathoms.safety.masking import known_mask

if TYPE_CHECKING:
    from jsonpath import JSONPath

_SHOWN = 10
_FAILED = ("failed", "failure", "error")
"""Values of `status` in a reply that say that the service failed."""
_WHOLE = TypeAdapter(int)


@lru_cache(maxsize=256)
def compiled(path: str) -> JSONPath:
    """Compile a path, once for all uses; raises ValueError where it is not a valid JSONPath."""
    from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

    try:
        parsed = JSONPathEnvironment(strict=True).compile(path)
    except JSONPathError as error:  # `str(error)` can fail itself
        raise ValueError(f"not a JSONPath such as $.data.answer: {error.args[0]}") from error
    assert isinstance(parsed, JSONPath)  # strict mode refuses compound paths, which RFC 9535 lacks
    return parsed


def _valid(path: str) -> str:
    """Return the path if it is valid."""
    compiled(path)
    return path


JsonPath = Annotated[str, AfterValidator(_valid)]


def first_at(data: Any, path: str | None) -> Any:
    """The first value at a path that is not null; `None` where there is none, or no path."""
    if path is None:
        return None
    matches = compiled(path).findall(data)
    return next((match for match in matches if match is not None), None)


def _text(data: Any, path: str | None) -> Any:
    """The value at a path; where the path can match several places, their texts are joined."""
    if path is None:
        return None
    if compiled(path).singular_query():
        return first_at(data, path)
    matches = [match for match in compiled(path).findall(data) if isinstance(match, str)]
    return "".join(matches) if matches else None


def _many(data: Any, path: str) -> Any:
    """The list at a path that names one place, or all matches of a path that can match several; `None` if
    unknown.

    Where a path of the second kind matches nothing, the result is an empty list if the parent of its matches
    exists.
    """
    query = compiled(path)
    if query.singular_query():
        return first_at(data, path)
    if matches := query.findall(data):
        return matches
    return None if first_at(data, _stem(path)) is None else []


@lru_cache(maxsize=256)
def _stem(path: str) -> str:
    """The longest prefix of a path that names a single place: `$.a` for `$.a[*].b`."""
    return next(prefix for prefix in reversed(prefixes(path)) if compiled(prefix).singular_query())


@lru_cache(maxsize=256)
def prefixes(path: str) -> tuple[str, ...]:
    """The paths to each step on the way of a path, from `$` to the path itself."""
    from jsonpath import JSONPath

    whole = compiled(path)
    return tuple(
        str(JSONPath(env=whole.env, segments=whole.segments[:n])) for n in range(len(whole.segments) + 1)
    )


def members(data: Any, path: str) -> list[dict[str, Any]]:
    """The objects in the list at a path."""
    found = _many(data, path)
    return [member for member in found if isinstance(member, dict)] if isinstance(found, list) else []


class _Paths(BaseModel):
    """Base class of mappings with one JSONPath per key; null means that the part is not looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class _Each(_Paths):
    """A list, and a JSONPath for each part of its objects. Members that are bare texts are used as is."""

    each: JsonPath
    """JSONPath of the list, or of its members."""

    def read(self, data: Any, shift: int) -> Any:
        """Read the members in the format of `fathoms.Answer`, adding `shift` to their page numbers."""
        found = _many(data, self.each)
        if not isinstance(found, list):
            return found  # `None`, or a value that validation will refuse
        return [self._member(member, shift) if isinstance(member, dict) else member for member in found]

    def _member(self, member: dict[str, Any], shift: int) -> dict[str, Any]:
        """Read the parts of one member."""
        paths = self.model_dump(exclude={"each"})
        parts = {name: first_at(member, path) for name, path in paths.items()}
        if "page" in parts:
            parts["page"] = _shifted(parts["page"], shift)
        if isinstance(parts.get("pages"), list):
            parts["pages"] = [_shifted(page, shift) for page in parts["pages"]]
        return {name: part for name, part in parts.items() if part is not None}


def _list_at(value: Any) -> Any:
    """Accept a bare path as that of the list."""
    return {"each": value} if isinstance(value, str) else value


class Contexts(_Each):
    """JSONPaths of the retrieved texts that the answer was made from."""

    each: JsonPath = "$.contexts"
    """JSONPath of the list, or of its members."""
    text: JsonPath = "$.text"
    """Within a member: the text."""
    document: JsonPath = "$.document"
    """Within a member: the name of the document, as the questions name it."""
    page: JsonPath | None = "$.page"
    """Within a member: the page."""
    pages: JsonPath | None = "$.pages"
    """Within a member: the list of pages, where there are several."""
    score: JsonPath | None = "$.score"
    """Within a member: the retrieval score; higher is better."""


class Rounds(_Paths):
    """JSONPaths of the rounds of retrieval, for services that search several times."""

    each: JsonPath = "$.rounds"
    """JSONPath of the list, or of its members."""
    query: JsonPath | None = "$.query"
    """Within a round: the search text."""
    contexts: Annotated[Contexts, BeforeValidator(_list_at)] = Contexts()
    """Within a round: the texts that it found: a JSONPath of the list, or a mapping."""
    calls: JsonPath | None = "$.calls"
    """Within a round: the number of calls to models that it took."""

    def read(self, data: Any, shift: int) -> Any:
        """Read the rounds in the format of `fathoms.Answer`, adding `shift` to their page numbers."""
        found = _many(data, self.each)
        if not isinstance(found, list):
            return found  # `None`, or a value that validation will refuse
        return [self._round(one, shift) if isinstance(one, dict) else one for one in found]

    def _round(self, data: dict[str, Any], shift: int) -> dict[str, Any]:
        parts = {
            "query": first_at(data, self.query),
            "contexts": self.contexts.read(data, shift),
            "calls": first_at(data, self.calls),
        }
        return {name: part for name, part in parts.items() if part is not None}


class Citations(_Each):
    """JSONPaths of the places that the answer cites."""

    each: JsonPath = "$.citations"
    """JSONPath of the list, or of its members."""
    document: JsonPath = "$.document"
    """Within a member: the name of the document, as the questions name it."""
    page: JsonPath | None = "$.page"
    """Within a member: the page."""
    quote: JsonPath | None = "$.quote"
    """Within a member: the quoted words."""


class Tokens(_Paths):
    """JSONPaths of the token counts."""

    prompt_tokens: JsonPath | None = "$.usage.prompt_tokens"
    """Tokens of the prompt."""
    completion_tokens: JsonPath | None = "$.usage.completion_tokens"
    """Tokens of the completion."""
    cached_tokens: JsonPath | None = "$.usage.cached_tokens"
    """Prompt tokens that were read from a cache; included in the prompt tokens."""
    cache_write_tokens: JsonPath | None = "$.usage.cache_write_tokens"
    """Prompt tokens that were written to a cache; included in the prompt tokens."""
    reasoning_tokens: JsonPath | None = "$.usage.reasoning_tokens"
    """Completion tokens that were spent on reasoning; included in the completion tokens."""

    def read(self, data: Any) -> dict[str, Any] | None:
        """Read the counts; `None` where there are none."""
        found = {name: first_at(data, path) for name, path in self.model_dump().items()}
        return {name: count for name, count in found.items() if count is not None} or None


class Response(_Paths):
    """JSONPaths of the parts of an answer in the response of a service; null leaves a part out."""

    answer: JsonPath = "$.answer"
    """Text of the answer; where several places match, their texts are joined."""
    contexts: Annotated[Contexts | None, BeforeValidator(_list_at)] = Contexts()
    """The retrieved contexts: a JSONPath of the list, or a mapping."""
    rounds: Annotated[Rounds | None, BeforeValidator(_list_at)] = Rounds()
    """The rounds of retrieval: a JSONPath of the list, or a mapping."""
    citations: Annotated[Citations | None, BeforeValidator(_list_at)] = Citations()
    """The places that the answer cites: a JSONPath of the list, or a mapping."""
    usage: Tokens | None = Tokens()
    """Token counts."""
    reasoning: JsonPath | None = "$.reasoning"
    """The model's reasoning."""
    stop_reason: JsonPath | None = "$.stop_reason"
    """Why the model stopped generating."""
    refusal: JsonPath | None = "$.refusal"
    """The reason where the model or a filter refused to answer."""
    model: JsonPath | None = "$.model"
    """The model that answered."""
    cost: JsonPath | None = "$.cost"
    """Cost of the answer in US dollars."""
    error: JsonPath | None = "$.error"
    """Error that the service reports. Any value counts as a failure, except null, false, 0 and empty ones."""

    def parts(self, data: Any, *, first_page: int = 1) -> dict[str, Any]:
        """Read the parts of an answer from `data`, unvalidated; raises ModelError for a reported error."""
        if not isinstance(data, dict | list):
            raise ModelError(f"expected a JSON object, but this is {known_mask().text(str(data))[:100]!r}")
        if error := first_at(data, self.error):
            if refusal := reported_refusal(error, None):
                return {"answer": "", "refusal": refusal}
            message = error.get("message") if isinstance(error, dict) else None
            raise ModelError(f"it reports an error: {known_mask().text(str(message or error))[:500]}")
        if isinstance(data, dict) and (data.get("success") is False or data.get("status") in _FAILED):
            said = data.get("message") or data.get("detail") or "no message"
            raise ModelError(f"it says that it failed: {known_mask().text(str(said))[:500]}")
        shift = 1 - first_page
        found = {
            "answer": _text(data, self.answer),
            "reasoning": _text(data, self.reasoning),
            "contexts": self.contexts and self.contexts.read(data, shift),
            "rounds": self.rounds and self.rounds.read(data, shift),
            "citations": self.citations and self.citations.read(data, shift),
            "usage": self.usage and self.usage.read(data),
        }
        for name in ("stop_reason", "refusal", "model", "cost"):
            part = first_at(data, getattr(self, name))
            found[name] = None if isinstance(part, str) and not part.strip() else part
        return {name: part for name, part in found.items() if part is not None}

    def to_answer(self, parts: Mapping[str, Any], data: Any) -> Answer:
        """Return the answer with these parts; raises ModelError that names the path or part that is wrong.

        `data` is what the parts were read from. A refusal needs no answer text.
        """
        parts = {name: _without_lone_surrogates(part) for name, part in parts.items()}
        if parts.get("stop_reason") == "content_filter":
            parts.setdefault("refusal", "content_filter")
        if "refusal" in parts:
            parts.setdefault("answer", "")
        if "answer" not in parts:
            raise ModelError(f"no answer at {self.answer}: {_there(data)}")
        try:
            return Answer.model_validate(parts)
        except ValidationError as error:
            part = next(iter(error.errors(include_url=False)[0]["loc"]), "answer")
            advice = "" if part == "answer" else f"; 'response: {{{part}: null}}' leaves it out"
            raise ModelError(
                f"its answer does not have the right format: {complaint(error)}{advice}"
            ) from error


def reported_refusal(error: Any, status: int | None) -> str | None:
    """Return the name of a content filter's refusal that a service passes on from the API behind it, as the
    value of its `error`; `None` for other errors. `status` is that of the response, `None` if it was 200."""
    details = error if isinstance(error, dict) else {"message": error}
    words = {name: str(details.get(name) or "") for name in ("message", "code", "type")}
    code = f"{words['code']} {words['type']}".strip() or "error"
    return refusal_in(Fault(words["message"], status, code))


def _without_lone_surrogates(value: Any) -> Any:
    """Remove lone surrogates from all texts of a value, because no UTF-8 file can hold them."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, dict):
        return {key: _without_lone_surrogates(child) for key, child in value.items()}
    return [_without_lone_surrogates(child) for child in value] if isinstance(value, list) else value


def complaint(error: ValidationError) -> str:
    """The first validation error with its place: `contexts.0.page: Input should be ...`."""
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _shifted(page: Any, shift: int) -> Any:
    """A page number counted from 1; anything but an integer is returned as it is and refused later."""
    try:
        return _WHOLE.validate_python(page) + shift
    except ValidationError:
        return page


def _there(data: Any) -> str:
    """Describe what a response holds in place of the answer."""
    if isinstance(data, list):
        return f"a list of {len(data)}"
    keys = ", ".join(f"'{key}'" for key in list(data)[:_SHOWN]) or "none"
    return f"the available keys are {keys}{', ...' if len(data) > _SHOWN else ''}"
