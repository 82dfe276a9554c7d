"""The screening card of a question set: which shares of its questions cannot measure what they should.

The flaws are those that the pilot study of Double-Bench (Shen et al. 2025) found in other benchmarks:
ambiguous questions, questions that presuppose a page, pages with the answer that nobody labelled, and
questions of several hops that are only joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fathoms.extras.questions.ambiguity import assess, assessing, to_assess
from fathoms.extras.questions.inspecting import (
    LINKED,
    NO_SOURCE,
    Inspected,
    Item,
    inspect,
    is_multi_hop,
    plan,
)
from fathoms.extras.questions.labelling import label, pages_to_ask, prompts_about
from fathoms.judges.judge import Judge
from fathoms.models.caching import ReplyCache
from fathoms.models.caller import prompt_size
from fathoms.retrieve.oracle import known_places
from fathoms.runs.metadata import AMBIGUITY, AMBIGUOUS, CLEAR, originals
from fathoms.types import Document, Prompt, Question

FIRST = 10
"""The pages of a question that are judged, by default, when pages are sought that nobody labelled."""

OnStage = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Share:
    """A share of the questions: the ids of those with a flaw, of those without, and of those where this is
    not known."""

    flaw: str
    flawed: tuple[str, ...]
    sound: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def judged(self) -> int:
        """The number of questions that could be judged."""
        return len(self.flawed) + len(self.sound)

    @property
    def value(self) -> float | None:
        """The share of the judged questions that have the flaw; `None` if none was judged."""
        return len(self.flawed) / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Blaker's 95 % interval of the share."""
        from fathoms.stats.intervals import blaker

        return None if self.value is None else blaker(self.value, self.judged)


def screen(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    judge: Judge,
    *,
    first: int | None = FIRST,
    replies: ReplyCache | None = None,
    on_stage: OnStage = lambda stage, done, total: None,
) -> tuple[Share, ...]:
    """Return the shares of the questions that are ambiguous, that name their source, that have pages with the
    answer beside their evidence, and, of those with several hops, whose hops are not linked. Existing marks
    are used as they are, and variants do not count. The judged pages are those of `label` with `first`."""
    subjects = originals(questions)

    def at(stage: str) -> Callable[[int, int], None]:
        return lambda done, total: on_stage(stage, done, total)

    assessed = assess(subjects, judge, replies, at("ambiguity")).questions
    said = inspect(subjects, documents, judge, replies, at("inspect"), _items)
    return (
        _share("ambiguous", ((one.id, _mark(one)) for one in assessed)),
        _share("names its source", ((id, _fails(one, NO_SOURCE)) for id, one in said.items())),
        _unlabelled(with_evidence(subjects), documents, judge, first, replies, at("label")),
        _share(
            "hops not linked",
            ((one.id, _fails(said[one.id], LINKED)) for one in subjects if LINKED in _items(one)),
        ),
    )


def calls(
    questions: Sequence[Question], documents: Mapping[str, Document], first: int | None = FIRST
) -> tuple[int, int]:
    """Return how many calls a card takes, and about how many tokens of prompts."""
    subjects = originals(questions)
    planned = plan(subjects, documents, _items)
    pages = pages_to_ask(with_evidence(subjects), documents, first)
    prompts: list[Prompt] = [*map(assessing, to_assess(subjects)), *map(planned.prompt, planned.calls)]
    sizes = [*map(prompt_size, prompts), *map(prompt_size, map(prompts_about(subjects, documents), pages))]
    return len(sizes), sum(sizes)


def with_evidence(questions: Iterable[Question]) -> list[Question]:
    """Return the questions with evidence, to which further pages can be compared."""
    return [one for one in questions if one.answerable and one.gold_evidence]


def _items(question: Question) -> tuple[Item, ...]:
    """Return what a card asks about a question."""
    linked = (LINKED,) if question.answerable and is_multi_hop(question) else ()
    return NO_SOURCE, *linked


def _mark(question: Question) -> bool | None:
    """Whether a question is marked as ambiguous; `None` without a mark."""
    return {AMBIGUOUS: True, CLEAR: False}.get(str(question.metadata.get(AMBIGUITY)))


def _fails(said: Inspected, item: Item) -> bool | None:
    """Whether a question fails an item; `None` if that was not judged."""
    return next((not check.passed for check in said.checks if check.item == item.name), None)


def _unlabelled(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    judge: Judge,
    first: int | None,
    replies: ReplyCache | None,
    on_done: Callable[[int, int], None],
) -> Share:
    """Return the share of the questions with a page of the answer that is no evidence. A question is left
    open if no such page is found, but a page could not be judged or the pages of its evidence are not
    known."""
    found = label(questions, documents, judge, first=first, replies=replies, on_done=on_done)
    open_ = {page.question for page in found.failures} | set(found.unasked)

    def flawed(one: Question) -> bool | None:
        known = known_places(one.gold_evidence, documents)
        if known and set(found.added.get(one.id, ())) - known:
            return True
        return False if known and one.id not in open_ else None

    return _share("pages with the answer not labelled", ((one.id, flawed(one)) for one in questions))


def _share(flaw: str, found: Iterable[tuple[str, bool | None]]) -> Share:
    """Sort questions by whether they have a flaw."""
    rows = list(found)

    def having(value: bool | None) -> tuple[str, ...]:
        return tuple(id for id, has in rows if has is value)

    return Share(flaw, having(True), having(False), having(None))
