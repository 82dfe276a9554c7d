"""Candidate quotes and interleaved answers, as in MMDocRAG (Dong et al. 2025).

A question gets its gold quotes among the most similar others, and a model cites the quotes in the reference:
`[2]` after a statement that rests on a text, `![...](image1)` for a picture. The words of the reference must
stay as they are, and only gold quotes may be cited; otherwise the reference stays without citations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fathoms.extras.questions.candidates import Sizes, WithCandidates, candidates
from fathoms.extras.questions.drafting import plain_prompt
from fathoms.extras.questions.making.asking import Asker
from fathoms.retrieve import Index, Retriever
from fathoms.types import Failure, Prompt, Question, Quote

STAGE = "interleaved"
INTERLEAVED = "interleaved"
"""The key of the metadata that says whether the reference of a question cites quotes."""
_TEXT, _PICTURE = re.compile(r"\s*\[(\d+)\]"), re.compile(r"\s*!\[[^\]\n]*\]\(image(\d+)\)")
_ASK = """\
Quotes:

{quotes}

An answer to the question "{question}" rests on these quotes:

{answer}

Write the answer again, word by word, and only put in marks: after each statement the number of the text that
it rests on, such as [2], and after a statement that a picture shows a line such as ![what it shows](image1).
Change, add and leave out no other word. Write nothing else."""


@dataclass(frozen=True)
class Interleaved:
    """Questions with candidate quotes, and the ids of answerable ones whose reference cites none, with the
    reason."""

    questions: tuple[Question, ...]
    unmarked: dict[str, str]


def interleaved(
    questions: Sequence[Question], index: Index, retriever: Retriever, total: int, seed: int, asker: Asker
) -> Interleaved:
    """Return questions with `total` candidate quotes each, and with citations of the gold ones in their
    references."""
    with_quotes = candidates(index, retriever, questions, Sizes.of(total), seed)
    to_cite = [one.question for one in with_quotes if _gold(one.question) and one.question.reference]

    def asking(question: Question) -> Prompt:
        shown = "\n\n".join(_shown(quote) for quote in _gold(question))
        return plain_prompt(_ASK.format(quotes=shown, question=question.text, answer=question.reference))

    said = asker.ask(STAGE, to_cite, asking, str.strip)
    unmarked: dict[str, str] = {}
    found = []
    for one in with_quotes:
        if not one.question.answerable:
            found.append(one.question)
            continue
        flaw = _flaw(one, said.get(one.question))
        if flaw:
            unmarked[one.question.id] = flaw
        reference = one.question.reference if flaw else str(said[one.question])
        metadata = {**one.question.metadata, INTERLEAVED: not flaw}
        found.append(one.question.model_copy(update={"reference": reference, "metadata": metadata}))
    return Interleaved(tuple(found), unmarked)


def _gold(question: Question) -> list[Quote]:
    """Return the gold quotes of a question."""
    return [quote for quote in question.quotes if quote.gold]


def _number(quote: Quote) -> str:
    """Return the number of a quote among those of its modality, which its id has."""
    return quote.id.removeprefix("text").removeprefix("image")


def _shown(quote: Quote) -> str:
    """Return a quote as the model sees it."""
    text = quote.text or quote.description
    return f"image{_number(quote)}: {text}" if quote.modality == "image" else f"[{_number(quote)}] {text}"


def _flaw(item: WithCandidates, said: str | Failure | None) -> str:
    """Return why an answer with citations cannot be used; empty if it can."""
    question = item.question
    if said is None:
        return "none of its evidence is among the quotes" if question.reference else "it has no reference"
    if isinstance(said, Failure):
        return said.message
    plain = _PICTURE.sub("", _TEXT.sub("", said))
    if plain.split() != (question.reference or "").split():
        return "its words were changed"
    cited = [f"text{number}" for number in _TEXT.findall(said)]
    cited += [f"image{number}" for number in _PICTURE.findall(said)]
    gold = {quote.id for quote in _gold(question)}
    if not cited or not gold.issuperset(cited):
        return "it cites nothing" if not cited else "it cites a quote that is not gold"
    return ""
