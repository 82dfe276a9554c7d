"""The settings of a build: one YAML file with a section for each stage, or the options of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fathoms.component import Component as Settings
from fathoms.config import Source, override, read_yaml, validate
from fathoms.errors import ConfigError
from fathoms.extras.questions.making.components import Modality
from fathoms.ingest import Chunker, Parser, Pdfium, SentenceChunker
from fathoms.models import Embedder, Generator, OnnxEmbedder
from fathoms.retrieve import BM25, AnyRetriever, Dense


class ComponentsStage(Settings):
    """Which pieces of the documents questions are about."""

    modalities: tuple[Modality, ...] = Field(default=("text",), min_length=1)
    """Kinds of components: `text`, `table`, `figure`. Tables and figures need a parser that finds them, such
    as Docling."""
    least_pages: int = Field(default=1, ge=1)
    """Documents with fewer pages are left out. Double-Bench took those of 10 to 50 pages."""
    most_pages: int | None = Field(default=None, ge=1)
    """Documents with more pages are left out."""
    judge: bool = True
    """Whether the model says of each component, before it drafts a question, whether it states anything worth
    asking for."""
    dpi: int = Field(default=150, ge=20, le=600)
    """Resolution of the pictures of figures and tables in dots per inch."""


class DraftsStage(Settings):
    """How many questions are drafted."""

    language: str = Field(default="same", pattern=r"^(same|[a-z]{2,3})$")
    """Language of the questions: a code such as `de`, or `same` for that of each page."""
    most: int = Field(default=5, ge=1, le=100)
    """At most so many questions are drafted for each one that is wanted."""


class ClarityStage(Settings):
    """The loop in which vague questions are rewritten."""

    retrievers: tuple[AnyRetriever, ...] = Field(
        default=(BM25(top_k=40), Dense(top_k=40)), min_length=1, validate_default=True
    )
    """Retrievers of different kinds that search the whole corpus. They find chunks, and several may
    stand on one page."""
    top: int | None = Field(default=None, ge=1, le=100)
    """How many pages are judged of each retriever. If not given, 10, and 3 if the judge is an embedded model,
    which reads the text of 10 for about 90 seconds of one core."""
    most: int = Field(default=5, ge=1, le=100)
    """A question that more pages answer is rewritten."""
    rounds: int = Field(default=2, ge=0, le=10)
    """How often it is rewritten before it is dropped."""


class GraphStage(Settings):
    """The graph of entities and relations that multi-hop questions walk through."""

    similarity: float = Field(default=0.9, ge=0, le=1)
    """Cosine similarity of the names of two entities from which on they are the same."""
    most: int | None = Field(default=None, ge=1)
    """At most so many components are read for the graph, taken from all documents in turn; all if not
    given."""


class WalksStage(Settings):
    """Questions that need several hops."""

    hops: tuple[int, ...] = Field(default=(1,), min_length=1)
    """Numbers of hops; questions are divided among them evenly, or by `balance.target.hops`. `[1]` asks no
    multi-hop questions and builds no graph."""

    @model_validator(mode="after")
    def _possible(self) -> WalksStage:
        if any(not 1 <= hop <= 4 for hop in self.hops) or len(set(self.hops)) < len(self.hops):
            raise ValueError("hops: expected different numbers from 1 to 4, such as [1, 2, 3]")
        return self


class AnswersStage(Settings):
    """What gold answers consist of, besides the phrases, the short and the long answer that all have."""

    candidates: int = Field(default=0, ge=0, le=100)
    """With a number such as 20, each question gets so many candidate quotes, its gold quotes among them, as
    in MMDocRAG."""


class ChecksStage(Settings):
    """The checklist that a judge goes through."""

    checklist: bool = True
    """Whether each draft must pass every item of the checklist of `fathoms questions inspect`."""


class LabelsStage(Settings):
    """Which further pages are judged for evidence, besides those that the clarity loop found."""

    first: Annotated[int, Field(ge=0, le=10_000)] | Literal["all"] = 0
    """So many pages of the corpus that BM25 ranks first for each question, or `all` pages."""


class UnanswerableStage(Settings):
    """Questions that no page answers."""

    share: float = Field(default=0.15, ge=0, le=0.9)
    """Their share of the set."""


class FiltersStage(Settings):
    """Which questions are of no use."""

    closed_book: int = Field(default=1, ge=0, le=20)
    """How often a model is asked each question without documents; 0 for no such filter. Several times make
    sense with a temperature above 0."""
    confidence: float = Field(default=0.9, ge=0, le=1)
    """A question is dropped if a larger share of these answers is right, and they state more confidence."""
    duplicates: float = Field(default=0.7, gt=0, le=1)
    """Similarity from which two questions are the same."""
    against: tuple[Path, ...] = ()
    """Question files, such as public ones, whose questions must not come again."""


Share = Annotated[float, Field(ge=0, le=1)]


class TargetShares(Settings):
    """Shares of the set that questions with a property shall have, such as `modality: {table: 0.3}`. What the
    shares of a property leave is for its other values; a property without shares is balanced evenly."""

    document: dict[str, Share] = Field(default_factory=dict)
    """By document, such as `{manual.pdf: 0.5}`."""
    modality: dict[Modality, Share] = Field(default_factory=dict)
    """By the kind of evidence: `text`, `table`, `figure`."""
    category: dict[str, Share] = Field(default_factory=dict)
    """By category, such as `Tables`."""
    type: dict[str, Share] = Field(default_factory=dict)
    """By the word that asks: `what`, `which`, `who`, `when`, `where`, `why`, `how`, `how many`, `yes/no`,
    `other`."""
    hops: dict[int, Share] = Field(default_factory=dict)
    """By the number of hops, each of which stands in `walks.hops`."""

    @model_validator(mode="after")
    def _possible(self) -> TargetShares:
        for name, shares in self.given.items():
            if (total := sum(shares.values())) > 1 + 1e-9:
                raise ValueError(f"{name}: the shares add up to {total:.2f}, which is more than 1")
        return self

    @property
    def given(self) -> dict[str, dict[str, float]]:
        """The shares of the properties that have some."""
        return {
            name: {str(value): share for value, share in shares.items()}
            for name, shares in dict(self).items()
            if shares
        }


class BalanceStage(Settings):
    """How the questions of the set are chosen among those that passed."""

    spare: float = Field(default=0.2, ge=0, le=2)
    """How many more questions than wanted are made where that is possible, as a share, so that there is a
    choice."""
    target: TargetShares = TargetShares()
    """What the set shall consist of. What it is short of at the end is printed."""


class Recipe(Settings):
    """How a question set is made: the models, the stages in order, and how the documents are read."""

    model: Generator
    """The model that writes questions and answers."""
    judge: Generator | None = None
    """The model that gives verdicts; `model` if not given."""
    n: int = Field(default=50, ge=1, le=100_000)
    """How many questions are wanted."""
    seed: int = 0
    """Decides the order of the components, and all other draws."""
    documents: tuple[Path, ...] = ()
    """PDFs and folders, relative to the file; those on the command line are added."""
    ingest: Parser = Pdfium()
    """The parser of the documents."""
    chunk: Chunker = SentenceChunker()
    """The chunker for the retrievers of the clarity loop."""
    embed: Embedder = OnnxEmbedder()
    """The embedding model for retrievers that need one, and for the names of entities."""
    components: ComponentsStage = ComponentsStage()
    """Which pieces of the documents questions are about."""
    drafts: DraftsStage = DraftsStage()
    """How many questions are drafted, and in which language."""
    clarity: ClarityStage = ClarityStage()
    """The loop in which vague questions are rewritten."""
    graph: GraphStage = GraphStage()
    """The graph for multi-hop questions."""
    walks: WalksStage = WalksStage()
    """The questions that need several hops, by walks through the graph."""
    answers: AnswersStage = AnswersStage()
    """What gold answers consist of."""
    checks: ChecksStage = ChecksStage()
    """The checklist that a judge goes through."""
    labels: LabelsStage = LabelsStage()
    """Which further pages are judged for evidence."""
    unanswerable: UnanswerableStage = UnanswerableStage()
    """Questions that no page answers."""
    filters: FiltersStage = FiltersStage()
    """Which questions are of no use."""
    balance: BalanceStage = BalanceStage()
    """How the questions of the set are chosen."""

    @property
    def pages_judged(self) -> int:
        """How many pages of each retriever the judge is shown in the clarity loop."""
        return self.clarity.top or (3 if (self.judge or self.model).kind == "embedded" else 10)

    @property
    def unanswerable_wanted(self) -> int:
        """How many unanswerable questions are wanted."""
        return round(self.n * self.unanswerable.share)

    def wanted(self) -> dict[int, int]:
        """Return how many answerable questions are wanted of each number of hops: by the target, the rest
        evenly; the first numbers get the remainder."""
        number, shares = self.n - self.unanswerable_wanted, self.balance.target.hops
        found = {hop: int(number * share + 1e-9) for hop, share in shares.items()}
        hops = sorted(set(self.walks.hops) - set(shares)) or sorted(shares)
        each, left = divmod(number - sum(found.values()), len(hops))
        found.update({hop: found.get(hop, 0) + each + (at < left) for at, hop in enumerate(hops)})
        return dict(sorted(found.items()))

    def check(self) -> None:
        """Check the settings, and that the models, the embedder and the retrievers can be used; raises their
        errors."""
        from fathoms.models.embed import process

        self.check_settings()
        for model in (self.model, self.judge):
            if model is not None:
                model.check()
        if self.needs_vectors:
            process.check(self.embed)
        for retriever in self.clarity.retrievers:
            retriever.check()

    def check_settings(self) -> None:
        """Check what can be checked without a model; raises ConfigError, or MissingExtraError of the
        parser."""
        self.ingest.require()
        shown = sorted({"table", "figure"} & set(self.components.modalities))
        if shown and not self.ingest.gives_boxes:
            raise ConfigError(
                f"components.modalities: ingest kind '{self.ingest.kind}' finds no {' and no '.join(shown)}:"
                " use ingest: {kind: docling}"
            )
        for hops in self.balance.target.hops:
            if hops not in self.walks.hops:
                raise ConfigError(f"balance.target.hops: {hops} is not in walks.hops")
        for modality in self.balance.target.modality:
            if modality not in self.components.modalities:
                raise ConfigError(f"balance.target.modality: {modality} is not in components.modalities")
        for path in self.filters.against:
            if not path.is_file():
                raise ConfigError(f"filters.against: {path}: there is no such question file")

    @property
    def needs_vectors(self) -> bool:
        """Whether any step of the build embeds texts."""
        return max(self.walks.hops) > 1 or any(one.needs == "vectors" for one in self.clarity.retrievers)


def load_recipe(path: Path | None, settings: list[str], earlier: dict[str, Any] | None = None) -> Recipe:
    """Read a recipe from a YAML file, or else from what an `earlier` build of the set was made with, changed
    by settings `KEY=VALUE`. Paths in the file are relative to its folder. Raises ConfigError with file, line
    and column."""
    source = read_yaml(path) if path is not None else Source("build", earlier or {})
    recipe = validate(Recipe, override(source, settings))
    if path is None:
        return recipe
    filters = recipe.filters.model_copy(
        update={"against": tuple(path.parent / one for one in recipe.filters.against)}
    )
    documents = tuple(path.parent / one for one in recipe.documents)
    return recipe.model_copy(update={"filters": filters, "documents": documents})
