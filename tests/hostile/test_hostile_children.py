"""No child process outlives its parent, however the parent ends and whatever the child is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import needs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
]

HERE = Path(__file__).parent
SAMPLE = HERE.parent.parent / "data" / "sample" / "kestrel-irrigation-trial.pdf"
ENDINGS = (signal.SIGKILL, signal.SIGHUP, signal.SIGTERM)

STUCK = """
import sys
from pathlib import Path
from typing import ClassVar
sys.path.insert(0, sys.argv[1])
from fathoms.ingest import PdfParser, parse_all
class Stuck(PdfParser):
    kind: str = "stuck"
    reader: ClassVar[str] = "stuck_reader"
parse_all(Stuck(timeout=300), [Path(name) for name in sys.argv[2:]], workers=2)
"""

EMBED = """
import threading
from fathoms.models import OnnxEmbedder
from fathoms.models.embed import process as embedding
texts = ["The pump stops at 130 kPa. " * 40] * 20_000
embedding.embed(OnnxEmbedder(), ["one text"])
threading.Thread(target=embedding.embed, args=(OnnxEmbedder(), texts)).start()
print(embedding._WORKER.child.pid, flush=True)
"""

LLAMA = """
import threading
from fathoms.models.chat.llama_server import ChildServer, Settings
from fathoms.models.weights.weights import locate
child = ChildServer(Settings(str(locate("smollm2-135m")), projector=None, n_ctx=256, threads=1))
child.address
print(child.child.pid, flush=True)
threading.Event().wait()
"""

DOCLING = """
import sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.support.docling_samples import OFFLINE, own_workers
from fathoms.ingest import parse_all
page = lambda done, total: print(*own_workers(), flush=True)
parse_all(OFFLINE, [Path(name) for name in sys.argv[2:]], workers=2, on_page=page)
"""


def running(pids: list[int]) -> list[int]:
    """Those of the processes that still run."""
    found = []
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(pid)
        except OSError:
            pass
    return found


def assert_ended(pids: list[int]) -> None:
    """All processes end soon; they are killed where they do not."""
    end = time.monotonic() + 60
    while running(pids) and time.monotonic() < end:
        time.sleep(0.02)
    left = running(pids)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    # A suite that runs under nohup passes its ignored SIGHUP on.
    reset = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
    command = [sys.executable, "-c", reset + code, *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    )


def end(parent: subprocess.Popen[str], how: signal.Signals) -> None:
    parent.send_signal(how)
    parent.communicate(timeout=120)
    assert parent.returncode == -how


def test_readers_of_pdfs_and_what_they_started_end_with_their_parent(tmp_path: Path) -> None:
    for how in ENDINGS:
        notes = [tmp_path / f"{how.name}-{number}.pids" for number in range(2)]
        for note in notes:
            note.with_suffix(".pdf").write_bytes(SAMPLE.read_bytes())
        parent = start(
            STUCK, str(HERE.parent / "support"), *(str(note.with_suffix(".pdf")) for note in notes)
        )
        while not all(note.exists() for note in notes):
            assert parent.poll() is None
            time.sleep(0.02)
        pids = [int(pid) for note in notes for pid in note.read_text().split()]
        assert len(running(pids)) == 4
        end(parent, how)
        assert_ended(pids)


@pytest.mark.parametrize(("code", "asset"), [(EMBED, "minilm-l6-v2"), (LLAMA, "smollm2-135m")])
def test_a_worker_of_a_model_ends_with_its_parent(code: str, asset: str) -> None:
    needs(asset)
    for how in ENDINGS[:2] if code is EMBED else ENDINGS[:1]:
        parent = start(code)
        assert parent.stdout is not None
        pids = [int(parent.stdout.readline())]
        time.sleep(0.3)  # so that it is in the middle of its work
        end(parent, how)
        assert_ended(pids)


@pytest.mark.long  # its libraries take some ten seconds to load
def test_docling_workers_end_with_their_parent() -> None:
    pytest.importorskip("docling")
    needs("layout-cdla")
    papers = [str(path) for path in sorted(SAMPLE.parent.glob("*.pdf"))[:3]]
    parent = start(DOCLING, str(HERE.parents[1]), *papers)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert pids
    end(parent, signal.SIGKILL)
    assert_ended(pids)
