"""Pages as images, from the PDF to the request that a model with sight gets, over a real socket."""

from __future__ import annotations

import base64
import json
from io import BytesIO
from typing import Any

import pypdfium2 as pdfium
import pytest
from PIL import Image

from tests.support.http_stub import serving
from tests.support.project import Project

pytestmark = pytest.mark.slow

COMPLETION = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "seer",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is 41.5 m."}}
    ],
    "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
}

CONFIG = """\
name: seen
data: {{questions: questions.json, documents: pdfs}}
chunk: {{kind: page, image_dpi: 36}}
retrieve: {{kind: bm25, top_k: 1}}
prompt: {{template: page-images}}
generate: {{kind: openai-compatible, base_url: "{address}/v1", model: seer, max_concurrency: 1}}
"""


def shown(picture: dict[str, Any]) -> Image.Image:
    """The picture of a message, decoded."""
    return Image.open(BytesIO(base64.b64decode(picture["image_url"]["url"].partition(",")[2])))


def test_the_page_that_was_found_is_shown(project: Project) -> None:
    with serving({"/v1/models": {"data": [{"id": "seer"}]}, "/v1/chat/completions": COMPLETION}) as stub:
        project.write("seen.yaml", CONFIG.format(address=stub.address))
        done = project.fathoms("run", "seen.yaml", "--question", "text-only-01")
        assert done.returncode == 0, done.stderr
        (body,) = stub.bodies("/v1/chat/completions")

    picture, text = body["messages"][-1]["content"]
    assert text["type"] == "text"
    assert "How tall is the Varn tower?" in text["text"]
    assert "varn.pdf, page 1" in text["text"]
    assert "41.5" not in text["text"]  # the text is what the page was found by, and is not repeated

    with pdfium.PdfDocument(project.path / "pdfs" / "varn.pdf") as document:
        assert shown(picture).tobytes() == document[0].render(scale=0.5).to_pil().convert("RGB").tobytes()

    view = project.json("show", "latest", "--question", "text-only-01")
    assert view["repeats"][0]["scores"]["fathoms"]["correctness"] == 1.0
    assert json.dumps(view).count("0001.png") >= 1


FILES = CONFIG.replace("chunk: {{kind: page, image_dpi: 36}}\n", "").replace(
    "retrieve: {{kind: bm25, top_k: 1}}\nprompt: {{template: page-images}}",
    "retrieve: {{kind: files, form: images, image_dpi: 36}}\nprompt: {{template: attached}}",
)


def test_a_server_that_sees_and_takes_no_pdf_is_shown_every_page(project: Project) -> None:
    with serving({"/v1/models": {"data": [{"id": "seer"}]}, "/v1/chat/completions": COMPLETION}) as stub:
        project.write("seen.yaml", FILES.format(address=stub.address))
        done = project.fathoms("run", "seen.yaml", "--question", "text-only-01")
        assert done.returncode == 0, done.stderr
        (body,) = stub.bodies("/v1/chat/completions")
        refused = project.fathoms("run", "seen.yaml", "--set", "retrieve.form=pdf")
    *pictures, text = body["messages"][-1]["content"]
    assert text == {"type": "text", "text": "How tall is the Varn tower?"}
    with pdfium.PdfDocument(project.path / "pdfs" / "varn.pdf") as document:
        for page, picture in zip(document, pictures, strict=True):
            assert shown(picture).tobytes() == page.render(scale=0.5).to_pil().convert("RGB").tobytes()
    assert refused.returncode == 2
    assert "kind 'openai-compatible' takes no PDFs" in refused.stderr
