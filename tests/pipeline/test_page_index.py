"""Retrieval by page images from PDFs to hits: rendered, embedded in blocks, kept, and found again.

The models are small ones of real architectures with random weights, so which page is found means nothing. It
is compared with the products of the vectors of every page and question.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathoms import corpora
from fathoms.errors import ConfigError, DocumentError
from fathoms.experiment import Experiment, SearchExperiment, load_experiment
from fathoms.ingest import Pdfium, cut_out_images, page_images
from fathoms.models import PageEmbedder
from fathoms.models.embed import process as embedding
from fathoms.pipeline.page_index import PageIndexer
from fathoms.pipeline.preparation import Preparation
from fathoms.retrieve import Visual
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.token_pooling import pool_tokens
from fathoms.runner.plan import plan
from fathoms.runs.cache import Cache
from fathoms.types import Question
from tests.support.extras import needs_extra
from tests.support.project import Project, write_pdf, write_project
from tests.support.report_page import detail_of, unpacked
from tests.support.tiny_pages import tiny_models

pytestmark = pytest.mark.slow  # one process that imports torch and transformers, which takes about 10 s

CONFIG = """\
name: seen
data: {{questions: questions.json, documents: pdfs}}
retrieve: {{kind: visual, embed: {{kind: {kind}, model: {model}, device: cpu}}, top_k: 2, dpi: 20}}
prompt: {{template: page-images}}
generate: {{kind: scripted, replies: {{tall: It is 41.5 m tall.}}}}
"""
UNREAD = "the page images are not embedded yet: run 'fathoms ingest' first, which may take long"
QUESTIONS = [
    Question(id="q1", text="How tall is the Varn tower?", category="c"),
    Question(id="q2", text="What does ore cost?", category="c"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project of three pages with two configurations, whose cache the tests of this file share."""
    written = write_project(tmp_path_factory.mktemp("seen"))
    models = tiny_models()
    written.write("many.yaml", CONFIG.format(kind="multi-vector", model=models["colqwen2"]))
    written.write("one.yaml", CONFIG.format(kind="image-text", model=models["clip"]))
    return written


@pytest.fixture
def cache(place: Project) -> Cache:
    return Cache(place.path / "cache")


def experiment(place: Project, name: str, *settings: str) -> Experiment:
    found = load_experiment(place.path / name, settings)
    assert isinstance(found, Experiment)
    return found


def documents(place: Project) -> dict[str, Path]:
    return {path.name: path for path in sorted((place.path / "pdfs").glob("*.pdf"))}


def pictures(place: Project, cache: Cache) -> dict[tuple[str, int], Path]:
    """The picture of every page, by its document and number."""
    found: dict[tuple[str, int], Path] = {}
    for name, path in documents(place).items():
        result = page_images(Pdfium().parse(path), 20, cache.folder / "images", Pdfium())
        found |= {(name, number): picture for number, picture in result.items()}
    return found


def vectors_of(embed: PageEmbedder, place: Project, cache: Cache) -> list[Any]:
    """The vectors of every page."""
    return embedding.embed_pages(embed, list(pictures(place, cache).values()))


def scores(embed: PageEmbedder, place: Project, cache: Cache) -> tuple[list[tuple[str, int]], Any, int]:
    """All pages, their scores for each question by the formula (for each vector of the question the largest
    product with a vector of the page, added up), and the number of vectors of all pages."""
    vectors = vectors_of(embed, place, cache)
    some_vectors = embedding.embed_questions(embed, [question.text for question in QUESTIONS])
    result = [[sum((page @ row).max() for row in query) for page in vectors] for query in some_vectors]
    return list(pictures(place, cache)), result, sum(map(len, vectors))


def best(pages: Sequence[tuple[str, int]], row: Sequence[float]) -> list[tuple[str, int]]:
    """The pages in the order of their scores."""
    return [pages[at] for at in np.argsort(-np.array(row), kind="stable")]


@pytest.mark.parametrize("name", ["many.yaml", "one.yaml"])
def test_the_pages_with_the_highest_scores_are_found(place: Project, cache: Cache, name: str) -> None:
    own = experiment(place, name)
    assert isinstance(own.retrieve, Visual)
    ready = own.prepare(documents(place), cache)
    hits = ready.retrieve(QUESTIONS)
    pages, expected, rows = scores(own.retrieve.embed, place, cache)
    for question, row in zip(QUESTIONS, expected, strict=True):
        found = hits[question.id]
        assert [(hit.chunk.document, *hit.chunk.pages) for hit in found] == best(pages, row)[:2]
        assert [hit.score for hit in found] == pytest.approx(sorted(row, reverse=True)[:2], abs=1e-4)
        for hit in found:
            assert hit.chunk.image is not None
            assert hit.chunk.image.is_file()
            assert hit.chunk.modality == "image"
    texts = {hit.chunk.id: hit.chunk.text for row in hits.values() for hit in row}
    said = {"varn.pdf#p1": "41.5 m tall", "varn.pdf#p2": "painted green", "lune.pdf#p1": "17 crowns"}
    assert all(said[page] in text for page, text in texts.items())
    report = ready.report()
    assert report["times"]["embed pages"]["made"] == 3
    assert report["times"]["embed pages"]["device"] == "cpu, float32"
    assert report["index_bytes"] == rows * 16 * 4


HYBRID = "retrieve={{kind: hybrid, of: [{{kind: bm25}}, {{kind: visual, dpi: {dpi}, embed: {embed}}}]}}"


def hybrid(place: Project, *settings: str, dpi: int = 20) -> Experiment:
    """The configuration with BM25 beside page images."""
    embed = f"{{kind: image-text, model: {tiny_models()['clip']}, device: cpu}}"
    return experiment(place, "one.yaml", HYBRID.format(embed=embed, dpi=dpi), *settings)


def test_text_and_page_images_are_fused(place: Project, cache: Cache) -> None:
    """BM25 finds one page for each question; the model's ranking of all three has the rest."""
    own = hybrid(place)
    hits = own.prepare(documents(place), cache).retrieve(QUESTIONS)
    pages, expected, _ = scores(experiment(place, "one.yaml").retrieve.embed, place, cache)
    for question, row, page in zip(QUESTIONS, expected, [("varn.pdf", 1), ("lune.pdf", 1)], strict=True):
        sums = {seen: 1 / (60 + rank) for rank, seen in enumerate(best(pages, row), start=1)}
        sums[page] += 1 / 61
        found = hits[question.id]
        assert (found[0].chunk.document, *found[0].chunk.pages) == page
        assert {(hit.chunk.document, *hit.chunk.pages): hit.score for hit in found} == pytest.approx(sums)
        assert all(hit.chunk.image is not None and hit.chunk.text for hit in found)


def test_pages_found_by_their_images_can_be_described(place: Project, cache: Cache) -> None:
    """The picture that the describing model gets is the one that was found, and it is not shown again."""
    visual = experiment(place, "one.yaml").retrieve.model_dump_json()
    seeing = "{kind: scripted, default: 'Its tower is 41.5 m tall.'}"
    described = f"retrieve={{kind: describe, first: {visual}, generate: {seeing}}}"
    own = experiment(place, "one.yaml", described, "prompt={}")
    own.check()
    ready = own.prepare(documents(place), cache)
    (found,) = ready.retrieve(QUESTIONS[:1]).values()
    assert [hit.chunk.image is not None for hit in found] == [True, True]
    record = asyncio.run(ready.answer(QUESTIONS[0], found))
    assert record.hits is not None
    assert [(hit.chunk.id, hit.chunk.text) for hit in record.hits] == [
        (hit.chunk.id, "Its tower is 41.5 m tall.") for hit in found
    ]
    assert record.prompt is not None
    assert record.prompt.messages[-1].images == ()
    with pytest.raises(ConfigError, match="needs pictures of pages"):
        experiment(place, "one.yaml", described, "prompt={}", "retrieve.first.show=text").check()


def stored(vectors: Any, options: dict[str, Any]) -> Any:
    """The vectors of a page as the options keep them, by the formulas of the formats."""
    if "pooling" in options:
        vectors = pool_tokens(vectors, options["pooling"])
    if options.get("precision") == "binary":
        return np.where(vectors > 0, 1, -1)
    if options.get("precision") == "int8":
        scales = abs(vectors).max(axis=1, keepdims=True) / 127
        return np.rint(vectors / scales) * scales
    return vectors


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "float16"},
        {"precision": "int8"},
        {"precision": "binary"},
        {"pooling": 4},
        {"precision": "binary", "pooling": 2},
        {"candidates": 1},
        {"store": {"kind": "lancedb"}},
        {"store": {"kind": "lancedb", "index": "ivf-flat"}},
        {"pooling": 3, "store": {"kind": "lancedb"}},
    ],
    ids=str,
)
def test_vectors_are_kept_as_the_options_say(place: Project, cache: Cache, options: dict[str, Any]) -> None:
    """The best page by the formulas is found, of all pages or of the one whose mean is nearest. The share
    that exact search finds too is noted, but for a table without an index, which is exact."""
    if "store" in options and find_spec("lancedb") is None:
        pytest.skip("no LanceDB: pip install 'fathoms[lancedb]'")
    settings = [f"retrieve.{name}={json.dumps(value)}" for name, value in options.items()]
    own = experiment(place, "many.yaml", "retrieve.top_k=1", *settings)
    assert isinstance(own.retrieve, Visual)
    reported: list[tuple[str, int, int]] = []
    ready = own.prepare(documents(place), cache, progress=lambda *step: reported.append(step))
    hits = ready.retrieve(QUESTIONS)
    assert (("pool vectors", 3, 3) in reported) == ("pooling" in options)
    pages, exact, _ = scores(own.retrieve.embed, place, cache)
    saved = [stored(page, options) for page in vectors_of(own.retrieve.embed, place, cache)]
    same = 0
    vectors = embedding.embed_questions(own.retrieve.embed, [question.text for question in QUESTIONS])
    for question, query, row in zip(QUESTIONS, vectors, exact, strict=True):
        result = [sum((page @ vector).max() for vector in query) for page in saved]
        if "candidates" in options:
            means = [page.mean(axis=0) for page in saved]
            near = np.argmax([mean @ query.mean(axis=0) / np.linalg.norm(mean) for mean in means])
            result = [score if at == near else -np.inf for at, score in enumerate(result)]
        (hit,) = hits[question.id]
        assert (hit.chunk.document, *hit.chunk.pages) == best(pages, result)[0]
        assert hit.score == pytest.approx(max(result), abs=0.02 if "float16" in options.values() else 1e-4)
        same += best(pages, result)[0] == best(pages, row)[0]
    if options == {"store": {"kind": "lancedb"}}:
        assert ready.notes == {}
        assert same == 2
    else:
        note = ready.notes["approximation"]
        assert (note["recall"], note["k"], note["questions"], note["pages"]) == (same / 2, 1, 2, 3)
        assert note["options"].keys() == options.keys()
    again = own.prepare(documents(place), Cache(cache.folder))
    assert again.retrieve(QUESTIONS) == hits
    assert again.notes == ready.notes


def test_an_index_takes_the_bytes_of_its_format(place: Project, cache: Cache) -> None:
    """Vectors of 16 numbers: 64, 32, 20 (with a factor) and 2 bytes each; means have 64 bytes a page."""
    sizes = {}
    for setting in ("precision=float32", "precision=float16", "precision=int8", "precision=binary"):
        ready = experiment(place, "many.yaml", f"retrieve.{setting}").prepare(documents(place), cache)
        sizes[setting] = ready.report()["index_bytes"]
    rows = sizes["precision=float32"] // 64
    assert list(sizes.values()) == [rows * 64, rows * 32, rows * 20, rows * 2]
    ready = experiment(place, "many.yaml", "retrieve.candidates=3").prepare(documents(place), cache)
    assert ready.report()["index_bytes"] == rows * 64 + 3 * 64


def test_a_new_page_is_embedded_alone(place: Project, cache: Cache, tmp_path: Path) -> None:
    own = experiment(place, "many.yaml")
    first = own.prepare(documents(place), cache).retrieve(QUESTIONS)
    write_pdf(tmp_path / "new.pdf", ["A page that is new."])
    more = {**documents(place), "new.pdf": tmp_path / "new.pdf"}
    assert not own.has_embedded_pages(more, cache)
    reported: list[tuple[str, int, int]] = []
    grown = own.prepare(more, cache, progress=lambda *step: reported.append(step))
    assert grown.report()["times"]["embed pages"]["made"] == 1
    assert ("embed pages", 4, 4) in reported
    assert own.prepare(documents(place), cache, progress=pytest.fail).retrieve(QUESTIONS) == first


def test_other_pictures_are_other_vectors(place: Project, cache: Cache) -> None:
    """Another resolution is embedded anew and has another fingerprint; `--refresh` embeds all again."""
    own = experiment(place, "one.yaml")
    fine = experiment(place, "one.yaml", "retrieve.dpi=40")
    hashes = {"varn.pdf": "1"}
    assert own.fingerprints(hashes)["retrieve"] != fine.fingerprints(hashes)["retrieve"]
    assert own.fingerprints(hashes)["parse"] == fine.fingerprints(hashes)["parse"]
    own.prepare(documents(place), cache)
    assert not fine.has_embedded_pages(documents(place), cache)
    assert fine.prepare(documents(place), cache).report()["times"]["embed pages"]["made"] == 3
    afresh = own.prepare(documents(place), Cache(cache.folder, refresh=True))
    assert afresh.report()["times"]["embed pages"]["made"] == 3


def large(folder: Path) -> Path:
    """A PDF whose page is so large that its picture does not fit into the memory of the renderer."""
    from reportlab.pdfgen.canvas import Canvas

    path = folder / "large.pdf"
    canvas = Canvas(str(path), pagesize=(14_000, 14_000), invariant=True)
    canvas.drawString(72, 720, "A page that is too large.")
    canvas.save()
    return path


def test_a_document_that_cannot_be_rendered(place: Project, cache: Cache, tmp_path: Path) -> None:
    """It is parsed, and then left out as one that cannot be read, or ends the run."""
    sources = {"large.pdf": large(tmp_path), **documents(place)}
    settings = ("retrieve.dpi=45", "ingest.memory_mb=200")
    own = experiment(place, "one.yaml", *settings, "ingest.on_error=skip")
    ready = own.prepare(sources, cache)
    (failure,) = ready.failures
    assert failure.document == "large.pdf"
    assert "memory" in failure.detail
    assert [document.id for document in ready.documents] == ["lune.pdf", "varn.pdf"]
    assert [document.id for document in ready.stated] == ["lune.pdf", "varn.pdf"]
    (hit, _) = ready.retrieve(QUESTIONS)["q1"]
    assert hit.chunk.document != "large.pdf"
    assert hit.chunk.text
    both = hybrid(place, "ingest.memory_mb=200", "ingest.on_error=skip", dpi=45)
    left = both.prepare(sources, cache)
    assert [document.id for document in left.documents] == ["lune.pdf", "varn.pdf"]
    assert {chunk.document for chunk in left.index.chunks} == {"lune.pdf", "varn.pdf"}
    assert left.retrieve(QUESTIONS)["q2"][0].chunk.document == "lune.pdf"
    with pytest.raises(DocumentError, match=r"large\.pdf.*memory"):
        experiment(place, "one.yaml", *settings).prepare(sources, cache)


def test_a_page_without_a_picture_is_left_out(place: Project, cache: Cache) -> None:
    """PDFium cannot render a page that it cannot load; the cache then holds a matrix without rows."""
    own = experiment(place, "one.yaml")
    ready = own.prepare(documents(place), cache)
    facts = [fact.model_copy(update={"pages": fact.pages + 1}) for fact in ready.stated]
    handling = own.retrieve.pages
    assert handling is not None
    indexer = PageIndexer(handling, ready.documents, facts, own.ingest, Preparation(cache), None)
    pages = indexer.index()
    assert list(pages.places) == [(0, 1), (1, 1), (1, 2)]
    assert isinstance(pages.store, np.ndarray)
    assert len(pages.store) == 3
    assert indexer.holds_all()
    assert list(indexer.index().places) == [(0, 1), (1, 1), (1, 2)]


@needs_extra("cluster")
def test_pages_embedded_by_the_workers_of_a_cluster_are_those_of_this_machine(
    place: Project, tmp_path: Path
) -> None:
    from tests.support.away import Away

    own = experiment(place, "many.yaml")
    ready = own.prepare(documents(place), Cache(tmp_path / "local"))
    handling = own.retrieve.pages
    assert handling is not None
    reported: list[tuple[str, int, int]] = []
    cluster = Away(2)
    parts = (handling, ready.documents, ready.stated, own.ingest)
    here = Preparation(Cache(tmp_path / "here"), progress=lambda *step: reported.append(step))
    away = replace(here, cache=Cache(tmp_path / "away"), executor=cluster)
    expected = PageIndexer(*parts, here, None, block=1).index()
    reported.clear()
    # three pages are three batches
    found = PageIndexer(*parts, away, None, block=1).index()
    assert cluster.done == {"RenderWork": 2, "PageEmbedWork": 2}  # the last page is a window of its own
    assert reported[-1] == ("embed pages", 3, 3)
    assert list(found.places) == list(expected.places)
    assert isinstance(found.store, MultiVectors)
    assert isinstance(expected.store, MultiVectors)
    for at in range(3):
        assert np.array_equal(found.store.page(at), expected.store.page(at))


def test_a_folder_of_pictures_is_a_document(place: Project, cache: Cache) -> None:
    """Of the pictures a PDF is made, whose pages are rendered and embedded as those of any other."""
    from PIL import Image

    (place.path / "scans" / "log").mkdir(parents=True)
    for number, colour in enumerate(("red", "blue"), start=1):
        Image.new("RGB", (400, 600), colour).save(place.path / "scans" / "log" / f"{number}.png")
    own = experiment(place, "one.yaml", "data.documents=scans", "data.questions=scanned.json")
    place.write("scanned.json", json.dumps({"c": [{"question": "What is red?", "answers": [["ink"]]}]}))
    ready = own.prepare(corpora.load(own.data, place.path).documents, cache)
    hits = ready.retrieve(QUESTIONS)["q1"]
    assert sorted((hit.chunk.document, *hit.chunk.pages) for hit in hits) == [("log.pdf", 1), ("log.pdf", 2)]
    for hit in hits:
        assert hit.chunk.image is not None
        with Image.open(hit.chunk.image) as picture:
            assert picture.getpixel((5, 5)) == {1: (255, 0, 0), 2: (0, 0, 255)}[hit.chunk.pages[0]]


def test_figures_have_the_vectors_of_their_cut_outs(
    place: Project, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages and figures are ranked by the products of the vectors of their pictures."""
    found = {"kind": "picture", "bbox": [60, 40, 320, 110]}
    place.write(
        "layout.py",
        f"def read(path, options):\n    return {{'pages': [{{'text': '', 'elements': [{found}]}}] * 2}}\n",
    )
    monkeypatch.syspath_prepend(place.path)  # in another folder, another process would load the model
    own = experiment(place, "many.yaml", "ingest={kind: python, target: layout}", "retrieve.units=both")
    assert isinstance(own.retrieve, Visual)
    ready = own.prepare({"varn.pdf": place.path / "pdfs" / "varn.pdf"}, cache)
    (document,) = ready.documents
    pages = page_images(document, 20, cache.folder / "images", own.ingest)
    cuts = cut_out_images(document, 20, cache.folder / "images", own.ingest)
    pictures = {**{f"p{number}": page for number, page in pages.items()}, **cuts}
    assert sorted(pictures) == ["p1", "p1-figure1", "p2", "p2-figure1"]
    vectors = embedding.embed_pages(own.retrieve.embed, list(pictures.values()))
    some_vectors = embedding.embed_questions(own.retrieve.embed, [question.text for question in QUESTIONS])
    for question, query in zip(QUESTIONS, some_vectors, strict=True):
        scores = {
            f"varn.pdf#{name}": sum((vector @ row).max() for row in query)
            for name, vector in zip(pictures, vectors, strict=True)
        }
        best = sorted(scores, key=lambda name: -scores[name])[:2]
        hits = ready.retrieve([question])[question.id]
        assert [hit.chunk.id for hit in hits] == best
        assert [hit.score for hit in hits] == pytest.approx([scores[name] for name in best], abs=1e-4)


def test_no_pages_give_no_hits(place: Project, cache: Cache) -> None:
    ready = experiment(place, "many.yaml").prepare({}, cache)
    assert ready.retrieve(QUESTIONS) == {"q1": (), "q2": ()}
    assert ready.report()["index_bytes"] == 0


def test_text_alone_can_be_shown(place: Project, cache: Cache) -> None:
    ready = experiment(place, "one.yaml", "retrieve.show=text").prepare(documents(place), cache)
    (hit, _) = ready.retrieve(QUESTIONS)["q1"]
    assert (hit.chunk.image, hit.chunk.modality) == (None, "text")
    assert hit.chunk.text


def test_what_is_missing_is_said_before(place: Project, cache: Cache, tmp_path: Path) -> None:
    """A missing folder by the check, a model of another kind before the first question, and for a plan that
    pages must be embedded first."""
    with pytest.raises(ConfigError, match="no such folder"):
        experiment(place, "many.yaml", f"retrieve.embed.model={tmp_path / 'gone'}").check()
    other = experiment(place, "many.yaml", f"retrieve.embed.model={tiny_models()['bert']}")
    other.check()
    with pytest.raises(ConfigError, match="embeds no pictures"):
        other.prepare(documents(place), cache)
    own = experiment(place, "many.yaml", "retrieve.dpi=30")
    corpus = corpora.load(own.data, place.path)
    assert plan(own, corpus, QUESTIONS, cache).unknown == UNREAD
    own.prepare(corpus.documents, cache)
    found = plan(own, corpus, QUESTIONS, cache)
    assert (found.unknown, found.requests, found.missing) == (None, 2, {})


def test_only_retrieval_shows_no_pictures(place: Project, cache: Cache) -> None:
    """Questions are embedded anew, because the time that this takes is measured."""
    own = load_experiment(place.path / "many.yaml", retrieval_only=True)
    assert isinstance(own, SearchExperiment)
    ready = own.prepare(documents(place), cache)
    ready.retrieve(QUESTIONS)
    (row, _) = ready.search(QUESTIONS)
    assert len(row) == 3  # all pages, for the curves of recall
    assert all(hit.chunk.image is None and hit.chunk.text for hit in row)


def test_heatmaps_reach_the_run_and_its_report(place: Project, cache: Cache) -> None:
    """Each hit has one, in the file of the question and over the picture on the page."""
    own = experiment(place, "many.yaml", "retrieve.heatmap=true")
    corpus = corpora.load(own.data, place.path)
    ready = own.prepare(corpus.documents, cache)
    hits = ready.retrieve(corpus.select())
    assert own.fingerprints({}) == experiment(place, "many.yaml").fingerprints({})  # it changes no answer
    done = place.fathoms("run", "many.yaml", "--set", "retrieve.heatmap=true")
    assert done.returncode == 0, done.stderr
    done = place.fathoms("report", "latest", "--thumbnails")
    assert done.returncode == 0, done.stderr
    run = place.runs()[-1]
    _, chunks = unpacked((run / "report.html").read_text())
    for question, row in hits.items():
        shown = json.loads((run / "questions" / f"{question}.json").read_text())["repeats"][0]["hits"]
        drawn = detail_of(chunks, 0, question)[0]["repeats"][0]["hits"]
        for hit, one, other in zip(row, shown, drawn, strict=True):
            assert hit.heatmap is not None
            assert (min(hit.heatmap.values), max(hit.heatmap.values)) == (0, 100)
            assert one["heatmap"] == other["heatmap"] == hit.heatmap.model_dump(mode="json")


def test_at_most_ten_heatmaps_of_a_question(place: Project, cache: Cache) -> None:
    """A run that only searches keeps many more pages."""
    own = experiment(place, "many.yaml", "retrieve.heatmap=true")
    assert isinstance(own.retrieve, Visual)
    index = own.prepare(documents(place), cache).index
    ranked = [list(row) * 6 for row in own.retrieve.ranked(index, QUESTIONS)]
    hits = [own.retrieve.hits_of(index, row) for row in ranked]
    for row in own.retrieve.with_heatmaps(index, QUESTIONS, ranked, hits):
        assert [hit.heatmap is not None for hit in row] == [True] * 10 + [False] * 2


def test_pages_of_a_hybrid_have_the_same_heatmaps(place: Project, cache: Cache) -> None:
    alone = experiment(place, "many.yaml", "retrieve.heatmap=true", "retrieve.top_k=3")
    assert isinstance(alone.retrieve, Visual)
    part = alone.retrieve.model_dump_json(exclude={"show", "query", "top_k"})
    both = experiment(place, "many.yaml", f"retrieve={{kind: hybrid, of: [{{kind: bm25}}, {part}]}}")
    found = [one.prepare(documents(place), cache).retrieve(QUESTIONS) for one in (alone, both)]
    for question in QUESTIONS:
        own, fused = ({hit.chunk.id: hit.heatmap for hit in each[question.id]} for each in found)
        assert own == fused
        assert all(own.values())


def test_one_vector_a_page_has_no_heatmap(place: Project) -> None:
    with pytest.raises(ConfigError, match=r"retrieve: heatmap: it is not known which patches"):
        experiment(place, "one.yaml", "retrieve.heatmap=true")


def test_what_was_embedded_needs_no_model(place: Project, cache: Cache) -> None:
    """Neither a check, nor preparing, nor asking again, nor heatmaps start the process that has the model."""
    own = experiment(place, "many.yaml", "retrieve.heatmap=true")
    first = own.prepare(documents(place), cache).retrieve(QUESTIONS)
    worker = embedding._WORKER.child
    assert worker is not None
    worker.end()
    own.check()
    again = own.prepare(documents(place), Cache(cache.folder))
    assert again.retrieve(QUESTIONS) == first
    assert again.report()["times"]["embed pages"]["made"] == 0
    assert own.has_embedded_pages(documents(place), cache)
    for index in (cache.folder / "indexes").glob("*/vectors.bin"):
        index.write_bytes(bytes(index.stat().st_size))  # damaged: made again of what was embedded
    assert own.prepare(documents(place), cache).retrieve(QUESTIONS) == first
    assert embedding._WORKER.child is worker
    assert not worker.alive


def test_the_command_line(place: Project, cache: Cache) -> None:
    """A dry run before pages are embedded and after it, a run, and one question in full."""
    dry = place.fathoms("run", "many.yaml", "--dry-run", "--set", "retrieve.dpi=25")
    assert dry.returncode == 0, dry.stderr
    assert f"tokens and cost not estimated: {UNREAD}" in dry.stdout
    own = experiment(place, "many.yaml")
    corpus = corpora.load(own.data, place.path)
    own.prepare(corpus.documents, cache).retrieve(corpus.select())
    checked = place.fathoms("doctor", "many.yaml")
    assert checked.returncode == 0, checked.stdout
    assert "ok     retrieve visual" in checked.stdout
    done = place.fathoms("ingest", "many.yaml")
    assert done.returncode == 0, done.stderr
    assert "2 documents, 3 pages" in done.stdout
    assert "all in the cache already" in done.stdout
    done = place.fathoms("run", "many.yaml")
    assert done.returncode == 0, done.stderr
    shown = place.fathoms("show", "latest", "--question", "text-only-01")
    assert shown.returncode == 0, shown.stderr
    assert "It is 41.5 m tall." in shown.stdout
    assert "4 requests" in place.fathoms("run", "many.yaml", "--dry-run").stdout


def test_what_an_approximation_loses_is_said_where_users_look(place: Project, cache: Cache) -> None:
    """At ingestion, after the run, in the manifest and in the report."""
    own = experiment(place, "many.yaml", "retrieve.precision=binary")
    corpus = corpora.load(own.data, place.path)
    ready = own.prepare(corpus.documents, cache)
    ready.retrieve(corpus.select())
    note = ready.notes["approximation"]
    said = f"(recall@2 {note['recall']:.3f})"
    for command in ("ingest", "run"):
        done = place.fathoms(command, "many.yaml", "--set", "retrieve.precision=binary")
        assert done.returncode == 0, done.stderr
        assert said in " ".join((done.stdout + done.stderr).split())
    run = place.runs()[-1]
    assert json.loads((run / "manifest.json").read_text())["approximation"] == note
    assert said in unescape((run / "report.md").read_text())
    overview, _ = unpacked((run / "report.html").read_text())
    assert said in json.dumps(overview)
