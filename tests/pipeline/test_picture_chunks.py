"""Figures and tables among the chunks of text, from a PDF that is drawn here to the answer.

A server that sees says how large each picture is that it is asked to describe.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from fathoms.errors import ConfigError, ModelError
from fathoms.pipeline.experiment import Experiment, load_experiment
from fathoms.runs.cache import Cache
from fathoms.runs.store import Run
from fathoms.types import Hit, ImagePart, Question
from tests.pipeline.test_cut_outs_searched import drawn
from tests.support.project import Project
from tests.support.seer import Seer, seeing

CONFIG = """\
name: pictures
data: {{questions: questions.json, documents: pdfs}}
ingest: {{kind: python, target: layout}}
pictures: {pictures}
retrieve: {{kind: bm25, top_k: 5}}
prompt: {{template: quotes}}
generate: {{kind: scripted, default: "See ![ore](image1) and [2]."}}
"""
DESCRIBED = """\
{{words: description, dpi: 144, generate: {{kind: openai-compatible, base_url: "{address}/v1", model: seer,
  max_concurrency: 1, price: {{input: 1000, output: 5000}}}}}}"""
SIZES = {(84, 624): "A slender tower, drawn in ink.", (584, 84): "A table of prices."}
"""What the server says of the figure and of the table: 30 x 300 and 280 x 30 points with a margin of 6."""
ASKED = Question(id="q", text="Which tower, and how many crowns?", category="c")


def says(pictures: list[bytes], text: str) -> str:
    (picture,) = pictures
    with Image.open(io.BytesIO(picture)) as image:
        return SIZES[image.size]


@pytest.fixture
def seer() -> Iterator[Seer]:
    with seeing(says) as server:
        yield server


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = drawn(tmp_path)
    monkeypatch.chdir(tmp_path)
    return made


def hits(place: Project, pictures: str, question: Question = ASKED) -> tuple[Hit, ...]:
    place.write("own.yaml", CONFIG.format(pictures=pictures))
    own = load_experiment(place.path / "own.yaml")
    assert isinstance(own, Experiment)
    documents = {path.name: path for path in sorted((place.path / "pdfs").glob("*.pdf"))}
    (found,) = own.prepare(documents, Cache(place.path / "cache")).retrieve([question]).values()
    return found


def test_by_the_words_that_the_parser_read_in_them(place: Project) -> None:
    tower, table = hits(place, "{dpi: 144}")
    assert (tower.chunk.id, tower.chunk.text, tower.chunk.pages) == ("varn.pdf#p1-figure1", "a tower", (1,))
    assert (table.chunk.id, table.chunk.text) == ("varn.pdf#p1-table1", "| ore | 17 crowns |")
    assert [box.bbox for box in tower.chunk.boxes] == [(50, 50, 80, 350)]
    sizes = []
    for hit in (tower, table):
        assert hit.chunk.image is not None
        with Image.open(hit.chunk.image) as image:
            sizes.append(image.size)
    assert sizes == list(SIZES)
    assert [hit.chunk.image for hit in hits(place, "{show: text}")] == [None, None]


def test_by_descriptions_each_made_once(place: Project, seer: Seer) -> None:
    described = DESCRIBED.format(address=seer.address)
    slender = ASKED.model_copy(update={"text": "Is it slender?"})
    (found,) = hits(place, described, slender)
    assert found.chunk.text == "A slender tower, drawn in ink."
    assert len(seer.seen) == 2
    prices = ASKED.model_copy(update={"text": "What are the prices?"})
    assert [hit.chunk.id for hit in hits(place, described, prices)] == ["varn.pdf#p1-table1"]
    assert len(seer.seen) == 2


def test_a_picture_that_cannot_be_described_ends_the_run_and_the_others_are_kept(
    place: Project, seer: Seer
) -> None:
    seer.fails = [400]
    with pytest.raises(ModelError, match=r"figure1 on page 1 of varn\.pdf could not be described"):
        hits(place, DESCRIBED.format(address=seer.address))
    assert len(seer.seen) == 1
    (found,) = hits(place, DESCRIBED.format(address=seer.address))
    assert found.chunk.id == "varn.pdf#p1-figure1"
    assert len(seer.seen) == 2


@pytest.mark.slow
def test_a_run_tells_what_descriptions_cost_before_and_after(place: Project, seer: Seer) -> None:
    """Two pictures, each with 1,000 tokens of prompt at $1,000 a million and 10 of reply at $5,000."""
    place.write("own.yaml", CONFIG.format(pictures=DESCRIBED.format(address=seer.address)))
    before = place.fathoms("run", "own.yaml", "--dry-run")
    assert before.returncode == 0, before.stderr
    assert "describe: 2 requests" in before.stdout
    assert not seer.seen
    done = place.fathoms("run", "own.yaml")
    assert done.returncode == 0, done.stderr
    (path,) = place.runs()
    times = json.loads((path / "manifest.json").read_text())["data"]["ingest"]["times"]["describe pictures"]
    assert (times["calls"], times["tokens"]) == (2, 2020)
    assert times["cost"] == pytest.approx(2.1)
    (record,) = Run(path).records()
    assert record.prompt is not None
    assert record.citations is not None
    parts = record.prompt.messages[-1].parts
    assert sum(isinstance(part, ImagePart) for part in parts) == len(record.hits or ())
    again = place.fathoms("run", "own.yaml", "--dry-run")
    assert "describe" not in again.stdout


@pytest.mark.parametrize(
    ("pictures", "change", "message"),
    [
        ("{words: description}", "", "needs a model that sees"),
        ("{generate: {kind: scripted}}", "", "only with words: description"),
        ("{}", "ingest: {kind: pdfium}", "does not say where figures and tables are"),
    ],
)
def test_what_cannot_work_is_refused(place: Project, pictures: str, change: str, message: str) -> None:
    lines = CONFIG.format(pictures=pictures).splitlines()
    key = change.partition(":")[0]
    kept = [line for line in lines if not (key and line.startswith(key))]
    place.write("own.yaml", "\n".join([*kept, change]))
    with pytest.raises(ConfigError, match=message):
        load_experiment(place.path / "own.yaml").check()


def test_descriptions_that_do_not_fit_the_limit_are_not_bought(place: Project, seer: Seer) -> None:
    """The reply of each is estimated at 500 tokens of $5,000 a million: two take more than $5."""
    model = DESCRIBED.format(address=seer.address).partition("generate: ")[2].rstrip("}") + "}}"
    config = CONFIG.format(pictures=DESCRIBED.format(address=seer.address))
    place.write(
        "own.yaml", "".join([config.partition("generate: {kind: scripted")[0], f"generate: {model}\n"])
    )
    done = place.fathoms("run", "own.yaml", "--max-cost", "5")
    assert done.returncode == 2, done.stdout
    assert "describing 2 figures and tables is estimated to take" in done.stderr
    assert not seer.seen


def test_a_picture_that_is_not_described_keeps_its_words_where_documents_may_be_skipped(
    place: Project, seer: Seer
) -> None:
    described = DESCRIBED.format(address=seer.address)
    seer.fails = [400]
    place.write("own.yaml", CONFIG.format(pictures=described).replace("layout}", "layout, on_error: skip}"))
    own = load_experiment(place.path / "own.yaml")
    assert isinstance(own, Experiment)
    documents = {path.name: path for path in sorted((place.path / "pdfs").glob("*.pdf"))}
    ready = own.prepare(documents, Cache(place.path / "cache"))
    words = [chunk.text for chunk in ready.index.chunks if chunk.modality == "image"]
    assert words == ["a tower", "A table of prices."]


def test_other_retrievers_go_without_pictures(place: Project) -> None:
    """So a pipeline with pictures can be compared with one that reads no document."""
    place.write("own.yaml", CONFIG.format(pictures="{}").replace("{kind: bm25, top_k: 5}", "{kind: none}"))
    own = load_experiment(place.path / "own.yaml")
    assert isinstance(own, Experiment)
    own.check()
    assert own.prepare({}, Cache(place.path / "cache")).retrieve([ASKED]) == {"q": ()}
