"""The stages of a build in order, until there are as many good questions as wanted or no component is left.

Drafts go through the stages in batches. Questions that a batch lacks are drafted in the next one. The result
depends on the documents, the recipe and the replies alone, and all replies are stored, so an interrupted
build continues where it stopped when it is started again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fathoms.corpora import read_questions
from fathoms.errors import ModelError, UsageError
from fathoms.extras.questions.inspecting import CHECK as CHECKLIST
from fathoms.extras.questions.inspecting import inspect
from fathoms.extras.questions.making import answers, clarity, filters, labels, single, unanswerable
from fathoms.extras.questions.making.answers import long_answers
from fathoms.extras.questions.making.asking import Asker, Journal, Progress
from fathoms.extras.questions.making.balance import (
    Coverage,
    Property,
    Target,
    balanced,
    choose,
    coverage,
    properties,
    shortage,
)
from fathoms.extras.questions.making.components import Component
from fathoms.extras.questions.making.corpus import Corpus
from fathoms.extras.questions.making.drafts import Check, Draft
from fathoms.extras.questions.making.graph import FILE as GRAPH
from fathoms.extras.questions.making.graph import merge, save
from fathoms.extras.questions.making.hop_checks import check_hops
from fathoms.extras.questions.making.interleaved import interleaved
from fathoms.extras.questions.making.labels import labelled_hops
from fathoms.extras.questions.making.recipe import Recipe
from fathoms.extras.questions.making.relations import extract
from fathoms.extras.questions.making.walks import walks
from fathoms.judges.llm import LLMJudge
from fathoms.runs.cache import Cache
from fathoms.types import Place, Question

if TYPE_CHECKING:
    from networkx import MultiDiGraph

LEAST = 4
"""The fewest drafts of a batch of unanswerable questions."""
STEERED = ("document", "modality")
"""The properties of a question that are known before it is drafted."""
Keep = Callable[[Sequence[Draft]], None]


@dataclass(frozen=True)
class BuiltSet:
    """The result of a build: the questions of the set, all drafts, and what the set covers. `wanted` is the
    number of questions that the recipe asks for."""

    questions: tuple[Question, ...]
    drafts: tuple[Draft, ...]
    coverage: Coverage
    wanted: int
    unmarked: Mapping[str, str] = field(default_factory=dict)
    """The answerable questions whose reference cites no quotes although that was wanted, and why."""

    @property
    def funnel(self) -> dict[str, int]:
        """How many drafts were dropped, by the first check that they failed."""
        failed = (draft.failed for draft in self.drafts)
        return dict(Counter(check.name for check in failed if check is not None))

    @property
    def passed(self) -> int:
        """How many drafts passed all checks; those that are not in the set were not needed."""
        return sum(draft.failed is None for draft in self.drafts)


def make(
    recipe: Recipe,
    corpus: Corpus,
    asker: Asker,
    keep: Keep = lambda drafts: None,
    *,
    cache: Cache,
    folder: Path | None = None,
    have: Sequence[Question] = (),
    first: frozenset[Place] = frozenset(),
    never: frozenset[str] = frozenset(),
) -> BuiltSet:
    """Make a question set. `keep` is called with all drafts after each batch. `cache` has embeddings, and the
    graph of multi-hop questions is stored in `folder`. `have` are questions that stay in the set, `first` are
    pages whose components are asked about before all others, and `never` the ids of questions that are not
    made again."""
    against = [one for path in recipe.filters.against for one in read_questions(path).questions]
    making = _Making(recipe, corpus, asker, keep, tuple(have), tuple(against), cache, folder)
    queue = single.order(corpus.components.usable, recipe.seed)
    queue.sort(key=lambda one: (one.document, one.page) not in first)
    making.taken = never | {one.id for one in have}
    used = {one.metadata.get("component") for one in have}
    free = [one for one in queue if one.id not in used and single.draft_id(one) not in making.taken]
    lacking = lacking_in(recipe, have)
    # unanswerable questions are made of others, of which there must be some to spare
    spare = math.ceil(lacking[0] * (1 + recipe.balance.spare)) - len(making.originals)
    making.single_hop(free, max(lacking.get(1, 0), spare))
    making.multi_hop(queue, {hops: number for hops, number in lacking.items() if hops > 1})
    making.without_answer(lacking[0])
    target = recipe.balance.target.given
    chosen: Sequence[Question] = _chosen(making.passed, lacking, target, have)
    unmarked: dict[str, str] = {}
    if recipe.answers.candidates:
        index, retriever = corpus.searches.index, corpus.searches.retrievers[0]
        with_citations = interleaved(chosen, index, retriever, recipe.answers.candidates, recipe.seed, asker)
        chosen, unmarked = with_citations.questions, with_citations.unmarked
    questions = (*have, *chosen)
    return BuiltSet(
        questions,
        tuple(making.drafts),
        coverage(
            questions, corpus.documents, recipe.components.modalities, target, sum(recipe.wanted().values())
        ),
        recipe.n,
        unmarked,
    )


class _Making:
    """The drafts of a build so far."""

    def __init__(
        self,
        recipe: Recipe,
        corpus: Corpus,
        asker: Asker,
        keep: Keep,
        have: tuple[Question, ...],
        against: tuple[Question, ...],
        cache: Cache,
        folder: Path | None,
    ) -> None:
        self.recipe, self.corpus, self.asker, self.keep = recipe, corpus, asker, keep
        self.have, self.against, self.cache, self.folder = have, against, cache, folder
        self.drafts: list[Draft] = []
        self.taken: frozenset[str] = frozenset()
        by_id = {component.id: component for component in corpus.components.usable}
        self.components: dict[str, Component] = {
            one.id: by_id[str(one.metadata.get("component"))]
            for one in have
            if one.metadata.get("component") in by_id
        }

    @property
    def passed(self) -> list[Question]:
        """The questions of the drafts that passed all checks."""
        return [draft.question for draft in self.drafts if draft.failed is None]

    @property
    def originals(self) -> list[Draft]:
        """The answerable questions on one component, old and new, of which others without an answer can be
        made."""
        used = {one.metadata.get("made_from") for one in self.have}
        old = [Draft(question=one) for one in self.have if one.id in self.components and one.answerable]
        new = [
            draft for draft in self.drafts if draft.failed is None and draft.question.id in self.components
        ]
        return [draft for draft in (*new, *old) if draft.question.id not in used]

    def single_hop(self, queue: Sequence[Component], wanted: int) -> None:
        """Draft questions on one component each, until there are some more than wanted, with as many of each
        kind as the target asks for, or until the components or the allowed drafts are used up."""
        enough = math.ceil(wanted * (1 + self.recipe.balance.spare))
        left, allowed = list(queue), wanted * self.recipe.drafts.most
        drafted = passed = 0
        at_once = max(self.asker.model.max_concurrency, self.asker.judge.max_concurrency)
        wave = at_once  # small at first, so that the first question is there soon
        while drafted < allowed:
            short = self._short(wanted)
            # when there are enough, all that is missing is what the target names
            useful = (
                left
                if passed < wanted
                else [one for one in left if not short.keys().isdisjoint(_steered(one))]
            )
            if not useful:
                break
            missing = max(enough - passed, *short.values(), 1)
            size = min(wave, math.ceil(missing * self._needed(drafted, passed)))
            wave *= 2 if at_once > 1 else 1
            batch = self._next(useful, min(size, allowed - drafted))
            in_batch = set(batch)
            left = [one for one in left if one not in in_batch]
            drafts = self._drafted(batch)
            drafted += len(batch)
            passed += sum(draft.failed is None for draft in drafts)
            self._keep(drafts)
            self.asker.progress("questions", min(passed, enough), enough)

    def _next(self, components: Sequence[Component], size: int) -> Sequence[Component]:
        """Return so many of the components, those that the target lacks most first."""
        target = self.recipe.balance.target.given
        steered = {name: target[name] for name in STEERED if name in target}
        if not steered:
            return components[:size]
        have = map(properties, [*self.have, *self.passed])
        return [components[at] for at in choose([_steered(one) for one in components], size, steered, have)]

    def _short(self, number: int) -> dict[Property, int]:
        """Return how many questions of which documents and modalities the target still wants, if it wants so
        many new questions on one component each."""
        have = [one for one in self.have if one.answerable and (one.hops or 1) == 1]
        found = shortage(self.recipe.balance.target.given, number + len(have), [*have, *self.passed])
        return {one: wanted - there for one, (there, wanted) in found.items() if one[0] in STEERED}

    def multi_hop(self, queue: Sequence[Component], wanted: Mapping[int, int]) -> None:
        """Draft questions by walks through the graph of the documents, until there are some more than wanted
        or the walks are used up."""
        number = sum(wanted.values())
        if not number:
            return
        recipe, asker = self.recipe, self.asker
        graph = self._graph(queue)
        tried = math.ceil(number * (1 + recipe.balance.spare))
        done: list[Draft] = []
        while True:
            with asker.journal.stage("walks"):
                drafts = walks(
                    graph,
                    self.corpus.documents,
                    asker.model,
                    sorted(wanted),
                    tried,
                    recipe.seed,
                    asker.journal,
                    partial(asker.progress, "walks"),
                    recipe.drafts.language,
                )
            drafts = [draft for draft in drafts if draft.question.id not in self.taken]
            drafts = self._through(self._checked(self._hops_checked(drafts)), self._hops_labelled)
            passed = Counter(draft.question.hops or 1 for draft in drafts if draft.failed is None)
            # the replies so far are stored, so longer walks call the model only for what is new
            if all(passed[hops] >= least for hops, least in wanted.items()) or len(drafts) <= len(done):
                break
            done, tried = drafts, 2 * tried
        long = partial(
            long_answers, documents=self.corpus.documents, asker=asker, language=recipe.drafts.language
        )
        self._keep(self._through(drafts, long))

    def _graph(self, queue: Sequence[Component]) -> MultiDiGraph:
        """Make the graph of entities and relations, and store it."""
        recipe, asker = self.recipe, self.asker
        with asker.journal.stage("graph"):
            read = [one if asker.sees else one.model_copy(update={"image": None}) for one in queue]
            found = extract(
                read[: recipe.graph.most], asker.model, asker.journal, partial(asker.progress, "graph")
            )
        graph = merge(found, recipe.embed, self.cache, recipe.graph.similarity)
        if self.folder is not None:
            save(graph, self.folder / GRAPH)
        return graph

    def _hops_checked(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Put multi-hop drafts through the checks of their hops."""
        asker = self.asker
        with asker.journal.stage("hops"):
            checked = check_hops(
                drafts, self.corpus.documents, asker.judge, asker.journal, partial(asker.progress, "hops")
            )
        return self._through(checked, self._no_duplicates)

    def _hops_labelled(self, left: Sequence[Draft]) -> Sequence[Draft]:
        """Find all pages of each hop."""
        return labelled_hops(left, self.corpus.documents, self.corpus.searches, self.asker)

    def without_answer(self, wanted: int) -> None:
        """Turn questions that passed into ones that no page answers, until there are enough of these."""
        originals = [
            draft
            for draft in self.originals
            if draft.question.answerable and unanswerable.changed_id(draft.question) not in self.taken
        ]
        at = passed = 0
        while at < len(originals) and passed < wanted:
            batch = unanswerable.unanswerable(
                originals[at : at + max(LEAST, wanted - passed)],
                self.components,
                self.corpus.documents,
                self.corpus.searches,
                self.asker,
                self.recipe.drafts.language,
            )
            at += len(batch)
            batch = self._through(batch, self._no_duplicates)
            passed += sum(draft.failed is None for draft in batch)
            self._keep(batch)

    def _needed(self, drafted: int, passed: int) -> float:
        """Return how many drafts one good question takes, by the drafts so far."""
        return drafted / passed if passed else 1.5

    def _drafted(self, batch: Sequence[Component]) -> list[Draft]:
        """Draft a question on each component, and put it through all stages."""
        recipe, language = self.recipe, self.recipe.drafts.language
        pairs = single.drafted(
            batch, self.corpus.documents, self.asker, language, judged=recipe.components.judge
        )
        self.components |= {draft.question.id: component for component, draft in pairs}
        drafts = self._through([draft for _, draft in pairs], self._no_duplicates)
        drafts = self._through(
            drafts,
            partial(answers.answered, components=self.components, asker=self.asker, language=language),
        )
        # what costs most, the pages of a question, comes last
        drafts = self._checked(drafts)
        pages: dict[str, Mapping[Place, str]] = {}

        def clear(left: Sequence[Draft]) -> Sequence[Draft]:
            found = clarity.clarified(
                left,
                self.components,
                self.corpus.documents,
                self.corpus.searches,
                self.asker,
                most=recipe.clarity.most,
                rounds=recipe.clarity.rounds,
                language=language,
            )
            pages.update(found.pages)
            before = {draft.question for draft in left}
            new = [draft for draft in found.drafts if draft.question not in before]
            again = self._checked(self._through(new, self._no_duplicates))
            checked = {draft.question.id: draft for draft in again}
            return [checked.get(draft.question.id, draft) for draft in found.drafts]

        drafts = self._through(drafts, clear)
        first = None if recipe.labels.first == "all" else recipe.labels.first
        return self._through(
            drafts,
            lambda left: labels.labelled(
                left, pages, self.corpus.documents, self.asker, self.components, first
            ),
        )

    def _checked(self, drafts: list[Draft]) -> list[Draft]:
        """Put drafts that have their gold answers through the checks that any question must pass."""
        settings = self.recipe.filters
        if settings.closed_book:
            drafts = self._through(
                drafts,
                partial(
                    filters.closed_book,
                    asker=self.asker,
                    samples=settings.closed_book,
                    confidence=settings.confidence,
                ),
            )
        return self._through(drafts, self._inspected) if self.recipe.checks.checklist else drafts

    def _inspected(self, left: Sequence[Draft]) -> list[Draft]:
        """Put drafts through the checklist. An item that could not be judged is not passed."""
        asker = self.asker
        questions = [draft.question for draft in left]
        with asker.journal.stage(CHECKLIST):
            said = inspect(
                questions,
                self.corpus.documents,
                LLMJudge(model=self.recipe.judge or self.recipe.model),
                asker.journal,
                partial(asker.progress, CHECKLIST),
                together=True,
            )
        checked = []
        for draft in left:
            found = said[draft.question.id]
            unjudged = [
                Check(check=CHECKLIST, item=item, passed=False, reason=f"not judged: {why}")
                for item, why in found.unjudged.items()
            ]
            checked.append(draft.after(*found.checks, *unjudged))
        return checked

    def _no_duplicates(self, left: Sequence[Draft]) -> Sequence[Draft]:
        """Drop drafts that repeat others, also of earlier batches and of other sets. A question without an
        answer differs from its original in one detail alone, so it is compared with other questions without
        an answer."""
        own = [one for one in (*self.have, *self.passed) if one.answerable == left[0].question.answerable]
        known = [*own, *self.against]
        return filters.without_duplicates(left, known, self.recipe.filters.duplicates)

    @staticmethod
    def _through(drafts: Sequence[Draft], stage: Callable[[Sequence[Draft]], Sequence[Draft]]) -> list[Draft]:
        """Put the drafts that passed so far through a stage."""
        left = [draft for draft in drafts if draft.failed is None]
        after = {draft.question.id: draft for draft in (stage(left) if left else ())}
        return [after.get(draft.question.id, draft) for draft in drafts]

    def _keep(self, batch: Iterable[Draft]) -> None:
        """Add the drafts of a batch, and store all."""
        self.drafts += batch
        self.keep(self.drafts)


def _steered(component: Component) -> list[Property]:
    """Return what is known of a question before it is drafted."""
    return [("document", component.document), ("modality", component.modality)]


def asker_for(recipe: Recipe, journal: Journal, progress: Progress) -> Asker:
    """Return the models of a recipe. They are shown pictures if components may have some, and neither of them
    is known to see none."""
    sees = {"table", "figure"} & set(recipe.components.modalities)
    if sees:
        try:
            for model in (recipe.model, recipe.judge or recipe.model):
                model.check_images()
        except (ModelError, UsageError):
            sees = set()
    return Asker(recipe.model, recipe.judge or recipe.model, journal, progress, bool(sees))


def lacking_in(recipe: Recipe, have: Sequence[Question]) -> dict[int, int]:
    """Return how many questions are lacking, by their number of hops; 0 is for those without an answer."""
    counts = Counter(one.hops or 1 if one.answerable else 0 for one in have)
    wanted = {0: recipe.unanswerable_wanted, **recipe.wanted()}
    return {hops: max(0, number - counts[hops]) for hops, number in wanted.items()}


def _chosen(
    passed: Sequence[Question], lacking: Mapping[int, int], target: Target, have: Sequence[Question]
) -> list[Question]:
    """Return the questions that are taken into the set beside those that it has, by their numbers of hops; 0
    is for those without an answer."""
    groups: dict[int, list[Question]] = {hops: [] for hops in lacking}
    for question in passed:
        groups.setdefault(question.hops or 1 if question.answerable else 0, []).append(question)
    chosen: list[Question] = []
    for hops in sorted(lacking, key=lambda hops: hops or math.inf):
        chosen += balanced(groups[hops], lacking[hops], target, (*have, *chosen))
    return chosen
