"""Embedding in a worker process: the same vectors, the same errors, and nothing of it in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from fathoms.errors import ConfigError, MissingWeightsError, ModelError
from fathoms.models import LexicalEmbedder, OnnxEmbedder
from fathoms.models.embed import process as embedding

pytestmark = pytest.mark.slow  # processes of their own

TEXTS = ["The pump stops at 130 kPa.", "Ümläute, 漢字 and \u202e a mark", "", "a" * 5000]


@pytest.mark.parametrize("query", [False, True])
def test_the_vectors_are_the_embedders_own(minilm: OnnxEmbedder, query: bool) -> None:
    embedder = minilm.model_copy(update={"query_prefix": "query: ", "document_prefix": "text: "})
    own = embedder.embed_queries(TEXTS) if query else embedder.embed(TEXTS)
    found = embedding.embed(embedder, TEXTS, query=query)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, own)
    assert embedding.embed(embedder, [], query=query).shape == (0, 384)


def test_the_library_and_the_weights_stay_out_of_the_asking_process(minilm: OnnxEmbedder) -> None:
    code = (
        "import sys\n"
        "from fathoms.models import OnnxEmbedder\n"
        "from fathoms.models.embed import process as embedding\n"
        "embedding.check(OnnxEmbedder())\n"
        "assert embedding.embed(OnnxEmbedder(), ['a text']).shape == (1, 384)\n"
        "print(sorted({'onnxruntime', 'tokenizers'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_what_counts_words_needs_no_process() -> None:
    code = (
        "import subprocess\n"
        "from fathoms.models import LexicalEmbedder\n"
        "from fathoms.models.embed import process as embedding\n"
        "subprocess.Popen = None\n"
        "print(len(embedding.embed(LexicalEmbedder(), ['one', 'two'])))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"
    np.testing.assert_array_equal(embedding.embed(LexicalEmbedder(), TEXTS), LexicalEmbedder().embed(TEXTS))


def test_its_errors_are_raised_here(
    minilm: OnnxEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"not a model")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"model\.onnx could not be loaded"):
        embedding.embed(OnnxEmbedder(model=str(model)), ["text"])
    with pytest.raises(ModelError, match=r"embedding failed: \w+"):  # a tokenizer takes no half of a letter
        embedding.embed(minilm, ["\ud800"])
    assert embedding.embed(minilm, ["and it goes on"]).shape == (1, 384)
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))  # it is seen in the process too
    with pytest.raises(MissingWeightsError, match="fathoms models pull minilm-l6-v2"):
        embedding.embed(OnnxEmbedder(), ["text"])


@pytest.mark.skipif(sys.platform != "linux", reason="finds the process in /proc")
def test_a_process_that_is_killed_is_told_and_started_again(minilm: OnnxEmbedder) -> None:
    worker = embedding.Worker()
    before = _workers()
    request = {"embedder": minilm.model_dump(mode="json"), "texts": ["a text"], "query": False}
    _, first = worker.ask(request)
    (process,) = _workers() - before
    os.kill(process, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (process, signal.SIGKILL)).start()  # it dies while it is asked
    with pytest.raises(ModelError, match=r"embedding broke off: its process ended \(SIGKILL\)"):
        worker.ask(request)
    assert worker.ask(request)[1] == first
    (again,) = _workers() - before
    del worker
    assert _workers() == before
    assert again != process


@pytest.mark.skipif(sys.platform == "win32", reason="forks are Unix's")
def test_a_forked_process_has_a_worker_of_its_own(minilm: OnnxEmbedder) -> None:
    """Two that shared the pipes would read each other's answers."""
    code = (
        "import os\n"
        "from fathoms.models import OnnxEmbedder\n"
        "from fathoms.models.embed import process as embedding\n"
        "first = embedding.embed(OnnxEmbedder(), ['one'])\n"
        "before = embedding._WORKER.child.pid\n"
        "child = os.fork()\n"
        "assert (embedding.embed(OnnxEmbedder(), ['one']) == first).all()\n"
        "assert (embedding._WORKER.child.pid == before) == bool(child)\n"
        "if child: print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")
def test_an_answer_that_nobody_waited_for_is_never_another_ones(minilm: OnnxEmbedder) -> None:
    """Ctrl-C while a batch is embedded, in a session that goes on."""
    embedding.embed(minilm, ["the process has started, and its model is loaded"])
    texts = [f"{'The pump stops at 130 kPa. ' * 40}{number}" for number in range(100)]
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        embedding.embed(minilm, texts)
    np.testing.assert_array_equal(embedding.embed(minilm, ["one", "two"]), minilm.embed(["one", "two"]))


def _workers() -> set[int]:
    """The worker processes of this process that run."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == os.getpid() and b"fathoms.models.embed.worker" in command:
            found.add(int(folder.name))
    return found
