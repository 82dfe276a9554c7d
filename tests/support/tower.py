"""A small world that was worked out by hand: what its four pages say, and what a model says of them, from
entities and relations to multi-hop questions."""

from __future__ import annotations

import json

REST = "Nothing else of it is known to anybody who wrote about it in the years that followed."
TOWER = f"The Varn tower of Lune was designed by Ada Holm, owned by the Lune Council and 41.5 m high.\n{REST}"
HOLM = f"Ada Holm was born in Osk, as a daughter of the miller. {REST}"
OSK = f"Osk lies on the river Mell. The river Mell rises at 812 m. {REST}"
COUNCIL = f"The Lune Council was founded in 1904. {REST}"
FACTS = {  # page: source, relation, target, quote
    TOWER: [
        ("Varn tower of Lune", "was designed by", "Ada Holm", "designed by Ada Holm"),
        ("Varn tower of Lune", "is owned by", "Lune Council", "owned by the Lune Council"),
        ("Varn tower of Lune", "is", "41.5 m", "owned by the Lune Council and 41.5 m high"),
    ],
    HOLM: [("Ada Holm", "was born in", "Osk", "Ada Holm was born in Osk")],
    OSK: [
        ("Osk", "lies on", "river Mell", "Osk lies on the river Mell"),
        ("river Mell", "rises at", "812 m", "The river Mell rises at 812 m"),
    ],
    COUNCIL: [("Lune Council", "was founded in", "1904", "founded in 1904")],
}


def reply(facts: list[tuple[str, str, str, str]]) -> str:
    """What a model says of the entities and relations of a page."""
    keys = ("source", "relation", "target", "quote")
    names = dict.fromkeys(name for fact in facts for name in (fact[0], fact[2]))
    entities = [{"name": name, "kind": "other"} for name in names]
    return json.dumps(
        {"entities": entities, "relations": [dict(zip(keys, fact, strict=True)) for fact in facts]}
    )


SUBS = {
    "Varn tower of Lune - was designed by": "Who designed the Varn tower of Lune?",
    "Varn tower of Lune - is owned by": "**Sub-question:** Who owns the Varn tower of Lune?",
    "Ada Holm - was born in": "In which town was Ada Holm born?",
    "Osk - lies on": "On which river does Osk lie?",
    "river Mell - rises at": "At what height does the River Mell rise?",
    "Lune Council - was founded in": "In which year was the Lune Council founded?",
}
BORN = "In which town was the designer of the Varn tower of Lune born?"
ON = "On which river does the birthplace of the designer of the Varn tower of Lune lie?"
NESTED = "On which river does [In which town was [Who designed the Varn tower of Lune?] born?] lie?"
SCRIPT = {
    **{f"Passage:\n\n{page[:20]}": reply(facts) for page, facts in FACTS.items()},
    "begin like this": "It is about a tower.",
    "It says of Varn tower of Lune": "To know the people behind the tower.",
    "What might a reader": "To know where things come from.",
    "1. was designed by": "1",
    "2. was designed by": "The answer is 2.",
    NESTED: ON,
    "[On which river does [In which town was Ada Holm born?]": "How high is the source of the river of Osk?",
    "In which town was [Who designed the Varn tower of Lune?] born?": f"Question: {BORN}",
    "On which river does [In which town was Ada Holm born?] lie?": "On which river is Ada Holm's birthplace?",
    **{f"This states: {start}": sub for start, sub in SUBS.items()},
}
