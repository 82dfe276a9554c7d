"""Reading YAML configurations into validated models, with every error located in the file.

This module knows no concrete component: `component.py` says what one is, and `registry.py` where each is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fathoms.component import kind_of
from fathoms.errors import ConfigError, DataError, UsageError, suggest
from fathoms.registry import models_in, without_plugins
from fathoms.safety.inputs import read_text
from fathoms.safety.masking import is_key_in_path, is_secret_name, without_shapes

Key = tuple[str | int, ...]
_SET = "--set "
M = TypeVar("M", bound=BaseModel)


def import_target(target: str) -> Any:
    """Import the object that `package.module:name` names; raises ConfigError where there is none."""
    module, _, name = target.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"cannot import '{target}' (expected package.module:name): {error}") from error


@dataclass(frozen=True)
class Source:
    """The data of one YAML file, and the place of each key in it."""

    name: str
    data: dict[str, Any]
    places: dict[Key, str] = field(default_factory=dict)

    def at(self, key: Key) -> str:
        """The place of a key, or of its nearest parent that is written in the file."""
        while key and key not in self.places:
            key = key[:-1]
        return self.places.get(key, self.name)

    def complain(self, key: Key, message: str) -> ConfigError:
        """Make the error for a key, with its place in the file."""
        return ConfigError(f"{self.at(key)}: {message}")


LARGEST_CONFIG = 2 * 2**20
"""The largest configuration, manifest or exemplar file in bytes; parsing YAML is slow."""
_FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader of libyaml, where PyYAML was built with it, for the files that come with fathoms. It is ten
times as fast, but a file with very deep nesting crashes the process, so it reads no other files."""
_OWN_FILES = Path(__file__).parent
_DEEPEST = 50
"""The most levels of a configuration."""
_ODD_NUMBER = re.compile(r"[-+]?0[0-9_]+(\.[0-9_]*)?|.*:.*")
"""Numbers that YAML reads differently from what people mean: `010` is 8, and `1:30` is 90."""


def read_yaml(path: Path) -> Source:
    """Read a YAML mapping with the safe loader; raises ConfigError with file:line:col."""
    try:
        text = read_text(path, LARGEST_CONFIG)
    except DataError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            from difflib import get_close_matches

            siblings = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
            near = get_close_matches(path.name, siblings, n=1, cutoff=0.6)
            meant = f" (did you mean '{path.parent / near[0]}'?)" if near else ""
            raise ConfigError(f"{path}: no such file{meant}") from None
        raise ConfigError(str(error)) from error
    data, places = parse_yaml(text, str(path))
    if not isinstance(data, dict):
        raise ConfigError(f"{path}:1:1: expected a mapping of keys, but this is {_noun(data)}")
    return Source(str(path), data, places)


def parse_yaml(text: str, name: str) -> tuple[Any, dict[Key, str]]:
    """Parse a YAML text into its value and the place of every key; raises ConfigError with name:line:col."""
    places: dict[Key, str] = {}
    try:
        _check_depth(text, name)
        loader: Any = _FAST_LOADER if Path(name).is_relative_to(_OWN_FILES) else yaml.SafeLoader
        root = yaml.compose(text, Loader=loader)
        if root is not None:
            _walk(root, (), name, places)
        return yaml.load(text, Loader=loader), places
    except yaml.MarkedYAMLError as error:
        where = _at(name, error.problem_mark or error.context_mark)
        raise ConfigError(f"{where}: not valid YAML: {error.problem or error.context}") from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested too deeply for a configuration") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{name}: not valid YAML: {str(error).splitlines()[0]}") from error


def _check_depth(text: str, name: str) -> None:
    """Raise ConfigError where a text is nested too deeply. Only libyaml looks, which reads one event at a
    time: the loader in Python first takes time that grows with the square of the depth."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_FAST_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _DEEPEST:
                raise ConfigError(f"{_at(name, event.start_mark)}: nested too deeply for a configuration")
    except (yaml.YAMLError, ValueError):  # which the loader then explains
        return


def _walk(node: yaml.Node, key: Key, name: str, places: dict[Key, str]) -> None:
    """Record the place of every key. The targets of aliases are counted at every use, so that a small file
    cannot expand to a huge one."""
    places.setdefault(key, _place(node, name))
    if len(places) > 10_000 or len(key) > _DEEPEST:
        raise ConfigError(f"{places[key]}: too many keys or nested too deeply for a configuration")
    if isinstance(node, yaml.MappingNode):
        for child, value in node.value:
            place = _place(child, name)
            if child.tag != "tag:yaml.org,2002:str":
                raise ConfigError(f"{place}: a key must be text: put '{_written(child)}' in quotes")
            _check_scalar(child, place)
            here = (*key, str(child.value))
            if here in places:
                raise ConfigError(f"{place}: '{child.value}' occurs twice (first at {places[here]})")
            places[here] = place
            _walk(value, here, name, places)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _walk(value, (*key, index), name, places)
    else:
        _check_scalar(node, _place(node, name))


def _at(name: str, mark: Any) -> str:
    """The place of a mark of PyYAML, which it does not always have, as name:line:col."""
    return f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name


def _place(node: yaml.Node, name: str) -> str:
    """The place where a node begins, as name:line:column."""
    return f"{name}:{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _written(node: yaml.Node) -> str:
    """A key as it is written, shortened for a message."""
    return str(node.value)[:60] if isinstance(node, yaml.ScalarNode) else "a list or a mapping"


def _check_scalar(node: yaml.Node, place: str) -> None:
    """Refuse scalars that YAML reads in another way than people, and characters that cannot be stored."""
    text, tag = str(node.value), node.tag.rpartition(":")[2]
    if tag == "str" and (bad := re.search("[\0\ud800-\udfff]", text)):
        what = "a NUL" if bad[0] == "\0" else f"an unpaired surrogate (U+{ord(bad[0]):04X})"
        raise ConfigError(f"{place}: this text contains {what}: remove it")
    if tag in ("int", "float") and _ODD_NUMBER.fullmatch(text):
        raise ConfigError(
            f"{place}: YAML reads '{text[:40]}' as a different number (octal or base 60): write it"
            " without leading zeros and colons, or put it in quotes"
        )


def override(source: Source, settings: Iterable[str]) -> Source:
    """Apply `--set a.b=c` settings. The value is parsed as YAML, and missing parent keys are created."""
    data = deepcopy(source.data)
    places = dict(source.places)
    for setting in settings:
        path, equals, raw = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            shown = without_shapes(setting)
            raise UsageError(f"--set {shown}: expected KEY=VALUE, for example retrieve.top_k=5")
        value, _ = parse_yaml(raw, f"{_SET}{path}")
        put(data, keys, value, partial(_setting_error, path))
        places = {k: v for k, v in places.items() if k[: len(keys)] != tuple(keys)}
        for depth in range(1, len(keys) + 1):
            places.setdefault(tuple(keys[:depth]), f"{_SET}{path}")
    return Source(source.name, data, places)


def _setting_error(path: str, why: str) -> UsageError:
    """Make the error of a setting of a path of keys."""
    return UsageError(f"--set {path}: {why}")


SHORT_FORMS = {"data": "name", "contexts": "each", "rounds": "each", "citations": "each"}
"""Keys whose mapping may be written as a text, and the key of the mapping for which the text stands."""


def put(data: dict[str, Any], keys: Sequence[str], value: Any, error: Callable[[str], Exception]) -> None:
    """Set the value under a path of keys in `data`, in place; missing mappings on the way are made, and short
    forms are written out. Raises the `error` of a sentence where a key on the way has no keys."""
    for key in keys[:-1]:
        child = data.setdefault(key, {})
        if isinstance(child, str) and key in SHORT_FORMS:
            child = data[key] = {SHORT_FORMS[key]: child}
        if not isinstance(child, dict):
            raise error(f"'{key}' is {_noun(child)} and has no keys of its own")
        data = child
    data[keys[-1]] = value


def validate(model: type[M], source: Source, *, trusted: bool = True) -> M:
    """Build the model, or raise one ConfigError that lists every problem with its place. For a source that is
    not `trusted`, no plug-in is imported: PluginRefusedError says which one would be."""
    data = _with_kinds(model, source)
    try:
        with nullcontext() if trusted else without_plugins():
            validated = model.model_validate(data)
    except ValidationError as error:
        lines = dict.fromkeys(_sentence(model, source, detail) for detail in error.errors())
        raise ConfigError("\n".join(lines)) from error
    except RecursionError as error:
        raise ConfigError(f"{source.name}: nested too deeply") from error
    if lines := {f"{source.at(key)}: {dotted(key)}: {what}": None for key, what in misread(validated, data)}:
        raise ConfigError("\n".join(lines))
    return validated


def dotted(key: Key) -> str:
    """Write a key with dots between its parts."""
    return ".".join(map(str, key))


def misread(parsed: Any, written: Any, key: Key = ()) -> Iterator[tuple[Key, str]]:
    """Yield the values that pydantic converted where it should not have, each with a message.

    Pydantic accepts `true` for 1, `"05"` for 5 and `"yes"` for true, and infinite numbers.
    """
    if isinstance(parsed, BaseModel) and isinstance(written, Mapping):
        for name in parsed.model_fields_set:
            if name in written:
                yield from misread(getattr(parsed, name), written[name], (*key, name))
    elif isinstance(parsed, Mapping) and isinstance(written, Mapping):
        for name, value in parsed.items():
            if name in written:
                yield from misread(value, written[name], (*key, str(name)))
    elif (
        isinstance(parsed, list | tuple) and isinstance(written, list | tuple) and len(parsed) == len(written)
    ):
        for index, pair in enumerate(zip(parsed, written, strict=True)):
            yield from misread(*pair, (*key, index))
    elif isinstance(parsed, bool):
        if not isinstance(written, bool):
            yield key, f"expected true or false (this is {_short(written)})"
    elif isinstance(parsed, int | float):
        if isinstance(written, bool) or _is_number(written):
            yield key, f"expected a number (this is {_short(written)})"
        elif not abs(parsed) < inf:
            yield key, f"expected a finite number (this is {parsed})"


def _is_number(written: Any) -> bool:
    """Whether this is a number in quotes. Other texts are allowed: the model may parse a unit in them."""
    try:
        return isinstance(written, str) and bool(repr(float(written)))
    except ValueError:
        return False


def _short(value: Any) -> str:
    """A value as shown in a message, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _with_kinds(model: type[BaseModel], source: Source) -> dict[str, Any]:
    """Return the data, adding the default's `kind` to sections that exist only because of --set."""
    data = dict(source.data)
    for name, info in model.model_fields.items():
        section, kind = data.get(name), getattr(info.default, "kind", None)
        by_option = source.places.get((name,), "").startswith(_SET)
        if by_option and kind is not None and isinstance(section, dict) and "kind" not in section:
            data[name] = {"kind": kind, **section}
    return data


_EXAMPLES = {
    "data": "data: {questions: questions.json, documents: pdfs}",
    "chunk": "chunk: {kind: sentence, size: 96}",
    "embed": "embed: {kind: onnx, model: minilm-l6-v2}",
    "retrieve": "retrieve: {kind: dense, top_k: 3}",
    "generate": "generate: {kind: embedded, model: smollm2-135m}",
    "pipeline": "pipeline: {kind: http, url: 'http://127.0.0.1:8000/answer'}",
    "judge": "judge: {kind: llm, model: {kind: openai, model: gpt-4.1-mini}}",
}
"""How the parts of a configuration are written that people forget."""


def _example(loc: tuple[int | str, ...]) -> str:
    """Show how a missing part of a configuration is written, if it is a whole part."""
    found = _EXAMPLES.get(str(loc[0])) if len(loc) == 1 else None
    return f", for example: {found}" if found else ""


def _sentence(model: type[BaseModel], source: Source, detail: ErrorDetails) -> str:
    """Turn one pydantic error into a message of ours, with its place."""
    loc = detail["loc"]
    key = _yaml_key(source.data, loc)
    name = dotted(key) or "the configuration"
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        names = _field_names(model, loc[:-1])
        message = f"unknown key '{key[-1]}'{suggest(str(key[-1]), names)}"
    elif kind == "missing":
        message = f"'{'.'.join(map(str, (*key, loc[-1])))}' is missing{_example(loc)}"
    elif kind == "union_tag_invalid":
        tags = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
        key = (*key, "kind")
        message = f"unknown kind '{context['tag']}' for {name}{suggest(context['tag'], tags)}"
    elif kind == "union_tag_not_found":
        message = f"'{name}' needs a 'kind'{_example(loc)}"
    else:
        text = detail["msg"].removeprefix("Value error, ")
        message = f"{name}: {text[:1].lower()}{text[1:]}"
        given = detail["input"]
        if kind == "literal_error" and isinstance(given, str):
            meant = suggest(given, re.findall(r"'([^']*)'", context["expected"]))
            message += meant if "did you mean" in meant else ""
        if isinstance(given, str | int | float | bool) and "did you mean" not in message:
            message += "" if _may_be_secret(key, given) else f" (this is {_short(given)})"
    return without_shapes(f"{source.at(key)}: {message}")


def _may_be_secret(key: Key, given: Any) -> bool:
    """Whether a rejected value must not be shown: a password in a URL, a key, or text where the name of an
    environment variable belongs."""
    if not isinstance(given, str):
        return False
    named = any(is_secret_name(str(part).removesuffix("_env")) for part in key)
    hidden = without_shapes(given) != given or is_key_in_path(given)
    return named or hidden or ("@" in given and (":" in given or "/" in given))


def _yaml_key(data: Any, loc: Key) -> Key:
    """Convert a pydantic location into the path in the file, which has no union tags."""
    key: list[str | int] = []
    for part in loc:
        if isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        elif isinstance(data, dict) and part in data:
            data = data[part]
        else:
            continue
        key.append(part)
    return tuple(key)


def _field_names(model: Any, loc: tuple[str | int, ...]) -> list[str]:
    """The keys that are allowed at a location, for suggestions."""
    found = models_in(model)
    for part in loc:
        inner: list[type[BaseModel]] = []
        for candidate in found:
            if field := candidate.model_fields.get(str(part)):
                inner += models_in(field.annotation, field.metadata)
            elif kind_of(candidate) == part:
                inner.append(candidate)
        found = inner or found
    return sorted({name for candidate in found for name in candidate.model_fields})


def _noun(value: Any) -> str:
    """Name the type of a YAML value for a message."""
    if value is None:
        return "empty"
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else "a value")
