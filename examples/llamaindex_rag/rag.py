"""A small RAG pipeline with LlamaIndex: split PDF pages, BM25 retrieval, and a model behind OpenAI's API."""

from __future__ import annotations

import os
from pathlib import Path

import bm25s
from llama_index.core import Settings
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, Document, NodeWithScore, QueryBundle
from llama_index.llms.openai_like import OpenAILike
from pypdf import PdfReader

LLM = os.environ.get("LLM_BASE_URL", "http://127.0.0.1:8080/v1")
DOCUMENTS = os.environ.get("DOCUMENTS", "data/sample")


class BM25Retriever(BaseRetriever):
    """The nodes that share the most telling words with a question."""

    def __init__(self, nodes: list[BaseNode], top_k: int) -> None:
        super().__init__()
        self._nodes, self._top_k = nodes, top_k
        self._index = bm25s.BM25()
        self._index.index(bm25s.tokenize([n.text for n in nodes], show_progress=False), show_progress=False)

    def _retrieve(self, query: QueryBundle) -> list[NodeWithScore]:
        words = bm25s.tokenize(query.query_str, show_progress=False)
        nodes, scores = self._index.retrieve(words, self._nodes, k=self._top_k, show_progress=False)
        found = zip(nodes[0], scores[0], strict=True)
        return [NodeWithScore(node=node, score=float(score)) for node, score in found]


class Rag:
    """Reads the PDFs of a folder, and answers questions about them."""

    def __init__(self, documents: str = DOCUMENTS, top_k: int = 3) -> None:
        Settings.llm = OpenAILike(
            model="smollm2-135m",
            api_base=LLM,
            api_key="none",
            is_chat_model=True,
            context_window=2048,
            max_tokens=48,
            temperature=0,
            additional_kwargs={"extra_body": {"cache_prompt": False}},
        )
        pages = [
            Document(text=page.extract_text(), metadata={"file": path.name, "page": number})
            for path in sorted(Path(documents).glob("*.pdf"))
            for number, page in enumerate(PdfReader(path).pages, start=1)
        ]
        nodes = TokenTextSplitter(chunk_size=160, chunk_overlap=16).get_nodes_from_documents(pages)
        self.engine = RetrieverQueryEngine.from_args(BM25Retriever(nodes, top_k))

    def answer(self, question: str) -> dict:
        """The answer, and what it was made from."""
        response = self.engine.query(question)
        return {
            "answer": response.response,
            "contexts": [
                {
                    "text": found.node.text,
                    "document": found.node.metadata["file"],
                    "page": found.node.metadata["page"],
                    "score": found.score,
                }
                for found in response.source_nodes
            ],
        }
