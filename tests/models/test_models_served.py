"""Embedders of page pictures behind a server, against a server that takes only what each API allows.

Its vectors are worked out by hand: a picture of 30 x 40 pixels is (30, 40), so its unit vector is (.6, .8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import ConfigError, ModelError, RateLimitError, ServerError
from fathoms.models import PageEmbedder
from fathoms.models.calling.provider_calls import ExecutionSettings
from fathoms.models.embed import process as embedding
from fathoms.models.embed.served.pictures import picture_to_send
from fathoms.models.embed.served.served_model import ServedPageModel
from fathoms.models.embed.served.spent import EmbeddingCalls
from fathoms.models.page_vectors import questions_cached
from fathoms.runs.cache import Cache
from tests.support.embedding_server import KEY, Embeddings, Fails, embeddings

QUICK = ExecutionSettings(max_attempts=3, first_wait=0.01)
APIS = {
    "cohere": {"kind": "cohere", "base_url": "/cohere/v2"},
    "cohere-v3": {"kind": "cohere", "base_url": "/cohere/v2", "model": "embed-multilingual-v3.0"},
    "voyage": {"kind": "voyage", "base_url": "/voyage/v1"},
    "jina": {"kind": "jina", "base_url": "/jina/v1"},
    "vllm": {"kind": "openai-compatible", "base_url": "/vllm/v1", "model": "m"},
    "infinity": {"kind": "openai-compatible", "base_url": "/infinity/v1", "model": "m", "form": "input"},
}
LISTED = ["voyage", "jina", "infinity"]
"""APIs whose replies are lists with an index."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    monkeypatch.setenv("EMBEDDER_KEY", KEY)
    with embeddings() as running:
        yield running


@pytest.fixture
def embedder_of(server: Embeddings) -> Callable[..., ServedPageModel]:
    """Make the embedder of an API at the server."""
    adapter: TypeAdapter[PageEmbedder] = TypeAdapter(PageEmbedder)

    def make(api: str, **options: Any) -> ServedPageModel:
        whole = {**APIS[api], "api_key_env": "EMBEDDER_KEY", **options}
        found = adapter.validate_python({**whole, "base_url": f"{server.address}{whole['base_url']}"})
        assert isinstance(found, ServedPageModel)
        return found

    return make


def drawn(folder: Path, *sizes: tuple[int, int]) -> list[Path]:
    """White pictures of these sizes."""
    paths = [folder / f"{at}.png" for at in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        Image.new("L", size, 255).save(path)
    return paths


@pytest.mark.parametrize("api", APIS)
def test_vectors_come_back_in_order(api: str, embedder_of: Any, server: Embeddings, tmp_path: Path) -> None:
    """Unit vectors of pictures and texts in several requests at a time, the tokens that were reported and
    their cost at a price of one's own."""
    embedder = embedder_of(api, batch_size=2, price={"image": 2, "text": 1})
    how = EmbeddingCalls(QUICK)
    pages = embedding.embed_pages(embedder, drawn(tmp_path, (30, 40), (80, 60), (50, 120)), how)
    assert [page.tolist() for page in pages] == [
        [pytest.approx([0.6, 0.8])],
        [pytest.approx([0.8, 0.6])],
        [pytest.approx([5 / 13, 12 / 13])],
    ]
    assert {page.dtype for page in pages} == {np.dtype(np.float32)}
    alone = api in ("vllm", "cohere-v3")
    assert (how.replies, how.inputs) == (3 if alone else 2, 3)
    # three words and four letters, and then a blank text, which no API takes
    questions = embedding.embed_questions(embedder, ["a b c", " "], how)
    assert questions[0].tolist() == [pytest.approx([3 / 34**0.5, 5 / 34**0.5])]
    assert questions[1].tolist() == [[0, 0]]
    assert how.tokens == 3 * 1000 + 2 * 10
    assert how.cost == pytest.approx((3000 * 2 + 20 * 1) / 1e6)


def test_each_api_is_asked_in_its_own_way(embedder_of: Any, server: Embeddings, tmp_path: Path) -> None:
    """What a page and a question are to each API, and its options; all else the server refuses."""
    pictures = drawn(tmp_path, (30, 40))

    def bodies_of(api: str, **options: Any) -> list[dict[str, Any]]:
        server.bodies.clear()
        embedder = embedder_of(api, **options)
        embedder.embed_pages(pictures)
        embedder.embed_questions(["a b"])
        return [{k: v for k, v in body.items() if k not in ("inputs", "input")} for body in server.bodies]

    page, question = bodies_of("cohere")
    assert page == {"model": "embed-v4.0", "input_type": "search_document", "embedding_types": ["float"]}
    assert (question["input_type"], question["texts"]) == ("search_query", ["a b"])
    assert bodies_of("cohere-v3")[0]["input_type"] == "image"
    kinds = [(body["input_type"], body["truncation"]) for body in bodies_of("voyage")]
    assert kinds == [("document", False), ("query", False)]
    assert [body["task"] for body in bodies_of("jina")] == ["retrieval.passage", "retrieval.query"]
    assert [body.get("task") for body in bodies_of("jina", model="jina-clip-v2")] == [None, "retrieval.query"]
    page, question = bodies_of("vllm", system="Represent it.", page_text="Page.", query_prefix="Q: ")
    assert [(message["role"], len(message["content"])) for message in page["messages"]] == [
        ("system", 1),
        ("user", 2),
    ]
    assert page["messages"][1]["content"][1] == {"type": "text", "text": "Page."}
    assert question["messages"][1]["content"] == [{"type": "text", "text": "Q: a b"}]
    assert [body.get("modality") for body in bodies_of("infinity")] == ["image", None]


def test_many_vectors_of_jina_stay_as_they_are(embedder_of: Any, server: Embeddings, tmp_path: Path) -> None:
    """Under either name that clients of the API read."""
    embedder = embedder_of("jina", multi_vector=True)
    assert embedder.many
    (page,) = embedder.embed_pages(drawn(tmp_path, (30, 40)))
    assert page.tolist() == [[30, 40], [40, 30]]
    server.steps = [lambda answer: {"data": [{"index": 0, "embedding": [[1, 2], [3, 4], [5, 6]]}]}]
    (question,) = embedder.embed_questions(["a"])
    assert question.tolist() == [[1, 2], [3, 4], [5, 6]]
    server.steps = [lambda answer: {"data": [{"index": 0, "embedding": [1, 2]}]}]
    with pytest.raises(ModelError, match="does not have a list of vectors for each input"):
        embedder.embed_questions(["a"])
    server.steps = [lambda answer: {"data": [{"index": 0, "embedding": [[1], [2, 3]]}]}]
    with pytest.raises(ModelError, match="does not have one vector for each input, of numbers"):
        embedder_of("infinity").embed_questions(["a"])


def test_many_vectors_of_vllm_come_from_its_pooling_api(
    embedder_of: Any, server: Embeddings, tmp_path: Path
) -> None:
    embedder = embedder_of("vllm", multi_vector=True, extra_body={"task": "token_embed"})
    how = EmbeddingCalls(QUICK)
    pages = embedder.embed_pages(drawn(tmp_path, (30, 40), (80, 60)), how)
    assert [page.tolist() for page in pages] == [[[30, 40], [40, 30]], [[80, 60], [60, 80]]]
    (question,) = embedder.embed_questions(["a b"], how)
    assert question.tolist() == [[2, 3], [3, 2]]
    assert (how.replies, how.tokens) == (3, 2010)
    embedder.check_presence()


@pytest.mark.parametrize("api", APIS)
def test_a_field_that_the_api_does_not_know_is_its_error(
    api: str, embedder_of: Any, server: Embeddings
) -> None:
    """In the words of the vendor, and not asked again."""
    with pytest.raises(ModelError, match=r"answers 4(00|22): .*colour.*Extra inputs are not permitted"):
        embedder_of(api, extra_body={"colour": "red"}).embed_questions(["a"], EmbeddingCalls(QUICK))
    assert len(server.bodies) == 1


@pytest.mark.parametrize("api", APIS)
def test_a_rate_limit_is_waited_for(api: str, embedder_of: Any, server: Embeddings) -> None:
    server.steps = [Fails(429, "slow down", (("Retry-After", "0.3"),)), Fails(503)]
    how = EmbeddingCalls(QUICK)
    embedder_of(api).embed_questions(["a"], how)
    first, second, _ = server.times
    assert second - first >= 0.3
    assert how.replies == 1
    server.steps = [Fails(429, "slow down")] * 3
    with pytest.raises(RateLimitError, match="answers 429: slow down"):
        embedder_of(api).embed_questions(["a"], how)


def test_a_request_that_fails_ends_the_others(embedder_of: Any, server: Embeddings, tmp_path: Path) -> None:
    server.steps = [Fails(400, "bad picture")]
    pictures = drawn(tmp_path, *[(30, 40)] * 20)
    with pytest.raises(ModelError, match="answers 400: bad picture"):
        embedder_of("vllm").embed_pages(pictures, EmbeddingCalls(QUICK))
    assert len(server.bodies) <= 3


def test_what_was_paid_for_is_kept_when_a_later_request_fails(
    embedder_of: Any, server: Embeddings, tmp_path: Path
) -> None:
    """Of ten questions that are sent one by one, the last is refused; the next call asks for it alone. A
    reply with vectors of another length is not kept."""
    embedder, cache = embedder_of("jina", batch_size=1, max_concurrency=1), Cache(tmp_path / "cache")
    texts = [f"question {number}" for number in range(9)] + [" "]
    how = EmbeddingCalls(QUICK)
    server.steps = [*[None] * 9, Fails(400, "bad question")]
    with pytest.raises(ModelError, match="answers 400: bad question"):
        questions_cached(embedder, texts, cache, how)
    assert (how.replies, how.tokens) == (9, 90)
    questions = questions_cached(embedder, texts, cache, EmbeddingCalls(QUICK))
    assert len(server.bodies) == 11, "ten, and the one that was refused"
    assert [row.tolist() for row in questions[8:]] == [
        [[pytest.approx(2 / 104**0.5), pytest.approx(10 / 104**0.5)]],
        [[0, 0]],
    ]
    server.steps = [None, lambda answer: {**answer, "data": [{"index": 0, "embedding": [1, 2, 3]}]}]
    for sent in (13, 14):
        with pytest.raises(ModelError, match="vectors have 2 and 3 numbers") if sent == 13 else nullcontext():
            questions_cached(embedder, ["x", "y"], cache, EmbeddingCalls(QUICK))
        assert len(server.bodies) == sent


def test_a_reply_that_does_not_match_is_refused(embedder_of: Any, server: Embeddings) -> None:
    """Too few vectors, vectors of different lengths, none, text, infinite numbers, and wrong numbering."""

    def refused(api: str, change: Callable[[dict[str, Any]], Any], message: str, **options: Any) -> None:
        server.steps = [change]
        with pytest.raises(ModelError, match=message):
            embedder_of(api, **options).embed_questions(["a", "b"], EmbeddingCalls(QUICK))

    def rows(*vectors: Any) -> Callable[[dict[str, Any]], Any]:
        data = [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        return lambda answer: {**answer, "data": data}

    for api in LISTED:
        refused(api, rows([1, 2]), "2 inputs were sent, the answer has vectors of 1")
        refused(api, rows([1, 2], [1, 2, 3]), "vectors of 2 and 3 numbers")
        refused(api, rows([1, 2], None), "does not have one vector for each input")
        refused(api, rows([1, 2], []), "does not have one vector for each input")
        refused(api, rows([1, 2], ["a", "b"]), "does not have one vector for each input, of numbers")
        refused(api, rows([1, 2], [1, 1e300]), "not finite")
        refused(api, lambda answer: {"usage": {}}, "no list of vectors under 'data'")
        refused(api, lambda answer: [1], "JSON, and not an object")
        refused(api, rows([1, 2], [3, 4]), "dimension: 256 was asked for", dimension=256)
    one = [{"index": 1, "embedding": [1, 2]}] * 2
    refused("jina", lambda answer: {"data": one}, "not numbered from 0 to 1")
    refused("cohere", lambda answer: {"embeddings": [[1, 2]]}, r"no vectors under 'embeddings\.float'")
    refused("cohere", lambda answer: {"embeddings": {"float": [[1, 2]]}}, "2 inputs were sent")
    server.steps = [None, rows([1, 2, 3])]
    with pytest.raises(ModelError, match="the vectors have 2 and 3 numbers"):
        embedder_of("infinity", batch_size=1, max_concurrency=1).embed_questions(["a", "b"])


def test_requests_keep_to_the_limits_of_the_api(embedder_of: Any, server: Embeddings, tmp_path: Path) -> None:
    """96 inputs for Cohere, 320,000 tokens of 560 pixels for Voyage, and a size in bytes of one's own."""
    (small,) = drawn(tmp_path, (4, 4))
    embedder_of("cohere", batch_size=4096).embed_pages([small] * 97)
    assert sorted(map(len, server.given)) == [1, 96]
    server.given.clear()
    (large,) = drawn(tmp_path, (4000, 4000))  # 28,572 tokens, so 11 of them fit
    embedder_of("voyage").embed_pages([large] * 12)
    assert sorted(map(len, server.given)) == [1, 11]
    server.given.clear()
    size = len(picture_to_send(small, None, None).base64)
    embedder_of("jina", max_megabytes=2.5 * size / 1e6).embed_pages([small] * 5)
    assert sorted(map(len, server.given)) == [1, 2, 2]


def test_a_request_that_is_too_large_is_sent_in_halves(
    embedder_of: Any, server: Embeddings, tmp_path: Path
) -> None:
    """As by a proxy with a limit of its own; a single picture that is refused is an error."""
    pictures = drawn(tmp_path, (30, 40), (80, 60), (50, 120))
    server.steps = [Fails(413, "Payload Too Large"), None, Fails(413, "Payload Too Large")]
    pages = embedder_of("jina").embed_pages(pictures, EmbeddingCalls(QUICK))
    assert [page.round(1).tolist() for page in pages[:2]] == [
        [[pytest.approx(0.6), pytest.approx(0.8)]],
        [[pytest.approx(0.8), pytest.approx(0.6)]],
    ]
    assert [len(body["input"]) for body in server.bodies] == [3, 1, 2, 1, 1]
    server.steps = [Fails(413, "Payload Too Large")] * 3
    with pytest.raises(ModelError, match="answers 413: Payload Too Large"):
        embedder_of("jina").embed_pages(pictures[:1], EmbeddingCalls(QUICK))


@pytest.mark.slow
def test_a_large_picture_is_made_smaller(embedder_of: Any, server: Embeddings, tmp_path: Path) -> None:
    """By the pixel limit of the option, or of the API; others are sent as they are."""
    pictures = drawn(tmp_path, (4000, 1000), (30, 40))
    embedder_of("infinity", max_pixels=1_000_000).embed_pages(pictures)
    assert server.sizes == [(2000, 500), (30, 40)]
    server.sizes.clear()
    embedder_of("cohere").embed_pages(pictures)
    assert server.sizes == [(3136, 784), (30, 40)], "2,458,624 pixels"
    assert picture_to_send(pictures[1], 1200, None).base64 == picture_to_send(pictures[1], None, None).base64


def test_a_picture_of_too_many_bytes_is_made_smaller(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (300, 200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(path := tmp_path / "noise.png")
    found = picture_to_send(path, None, 60_000)
    assert len(found.base64) * 3 / 4 <= 60_000
    assert found.pixels < 300 * 200
    with pytest.raises(ModelError, match="cannot be made as small as 100 bytes"):
        picture_to_send(path, None, 100)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    with pytest.raises(ModelError, match=r"broken\.png is not a picture"):
        picture_to_send(tmp_path / "broken.png", None, None)


def test_keys_come_from_the_environment_and_are_never_shown(
    embedder_of: Any, server: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = embedder_of("voyage")
    embedder.check_presence()
    monkeypatch.setenv("EMBEDDER_KEY", "another-key-0123456789")
    with pytest.raises(
        ModelError, match="refuses the key: set the environment variable EMBEDDER_KEY"
    ) as caught:
        embedder.embed_questions(["a"])
    assert "another-key" not in str(caught.value)
    assert "another-key" not in str(embedder.identity())
    monkeypatch.setenv("EMBEDDER_KEY", KEY)
    for api in APIS:
        server.steps = [Fails(400, f"no model for Bearer {KEY}")]
        with pytest.raises(ModelError, match="no model for") as caught:
            embedder_of(api).embed_questions(["a"])
        assert KEY not in str(caught.value)
    monkeypatch.delenv("EMBEDDER_KEY")
    for api in APIS:
        with pytest.raises(ConfigError, match="EMBEDDER_KEY is not set"):
            embedder_of(api).check_presence()
    with pytest.raises(ValidationError, match="must be the name of an environment variable"):
        embedder_of("voyage", api_key_env="pa-0123456789abcdefghijklmnop")


def test_a_server_of_ones_own_needs_no_key_and_is_checked(embedder_of: Any, server: Embeddings) -> None:
    server.key = None
    embedder_of("vllm", api_key_env=None).check_presence()
    with pytest.raises(ServerError, match="has no model 'mm'"):
        embedder_of("vllm", api_key_env=None, model="mm").check_presence()
    with pytest.raises(ServerError, match="no server at"):
        embedder_of("vllm", api_key_env=None).model_copy(
            update={"base_url": "http://127.0.0.1:9/v1"}
        ).check_presence()
    embedder_of("cohere", api_key_env=None).check_presence()


def test_only_what_changes_vectors_is_their_identity(embedder_of: Any) -> None:
    embedder = embedder_of("cohere")
    same = {"batch_size": 1, "max_megabytes": 1, "max_concurrency": 9, "price": {"image": 1, "text": 1}}
    assert embedder_of("cohere", **same, api_key_env=None).identity() == embedder.identity()
    for option in ({"max_pixels": 10_000}, {"dimension": 256}, {"model": "m"}):
        assert embedder_of("cohere", **option).identity() != embedder.identity()


def test_a_question_has_the_list_price_and_a_picture_none(embedder_of: Any) -> None:
    """`embed-v4.0` costs 0.12 dollars a million tokens of text; no list has the price of pictures."""
    embedder = embedder_of("cohere").model_copy(update={"base_url": "https://api.cohere.com/v2"})
    assert embedder._cost(1_000_000, is_text=True) == pytest.approx(0.12)
    assert embedder._cost(1_000_000, is_text=False) is None
    assert embedder._cost(None, is_text=True) is None
    how = EmbeddingCalls()
    how.add(1, 10, 0.5)
    how.add(2, None, None)
    assert how.report() == {"calls": 2, "tokens": None, "cost": None}
