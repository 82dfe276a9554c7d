"""Packing within a budget, with a counter that can be checked by hand: one token a character."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fathoms.errors import ModelError
from fathoms.pipeline.prompt import PromptBuilder, shipped
from fathoms.types import Chunk, Hit, Message, Question, TextPart

BUILDER = PromptBuilder(system="", user="{context}|{question}", chunk="{text}", separator="\n")


def hit(text: str, rank: int = 1) -> Hit:
    return Hit(chunk=Chunk(id=f"c{rank}", document="d.pdf", pages=(2, 3), text=text), score=1.0, rank=rank)


def question(text: str = "why?") -> Question:
    return Question(id="q", text=text, category="c", files=("a.pdf", "b.pdf"))


def characters(messages: Sequence[Message]) -> int:
    return sum(len(message.text) for message in messages)


def test_all_fits() -> None:
    prompt = BUILDER.draft(question(), [hit("aaaa"), hit("bb", 2)]).fit(characters, 100)
    assert prompt.messages == (Message(role="user", text="aaaa\nbb|why?"),)
    assert (prompt.context, prompt.cuts, prompt.tokens, prompt.budget) == ("aaaa\nbb", (), 12, 100)


def test_the_last_chunk_is_shortened_and_the_loss_recorded() -> None:
    prompt = BUILDER.draft(question(), [hit("aaaa"), hit("bbbb", 2), hit("cc", 3)]).fit(characters, 12)
    assert prompt.context == "aaaa\nbb"
    assert [(cut.chunk, cut.dropped, cut.length) for cut in prompt.cuts] == [("c2", 2, 4), ("c3", 2, 2)]
    assert prompt.tokens == 12


def test_no_room_for_context() -> None:
    prompt = BUILDER.draft(question(), [hit("aaaa")]).fit(characters, 5)
    assert (prompt.context, prompt.cuts[0].dropped) == ("", 4)


def test_a_chunk_is_numbered_for_citations() -> None:
    builder = PromptBuilder(
        user="{context}|{question}", chunk="[{rank}] {document} {page} of {pages}: {text}"
    )
    unplaced = Hit(chunk=Chunk(id="x", document="e.pdf", pages=(), text="bb"), score=0.5, rank=2)
    prompt = builder.draft(question(), [hit("aaaa"), unplaced]).fit(characters, None)
    assert prompt.context == "[1] d.pdf 2 of 2, 3: aaaa\n\n[2] e.pdf  of : bb"


def test_the_template_for_citations_shows_the_numbers_that_are_cited() -> None:
    prompt = (
        PromptBuilder(template="cited").draft(question(), [hit("aaaa"), hit("bb", 2)]).fit(characters, None)
    )
    assert prompt.context == "[1] d.pdf, page 2, 3\naaaa\n\n[2] d.pdf, page 2, 3\nbb"


def test_a_question_that_does_not_fit_alone() -> None:
    with pytest.raises(ModelError, match=r"question q alone takes 5 tokens and the model leaves 4"):
        BUILDER.draft(question(), [hit("aaaa")]).fit(characters, 4)


def test_without_a_token_counter_nothing_is_cut() -> None:
    prompt = BUILDER.draft(question(), [hit("a" * 1000)]).fit(lambda messages: None, None)
    assert (len(prompt.context), prompt.tokens, prompt.budget) == (1000, None, None)


def test_braces_in_a_document_are_text() -> None:
    prompt = BUILDER.draft(question("{context}?"), [hit("{question} {0} {}")]).fit(characters, 100)
    assert prompt.messages[0].text == "{question} {0} {}|{context}?"


def test_the_shipped_default_puts_the_question_last() -> None:
    prompt = PromptBuilder().draft(question(), [hit("Facts.")]).fit(characters, None)
    assert [message.role for message in prompt.messages] == ["system", "user"]
    assert "[d.pdf, page 2, 3]\nFacts." in prompt.messages[1].text
    assert prompt.messages[1].text.endswith("Question: why?\nAnswer:")


def test_closed_book_packs_nothing() -> None:
    prompt = PromptBuilder(template="closed-book").draft(question(), [hit("Facts.")]).fit(characters, 1000)
    assert (prompt.context, prompt.cuts) == ("", ())
    assert "Facts" not in prompt.messages[1].text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template": "defalt"}, "did you mean 'default'"),
        ({"user": "{contxt} {question}"}, "did you mean 'context'"),
        ({"user": "{context}"}, "must contain {question}"),
        ({"chunk": "{title}"}, "cannot contain '{title}'"),
        ({"user": "{context}{context}{question}", "pictures": "beside"}, "{context} only once"),
        ({"user": "{context}{context}{question}", "template": "pages-and-images"}, "{context} only once"),
    ],
)
def test_bad_templates(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PromptBuilder(**options)


def test_identity_is_the_text_not_the_name() -> None:
    default = shipped()["default"]
    same = PromptBuilder(system=default.system, user=default.user)
    assert same.identity() == PromptBuilder().identity()
    assert PromptBuilder(system="x").identity() != PromptBuilder().identity()


@given(
    texts=st.lists(st.text("abc ", min_size=1, max_size=30), max_size=6),
    budget=st.integers(min_value=5, max_value=120),
)
def test_it_always_fits_and_never_invents(texts: list[str], budget: int) -> None:
    hits = [hit(text, rank) for rank, text in enumerate(texts, start=1)]
    prompt = BUILDER.draft(question(), hits).fit(characters, budget)
    assert characters(prompt.messages) <= budget
    assert "\n".join(texts).startswith(prompt.context)
    assert sum(cut.dropped for cut in prompt.cuts) <= sum(map(len, texts))


def test_what_retrieval_cut_off_is_a_cut_too() -> None:
    """By hand: 6 of 10 characters came, of which the budget leaves 4."""
    chunk = Chunk(id="c1", document="d.pdf", pages=(1,), text="abcdef", dropped=4)
    hits = [Hit(chunk=chunk, score=1.0, rank=1)]
    whole = BUILDER.draft(question(), hits).fit(characters, 100)
    assert [(cut.dropped, cut.length) for cut in whole.cuts] == [(4, 10)]
    shortened = BUILDER.draft(question(), hits).fit(characters, 9)
    assert (shortened.context, shortened.cuts[0].dropped, shortened.cuts[0].length) == ("abcd", 6, 10)
    closed = PromptBuilder(template="closed-book").draft(question(), hits).fit(characters, 1000)
    assert (closed.context, closed.cuts) == ("", ())


def test_the_image_of_a_chunk_goes_with_its_text() -> None:
    hits = [hit("aaaa"), hit("bbbb", 2)]
    seen = [
        item.model_copy(update={"chunk": item.chunk.model_copy(update={"image": Path(f"{item.rank}.png")})})
        for item in hits
    ]
    assert BUILDER.draft(question(), seen).fit(characters, 100).messages[-1].images == (
        Path("1.png"),
        Path("2.png"),
    )
    assert BUILDER.draft(question(), seen).fit(characters, 9).messages[-1].images == (Path("1.png"),)
    assert BUILDER.draft(question(), hits).fit(characters, 100).messages[-1].images == ()


def test_llamaindex_is_what_llamaindex_sends() -> None:
    """The messages of its own chat template, filled with nodes as it shows them."""
    pytest.importorskip("llama_index.core", reason="the extra 'llamaindex' is not installed")
    from llama_index.core.prompts.chat_prompts import CHAT_TEXT_QA_PROMPT
    from llama_index.core.schema import MetadataMode, TextNode

    metadata = {"file_name": "d.pdf", "page_number": 3, "chunk_index": 0, "total_pages": 9}
    nodes = [TextNode(text=text, metadata=metadata) for text in ("first", "second")]
    theirs = CHAT_TEXT_QA_PROMPT.format_messages(
        context_str="\n\n".join(node.get_content(MetadataMode.LLM) for node in nodes),
        query_str="Based on information from a.pdf, b.pdf, why?",
    )
    header = "file_name: d.pdf\npage_number: 3\nchunk_index: 0\ntotal_pages: 9"
    hits = [
        Hit(chunk=Chunk(id=text, document="d.pdf", pages=(3,), text=text, header=header), score=1, rank=rank)
        for rank, text in enumerate(("first", "second"), 1)
    ]
    ours = PromptBuilder(template="llamaindex").draft(question(), hits).fit(lambda messages: None, None)
    assert [(m.role, m.text) for m in ours.messages] == [(m.role.value, m.content) for m in theirs]
    assert hits[0].chunk.indexed == nodes[0].get_content(MetadataMode.EMBED)


def test_docling_has_the_instructions_of_the_papers_script() -> None:
    """Worked by hand from docling_evaluate.py: each document ends with a line break."""
    hits = [
        Hit(chunk=Chunk(id=name, document=name, pages=(1,), text="T"), score=1, rank=rank)
        for rank, name in enumerate(("a.pdf", "b.pdf"), 1)
    ]
    prompt = PromptBuilder(template="docling").draft(question(), hits).fit(lambda messages: None, None)
    [message] = prompt.messages
    assert message.role == "user"
    assert message.text == (
        "Based on the following document content, answer the question precisely:\n\n"
        "=== Document: a.pdf ===\nT\n\n=== Document: b.pdf ===\nT\n\n\n"
        f"Question: {question().text}\n\nAnswer based on the document content above."
    )


def page(name: str, number: int, rank: int, *, image: bool = True) -> Hit:
    picture = Path(f"{name}{number}.png") if image else None
    chunk = Chunk(
        id=f"{name}#{number}", document=name, pages=(number,), text=f"{name}{number}", image=picture
    )
    return Hit(chunk=chunk, score=1.0, rank=rank)


FOUND = [page("b", 9, 1), page("a", 4, 2), page("b", 2, 3, image=False), page("a", 1, 4)]
BESIDE = PromptBuilder(
    system="", user="P:{context}|{question}", chunk="[{rank}]{text}", separator="/", pictures="beside"
)


def shown_in(message: Message) -> list[str]:
    return [part.text if isinstance(part, TextPart) else str(part.image) for part in message.parts]


def test_each_image_stands_beside_its_text() -> None:
    prompt = BESIDE.draft(question(), FOUND).fit(characters, None)
    assert shown_in(prompt.messages[0]) == [
        "P:[1]b9", "b9.png", "/[2]a4", "a4.png", "/[3]b2/[4]a1", "a1.png", "|why?",
    ]  # fmt: skip
    assert prompt.context == "[1]b9/[2]a4/[3]b2/[4]a1"
    plain = BESIDE.draft(question(), [FOUND[2]]).fit(characters, None)
    assert plain.messages == (Message(role="user", text="P:[3]b2|why?"),), "no image, no parts"


def test_pages_are_turned_in_order() -> None:
    """The document of the best hit comes first; the ranks, by which answers cite, stay."""
    builder = BESIDE.model_copy(update={"order": "page"})
    prompt = builder.draft(question(), FOUND).fit(characters, None)
    assert shown_in(prompt.messages[0]) == [
        "P:[3]b2/[1]b9", "b9.png", "/[4]a1", "a1.png", "/[2]a4", "a4.png", "|why?",
    ]  # fmt: skip
    assert prompt.context == "[3]b2/[1]b9/[4]a1/[2]a4"
    text = PromptBuilder(system="", user="{context}|{question}", chunk="{text}", separator="/", order="page")
    first = text.draft(question(), FOUND).fit(characters, None).messages[0]
    assert [str(image) for image in first.images] == ["b9.png", "a1.png", "a4.png"]
    assert first.text == "b2/b9/a1/a4|why?"


def test_what_does_not_fit_is_left_out_by_rank_with_its_image() -> None:
    builder = BESIDE.model_copy(update={"order": "page"})
    whole = builder.draft(question(), FOUND).fit(characters, None)
    prompt = builder.draft(question(), FOUND).fit(characters, characters(whole.messages) - 7)
    assert shown_in(prompt.messages[0]) == ["P:[3]b2/[1]b9", "b9.png", "/[2]a4", "a4.png", "|why?"]
    assert [(cut.chunk, cut.dropped) for cut in prompt.cuts] == [("a#1", 5)]


def test_only_new_arrangements_are_another_prompt() -> None:
    before = PromptBuilder().identity()
    assert not {"pictures", "order"} & before["texts"].keys()
    assert PromptBuilder(pictures="first", order="rank").identity() == before
    assert PromptBuilder(order="page").identity() != before
    assert shipped()["pages-and-images"].pictures == "beside"
