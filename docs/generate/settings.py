"""Configurations, from the pydantic models of all rooms: every key, its type, default and docstring."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Collection, Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from texts import MADE, code, join, plain, table
from typing_extensions import is_typeddict

from fathoms.component import Component, kind_of
from fathoms.corpora import FileSource, NamedSource
from fathoms.experiment import Experiment, ExternalExperiment
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.registry import models_in, spelled_out

KEYS = ("name", "data", "pipeline", "ingest", "chunk", "embed", "retrieve", "prompt", "generate")
"""The keys at the top of a configuration in the order of the data; others follow."""
CONFIG = "config.md#"
"""Comes before the heading of a model that has its place on the page of configurations."""


def config_page() -> str:
    """Every key of a configuration, room by room."""
    top, places = _top(), _config_places()
    head = (
        "A configuration has either the stages from `ingest` to `generate`, or `pipeline`, which replaces"
        " them. A heading such as `ingest: pdfium` means `ingest: {kind: pdfium}`. A key that is not listed"
        " here is an error. `fathoms validate CONFIG` prints a configuration with all its defaults. A"
        " file can also have a `matrix` of named changes, each a run of its own:"
        " [side-by-side.md](../side-by-side.md#a-matrix-in-the-file)."
    )
    about = {**described(ExternalExperiment), **described(Experiment)}
    return join(["# Configuration", MADE, head, _keys(top, about, places), *_sections(places, places)])


def build_page() -> str:
    """Every key of a recipe of `fathoms build`. What configurations have too is linked."""
    own: dict[type[BaseModel], str] = {}
    shared = {model: f"{CONFIG}{title}" for model, title in _config_places().items()}
    for key, info in Recipe.model_fields.items():
        _place(_type_of(info), key, own, shared)
    head = (
        "A recipe of `fathoms build` is a YAML file with a section for each stage"
        " ([building.md](../building.md)). A key that is not listed here is an error."
    )
    places = {**shared, **own}
    keys = _keys(Recipe.model_fields, described(Recipe), places)
    return join(["# Settings of a build", MADE, head, keys, *_sections(own, places)])


def _top() -> dict[str, FieldInfo]:
    """The keys at the top of a configuration, in order."""
    top = {**Experiment.model_fields, **ExternalExperiment.model_fields}
    keys = sorted(top, key=lambda key: KEYS.index(key) if key in KEYS else len(KEYS))
    return {key: top[key] for key in keys}


def _config_places() -> dict[type[BaseModel], str]:
    """The heading of every model of a configuration."""
    places: dict[type[BaseModel], str] = {}
    for key, info in _top().items():
        _place(_type_of(info), key, places)
    return places


def _sections(own: dict[type[BaseModel], str], places: dict[type[BaseModel], str]) -> Iterator[str]:
    for model, title in own.items():
        yield f"## {title}"
        yield plain(model.__doc__)
        yield _safety(model)
        yield _keys(model.model_fields, described(model), places)


VERBS = {
    "weights": "loads weights",
    "file": "reads a file",
    "server": "asks a server",
    "variable": "reads an environment variable",
    "code": "runs code",
}


def _safety(model: type[BaseModel]) -> str:
    """What a component says that it would do because of its options, in a run from elsewhere."""
    if not (issubclass(model, Component) and kind_of(model)) or (model.inert and not model.loads):
        return ""
    does = [f"{VERBS[loads.what]} (`{option}`)" for option, loads in model.loads.items()]
    if not model.inert:
        what = " and ".join(does) or "asks a server or runs code"
        return f"In a run from elsewhere it needs `--trust`, because it {what}."
    options = " and ".join(f"`{option}`" for option in model.loads)
    return f"In a run from elsewhere, other names for {options} than those that fathoms gives need `--trust`."


def _place(
    annotation: Any,
    key: str,
    places: dict[type[BaseModel], str],
    elsewhere: Collection[type[BaseModel]] = (),
) -> None:
    """Give every model in an annotation, and all below it, a heading, if it has none."""
    models = [model for model in models_in(annotation) if model not in places and model not in elsewhere]
    for model in models:
        form = _form(model)
        places[model] = f"{key}: {form}" if form else key
    for model in models:
        for name, info in model.model_fields.items():
            # a part that is a stage has its place there; some models embed pages, which is no stage
            if name not in KEYS or name == "embed":
                _place(_type_of(info), f"{key}.{name}", places, elsewhere)


def _form(model: type[BaseModel]) -> str:
    """What tells a model from the others at its key; empty where it is alone there."""
    kind = model.model_fields.get("kind")
    return (
        str(kind.default)
        if kind and not _is_choice(kind)
        else {NamedSource: "a name", FileSource: "files of yours"}.get(model, "")
    )


def _is_choice(kind: FieldInfo) -> bool:
    """Whether `kind` is a choice within one model, rather than what tells it from others."""
    return len(get_args(kind.annotation)) > 1


def _anchor(title: str) -> str:
    """The fragment of a heading, as Markdown renderers make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def described(model: type[Any]) -> dict[str, str]:
    """The docstrings of the fields of a model or a typed dictionary, also of those that it inherits.

    Pydantic could collect them (`use_attribute_docstrings`), but it reads the source of every model for this,
    which would make each start of fathoms a tenth of a second longer.
    """
    found: dict[str, str] = {}
    bases = [base for base in getattr(model, "__orig_bases__", ()) if isinstance(base, type)]
    if is_typeddict(model):
        for base in bases:
            found |= described(base) if is_typeddict(base) else {}
    for owner in [model] if is_typeddict(model) else reversed(model.__mro__):
        if is_typeddict(owner) or (issubclass(owner, BaseModel) and owner is not BaseModel):
            for field, text in pairwise(_classes(owner.__module__)[owner.__name__].body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    found[ast.unparse(field.target)] = inspect.cleandoc(ast.literal_eval(text.value))
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The source of the classes of a module by name; `inspect` would read the module for each of them."""
    nodes = ast.walk(ast.parse(inspect.getsource(sys.modules[module])))
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def _keys(fields: dict[str, FieldInfo], about: dict[str, str], places: dict[type[BaseModel], str]) -> str:
    rows = [
        (code(name), _type(info, places), _default(info), info.description or about.get(name, ""))
        for name, info in fields.items()
        if name != "kind" or _is_choice(info)
    ]
    return table(("key", "type", "default", "what"), rows)


def _type_of(info: FieldInfo) -> Any:
    """The type of a field, with all components that the registry has for it."""
    return spelled_out(info.annotation, info.metadata)


def _type(info: FieldInfo, places: dict[type[BaseModel], str]) -> str:
    limits = [text for item in info.metadata for text in _limits(item)]
    return ", ".join([_words(_type_of(info), places), *limits])


def _limits(item: Any) -> Iterator[str]:
    """The bounds that a piece of metadata sets."""
    signs = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
    yield from (f"{sign} {getattr(item, name)}" for name, sign in signs.items() if hasattr(item, name))
    if getattr(item, "min_length", None):
        yield "not empty"


def _words(annotation: Any, places: dict[type[BaseModel], str]) -> str:
    """A type in words."""
    simple: dict[Any, str] = {str: "text", int: "integer", float: "number", bool: "true or false"}
    origin, arguments = get_origin(annotation), get_args(annotation)
    say = partial(_words, places=places)
    if inspect.isclass(annotation) and issubclass(annotation, PurePath):
        return "path"
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        page, _, title = places[annotation].rpartition("#")
        return f"[{_form(annotation) or title}]({page}#{_anchor(title)})"
    if origin is Literal:
        return ", ".join(code(str(value)) for value in arguments)
    if origin is Annotated:
        return say(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(map(say, arguments))
    if origin in (list, tuple, frozenset, set):
        return f"list of {say(arguments[0])}"
    if origin is dict or annotation is dict:
        return "mapping"
    return "null" if annotation is type(None) else simple.get(annotation, "any")


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        form = _form(type(value))
        return code(f"{{kind: {form}}}") if "kind" in type(value).model_fields and form else ""
    if value is None or value in ("", {}, []):
        return ""
    return code(json.dumps(value, default=_jsonable) if not isinstance(value, str) else value)


def _jsonable(value: Any) -> Any:
    if not isinstance(value, BaseModel):
        return str(value)
    return {"kind": getattr(value, "kind", None), **value.model_dump(mode="json", exclude_defaults=True)}
