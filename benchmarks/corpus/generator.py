"""Writes a corpus of any size: distinct PDFs of 1 to 400 pages, and questions about some of them.

Everything follows from the seed, and a smaller corpus is the beginning of a larger one, but for the length of
its last document. Lengths are log-normal with a median of 8 pages and a mean of about 17, which is the spread
of reports and papers: many short ones, and few of which each has hundreds of pages. Words follow Zipf's law
over about 30,000 English words and compounds of two. The PDFs are written byte by byte: a page takes about
0.3 ms, a tenth of what a library for PDFs takes.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from itertools import accumulate, product
from pathlib import Path
from typing import NamedTuple

MOST_PAGES = 400
MEDIAN_PAGES, SPREAD = 8, 1.25
QUESTIONS = 20
_TEXT = """
the of and a to in is was for that on with as it by at from are this be an or which were not have had all
been their they has one but more when other some time after two can first new into over also about only
between water river level year report measure station gauge weir bridge flood rain season bank stream lake
dam channel flow depth height metre hour day night week month spring summer autumn winter north south east
west upper lower main small large long short high low early late public local annual mean total record value
table figure chart section page note method result error change cause effect area valley town field road
line point place side end part group number order rate cost price work plan project office board council
service team member author source sample test model system design control power energy heat wind storm wave
tide coast island forest soil rock sand clay stone wood iron steel glass paper letter book school market
trade ship rail mill farm crop grain wheat cattle sheep fish bird tree leaf root seed fruit house wall roof
door gate tower church square garden
"""
_PLAIN = _TEXT.split()
_RARE = 30_000
WORDS = [*dict.fromkeys(_PLAIN), *(one + other for one, other in product(_PLAIN[60:], _PLAIN[60:]))][:_RARE]
"""The most frequent words first."""
_WEIGHTS = list(accumulate(1 / (rank + 2.7) for rank in range(len(WORDS))))
_LINE, _FONT = 12, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


class GeneratedDocument(NamedTuple):
    """A document of the corpus: its number, its file name and its pages, and the fact that only it states:
    the page, the code of a gauge and its reading."""

    number: int
    name: str
    pages: int
    page: int
    gauge: str
    reading: str


def write_corpus(folder: Path, pages: int, seed: int = 27, most: int = MOST_PAGES) -> list[GeneratedDocument]:
    """Write so many pages into the PDFs of `folder/documents`, at `most` into each, and the questions about
    the first documents into `folder/questions.jsonl`."""
    (folder / "documents").mkdir(parents=True)
    items = list(documents(pages, seed, most))
    for one in items:
        (folder / "documents" / one.name).write_bytes(pdf(page_texts(one, seed)))
    rows = [json.dumps(question(one)) for one in items[:QUESTIONS]]
    (folder / "questions.jsonl").write_text("\n".join(rows))
    return items


def documents(pages: int, seed: int, most: int = MOST_PAGES) -> Iterator[GeneratedDocument]:
    """Yield the documents of a corpus of so many pages, each with `most` of them or fewer."""
    number = 0
    while pages:
        chance = random.Random(f"{seed}-{number}")
        length = round(chance.lognormvariate(0, SPREAD) * MEDIAN_PAGES)
        length = min(max(1, length), most, pages)
        reading = f"{chance.randint(100, 9999) / 100:.2f}"
        yield GeneratedDocument(
            number, f"d{number:06}.pdf", length, chance.randint(1, length), f"G{number:06}", reading
        )
        pages -= length
        number += 1


def question(one: GeneratedDocument) -> dict[str, object]:
    """A question that only this document answers."""
    return {
        "question": f"What did gauge {one.gauge} read?",
        "answers": [[one.reading]],
        "evidence": [{"document": one.name, "page": one.page}],
    }


def page_texts(one: GeneratedDocument, seed: int) -> Iterator[list[str]]:
    """Yield the lines of each page of a document."""
    chance = random.Random(f"{seed}-{one.number}-text")
    for page in range(1, one.pages + 1):
        words = chance.choices(WORDS, cum_weights=_WEIGHTS, k=_LINE * chance.randint(24, 40))
        if page == one.page:
            words[1:1] = f"Gauge {one.gauge} read {one.reading} metres.".split()
        at = 0
        while at < len(words) - 1:  # sentences
            words[at] = words[at].capitalize()
            at = min(at + chance.randint(6, 24), len(words) - 1)
            words[at] += "."
            at += 1
        yield [" ".join(words[start : start + _LINE]) for start in range(0, len(words), _LINE)]


def pdf(pages: Iterator[list[str]]) -> bytes:
    """A PDF with one column of text on each page."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", _FONT]
    kids = []
    for lines in pages:
        shown = "".join(f"({line}) '\n" for line in lines)
        data = zlib.compress(f"BT /F1 8 Tf 14 TL 40 800 Td\n{shown}ET".encode("ascii"), 1)
        kids.append(b"%d 0 R" % (len(objects) + 1))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
            b" /Contents %d 0 R >>" % (len(objects) + 2)
        )
        objects.append(b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(data), data))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    """The bytes of a file with these objects, numbered from 1; the first is the catalogue."""
    parts, places, size = [b"%PDF-1.4\n"], [], 9
    for number, content in enumerate(objects, start=1):
        places.append(size)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, content))
        size += len(parts[-1])
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, size)
    return b"".join([*parts, head, rows, tail])
