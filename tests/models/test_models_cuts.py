"""The lower bound of tokens holds for real tokenizers, and proves real cuts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.models import Embedded
from fathoms.models.chat.cuts import fewest_tokens, prompt_cut
from fathoms.types import Message, Prompt, Usage

TEXTS = [
    "It doesn't matter: state-of-the-art (SOTA) models score 41.5% in 2023; see v1.2, mp3, e.g. [12].",
    "| ore | 17 crowns |\n|---|---|\n| tin | 3,200.50 |",
    "def main(argv): return {'a_b': argv[0x1F]}  # snake_case and camelCase",
    "Größe 12 µm, naïve café, 東京タワー 🙂 हिन्दी में लिखा हुआ पाठ",
    "<h2>Title</h2> \\begin{table} $\\alpha_{12}$ a" + " " * 40 + "b\n\n\n\tc",
]


def messages(text: str) -> tuple[Message, ...]:
    return (Message(role="user", text=text),)


@pytest.mark.parametrize(
    ("text", "fewest"),
    [("", 0), ("one two", 2), ("don't", 1), ("v1.2", 3), ("state-of-the-art", 4), ("größe12", 1), ("...", 1)],
)
def test_known_bounds(text: str, fewest: int) -> None:
    assert fewest_tokens(messages(text)) == fewest
    assert fewest_tokens([*messages(text), *messages("two more")]) == fewest + 2


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_no_real_tokenizer_needs_fewer(text: str) -> None:
    """OpenAI's cl100k, which comes with LlamaIndex."""
    core = pytest.importorskip("llama_index.core.utils")
    assert fewest_tokens(messages(text)) <= len(core.get_tokenizer()(text))


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
def test_the_small_model_needs_no_fewer(smollm: Embedded, text: str) -> None:
    bare = smollm.count_tokens(messages("")) or 0
    assert fewest_tokens(messages(text)) <= (smollm.count_tokens(messages(text)) or 0) - bare


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=200))
def test_no_real_tokenizer_needs_fewer_for_any_ascii(text: str) -> None:
    core = pytest.importorskip("llama_index.core.utils")
    assert fewest_tokens(messages(text)) <= len(core.get_tokenizer()(text))


@pytest.mark.parametrize(
    ("counted", "read", "written", "n_ctx", "cut"),
    [
        (None, None, None, 100, None),  # the server says nothing
        (None, 0, 5, 100, None),
        (None, 20, 5, None, None),  # it may all be there
        (None, 9, 5, None, True),  # ten words were sent
        (None, 100, 0, 100, True),  # full to the brim
        (None, 90, 11, 100, True),  # the beginning went while the reply was written
        (None, 90, 10, 100, None),
        (20, 20, 5, 100, False),
        (20, 19, 5, 100, True),
    ],
)
def test_prompt_cut_follows_from_the_token_counts(
    counted: int | None, read: int | None, written: int | None, n_ctx: int | None, cut: bool | None
) -> None:
    prompt = Prompt(messages=messages("word " * 10), tokens=counted)
    assert prompt_cut(prompt, Usage(prompt_tokens=read, completion_tokens=written), n_ctx) is cut
