"""Words by which a question names the place of its answer: "the table", "this document", "page 4".

Whoever asks a question of many documents has none of them at hand, so a question with such words presupposes
a page that only its author has seen (Shen et al. 2025). The words are English, German, French and Spanish; of
other languages, the rule finds only names of PDF files. It knows tables, figures and texts without a name of
their own: "according to the municipal audit of Lune" names none.
"""

from __future__ import annotations

import re

_DRAWN = r"(?:charts?|graph|diagram|micrograph|screenshot|infographic)"
_SHOWN = rf"(?:{_DRAWN}|photos?|photograph|images?|illustration)"
_WRITTEN = (
    r"(?:tables?|figure|pictures?|text|passage|document|page|excerpt|paragraph|snippet|paper|article"
    r"|evidence)"
)
_THE = r"(?:the|this|that|these|those|its|their)"
_BEFORE = r"(?:according to|based on|in|from|within|see)"
_ALSO = r"(?:tennis|salt|mountain|skating|of speech|messages?|processing|recognition|industry|mills?)"
"""With these words, a table is no table of a document."""
_ENGLISH = (
    rf"(?:{_BEFORE}|on|by) {_THE} (?:[\w'-]+ ){{0,2}}{_SHOWN}",
    rf"of {_THE} (?:[\w'-]+ ){{0,2}}{_DRAWN}",
    r"(?:of|by|about) the (?:passage|excerpt|snippet|paragraph)(?! of)",
    rf"{_BEFORE} {_THE} {_WRITTEN}",
    rf"(?:the (?:following|above|given|provided|attached)|this|these) (?:{_SHOWN}|{_WRITTEN})",
    rf"(?:does|do|did) the (?:{_SHOWN}|{_WRITTEN})",
    r"on the page",
    r"(?:according to|in) (?:the|this) (?:report|study|survey|manual|source|authors?)(?= *[,.?]|$)",
    r"(?:table|figure|fig\.|chart|page|slide|p\.) \d+",
)
_GERMAN_NOUN = (
    r"(?:Tabelle|Abbildung|Gra(?:f|ph)ik|\w*Diagramm|Schaubild|Bild|Foto|Text|Textstelle|Passage|Dokument"
    r"|Auszug)"
)
_GERMAN = (
    rf"(?:laut|gemäß|nach|anhand|aus|in|auf) (?:der|dem|den|obiger|obigem) (?:\w+ )?{_GERMAN_NOUN}",
    rf"im (?:\w+en )?{_GERMAN_NOUN}",
    rf"(?:diese[rsmn]?|folgende[nrms]?|obige[nrms]?|vorliegende[nrms]?) (?:{_GERMAN_NOUN}|Seite)",
    r"(?:Tabelle|Abbildung|Abb\.|Seite|Folie) \d+",
)
_FRENCH_NOUN = (
    r"(?:tableau(?! périodique)|figure|graphique|diagramme|image(?! d[eu])|photo|schéma|texte|passage"
    r"|document|extrait|page)"
)
_FRENCH = (
    rf"(?:selon|d'après|dans|sur|à partir de) (?:la |le |l'|ce |cet |cette ){_FRENCH_NOUN}",
    rf"(?:ce|cet|cette) {_FRENCH_NOUN}",
    r"(?:tableau|page) \d+",
)
_SPANISH_NOUN = (
    r"(?:tabla(?! periódica)|figura|gráfic[oa]|diagrama|imagen|foto|fotografía|texto|pasaje|documento"
    r"|extracto|fragmento|página)"
)
_SPANISH = (
    rf"(?:según|en|de acuerdo con|a partir de) (?:el|la|dicho|dicha) {_SPANISH_NOUN}",
    rf"est[ea] {_SPANISH_NOUN}",
    r"(?:tabla|figura|página) \d+",
)
_FILE = r"[\w-]{1,200}\.pdf"
_NAMED = re.compile(
    rf"\b(?:(?:{'|'.join(_ENGLISH)})(?! {_ALSO}\b)|{'|'.join((*_GERMAN, *_FRENCH, *_SPANISH, _FILE))})(?!\w)",
    re.IGNORECASE,
)


def source_named(question: str) -> str | None:
    """Return the words by which a question names the place of its answer, `None` if it does not."""
    found = _NAMED.search(" ".join(question.replace("\u2019", "'").split()))
    return found.group() if found else None
