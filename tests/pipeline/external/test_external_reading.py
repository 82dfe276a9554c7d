"""Which paths of a mapping match nothing in a reply, and which document of a data set a path means."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.pipeline.external import Http, Python
from fathoms.pipeline.external.mapping import Response
from fathoms.pipeline.external.names import DocumentNames
from fathoms.pipeline.external.reading import Reading, named_paths
from fathoms.runs.cache import Cache
from fathoms.types import Citation, Question, Record, ServiceReply
from tests.support.raw_service import answer, sends, service

QUESTION = Question(id="t-1", text="How tall?", category="Text", answers=(("41.5",),))


def missed(response: dict[str, Any], *pieces: Any) -> list[str]:
    reading = Reading(named_paths(Response.model_validate(response), Response()))
    for piece in pieces:
        reading.read(piece)
    return [f"{one.name}: {one.there}" for one in reading.unmatched()]


@pytest.mark.parametrize(
    ("response", "reply", "expected"),
    [
        ({"answer": "$.a.b"}, {"a": {"c": 1}}, ["response.answer: $.a of the reply has the keys 'c'"]),
        ({"answer": "$.a.b"}, {"a": "text"}, ["response.answer: $.a of the reply is a text"]),
        ({"answer": "$.a[2]"}, {"a": [1, 2]}, ["response.answer: $.a of the reply is a list of 2"]),
        ({"answer": "$.a"}, {}, ["response.answer: the reply has no keys"]),
        ({"answer": "$.a", "cost": "$.c"}, {"a": "", "c": None}, []),
        # a list that is there and empty says that there is nothing, and so does a filter
        ({"answer": "$.a", "contexts": "$.s[*]"}, {"a": "", "s": []}, []),
        ({"answer": "$.a", "contexts": "$.s[*].texts[*]"}, {"a": "", "s": [{"texts": []}]}, []),
        ({"answer": "$.a", "contexts": "$.s[?@.used]"}, {"a": "", "s": [{"used": 0, "x": 1}]}, []),
        (
            {"answer": "$.a", "contexts": "$.s[*].text"},
            {"a": "", "s": [{"content": ""}]},
            ["response.contexts: $.s[*] of the reply has the keys 'content'"],
        ),
        # who names a part of the members expects the list; one member with the part is enough
        (
            {"answer": "$.a", "contexts": {"text": "$.t"}},
            {"a": ""},
            ["response.contexts: the reply has the keys 'a'"],
        ),
        (
            {"answer": "$.a", "contexts": {"text": "$.t", "page": "$.p"}},
            {"a": "", "contexts": [{"t": ""}, {"t": "", "p": 1}]},
            [],
        ),
        (
            {"answer": "$.a", "citations": {"quote": "$.q"}},
            {"a": "", "citations": [{"document": "a.pdf"}]},
            ["response.citations.quote: a member of the list has the keys 'document'"],
        ),
        ({"answer": "$.a", "refusal": "$.r", "error": "$.e"}, {"a": ""}, []),
    ],
)
def test_paths_that_match_nothing(response: dict[str, Any], reply: Any, expected: list[str]) -> None:
    assert missed(response, reply) == expected


def test_the_pieces_of_a_stream_count_together() -> None:
    pieces = [{"t": "a"}, {"t": "b", "end": {}}, {"sources": [{"text": ""}]}]
    response = {"answer": "$.t", "contexts": {"each": "$.sources"}, "cost": "$.end.cost"}
    assert missed(response, *pieces) == ["response.cost: $.end of the reply has no keys"]


def test_the_paths_of_a_preset_are_not_expected() -> None:
    http = Http(
        url="http://127.0.0.1:9/",
        preset="openai-chat",
        model="m",
        response={"contexts": "$.sources", "usage": {"prompt_tokens": "$.in"}},
    )
    assert set(http.named_paths) == {
        ("response", "answer"),
        ("response", "contexts", "each"),
        ("response", "usage", "prompt_tokens"),
    }


def test_the_fingerprint_without_a_version_is_that_of_earlier_runs() -> None:
    plain = Http(url="http://127.0.0.1:9/")
    assert "version" not in plain.identity()["options"]
    assert Http(url="http://127.0.0.1:9/", version="1").identity()["options"]["version"] == "1"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.pdf", "a.pdf"),
        ("papers/a.pdf", "a.pdf"),
        ("/srv/papers/a.pdf", "a.pdf"),
        ("C:\\papers\\a.pdf", "a.pdf"),
        ("papers/A.PDF", "a.pdf"),
        ("xa.pdf", None),
        ("a.pdf/page", None),
        # the case of letters decides where it can, and several names that fit are none
        ("x/B.pdf", "B.pdf"),
        ("x/b.pdf", "b.pdf"),
        ("x/b.PDF", None),
        # names with folders: the shorter path must be the end of the longer
        ("2024/sum.pdf", "2024/sum.pdf"),
        ("/x/2023/sum.pdf", "2023/sum.pdf"),
        ("2022/sum.pdf", None),
        ("sum.pdf", None),
        ("only.pdf", "2024/only.pdf"),
        ("", None),
        ("/", None),
    ],
)
def test_the_document_that_a_path_means(path: str, found: str | None) -> None:
    names = ["a.pdf", "b.pdf", "B.pdf", "2023/sum.pdf", "2024/sum.pdf", "2024/only.pdf"]
    assert DocumentNames(names).find(path) == found


@given(st.lists(st.text("ab./\\A", max_size=6), max_size=4), st.text("ab./\\A", max_size=9))
def test_a_name_finds_itself_and_any_path_at_most_one(names: list[str], path: str) -> None:
    known = DocumentNames(names)
    assert all(known.find(name) == name for name in names)
    assert known.find(path) in {None, *names}


def record_of(reply: dict[str, Any], tmp_path: Path, names: list[str]) -> Record:
    with service(sends(answer(reply))) as server:
        pipeline = Http(url=f"{server.address}/ask")
        documents = {name: tmp_path / name for name in names}
        connected = pipeline.prepare(documents, Cache(tmp_path / "cache"))
        return asyncio.run(connected.answer(QUESTION, (), timeout=20))


def test_contexts_and_citations_get_the_names_of_the_data_set(tmp_path: Path) -> None:
    """An answer may cite a document by the path of its context, or by its name."""
    text = "It is tall [in/a.pdf, p. 2]. And wide [a.pdf]. And red [1][2]."
    sources = [{"text": "t", "document": "in/a.pdf", "page": 2}, {"text": "u", "document": "in/z.pdf"}]
    cites = ["a.pdf", {"document": "/srv/in/a.pdf", "page": 2}, {"document": "in/a.pdf", "page": 9}]
    reply = {"answer": text, "contexts": [*sources, "bare"], "citations": cites}
    record = record_of(reply, tmp_path, ["a.pdf", "b.pdf"])
    assert record.error is None
    assert [hit.chunk.document for hit in record.hits or ()] == ["a.pdf", "in/z.pdf", None]
    assert [(one.document, one.page, one.ranks) for one in record.citations or ()] == [
        ("a.pdf", None, (1,)),
        ("a.pdf", 2, (1,)),
        ("a.pdf", 9, ()),
        ("a.pdf", 2, (1,)),
        ("a.pdf", None, (1,)),
        ("a.pdf", 2, (1,)),
        ("in/z.pdf", None, (2,)),
    ]
    assert record.service == ServiceReply(unknown={"in/z.pdf": 1}, nowhere=1)  # "bare" is too short


def test_nothing_is_stored_where_there_is_nothing_to_say(tmp_path: Path) -> None:
    record = record_of({"answer": "x", "contexts": [{"text": "t", "document": "a.pdf"}]}, tmp_path, ["a.pdf"])
    assert record.service is None
    assert "service" not in json.loads(record.model_dump_json(exclude_defaults=True))


def test_a_python_pipeline_has_the_same_names(tmp_path: Path) -> None:
    (tmp_path / "named_rag.py").write_text(
        "def answer(question):\n"
        "    return {'answer': 'x', 'citations': ['in/a.pdf'],\n"
        "            'contexts': [{'text': 't', 'document': 'in/a.pdf'}, {'text': 't', 'document': 'q'}]}\n"
    )
    pipeline = Python(target="named_rag").at(tmp_path)
    connected = pipeline.prepare({"a.pdf": tmp_path / "a.pdf"}, Cache(tmp_path / "cache"))
    record = asyncio.run(connected.answer(QUESTION, (), timeout=20))
    assert [hit.chunk.document for hit in record.hits or ()] == ["a.pdf", "q"]
    assert record.citations == (Citation(document="a.pdf", ranks=(1,)),)
    assert record.service == ServiceReply(unknown={"q": 1})
