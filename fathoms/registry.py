"""The registry: every component by the place of a configuration that takes one, a line for each.

To add a component, write its file and add its line to the list of its room below. Configurations, error
messages, `doctor`, completion, the check of runs from elsewhere, and the reference find it there. A line
names a class, or a tuple of classes that belong together, and imports nothing before a configuration is read.

Other packages add components by entry points of the group `fathoms.ROOM`, such as `fathoms.retrievers`, with
the kind as the name. They are looked up only for a kind that fathoms does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from fathoms import hooks
from fathoms.component import Component, kind_of
from fathoms.errors import ConfigError, PluginRefusedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

Room = Literal[
    "parsers",
    "chunkers",
    "embedders",
    "page_embedders",
    "retrievers",
    "rerankers",
    "stores",
    "models",
    "pipelines",
    "judges",
    "metrics",
]
"""A kind of place in a configuration that takes one of several components."""

ROOMS: dict[Room, tuple[str, ...]] = {
    "parsers": (
        "fathoms.ingest.parsers.pdfium:Pdfium",
        "fathoms.ingest.parsers.pymupdf:PyMuPDF",
        "fathoms.ingest.docling.parser:Docling",
        "fathoms.ingest.parsers.python:PythonParser",
    ),
    "chunkers": (
        "fathoms.ingest.chunkers.sentence:SentenceChunker",
        "fathoms.ingest.chunkers.pages:PageChunker",
        "fathoms.ingest.chunkers.docling:DoclingHybridChunker",
    ),
    "embedders": (
        "fathoms.models.embed.onnx:OnnxEmbedder",
        "fathoms.models.embed.lexical:LexicalEmbedder",
        "fathoms.models.chat.llamaindex:LlamaIndexEmbedder",
        "fathoms.models.chat.ollama:OllamaEmbedder",
        "fathoms.models.chat.openai_compatible:OpenAICompatibleEmbedder",
        "fathoms.models.embed.sentence_transformers:SentenceTransformersEmbedder",
    ),
    "page_embedders": (
        "fathoms.models.embed.multi_vector:MultiVectorEmbedder",
        "fathoms.models.embed.image_text:ImageTextEmbedder",
        "fathoms.models.embed.served.openai_compatible:OpenAICompatiblePages",
        "fathoms.models.embed.served.cohere:CoherePages",
        "fathoms.models.embed.served.voyage:VoyagePages",
        "fathoms.models.embed.served.jina:JinaPages",
    ),
    "retrievers": (
        "fathoms.retrieve.dense:Dense",
        "fathoms.retrieve.bm25:BM25",
        "fathoms.retrieve.visual:Visual",
        "fathoms.retrieve.hybrid:Hybrid",
        "fathoms.retrieve.rerank:Rerank",
        "fathoms.retrieve.expand:Expand",
        "fathoms.retrieve.each_document:EachDocument",
        "fathoms.retrieve.describe:Describe",
        "fathoms.retrieve.degrade:Degrade",
        "fathoms.retrieve.distractors:Distractors",
        "fathoms.retrieve.injected:Injected",
        "fathoms.retrieve.whole_document:WholeDocument",
        "fathoms.retrieve.files:Files",
        "fathoms.retrieve.oracle:Oracle",
        "fathoms.retrieve.quotes:Quotes",
        "fathoms.retrieve.quote_search:QuoteSearch",
        "fathoms.retrieve.closed_book:ClosedBook",
    ),
    "rerankers": (
        "fathoms.models.embed.cross_encoder:CrossEncoder",
        "fathoms.retrieve.llm_reranker:LLMReranker",
    ),
    "stores": (
        "fathoms.retrieve.numpy_store:NumpyStore",
        "fathoms.retrieve.ivf:IvfStore",
        "fathoms.retrieve.llamaindex:LlamaIndexStore",
    ),
    "models": (
        "fathoms.models.chat.embedded:Embedded",
        "fathoms.models.chat.ollama:OllamaLLM",
        "fathoms.models.chat.openai_compatible:OpenAICompatibleLLM",
        "fathoms.models.chat.anthropic:AnthropicLLM",
        "fathoms.models.chat.openai:OpenAILLM",
        "fathoms.models.chat.google:GoogleLLM",
        "fathoms.models.chat.llamaindex:LlamaIndexLLM",
        "fathoms.models.chat.scripted:ScriptedModel",
    ),
    "pipelines": (
        "fathoms.pipeline.external.http:Http",
        "fathoms.pipeline.external.python:Python",
    ),
    "judges": (
        "fathoms.judges.llm:LLMJudge",
        "fathoms.judges.nli.judge:NLIJudge",
        "fathoms.judges.people:PeopleJudge",
        "fathoms.judges.imported:ImportedJudge",
        "fathoms.judges.scripted:ScriptedJudge",
        "fathoms.judges.cascade:Cascade",
    ),
    "metrics": (
        "fathoms.metrics.profile_metrics:Correctness",
        "fathoms.metrics.profile_metrics:Hallucination",
        "fathoms.metrics.profile_metrics:Abstention",
        "fathoms.metrics.profile_metrics:Coverage",
        "fathoms.metrics.profile_metrics:SelectiveAccuracy",
        "fathoms.metrics.profile_metrics:RecallInDocuments",
        "fathoms.metrics.profile_metrics:RecallInRetrieved",
        "fathoms.metrics.profile_metrics:RecallInPrompt",
        "fathoms.metrics.gold_pages:GoldPageParsed",
        "fathoms.metrics.gold_pages:GoldPageRetrieved",
        "fathoms.metrics.gold_pages:GoldPageInPrompt",
        "fathoms.metrics.gold_pages:GoldPageCited",
        "fathoms.metrics.gold_pages:PagePhraseAgreement",
        "fathoms.metrics.evidence_documents:EvidenceDocumentParsed",
        "fathoms.metrics.evidence_documents:EvidenceDocumentRetrieved",
        "fathoms.metrics.evidence_documents:EvidenceDocumentInPrompt",
        "fathoms.metrics.evidence_documents:EvidenceDocumentCombined",
        "fathoms.metrics.evidence:AnswerRateOnHits",
        "fathoms.metrics.evidence:AbstentionOnMisses",
        "fathoms.metrics.evidence:AccuracyOnHits",
        "fathoms.metrics.truthfulness:Truthfulness",
        "fathoms.metrics.truthfulness:AnsweredUnanswerable",
        "fathoms.metrics.truthfulness:AbstainedAnswerable",
        "fathoms.metrics.truthfulness:AbstentionF1",
        "fathoms.metrics.spending:Latency",
        "fathoms.metrics.spending:PromptTokens",
        "fathoms.metrics.spending:CompletionTokens",
        "fathoms.metrics.spending:Cost",
        "fathoms.metrics.reference.squad:ExactMatch",
        "fathoms.metrics.reference.squad:TokenF1",
        "fathoms.metrics.reference.bleu:Bleu",
        "fathoms.metrics.reference.bleu:SacreBleu",
        "fathoms.metrics.reference.rouge:Rouge1",
        "fathoms.metrics.reference.rouge:Rouge2",
        "fathoms.metrics.reference.rouge:RougeL",
        "fathoms.metrics.reference.rouge:MirageRougeL",
        "fathoms.metrics.reference.similarity:SemanticSimilarity",
        "fathoms.metrics.reference.short_long:SHORT_LONG",
        "fathoms.metrics.listed:LISTED",
        "fathoms.metrics.injections:INJECTIONS",
        "fathoms.metrics.premise:PremiseAdopted",
        "fathoms.metrics.reference.bertscore:BertScore",
        "fathoms.metrics.faithfulness:Faithfulness",
        "fathoms.metrics.correctness_judged:CorrectnessJudged",
        "fathoms.metrics.claims.ragchecker:RAGCHECKER",
        "fathoms.metrics.claims.mm_ragchecker:MM_RAGCHECKER",
        "fathoms.metrics.claims.alce:ALCE",
        "fathoms.metrics.claims.argue:ARGUE",
        "fathoms.metrics.claims.umbrela:UMBRELA",
        "fathoms.metrics.claims.nuggets:NUGGETS",
        "fathoms.metrics.claims.citation_support:CITATION_SUPPORT",
        "fathoms.metrics.claims.ragas:RAGAS",
        "fathoms.metrics.claims.sources:IntrinsicHallucination",
        "fathoms.metrics.claims.sources:ExtrinsicHallucination",
        "fathoms.metrics.answer_length:AnswerLength",
        "fathoms.metrics.claims.mirage:METRICS",
        "fathoms.metrics.quotes.metrics:MMDOCRAG",
        "fathoms.metrics.quotes.quality:QUALITY_METRICS",
        "fathoms.metrics.retrieval.metrics:RETRIEVAL_METRICS",
        "fathoms.metrics.retrieval.rounds:RecallByRound",
        "fathoms.metrics.retrieval.rounds:CallsByRound",
        "fathoms.metrics.python_metric:PythonMetric",
    ),
}
"""The components of fathoms by room; the order is that of tables and of the reference."""

COMMANDS = "fathoms.commands"
"""The group of the entry points by which other packages add commands."""


@cache
def built_in(room: Room, modules: tuple[str, ...] = ()) -> Mapping[str, type[Component]]:
    """Return the components of fathoms in a room, by kind; those of extras are the last. With `modules`, only
    the components of these are returned and imported."""
    found: list[type[Component]] = []
    for line in (*ROOMS[room], *hooks.components(room)):
        if modules and line.partition(":")[0] not in modules:
            continue
        named = hooks.loaded(line)
        found += named if isinstance(named, tuple) else (named,)
    return {kind_of(component): component for component in found}


def near(room: Room, kind: str) -> type[Component] | None:
    """Return the component of a kind where its module is named as the kind is, as most are: no others of the
    room are imported then. `None` says nothing."""
    modules = [line.partition(":")[0] for line in ROOMS[room]]
    named = tuple(one for one in modules if one.rpartition(".")[2] == kind.replace("-", "_"))
    return built_in(room, named).get(kind) if named else None


def components_of(*names: Room) -> Callable[[str], Any]:
    """Return what finds the classes of rooms by their names, for `__getattr__` of a package: each is imported
    when it is used, because a run uses a few of them."""
    places = {line.rpartition(":")[2]: line for name in names for line in ROOMS[name]}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"there is no component '{name}'")
        return hooks.loaded(places[name])

    return find


@cache
def rooms() -> Mapping[type[Component], Room]:
    """Return the room of each component of fathoms."""
    return {component: room for room in ROOMS for component in built_in(room).values()}


# ----- what configurations are read with


@dataclass(frozen=True)
class OneOf:
    """Marks a type in a configuration: one component of a room, by its `kind`.

    The union of all kinds is made when the first value is read, so that a configuration imports no components
    of a room that it does not use. With `within`, only those components are taken that say in `usable_in`
    that they can be used in that kind.
    """

    room: Room
    within: str | None = None

    @cache  # noqa: B019 - there are as many marks as places in the code
    def classes(self) -> tuple[type[Component], ...]:
        """Return the components of fathoms that are taken here."""
        every = built_in(self.room).values()
        return tuple(one for one in every if self.within is None or self.within in one.usable_in)

    @cache  # noqa: B019 - as for `classes`
    def _union(self) -> TypeAdapter[Any]:
        """Return what reads a component of any of the classes by its `kind`."""
        classes = self.classes()
        union: Any = Annotated[Union[classes], Field(discriminator="kind")]  # noqa: UP007
        return TypeAdapter(union)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a value by its `kind`. A kind that fathoms does not know is looked for among the plug-ins."""
        from pydantic_core import core_schema

        def read(value: Any) -> Any:
            kind = value.get("kind") if isinstance(value, Mapping) else getattr(value, "kind", None)
            one = near(self.room, kind) if isinstance(kind, str) else None
            if one is not None and (self.within is None or self.within in one.usable_in):
                with suppress(ValidationError):  # the union says where something is wrong
                    return one.model_validate(value)
            found = plugin(self.room, kind, source) if isinstance(kind, str) else None
            if found is not None and (self.within is None or self.within in found.usable_in):
                return found.model_validate(value)
            return self._union().validate_python(value)

        return core_schema.no_info_plain_validator_function(
            read,
            # by the class of the value, which may be a plug-in
            serialization=core_schema.simple_ser_schema("any"),
        )


def spelled_out(annotation: Any, metadata: Sequence[Any] = ()) -> Any:
    """Return a type with the union of its components in the place of each `OneOf`."""
    unions = [mark for mark in metadata if isinstance(mark, OneOf)]
    if unions:
        return Union[unions[0].classes()]  # noqa: UP007
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return spelled_out(arguments[0], arguments[1:])
    if not arguments or origin is Literal:
        return annotation
    inner = tuple(map(spelled_out, arguments))
    return Union[inner] if origin not in (list, tuple, dict, frozenset, set) else origin[inner]  # noqa: UP007


def models_in(annotation: Any, metadata: Sequence[Any] = ()) -> list[type[BaseModel]]:
    """Return every model class inside a type, in order."""
    found = spelled_out(annotation, metadata)
    if isinstance(found, type) and issubclass(found, BaseModel):
        return [found]
    return [model for argument in get_args(found) for model in models_in(argument)]


# ----- plug-ins

_ALLOWED: ContextVar[bool] = ContextVar("plug-ins may be imported", default=True)


@contextmanager
def without_plugins() -> Iterator[None]:
    """Refuse plug-ins while a configuration is read that somebody else made."""
    token = _ALLOWED.set(False)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


@cache
def entry_points(group: str) -> tuple[EntryPoint, ...]:
    """Return the entry points of a group in all installed packages; this reads the folder of each package."""
    from importlib import metadata

    return tuple(metadata.entry_points(group=group))


def imported(entry: EntryPoint) -> Any:
    """Import what an entry point names; raises ConfigError where that fails, whatever it raises."""
    try:
        return entry.load()
    except Exception as error:
        raise ConfigError(
            f"the plug-in '{entry.name}' of {distribution(entry)} cannot be imported ({entry.value}):"
            f" {type(error).__name__}: {error}"
        ) from error


def distribution(entry: EntryPoint) -> str:
    """Return the name and the version of the package that an entry point comes with."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"


def plugin(room: Room, kind: str, base: Any = Component) -> type[Component] | None:
    """Return the component of another package; `None` for a kind of fathoms, or if no package has it.

    Raises PluginRefusedError where the configuration comes from elsewhere, before anything is imported, and
    ConfigError for a plug-in that cannot be used.
    """
    if kind in built_in(room):
        return None
    entry = next((entry for entry in entry_points(f"fathoms.{room}") if entry.name == kind), None)
    if entry is None:
        return None
    if not _ALLOWED.get():
        raise PluginRefusedError(
            f"kind '{kind}' is a plug-in of {distribution(entry)}, and this run is not known to be one of"
            " yours: nothing was imported; add --trust if you trust the origin of this run"
        )
    found = imported(entry)
    if not (isinstance(found, type) and issubclass(found, base) and kind_of(found) == kind):
        raise ConfigError(
            f"the plug-in '{kind}' of {distribution(entry)} is not a subclass of"
            f" {getattr(base, '__name__', base)} with this kind"
        )
    return cast(type[Component], found)


def is_plugin(component: type[BaseModel]) -> bool:
    """Whether a component comes with another package, so that what it says of its safety vouches for
    nothing."""
    return component.__module__.partition(".")[0] != "fathoms"


def plugins(commands: Collection[str]) -> Iterator[tuple[str, EntryPoint, bool]]:
    """Yield every plug-in with the name of its room, and whether fathoms has something of the same name,
    which is then used; nothing of a plug-in is imported. `commands` are those of fathoms."""
    for room in ROOMS:
        for entry in entry_points(f"fathoms.{room}"):
            yield room, entry, entry.name in built_in(room)
    for entry in entry_points(COMMANDS):
        yield "commands", entry, entry.name in commands
