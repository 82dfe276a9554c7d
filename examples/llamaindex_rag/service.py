"""Serves the pipeline over HTTP: uvicorn --app-dir examples/llamaindex_rag service:app --port 8001"""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel
from rag import Rag

app = FastAPI()
rag = Rag()


class Asked(BaseModel):
    question: str


@app.post("/answer")
def answer(asked: Asked) -> dict:
    return rag.answer(asked.question)


@app.get("/health")
def health() -> str:
    return "ok"
