"""Multi-hop questions by walks through the graph of the documents.

As in Double-Bench (Shen et al. 2025): a model infers what a reader may want to know from an entity with many
relations and a summary of its document, and chooses the neighbour that serves this intent best, hop by hop.
Each hop becomes a sub-question. Each sub-question takes the place of the entity that the next one names, and
the model puts the whole into one natural question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from fathoms.extras.questions.drafting import ask_all, plain_prompt
from fathoms.extras.questions.making.drafts import Draft
from fathoms.extras.questions.making.graph import Entity, entity_at
from fathoms.extras.questions.making.hop_drafts import Walk, composed, drafted, page_text
from fathoms.extras.questions.making.languages import in_language
from fathoms.extras.questions.making.paths import Finder, Hop
from fathoms.extras.questions.making.wording import one_line, one_question
from fathoms.models.caching import ReplyCache
from fathoms.models.protocols import ChatModel
from fathoms.types import Document, Failure, Form, Prompt

if TYPE_CHECKING:
    from networkx import MultiDiGraph

_WORDS_OF_PAGE = 60
_WORDS = 900
_KNOWN = 6
_SUMMARY = """\
The pages of the document {document} begin like this:

{pages}

Say in two or three sentences what the document is about. Write nothing else."""
_INTENT = """\
A document is about this: {summary}

It says of {name} ({kind}):
{known}

What might a reader who works with this subject want to find out, beginning at {name}? Answer with one
sentence that begins with "To"."""
_CHOICE = """\
A reader of some documents wants this: {intent}

So far, the reader went this way: {walked}

From there, one of these can be found out next:
{numbered}

Which one serves the reader best? Answer with its number alone."""
_SUB = """\
A document says: {quote}

This states: {source} - {relation} - {target}

Write the question that asks for "{target}". It names "{source}" in exactly these words and does not contain
"{target}". It is understood without the document and does not mention it. {language} Write the question
alone, on one line."""
_WHOLE = """\
This question is put together of steps. Each part in brackets stands for the answer to the question in it:

{composed}

Rewrite it as one natural question without brackets that asks for the same thing. Keep all facts of the parts
in brackets, as a description of what they ask for, and give no answers. {language} Write the question
alone, on one line."""

Progress = Callable[[int, int], None]


def walks(
    graph: MultiDiGraph,
    documents: Mapping[str, Document],
    model: ChatModel,
    hops: Sequence[int],
    number: int,
    seed: int = 0,
    replies: ReplyCache | None = None,
    on_done: Progress = lambda done, total: None,
    language: str = "same",
) -> list[Draft]:
    """Return `number` drafts of questions that passed the rules of `hop_drafts`, or fewer where the graph has
    no more, and those that did not pass. `hops` are the numbers of hops of the questions, each 2 or more,
    which take turns. `documents` are those of the graph, by their ids. `on_done` gets how many drafts
    passed. `language` is that of the questions: a code, or `same` for that of the page of the last hop."""
    finder = Finder.of(graph, max(hops), seed)
    asking = _Asking(model, replies, language, graph, documents, finder)
    left = finder.starts(graph, hops)
    found: list[Draft] = []
    passed = 0
    while passed < number and (batch := list(islice(left, number - passed))):
        new = asking.drafts(batch)
        found += new
        passed += sum(draft.failed is None for draft in new)
        on_done(passed, number)
    return found


@dataclass
class _Asking:
    """What the calls to the model need."""

    model: ChatModel
    replies: ReplyCache | None
    language: str
    graph: MultiDiGraph
    documents: Mapping[str, Document]
    finder: Finder

    def drafts(self, batch: Sequence[tuple[str, int]]) -> list[Draft]:
        """Walk from each start, and draft the questions."""
        walks = self._with_intents(
            [Walk(node, wanted, entity_at(self.graph, node)) for node, wanted in batch]
        )
        for _ in range(max(wanted for _, wanted in batch)):
            walks = self._a_hop_further(walks)
        subs = self._sub_questions(walks)
        texts = self._whole_questions(walks, subs)
        return [drafted(walk, subs, texts.get(walk), self.documents, self.language) for walk in walks]

    def _with_intents(self, walks: Sequence[Walk]) -> list[Walk]:
        """Give each walk its intent."""
        names = dict.fromkeys(_main_document(walk.entity) for walk in walks)
        described = [name for name in names if name in self.documents]
        summaries = ask_all(described, self.model, self._about_document, one_line, self.replies)

        def about(walk: Walk) -> Prompt | Failure:
            summary = summaries.get(_main_document(walk.entity), "")
            if isinstance(summary, Failure):
                return summary
            hops = sorted(self.finder.ways[walk.start], key=lambda hop: (hop.target, hop.relation.relation))
            known = "\n".join(f"- {hop.relation.relation}: {hop.targets[0]}" for hop in hops[:_KNOWN])
            name, kind = walk.entity.names[0], walk.entity.kind
            return plain_prompt(_INTENT.format(summary=summary, name=name, kind=kind, known=known))

        said = ask_all(walks, self.model, about, one_line, self.replies)
        return [
            replace(walk, stopped=f"no intent: {found.message}")
            if isinstance(found := said[walk], Failure)
            else replace(walk, intent=found)
            for walk in walks
        ]

    def _about_document(self, name: str) -> Prompt:
        """Return the prompt that asks for a summary, by the beginnings of the pages."""
        pages = [page.text.split() for page in self.documents[name].pages]
        share = max(_WORDS_OF_PAGE, _WORDS // max(1, len(pages)))
        texts = [" ".join(words[:share]) for words in pages if words][: _WORDS // share]
        return plain_prompt(_SUMMARY.format(document=name, pages="\n\n".join(texts)))

    def _a_hop_further(self, walks: Sequence[Walk]) -> list[Walk]:
        """Extend each incomplete walk by the hop that the model chooses."""
        open_ = {
            walk: self.finder.choices(walk.hops, walk.start, walk.wanted)
            for walk in walks
            if not walk.stopped and len(walk.hops) < walk.wanted
        }

        def choosing(walk: Walk) -> Prompt:
            rows = [f"{hop.relation.relation}: {hop.targets[0]}" for hop in open_[walk]]
            numbered = "\n".join(f"{number}. {row}" for number, row in enumerate(rows, 1))
            walked = [walk.entity.names[0], *(f"{h.relation.relation}: {h.targets[0]}" for h in walk.hops)]
            text = _CHOICE.format(intent=walk.intent, walked=" > ".join(walked), numbered=numbered)
            return plain_prompt(text, Form(choices=tuple(map(str, range(1, len(rows) + 1)))))

        to_choose = [walk for walk, several in open_.items() if len(several) > 1]
        said = ask_all(to_choose, self.model, choosing, int, self.replies)
        return [_led_on(walk, open_[walk], said.get(walk, 1)) if walk in open_ else walk for walk in walks]

    def _sub_questions(self, walks: Sequence[Walk]) -> dict[Hop, str | Failure]:
        """Return the sub-question of each hop of the complete walks."""
        hops = dict.fromkeys(hop for walk in walks if not walk.stopped for hop in walk.hops)

        def about(hop: Hop) -> Prompt:
            one = hop.relation
            parts = {"source": one.source, "relation": one.relation, "target": one.target}
            language = in_language(self.language, page_text(hop, self.documents))
            return plain_prompt(_SUB.format(quote=one.quote, language=language, **parts))

        return ask_all(list(hops), self.model, about, one_question, self.replies)

    def _whole_questions(
        self, walks: Sequence[Walk], subs: Mapping[Hop, str | Failure]
    ) -> dict[Walk, str | Failure]:
        """Return the question of each complete walk whose sub-questions can be put together."""
        whole = {walk: text for walk in walks if (text := composed(walk, subs)) is not None}

        def about(walk: Walk) -> Prompt:
            language = in_language(self.language, page_text(walk.hops[-1], self.documents))
            return plain_prompt(_WHOLE.format(composed=whole[walk], language=language))

        return ask_all(list(whole), self.model, about, one_question, self.replies)


def _led_on(walk: Walk, several: Sequence[Hop], said: int | Failure) -> Walk:
    """Return a walk with the chosen hop, or with the reason why it ends here."""
    if isinstance(said, Failure):
        return replace(walk, stopped=f"no choice: {said.message}")
    if not several:
        return replace(walk, stopped=f"no way on after {len(walk.hops)} of {walk.wanted} hops")
    return replace(walk, hops=(*walk.hops, several[said - 1]))


def _main_document(entity: Entity) -> str:
    """Return the document that names an entity most often; the first of several."""
    names = [one.document for one in entity.mentions]
    return max(sorted(set(names)), key=names.count)
