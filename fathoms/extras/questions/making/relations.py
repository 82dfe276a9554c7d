"""The entities that components name and the relations between them, found by a language model.

Every reply is checked: an entity must be named on its page, and a relation must quote words that stand there
and contain its target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fathoms.extras.questions.drafting import ask_all
from fathoms.extras.questions.making.components import Component, Modality, opening
from fathoms.extras.questions.making.verbatim import on_page
from fathoms.judges.replies import read_json
from fathoms.metrics.phrase_recall import fold_text, stands_in
from fathoms.models.caching import ReplyCache
from fathoms.models.protocols import ChatModel
from fathoms.types import Box, Failure, Form, Message, Prompt, StoredValue

KINDS = ("person", "organisation", "place", "object", "concept", "event", "date", "number", "other")
ENTITIES, RELATIONS = 6, 5
"""The most entities and relations that are asked for in a component."""
NO_REPLY = "component without a usable reply"
NO_NAME = "entity that its page does not name"
LONG_NAME = "entity that is more than a name"
NO_QUOTE = "relation whose quote is not on its page"
NO_TARGET = "relation whose quote lacks its target"
NO_END = "relation with an entity that was left out"
_WORDS, _CHARACTERS = 8, 80
"""The most words and characters of a name."""
_PROMPT = """\
Find what the {named} says about named things, such as people, organisations, places, products, materials,
methods, events, dates and numbers with their units.

1. List these things, at most {entities}. Give each its full name, as it stands on the page, so that it is
understood without the page: not "it" or "the device".
2. List relations from one of them to another, at most {relations}, of different sources. First copy the words
of the page that state the relation, letter by letter, as its quote. Then name the source, the relation and
the target, which the quote contains. The source and the relation together lead to this one target only.

For example, "The Varn tower was designed by Ada Holm, who was born in Osk." has these relations:
{{"quote": "The Varn tower was designed by Ada Holm", "source": "Varn tower", "relation": "was designed by",
"target": "Ada Holm"}}, {{"quote": "Ada Holm, who was born in Osk", "source": "Ada Holm", "relation":
"was born in", "target": "Osk"}}

Reply with JSON:
{{"entities": [{{"name": TEXT, "kind": {kinds}}}, ...],
"relations": [{{"quote": TEXT, "source": NAME, "relation": TEXT, "target": NAME}}, ...]}}"""
_TEXT = {"type": "string"}


def _list_of(most: int, **properties: object) -> dict[str, Any]:
    """Return the schema of a list of objects with these properties."""
    one = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "array", "items": one, "maxItems": most}


_SCHEMA = {
    "type": "object",
    "properties": {
        "entities": _list_of(ENTITIES, name=_TEXT, kind={"type": "string", "enum": list(KINDS)}),
        "relations": _list_of(RELATIONS, quote=_TEXT, source=_TEXT, relation=_TEXT, target=_TEXT),
    },
    "required": ["entities", "relations"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)  # there are many, so they are small
class Mention:
    """Where an entity is named, and as what: a component, given by its id, of a page of a document."""

    name: str
    kind: str
    document: str
    page: int
    component: str


class Relation(StoredValue):
    """What a page says of one entity in relation to another, with the words that say so. `source` and
    `target` are the names that the page has for them."""

    source: str
    relation: str
    target: str
    quote: str
    document: str
    page: int
    component: str
    modality: Modality = "text"
    bbox: Box | None = None


@dataclass(frozen=True)
class Extracted:
    """The mentions and relations of all components in their order, how many others were left out, by the
    reason, and why a component gave none at all, by its id."""

    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)


def extract(
    components: Sequence[Component],
    model: ChatModel,
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> Extracted:
    """Ask the model for the entities and relations of each component, in one call each."""
    said = ask_all(components, model, prompt_about, read_found, replies, on_done)
    mentions: list[Mention] = []
    relations: list[Relation] = []
    dropped: Counter[str] = Counter()
    failures = {}
    for component, found in said.items():
        if isinstance(found, Failure):
            failures[component.id] = found.message
            dropped[NO_REPLY] += 1
            continue
        for one in _checked(component, *found):
            if isinstance(one, str):
                dropped[one] += 1
            elif isinstance(one, Mention):
                mentions.append(one)
            else:
                relations.append(one)
    return Extracted(tuple(mentions), tuple(relations), dict(dropped), failures)


def prompt_about(component: Component) -> Prompt:
    """Return the prompt about a component, which shows its picture where there is one."""
    named = {"text": "passage", "table": "table", "figure": "figure"}[component.modality]
    kinds = " or ".join(f'"{kind}"' for kind in KINDS)
    numbers = {"entities": ENTITIES, "relations": RELATIONS}
    text = opening(component) + _PROMPT.format(named=named, kinds=kinds, **numbers)
    images = (component.image,) if component.image else ()
    return Prompt(messages=(Message(role="user", text=text, images=images),), form=Form(json_schema=_SCHEMA))


Rows = list[dict[str, str]]


def read_found(reply: str) -> tuple[Rows, Rows] | None:
    """Read the rows of entities and of relations; `None` for a reply without either. Rows that lack a part
    are left out."""
    data = read_json(reply)
    if not isinstance(data, dict) or not data.keys() & {"entities", "relations"}:
        return None
    entities = _rows(data.get("entities"), ("name",), "kind")
    return entities, _rows(data.get("relations"), ("source", "relation", "target", "quote"))


def _rows(found: Any, needed: Sequence[str], also: str | None = None) -> Rows:
    """Return the rows that have text for every needed key, with their spaces tidied."""
    rows = []
    for row in found if isinstance(found, list) else ():
        if isinstance(row, dict) and all(
            isinstance(row.get(key), str) and row[key].strip() for key in needed
        ):
            keys = [*needed, *([also] if also else [])]
            rows.append({key: " ".join(str(row.get(key) or "").split()) for key in keys})
    return rows


def _checked(component: Component, entities: Rows, relations: Rows) -> Iterator[Mention | Relation | str]:
    """Yield what stands on the page of a component, and the reason for everything that does not. The ends of
    a relation are mentions, too, also where they were not listed."""
    page = (fold_text(component.page_text, "word"), fold_text(component.text, "word"))
    place: dict[str, Any] = {
        "document": component.document,
        "page": component.page,
        "component": component.id,
    }
    flaws: dict[str, str | None] = {}

    def mentions(rows: Iterable[dict[str, str]]) -> Iterator[Mention | str]:
        for row in rows:
            name = row["name"]
            if name not in flaws:
                flaws[name] = flaw = _flaw(name, page)
                kind = row["kind"].lower() if row["kind"].lower() in KINDS else "other"
                yield flaw or Mention(name=name, kind=kind, **place)

    yield from mentions(entities)
    for row in relations:
        yield from mentions({"name": row[end], "kind": ""} for end in ("source", "target"))
        quote = on_page(row["quote"], component.page_text)
        if flaws[row["source"]] or flaws[row["target"]]:
            yield NO_END
        elif quote is None:
            yield NO_QUOTE
        elif not stands_in((fold_text(quote, "word"),), row["target"], "word", "both"):
            yield NO_TARGET
        else:
            box = {"modality": component.modality, "bbox": component.bbox}
            yield Relation(**{**row, **place, **box, "quote": quote})


def _flaw(name: str, page: Sequence[str]) -> str | None:
    """Return what is wrong with the name of an entity on a page, `None` for nothing."""
    if len(name.split()) > _WORDS or len(name) > _CHARACTERS:
        return LONG_NAME
    there = any(map(str.isalnum, name)) and stands_in(page, name, "word", "both")
    return None if there else NO_NAME
