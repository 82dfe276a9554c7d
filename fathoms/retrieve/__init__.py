"""Retrieval: from a question to the chunks it is answered from, one file a method.

A retriever says what it `needs` (chunks, or chunks with vectors) and finds for many questions at once.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fathoms.retrieve.base import Corpus, Retriever
from fathoms.retrieve.closed_book import ClosedBook
from fathoms.retrieve.dense import Dense

AnyRetriever = Annotated[Dense | ClosedBook, Field(discriminator="kind")]

__all__ = ["AnyRetriever", "ClosedBook", "Corpus", "Dense", "Retriever"]
