"""A real MLflow server on 127.0.0.1, from the package of the client and what is installed beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from tests.support.ports import free_port

SERVE = """
import gc, sys, uvicorn
gc.set_threshold(100_000)  # it imports for seconds
uvicorn.run("mlflow.server.fastapi_app:app", host="127.0.0.1", port=int(sys.argv[1]))
"""


@contextmanager
def mlflow_server(folder: Path, database: Path) -> Iterator[str]:
    """Serve a database, with artifacts in a folder; gives the address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    # what `mlflow server` hands to its server, after it has imported MLflow for itself
    own = {
        "FILE_STORE": f"sqlite:///{database}",
        "REGISTRY_STORE": f"sqlite:///{database}",
        "ARTIFACT_ROOT": "mlflow-artifacts:/",
        "ARTIFACT_DESTINATION": str(folder / "artifacts"),
        "SERVE_ARTIFACTS": "true",
    }
    environment = {**os.environ, **{f"_MLFLOW_SERVER_{name}": value for name, value in own.items()}}
    environment |= {"MLFLOW_DISABLE_TELEMETRY": "true", "_MLFLOW_SGI_NAME": "uvicorn"}
    # jobs run in further processes that import MLflow, and nobody asks for one
    environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"
    command = [sys.executable, "-c", SERVE, str(port)]
    with (folder / "mlflow.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            _wait(server, address, folder / "mlflow.log")
            yield address
        finally:
            with suppress(ProcessLookupError):  # its workers belong to its group
                os.killpg(server.pid, 15)
            server.wait(120)


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    """Wait until the server answers."""
    for _ in range(480):
        with suppress(httpx.TransportError):
            if httpx.get(f"{address}/health", timeout=5).is_success:
                return
        assert server.poll() is None, log.read_text()
        time.sleep(0.25)
    raise AssertionError(f"no MLflow after two minutes: {log.read_text()}")
