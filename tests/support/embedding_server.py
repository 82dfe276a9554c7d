"""A server that speaks the APIs by which vendors embed pictures, and takes only what their references allow.

It listens on a real socket, decodes every picture, and answers with vectors that tests can work out by hand:
(width, height) of a picture, and (words, letters) of a text.
"""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Annotated, Any, Literal, NamedTuple

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, ValidationError

KEY = "key-of-an-embedder-0123456789-planted"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Url(_Strict):
    url: str


class _TextPart(_Strict):
    type: Literal["text"]
    text: str = Field(min_length=1)


class _UrlPart(_Strict):
    type: Literal["image_url"]
    image_url: _Url


class _Base64Part(_Strict):
    type: Literal["image_base64"]
    image_base64: str


class _CohereInput(_Strict):
    content: list[_TextPart | _UrlPart] = Field(min_length=1)


class _Cohere(_Strict):
    """docs.cohere.com/v2/reference/embed"""

    model: str
    input_type: Literal["search_document", "search_query", "classification", "clustering", "image"]
    texts: list[Annotated[str, Field(min_length=1)]] | None = Field(default=None, min_length=1, max_length=96)
    images: list[str] | None = Field(default=None, min_length=1, max_length=1)
    inputs: list[_CohereInput] | None = Field(default=None, min_length=1, max_length=96)
    output_dimension: Literal[256, 512, 1024, 1536] | None = None
    embedding_types: list[Literal["float", "int8", "uint8", "binary", "ubinary", "base64"]]

    def given(self) -> list[str]:
        if sum(each is not None for each in (self.texts, self.images, self.inputs)) != 1:
            raise ValueError("exactly one of texts, images and inputs must be given")
        if (self.input_type == "image") != (self.images is not None):
            raise ValueError("input_type image goes with images")
        parts = [one.content[0] for one in self.inputs or []]
        urls = [part.image_url.url for part in parts if isinstance(part, _UrlPart)]
        return [*(self.texts or []), *(self.images or []), *urls]


class _VoyageInput(_Strict):
    content: list[_TextPart | _Base64Part] = Field(min_length=1)


class _Voyage(_Strict):
    """docs.voyageai.com/reference/multimodal-embeddings-api"""

    model: str
    inputs: list[_VoyageInput] = Field(min_length=1, max_length=1000)
    input_type: Literal["query", "document"] | None = None
    truncation: bool = True
    output_dimension: Literal[256, 512, 1024, 2048] | None = None

    def given(self) -> list[str]:
        parts = [one.content[0] for one in self.inputs]
        return [part.text if isinstance(part, _TextPart) else part.image_base64 for part in parts]


class _JinaText(_Strict):
    text: str = Field(min_length=1)


class _JinaImage(_Strict):
    image: str


class _Jina(_Strict):
    """api.jina.ai/openapi.json"""

    model: str
    input: list[_JinaText | _JinaImage] = Field(min_length=1, max_length=512)
    task: Literal["retrieval.query", "retrieval.passage", "text-matching"] | None = None
    dimensions: int | None = None
    embedding_type: Literal["float", "base64", "binary", "ubinary"] = "float"
    return_multivector: bool = False

    def given(self) -> list[str]:
        return [each.text if isinstance(each, _JinaText) else f"data:,{each.image}" for each in self.input]


class _Message(_Strict):
    role: Literal["system", "user"]
    content: list[_TextPart | _UrlPart]


class _Chat(_Strict):
    """vLLM: one chat is one input."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None

    def given(self) -> list[str]:
        part = self.messages[-1].content[0]
        return [part.text if isinstance(part, _TextPart) else part.image_url.url]


class _Pooling(_Strict):
    """vLLM: the vectors of all tokens of one chat."""

    model: str
    messages: list[_Message] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] = "float"
    task: Literal["token_embed"] | None = None

    given = _Chat.given


class _Infinity(_Strict):
    """Infinity: data URLs stand in the place of texts."""

    model: str
    input: list[Annotated[str, Field(min_length=1)]] = Field(min_length=1, max_length=2048)
    encoding_format: Literal["float", "base64"] = "float"
    modality: Literal["text", "image", "audio"] = "text"
    dimensions: int | None = None

    def given(self) -> list[str]:
        if any(each.startswith("data:") for each in self.input) != (self.modality == "image"):
            raise ValueError("data URLs need modality image")
        return self.input


PATHS: dict[str, tuple[str, type[Any]]] = {
    "/cohere/v2/embed": ("cohere", _Cohere),
    "/voyage/v1/multimodalembeddings": ("voyage", _Voyage),
    "/jina/v1/embeddings": ("jina", _Jina),
    "/vllm/v1/embeddings": ("openai", _Chat),
    "/vllm/pooling": ("pooling", _Pooling),
    "/infinity/v1/embeddings": ("openai", _Infinity),
}


class Fails(NamedTuple):
    """An error that is answered in the place of vectors, with headers as pairs."""

    status: int
    message: str = "no"
    headers: tuple[tuple[str, str], ...] = ()


Step = Fails | Callable[[dict[str, Any]], Any] | None
"""What happens to an answer: it fails, is changed, or stays as it is."""


@dataclass
class Embeddings:
    """The server: its address, every request with its time, what it was given, and what it does next."""

    address: str
    bodies: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    given: list[list[str]] = field(default_factory=list)
    sizes: list[tuple[int, int]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    key: str | None = KEY
    refuses: str | None = None
    """A text that it refuses with 400 whenever it is among the inputs."""
    lock: Lock = field(default_factory=Lock)


def _vector(server: Embeddings, given: str) -> list[float]:
    """The numbers of one input."""
    if not given.startswith("data:"):
        return [float(len(given.split())), float(len(given))]
    with Image.open(io.BytesIO(base64.b64decode(given.partition(",")[2], validate=True))) as picture:
        server.sizes.append(picture.size)
        return [float(picture.width), float(picture.height)]


def _answer(api: str, body: Any, vectors: list[list[float]], texts: int) -> dict[str, Any]:
    """The reply in the form of the API. A text takes 10 tokens and a picture 1,000."""
    tokens = 10 * texts + 1000 * (len(vectors) - texts)
    if api == "cohere":
        billed = {"input_tokens": tokens} if texts else {"image_tokens": tokens, "input_tokens": 0}
        meta = {"api_version": {"version": "2"}, "billed_units": billed}
        return {"id": "1", "embeddings": {"float": vectors}, "texts": [], "meta": meta}
    many = api == "pooling" or getattr(body, "return_multivector", False)
    field_of = "data" if api == "pooling" else "embeddings" if many else "embedding"
    rows = [
        {"object": "embedding", "index": at, field_of: [vector, vector[::-1]] if many else vector}
        for at, vector in enumerate(vectors)
    ]
    rows.reverse()  # the index says which is which
    usage = {"total_tokens": tokens}
    if api in ("openai", "pooling"):
        usage["prompt_tokens"] = tokens
    if api == "voyage":
        usage |= {"text_tokens": 10 * texts, "image_pixels": 560_000 * (len(vectors) - texts)}
    return {"object": "list", "data": rows, "model": body.model, "usage": usage}


def _refusal(api: str, status: int, message: str) -> dict[str, Any]:
    """An error as the vendor sends it."""
    if api == "cohere":
        return {"id": "1", "message": message}
    if api in ("openai", "pooling"):
        return {"object": "error", "message": message, "type": "BadRequestError", "code": status}
    return {"detail": message}


def _replied(
    server: Embeddings, path: str, key: str | None, content: bytes
) -> tuple[int, dict[str, str], Any]:
    """The status, the headers and the body of the reply to a request."""
    if path not in PATHS:
        return 404, {}, {"detail": "Not Found"}
    api, form = PATHS[path]
    if server.key is not None and key != f"Bearer {server.key}":
        return 401, {}, _refusal(api, 401, f"invalid key {key}")
    raw = json.loads(content)
    with server.lock:
        server.bodies.append(raw)
        server.times.append(time.monotonic())
        step = server.steps.pop(0) if server.steps else None
        if isinstance(step, Fails):
            return step.status, dict(step.headers), _refusal(api, step.status, step.message)
        try:
            body = form.model_validate(raw)
            given = body.given()
        except (ValidationError, ValueError) as error:
            return 422 if api == "jina" else 400, {}, _refusal(api, 400, " ".join(str(error).split()))
        if server.refuses in given:
            return 400, {}, _refusal(api, 400, "refused")
        server.given.append(given)
        vectors = [_vector(server, each) for each in given]
    texts = sum(not each.startswith("data:") for each in given)
    answer = _answer(api, body, vectors, texts)
    return 200, {}, answer if step is None else step(answer)


@contextmanager
def embeddings(port: int = 0) -> Iterator[Embeddings]:
    """A running server, at any free port unless one is named."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            self._send(*_replied(server, self.path, self.headers.get("Authorization"), content))

        def do_GET(self) -> None:
            listed = {"object": "list", "data": [{"id": "m", "object": "model"}]}
            known = self.path.endswith("/models")
            self._send(200 if known else 404, {}, listed if known else {"detail": "Not Found"})

        def _send(self, status: int, headers: dict[str, str], answer: Any) -> None:
            said = json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as listener:
        listener.daemon_threads = True
        server = Embeddings(f"http://127.0.0.1:{listener.server_port}")
        Thread(target=listener.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server
        finally:
            listener.shutdown()
