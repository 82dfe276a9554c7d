"""A real Ollama server, CPU only, for tests: set up once a machine, run as long as a test needs it.

The script that sets it up is acceptance data, as are the papers: where it is absent, tests skip.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.support.ports import free_port

CHATML = """\
FROM {weights}
TEMPLATE \"\"\"{{{{ range .Messages }}}}<|im_start|>{{{{ .Role }}}}
{{{{ .Content }}}}<|im_end|>
{{{{ end }}}}<|im_start|>assistant
\"\"\"
PARAMETER stop <|im_end|>
PARAMETER num_thread 1
"""
"""One thread, because threads that wait for one another keep the CPUs busy that the tests share."""
MODELS = ("gemma3:4b", "nomic-embed-text")
"""Names that the shipped configs use; here, all are the small model."""


class NoServerError(Exception):
    """It cannot be set up here, and why."""


def set_up(script: Path, folder: Path, weights: Path) -> Path:
    """The folder with the program and its models, made where it is not there; safe for several processes."""
    if not script.is_file():
        raise NoServerError(f"{script} is not there")
    if not shutil.which("gcc"):
        raise NoServerError("gcc is not installed")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = folder / "ready"
        if not ready.is_file() or ready.read_text() != CHATML:
            shutil.rmtree(folder, ignore_errors=True)
            done = subprocess.run(["bash", script, folder], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise NoServerError(f"{script.name} failed: {done.stderr[-300:]}")
            with OllamaServer(folder).running() as server:
                for name in MODELS:
                    server.create(name, weights)
            ready.write_text(CHATML)
    return folder


@dataclass
class OllamaServer:
    """One server on a loopback port of its own."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.folder),
            "OLLAMA_HOST": f"127.0.0.1:{self.port}",
            "OLLAMA_MODELS": str(self.folder / "models"),
            "OLLAMA_NUM_GPU": "0",
            "OLLAMA_NOPRUNE": "1",  # the models are shared with the servers of other processes
            "HOME": str(self.folder),
        }

    @contextmanager
    def running(self) -> Iterator[OllamaServer]:
        """Started, and stopped at the end."""
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.port = free_port()
        self.process = subprocess.Popen(
            [self.folder / "ollama-lib", "serve"],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for _ in range(1200):
            try:
                httpx.get(f"{self.address}/api/version", timeout=5)
                return
            except httpx.HTTPError:
                time.sleep(0.1)
        self.stop()
        raise NoServerError("the Ollama server does not answer")

    def stop(self) -> None:
        """Stop it, and the process that it runs a model in."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        self.process = None

    def create(self, name: str, weights: Path) -> None:
        """Make a model of a GGUF file."""
        modelfile = self.folder / "Modelfile"
        modelfile.write_text(CHATML.format(weights=weights))
        command = [self.folder / "ollama-lib", "create", name, "-f", modelfile]
        subprocess.run(command, env=self.environment, capture_output=True, check=True)
