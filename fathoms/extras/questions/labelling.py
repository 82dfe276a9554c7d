"""Finding all pages that hold the answer to a question, by asking a language model about each page.

As in Double-Bench (Shen et al. 2025), whose labels were exhaustive: every page of the documents of a question
is judged by whether it holds the answer, or leads to it as one hop of several. A first pass by retrieval can
leave only the pages that BM25 ranks first; what it loses is measured on the evidence that the questions
already have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fathoms.extras.questions.drafting import ask_all, model_of
from fathoms.judges.judge import Judge
from fathoms.metrics.correctness_judged import gold_text
from fathoms.models.caching import ReplyCache
from fathoms.retrieve import BM25, Index
from fathoms.types import Chunk, Document, Evidence, Failure, Form, Message, Place, Prompt, Question

HOLDS, NOT = "yes", "no"
YES_NO = Form(choices=(HOLDS, NOT))
_PROMPT = """\
You label the pages of a document. Page {page} of {document}:

{text}

Does this page hold the answer to the question below, or a fact that is needed to work it out? A page that is
only about the same subject does not count. Answer with one word: yes or no.

Question: {question}
Answer: {answer}
Holds it:"""


class PageCall(NamedTuple):
    """A page that is judged for a question, given by the id of the question."""

    question: str
    document: str
    page: int

    @property
    def place(self) -> Place:
        """The page as its document and its number, which counts from 1."""
        return self.document, self.page


@dataclass(frozen=True)
class Agreement:
    """How far labelled pages agree with the evidence that questions had: the pages that are in both, the
    labelled ones and the ones of the evidence, over the questions with evidence."""

    both: int = 0
    labelled: int = 0
    known: int = 0

    @property
    def precision(self) -> float | None:
        """The share of the labelled pages that are evidence; pages that nobody labelled before count as
        wrong."""
        return self.both / self.labelled if self.labelled else None

    @property
    def recall(self) -> float | None:
        """The share of the pages of the evidence that are labelled."""
        return self.both / self.known if self.known else None


@dataclass(frozen=True)
class Labelled:
    """The questions with the labelled pages as evidence. `added` and `missed` are the changes by question:
    pages that are new, and pages of the evidence that the model judged and did not label, which stay.
    `agreement` is over the judged pages of all questions with evidence, and `recall_by_modality` over those
    of each modality. `unjudged` counts the pages of the evidence without a judgement: without text, left out
    by the first pass, in a document that is not there, or of a call that failed.
    `first_pass` is the share of the pages of the evidence that the first pass left. `failures` say why a page
    has no label, and `unasked` names the answerable questions without a page that could be judged."""

    questions: tuple[Question, ...]
    added: Mapping[str, tuple[Place, ...]]
    missed: Mapping[str, tuple[Place, ...]]
    agreement: Agreement
    recall_by_modality: Mapping[str, tuple[int, int]]
    calls: int
    unjudged: int = 0
    first_pass: float | None = None
    failures: Mapping[PageCall, str] = field(default_factory=dict)
    unasked: tuple[str, ...] = ()

    @property
    def judged(self) -> int:
        """How many pages have a label."""
        return self.calls - len(self.failures)


def pages_to_ask(
    questions: Sequence[Question], documents: Mapping[str, Document], first: int | None = None
) -> list[PageCall]:
    """Return the pages that are judged, page by page, so that the text of a page is the common beginning of
    neighbouring prompts: those of the documents that a question names, or of all where it names none. Pages
    without text and unanswerable questions are left out. With `first`, only so many pages of each question
    are judged: those of its documents that BM25 ranks first."""
    found: list[PageCall] = []
    by_documents: dict[tuple[str, ...], list[Question]] = defaultdict(list)
    for one in questions:
        if one.answerable:
            named = documents.keys() & set(one.files) if one.files else documents.keys()
            by_documents[tuple(sorted(named))].append(one)
    for names, several in by_documents.items():
        pages = [(name, page) for name in names for page in documents[name].pages if page.text.strip()]
        chunks = [
            Chunk(id=str(at), document=name, pages=(page.number,), text=page.text)
            for at, (name, page) in enumerate(pages)
        ]
        ranked = [chunks] * len(several) if first is None else _best(several, chunks, first)
        for one, row in zip(several, ranked, strict=True):
            found += [PageCall(one.id, chunk.source, chunk.pages[0]) for chunk in row]
    return sorted(found, key=lambda item: (item.document, item.page))


def _best(questions: Sequence[Question], chunks: Sequence[Chunk], first: int) -> list[list[Chunk]]:
    """Return the pages that BM25 ranks first for each question."""
    with TemporaryDirectory() as folder:
        index = Index((), chunks, None, _no_vectors, Path(folder, "index"))
        found = BM25(top_k=first).search(index, questions)
    return [[hit.chunk for hit in row] for row in found]


def _no_vectors(texts: Sequence[str]) -> Any:
    """Stand for the embedder of an index that only BM25 searches, which asks for no vectors."""
    raise AssertionError("BM25 asks for no vectors")


def label(
    questions: Sequence[Question],
    documents: Mapping[str, Document],
    judge: Judge,
    *,
    first: int | None = None,
    replies: ReplyCache | None = None,
    on_done: Callable[[int, int], None] = lambda done, total: None,
) -> Labelled:
    """Judge the pages of `pages_to_ask`, and add those that hold the answer to the evidence of each question.
    Evidence that is there already stays. Raises the errors of `model_of`."""
    model = model_of(judge, "label pages")
    to_judge = pages_to_ask(questions, documents, first)
    said = ask_all(to_judge, model, prompts_about(questions, documents), read_label, replies, on_done)
    holds: dict[str, set[Place]] = defaultdict(set)
    for item, found in said.items():
        if found is True:
            holds[item.question].add(item.place)
    judged: dict[str, set[Place]] = defaultdict(set)
    for item, found in said.items():
        if isinstance(found, bool):
            judged[item.question].add(item.place)
    labelled = [_labelled(one, holds[one.id]) for one in questions]
    gold = {one.id: one.gold_pages for one in questions if one.answerable and one.gold_pages}
    known = {id: pages & judged[id] for id, pages in gold.items()}
    reached: dict[str, set[Place]] = defaultdict(set)
    for item in to_judge:
        reached[item.question].add(item.place)
    total = sum(map(len, gold.values()))
    return Labelled(
        tuple(labelled),
        {one.id: new for one in questions if (new := tuple(sorted(holds[one.id] - one.gold_pages)))},
        {id: left for id, pages in known.items() if (left := tuple(sorted(pages - holds[id])))},
        Agreement(
            sum(len(pages & holds[id]) for id, pages in known.items()),
            sum(len(holds[id]) for id in known),
            sum(map(len, known.values())),
        ),
        _by_modality([one for one in questions if one.id in known], holds, judged),
        len(to_judge),
        total - sum(map(len, known.values())),
        None if first is None or not total else sum(len(p & reached[id]) for id, p in gold.items()) / total,
        {item: found.message for item, found in said.items() if isinstance(found, Failure)},
        tuple(one.id for one in questions if one.answerable and one.id not in reached),
    )


def prompts_about(
    questions: Sequence[Question], documents: Mapping[str, Document]
) -> Callable[[PageCall], Prompt]:
    """Return the function that makes the prompt about a page."""
    by_id = {one.id: one for one in questions}
    texts = {
        (name, page.number): page.text for name, document in documents.items() for page in document.pages
    }
    return lambda item: prompt_for(by_id[item.question], item, texts[item.place])


def prompt_for(question: Question, item: PageCall, text: str) -> Prompt:
    """Return the prompt about a page. It begins with the text that is the same for all questions of a
    page."""
    request = _PROMPT.format(
        page=item.page,
        document=item.document,
        text=text,
        question=question.text,
        answer=gold_text(question) or "not known",
    )
    return Prompt(messages=(Message(role="user", text=request),), form=YES_NO)


def read_label(choice: str) -> bool:
    """Return whether a choice of `YES_NO` is yes."""
    return choice == HOLDS


def _labelled(question: Question, pages: set[Place]) -> Question:
    """Return a question with further pages as evidence."""
    new = [Evidence(document=name, page=number) for name, number in sorted(pages - question.gold_pages)]
    return question.model_copy(update={"evidence": (*question.evidence, *new)}) if new else question


def _by_modality(
    questions: Sequence[Question], holds: Mapping[str, set[Place]], judged: Mapping[str, set[Place]]
) -> dict[str, tuple[int, int]]:
    """Return for each modality how many judged pages of its evidence are labelled, and how many there are."""
    found: dict[str, list[bool]] = defaultdict(list)
    for one in questions:
        for modality, place in sorted(
            {(e.modality or "not stated", (e.document, e.page)) for e in one.gold_evidence if e.page}
        ):
            if place in judged[one.id]:
                found[modality].append(place in holds[one.id])
    return {modality: (sum(values), len(values)) for modality, values in sorted(found.items())}
