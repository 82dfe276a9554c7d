"""Traces of applications, in files that are made by hand after the documented formats of OTLP, Phoenix and
Langfuse."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import DataError
from fathoms.extras.exchange.reading.foreign import Options
from fathoms.extras.exchange.reading.traces.reading import LONGEST_HISTORY, read_traces
from fathoms.extras.exchange.reading.traces.sampling import Selection
from fathoms.extras.exchange.reading.traces.span import Seen, text_out
from fathoms.extras.exchange.reading.traces.turns import MOST_SAID, around
from fathoms.importers import Imported
from tests.support.spoilt import spoilt

HEIGHT, ANSWER = "How tall is the mast?", "It is 41.5 m tall."
CONTEXT = "The mast of the Varn is 41.5 m tall."
T0 = 1_700_000_000


def lines(path: Path, *values: Any) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in values))
    return path


def contents(imported: Imported) -> list[tuple[str, str | None, str | None]]:
    return [
        (one.question.text, one.answer and one.answer.text, one.error and one.error.message)
        for one in imported.records
    ]


def hits(imported: Imported, number: int = 0) -> list[tuple[str, tuple[int, ...], str, float]]:
    found = imported.records[number].hits or ()
    return [(hit.chunk.document, hit.chunk.pages, hit.chunk.text, hit.score) for hit in found]


def value(one: Any) -> Any:
    """A value as OTLP has it in JSON: whole numbers are texts."""
    if isinstance(one, bool):
        return {"boolValue": one}
    if isinstance(one, int):
        return {"intValue": str(one)}
    if isinstance(one, float):
        return {"doubleValue": one}
    if isinstance(one, list):
        return {"arrayValue": {"values": [value(item) for item in one]}}
    if isinstance(one, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": value(item)} for key, item in one.items()]}}
    return {"stringValue": one}


def otlp(*spans: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def span(trace: str, id: str, at: float, parent: str = "", *, error: str = "", **attributes: Any) -> Any:
    """A span of one second; `__` in a name stands for a dot."""
    return {
        "traceId": trace * 32,
        "spanId": id * 16,
        "parentSpanId": parent and parent * 16,
        "name": id,
        "startTimeUnixNano": str(int((T0 + at) * 1e9)),
        "endTimeUnixNano": str(int((T0 + at + 1) * 1e9)),
        "attributes": [
            {"key": key.replace("__", "."), "value": value(one)} for key, one in attributes.items()
        ],
        "status": {"code": 2, "message": error} if error else {},
    }


def said(*messages: tuple[str, str]) -> list[Any]:
    return [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]


def chat(
    trace: str, id: str, at: float, parent: str, messages: Sequence[tuple[str, str]], **more: Any
) -> Any:
    answer = more.pop("answer", None)
    gave = {"gen_ai__output__messages": json.dumps(said(("assistant", answer)))} if answer else {}
    return span(
        trace,
        id,
        at,
        parent,
        gen_ai__operation__name="chat",
        gen_ai__input__messages=json.dumps(said(*messages)),
        **gave,
        **more,
    )


def test_genai_spans_of_a_collector(tmp_path: Path) -> None:
    """A prompt that is made of question and contexts, a rewriting call within the search, and documents in
    structured form; scores that stand as events."""
    top = span("a", "1", 0, gen_ai__operation__name="invoke_workflow")
    top["events"] = [
        {
            "name": "gen_ai.evaluation.result",
            "attributes": [
                {"key": "gen_ai.evaluation.name", "value": value("relevance")},
                {"key": "gen_ai.evaluation.score.value", "value": value(0.75)},
            ],
        }
    ]
    search = span(
        "a",
        "2",
        0.1,
        "1",
        gen_ai__operation__name="retrieval",
        gen_ai__retrieval__query__text=HEIGHT,
        gen_ai__retrieval__documents=[{"id": "papers/varn.pdf#page=3", "score": 0.9, "content": CONTEXT}],
    )
    rewrite = chat("a", "3", 0.2, "2", [("user", f"Rewrite: {HEIGHT}")], answer="mast height")
    answer = chat(
        "a",
        "4",
        0.5,
        "1",
        [("system", "Be brief."), ("user", f"Context:\n{CONTEXT}\n\nQuestion: {HEIGHT}")],
        answer=ANSWER,
        gen_ai__response__model="small-1",
        gen_ai__usage__input_tokens=812,
        gen_ai__usage__output_tokens=9,
        gen_ai__response__finish_reasons=["stop"],
    )
    path = lines(tmp_path / "traces.jsonl", otlp(answer, search), otlp(top, rewrite, span("a", "5", 0.3)))
    imported = read_traces(path, Options())
    assert contents(imported) == [(HEIGHT, ANSWER, None)]
    assert hits(imported) == [("papers/varn.pdf", (3,), CONTEXT, 0.9)]
    (record,) = imported.records
    assert record.answer is not None
    assert (record.answer.model, record.answer.usage.prompt_tokens) == ("small-1", 812)
    assert (record.answer.stop_reason, record.answer.latency) == ("stop", 1.0)
    assert (record.question.id, record.released) == ("a" * 32, {"relevance": 0.75})
    assert (imported.model, imported.left_out, imported.warnings) == ("small-1", 0, ())


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "reasoning", "content": "It says 41.5."}, {"type": "text", "content": "30 m"}],
        [
            {"message_content": {"type": "reasoning", "text": "It says 41.5."}},
            {"message_content": {"type": "text", "text": "30 m"}},
        ],
    ],
)
def test_parts_with_reasoning_are_no_answer(parts: list[dict[str, Any]]) -> None:
    assert text_out([{"role": "assistant", "parts": parts}]) == "30 m"


def test_several_searches_are_rounds_and_a_reranker_has_the_last_word(tmp_path: Path) -> None:
    def search(id: str, at: float, parent: str, query: str, *texts: str, kind: str = "retrieval") -> Any:
        documents = [{"id": f"{text}.pdf", "content": text, "score": 0.5} for text in texts]
        return span(
            "a",
            id,
            at,
            parent,
            gen_ai__operation__name=kind,
            gen_ai__retrieval__query__text=query,
            gen_ai__retrieval__documents=documents,
        )

    spans = [
        search("2", 0, "", "mast", "a", "b"),
        search("3", 0.1, "2", "mast, by words", "z"),  # a part of the search before
        search("4", 1, "", "height", "b", "c"),
        chat("a", "5", 2, "", [("user", HEIGHT)], answer=ANSWER),
    ]
    imported = read_traces(lines(tmp_path / "traces.jsonl", otlp(*spans)), Options())
    assert [one[2:] for one in hits(imported)] == [("a", 1.0), ("b", 1 / 2), ("c", 1 / 3)]
    assert [(one.query, [hit.chunk.text for hit in one.hits]) for one in imported.records[0].rounds] == [
        ("mast", ["a", "b"]),
        ("height", ["b", "c"]),
    ]
    rerank = span(
        "a",
        "6",
        1.5,
        openinference__span__kind="RERANKER",
        **{"reranker.output_documents.0.document.content": "c"},
    )
    imported = read_traces(lines(tmp_path / "traces.jsonl", otlp(*spans, rerank)), Options())
    assert [one[2] for one in hits(imported)] == ["c"]


def test_conversations_are_questions_with_their_history(tmp_path: Path) -> None:
    """In the messages of one trace, and over traces that share the id of a conversation."""
    first = [("user", HEIGHT)]
    second = [*first, ("assistant", ANSWER), ("user", "And the door?")]
    one_trace = otlp(
        chat("a", "1", 0, "9", first, answer=ANSWER),
        chat("a", "2", 5, "9", [("user", "Make this a query: And the door?")], answer="door height"),
        chat("a", "3", 6, "9", second, answer="2 m."),
    )
    later, early = (
        span(
            trace,
            "1",
            at,
            gen_ai__operation__name="invoke_agent",
            gen_ai__conversation__id="talk",
            gen_ai__input__messages=said(("user", wanted)),
            gen_ai__output__messages=said(("assistant", f"Answer {at}.")),
        )
        for trace, at, wanted in (("c", 20, "Since when?"), ("b", 10, "Who built it?"))
    )
    path = lines(tmp_path / "traces.json", one_trace, otlp(later), otlp(early))
    imported = read_traces(path, Options())
    assert contents(imported) == [
        (HEIGHT, ANSWER, None),
        ("And the door?", "2 m.", None),
        ("Who built it?", "Answer 10.", None),
        ("Since when?", "Answer 20.", None),
    ]
    assert [one.metadata for one in imported.questions] == [
        {},
        {"turn": 2, "history": f"user: {HEIGHT}\nassistant: {ANSWER}"},
        {"conversation": "talk", "turn": 1},
        {"conversation": "talk", "turn": 2, "history": "user: Who built it?\nassistant: Answer 10."},
    ]
    assert [one.id for one in imported.questions][:2] == ["a" * 32, f"{'a' * 32}-2"]


def trace(id: str, number: int, **more: Any) -> Any:
    """A trace of Langfuse without observations."""
    started = f"2026-01-01T00:{number // 60:02d}:{number % 60:02d}Z"
    return {"id": id, "timestamp": started, "input": f"Q{number}?", "output": f"A{number}.", **more}


def test_no_turn_takes_the_name_of_another(tmp_path: Path) -> None:
    """The second turn of `t` would be `t-2`, which is a trace of its own; ids that no question may have."""
    second = {**trace("o", 1), "type": "AGENT", "trace_id": "t", "start_time": "2026-01-01T00:00:01Z"}
    path = lines(
        tmp_path / "traces.jsonl",
        {**trace("t", 0, observations=[{**second, "id": "p", "input": "Q0?"}, second]), "input": None},
        trace("t-2", 2),
        trace("a\nb", 3),
        trace("\ud800", 4),
    )
    imported = read_traces(path, Options())
    assert [one.id for one in imported.questions] == ["t", "t-3", "t-2"]
    assert [warning.removeprefix(f"{path}:") for warning in imported.warnings] == [
        "3: left out: the id 'a\\nb' contains the control character U+000A: remove it",
        "4: left out: the id '\\ud800' contains the control character U+D800: remove it",
    ]


def test_a_long_conversation_keeps_the_end_of_its_history(tmp_path: Path) -> None:
    """Or a session of some thousand questions would take gigabytes, because each holds all before it."""
    turns = [trace(f"t{number}", number, sessionId="load") for number in range(2 * MOST_SAID)]
    imported = read_traces(lines(tmp_path / "short.jsonl", *turns), Options())
    last = imported.questions[-1].metadata
    assert last["turn"] == 2 * MOST_SAID
    assert str(last["history"]).splitlines()[0] == f"user: Q{2 * MOST_SAID - 1 - MOST_SAID // 2}?"
    turns = [{**one, "output": "x" * LONGEST_HISTORY} for one in turns[:3]]
    history = read_traces(lines(tmp_path / "long.jsonl", *turns), Options()).questions[-1].metadata["history"]
    assert history == "…" + "x" * LONGEST_HISTORY


def test_what_cannot_be_used_is_named_and_counted(tmp_path: Path) -> None:
    good = chat("a", "1", 0, "", [("user", HEIGHT)], answer=ANSWER)
    path = lines(
        tmp_path / "traces.jsonl",
        otlp(good),
        "{",
        {"hello": 1},
        otlp({"name": "no ids"}),
        otlp(chat("b", "1", 1, "", [("user", "Why?")], error="rate limit")),
        otlp(span("c", "1", 2, gen_ai__operation__name="chat")),  # content was not recorded
        otlp(span("d", "1", 2, http__route="/health")),  # has nothing to do with a question
        otlp(good),
        otlp(
            chat("e", "1", 3, "", [("user", "When?")], answer="Now."),
            span(
                "e",
                "2",
                2,
                gen_ai__operation__name="retrieval",
                gen_ai__retrieval__documents=[{"id": "x.pdf", "page": 0}],
            ),
        ),
    )
    imported = read_traces(path, Options())
    assert contents(imported) == [(HEIGHT, ANSWER, None), ("Why?", None, "rate limit")]
    assert [warning.removeprefix(f"{path}") for warning in imported.warnings] == [
        ":2:2: not valid JSON: Expecting property name enclosed in double quotes",
        ":3: left out: neither spans of OTLP (resourceSpans) nor of Langfuse, LangSmith or Phoenix",
        ":4: left out: a span without traceId or spanId",
        ":6: left out: no question with an answer in this trace: were the texts recorded"
        " (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)?",
        ": 1 repeated span: the first of each id counts",
        ":9: left out: contexts.0.page: Input should be greater than or equal to 1"
        " (if the tool counts pages from 0, add --first-page 0)",
    ]
    assert imported.left_out == 5
    assert hits(read_traces(path, Options(first_page=0)), 2) == [("x.pdf", (1,), "", 1.0)]
    with pytest.raises(DataError, match="holds no question with an answer"):
        read_traces(lines(tmp_path / "none.jsonl", otlp(span("d", "1", 2))), Options())


PHOENIX = [
    {
        "name": "query",
        "context": {"trace_id": "t1", "span_id": "s1"},
        "span_kind": "CHAIN",
        "parent_id": None,
        "start_time": "2026-01-02T03:04:05+00:00",
        "end_time": "2026-01-02T03:04:07+00:00",
        "status_code": "OK",
        "attributes": {"input.value": HEIGHT, "output.value": ANSWER, "session.id": "one"},
    },
    {
        "name": "retrieve",
        "context": {"trace_id": "t1", "span_id": "s2"},
        "span_kind": "RETRIEVER",
        "parent_id": "s1",
        "start_time": "2026-01-02T03:04:05.5+00:00",
        "attributes": {
            "input.value": HEIGHT,
            "retrieval.documents": [
                {
                    "document.content": CONTEXT,
                    "document.id": "0c1d",
                    "document.score": 0.8,
                    "document.metadata": json.dumps({"file_name": "varn.pdf", "page_number": 2}),
                },
                {"document.content": "Elsewhere.", "document.id": "log.pdf"},
            ],
        },
    },
    {
        "name": "llm",
        "context": {"trace_id": "t1", "span_id": "s3"},
        "span_kind": "LLM",
        "parent_id": "s1",
        "start_time": "2026-01-02T03:04:06+00:00",
        "attributes": {
            "llm.model_name": "small-2",
            "llm.token_count.prompt": 300,
            "llm.token_count.prompt_details.cache_read": 100,
            "llm.token_count.completion": 7,
            "llm.input_messages": [{"message.role": "user", "message.content": f"{CONTEXT} {HEIGHT}"}],
            "llm.output_messages": [{"message.role": "assistant", "message.content": ANSWER}],
        },
    },
]


def test_phoenix(tmp_path: Path) -> None:
    """The answer of its interface, lines of spans, and a data frame with a column for each attribute."""
    frame = [
        {
            **{f"context.{key}": inner for key, inner in one["context"].items()},
            **{f"attributes.{key}": inner for key, inner in one["attributes"].items()},
            **{key: inner for key, inner in one.items() if key not in ("context", "attributes")},
        }
        for one in PHOENIX
    ]
    files = [
        lines(tmp_path / "api.json", {"data": PHOENIX, "next_cursor": None}),
        lines(tmp_path / "spans.jsonl", *PHOENIX),
        lines(tmp_path / "frame.jsonl", *frame),
    ]
    for path in files:
        imported = read_traces(path, Options())
        assert contents(imported) == [(HEIGHT, ANSWER, None)]
        assert hits(imported) == [("varn.pdf", (2,), CONTEXT, 0.8), ("log.pdf", (), "Elsewhere.", 0.5)]
        (record,) = imported.records
        assert record.answer is not None
        assert (record.answer.model, record.answer.usage.prompt_tokens) == ("small-2", 300)
        assert (record.answer.usage.completion_tokens, record.answer.latency) == (7, 2.0)
        assert record.question.metadata == {"conversation": "one", "turn": 1}


def test_openinference_attributes_in_otlp(tmp_path: Path) -> None:
    """Flattened, with numbers as the positions in lists."""
    found = span(
        "a",
        "2",
        0,
        "1",
        openinference__span__kind="RETRIEVER",
        input__value=HEIGHT,
        **{
            "retrieval.documents.0.document.content": CONTEXT,
            "retrieval.documents.1.document.content": "Elsewhere.",
            "retrieval.documents.0.document.id": "varn.pdf",
        },
    )
    llm = span(
        "a",
        "3",
        1,
        "1",
        openinference__span__kind="LLM",
        **{
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.contents.0.message_content.text": HEIGHT,
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": ANSWER,
        },
    )
    imported = read_traces(lines(tmp_path / "traces.jsonl", otlp(found, llm)), Options())
    assert contents(imported) == [(HEIGHT, ANSWER, None)]
    assert hits(imported) == [("varn.pdf", (), CONTEXT, 1.0), (None, (), "Elsewhere.", 0.5)]


LANGFUSE = [
    {
        "id": "o1",
        "trace_id": "t1",
        "parent_observation_id": "",
        "type": "SPAN",
        "name": "ask",
        "start_time": "2026-01-02 03:04:05.000000",
        "end_time": "2026-01-02 03:04:07.500000",
        "session_id": "one",
        "input": json.dumps({"question": HEIGHT}),
        "output": ANSWER,
    },
    {
        "id": "o2",
        "trace_id": "t1",
        "parent_observation_id": "o1",
        "type": "RETRIEVER",
        "start_time": "2026-01-02 03:04:05.500000",
        "input": HEIGHT,
        "output": json.dumps(
            [{"page_content": CONTEXT, "metadata": {"source": "varn.pdf", "page": 1}}, "Elsewhere."]
        ),
    },
    {
        "id": "o3",
        "trace_id": "t1",
        "parent_observation_id": "o1",
        "type": "GENERATION",
        "start_time": "2026-01-02 03:04:06.000000",
        "input": json.dumps([{"role": "user", "content": f"{CONTEXT} {HEIGHT}"}]),
        "output": json.dumps({"role": "assistant", "content": ANSWER}),
        "provided_model_name": "small-3",
        "usage_details": {"input": 300, "output": 7, "total": 307},
        "total_cost": 0.002,
    },
]


def test_langfuse(tmp_path: Path) -> None:
    """The rows of an export, and the file of a single trace with its observations and scores."""

    def camel(key: str) -> str:
        head, *rest = key.split("_")
        return head + "".join(map(str.capitalize, rest))

    trace = {
        "id": "t1",
        "name": "ask",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "sessionId": "one",
        "input": {"question": HEIGHT},
        "output": {"answer": ANSWER},
        "observations": [
            {camel(key): inner for key, inner in one.items() if key != "session_id"} for one in LANGFUSE
        ],
        "scores": [
            {"name": "helpful", "value": 1, "dataType": "BOOLEAN"},
            {"name": "tone", "value": None, "stringValue": "kind", "dataType": "CATEGORICAL"},
        ],
    }
    files = [
        lines(tmp_path / "observations.jsonl", *LANGFUSE),
        lines(tmp_path / "rows.json", LANGFUSE),
        lines(tmp_path / "trace-t1.json", trace),
    ]
    for path in files:
        imported = read_traces(path, Options())
        assert contents(imported) == [(HEIGHT, ANSWER, None)]
        assert hits(imported) == [("varn.pdf", (1,), CONTEXT, 1.0), (None, (), "Elsewhere.", 0.5)]
        (record,) = imported.records
        assert record.answer is not None
        assert (record.answer.model, record.answer.cost) == ("small-3", 0.002)
        assert record.answer.usage.completion_tokens == 7
        assert record.question.metadata == {"conversation": "one", "turn": 1}
    assert record.released == {"helpful": 1.0}


def of_langchain(kind: str, text: str) -> dict[str, Any]:
    """A message of LangChain as LangSmith keeps it."""
    kwargs = {"content": text, "type": kind}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages"], "kwargs": kwargs}


LANGSMITH: list[dict[str, Any]] = [
    {
        "id": "r1",
        "trace_id": "r1",
        "run_type": "chain",
        "name": "ask",
        "start_time": "2026-01-02T03:04:05.000000",
        "end_time": "2026-01-02T03:04:07.500000",
        "inputs": {"question": HEIGHT},
        "outputs": {"output": ANSWER},
        "extra": {"metadata": {"thread_id": "one", "route": "/tall"}},
    },
    {
        "id": "r2",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "run_type": "retriever",
        "start_time": "2026-01-02T03:04:05.500000",
        "inputs": {"query": HEIGHT},
        "outputs": {
            "documents": [
                {"page_content": CONTEXT, "metadata": {"source": "varn.pdf", "page": 1}, "type": "Document"},
                {"page_content": "Elsewhere.", "metadata": {}, "type": "Document"},
            ]
        },
    },
    {
        "id": "r3",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "run_type": "llm",
        "start_time": "2026-01-02T03:04:06.000000",
        "inputs": {"messages": [[of_langchain("system", CONTEXT), of_langchain("human", HEIGHT)]]},
        "outputs": {"generations": [[{"text": ANSWER, "message": of_langchain("ai", ANSWER)}]]},
        "extra": {"metadata": {"ls_model_name": "small-3"}},
        "prompt_tokens": 300,
        "completion_tokens": 7,
        "total_cost": 0.002,
    },
    {
        "id": "r4",
        "trace_id": "r1",
        "parent_run_id": "r1",
        "run_type": "tool",
        "name": "measure",
        "start_time": "2026-01-02T03:04:05.700000",
        "inputs": {"what": "mast"},
        "outputs": {"output": "41.5"},
    },
]


def test_langsmith(tmp_path: Path) -> None:
    """A chain with a search, a tool and a call, and the call alone; a failed call is one."""
    for rows in (LANGSMITH, LANGSMITH[1:]):
        imported = read_traces(lines(tmp_path / "runs.jsonl", *rows), Options())
        assert contents(imported) == [(HEIGHT, ANSWER, None)]
        assert hits(imported) == [("varn.pdf", (1,), CONTEXT, 1.0), (None, (), "Elsewhere.", 0.5)]
        (record,) = imported.records
        assert record.answer is not None
        assert (record.answer.model, record.answer.cost) == ("small-3", 0.002)
        assert record.answer.usage.completion_tokens == 7
        assert [(one.name, one.result) for one in record.tools] == [("measure", '{"output": "41.5"}')]
    whole = read_traces(lines(tmp_path / "runs.json", LANGSMITH), Options(), Selection(by="route"))
    assert whole.questions[0].metadata == {"conversation": "one", "turn": 1}
    assert whole.questions[0].category == "/tall"
    failed = {**LANGSMITH[0], "outputs": None, "error": "down"}
    assert contents(read_traces(lines(tmp_path / "runs.jsonl", failed), Options())) == [
        (HEIGHT, None, "down")
    ]


def test_files_with_anything_in_any_place_are_read_or_refused(tmp_path: Path) -> None:
    """Whatever stands in some places of a file, it is named, and the file is read or refused as a whole."""
    draw = random.Random(28)
    request = otlp(
        chat("a", "1", 0, "", [("user", HEIGHT)], answer=ANSWER, gen_ai__conversation__id="talk"),
        span("a", "2", 0, gen_ai__retrieval__documents=[{"id": "a.pdf", "score": 0.5}]),
    )
    read = refused = 0
    for _ in range(200):
        path = lines(
            tmp_path / "traces.jsonl",
            *map(json.dumps, spoilt([*PHOENIX, *LANGFUSE, *LANGSMITH, request], draw)),
        )
        try:
            read += bool(read_traces(path, Options()).records)
        except DataError:
            refused += 1
    assert read + refused == 200
    assert read > 150


def chain(length: int, closed: bool = False) -> dict[str, Any]:
    """A trace in which each span is the child of the one before; the last is a call to a model. Where it is
    `closed`, the first is the child of the last but one."""
    spans = [span("a", "", number) | {"spanId": f"{number:016x}"} for number in range(length - 1)]
    spans.append(chat("a", "", length, "", [("user", HEIGHT)], answer=ANSWER) | {"spanId": f"{length:016x}"})
    for before, after in itertools.pairwise(spans):
        after["parentSpanId"] = before["spanId"]
    spans[0]["parentSpanId"] = spans[-2]["spanId"] if closed else ""
    return otlp(*spans)


@pytest.mark.slow
@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_of_spans_takes_time_in_proportion(tmp_path: Path, closed: bool) -> None:
    """Looking at all spans around each one took with 16,000 spans 34 seconds, and with four times as many
    sixteen times as long."""
    spent = []
    for length in (1_500, 6_000):
        path = lines(tmp_path / "chain.jsonl", chain(length, closed))
        started = time.process_time()
        imported = read_traces(path, Options())
        spent.append(time.process_time() - started)
        assert contents(imported) == [(HEIGHT, ANSWER, None)]
    assert spent[1] < 8 * spent[0] + 0.2


def test_the_innermost_wanted_span_around_each_one() -> None:
    """Worked by hand: a stem a-b-c below the circle p-q-r, and a span of which the parent is unknown."""
    parents = {"p": "r", "q": "p", "r": "q", "a": "q", "b": "a", "c": "b", "lone": "nobody"}
    spans = {id: Seen(1, "t", id, parent, "part") for id, parent in parents.items()}

    def found(*wanted: str) -> dict[str, str]:
        outer = around(spans, lambda one: one.id in wanted)
        return {id: one.id for id, one in outer.items() if one is not None}

    assert found("a") == {"b": "a", "c": "a"}
    assert found("r") == {"p": "r", "q": "r", "a": "r", "b": "r", "c": "r"}
    assert found("b", "p") == {"q": "p", "r": "p", "a": "p", "b": "p", "c": "b"}
