"""A small RAG pipeline with Haystack: split PDFs, BM25 retrieval, and a model behind OpenAI's API."""

from __future__ import annotations

import os
from pathlib import Path

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # is read on import

from haystack import Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.converters import PyPDFToDocument
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.utils import Secret

LLM = os.environ.get("LLM_BASE_URL", "http://127.0.0.1:8080/v1")
DOCUMENTS = os.environ.get("DOCUMENTS", "data/sample")
PROMPT = """\
{% for document in documents %}{{ document.content }}

{% endfor %}Answer in one sentence: {{ question }}"""


class Rag:
    """Reads the PDFs of a folder, and answers questions about them."""

    def __init__(self, documents: str = DOCUMENTS, top_k: int = 3) -> None:
        store = InMemoryDocumentStore()
        indexing = Pipeline()
        indexing.add_component("convert", PyPDFToDocument())
        indexing.add_component("split", DocumentSplitter(split_by="word", split_length=90, split_overlap=10))
        indexing.add_component("write", DocumentWriter(store))
        indexing.connect("convert", "split")
        indexing.connect("split", "write")
        indexing.run({"convert": {"sources": sorted(Path(documents).glob("*.pdf"))}})

        model = OpenAIChatGenerator(
            api_key=Secret.from_token("none"),
            model="smollm2-135m",
            api_base_url=LLM,
            generation_kwargs={"max_tokens": 48, "temperature": 0, "extra_body": {"cache_prompt": False}},
        )
        self.pipeline = Pipeline()
        self.pipeline.add_component("retrieve", InMemoryBM25Retriever(store, top_k=top_k))
        self.pipeline.add_component(
            "prompt", ChatPromptBuilder([ChatMessage.from_user(PROMPT)], ["question"])
        )
        self.pipeline.add_component("generate", model)
        self.pipeline.connect("retrieve", "prompt.documents")
        self.pipeline.connect("prompt", "generate")

    def query(self, question: str) -> tuple[ChatMessage, list]:
        """The model's message, and the documents it was shown."""
        inputs = {"retrieve": {"query": question}, "prompt": {"question": question}}
        outputs = self.pipeline.run(inputs, include_outputs_from={"retrieve"})
        return outputs["generate"]["replies"][0], outputs["retrieve"]["documents"]

    def answer(self, question: str) -> dict:
        """The answer, what it was made from, and what it took."""
        reply, documents = self.query(question)
        return {
            "answer": reply.text,
            "contexts": [
                {
                    "text": document.content,
                    "document": document.meta["file_path"],
                    "page": document.meta["page_number"],
                    "score": document.score,
                }
                for document in documents
            ],
            "usage": reply.meta["usage"],
            "stop_reason": reply.meta["finish_reason"],
        }
