"""The corpora of `benchmarks/corpus`: real PDFs that state what the questions ask, the same for each seed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pypdfium2

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks" / "corpus"))

from generator import documents, page_texts, pdf, write_corpus  # noqa: E402


def test_a_corpus_has_so_many_pages_and_states_what_is_asked(tmp_path: Path) -> None:
    written = write_corpus(tmp_path, 60)
    assert sum(one.pages for one in written) == 60
    rows = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text().splitlines()]
    for one, row in zip(written, rows, strict=False):
        with pypdfium2.PdfDocument(tmp_path / "documents" / one.name) as opened:
            pages = [page.get_textpage().get_text_range() for page in opened]
        (evidence,) = row["evidence"]
        assert len(pages) == one.pages
        assert [row["answers"][0][0] in page for page in pages].index(True) == evidence["page"] - 1
        assert row["question"] == f"What did gauge {one.gauge} read?"
        assert all(page.count(".") > 10 for page in pages), "pages have sentences"


def test_the_seed_decides_and_a_small_corpus_is_the_beginning_of_a_large_one() -> None:
    small, large = list(documents(300, 27)), list(documents(5000, 27))
    assert large[: len(small) - 1] == small[:-1]
    assert list(documents(300, 28)) != small
    assert [one.pages for one in documents(50, 27, most=1)] == [1] * 50
    lengths = sorted(one.pages for one in large)
    assert (lengths[0], sum(lengths), lengths[-1] <= 400) == (1, 5000, True)
    assert 5 <= lengths[len(lengths) // 2] <= 12
    assert pdf(page_texts(small[0], 27)) == pdf(page_texts(small[0], 27))
    assert pdf(page_texts(small[0], 27)) != pdf(page_texts(small[0], 28))
