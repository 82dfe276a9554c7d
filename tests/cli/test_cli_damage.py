"""Damaged PDFs from the shell: a clear message, the right exit code, nothing hung."""

from __future__ import annotations

import pytest

from fathoms.cli import main
from tests.support import damage
from tests.support.project import Project

pytestmark = pytest.mark.slow  # processes, models and sockets of their own

ONE = '[{"question": "How many?", "answers": ["3"]}]'


@pytest.mark.parametrize("name", damage.FILES)
def test_a_damaged_pdf_ends_ingest_with_the_right_exit_code(
    project: Project, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.path)
    folder = project.path / "hurt"
    folder.mkdir()
    damage.write(folder, name)
    project.write("one.json", ONE)
    limits = ["ingest.kind=pdfium", f"ingest.timeout={damage.time_limit(name)}", "ingest.memory_mb=512"]
    settings = [f"--set={setting}" for setting in [*limits, "data={questions: one.json, documents: hurt}"]]
    code = main(["ingest", "tiny.yaml", *settings])
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    assert "defect" not in printed.err
    if damage.FILES[name][1] == {"read"}:
        assert code == 0
    if "read" not in damage.FILES[name][1]:
        assert code == 1
    if code == 0:
        assert printed.out.startswith("1 document,")
    else:
        assert f"fathoms: {name}.pdf: " in printed.err
        skipped = main(["ingest", "tiny.yaml", *settings, "--set=ingest.on_error=skip"])
        assert skipped == 1
        assert f"not read: {name}.pdf" in capsys.readouterr().out
