"""Five simulated pipelines: what each retrieves and answers is scripted and written as a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from corpus import CATEGORIES, PAGES, Corpus, document_of

from fathoms.runs.documents import keep_documents
from fathoms.runs.run import Run
from fathoms.runs.writing import new_run
from fathoms.types import Chunk, Failure, Hit, Message, Prompt, Question, Record, Reply, Usage

SYSTEM = (
    "You answer questions about documents. Use only the context. Say so where it does not hold the answer."
)


@dataclass(frozen=True)
class Pipeline:
    """`hits` chunks of `pages` pages each; of ten questions `finds` get their page, and `says` say what it
    holds."""

    name: str
    hits: int
    pages: int
    finds: int
    says: int


PIPELINES = (
    Pipeline("dense", 5, 1, 6, 8),
    Pipeline("bm25", 5, 1, 8, 7),
    Pipeline("hybrid", 5, 1, 9, 8),
    Pipeline("ten pages", 10, 1, 9, 7),
    Pipeline("whole documents", 1, 8, 7, 5),
)


def make_run(folder: Path, corpus: Corpus, pipeline: Pipeline) -> Run:
    """The run of one pipeline over all questions."""
    questions = corpus.questions
    data = {
        "name": "made-up",
        "questions": len(questions),
        "asked": len(questions),
        "asked_ids": [question.id for question in questions],
        "categories": list(CATEGORIES),
    }
    config = {"retrieve": {"kind": "scripted", "top_k": pipeline.hits}, "generate": {"kind": "scripted"}}
    manifest = {"model": "scripted", "config": config, "data": data, "repeats": 1}
    run = new_run(folder, pipeline.name, "0123456789", manifest)
    keep_documents(run, list(corpus.documents))
    for start in range(0, len(questions), 50):
        run.records.append(
            record(corpus, pipeline, number) for number in range(start, min(start + 50, len(questions)))
        )
    return run


def record(corpus: Corpus, pipeline: Pipeline, number: int) -> Record:
    """One question asked; one of a hundred fails."""
    question = corpus.questions[number]
    hits = retrieved(corpus, pipeline, number)
    context = "\n\n".join(f"[{hit.chunk.document}]\n{hit.chunk.text}" for hit in hits)
    messages = (
        Message(role="system", text=SYSTEM),
        Message(role="user", text=f"Context:\n{context}\n\nQuestion: {question.text}"),
    )
    prompt = Prompt(messages=messages, context=context, tokens=len(context) // 4, budget=32_000)
    timings = {"retrieve": 0.01 + number % 7 / 500, "prompt": 0.002, "generate": 1 + number % 13 / 5}
    common = {"question": question, "hits": hits, "prompt": prompt}
    if number % 100 == 57:
        return Record(**common, error=Failure(kind="NoAnswerError", message="no answer within 60 s"))
    return Record(**common, answer=reply(corpus, pipeline, number, question, hits), timings=timings)


def retrieved(corpus: Corpus, pipeline: Pipeline, number: int) -> tuple[Hit, ...]:
    """Chunks around a place that is right for some of the questions, each of consecutive pages."""
    total = len(corpus.pages)
    at = number if number % 10 < pipeline.finds else number + 3 * PAGES
    starts = [(at + 7 * rank) % total for rank in range(pipeline.hits)]
    return tuple(
        Hit(chunk=chunk(corpus, start, pipeline.pages), score=1 / rank, rank=rank)
        for rank, start in enumerate(starts, 1)
    )


def chunk(corpus: Corpus, start: int, pages: int) -> Chunk:
    """Some pages of one document from a page on."""
    end = min(start + pages, start - start % PAGES + PAGES, len(corpus.pages))
    numbers = tuple(number % PAGES + 1 for number in range(start, end))
    text = "\n\n".join(corpus.pages[start:end])
    return Chunk(id=f"c{start}-{end}", document=document_of(start), pages=numbers, text=text)


def reply(corpus: Corpus, pipeline: Pipeline, number: int, question: Question, hits: Iterable[Hit]) -> Reply:
    """What the context says, something else, or that it does not know; and some words about it."""
    seen = any(corpus.values[number] in hit.chunk.text for hit in hits)
    if seen and number * 7 % 10 < pipeline.says:
        said = f"{corpus.names[number].capitalize()} opened at {corpus.values[number]}."
    elif number % 3:
        said = "I don't know. The context does not say at what pressure it opened."
    else:
        said = f"It opened at {number % 800 + 20}.{number % 9 + 1} kPa."
    usage = Usage(prompt_tokens=2500 + number, completion_tokens=80)
    text = f"{said} {question.text} {corpus.text(200)}." if number % 2 else said
    return Reply(
        text=text, stop_reason="stop", usage=usage, cost=0.0004 * pipeline.hits + number / 1e7, latency=1.2
    )
