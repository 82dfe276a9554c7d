"""Keys from a file `.env` in the current folder; what the environment says already wins."""

from __future__ import annotations

import pytest

from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes of their own

KEY = "sk-planted-4711"
GENERATE = (
    "generate={kind: openai-compatible, base_url: http://127.0.0.1:9, model: m, api_key_env: TEST_ENV_KEY}"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TEST_ENV_KEY=" + KEY + "\n", "no server at http://127.0.0.1:9"),
        ("# none\n", "the environment variable TEST_ENV_KEY is not set"),
    ],
)
def test_the_file_is_read(project: Project, text: str, said: str) -> None:
    project.write(".env", text)
    done = project.fathoms("run", "tiny.yaml", "--set", GENERATE)
    assert done.returncode == 2
    assert said in done.stderr
    assert KEY not in done.stdout + done.stderr


def test_the_environment_wins(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", "unused")  # the project sets its own
    project.write(".env", "FATHOMS_CACHE_DIR=/nowhere/at/all\n")
    assert project.fathoms("run", "tiny.yaml").returncode == 0


def test_a_file_that_cannot_be_read(project: Project) -> None:
    (project.path / ".env").write_bytes(b"KEY=\xff\xfe\n")
    done = project.fathoms("ls")
    assert done.returncode == 2
    assert ".env: cannot be read" in done.stderr
