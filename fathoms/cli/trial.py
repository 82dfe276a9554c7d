"""One trial question to the service of a configuration, to see what its mapping finds in a reply."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fathoms.errors import ConfigError, ModelError, ServerError

if TYPE_CHECKING:
    from fathoms.corpora import Corpus
    from fathoms.experiment import AnyExperiment
    from fathoms.pipeline.external.answer import Context
    from fathoms.pipeline.external.external_pipeline import PipelineReply
    from fathoms.pipeline.external.names import DocumentNames
    from fathoms.pipeline.external.reading import Unmatched
    from fathoms.pipeline.matrix import Cell
    from fathoms.types import Question

Offline = Annotated[
    bool, typer.Option("--offline", help="Send no trial question to the service of a pipeline.")
]
_TEXT = 160
_PLACES = 8


def trial(
    config: Path,
    settings: Sequence[str] | None,
    experiment: AnyExperiment,
    corpus: Corpus,
    cell: Cell | None = None,
) -> list[str]:
    """Send the first question to the service of a configuration, read at a cell of its matrix; returns what
    its mapping found, as lines.

    Returns nothing for a pipeline that is no service. Raises ConfigError for paths that match nothing in the
    reply, each with its place in the configuration, ServerError where no service answers, and ModelError for
    a reply without a usable answer.
    """
    from fathoms.config import override, read_yaml
    from fathoms.experiment import KEYS, ExternalExperiment
    from fathoms.pipeline.external import Http
    from fathoms.pipeline.external.names import DocumentNames
    from fathoms.pipeline.matrix import at_cell, axes_of

    if not isinstance(experiment, ExternalExperiment) or not isinstance(experiment.pipeline, Http):
        return []
    service, question, limit = experiment.pipeline, corpus.questions[0], experiment.question_timeout
    try:
        service.check()
    except ServerError as error:
        raise ServerError(f"{error}; --offline sends no trial question") from error

    async def ask() -> tuple[PipelineReply | ModelError, Sequence[Unmatched]]:
        async with asyncio.timeout(limit):
            return await service.try_out(question)

    started = time.perf_counter()
    try:
        reply, unmatched = asyncio.run(ask())
    except TimeoutError:
        raise ServerError(f"{service.name}: no answer to the trial question within {limit:g} s") from None
    if unmatched:
        source = read_yaml(config)
        source = override(at_cell(source, axes_of(source, KEYS), cell or {}), settings or ())
        raise ConfigError("\n".join(f"{source.at(('pipeline', *one.key))}: {one}" for one in unmatched))
    if isinstance(reply, ModelError):
        raise reply
    seconds = time.perf_counter() - started
    return [*found_lines(question, reply, DocumentNames(corpus.documents), seconds)]


def found_lines(
    question: Question, reply: PipelineReply, names: DocumentNames, seconds: float
) -> Iterator[str]:
    """What the mapping found in the reply to the trial question."""
    from fathoms.report.text import plain, shorten

    answer = reply.answer
    yield f"trial question: {shorten(question.text, _TEXT)} ({plain(question.id)}, {seconds:.1f} s)"
    yield f"answer: {shorten(answer.answer, _TEXT) or 'empty'}"
    if answer.refusal:
        yield f"refused: {shorten(answer.refusal, _TEXT)}"
    contexts = answer.all_contexts
    if contexts is None:
        yield "contexts: not reported"
    elif not contexts:
        yield "contexts: none"
    else:
        first = shorten(contexts[0].text, _TEXT) or "an empty text"
        yield f"contexts: {len(contexts)}; the first is {first}"
        unnamed = all(context.document is None for context in contexts)
        where = "; 'document' and 'page' under response.contexts say where they are in the reply" * unnamed
        yield f"documents: {_listed(_places(contexts, names))}{where}"
    if answer.rounds:
        query = shorten(answer.rounds[0].query, _TEXT) or "not reported"
        yield f"rounds: {len(answer.rounds)}; the first search text is {query}"
    cited = answer.citations
    if cited is None:
        yield "citations: not reported"
    else:
        places = (_place(one.document, () if one.page is None else (one.page,), names) for one in cited)
        yield f"citations: {_listed(places)}"
    usage = {} if answer.usage is None else answer.usage.model_dump(exclude_none=True)
    counts = [f"{count:,} {name.replace('_', ' ')}" for name, count in usage.items()]
    yield f"usage: {', '.join(counts) or 'not reported'}"
    if reply.version is not None:
        yield f"version: {shorten(reply.version, _TEXT)}"


def _places(contexts: Sequence[Context], names: DocumentNames) -> Iterator[str]:
    """The documents and pages of contexts."""
    for context in contexts:
        yield _place(context.document or "", context.all_pages, names)


def _place(document: str, pages: Iterable[int], names: DocumentNames) -> str:
    """A document with its pages, and whether the data set has it."""
    from fathoms.report.text import plain

    numbers = ", ".join(map(str, pages))
    where = f" p. {numbers}" if numbers else ""
    if not document:
        return f"not named{where}"
    found = names.find(document)
    return f"{plain(found or document)}{where}{'' if found else ' (not in the data set)'}"


def _listed(places: Iterable[str]) -> str:
    """The distinct places, cut to a few."""
    distinct = list(dict.fromkeys(places))
    more = [f"{len(distinct) - _PLACES} more"] if len(distinct) > _PLACES else []
    return "; ".join([*distinct[:_PLACES], *more]) or "none"
