"""Retrieval: find the chunks that a question is answered from. Each method has its own module.

A retriever states what it `needs` (nothing, documents, chunks, or chunks with vectors) and searches for a
whole batch of questions at once. To add a method, write a module with a subclass of `Retriever` and add its
line to `fathoms/registry.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fathoms.registry import OneOf, components_of
from fathoms.retrieve.retriever import FileHandling, Index, Retriever

if TYPE_CHECKING:
    from fathoms.retrieve.bm25 import BM25
    from fathoms.retrieve.closed_book import ClosedBook
    from fathoms.retrieve.degrade import Degrade
    from fathoms.retrieve.dense import Dense
    from fathoms.retrieve.describe import Describe
    from fathoms.retrieve.distractors import Distractors
    from fathoms.retrieve.each_document import EachDocument
    from fathoms.retrieve.expand import Expand
    from fathoms.retrieve.files import Files
    from fathoms.retrieve.hybrid import Hybrid
    from fathoms.retrieve.injected import Injected
    from fathoms.retrieve.oracle import Oracle
    from fathoms.retrieve.quote_search import QuoteSearch
    from fathoms.retrieve.quotes import Quotes
    from fathoms.retrieve.rerank import Rerank
    from fathoms.retrieve.visual import Visual
    from fathoms.retrieve.whole_document import WholeDocument

__getattr__ = components_of("retrievers")

AnyRetriever = Annotated[Retriever, OneOf("retrievers")]

__all__ = [
    "BM25",
    "AnyRetriever",
    "ClosedBook",
    "Degrade",
    "Dense",
    "Describe",
    "Distractors",
    "EachDocument",
    "Expand",
    "FileHandling",
    "Files",
    "Hybrid",
    "Index",
    "Injected",
    "Oracle",
    "QuoteSearch",
    "Quotes",
    "Rerank",
    "Retriever",
    "Visual",
    "WholeDocument",
]
