"""What every adapter of a closed API must do, against a server that takes only what the vendors' SDKs do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from fathoms.errors import ConfigError, MissingExtraError, ModelError, PromptTooLongError, RateLimitError
from fathoms.models import GoogleLLM, OpenAILLM
from fathoms.models.caller import Caller
from fathoms.models.chat.closed_errors import Fault, quoted, refusal_in
from fathoms.models.protocols import FileLimits
from fathoms.types import Usage
from tests.support.mixed_message import Mixed
from tests.support.packages import skip_without
from tests.support.vendor_clients import APIS, VARIABLE, adapter, answered, prompt, replies_to
from tests.support.vendor_schemas import complaint, unknown_fields
from tests.support.vendor_servers import KEY, Request, Vendors, vendors
from tests.support.vendor_wire import MODELS, STOPS, Breaks, Fails, Said, Step, error_body, event

pytestmark = pytest.mark.slow  # three SDKs and their servers

skip_without("anthropic", "google.genai", "openai")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    monkeypatch.setenv(VARIABLE, KEY)
    with vendors() as running:
        yield running


@pytest.fixture
def pdfs(root: Path) -> list[Path]:
    return sorted((root / "data" / "sample").glob("*.pdf"))


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def every(*steps: Step) -> Any:
    """A script that plays its steps in order, and the last one from then on."""
    left = list(steps)
    return lambda wanted: left.pop(0) if len(left) > 1 else left[0]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("anthropic", {"model": "m", "max_tokens": 1, "messages": [], "zzz": 1}, "zzz"),
    ("anthropic", {"model": "m", "messages": []}, "max_tokens"),
    (
        "anthropic",
        {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "document"}]}]},
        "source",
    ),
    (
        "anthropic",
        {
            "model": "m",
            "max_tokens": 1,
            "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "zzz": 1}]}],
        },
        "zzz",
    ),
    ("chat", {"model": "m", "messages": [], "zzz": 1}, "zzz"),
    (
        "chat",
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "file", "file": {"x": 1}}]}]},
        "x",
    ),
    ("responses", {"model": "m", "input": [], "zzz": 1}, "zzz"),
    ("responses", {"model": "m", "input": [], "seed": 1}, "seed"),
    ("google", {"contents": [{"parts": [{"text": "x", "zzz": 1}]}]}, "zzz"),
    ("google", {"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"maxTokens": 1}}, "maxTokens"),
    ("google", {"contents": [{"parts": [{"text": "x"}]}], "zzz": 1}, "zzz"),
    ("google", {}, "contents"),
]


@pytest.mark.parametrize(("api", "body", "word"), WRONG)
def test_the_server_refuses_what_no_vendor_takes(api: str, body: dict[str, Any], word: str) -> None:
    assert word in str(complaint(api, body))


def test_the_server_refuses_forms_with_unknown_fields() -> None:
    assert unknown_fields("openai", {"file", "purpose", "expires_after[seconds]"}) is None
    assert unknown_fields("openai", {"file", "expires"})
    assert unknown_fields("anthropic", {"expires_in_seconds"})


@pytest.mark.parametrize("api", APIS)
def test_a_reply(api: str, server: Vendors, stream: bool) -> None:
    model = adapter(api, server, stream=stream, max_tokens=50, temperature=0.5, top_p=0.9)
    reply = answered(model, prompt("How tall?", system="Be brief."))
    assert (reply.text, reply.reasoning, reply.refusal) == ("42", "", None)
    assert (reply.stop_reason, reply.model) == (STOPS[api], MODELS[api])
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 3)
    assert reply.latency is not None
    assert (reply.first_token is not None and 0 < reply.first_token <= reply.latency) is stream
    (seen,) = server.asked
    assert seen.text == "How tall?"
    assert "Be brief." in str(seen.body)
    assert server.connections == {"close": 1}


@pytest.mark.slow
@pytest.mark.parametrize("attach", ["inline", "upload"])
@pytest.mark.parametrize("api", APIS)
def test_what_is_attached_are_the_bytes_on_disk(
    api: str, attach: str, server: Vendors, pdfs: list[Path], picture: Path, stream: bool
) -> None:
    model = adapter(api, server, attach=attach, stream=stream)
    reply = answered(model, prompt("And?", files=pdfs, images=[picture]))
    (seen,) = server.asked
    assert reply.text == "42"
    assert seen.files == tuple(path.read_bytes() for path in pdfs)
    assert seen.images == (picture.read_bytes(),)
    assert seen.text == "And?"
    assert len(server.uploads) == (len(pdfs) if attach == "upload" else 0)
    if api != "google" or attach == "upload":  # Google's API has no place for the name of what is inline
        assert list(seen.names) == [path.name for path in pdfs]


@pytest.mark.parametrize("attach", ["inline", "upload"])
@pytest.mark.parametrize("api", APIS)
def test_parts_arrive_in_their_order(api: str, attach: str, server: Vendors, mixed: Mixed) -> None:
    answered(adapter(api, server, attach=attach), mixed.prompt)
    (seen,) = server.asked
    assert seen.parts == mixed.parts


@pytest.mark.parametrize("api", APIS)
def test_a_file_is_uploaded_once(api: str, server: Vendors, pdfs: list[Path]) -> None:
    model = adapter(api, server, attach="upload")
    replies_to(model, *(prompt(f"Question {n}", files=pdfs[:2]) for n in range(4)))
    replies_to(model, prompt("One more", files=pdfs[1:3]))  # another event loop
    assert sorted(data for _, _, data in server.uploads) == sorted(path.read_bytes() for path in pdfs[:3])
    assert [len(seen.files) for seen in server.asked] == [2] * 5
    assert not any(seen.inline for seen in server.asked)


@pytest.mark.parametrize("api", APIS)
def test_a_file_that_is_kept_no_longer_is_uploaded_anew(api: str, server: Vendors, pdfs: list[Path]) -> None:
    model = adapter(api, server, attach="upload")
    server.keeps = 60
    for _ in range(2):
        answered(model, prompt(files=pdfs[:1]))
    assert len(server.uploads) == 2


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_a_file_that_the_vendor_has_lost_is_uploaded_anew(
    api: str, server: Vendors, pdfs: list[Path], stream: bool
) -> None:
    model = adapter(api, server, attach="upload", stream=stream)
    answered(model, prompt(files=pdfs[:2]))
    server.lost = {server.uploads[0][0]}
    assert answered(model, prompt(files=pdfs[:2])).text == "42"
    assert len(server.uploads) == 4
    server.lost = {f"{prefix}{n}" for prefix in ("file_", "file-", "f") for n in range(20)}
    with pytest.raises(ModelError, match=r"(?i)file"):  # once is enough
        answered(model, prompt(files=pdfs[:2]))
    assert len(server.uploads) == 6


def test_what_is_said_of_uploads(server: Vendors, pdfs: list[Path]) -> None:
    for api in APIS:
        answered(adapter(api, server, attach="upload"), prompt(files=pdfs[:1]))
    day = {"expires_after[anchor]": "created_at", "expires_after[seconds]": "86400"}
    anthropic, openai, google = server.forms  # both APIs of OpenAI share their files
    assert anthropic == {"expires_in_seconds": "86400"}
    assert openai == {"purpose": "user_data", **day}
    assert (google["displayName"], google["mimeType"]) == (pdfs[0].name, "application/pdf")


SLOW_DOWN = {
    "anthropic": (429, "This request would exceed your rate limit of 50 requests", "rate_limit_error"),
    "chat": (429, "Rate limit reached for gpt-x: Limit 500, Used 500", "rate_limit_exceeded"),
    "responses": (429, "Rate limit reached for gpt-x: Limit 500, Used 500", "rate_limit_exceeded"),
    "google": (429, "Resource has been exhausted (e.g. check quota).", "RESOURCE_EXHAUSTED"),
}
TOO_LONG = {
    "anthropic": (400, "prompt is too long: 208310 tokens > 200000 maximum", "invalid_request_error"),
    "chat": (
        400,
        "This model's maximum context length is 128000 tokens. However, you requested 300000 tokens.",
        "context_length_exceeded",
    ),
    "responses": (
        400,
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
    ),
    "google": (
        400,
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "INVALID_ARGUMENT",
    ),
}


def fails(api: str, reported: tuple[int, str, str], **headers: str) -> Fails:
    """An error as the vendor words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fails(reported[0], error_body(api, *reported), named)


@pytest.mark.parametrize("api", APIS)
def test_too_many_requests(api: str, server: Vendors, stream: bool) -> None:
    server.script = every(fails(api, SLOW_DOWN[api], retry_after="7"))
    with pytest.raises(RateLimitError, match="answers 429") as caught:
        answered(adapter(api, server, stream=stream), prompt())
    assert (caught.value.status, caught.value.retry_after) == (429, 7.0)
    assert len(server.asked) == 1, "the SDK must not ask again"


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5),
        ({"retry_after": "Fri, 01 Jan 2100 00:00:00 GMT"}, None),
        ({"retry_after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry_after": "soon"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_when_to_come_back(api: str, headers: dict[str, str], seconds: Any, server: Vendors) -> None:
    server.script = every(fails(api, SLOW_DOWN[api], **headers))
    with pytest.raises(RateLimitError) as caught:
        answered(adapter(api, server), prompt())
    wait = caught.value.retry_after
    if seconds is None:
        assert wait is not None
        assert wait > 86_400 * 365
    else:
        assert wait == (None if seconds == "unknown" else seconds)


@pytest.mark.parametrize("api", APIS)
def test_more_than_the_model_takes(api: str, server: Vendors, stream: bool) -> None:
    model = adapter(api, server, stream=stream)
    server.script = every(fails(api, TOO_LONG[api]), fails(api, (413, "Too large", "request_too_large")))
    for status in (400, 413):
        with pytest.raises(PromptTooLongError, match=f"answers {status}") as caught:
            answered(model, prompt())
        assert caught.value.status == status


@pytest.mark.parametrize("api", APIS)
def test_an_error_of_the_server(api: str, server: Vendors, stream: bool) -> None:
    server.script = every(fails(api, (500, "Internal server error", "api_error")))
    with pytest.raises(ModelError, match="answers 500: Internal server error") as caught:
        answered(adapter(api, server, stream=stream), prompt())
    assert type(caught.value) is ModelError
    assert caught.value.status == 500
    assert len(server.asked) == 1


@pytest.mark.parametrize("api", APIS)
def test_a_request_that_the_vendor_does_not_take_says_why(api: str, server: Vendors) -> None:
    server.script = every(
        fails(api, (400, "temperature: is not supported by this model", "invalid_request_error"))
    )
    with pytest.raises(ModelError, match="temperature: is not supported") as caught:
        answered(adapter(api, server), prompt())
    assert type(caught.value) is ModelError


@pytest.mark.parametrize("api", APIS)
def test_a_refused_key(
    api: str, server: Vendors, stream: bool, monkeypatch: pytest.MonkeyPatch, pdfs: list[Path]
) -> None:
    wrong = "sk-wrong-key-abcdef0123456789"
    monkeypatch.setenv(VARIABLE, wrong)
    for attach in ("inline", "upload"):
        with pytest.raises(ModelError, match=f"refuses the key: .*{VARIABLE}") as caught:
            answered(adapter(api, server, stream=stream, attach=attach), prompt(files=pdfs[:1]))
        assert not secrets_in(str(caught.value), wrong, KEY)


@pytest.mark.parametrize("api", APIS)
def test_a_key_without_the_right(api: str, server: Vendors) -> None:
    server.script = every(fails(api, (403, "No access to this model", "permission_error")))
    with pytest.raises(ModelError, match=f"403: No access to this model .*{VARIABLE}") as caught:
        answered(adapter(api, server), prompt())
    assert caught.value.status == 403


def secrets_in(text: str, *keys: str) -> list[str]:
    """The pieces of keys, five characters or longer, that stand in a text."""
    return [key[n : n + 5] for key in keys for n in range(len(key) - 4) if key[n : n + 5] in text]


@pytest.mark.parametrize("api", APIS)
def test_an_error_repeats_neither_key_nor_file(api: str, server: Vendors, pdfs: list[Path]) -> None:
    data = "JVBERi0xLjQK" * 400
    server.script = every(fails(api, (400, f"bad request with {KEY} and {data}: {'why ' * 200}", "invalid")))
    with pytest.raises(ModelError, match="bad request with") as caught:
        answered(adapter(api, server), prompt(files=pdfs[:1]))
    message = str(caught.value)
    assert not secrets_in(message, KEY)
    assert "JVBERi0" not in message
    assert len(message) < 500


def test_quoted_masks_the_key_and_cuts_long_text() -> None:
    assert quoted("key sk-ab***********yz is\n  bad", "sk-abcdefghijkl-yz") == "key *** is bad"
    assert quoted("x" * 99, "k") == "x" * 99
    assert quoted("é " * 300, "k") == ("é " * 150) + "..."


@pytest.mark.parametrize("how", ["cut", "reset", "garbage", "html", "empty"])
@pytest.mark.parametrize("api", APIS)
def test_broken_replies_are_model_errors_and_not_retried(
    api: str, how: str, server: Vendors, stream: bool
) -> None:
    server.script = every(Breaks(how))
    with pytest.raises(ModelError, match=r"no connection, or it broke off|does not follow its API") as caught:
        answered(adapter(api, server, stream=stream), prompt())
    assert caught.value.status is None
    assert str(caught.value).startswith(server.address)
    assert len(server.asked) == 1


STREAM_ERRORS = {
    "anthropic": event(error_body("anthropic", 529, "Overloaded", "overloaded_error"), "error"),
    "chat": event(error_body("chat", 429, "Slow down", "rate_limit_exceeded")),
    "responses": event(
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "sequence_number": 3},
        "error",
    ),
    "google": event(error_body("google", 429, "Slow down", "RESOURCE_EXHAUSTED")),
}


@pytest.mark.parametrize("api", APIS)
def test_an_error_within_a_stream_is_no_reply(api: str, server: Vendors) -> None:
    server.script = every(Breaks("error", STREAM_ERRORS[api]))
    with pytest.raises(RateLimitError, match=r"Overloaded|Slow down") as caught:
        answered(adapter(api, server, stream=True), prompt())
    assert caught.value.status in (429, 529)


@pytest.mark.parametrize("api", APIS)
def test_a_silent_server_times_out(api: str, server: Vendors, stream: bool) -> None:
    server.script = every(Breaks("hang"))
    started = time.perf_counter()
    with pytest.raises(ModelError, match=r"sent nothing for 0.5 seconds .*request_timeout"):
        answered(adapter(api, server, stream=stream, request_timeout=0.5), prompt())
    assert time.perf_counter() - started < 30


@pytest.mark.parametrize("api", APIS)
def test_an_unreachable_vendor_is_named(api: str, server: Vendors) -> None:
    model = adapter(api, server).model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(ModelError, match=r"127.0.0.1:9.*no connection.*ConnectError"):
        answered(model, prompt())


@pytest.mark.parametrize("api", APIS)
def test_an_empty_answer_is_empty(api: str, server: Vendors, stream: bool) -> None:
    stops = {"anthropic": "max_tokens", "chat": "length", "responses": "completed", "google": "MAX_TOKENS"}
    server.script = every(Said("", stop=stops[api]))
    reply = answered(adapter(api, server, stream=stream), prompt())
    assert (reply.text, reply.stop_reason, reply.refusal) == ("", stops[api], None)


@pytest.mark.parametrize("api", APIS)
def test_check(api: str, server: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    model = adapter(api, server)
    model.check()
    model.check_images()
    assert model.count_tokens(prompt().messages) is None
    assert model.context_window is None
    for nothing in ("", "  "):
        monkeypatch.setenv(VARIABLE, nothing)
        with pytest.raises(ConfigError, match=f"{VARIABLE} is not set"):
            model.check()
    monkeypatch.setenv(VARIABLE, "Schlüssel-0123456789")
    with pytest.raises(ConfigError, match="holds what no key can be") as caught:
        model.check()
    assert not secrets_in(str(caught.value), "Schlüssel-0123456789")
    assert server.asked == []


class Elsewhere(OpenAILLM):
    """An adapter whose SDK is not installed."""

    packages: ClassVar[tuple[str, ...]] = ("no-such-sdk",)
    module: ClassVar[str] = "no_such_sdk.client"


def test_a_missing_sdk() -> None:
    with pytest.raises(
        MissingExtraError, match=r"needs the package 'no-such-sdk': pip install 'fathoms\[closed\]'"
    ):
        Elsewhere(model="m", api_key_env=VARIABLE).check()


def test_limits(server: Vendors) -> None:
    def limits(api: str, **options: Any) -> FileLimits:
        return adapter(api, server, **options).file_limits

    third = 4 / 3  # base64 makes four bytes of three
    assert limits("anthropic") == FileLimits(100, 32_000_000, 100, third, third)
    assert limits("anthropic", attach="upload") == FileLimits(100, 32_000_000, 100, 0, third)
    assert limits("chat") == limits("responses") == FileLimits(None, 50_000_000, 500, third, third)
    assert limits("chat", attach="upload") == FileLimits(None, 50_000_000, 500, 1, third)
    assert limits("google") == FileLimits(1000, 50_000_000, 3000, third, third)
    assert limits("google", max_pages=3, max_megabytes=None) == FileLimits(3, None, 3000, third, third)


@pytest.mark.parametrize("api", APIS)
def test_other_addresses_are_never_taken_from_the_environment(
    api: str, server: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, "another-key")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    assert answered(adapter(api, server), prompt()).text == "42"
    assert adapter(api, server).model_copy(update={"base_url": None}).address.startswith("https://")


@pytest.mark.parametrize("api", APIS)
def test_identity_holds_the_options_that_decide_the_reply(
    api: str, server: Vendors, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = adapter(api, server)
    same = {"stream": True, "attach": "upload", "max_pages": 3, "max_megabytes": 1.0, "request_timeout": 1.0}
    assert model.model_copy(update={**same, "max_concurrency": 1}).identity() == model.identity()
    for other in (
        {"model": "n"},
        {"base_url": "http://localhost:1"},
        {"temperature": 0.1},
        {"max_tokens": 7},
    ):
        assert model.model_copy(update=other).identity() != model.identity()
    known = model.model_copy(update={"options": {"x": "${FATHOMS_TEST_OPTION}"}})
    monkeypatch.setenv("FATHOMS_TEST_OPTION", "one")
    before = known.identity()
    monkeypatch.setenv("FATHOMS_TEST_OPTION", "two")
    assert known.identity() != before


@pytest.mark.parametrize("api", APIS)
def test_options_are_not_for_what_has_its_own(api: str, server: Vendors) -> None:
    with pytest.raises(ValueError, match="'temperature' is not allowed here"):
        adapter(api, server, options={"temperature": 1})
    with pytest.raises(ValueError, match="looks like a secret"):
        adapter(api, server, options={"api_key": "sk-1"})
    missing = adapter(api, server, options={"labels": "${FATHOMS_NO_SUCH}"})
    with pytest.raises(ConfigError, match="FATHOMS_NO_SUCH is not set"):
        missing.check()
    with pytest.raises(ConfigError, match="FATHOMS_NO_SUCH is not set"):
        answered(missing, prompt())


def test_refused_by_a_filter_before_the_model(server: Vendors, stream: bool) -> None:
    fields = {
        "anthropic": ("Output blocked by content filtering policy", "invalid_request_error"),
        "chat": ("Invalid prompt: flagged as potentially violating our usage policy", "invalid_prompt"),
        "responses": ("The response was filtered by the content management policy", "content_filter"),
    }
    words = {"anthropic": "content filter", "chat": "invalid_prompt", "responses": "content_filter"}
    for api, (message, code) in fields.items():
        server.script = every(fails(api, (400, message, code)))
        model = adapter(api, server, stream=stream)
        reply, call = asyncio.run(Caller().reply(model, prompt(), purpose="answer"))
        assert (reply.text, reply.refusal, reply.usage) == ("", words[api], Usage())
        assert call.error is None


def test_a_question_reaches_the_script(server: Vendors) -> None:
    def script(seen: Request) -> Step:
        return Said(f"{seen.api}: {seen.text}")

    server.script = script
    assert [answered(adapter(api, server), prompt("Why?")).text for api in APIS] == [
        f"{a}: Why?" for a in APIS
    ]


@pytest.mark.parametrize("attach", ["inline", "upload"])
@pytest.mark.parametrize("api", APIS)
def test_a_file_that_is_gone_from_the_disk(api: str, attach: str, server: Vendors, tmp_path: Path) -> None:
    path = tmp_path / "gone.pdf"
    path.write_bytes(b"%PDF-1.4 " + f"{api} {attach}".encode())
    question = prompt(files=[path])
    path.unlink()
    with pytest.raises(ModelError, match=r"gone.pdf cannot be attached: No such file"):
        answered(adapter(api, server, attach=attach), question)


@pytest.mark.parametrize("attach", ["inline", "upload"])
@pytest.mark.parametrize("api", APIS)
def test_a_file_that_has_changed_is_not_sent(api: str, attach: str, server: Vendors, tmp_path: Path) -> None:
    path = tmp_path / "changed.pdf"
    path.write_bytes(b"%PDF-1.4 " + f"{api} {attach}".encode())
    question = prompt(files=[path])
    path.write_bytes(b"%PDF-1.4 another")
    with pytest.raises(ModelError, match=r"changed.pdf has changed since it was ingested"):
        answered(adapter(api, server, attach=attach), question)
    assert server.asked == []


def test_an_account_that_is_closed_is_no_refusal_of_a_question(server: Vendors) -> None:
    reported = (403, "Your access was ended for violating our usage policies", "access_terminated")
    server.script = every(fails("chat", reported))
    with pytest.raises(ModelError, match="403: Your access was ended"):
        answered(adapter("chat", server), prompt())


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (Fault("The response was filtered", 400, "content_filter"), "content_filter"),
        (Fault("Output blocked by content filtering policy", 400, "invalid_request_error"), "content filter"),
        (Fault("Your input violates our usage policies", 400, "invalid_request_error"), "content filter"),
        (Fault("Unknown parameter: 'content_filter'.", 400, "unknown_parameter"), None),
        (Fault("'content filter' is not a valid model", 400, "invalid_request_error"), None),
        (Fault("Output blocked by content filtering policy", 500, "api_error"), None),
    ],
)
def test_what_is_a_refusal_and_what_an_error(fault: Fault, word: str | None) -> None:
    assert refusal_in(fault) == word


def test_options_cannot_go_around_the_adapter() -> None:
    with pytest.raises(ValidationError, match="'httpOptions' is not allowed here"):
        GoogleLLM(model="m", options={"httpOptions": {"baseUrl": "http://elsewhere"}})
    with pytest.raises(ValidationError, match="'maxOutputTokens' is not allowed here"):
        GoogleLLM(model="m", options={"maxOutputTokens": 9})
    assert GoogleLLM(model="m", options={"topK": 4}).options == {"topK": 4}


def test_secrets_in_options_stand_in_no_message(server: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "tok-planted-77")
    server.script = every(fails("chat", (400, "no access for tok-planted-77", "invalid_request_error")))
    options = {"metadata": {"access_token": "${OTHER_TOKEN}"}}
    with pytest.raises(ModelError, match=r"no access for \*\*\*"):
        answered(adapter("chat", server, options=options), prompt())
