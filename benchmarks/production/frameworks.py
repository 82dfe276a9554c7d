"""The example service made with LangChain or LlamaIndex, and traced by their real instrumentations.

    python frameworks.py langchain-openinference http://127.0.0.1:8000/v1 traces.jsonl 4

needs an environment of its own with the packages that a kind imports: `langchain-` kinds need langchain-core
and langchain-openai, `llamaindex-` kinds llama-index-core and llama-index-llms-openai-like, each with the
instrumentation of OpenInference or of OpenLLMetry; `langsmith` and `langsmith-otel` need langsmith, and
`langfuse` needs langfuse, both with LangChain. The spans are written as the file exporter of a collector
writes them. LangSmith's runs are those that its client sends, merged as its server does, one a line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from service import TOPICS, provider_to

INSTRUMENTORS = {
    "langchain-openinference": "openinference.instrumentation.langchain:LangChainInstrumentor",
    "langchain-openllmetry": "opentelemetry.instrumentation.langchain:LangchainInstrumentor",
    "llamaindex-openinference": "openinference.instrumentation.llama_index:LlamaIndexInstrumentor",
    "llamaindex-openllmetry": "opentelemetry.instrumentation.llamaindex:LlamaIndexInstrumentor",
}
Ask = Callable[[str, str, str], Any]
"""Answers a question from a passage of a document."""


def langchain(address: str, callbacks: list[Any]) -> Ask:
    """Return a chain of a retriever, a prompt and a chat model."""
    from langchain_core.documents import Document
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableLambda
    from langchain_openai import ChatOpenAI

    class Search(BaseRetriever):
        passage: str
        document: str

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(self.passage, metadata={"source": self.document, "page": 1})]

    model = ChatOpenAI(base_url=address, api_key="none", model="strict")  # type: ignore[arg-type]
    template = [("system", "Answer from this passage:\n{passage}"), ("user", "{question}")]
    prompt = ChatPromptTemplate.from_messages(template)

    def ask(question: str, passage: str, document: str) -> Any:
        def answer(given: dict[str, str], config: Any) -> str:
            found = Search(passage=passage, document=document).invoke(given["question"], config)
            values = {"passage": found[0].page_content, "question": given["question"]}
            return str((prompt | model).invoke(values, config).content)

        chain = RunnableLambda(answer).with_config(run_name="ask")
        config: Any = {"callbacks": callbacks, "metadata": {"session_id": "talk", "route": "/tall"}}
        return chain.invoke({"question": question}, config)

    return ask


def llamaindex(address: str, callbacks: list[Any]) -> Ask:
    """Return a query engine over one passage."""
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.schema import TextNode
    from llama_index.llms.openai_like import OpenAILike

    model = OpenAILike(api_base=address, api_key="none", model="strict", is_chat_model=True)

    def ask(question: str, passage: str, document: str) -> Any:
        node = TextNode(text=passage, metadata={"file_name": document, "page_label": "1"})
        index = VectorStoreIndex([node], embed_model=MockEmbedding(8))
        return index.as_query_engine(llm=model).query(question)

    return ask


@contextmanager
def langsmith_server(file: Path) -> Any:
    """A server that takes the runs of LangSmith's client, and writes them to a file at the end."""
    runs: dict[str, dict[str, Any]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            sent = json.loads(body) if body else {}
            for run in [*sent.get("post", ()), *sent.get("patch", ())] or [sent]:
                id = run.get("id") or self.path.rpartition("/")[2]
                stored = {key: value for key, value in run.items() if value is not None}
                runs.setdefault(id, {"id": id}).update(stored)
            self.send_response(202)
            self.end_headers()
            self.wfile.write(b"{}")

        do_PATCH = do_POST  # noqa: N815

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"version": "0", "batch_ingest_config": {"use_multipart_endpoint": false}}')

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
    file.write_text("".join(json.dumps(run) + "\n" for run in runs.values()))


def answer_all(ask: Ask, count: int) -> None:
    """Ask so many questions."""
    for at in range(count):
        topic = TOPICS[at % len(TOPICS)]
        ask(f"How tall is {topic} number {at}?", f"The {topic} number {at} is {at} m tall.", f"{topic}.pdf")


def main(kind: str, address: str, file: Path, count: int) -> None:
    """Answer questions with the service that a kind names."""
    if kind == "langsmith":
        from langchain_core.tracers.langchain import LangChainTracer
        from langsmith import Client

        with langsmith_server(file) as server:
            client = Client(api_url=server, api_key="none", auto_batch_tracing=False)
            answer_all(langchain(address, [LangChainTracer(client=client)]), count)
            client.flush()
        return
    provider = provider_to(file)
    callbacks: list[Any] = []
    if kind == "langfuse":
        os.environ["LANGFUSE_HOST"] = "http://127.0.0.1:9"  # nobody listens; the other exporter has the spans
        from langfuse import Langfuse
        from langfuse.langchain import CallbackHandler

        Langfuse(public_key="pk", secret_key="sk", tracer_provider=provider)
        callbacks = [CallbackHandler(public_key="pk")]
    elif kind == "langsmith-otel":
        from opentelemetry import trace

        trace.set_tracer_provider(provider)
        os.environ |= {
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_OTEL_ENABLED": "true",
            "LANGSMITH_API_KEY": "none",
        }
        os.environ |= {"LANGSMITH_ENDPOINT": "http://127.0.0.1:9", "LANGSMITH_OTEL_ONLY": "true"}
    else:
        module, _, name = INSTRUMENTORS[kind].partition(":")
        getattr(import_module(module), name)().instrument(tracer_provider=provider)
    make = llamaindex if kind.startswith("llamaindex") else langchain
    answer_all(make(address, callbacks), count)
    if kind == "langsmith-otel":
        from langchain_core.tracers.langchain import wait_for_all_tracers

        wait_for_all_tracers()
    provider.force_flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
