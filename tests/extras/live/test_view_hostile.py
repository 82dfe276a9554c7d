"""`fathoms view` of a run from elsewhere."""

from __future__ import annotations

import pytest

from tests.extras.live.serving import serving
from tests.hostile.test_hostile_weights import CANARY, MODELS, foreign_run
from tests.support.project import Project

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("model", MODELS)
def test_a_foreign_run_cannot_name_a_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    run = foreign_run(project, monkeypatch, model)
    with serving(project.path / "runs") as server:
        assert server.viewed((run.name,)).overview()
    assert not (project.path / CANARY).exists()
