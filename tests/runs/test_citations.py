"""Citations in answers, by hand-worked cases: which hits an answer cites, and for which of its sentences."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from fathoms.answers.citations import _sentences, all_citations, parse_citations
from fathoms.types import Chunk, Citation, Hit


def hit(rank: int, document: str, *pages: int, modality: str = "text", name: str = "") -> Hit:
    chunk = Chunk.model_validate(
        {"id": name or f"{document}#{rank}", "document": document, "pages": pages, "modality": modality}
    )
    return Hit(chunk=chunk, score=1 / rank, rank=rank)


HITS = (
    hit(1, "varn.pdf", 3),
    hit(2, "Doc, final.pdf", 4, 5),
    hit(3, "varn.pdf", 4, modality="image"),
    hit(4, "varn.pdf", 4),
    hit(5, "lamp.pdf", 1, modality="image"),
)

CITES: dict[str, tuple[str, list[tuple[str, tuple[int, ...]]]]] = {
    "one": ("It is 41 m tall [1].", [("1", (1,))]),
    "list": ("It is tall [1, 3].", [("1", (1,)), ("3", (3,))]),
    "list-by-semicolon": ("It is tall [1;3 and 4].", [("1", (1,)), ("3", (3,)), ("4", (4,))]),
    "side-by-side": ("It is tall[1][2].", [("1", (1,)), ("2", (2,))]),
    "range": ("It is tall [2-4].", [("2", (2,)), ("3", (3,)), ("4", (4,))]),
    "range-by-dash": ("It is tall [2–3].", [("2", (2,)), ("3", (3,))]),  # noqa: RUF001
    "unknown": ("It is tall [7].", [("7", ())]),
    "unknown-in-list": ("It is tall [1, 9].", [("1", (1,)), ("9", ())]),
    "zero": ("It is tall [0].", []),
    "range-beyond": ("It is tall [4-1000000].", [("4", (4,)), ("5", (5,)), ("6-1000000", ())]),
    "range-one-beyond": ("It is tall [5-6].", [("5", (5,)), ("6", ())]),
    "range-backwards": ("It is tall [4-2].", [("4-2", ())]),
    "year": ("Kim et al. [2019] built it.", []),
    "array": ("It is [0, 1].", []),
    "index": ("Use a[1] to get it.", []),
    "pattern": ("It matches [1-9]+ and [3]\\d.", []),
    "formula": ("It is $x[1]$ there.", []),
    "ion": ("The complex is [Cu(NH3)4]2+.", []),
    "glued-to-a-number": ("It is 41.5[1] m tall.", [("1", (1,))]),
    "note": ("It is tall[^1].", [("^1", ())]),
    "service": ("It is tall【4:0†source】.", [("4:0†source", ())]),
    "page-alone": ("It is tall (p. 4).", [("p. 4", ())]),
    "source-in-brackets": ("It is tall (Source: varn.pdf, p. 3).", [("varn.pdf, p. 3", (1,))]),
    "thought-in-brackets": ("[THINK]So [1]?[/THINK]It is tall [2].", [("2", (2,))]),
    "years": ("It stood for long [2019-2021].", []),
    "year-with-a-rank": ("Built then [1, 2019].", [("1", (1,)), ("2019", ())]),
    "page": ("Tall [varn.pdf, p. 3].", [("varn.pdf, p. 3", (1,))]),
    "page-as-in-the-prompt": ("Tall [varn.pdf, page 4].", [("varn.pdf, page 4", (3, 4))]),
    "page-in-round-brackets": ("Tall (varn.pdf, page 3).", [("varn.pdf, page 3", (1,))]),
    "pages": ("Tall [varn.pdf, pp. 3-4].", [("varn.pdf, pp. 3-4", (1,)), ("varn.pdf, pp. 3-4", (3, 4))]),
    "name-in-another-case": ("Tall [VARN.PDF, p.3].", [("VARN.PDF, p.3", (1,))]),
    "name-with-a-comma": ("Tall [Doc, final.pdf, p. 5].", [("Doc, final.pdf, p. 5", (2,))]),
    "whole-document": ("Tall [varn.pdf].", [("varn.pdf", (1, 3, 4))]),
    "two-documents": (
        "Tall [varn.pdf, p. 3; lamp.pdf, p. 1].",
        [("varn.pdf, p. 3", (1,)), ("lamp.pdf, p. 1", (5,))],
    ),
    "number-and-document": ("Tall [2, lamp.pdf].", [("2", (2,)), ("lamp.pdf", (5,))]),
    "page-not-retrieved": ("Tall [varn.pdf, p. 9].", [("varn.pdf, p. 9", ())]),
    "document-not-retrieved": ("Tall [other.pdf, p. 2].", [("other.pdf, p. 2", ())]),
    "image": ("See ![the lamp](image2) there.", [("image2", (5,))]),
    "image-alone": ("As the lamp shows (image1).", [("image1", (3,))]),
    "image-unknown": ("See (image3).", [("image3", ())]),
    "inline-code": ("Take `a[1]` of it.", []),
    "inline-code-of-a-citation": ("As shown: `![the lamp](image2)` `[1]`", [("image2", (5,)), ("1", (1,))]),
    "inline-code-without-such-a-hit": ("It returns `[7]` or `[1, 7]`.", []),
    "code-block": ("Run\n```\nprint(a[1])\n```\nand read [2].", [("2", (2,))]),
    "code-block-cut-off": ("Run\n```\nprint(a[1])", []),
    "in-round-brackets": ("It is tall ([1]; [2]) (see [4]).", [("1", (1,)), ("2", (2,)), ("4", (4,))]),
    "image-in-square-brackets": (
        "It is tall [image1] [2, image2].",
        [("image1", (3,)), ("2", (2,)), ("image2", (5,))],
    ),
    "words": ("It is [sic] tall [see 3] (about 4).", []),
    "caption": ("![1](https://example.org/a.png)", []),
    "link": ("[1](varn.pdf)", [("1", (1,))]),
    "link-of-words": ("[the paper](varn.pdf)", []),
    "reasoning": ("So [1]? No.</think>It is tall [2].", [("2", (2,))]),
    "twice": ("Tall [1]. Wide [1].", [("1", (1,)), ("1", (1,))]),
    "none": ("I do not know.", []),
}


@pytest.mark.parametrize(("answer", "expected"), CITES.values(), ids=CITES)
def test_which_hits_are_cited(answer: str, expected: list[tuple[str, tuple[int, ...]]]) -> None:
    assert [(cited.label, cited.ranks) for cited in parse_citations(answer, HITS)] == expected


SENTENCES = {
    "inside": ("Blue [1] sky. Next.", ["Blue [1] sky."]),
    "before-the-stop": ("Blue sky [1]. Next.", ["Blue sky [1]."]),
    "after-the-stop": ("Blue sky. [1] Next. [2]", ["Blue sky.", "Next."]),
    "close-after-the-stop": ("Blue sky.[1][2] Next.", ["Blue sky.", "Blue sky."]),
    "decimal": ("It is 41.5 m. [1] Next.", ["It is 41.5 m."]),
    "abbreviation": ("See Fig. 3 of Kim et al. [1] for it. Next.", ["See Fig. 3 of Kim et al. [1] for it."]),
    "initial": ("It was J. Varn. [1] Next.", ["It was J. Varn."]),
    "question": ("Is it? [1] Yes! [2]", ["Is it?", "Yes!"]),
    "quotation": ("He said “no.” [1] Next.", ["He said “no.”"]),
    "new-line": ("Blue sky\nGreen sea [1]", ["Green sea"]),
    "line-of-its-own": ("Blue sky.\n[1]\nNext.", ["Blue sky."]),
    "numbered-list": ("1. Blue sky [1]\n2. Green sea [2]", ["1. Blue sky", "2. Green sea"]),
    "first-in-line": ("Blue.\n[1] Green. [2]", ["Green.", "Green."]),
    "first": ("[1] Blue sky.", ["Blue sky."]),
    "chinese": ("天空是藍的。[1]海是綠的。[2]", ["天空是藍的。", "海是綠的。"]),
    "after-reasoning": ("Hm. </think>[1] Blue sky.", ["Blue sky."]),
    "alone": ("[1]", [None]),
}


@pytest.mark.parametrize(("answer", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_which_sentence_a_citation_supports(answer: str, expected: list[str | None]) -> None:
    found = [cited.sentence for cited in parse_citations(answer, HITS)]
    assert [None if span is None else answer[slice(*span)] for span in found] == expected


def test_a_citation_has_its_place_and_its_span() -> None:
    answer = "Tall [1], wide (image2)."
    first, second = parse_citations(answer, HITS)
    assert (first.document, first.page, answer[slice(*(first.span or ()))]) == ("varn.pdf", 3, "[1]")
    assert (second.document, second.page, answer[slice(*(second.span or ()))]) == ("lamp.pdf", 1, "(image2)")
    (page,) = parse_citations("Wide [other.pdf, p. 2].", HITS)
    assert (page.document, page.page, page.ranks) == ("other.pdf", 2, ())


def test_an_image_is_found_by_the_id_of_its_chunk() -> None:
    hits = (hit(1, "a.pdf", 1, modality="image", name="image7"), hit(2, "a.pdf", 2, modality="image"))
    assert [cited.ranks for cited in parse_citations("(image7) (image2)", hits)] == [(1,), (2,)]


def test_ranks_decide_and_not_the_order() -> None:
    assert [cited.ranks for cited in parse_citations("[2] [1]", HITS[1:])] == [(2,), ()]


def test_unknown_hits() -> None:
    cited = parse_citations("Tall [1] [2019].", None)
    assert [(one.label, one.ranks) for one in cited] == [("1", ())]


def test_reported_citations_are_resolved_and_come_first() -> None:
    reported = [Citation(document="varn.pdf", page=4, quote="tall"), Citation(document="none.pdf")]
    found = all_citations("Tall [1].", HITS, reported)
    assert found is not None
    assert [(one.document, one.ranks, one.label) for one in found] == [
        ("varn.pdf", (3, 4), None),
        ("none.pdf", (), None),
        ("varn.pdf", (1,), "1"),
    ]
    assert found[0].quote == "tall"


def test_unknown_is_not_none_at_all() -> None:
    assert all_citations("Tall.", None, None) is None
    assert all_citations("Tall.", HITS, None) == ()
    assert all_citations("Tall.", None, []) == ()


@pytest.mark.parametrize("text", ["[", "(1", "`", "[a.pdf ", "a. ", "[1]", "[varn.pdf, p. 1-9999]"])
def test_a_hostile_answer_takes_no_long_time(text: str) -> None:
    started = time.process_time()
    parse_citations(text * 2000 + "[1]", HITS)
    assert time.process_time() - started < 2


@pytest.mark.slow
def test_many_citations_in_one_line_take_time_in_proportion() -> None:
    """Looking back for the beginning of the line from each citation made it 14 times as long for 4 times the
    text."""
    spent = []
    for count in (20_000, 80_000):
        markers = [(3 + 3 * number, 6 + 3 * number) for number in range(count)]
        started = time.process_time()
        sentence_of = _sentences("A. " + "[1]" * count, markers, 0)
        assert {sentence_of(marker) for marker in markers} == {(0, 2)}
        spent.append(time.process_time() - started)
    assert spent[1] < 8 * spent[0] + 0.2


QUOTES = (
    *(hit(n, "d.pdf", name=f"text{n}") for n in range(1, 13)),
    *(hit(12 + n, "d.pdf", modality="image", name=f"image{n}") for n in range(1, 9)),
)
# What MMDocRAG counts and is no citation: years (question 541), and indices in code (299, 1425).
NOT_CITED = {("gpt-4.1", 541), ("qwen2.5-72b", 299), ("qwen2.5-72b", 1425)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "published"), [("gpt-4.1", 68.3), ("deepseek-v3", 61.1), ("qwen2.5-72b", 59.1)]
)
def test_the_published_quote_f1_of_mmdocrag(shared: Path, model: str, published: float) -> None:
    """In 2,000 answers of real models with 12 texts and 8 images, the markers of MMDocRAG's own form are
    found as its evaluation finds them. They give the overall F1 of its table: the mean over the questions of
    the F1 of the cited quotes against the gold ones."""
    folder = shared / "mmdocrag"
    gold = [json.loads(line) for line in (folder / "gold_quotes_eval.jsonl").read_text().splitlines()]
    wanted = {row["q_id"]: set(row["gold_quotes"]) for row in gold}
    path = folder / "responses" / f"{model}_pure-text_quotes20_response.jsonl"
    f1 = []
    for row in map(json.loads, path.read_text().splitlines()):
        answer = row["response"]
        released = {f"text{n}" for n in re.findall(r"\[(\d+)\]", answer)}
        released |= {f"image{n}" for n in re.findall(r"\(image(\d+)\)", answer)}
        found = set()
        for cited in parse_citations(answer, QUOTES):
            marker = answer[slice(*(cited.span or ()))]
            if re.fullmatch(r"\[\d+\]|\(image\d+\)", marker):
                found.add(str(cited.label) if "image" in marker else f"text{cited.label}")
        if (model, row["q_id"]) in NOT_CITED:
            assert found < released
            found = released  # as the published figure counts it
        assert found == released, row["q_id"]
        true = wanted[row["q_id"]]
        f1.append(2 * len(found & true) / (len(found) + len(true)))
    assert round(100 * sum(f1) / len(f1), 1) == published
