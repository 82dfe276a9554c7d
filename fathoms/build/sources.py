"""Questions that mention where their answer stands, such as `the table` or `this document`.

Nobody who searches a collection would ask so, because they do not know the page. The words are those of
English, German, French and Spanish; questions in other languages pass.
"""

from __future__ import annotations

import re

_THINGS = (
    r"(?:evidence|image|picture|photo(?:graph)?|chart|figure|graph|diagram|table|passage|text|excerpt|section"
    r"|paragraph|document|page|paper|article|report|manual)"
)
_PARTS = (
    r"(?:evidence|image|picture|chart|figure|graph|diagram|table|passage|text|excerpt|section|paragraph"
    r"|document|page)"
)
_GERMAN = r"(?:Text|Tabelle|Abbildung|Bild|Dokument|Seite|Abschnitt|Diagramm|Absatz)"
_FRENCH = r"(?:texte|tableau|figure|image|document|page|passage|paragraphe|graphique)"
_SPANISH = r"(?:texto|tabla|figura|imagen|documento|página|pasaje|párrafo|gráfico)"
_SOURCE = re.compile(
    rf"\b(?:according to|as (?:shown|stated|described|mentioned) in|based on|in|from|by|of)"
    rf" (?:the|this|that) (?:given |provided |following |above )?{_PARTS}\b"
    rf"|\b(?:this|the following|the above|the given|the provided) {_THINGS}\b"
    rf"|\b(?:table|figure|fig\.|page|section) \d+\b"
    rf"|\b(?:laut|gemäß|in|aus|auf) (?:dem|der|diesem|dieser) {_GERMAN}\b|\bdiese[rsm]? {_GERMAN}\b"
    rf"|\b(?:selon|d'après|dans|sur) (?:le|la|ce|cette|cet) {_FRENCH}\b|\b(?:ce|cette|cet) {_FRENCH}\b"
    rf"|\b(?:según|en) (?:el|la|este|esta) {_SPANISH}\b|\best[ea] {_SPANISH}\b",
    re.IGNORECASE,
)


def names_source(text: str) -> str | None:
    """Return the words by which a question mentions its source, `None` if it mentions none."""
    found = _SOURCE.search(text)
    return None if found is None else found[0]
