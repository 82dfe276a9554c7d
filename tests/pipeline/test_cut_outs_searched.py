"""Figures and tables that are retrieved by their pictures, from a PDF that is drawn here to the answer.

The embedder asks a server whose vector of a picture is (width, height) and that of a text (words, letters),
so the nearest picture is known by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from fathoms.errors import ConfigError
from fathoms.experiment import Experiment, load_experiment
from fathoms.runs.cache import Cache
from fathoms.runs.run import Run
from fathoms.types import Question
from tests.support.embedding_server import KEY, Embeddings, embeddings
from tests.support.project import Project

PARSER = '''\
"""A layout parser that knows the only documents of the test."""

from pathlib import Path

TALL = {"kind": "picture", "text": "a tower", "bbox": [50, 50, 80, 350]}
WIDE = {"kind": "table", "text": "| ore | 17 crowns |", "bbox": [10, 360, 290, 390]}
TEXT = {"kind": "text", "text": "Words.", "bbox": [10, 10, 90, 40]}


def read(path, options):
    if options.get("blind"):
        return {"pages": [{"text": "Words."}]}
    if Path(path).name == "bare.pdf":
        return {"pages": [{"text": "Words.", "elements": [TEXT]}]}
    return {"pages": [{"text": "Words.", "elements": [TEXT, TALL, WIDE]}]}
'''
CONFIG = """\
name: cut
data: {{questions: questions.json, documents: pdfs}}
ingest: {{kind: python, target: layout}}
retrieve:
  kind: visual
  embed: {{kind: jina, base_url: "{address}/jina/v1"}}
  units: {units}
  top_k: 3
  dpi: 144
prompt: {{template: page-images}}
generate: {{kind: scripted, default: "17 crowns"}}
metrics: [layout-recall@1, layout-recall@2]
"""
QUESTIONS = {
    "Tables": [
        {
            "question": "How tall is it?",
            "files": ["varn.pdf"],
            "answers": [["17 crowns"]],
            "evidence": [{"document": "varn.pdf", "page": 1, "bbox": [10, 360, 290, 390]}],
        }
    ]
}
TALL, WIDE, PAGE, BARE = "varn.pdf#p1-figure1", "varn.pdf#p1-table1", "varn.pdf#p1", "bare.pdf#p1"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    monkeypatch.setenv("JINA_API_KEY", KEY)
    with embeddings() as running:
        yield running


def drawn(folder: Path) -> Project:
    """A project of two documents of one page of 300 x 400 points, of which one has a figure and a table."""
    (folder / "pdfs").mkdir()
    for name in ("varn.pdf", "bare.pdf"):
        canvas = Canvas(str(folder / "pdfs" / name), pagesize=(300, 400), invariant=True)
        canvas.drawString(20, 380, name)
        canvas.save()
    project = Project(folder)
    project.write("layout.py", PARSER)
    project.write("questions.json", json.dumps(QUESTIONS))
    return project


@pytest.fixture
def place(tmp_path: Path, server: Embeddings, monkeypatch: pytest.MonkeyPatch) -> Project:
    drawing = drawn(tmp_path)
    for units in ("pages", "figures", "both"):
        drawing.write(f"{units}.yaml", CONFIG.format(address=server.address, units=units))
    monkeypatch.chdir(tmp_path)
    return drawing


def found(place: Project, units: str, text: str) -> list[str]:
    """The ids of what is found for a question, best first."""
    own = load_experiment(place.path / f"{units}.yaml")
    assert isinstance(own, Experiment)
    ready = own.prepare(
        {path.name: path for path in sorted((place.path / "pdfs").glob("*.pdf"))},
        Cache(place.path / "cache"),
    )
    (hits,) = ready.retrieve([Question(id="q", text=text, category="c")]).values()
    return [hit.chunk.id for hit in hits]


@pytest.mark.slow
def test_what_is_embedded_is_what_is_found(place: Project, server: Embeddings) -> None:
    """A question of one word of 60 letters is nearest to the tall figure (30 x 300 points and 6 around it,
    twice as many pixels), then to the pages, and then to the wide table; no picture is embedded twice."""
    tall = "x" * 60
    assert found(place, "figures", tall) == [TALL, WIDE]
    assert sorted(server.sizes) == [(84, 624), (584, 84)]
    assert found(place, "both", tall) == [TALL, BARE, PAGE]
    assert sorted(server.sizes) == [(84, 624), (584, 84), (600, 800), (600, 800)], "only pages are new"
    assert found(place, "pages", tall) == [BARE, PAGE]
    assert len(server.sizes) == 4
    # seven words and thirteen characters: by angle 62 degrees, a page 53, the figure 82 and the table 8
    assert found(place, "both", "a b c d e f g") == [BARE, PAGE, TALL]


@pytest.mark.slow
def test_a_hit_names_page_and_box_and_shows_the_cut_out(place: Project) -> None:
    """To the model that answers; retrieval metrics take it as its page."""
    done = place.fathoms("run", "figures.yaml")
    assert done.returncode == 0, done.stderr
    (run,) = place.runs()
    warnings = json.loads((run / "manifest.json").read_text())["data"]["ingest"]["warnings"]
    assert warnings.keys() == {"bare.pdf"}
    assert "no place of a figure or table" in warnings["bare.pdf"][0]
    (record,) = Run(run).records.all()
    first, second = (hit.chunk for hit in record.hits)
    assert (first.id, first.pages, first.modality, first.text) == (TALL, (1,), "image", "a tower")
    assert (second.id, second.text) == (WIDE, "| ore | 17 crowns |")
    assert [(box.page, box.bbox) for box in first.boxes] == [(1, (50, 50, 80, 350))]
    assert first.image is not None
    with Image.open(first.image) as picture:
        assert picture.size == (84, 624)
    assert record.prompt is not None
    assert record.prompt.messages[-1].images == (first.image, second.image)
    (row,) = place.json("report", "latest")
    assert {row["metrics"][name]["overall"]["value"] for name in ("hit@1", "hit@5")} == {1}, row[
        "metrics"
    ].keys()


@pytest.mark.slow
def test_the_box_of_a_hit_is_compared_with_that_of_the_gold(place: Project) -> None:
    """The gold is the table, which comes second."""
    assert place.fathoms("run", "figures.yaml").returncode == 0
    (row,) = place.json("report", "latest")
    assert [row["metrics"][f"layout-recall@{k}"]["overall"]["value"] for k in (1, 2)] == [0, 1]


def test_a_parser_that_knows_no_places_is_refused(place: Project) -> None:
    """One that never does before anything is read, and one that did not after parsing."""
    for units in ("figures", "both"):
        own = load_experiment(place.path / f"{units}.yaml", ["ingest={kind: pdfium}"])
        with pytest.raises(
            ConfigError, match=r"ingest kind 'pdfium' does not say: use ingest: \{kind: docling"
        ):
            own.check()
        blind = load_experiment(place.path / f"{units}.yaml", ["ingest.options={blind: true}"])
        blind.check()
        with pytest.raises(ConfigError, match="kind 'python' found the place of nothing in these documents"):
            blind.prepare({"varn.pdf": place.path / "pdfs" / "varn.pdf"}, Cache(place.path / "cache"))
    doctor = place.fathoms("doctor", "figures.yaml", "--set", "ingest={kind: pdfium}")
    assert doctor.returncode in (1, 2)


@pytest.mark.slow
def test_in_a_hybrid_a_figure_counts_as_its_page(place: Project, server: Embeddings) -> None:
    text = CONFIG.format(address=server.address, units="figures").replace("  kind: visual\n", "", 1)
    head, body = text.split("retrieve:\n")
    options, rest = body.split("prompt:")
    visual = ", ".join(line.strip() for line in options.strip().splitlines())
    place.write(
        "hybrid.yaml",
        f"{head}retrieve: {{kind: hybrid, of: [{{kind: bm25}}, {{kind: visual, {visual}}}]}}\nprompt:{rest}",
    )
    assert found(place, "hybrid", "words") == [PAGE, BARE]
