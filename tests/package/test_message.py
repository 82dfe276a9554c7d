"""Messages of ordered parts: how they are made, stored and read, also by and from earlier versions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from fathoms.models import ScriptedModel
from fathoms.models.caching import ReplyCache
from fathoms.runs.cache import Cache
from fathoms.types import Attachment, FilePart, ImagePart, Message, Prompt, TextPart
from fathoms.types.run.rows import ShownMessage

FILE = Attachment(document="a.pdf", pages=(1, 2), path=Path("files/a.pdf"), sha256="ab" * 32, size=12)
STORED_BEFORE = (
    '{"role":"user","text":"What is it?","images":["p.png"],"files":[{"document":"a.pdf","pages":[1,2],'
    f'"path":"files/a.pdf","sha256":"{FILE.sha256}","size":12}}]}}'
)
"""What the version before messages had parts stored of `USUAL`."""
USUAL = Message(role="user", text="What is it?", images=(Path("p.png"),), files=(FILE,))
OTHER = Message(
    role="user",
    parts=(
        TextPart(text="This:"),
        ImagePart(image=Path("p.png")),
        FilePart(file=FILE),
        TextPart(text="What is it?"),
    ),
)


def test_text_images_and_files_are_put_into_the_usual_order() -> None:
    assert USUAL.parts == (
        FilePart(file=FILE),
        ImagePart(image=Path("p.png")),
        TextPart(text="What is it?"),
    )
    assert (USUAL.text, USUAL.images, USUAL.files) == ("What is it?", (Path("p.png"),), (FILE,))


def test_what_earlier_versions_stored_is_read_and_stored_as_before() -> None:
    assert Message.model_validate_json(STORED_BEFORE) == USUAL
    assert USUAL.model_dump_json() == STORED_BEFORE


def test_the_journal_leaves_out_empty_lists_as_before() -> None:
    message = Message(role="system", text="Be brief.")
    assert message.model_dump(mode="json", exclude_defaults=True) == {"role": "system", "text": "Be brief."}


@pytest.mark.parametrize("exclude_defaults", [False, True])
@pytest.mark.parametrize(
    "message",
    [
        OTHER,
        Message(role="user", parts=(ImagePart(image=Path("p.png")),)),
        Message(role="user", parts=(TextPart(text="a"), TextPart(text="b"))),
        Message(role="user", text="What?", parts=OTHER.parts),
    ],
)
def test_every_other_order_is_kept(message: Message, exclude_defaults: bool) -> None:
    prompt = Prompt(messages=(message,))
    stored = prompt.model_dump_json(exclude_defaults=exclude_defaults)
    assert Prompt.model_validate_json(stored) == prompt


def test_earlier_versions_read_another_order_without_the_order() -> None:
    """They take the text, the images and the files, and ignore the key that they do not know."""
    stored = OTHER.model_dump(mode="json")
    shown = ShownMessage.model_validate(stored)
    assert (shown.text, shown.images) == ("This:\nWhat is it?", ("p.png",))
    assert [file.document for file in shown.files] == ["a.pdf"]
    assert [part["kind"] for part in stored["parts"]] == ["text", "image", "file", "text"]


@pytest.mark.parametrize(
    "data",
    [
        {"role": "user"},
        {"role": "user", "parts": []},
        {"role": "user", "text": None},
        {"role": "user", "text": "a", "images": 5},
        {"role": "user", "text": "a", "files": {"a": 1}},
        {"role": "user", "parts": [{"kind": "sound"}]},
        {"text": "a"},
        5,
    ],
)
def test_damaged_messages_are_refused(data: Any) -> None:
    with pytest.raises(ValidationError):
        Message.model_validate(data)


@pytest.fixture
def replies(tmp_path: Path) -> ReplyCache:
    return ReplyCache(Cache(tmp_path / "cache"))


def shown(picture: Path) -> Message:
    """The message in the usual order, with a picture that exists."""
    return Message(role="user", text="What is it?", images=(picture,), files=(FILE,))


def test_replies_in_older_caches_are_found(replies: ReplyCache, tmp_path: Path) -> None:
    """The keys are those of the version before messages had parts."""
    picture = tmp_path / "p.png"
    picture.write_bytes(b"picture")
    messages = (Message(role="system", text="Be brief."), shown(picture))
    assert replies.key(ScriptedModel(), Prompt(messages=messages), 0) == "8aa0d15ef865abbfbe38db5688a857a9"
    plain = Prompt(messages=(Message(role="user", text="hi"),))
    assert replies.key(ScriptedModel(), plain, 1) == "bd385b80ec736d7ba5c928034f78c0e7"


def test_the_order_and_the_contents_are_in_the_key(replies: ReplyCache, tmp_path: Path) -> None:
    red, blue = tmp_path / "red.png", tmp_path / "blue.png"
    for path in (red, blue):
        path.write_bytes(path.stem.encode())

    def key(*parts: TextPart | ImagePart | FilePart) -> str:
        return replies.key(ScriptedModel(), Prompt(messages=(Message(role="user", parts=parts),)), 0)

    text, one, two, file = (
        TextPart(text="?"),
        ImagePart(image=red),
        ImagePart(image=blue),
        FilePart(file=FILE),
    )
    orders = [(file, one, text), (text, one, file), (text, file, one), (one, text, file), (text, two, file)]
    assert len({key(*order) for order in orders}) == len(orders)
    other = FilePart(file=FILE.model_copy(update={"sha256": "cd" * 32}))
    assert key(text, one, file) != key(text, one, other)
    assert key(text, one) != key(TextPart(text="!"), one)
