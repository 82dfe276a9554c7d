"""Pictures of pages, drawn from the files that a run read and from no others."""

from __future__ import annotations

import base64
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fathoms.paths import sha256_file
from fathoms.report.html import Payload, payload
from fathoms.report.html.pictures import WIDTH
from fathoms.runs.run import Run
from fathoms.runs.trust import signed
from fathoms.types.run.manifest import Manifest
from tests.support.pictures import picture
from tests.support.run_in_memory import changed

Json = dict[str, Any]
SAMPLE = Path(__file__).parents[2] / "data" / "sample"
PUMP, FERRY = "lumet-3-pump-manual.pdf", "tallowmere-ferry-audit.pdf"


@pytest.fixture
def sample_run(
    run_of: Callable[..., Run], question: Callable[..., Json], small_run: Callable[..., Run]
) -> Callable[..., Run]:
    """Makes a run of one question on two documents of the sample, and on one that is nowhere."""

    def make(hashes: dict[str, str]) -> Run:
        evidence = [{"document": PUMP, "page": 2, "quote": None}, {"document": "lost.pdf", "page": 1}]
        view = question("q", 1.0, 0.0, files=[PUMP], evidence=evidence)
        view["repeats"][0]["hits"] = [
            {"rank": 1, "score": 2.0, "document": FERRY, "pages": [1, 2], "text": "red"},
            {"rank": 2, "score": 1.0, "document": PUMP, "pages": [999], "text": "red"},
            {"rank": 3, "score": 0.5, "document": PUMP, "pages": [], "text": "red"},
        ]
        run = run_of(dict(small_run().summary.plain()), [view])
        documents = {name: {"sha256": sha256} for name, sha256 in hashes.items()}
        data = {"name": "sample", "documents": documents}
        return changed(run, manifest={**run.manifest.plain(), "data": data})

    return make


def chunk(one_payload: Payload, name: str) -> Json:
    """One chunk, unpacked; empty where it is not there."""
    found = [chunk.data for chunk in one_payload.chunks if chunk.name == name]
    return dict(json.loads(gzip.decompress(base64.b64decode(found[0])))) if found else {}


def drawn(one_payload: Payload) -> dict[str, str]:
    """The pictures in the file by key, in base64."""
    head = "picture-"
    return {one.name.removeprefix(head): one.data for one in one_payload.chunks if one.name.startswith(head)}


def test_gold_and_retrieved_pages_have_pictures(sample_run: Callable[..., Run]) -> None:
    hashes = {name: sha256_file(SAMPLE / name) for name in (PUMP, FERRY)}
    one_payload = payload([sample_run(hashes)], thumbnails=True)
    pictures, found = drawn(one_payload), chunk(one_payload, "d0-0")["questions"]["q"]
    gold, lost = (item["thumbnail"] for item in found["evidence"])
    first, beyond, unknown = (hit["thumbnail"] for hit in found["repeats"][0]["hits"])
    assert [gold, first, first.replace("-1", "-2")] == list(pictures)
    assert (lost, unknown) == (None, None)
    assert beyond not in pictures  # there is no page 999
    for data in pictures.values():
        picture = Image.open(io.BytesIO(base64.b64decode(data)))
        assert abs(picture.width - WIDTH) <= 1
        low, high = picture.convert("L").getextrema()
        assert (low < 100, high) == (True, 255)  # print on white
    assert one_payload.warnings == [
        "no pictures of pages of lost.pdf: not found here, or changed since the run"
    ]


@pytest.mark.slow
def test_the_place_of_a_retrieved_text_is_framed_on_its_page(sample_run: Callable[..., Run]) -> None:
    from pypdfium2 import PdfDocument

    run = sample_run({name: sha256_file(SAMPLE / name) for name in (PUMP, FERRY)})
    [view] = run.views()
    box = {"page": 1, "bbox": [72.2, 100, 300, 120.9]}
    view["repeats"][0]["hits"][0]["boxes"] = [
        box,
        {"page": 2, "bbox": [0, 0, 9, 9]},
        {"page": 1, "bbox": [0, 0, 1e999, 9]},
    ]
    view["question"]["evidence"][0]["bbox"] = [10, 20, 30, 40]
    heatmap = {"columns": 2, "rows": 1, "values": [0, 100]}
    for number in (0, 1):  # the second hit has no picture to draw it on
        view["repeats"][0]["hits"][number]["heatmap"] = heatmap
    one_payload = payload([changed(run, views=lambda: [view])], thumbnails=True)
    sizes, found = chunk(one_payload, "pages")["sizes"], chunk(one_payload, "d0-0")["questions"]["q"]
    hit, evidence = found["repeats"][0]["hits"][0], found["evidence"][0]
    first, second = hit["places"].values()
    assert (first, second) == ([[72, 100, 300, 121]], [[0, 0, 9, 9]])
    assert evidence["boxes"] == [[10, 20, 30, 40]]
    assert hit["heatmap"] == heatmap
    with PdfDocument(SAMPLE / FERRY) as document:
        assert sizes[hit["thumbnail"]] == list(document[0].get_size())
    assert sizes.keys() == drawn(one_payload).keys()


@pytest.mark.slow
def test_a_run_without_documents_hides_no_picture_of_another(sample_run: Callable[..., Run]) -> None:
    hashes = {name: sha256_file(SAMPLE / name) for name in (PUMP, FERRY)}
    one_payload = payload([sample_run(hashes), sample_run({})], thumbnails=True)
    assert len(drawn(one_payload)) == 3  # page 2 of the ferry was retrieved too
    assert one_payload.warnings == [
        "no pictures of pages of lost.pdf: not found here, or changed since the run"
    ]


def test_a_document_that_has_changed_has_no_picture(sample_run: Callable[..., Run]) -> None:
    hashes = {PUMP: "0" * 64, FERRY: sha256_file(SAMPLE / FERRY)}
    one_payload = payload([sample_run(hashes)], thumbnails=True)
    assert len(drawn(one_payload)) == 2
    assert PUMP in one_payload.warnings[0]


def test_nobody_looks_for_documents_unasked(sample_run: Callable[..., Run]) -> None:
    one_payload = payload([sample_run({PUMP: sha256_file(SAMPLE / PUMP)})])
    assert not drawn(one_payload)
    assert not one_payload.warnings


def test_a_folder_starts_where_the_configuration_was(sample_run: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "papers" / "old").mkdir(parents=True)
    (tmp_path / "papers" / "old" / "lost.PDF").write_bytes((SAMPLE / PUMP).read_bytes())
    run = sample_run({"lost.PDF": sha256_file(SAMPLE / PUMP)})
    [view] = run.views()
    view["question"]["evidence"] = [{"document": "lost.PDF", "page": 2}]
    view["repeats"][0]["hits"] = []
    manifest = {**run.manifest.plain(), "folder": str(tmp_path), "config": {"data": {"documents": "papers"}}}
    manifest = signed(Manifest.model_validate(manifest)).plain()
    one_payload = payload([changed(run, manifest=manifest, views=lambda: [view])], thumbnails=True)
    assert len(drawn(one_payload)) == 1
    assert not one_payload.warnings


def test_a_document_that_cannot_be_rendered_is_named(sample_run: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "lost.pdf").write_bytes(b"%PDF-1.7\nand nothing else")
    run = sample_run({"lost.pdf": sha256_file(tmp_path / "lost.pdf")})
    config = {"data": {"documents": str(tmp_path)}}
    run = changed(
        run, manifest=signed(Manifest.model_validate({**run.manifest.plain(), "config": config})).plain()
    )
    one_payload = payload([run], thumbnails=True)
    assert f"{PUMP}, {FERRY}: not found" in one_payload.warnings[0]  # nobody knows which files the run read
    assert one_payload.warnings[1] == "no pictures of pages of lost.pdf: they cannot be rendered"


def test_pictures_in_files_of_their_own(
    run_of: Callable[..., Run],
    question: Callable[..., Json],
    small_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    """They lie beside the question file or in the folder of the data set. What cannot be read is named."""
    text = {"title": "Mine", "licence": "none", "questions": {"file": "questions.json"}}
    (tmp_path / "mine.yaml").write_text(json.dumps({"name": "mine", **text}))
    paths = [
        tmp_path / name
        for name in ("mine/a.png", "own/b.png", "own/broken.png", "own/lost.png", "else/c.png")
    ]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"no picture" if path.stem == "broken" else picture("map", kind="PNG"))
    paths[3].unlink()
    view = question("q", 1.0, 0.0, evidence=[])
    view["repeats"][0]["hits"] = [
        {"rank": rank, "score": 1.0, "document": "", "pages": [], "text": "red", "image": str(path)}
        for rank, path in enumerate(paths, start=1)
    ]
    data = {"name": "mine.yaml", "questions": "own/questions.json"}
    run = run_of(dict(small_run().summary.plain()), [view])
    manifest = {**run.manifest.plain(), "folder": str(tmp_path), "config": {"data": data}}
    one_payload = payload(
        [changed(run, manifest=signed(Manifest.model_validate(manifest)).plain())],
        thumbnails=True,
    )
    hits = chunk(one_payload, "d0-0")["questions"]["q"]["repeats"][0]["hits"]
    pictures = drawn(one_payload)
    assert [hit["picture"] in pictures for hit in hits] == [True, True, False, False, False]
    assert one_payload.warnings == [
        "no picture of lost.png, broken.png: the file is missing or cannot be read"
    ]
