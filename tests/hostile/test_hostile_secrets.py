"""A key is planted, a server repeats it in every field and form, and everything written is searched."""

from __future__ import annotations

import base64
import html
import json
import socket
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ConfigError
from fathoms.experiment import load_experiment
from fathoms.safety.masking import Mask, is_key_in_path, without_logins
from tests.support import faulty
from tests.support.project import Project
from tests.support.raw_service import answer, sends, service

KEY = "sk-planted/7Q+x9Zk2=vW4&mB8~Jt6%Rd3"


def forms(key: str) -> dict[str, str]:
    """How a server may write a key."""
    url = urllib.parse.quote(key, safe="")
    found = {
        "plain": key,
        "json": json.dumps(key),
        "json in json": json.dumps(json.dumps(key)),
        "address": url,
        "address twice": urllib.parse.quote(url, safe=""),
        "html": html.escape(key),
        "html twice": html.escape(html.escape(key)),
        "entities": "".join(f"&#{ord(letter)};" for letter in key),
        "hex entities": "".join(f"&#x{ord(letter):X};" for letter in key),
        "escapes": "".join(f"\\u{ord(letter):04x}" for letter in key),
        "bytes": "".join(f"\\x{ord(letter):02x}" for letter in key),
        "zero width": "\u200b".join(key),
        "control": "\x1b".join(key),
        "joiners": "\u2060\u200d".join(key),
        "hex": key.encode().hex(),
        "octal": "".join(f"\\{ord(letter):03o}" for letter in key),
        "octal with a zero": "".join(f"\\0{ord(letter):03o}" for letter in key),
        "braces": "".join(f"\\u{{{ord(letter):x}}}" for letter in key),
        "long escapes": "".join(f"\\U{ord(letter):08x}" for letter in key),
        "full width": "".join(chr(ord(letter) + 0xFEE0) for letter in key),
        "other dashes": key.replace("-", "\u2011"),
        "minus": key.replace("-", "\u2212"),
        "hyphens between": "-".join(key.replace("-", "")).replace("s-k-p", "s-k--p"),
        "hyphens in groups": f"{key[:9]}-{key[9:18]}-{key[18:]}",
    }
    for shift in range(5):
        found[f"base32 {shift}"] = base64.b32encode(b"user:"[:shift] + key.encode()).decode()
        found[f"base32 in lower case {shift}"] = (
            base64.b32encode(b"user:"[:shift] + key.encode()).decode().lower()
        )
    for before, between in ((b"", b""), (b"u", b"a "), (b"u:", b"ab")):
        inner = base64.b64encode(before + key.encode())
        found[f"base64 twice {len(before)}"] = base64.b64encode(between + inner).decode()
    for shift, before in enumerate((b"", b"u", b"u:", b"user:")):
        found[f"base64 {shift}"] = base64.b64encode(before + key.encode()).decode()
        found[f"url-safe base64 {shift}"] = base64.urlsafe_b64encode(before + key.encode() + b"tail").decode()
    return found


def test_every_form_is_masked() -> None:
    mask = Mask([KEY])
    for name, form in forms(KEY).items():
        said = mask.text(f"it is {form} then")
        assert "***" in said, name
        assert len(said) < len("it is  then") + 18, (name, said)


def test_ordinary_texts_stay() -> None:
    mask = Mask([KEY])
    for text in ("a\\b%41&amp; \u00e4\u200b", "sk-plant", KEY[:20], ""):
        assert mask.text(text) == text


def test_logins_and_parameters() -> None:
    for text, clean in {
        "http://u:p@h/x": "http://***@h/x",
        "http://u@x:p@h/x": "http://***@h/x",
        "http://h/x?sig=abc&a=b": "http://h/x?sig=***&a=b",
        "http://h/x?code=abc": "http://h/x?code=***",
        "http://h:80/a@b": "http://h:80/a@b",
        "x = y ? a : b & c": "x = y ? a : b & c",
    }.items():
        assert without_logins(text) == clean
    assert is_key_in_path(f"http://h/{'sk-live-0123456789abcdef'}/chat")
    assert not is_key_in_path("http://h/v1/projects/123e4567-e89b-12d3-a456-426614174000")


PASTED = "sk-live-0123456789abcdefABCDEF"
MODEL = 'generate: {{kind: openai-compatible, model: m, base_url: "{0}", {1}}}\nretrieve: {{kind: none}}\n'
HTTP = 'pipeline: {{kind: http, url: "{0}", {1}}}\n'


PASTED_IN = [
    (MODEL, "http://127.0.0.1:9", f"api_key_env: {PASTED}"),
    (MODEL, "http://127.0.0.1:9", "api_key_env: 0123456789abcdefABCDEF0123"),
    (MODEL, f"user:{PASTED}@127.0.0.1", ""),
    (MODEL, "user:hunter2hunter2@127.0.0.1", ""),
    (MODEL, f"http://127.0.0.1:9/{PASTED}", ""),
    (MODEL, "http://127.0.0.1:9/?sig=hunter2hunter2", ""),
    (HTTP, "http://127.0.0.1:9/?code=hunter2hunter2", ""),
    (HTTP, "http://127.0.0.1:9/", "headers: {X-Auth: hunter2hunter2}"),
    (HTTP, "http://127.0.0.1:9/", f"headers: {{X-Own: {PASTED}}}"),
    (HTTP, "http://127.0.0.1:9/", f"method: {PASTED}"),
    (HTTP, "http://127.0.0.1:9/", f"timeout: {PASTED}"),
]


def test_a_pasted_key_is_refused_and_not_repeated(tmp_path: Path) -> None:
    for template, address, more in PASTED_IN:
        config = tmp_path / "faulty.yaml"
        own = template.format(address, more)
        config.write_text("data: {questions: questions.json, documents: pdfs}\n" + own)
        with pytest.raises(ConfigError) as raised:
            load_experiment(config)
        for secret in (PASTED, "hunter2hunter2", "0123456789abcdefABCDEF"):
            assert secret not in str(raised.value), (address, more)


def written(project: Project) -> dict[str, str]:
    """Every file of a project but the one the key was planted in, by name, invisible characters taken out."""
    return {
        str(path.relative_to(project.path)): data.decode("utf-8", "replace").replace("\u200b", "")
        for path in project.path.rglob("*")
        if path.is_file() and path.name != ".env"
        for data in faulty.contents(path)
    }


@pytest.mark.slow
def test_no_field_of_a_server_brings_the_key_into_a_file(tmp_path: Path) -> None:
    """In every field of a reply, answered and refused, then through every command that shows it."""
    zero_width = "\u200b".join(KEY)
    replies = [
        answer(
            {
                "model": KEY,
                "id": KEY,
                "choices": [{"message": {"content": f"It is {zero_width}."}, "finish_reason": KEY}],
            }
        ),
        answer({"error": {"message": {"a": KEY}, "code": KEY, "type": [KEY]}}, "400 Bad"),
        answer({"model": {"a": KEY}, "choices": [{"message": {"content": {"a": KEY}}}]}),
        f"HTTP/1.1 200{KEY}\r\n\r\n".encode(),
    ]
    texts = [f"What of <{number}>?" for number in range(len(replies))]
    project = faulty.faulty_project(tmp_path, texts)
    project.write(".env", f"MY_OWN_KEY='{KEY}'\n")

    def act(connection: socket.socket, sent: Any) -> None:
        if sent is None:
            sends(answer({"data": [{"id": "scripted"}, {"id": KEY}, {"id": {"a": KEY}}]}))(connection, sent)
            return
        number = next(number for number, text in enumerate(texts) if text in json.dumps(sent))
        sends(replies[number])(connection, sent)

    with service(act) as server:
        config = faulty.config("openai-compatible", server.address, more="api_key_env: MY_OWN_KEY,")
        project.write("faulty.yaml", config)
        run = ["--debug", "run", "faulty.yaml", "--log-file", "log.jsonl", "--junit", "junit.xml"]
        no_model = ["--debug", "run", "faulty.yaml", "--set", "generate.model=other"]
        commands = [run, ["score"], ["report"], ["show"], ["ls", "--json"], no_model]
        said = [project.fathoms(*command) for command in commands]
    assert all(KEY in head for head, _ in server.requests)
    assert faulty.summary(project.runs()[0])["counts"]["errors"] == len(replies) - 1
    outputs = {f"output {place}": done.stdout + done.stderr for place, done in enumerate(said)}
    for name, text in {**written(project), **outputs}.items():
        for form in (KEY, KEY[: len(KEY) // 2], KEY[len(KEY) // 2 :]):
            assert form not in text, name
