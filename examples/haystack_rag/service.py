"""Serves the pipeline over HTTP: uvicorn --app-dir examples/haystack_rag service:app --port 8002"""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel
from rag import Rag

app = FastAPI()
rag = Rag()


class Query(BaseModel):
    text: str


@app.post("/v1/query")
def query(asked: Query) -> dict:
    reply, documents = rag.query(asked.text)
    sources = [{"content": d.content, "meta": d.meta, "score": d.score} for d in documents]
    return {"data": {"reply": reply.text, "sources": sources, "meta": reply.meta}}
