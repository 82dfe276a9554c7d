"""Writes the quote questions of the sample corpus: ``python data/sample-quotes/make.py [--out DIR]
[--check]``.

Texts are the paragraphs of the corpus, pictures its figures and tables, cut out of the pages where they
stand. The gold quotes are written down in ``gold.yaml``, and the others are those that BM25 finds most like
the question.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pypdfium2
import yaml
from PIL import Image, ImageChops
from reportlab.graphics.shapes import Drawing, Group, String

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "sample"
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(SAMPLE)]

import making  # noqa: E402
from typeset.figures import FIGURES  # noqa: E402
from typeset.source import Block, Source, read  # noqa: E402
from typeset.story import write  # noqa: E402

from fathoms.corpora import read_questions  # noqa: E402
from fathoms.extras.questions.candidates import Sizes, with_candidates  # noqa: E402
from fathoms.retrieve import BM25, Index  # noqa: E402
from fathoms.types import Chunk, Question, Quote  # noqa: E402

DPI = 110
MARGIN = 4
SEED = 20
_SHORTEST = 80
_WIDTH = 400


def build(out: Path) -> None:
    """Write the pictures and the questions into ``out``."""
    quotes = list(_quotes(out))
    known = {question.id: question for question in read_questions(SAMPLE / "questions.json").questions}
    golds = yaml.safe_load((HERE / "gold.yaml").read_text(encoding="utf-8"))
    asked = [known[gold["question"]] for gold in golds]
    alike = _most_alike(asked, quotes)
    rows = [
        _row(_question(question, gold, quotes, similar), gold)
        for question, gold, similar in zip(asked, golds, alike, strict=True)
    ]
    text = json.dumps(rows, indent=1, ensure_ascii=False)
    (out / "questions.json").write_text(f"{text}\n", encoding="utf-8")


def _quotes(out: Path) -> Iterator[Quote]:
    """All quotes of the corpus; the pictures are written to ``out/pictures``."""
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    shown = yaml.safe_load((HERE / "pictures.yaml").read_text(encoding="utf-8"))
    for path in sorted((SAMPLE / "source").glob("*.txt")):
        source = read(path)
        with tempfile.TemporaryDirectory() as folder:
            pdf = Path(folder, "document.pdf")
            places = write(source, pdf)
            with pypdfium2.PdfDocument(pdf) as document:
                pages = [_letters(page.get_textpage().get_text_bounded()) for page in document]
                yield from _texts(source, pages)
                for name, (page, box) in places.items():
                    picture = f"pictures/{source.name}-{name.replace(' ', '-')}.png"
                    _cut(document[page - 1], box, out / picture)
                    words, description = _words(source, name, shown)
                    yield Quote(
                        id=f"{source.name} {name}",
                        modality="image",
                        text=words,
                        description=description,
                        image=Path(picture),
                        document=f"{source.name}.pdf",
                        page=page,
                    )


def _texts(source: Source, pages: Sequence[str]) -> Iterator[Quote]:
    """The longer paragraphs of a document, with the page on which each begins."""
    for number, block in enumerate(source.blocks):
        text = re.sub(r"<[^>]+>", "", block.text)
        if block.kind in ("paragraph", "clause", "step", "box") and len(text) >= _SHORTEST:
            start = _letters(text)[:40]
            page = next(number for number, found in enumerate(pages, 1) if start in found)
            yield Quote(id=f"{source.name} {number}", text=text, document=f"{source.name}.pdf", page=page)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _cut(page: Any, box: tuple[float, float, float, float], path: Path) -> None:
    """Write the part of a page as a picture with few colours."""
    scale = DPI / 72
    whole = page.render(scale=scale).to_pil().convert("RGB")
    x0, y0 = (max(0, int((side - MARGIN) * scale)) for side in box[:2])
    x1, y1 = (int((side + MARGIN) * scale) for side in box[2:])
    part = whole.crop((x0, y0, min(x1, whole.width), min(y1, whole.height)))
    part.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


def _words(source: Source, name: str, shown: dict[str, Any]) -> tuple[str, str]:
    """The words in a figure or table, and what it shows."""
    if name in shown[source.name]:
        made = FIGURES[name](_WIDTH) if name in FIGURES else None
        words = " ".join(_strings(made)) if isinstance(made, Drawing) else shown["words"][name]
        return words, shown[source.name][name]
    block = next(b for b in source.blocks if b.kind == "table" and b.text.casefold().startswith(f"{name}."))
    return _cells(block)


def _strings(drawing: Any) -> Iterator[str]:
    for part in drawing.contents:
        if isinstance(part, String):
            yield part.text
        elif isinstance(part, Group):
            yield from _strings(part)


def _cells(block: Block) -> tuple[str, str]:
    """The cells of a table as words, and its title with its rows."""
    title, *lines = (re.sub(r"<[^>]+>", "", line) for line in block.lines)
    rows = [[cell.strip(" <") for cell in line.split("|")] for line in lines if line != "---"]
    words = " ".join(cell for row in rows for cell in row if cell)
    return words, f"A table. {title} " + "; ".join(", ".join(filter(None, row)) for row in rows) + "."


def _most_alike(questions: Sequence[Question], quotes: Sequence[Quote]) -> list[list[Quote]]:
    """For each question the quotes most like it by BM25, best first, and then those that share no word with
    it."""
    chunks = [
        Chunk(id=str(at), document=quote.document or "", pages=(), text=quote.description or quote.text)
        for at, quote in enumerate(quotes)
    ]
    with tempfile.TemporaryDirectory() as folder:
        index = Index((), chunks, None, lambda texts: None, Path(folder, "index"))
        found = BM25(top_k=len(chunks)).search(index, questions)
    best = [[quotes[int(hit.chunk.id)] for hit in hits] for hits in found]
    return [[*row, *(quote for quote in quotes if quote not in row)] for row in best]


def _question(
    question: Question, gold: dict[str, Any], quotes: Sequence[Quote], similar: Sequence[Quote]
) -> Question:
    """The question with its candidates."""
    texts = [
        _one(quotes, lambda q, w=words: w in q.text and q.modality == "text")
        for words in gold.get("texts", ())
    ]
    pictures = [_one(quotes, lambda q, n=name: q.id == n) for name in gold.get("pictures", ())]
    chosen = [quote.model_copy(update={"gold": True}) for quote in (*texts, *pictures)]
    bare = question.model_copy(update={"quotes": tuple(chosen), "evidence": (), "files": ()})
    return with_candidates(bare, similar, Sizes(), SEED)


def _one(quotes: Sequence[Quote], wanted: Any) -> Quote:
    found = list(filter(wanted, quotes))
    if len(found) != 1:
        raise ValueError(
            f"expected one quote: {[(quote.id, quote.image, quote.text[:60]) for quote in found]}"
        )
    return found[0]


def _row(question: Question, gold: dict[str, Any]) -> dict[str, Any]:
    """The question as it is written, with an answer that cites the gold quotes by their places."""
    answer: str = gold["answer"]
    for key, left, right in (("texts", "{", "}"), ("pictures", "{{", "}}")):
        for number, named in enumerate(gold.get(key, ()), 1):
            quote = _one(question.quotes, lambda q, n=named, k=key: q.gold and _is(q, n, k))
            place = re.sub(r"\D", "", quote.id)
            answer = re.sub(rf"(?<!{{){re.escape(left)}{number}{re.escape(right)}(?!}})", place, answer)
    quotes = [quote.model_dump(mode="json", exclude_defaults=True) for quote in question.quotes]
    phrases = [list(variant) for variant in question.answers]
    return {
        "id": question.id,
        "question": question.text,
        "category": question.category,
        "answers": phrases,
        "reference": question.reference,
        "long_answer": answer,
        "quotes": quotes,
    }


def _is(quote: Quote, named: str, key: str) -> bool:
    if key == "texts":
        return quote.modality == "text" and named in quote.text
    return quote.image is not None and quote.image.stem == named.replace(" ", "-")


def same(made: Path, there: Path) -> bool:
    """Whether two files are the same. Pictures may differ by a shade, because another release of the renderer
    draws edges a little differently."""
    if made.suffix != ".png":
        return made.read_bytes() == there.read_bytes()
    with Image.open(made) as one, Image.open(there) as other:
        if one.size != other.size:
            return False
        difference = ImageChops.difference(*(image.convert("L").resize((32, 32)) for image in (one, other)))
    return difference.getextrema()[1] <= 16


def report(out: Path) -> Iterator[str]:
    """Say how large the questions are."""
    yield f"{out / 'questions.json'}  {(out / 'questions.json').stat().st_size:,} bytes"


if __name__ == "__main__":
    making.main(build, HERE, __doc__, report, same)
