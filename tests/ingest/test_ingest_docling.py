"""The parser `docling`: its options, what it needs, and what the real converter gives."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from fathoms.errors import ConfigError, MissingWeightsError, ModelError
from fathoms.ingest import Docling, Parser, PdfParser, parse_all, parse_in_child
from fathoms.ingest.docling.process import unusable
from fathoms.pipeline.pipeline import Pipeline
from fathoms.runs.cache import Cache
from fathoms.types import Document
from tests.support.docling_samples import OFFLINE, SAMPLE, extract, needs_docling, own_workers, sample
from tests.support.extras import needs_extra


def docling(**options: Any) -> Docling:
    """A parser from plain options, as a config gives them."""
    return Docling.model_validate(options)


def test_the_defaults_are_the_papers() -> None:
    settings = Docling().settings(threads=1)
    assert settings["ocr"] == {
        "kind": "easyocr",
        "full_page": True,
        "languages": ["en"],
        "scale": 3.0,
        "weights": None,
    }
    assert settings["layout"] == {"kind": "docling"}
    assert settings["tables"] == {"kind": "tableformer", "cell_matching": True, "mode": "accurate"}
    assert not settings["picture_text"]


def test_the_kind_chooses_the_parser() -> None:
    union: TypeAdapter[PdfParser] = TypeAdapter(Parser)
    parser = union.validate_python({"kind": "docling", "ocr": {"kind": "easyocr", "full_page": False}})
    assert isinstance(parser, Docling)
    with pytest.raises(ValidationError):
        union.validate_python({"kind": "docling", "tables": {"kind": "geometric", "cell_matching": True}})


def test_the_export_is_not_part_of_the_conversion() -> None:
    loud = docling(picture_text=True)
    assert loud.identity() != Docling().identity()
    assert loud.native_identity() == Docling().native_identity()
    assert docling(ocr={"kind": "none"}).native_identity() != Docling().native_identity()


def test_limits_and_threads_are_in_no_fingerprint() -> None:
    same = docling(timeout=5, page_timeout=5, memory_mb=512, threads=1, device="cpu", on_error="skip")
    assert same.identity() == Docling().identity()


def test_weights_count_by_their_hash() -> None:
    identity = docling(ocr={"kind": "easyocr", "weights": "easyocr-en"}, layout={"kind": "cdla"}).identity()
    assert identity["weights"] == {
        "ocr": {
            "craft_mlt_25k.pth": "4a5efbfb48b4081100544e75e1e2b57f8de3d84f213004b14b85fd4b3748db17",
            "english_g2.pth": "e2272681d9d67a04e2dff396b6e95077bc19001f8f6d3593c307b9852e1c29e8",
        },
        "layout": {"layout_cdla.onnx": "25b1f27ec56aa932a48f30cbd6293c358a156280f4b20b0a973bab210c39f62c"},
    }


def test_the_hub_is_left_alone_where_it_is_not_needed() -> None:
    assert Docling().needs_hub
    assert docling(ocr={"kind": "easyocr"}, layout={"kind": "cdla"}, tables={"kind": "none"}).needs_hub
    assert not OFFLINE.needs_hub
    assert OFFLINE.environment(threads=1)["HF_HUB_OFFLINE"] == "1"


@pytest.mark.parametrize(
    ("options", "asset"),
    [
        pytest.param({"layout": {"kind": "cdla"}}, "layout-cdla", marks=needs_extra("docling_offline")),
        ({"ocr": {"kind": "easyocr", "weights": "easyocr-en"}}, "easyocr-en"),
    ],
)
def test_weights_that_were_not_pulled_are_named(
    options: dict[str, Any], asset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("docling")
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingWeightsError, match=f"fathoms models pull {asset}"):
        docling(**options).require()


def test_a_folder_of_weights_must_be_there(tmp_path: Path) -> None:
    pytest.importorskip("docling")
    with pytest.raises(ConfigError, match=r"ingest\.ocr\.weights: .* is not a folder"):
        docling(
            ocr={"kind": "easyocr", "weights": str(tmp_path / "none")}, layout={"kind": "docling"}
        ).require()


@pytest.mark.parametrize(
    ("languages", "lacking"),
    [
        (["en"], ["english_g2.pth"]),
        (["de", "en"], ["latin_g2.pth"]),
        (["ja", "en"], ["japanese_g2.pth"]),
        (["ar"], ["arabic.pth"]),
        (["ru", "de"], ["cyrillic_g2.pth"]),
        (["zh-Hans"], []),  # which is not a code of EasyOCR, so that nothing is known
    ],
)
def test_weights_must_have_what_the_languages_need(
    tmp_path: Path, languages: list[str], lacking: list[str]
) -> None:
    pytest.importorskip("docling")
    if find_spec("easyocr") is None:
        pytest.skip("EasyOCR is not installed")
    (tmp_path / "craft_mlt_25k.pth").touch()
    own = {"kind": "easyocr", "weights": str(tmp_path), "languages": languages}
    parser = docling(ocr=own, layout={"kind": "docling"})
    if not lacking:
        parser.require()
        return
    with pytest.raises(ConfigError, match=f"needs {lacking[0]}, which .* does not have"):
        parser.require()
    (tmp_path / lacking[0]).touch()
    parser.require()


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No hub, no cached weights of others, and a proxy that nobody serves."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("EASYOCR_MODULE_PATH", str(tmp_path / "easyocr"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")


@pytest.mark.slow
@pytest.mark.usefixtures("no_network")
def test_weights_that_cannot_be_had_are_one_error_that_says_what_to_do() -> None:
    needs_docling()
    with pytest.raises(ModelError, match="fathoms models pull easyocr-en"):
        parse_all(docling(layout={"kind": "cdla"}), sorted(SAMPLE.glob("*.pdf"))[:1], workers=1)
    assert own_workers() == []


BUILDS = """
import gc, json, sys
gc.set_threshold(100_000)
from fathoms.ingest.docling.convert import Converter
from fathoms.ingest.docling.imports import import_what_is_used
from fathoms.ingest.docling.worker import described_error
import_what_is_used(json.loads(sys.argv[2])[0])
from fathoms.ingest.docling.backend import DrawsOnce, DrawsOncePipeline
# Docling still has what they replace, or each page would be drawn twice
assert hasattr(DrawsOnce.__base__, "_populate_page_images")
assert hasattr(DrawsOncePipeline.__base__, "_init_models")
found = []
for settings in json.loads(sys.argv[2]):
    try:
        Converter(settings)
    except Exception as error:
        found.append(described_error(error))
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""
"""What a worker does with its settings, for several of them, because a worker takes seconds to start."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.usefixtures("no_network")
def test_a_converter_that_cannot_be_built_is_one_error_that_says_what_to_do(tmp_path: Path) -> None:
    needs_docling("easyocr-en")

    def reading(language: str) -> Docling:
        ocr = {"kind": "easyocr", "weights": "easyocr-en", "languages": [language]}
        return OFFLINE.model_copy(update={"ocr": docling(ocr=ocr).ocr})

    cases = [
        (docling(ocr={"kind": "none"}), ModelError, "layout: {kind: cdla}"),
        (reading("xx"), ConfigError, "ingest.ocr.languages: "),
        (reading("de"), ConfigError, "ingest.ocr.weights: "),
    ]
    settings = json.dumps([parser.settings(threads=1) for parser, _, _ in cases])
    command = [sys.executable, "-c", BUILDS, str(tmp_path / "told.json"), settings]
    subprocess.run(command, check=True, capture_output=True)
    for (parser, kind, words), said in zip(
        cases, json.loads((tmp_path / "told.json").read_text()), strict=True
    ):
        error = unusable(parser, said["classes"], said["said"])
        assert isinstance(error, kind)
        assert words in str(error)


@pytest.mark.slow
class TestSample:
    """The sample corpus, converted without OCR by the real converter."""

    @pytest.fixture
    def documents(self) -> dict[str, Document]:
        needs_docling()
        return sample()[0]

    @pytest.mark.parametrize(
        ("name", "page", "text"),
        [
            ("kestrel", 1, "Twenty-four plots were followed through the seasons of 2021 and 2022."),
            ("kestrel", 5, "The trial was paid for by the Tallowmere Rural Fund under grant RF-2020/58."),
            ("lumet", 1, "Document IFU-L3, revision 6, November 2022."),
            ("tallowmere", 2, "A sailing counts as punctual"),
        ],
    )
    def test_text_stands_on_its_page(
        self, name: str, page: int, text: str, documents: dict[str, Document]
    ) -> None:
        found = [p.number for p in documents[name].pages if text in " ".join(p.text.split())]
        assert found == [page]

    def test_headings_are_markdown(self, documents: dict[str, Document]) -> None:
        assert "\n## References\n" in documents["kestrel"].pages[4].text

    @pytest.mark.parametrize(
        ("name", "page", "cells"),
        [
            ("kestrel", 2, ["0-20", "29", "47", "24", "1.31", "0.318"]),
            ("skarrow", 3, ["Quill spectrograph", "Hesper, lower focus", "380-910 nm", "121", "6"]),
            ("tallowmere", 5, ["Ebrec clay", "1,460", "183"]),
        ],
    )
    def test_a_row_of_a_table_is_one_row(
        self, name: str, page: int, cells: list[str], documents: dict[str, Document]
    ) -> None:
        rows = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in documents[name].pages[page - 1].text.splitlines()
            if line.startswith("|")
        ]
        assert cells in rows

    def test_tables_and_pictures_are_counted(self, documents: dict[str, Document]) -> None:
        assert all((OFFLINE.count(document, "table") or 0) >= 3 for document in documents.values())
        assert all((OFFLINE.count(document, "picture") or 0) >= 2 for document in documents.values())

    def test_boxes_lie_on_the_page(self, documents: dict[str, Document]) -> None:
        for document in documents.values():
            for page in document.pages:
                for element in page.elements:
                    left, top, right, bottom = element.bbox or (0, 0, 0, 0)
                    assert 0 <= left < right <= 612
                    assert 0 <= top < bottom <= 842

    def test_a_scan_without_ocr_is_an_empty_page(self, documents: dict[str, Document]) -> None:
        assert [page.number for page in documents["tallowmere"].pages] == [1, 2, 3, 4, 5, 6]
        assert "HULL SURVEY" not in documents["tallowmere"].pages[5].text

    def test_progress_is_told_by_page(self, documents: dict[str, Document]) -> None:
        _, steps = sample()
        assert steps[0][0] == 0
        assert steps[-1] == (27, 27)
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert len({done for done, _ in steps}) > 15
        assert len(documents) == 5

    def test_the_document_is_remade_from_what_is_kept(self, documents: dict[str, Document]) -> None:
        document = documents["lumet"]
        again = OFFLINE.from_native(document.path, document.sha256, document.native or "")
        assert again == document
        assert again.native == document.native

    def test_the_text_inside_figures_needs_no_other_conversion(self, documents: dict[str, Document]) -> None:
        document = documents["lumet"]
        loud = docling(picture_text=True).from_native(document.path, document.sha256, document.native or "")
        assert "LEFT 31.5 ml" in loud.pages[1].text
        assert "LEFT 31.5 ml" not in document.pages[1].text
        assert len(loud.pages) == len(document.pages)


@pytest.mark.slow
def test_remaking_a_document_imports_no_torch() -> None:
    needs_docling()
    code = "import sys, fathoms.ingest.docling.export; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-W", "error", "-c", code]).returncode == 0


@pytest.mark.long
@pytest.mark.slow
def test_this_process_converts_as_the_child_does() -> None:
    needs_docling()
    child = sample()[0]["lumet"]
    code = (
        "import sys; from pathlib import Path; from tests.support.docling_samples import OFFLINE;"
        "from fathoms.ingest.docling.imports import import_what_is_used;"
        "import_what_is_used(OFFLINE.settings(1));"
        "sys.stdout.write(OFFLINE.parse(Path(sys.argv[1])).model_dump_json())"
    )
    command = [sys.executable, "-c", code, str(child.path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    assert Document.model_validate_json(done.stdout) == child.model_copy(update={"native": None})


@pytest.mark.slow
def test_easyocr_reads_what_stands_in_pixels(tmp_path: Path) -> None:
    """What the PDF has as text is kept. A whole page is read by OCR in `tests/cli/test_cli_reading.py`."""
    needs_docling("easyocr-en")
    ocr = {"kind": "easyocr", "weights": "easyocr-en", "full_page": False, "scale": 2.0}
    words = ["21.6", "are reliable, but their clocks"]
    parser = OFFLINE.model_copy(update={"ocr": docling(ocr=ocr).ocr, "picture_text": True})
    document = parse_in_child(parser, extract(tmp_path, "skarrow", 3))
    assert [word for word in words if word not in document.text] == []
    assert document.warnings == ()


def pipeline(chunk: str, **options: Any) -> Pipeline:
    """A pipeline that takes no model but Docling's."""
    return Pipeline.model_validate(
        {
            "ingest": OFFLINE.model_copy(update=options),
            "chunk": {"kind": chunk},
            "embed": {"kind": "lexical"},
            "generate": {"kind": "scripted", "default": "Nobody can say."},
        }
    )


@pytest.mark.slow
def test_what_only_the_export_needs_converts_nothing_again(tmp_path: Path) -> None:
    needs_docling()
    path, cache = extract(tmp_path, "lumet", 2), Cache(tmp_path / "cache")
    stages: list[str] = []

    def texts(config: Pipeline) -> str:
        stages.clear()
        ready = config.prepare(
            {path.name: path}, cache, workers=1, progress=lambda *counts: stages.append(counts[0])
        )
        return " ".join(chunk.text for chunk in ready.index.chunks)

    assert "LEFT 31.5 ml" not in texts(pipeline("page"))
    assert "page" in stages
    assert "LEFT 31.5 ml" in texts(pipeline("page", picture_text=True))
    assert "page" not in stages
    assert "LEFT 31.5 ml" not in texts(pipeline("docling-hybrid"))
    assert "page" not in stages
    cache.close()


def test_the_hybrid_chunker_needs_the_parser() -> None:
    config = Pipeline.model_validate(
        {"chunk": {"kind": "docling-hybrid"}, "generate": {"kind": "scripted", "default": "?"}}
    )
    with pytest.raises(ConfigError, match=r"needs ingest: \{kind: docling\}"):
        config.checks()["chunk"]()
