"""A parser, a chunker, a retriever, a judge and a metric that somebody adds, each in a file of its own."""

PARSER = '''
"""A parser that was added."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from fathoms.pdf.parser import PdfParser


class Named(PdfParser):
    """Reads the name of a file."""

    inert: ClassVar[bool] = True
    reader: ClassVar[str] = __name__

    kind: Literal["named"] = "named"
    mark: str = "x"
    """A mark of the parser."""


def read(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return one page that names its file."""
    pages = [{"text": "The tower of " + path.rpartition("/")[2]}]
    return {"pages": pages, "page_count": 1, "warnings": []}
'''

CHUNKER = '''
"""A chunker that was added."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.ingest.chunkers.chunker import BaseChunker
from fathoms.types import Chunk, Document


class Whole(BaseChunker):
    """Makes one chunk of a document."""

    inert: ClassVar[bool] = True

    kind: Literal["whole"] = "whole"
    mark: str = "x"
    """A mark of the chunker."""

    def check(self) -> None:
        """Do nothing."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Return one chunk."""
        text = " ".join(page.text for page in document.pages)
        return [Chunk(id=f"{document.id}#1", document=document.id, pages=(1,), text=text)]
'''

RETRIEVER = '''
"""A retriever that was added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from fathoms.component import Loads
from fathoms.retrieve.retriever import Index, Needs, Retriever, hits
from fathoms.types import Hit, Question


class Opening(Retriever):
    """Finds the first chunks of the corpus."""

    usable_in: ClassVar[frozenset[str]] = frozenset({"rerank"})
    loads: ClassVar[dict[str, Loads]] = {"weights": Loads("weights")}

    kind: Literal["opening"] = "opening"
    top_k: int = 1
    """How many chunks are found."""
    weights: str = ""
    """Weights that it would load."""

    @property
    def needs(self) -> Needs:
        """Chunks without vectors."""
        return "chunks"

    def search(self, index: Index, questions: Sequence[Question]) -> list[tuple[Hit, ...]]:
        """Return the same chunks for each question."""
        return [hits([(chunk, 1.0) for chunk in index.chunks[: self.top_k]]) for _ in questions]
'''

JUDGE = '''
"""A judge that was added."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fathoms.judges.judge import Judge
from fathoms.models.caller import Caller
from fathoms.types import Failure, Judgement, Verdict


class Content(Judge):
    """Finds every claim supported."""

    kind: Literal["content"] = "content"
    mark: str = "x"
    """A mark of the judge."""

    async def judge(
        self, asked: Sequence[Judgement], caller: Caller, repeat: int = 0
    ) -> list[Verdict | Failure]:
        """Return one verdict for each judgement."""
        return [
            Verdict(claim=one.claim, premise=one.premise, label="supported", p=1.0, cost=0.0) for one in asked
        ]
'''

METRIC = '''
"""A metric that was added."""

from __future__ import annotations

from typing import ClassVar, Literal

from fathoms.metrics.metric import Facts, Metric
from fathoms.types import Score


class Shortness(Metric):
    """Whether an answer has at most eight words."""

    headline: ClassVar[bool] = True

    kind: Literal["shortness"] = "shortness"
    most: int = 8
    """The most words."""

    def score(self, facts: Facts) -> Score:
        """Return 1 for a short answer."""
        answer = facts.record.answer
        value = None if answer is None else float(len(answer.text.split()) <= self.most)
        return Score(metric=self.name, value=value)
'''

ADDED = {
    "parsers": (PARSER, "Named", "named"),
    "chunkers": (CHUNKER, "Whole", "whole"),
    "retrievers": (RETRIEVER, "Opening", "opening"),
    "judges": (JUDGE, "Content", "content"),
    "metrics": (METRIC, "Shortness", "shortness"),
}
"""The code, the class and the kind of each addition, by room."""

CONFIG = """\
name: added
data: {questions: questions.json, documents: pdfs}
ingest: {kind: named}
chunk: {kind: whole}
retrieve: {kind: opening, top_k: 2}
generate: {kind: scripted, default: The tower is tall.}
judge: {kind: content}
metrics: [shortness, faithfulness]
"""
"""A configuration that uses all of them."""

EXTRA = {
    "__init__.py": """\
from fathoms.hooks import Command

COMMANDS = {"greet": Command("greeting:greet", "Greet somebody."), "data greet": Command("greeting:greet")}
COMPONENTS = {"retrievers": ("nothing:Nothing",)}
""",
    "greeting.py": 'def greet() -> None:\n    """Greet somebody."""\n    print("Hello.")\n',
    "nothing.py": RETRIEVER.replace("class Opening", "class Nothing").replace('"opening"', '"nothing"'),
}
"""An extra with commands and a component, by file."""
