"""Entities and relations from components, merged to a graph, against graphs that were worked out by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from math import cos, radians, sin
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms.errors import DataError
from fathoms.extras.questions.making.close_names import agree, close_pairs
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.graph import entity_at, load, merge, plain, plain_relation, save
from fathoms.extras.questions.making.relations import Extracted, Mention, Relation, extract, read_found
from fathoms.extras.questions.making.verbatim import on_page
from fathoms.models import ScriptedModel
from fathoms.models.caching import ReplyCache
from fathoms.runs.cache import Cache

TOWER = "The Varn tower of Lune was designed by\nAda Holm. It is 41.5 m tall."


class Angles:
    """An embedder in the plane: each name has a direction in degrees, and no two others are close."""

    kind = "angles"

    def __init__(self, **degrees: float) -> None:
        self.degrees = {name.replace("_", " "): value for name, value in degrees.items()}

    def identity(self) -> dict[str, Any]:
        return {"degrees": self.degrees}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 102), dtype=np.float32)
        for number, text in enumerate(texts):
            if text in self.degrees:
                angle = radians(self.degrees[text])
                rows[number, :2] = cos(angle), sin(angle)
            else:
                rows[number, 2 + sum(map(ord, text)) % 100] = 1
        return rows


def component(text: str, page: int = 1, document: str = "a.pdf", **more: Any) -> Component:
    given = {"modality": "text", "page_text": text, **more}
    return Component(document=document, page=page, number=1, text=text, **given)


def reply(
    entities: Sequence[tuple[str, str]] = (), relations: Sequence[tuple[str, str, str, str]] = ()
) -> str:
    keys = ("source", "relation", "target", "quote")
    return json.dumps(
        {
            "entities": [{"name": name, "kind": kind} for name, kind in entities],
            "relations": [dict(zip(keys, row, strict=True)) for row in relations],
        }
    )


def said(*relations: tuple[str, str, str], document: str = "a.pdf", kind: str = "other") -> Extracted:
    """These relations, each on a page of its own."""
    found = [
        Relation(source=s, relation=r, target=t, quote=t, document=document, page=page, component=f"c{page}")
        for page, (s, r, t) in enumerate(relations, 1)
    ]
    mentions = [
        Mention(name=name, kind=kind, document=one.document, page=one.page, component=one.component)
        for one in found
        for name in (one.source, one.target)
    ]
    return Extracted(tuple(mentions), tuple(found))


def test_what_the_page_does_not_say_is_left_out_with_the_reason() -> None:
    model = ScriptedModel(
        default=reply(
            [
                ("Varn tower of Lune", "object"),
                ("Eiffel Tower", "object"),
                ("Lune", "City"),
                (TOWER[:60], "object"),
            ],
            [
                ("Varn tower of Lune", "was designed by", "Ada Holm", "designed by Ada Holm"),
                ("Varn tower of Lune", "has the height", "41.5 m", '"It is 41.5 m tall."'),
                ("Varn tower of Lune", "is high", "41.5 m", "It is high."),
                ("Varn tower of Lune", "stands in", "Lune", "was designed by"),
                ("Varn tower of Lune", "was built by", "Ben Holm", "designed by Ada Holm"),
            ],
        ),
        max_tokens=1000,
    )
    found = extract([component(TOWER)], model)
    assert [(one.name, one.kind) for one in found.mentions] == [
        ("Varn tower of Lune", "object"),
        ("Lune", "other"),
        ("Ada Holm", "other"),
        ("41.5 m", "other"),
    ]
    assert [(one.target, one.quote) for one in found.relations] == [
        ("Ada Holm", "designed by Ada Holm"),
        ("41.5 m", "It is 41.5 m tall."),
    ]
    assert found.dropped == {
        "entity that its page does not name": 2,  # Eiffel Tower and Ben Holm
        "relation whose quote is not on its page": 1,
        "relation whose quote lacks its target": 1,
        "relation with an entity that was left out": 1,
        "entity that is more than a name": 1,
    }


def test_each_component_is_asked_about_once_and_the_replies_are_kept(tmp_path: Path) -> None:
    pieces = [component(TOWER), component("Osk lies on the Mell.", 2), component("Nothing.", 3)]
    replies = {"Osk lies": reply([("Osk", "place")]), "Nothing.": "no JSON"}
    model = ScriptedModel(replies=replies, default=reply([("Lune", "place")]), max_tokens=1000)
    cache = ReplyCache(Cache(tmp_path))
    found = extract(pieces, model, cache)
    assert [(one.name, one.page) for one in found.mentions] == [("Lune", 1), ("Osk", 2)]
    assert found.failures.keys() == {pieces[2].id}
    reported: list[tuple[int, int]] = []
    assert extract(pieces, model, cache, lambda *at: reported.append(at)) == found
    assert reported == [(1, 3), (2, 3), (3, 3)]


def test_damaged_replies_are_read_as_far_as_they_go() -> None:
    whole = {"source": "a", "relation": " r \n s", "target": "b", "quote": "q"}
    text = f"Here it is:\n```json\n{json.dumps({'relations': [whole, {'source': 'a'}, 3]})}\n```"
    assert read_found(text) == ([], [{**whole, "relation": "r s"}])
    assert read_found('{"entities": [{"name": "a"}, {"name": " "}, {"kind": "x"}]') == (
        [{"name": "a", "kind": ""}],
        [],
    )
    assert read_found("[]") is None
    assert read_found("I cannot.") is None


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("designed by Ada Holm", "designed by Ada Holm"),  # over a line break
        ('"Designed by ada holm..."', "designed by Ada Holm"),
        ("designed  by  Ada\nHolm", "designed by Ada Holm"),
        ("designed by Ben Holm", None),
        ("It is 41,5 m tall", None),
        (" ... ", None),
    ],
)
def test_quotes_stand_on_the_page(quote: str, found: str | None) -> None:
    assert on_page(quote, TOWER) == found
    assert on_page("Grade B 1,130", "| Grade B | 1,130 |") == "Grade B 1,130"


def test_names_are_one_entity_by_spelling_or_by_embedding(tmp_path: Path) -> None:
    """cos 20° is 0.940 and cos 30° is 0.866; 0.9 lies between."""
    embedder = Angles(varn_tower=0, varn_towers=20, varn_towering=30, grade_b=50, grade_c=50)
    extracted = said(
        ("The Varn Tower", "was designed by", "Ada Holm"),
        ("Varn-tower", "is", "red"),
        ("Varn towers", "stand in", "Lune"),
        ("Varn towering", "is in", "Osk"),
        ("Grade B", "is fired at", "1,130 °C"),
        ("Grade C", "is fired at", "1,170 °C"),
    )
    graph = merge(extracted, embedder, Cache(tmp_path))
    assert entity_at(graph, "varn tower").names == ("The Varn Tower", "Varn-tower", "Varn towers")
    assert {one for one in graph if "varn" in one or "grade" in one} == {
        "varn tower",
        "varn towering",
        "grade b",
        "grade c",
    }
    assert sorted((s, d["relation"], t) for s, t, d in graph.edges(data=True) if s == "varn tower") == [
        ("varn tower", "is", "red"),
        ("varn tower", "stand in", "lune"),
        ("varn tower", "was designed by", "ada holm"),
    ]


def test_close_names_of_different_kinds_stay_apart(tmp_path: Path) -> None:
    embedder = Angles(holm=0, holms=10)
    place, person = said(("Holm", "is", "x"), kind="place"), said(("Holms", "is", "y"), kind="person")
    both = Extracted(place.mentions + person.mentions, place.relations + person.relations)
    assert {"holm", "holms"} <= set(merge(both, embedder, Cache(tmp_path)))
    unknown = said(("Holms", "is", "y"))
    both = Extracted(place.mentions + unknown.mentions, place.relations + unknown.relations)
    graph = merge(both, embedder, Cache(tmp_path))
    assert "holms" not in graph
    assert entity_at(graph, "holm").kind == "place"


def test_relations_with_several_targets_are_dropped_after_merging(tmp_path: Path) -> None:
    """The tower has two owners, of which two documents tell one each; its two designers are one person."""
    one = said(
        ("Varn tower", "is owned by", "Lune Council"),
        ("Varn tower", "was designed by", "Ada Holm"),
        ("the Varn tower", "designed by", "Ada Holms"),
        ("Varn tower", "is", "the Varn Tower"),
        ("Lune Council", "owns", "Varn tower"),
    )
    other = said(("Varn Tower", "is owned by the", "Bank of Osk"), document="b.pdf")
    other = Extracted(
        other.mentions, tuple(r.model_copy(update={"relation": "owned by"}) for r in other.relations)
    )
    both = Extracted(one.mentions + other.mentions, one.relations + other.relations, {"x": 1})
    graph = merge(both, Angles(ada_holm=0, ada_holms=5), Cache(tmp_path))
    assert sorted((s, t, d["relation"]) for s, t, d in graph.edges(data=True)) == [
        ("lune council", "varn tower", "owns"),
        ("varn tower", "ada holm", "designed by"),
        ("varn tower", "ada holm", "was designed by"),
    ]
    assert graph.graph["dropped"] == {
        "x": 1,
        "relation of an entity to itself": 1,
        "relation with several targets": 2,
    }
    assert entity_at(graph, "varn tower").documents == {"a.pdf", "b.pdf"}


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("grade b", "grade c", False),
        ("type ii", "type iii", False),
        ("kestrel 9", "kestrel 9 trial", True),
        ("kestrel", "kestrel 9", False),
        ("pump", "pumps", True),
        ("north pump", "south pump", False),
        ("organic", "inorganic", False),
        ("filter disc", "filter discs", True),
        ("university of kansas", "kansas university", True),
    ],
)
def test_names_agree_unless_a_word_makes_them_differ(one: str, other: str, may: bool) -> None:
    assert agree(one, other) is may
    assert agree(other, one) is may


def test_folded_names_and_relations() -> None:
    assert plain("The Ärm-Tower.") == plain("“ärm tower”") == "ärm tower"
    assert plain("A B") == "a b"  # an article only before a word
    assert plain_relation("was designed by") == plain_relation("Is designed by:") == "designed by"
    assert plain_relation("is") == "is"


@pytest.mark.slow
def test_close_pairs_are_found_among_thousands_without_comparing_all(tmp_path: Path) -> None:
    """3,000 random unit vectors, half of them a noisy copy of another at a cosine of 0.95: a full comparison
    finds 1,500 pairs, since others are nowhere near."""
    generator = np.random.default_rng(1)
    base = generator.standard_normal((1500, 64)).astype(np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    noise = generator.standard_normal(base.shape).astype(np.float32)
    noise -= np.sum(noise * base, axis=1, keepdims=True) * base
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    copies = 0.95 * base + np.sqrt(1 - 0.95**2) * noise
    letters = "abcdefghijklmnopqrstuvwxyz"
    drawn = random.Random(2)
    names = list(dict.fromkeys("".join(drawn.choices(letters, k=9)) for _ in range(1500)))
    vectors = {}
    for name, vector, copy in zip(names, base, copies, strict=True):
        vectors[name], vectors[f"{name}s"] = vector, copy

    class Known:
        kind = "known"

        def identity(self) -> dict[str, Any]:
            return {"known": 1}

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            return np.stack([vectors[text] for text in texts])

    order = list(vectors)
    drawn.shuffle(order)
    found = list(close_pairs(order, Known(), Cache(tmp_path)))
    assert all(value == pytest.approx(0.95, abs=1e-4) for value, _, _ in found)
    assert all({order[a] + "s", order[a]} & {order[b], order[b] + "s"} for _, a, b in found)
    assert len(found) >= 1485  # 99 %


def test_a_graph_is_stored_and_read_back(tmp_path: Path) -> None:
    graph = merge(said(("Varn tower", "is in", "Lune")), Angles(), Cache(tmp_path / "cache"))
    save(graph, tmp_path / "set.build" / "graph.json")
    again = load(tmp_path / "set.build" / "graph.json")
    assert dict(again.nodes(data=True)) == dict(graph.nodes(data=True))
    assert list(again.edges(data=True, keys=True)) == list(graph.edges(data=True, keys=True))
    assert again.graph == graph.graph
    data = json.loads((tmp_path / "set.build" / "graph.json").read_text())
    node, *others = data["nodes"]
    nameless = data | {"nodes": [node | {"names": []}, *others]}
    uncounted = data | {"graph": {"dropped": ["some"]}}
    del node["names"]
    for text in ("[]", "{}", *map(json.dumps, (data, nameless, uncounted))):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(DataError, match=r"bad.json: not a graph of entities"):
            load(tmp_path / "bad.json")
    for text, flaw in (("no", "1:1: not valid JSON"), ("[" * 100_000, "1: nested too deeply")):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(DataError, match=f"bad.json:{flaw}"):
            load(tmp_path / "bad.json")
