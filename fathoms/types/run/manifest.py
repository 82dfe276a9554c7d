"""The manifest of a run (`manifest.json`): what was run, on which data, with which versions."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from fathoms.types.run.part import (
    SCHEMA,
    Amount,
    Count,
    Flag,
    Json,
    Number,
    Part,
    Position,
    Positive,
    Share,
    Whole,
    absent,
)


class ParserFacts(Part):
    """The parser that read the documents, if a parser of fathoms did; absent otherwise and in runs of
    earlier versions."""

    kind: str
    """Its kind, as in the configuration."""
    revision: Whole | None = absent()
    """A number that changes with the text that it makes of the same file."""


class IngestTime(Part):
    """What one stage of ingestion took and made."""

    seconds: Amount = 0
    """Wall-clock seconds in total."""
    made: Count = 0
    """Pages that were parsed or chunked, or texts that were embedded. What came from the cache is not
    counted, so the seconds of a stage that made nothing are those of reading the cache."""
    calls: Count = 0
    """Replies of a server that embedded the texts; absent where none was asked."""
    tokens: Count | None = None
    """Tokens of the texts that a server embedded; null where a reply did not report them."""
    cost: Amount | None = None
    """What the server took in US dollars; null where no price is known."""
    device: str | None = absent()
    """Where a local model embedded pages, and its precision, such as 'cpu, float32'; absent for other
    stages, where all came from the cache, and where a cluster embedded them."""


class Ingest(Part):
    """What the ingestion reported; null where nothing was parsed."""

    documents: Count | None = absent()
    """Documents that were read."""
    pages: Count | None = absent()
    """Pages of these documents."""
    tables: Count | None = None
    """Tables found; null where they are not looked for."""
    pictures: Count | None = None
    """Pictures found; null where they are not looked for."""
    chunks: Count | None = absent()
    """Chunks that can be retrieved."""
    index_bytes: Count | None = None
    """Bytes of what a search reads besides the texts: the vectors, and the scores of words for BM25. Null
    where that is not known."""
    warnings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Warnings about documents that were read, by file name."""
    failures: dict[str, str] = Field(default_factory=dict)
    """Documents that could not be read and were left out, by file name."""
    times: dict[str, IngestTime] = Field(default_factory=dict)
    """What parsing, chunking and embedding took, by stage; stages that the pipeline does not need are
    absent, and so is the embedding where the index was built before."""


class KnownDocument(Part):
    """One document that the pipeline knew."""

    sha256: str | None = absent()
    """Hash of the file."""
    pages: Count | None = absent()
    """Number of pages; absent where the pipeline reads the documents itself."""
    text: str | None = None
    """Hash of the blob that holds the parsed text of its pages."""


class DocumentList(Part):
    """The list of more documents than the manifest names itself, which stands in a file of its own."""

    documents: Count = 0
    """How many documents it names."""
    sha256: str = ""
    """Hash of the list, the JSON of what `documents` would hold: the name of its file in `blobs`."""


class Data(Part):
    """The data set, and what was read from it."""

    name: str | None = absent()
    """Name of the data set."""
    questions_sha256: str | None = None
    """Hash of the question file."""
    questions_copy: str | None = absent()
    """Hash of the copy of all questions of the data set in `.questions` beside the run; absent in runs of
    earlier versions."""
    questions: Count = 0
    """Questions in the data set."""
    categories: tuple[str, ...] = ()
    """Categories of the data set, in order."""
    category_sizes: dict[str, Count] = Field(default_factory=dict)
    """Number of questions in the data set per category."""
    population: dict[str, Count] | None = absent()
    """Number of questions per category of which those asked are a random sample; absent where they are no
    sample. Figures over all questions weigh each category by it."""
    asked: Count = 0
    """Questions that were asked."""
    asked_ids: tuple[str, ...] = ()
    """Ids of the questions that were asked."""
    written_ids: Flag | None = absent()
    """Whether the ids of all questions that were asked stand in the question file. Others follow from
    category and position, and runs with such ids are matched by the texts of the questions."""
    variants: tuple[str, ...] = ()
    """Ids of the questions that are variants of others that were asked, too; they count in no figure but
    those of variants."""
    asked_categories: dict[str, Count] = Field(default_factory=dict)
    """Number of questions asked per category."""
    left_out: tuple[str, ...] = ()
    """Questions that could not be asked."""
    missing_documents: tuple[str, ...] = ()
    """Documents that questions name but that are missing."""
    warnings: tuple[str, ...] = ()
    """Warnings about the data, one sentence each."""
    parser: str | None = None
    """For imported results and external pipelines: the assumed parser, which read the documents for the
    funnel and for metrics that need their text; null where no documents were given. Absent in other runs."""
    folder: str | None = None
    """For imported results: the folder of the documents; null where none was given. Absent in other
    runs."""
    ingest: Ingest | None = None
    """What the ingestion reported; null where nothing was parsed."""
    documents: dict[str, KnownDocument] = Field(default_factory=dict)
    """Every document, by file name; absent where there is a `document_list`."""
    document_list: DocumentList | None = None
    """The list of more than 1,000 documents."""
    pictures_sha256: str | None = None
    """Hash of the pictures of the candidate quotes that were asked about; absent where the model is shown
    none."""

    @property
    def weights(self) -> dict[str, float]:
        """For how many questions each one of a category stands; empty if all categories were sampled at the
        same rate, as where nothing was."""
        found = {
            name: count / self.category_sizes[name]
            for name, count in (self.population or {}).items()
            if self.category_sizes.get(name)
        }
        return found if len(set(found.values())) > 1 else {}

    @field_validator("ingest", mode="before")
    @classmethod
    def _none_if_empty(cls, value: Any) -> Any:
        return value or None

    @cached_property
    def variant_ids(self) -> frozenset[str]:
        """The ids of the variants that the run asked beside their originals."""
        return frozenset(self.variants)

    @property
    def document_count(self) -> int:
        """How many documents the run is about."""
        return len(self.documents) if self.document_list is None else self.document_list.documents

    @property
    def is_partial(self) -> bool:
        """Whether questions of a run without any selection were left out because documents are missing."""
        return bool(self.left_out) and len(self.asked_ids) + len(self.left_out) == self.questions


class Approximation(Part):
    """What an approximate `retrieve: {kind: visual}` loses against a search of all vectors in float32;
    absent where the search is exact."""

    options: Json = Field(default_factory=dict)
    """The options that make the search approximate."""
    k: Positive
    """How many of the best pages of each question are compared: `top_k`."""
    recall: Share
    """The share of the `k` best pages by exact search that are among the `k` best of this search,
    averaged over the questions."""
    questions: Positive
    """Number of questions over which the mean is taken: at most 32, spread over all of the data set."""
    pages: Positive
    """Number of pages that are searched."""


class ChunkApproximation(Part):
    """What `store: {kind: ivf}` of `retrieve: {kind: dense}` loses against exact search; absent where the
    search is exact."""

    options: Json = Field(default_factory=dict)
    """The options of the store."""
    k: Positive
    """How many of the best chunks of each question are compared: 10, or `top_k` if that is more."""
    recall: Share
    """The share of the `k` best chunks by exact search that are among the `k` best of this search,
    averaged over the questions."""
    questions: Positive
    """Number of questions over which the mean is taken: at most 32, spread over all of the data set."""
    chunks: Positive
    """Number of chunks that are searched."""


class Distractors(Part):
    """What contexts `retrieve: {kind: distractors}` gave; absent for other retrievers."""

    mode: str
    """`gold-only`, `gold-plus-distractors` or `distractors-only`."""
    number: Count
    """Number of distractors per question that the configuration asks for."""
    by: str
    """Kind of the retriever by which distractors are similar to a question."""
    position: str
    """Where the gold stands among the distractors."""
    seed: Count
    """Seed of the shuffled order."""
    questions: Count
    """Number of questions that were searched for."""
    fewer: Count
    """Number of questions that have fewer distractors than asked for."""
    answering: Count
    """Number of chunks that were left out of the distractors because they hold an accepted answer outside
    the gold pages."""


class Injected(Part):
    """The instruction that `retrieve: {kind: injected}` planted in every context; absent for other
    retrievers."""

    instruction: str
    """`obey`, `leak`, or a text."""
    answer: str
    """The word that the instruction asks for."""
    position: str
    """Where the planted chunk stands among the hits."""


class Degraded(Part):
    """What `retrieve: {kind: degrade}` reached; absent for other retrievers."""

    wanted: Number
    """The mean recall of gold pages that the configuration asks for."""
    before: Number
    """The mean recall of the inner retriever."""
    reached: Number
    """The mean recall after gold was removed from the hits."""
    questions: Count
    """Number of questions of the data set that have gold pages, over which the means are taken."""


class Host(Part):
    """The machine on which the run was made."""

    system: str | None = absent()
    """Operating system."""
    cpus: Whole | None = None
    """Number of processors."""
    name: str | None = absent()
    """Name of the machine."""


class SharedCache(Part):
    """The cache that the machine of the run shared with others; absent where it shared none. Counts are
    those up to the first question."""

    address: str | None = absent()
    """Its address."""
    taken: Count | None = absent()
    """Number of values that were taken from it."""
    stored: Count | None = absent()
    """Number of values that were stored in it."""
    damaged: Count | None = absent()
    """Number of values whose checksum did not fit. They were made again."""
    failed: Count | None = absent()
    """Number of values that could not be asked for or stored."""


class Sweep(Part):
    """The sweep that the run belongs to; absent where the run was started alone."""

    id: str | None = absent()
    """Id shared by all runs of the sweep."""
    cell: Json = Field(default_factory=dict)
    """Settings that distinguish this run within the sweep: its configuration and the values of the
    matrix, by key."""


class PurposeUsage(Part):
    """The totals of one purpose."""

    calls: Count = 0
    """Replies that were really requested."""
    prompt_tokens: Count | None = None
    """Tokens of the prompts; null where any is unknown."""
    completion_tokens: Count | None = None
    """Tokens of the replies; null where any is unknown."""
    cost: Amount | None = None
    """Cost in US dollars; null where any part is unknown."""


class Totals(Part):
    """Totals of the run, once it has ended."""

    answers: Count = 0
    """Finished questions, including failed ones; each repeat counts."""
    errors: Count = 0
    """Failed questions; each repeat counts."""
    seconds: Amount | None = absent()
    """Seconds spent asking, summed over resumed sessions."""
    prompt_tokens: Count | None = None
    """Tokens of all prompts that were really sent; null where any is unknown."""
    completion_tokens: Count | None = None
    """Tokens of the replies to these prompts; null where any is unknown."""
    cost: Amount | None = None
    """Cost in US dollars; null where any part is unknown."""
    usage_by_purpose: dict[str, PurposeUsage] = Field(default_factory=dict)
    """The same totals by what a model was called for: `answer`, `expand`, `rerank`. Absent where only
    answers were asked for."""
    stopped: Literal["budget", "signal", "error"] | None = absent()
    """What stopped the run early; absent where it was not stopped."""


class Manifest(Part):
    """What was run: the resolved configuration, hashes of the data, versions and the machine. Readers
    must ignore unknown keys, so that files of later versions that only add keys stay valid; `schema`
    increases when a key changes its meaning."""

    NEEDED: ClassVar = ("schema", "run", "name", "created")

    version: Whole = Field(SCHEMA, alias="schema")
    """Version of this schema. A file of a later version must be refused."""
    run: str = ""
    """Id of the run: the name of its directory."""
    sequence: Position = 0
    """Position of the run in its folder: one more than the highest position there when the run was
    created. The latest run has the highest. Absent in runs of earlier versions, which come first."""
    created: str = ""
    """Time when the run was started, ISO 8601 in UTC."""
    name: str = ""
    """The name of the configuration."""
    model: str | None = None
    """The model that answered."""
    pipeline: str | None = None
    """Name of the pipeline, shared by its runs with different models; set by importers that know it."""
    imported: Flag = False
    """True where the answers were made elsewhere."""
    config: Json = Field(default_factory=dict)
    """The configuration with every default filled in; empty for imported results."""
    folder: str = ""
    """Folder that relative paths in the configuration start from."""
    repeats: Positive = 1
    """Number of times that every question is asked."""
    retrieval_only: Flag = False
    """True where the run only searches and asks nobody for an answer; absent otherwise."""
    depth: Count | None = absent()
    """For a run that only searches: each question is searched for until so many different pages are
    found, or documents if a metric counts these."""
    seeds: tuple[Whole, ...] | None = None
    """The seed of each repeat; null where the model is given none."""
    data: Data = Field(default_factory=Data)
    """The data set, and what was read from it."""
    parser: ParserFacts | None = absent()
    """The parser that read the documents, if a parser of fathoms did; absent otherwise and in runs of
    earlier versions."""
    fingerprints: dict[str, str] = Field(default_factory=dict)
    """Fingerprint of every stage: a hash of its options, its version and its inputs."""
    approximation: Approximation | None = absent()
    """What an approximate `retrieve: {kind: visual}` loses against a search of all vectors in float32;
    absent where the search is exact."""
    chunk_approximation: ChunkApproximation | None = absent()
    """What `store: {kind: ivf}` of `retrieve: {kind: dense}` loses against exact search; absent where the
    search is exact."""
    distractors: Distractors | None = absent()
    """What contexts `retrieve: {kind: distractors}` gave; absent for other retrievers."""
    injected: Injected | None = absent()
    """The instruction that `retrieve: {kind: injected}` planted in every context; absent for other
    retrievers."""
    degraded: Degraded | None = absent()
    """What `retrieve: {kind: degrade}` reached; absent for other retrievers."""
    served: dict[str, Json] = Field(default_factory=dict)
    """What servers report about the configured models, by stage (such as `embed` or `generate`): for
    example the digest of an Ollama model. Not a part of fingerprints."""
    versions: dict[str, str | None] = Field(default_factory=dict)
    """Versions of fathoms, Python and the packages that answers depend on."""
    prices: str | None = None
    """The package, with its version, whose list prices are used where the configuration gives no
    price."""
    git: str | None = None
    """Commit of the checkout that the run was started in, followed by `+` if it had changes, or by `?` if
    that was not checked because the repository's own settings name commands that git would run."""
    host: Host | None = absent()
    """The machine."""
    shared_cache: SharedCache | None = absent()
    """The cache that the machine of the run shared with others; absent where it shared none. Counts are
    those up to the first question."""
    sweep: Sweep = Field(default_factory=Sweep)
    """The sweep that the run belongs to; absent where the run was started alone."""
    signature: str | None = absent()
    """HMAC-SHA256 over `config`, `folder` and the name, folder and question hash in `data`, with a key
    that only the user who made the run has. Where it does not match, fathoms neither imports code nor
    contacts servers that the configuration names. Absent in runs of earlier versions."""
    finished: str | None = None
    """Time when the run ended; absent while it is running and after a crash."""
    totals: Totals = Field(default_factory=Totals)
    """Totals of the run, once it has ended."""
    crc: str | None = absent()
    """CRC-32 of all bytes of the file before the comma in front of this key, in hexadecimal."""

    @property
    def ingest(self) -> Ingest:
        """What came of reading the documents, empty if none were read."""
        return self.data.ingest or Ingest()

    @property
    def most_chunks(self) -> int | None:
        """The most chunks that a run of answers retrieves for a question, `None` where it is not known or of
        no concern, as in a run that only searched."""
        found = (self.config.get("retrieve") or {}).get("top_k")
        return None if self.retrieval_only or not isinstance(found, int) else found

    @property
    def read_by(self) -> ParserFacts | None:
        """The parser that read the documents; `None` where no parser of fathoms did."""
        ingest = self.config.get("ingest")
        kind = ingest.get("kind") if isinstance(ingest, dict) and self.data.ingest is not None else None
        return self.parser or (ParserFacts(kind=kind) if isinstance(kind, str) else None)
