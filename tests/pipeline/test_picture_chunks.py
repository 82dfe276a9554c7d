"""Figures and tables among the chunks of text, from a PDF that is drawn here to the answer.

A server that sees says how large each picture is that it is asked to describe.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image

from fathoms.corpora import load
from fathoms.errors import ConfigError, ModelError
from fathoms.experiment import Experiment, load_experiment
from fathoms.models.caller import provider_of
from fathoms.pipeline.preparation import Preparation
from fathoms.runner.budget import Budget
from fathoms.runner.plan import plan
from fathoms.runner.reservations import require_price, require_room_for_descriptions
from fathoms.runs.cache import Cache
from fathoms.runs.run import Run
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
QUESTION = Question(id="q", text="Which tower, and how many crowns?", category="c")


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
    drawing = drawn(tmp_path)
    monkeypatch.chdir(tmp_path)
    return drawing


def hits(place: Project, pictures: str, question: Question = QUESTION) -> tuple[Hit, ...]:
    place.write("own.yaml", CONFIG.format(pictures=pictures))
    own = load_experiment(place.path / "own.yaml")
    assert isinstance(own, Experiment)
    documents = {path.name: path for path in sorted((place.path / "pdfs").glob("*.pdf"))}
    (found,) = own.prepare(documents, Cache(place.path / "cache")).retrieve([question]).values()
    return found


@pytest.mark.slow
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


@pytest.mark.slow
def test_by_descriptions_each_made_once(place: Project, seer: Seer) -> None:
    described = DESCRIBED.format(address=seer.address)
    slender = QUESTION.model_copy(update={"text": "Is it slender?"})
    (found,) = hits(place, described, slender)
    assert found.chunk.text == "A slender tower, drawn in ink."
    assert len(seer.seen) == 2
    prices = QUESTION.model_copy(update={"text": "What are the prices?"})
    assert [hit.chunk.id for hit in hits(place, described, prices)] == ["varn.pdf#p1-table1"]
    assert len(seer.seen) == 2


@pytest.mark.slow
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
    (record,) = Run(path).records.all()
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
    some_lines = [line for line in lines if not (key and line.startswith(key))]
    place.write("own.yaml", "\n".join([*some_lines, change]))
    with pytest.raises(ConfigError, match=message):
        load_experiment(place.path / "own.yaml").check()


@pytest.mark.slow
@pytest.mark.parametrize(("most", "limit"), [(512, "5"), (4000, "20")])
def test_descriptions_that_do_not_fit_the_limit_are_not_bought(
    place: Project, seer: Seer, most: int, limit: str
) -> None:
    """The reply of each may have `max_tokens`, at $5,000 a million: two can take $5.12, or $40."""
    described = DESCRIBED.format(address=seer.address).replace(
        "model: seer,", f"model: seer, max_tokens: {most},"
    )
    model = described.partition("generate: ")[2].rstrip("}") + "}}"
    config = CONFIG.format(pictures=described)
    place.write(
        "own.yaml", "".join([config.partition("generate: {kind: scripted")[0], f"generate: {model}\n"])
    )
    done = place.fathoms("run", "own.yaml", "--max-cost", limit)
    assert done.returncode == 2, done.stdout
    said = " ".join(done.stderr.split())
    assert "describing 2 figures and tables can take $" in said
    assert f"--max-cost leaves ${limit}.00" in said
    assert not seer.seen


@pytest.mark.slow
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
    assert own.prepare({}, Cache(place.path / "cache")).retrieve([QUESTION]) == {"q": ()}


@pytest.mark.parametrize("kind", ["none", "whole-document"])
def test_a_retriever_that_goes_without_pictures_has_none_described(
    place: Project, seer: Seer, kind: str
) -> None:
    """So their model is neither planned, nor does its price or its cost matter."""
    unpriced = DESCRIBED.format(address=seer.address).replace(", price: {input: 1000, output: 5000}", "")
    config = CONFIG.format(pictures=unpriced).replace("{kind: bm25, top_k: 5}", f"{{kind: {kind}}}")
    place.write("own.yaml", config.replace("kind: scripted", "kind: scripted, price: {input: 1, output: 1}"))
    own = load_experiment(place.path / "own.yaml")
    assert isinstance(own, Experiment)
    assert "pictures" not in own.served()
    corpus = load(own.data, place.path)
    with closing(Cache(place.path / "cache")) as cache:
        found = plan(own, corpus, corpus.questions, cache)
        assert "describe" not in {**found.providers, **(found.estimates or {})}
        budget = Budget(max_cost=1e-6)
        require_price(own, budget)
        require_room_for_descriptions(own, corpus, Preparation(cache), budget)
    assert not seer.seen


@pytest.mark.slow
def test_what_descriptions_take_is_planned_for_a_search_alone(place: Project, seer: Seer) -> None:
    """Before anything was parsed: two pictures."""
    place.write("own.yaml", CONFIG.format(pictures=DESCRIBED.format(address=seer.address)))
    own = load_experiment(place.path / "own.yaml", retrieval_only=True)
    corpus = load(own.data, place.path)
    with closing(Cache(place.path / "cache")) as cache:
        found = plan(own, corpus, corpus.questions, cache)
        slow = load_experiment(place.path / "own.yaml", ["ingest={kind: docling}"], retrieval_only=True)
        unknown = plan(slow, corpus, corpus.questions, cache)
    assert (unknown.requests, unknown.estimates) == (None, None), "Docling takes long"
    assert found.requests == 2
    assert found.estimates is not None
    assert found.estimates["describe"].requests == 2
    assert not seer.seen


@pytest.mark.slow
def test_a_plan_names_both_models_that_describe(place: Project, seer: Seer) -> None:
    """One describes figures beforehand, and another the pages that are retrieved."""
    described = "{kind: describe, first: {kind: bm25}, generate: {kind: scripted, default: A page.}}"
    config = CONFIG.format(pictures=DESCRIBED.format(address=seer.address))
    place.write("own.yaml", config.replace("{kind: bm25, top_k: 5}", described))
    own = load_experiment(place.path / "own.yaml")
    corpus = load(own.data, place.path)
    with closing(Cache(place.path / "cache")) as cache:
        named = plan(own, corpus, corpus.questions, cache).providers["describe"]
    assert isinstance(own, Experiment)
    assert own.pictures is not None
    assert own.pictures.generate is not None
    assert named == f"{provider_of(own.called['describe'])}, {provider_of(own.pictures.generate)}"


@pytest.mark.slow
def test_candidates_that_a_model_will_cut_do_not_count(place: Project, seer: Seer) -> None:
    """Two pictures are candidates, and the model that answers takes one."""
    graded = (
        "{kind: rerank, top_k: 1, first: {kind: bm25},"
        " by: {kind: llm, generate: {kind: scripted, default: '5'}}}"
    )
    config = CONFIG.format(pictures="{dpi: 144}").partition("generate:")[0]
    model = "{kind: anthropic, model: claude-sonnet-4, max_images: 1}"

    def candidates(retrieve: str) -> int:
        place.write("own.yaml", config.replace("{kind: bm25, top_k: 5}", retrieve) + f"generate: {model}\n")
        own = load_experiment(place.path / "own.yaml")
        assert isinstance(own, Experiment)
        documents = {path.name: path for path in sorted((place.path / "pdfs").glob("*.pdf"))}
        with closing(Cache(place.path / "cache")) as cache:
            (found,) = own.prepare(documents, cache).retrieve([QUESTION]).values()
        return sum(hit.chunk.image is not None for hit in found)

    assert candidates(graded) == 2
    with pytest.raises(ConfigError, match="question q has 2 pictures, and the model takes 1"):
        candidates("{kind: bm25, top_k: 5}")


def test_pictures_beside_a_planted_instruction_are_limited_from_the_start(
    place: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    config = CONFIG.format(pictures="{dpi: 144}").partition("generate:")[0]
    model = "{kind: anthropic, model: claude-sonnet-4, max_images: 4}"
    planted = "{kind: injected, retriever: {kind: bm25, top_k: 5}}"
    place.write("own.yaml", config.replace("{kind: bm25, top_k: 5}", planted) + f"generate: {model}\n")
    own = load_experiment(place.path / "own.yaml")
    assert isinstance(own, Experiment)
    with pytest.raises(ConfigError, match="5 page images are more than the 4"):
        own.checks()["generate"]()
