"""The exit codes of commands that are given a file or folder which is missing or of another kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathoms.cli import main
from tests.support.extras import installed

CALLS = {
    **dict.fromkeys(("ingest X", "run X", "validate X", "tune X"), 2),
    "doctor X": 1,  # a check that fails
    **dict.fromkeys(("agree X", "import answers X --questions questions.json", "import otel X"), 1),
    **dict.fromkeys(("import ragas X", "import ragchecker X", "import promptfoo X"), 1),
    "import answers answers.jsonl --questions X": 1,
    "questions convert X new.json": 1,
    "questions dedupe X new.json": 1,
    "questions filter X new.json": 1,
    "questions nuggets questions.json new.json --from X": 1,
}
"""The exit code of each command where the file X cannot be read as what it should be: 2 for a configuration,
which the command cannot do without, and 1 for any other."""
FOLDERS = (
    *("import mirage X", "reproduce fathoms-rag/table-2 --results X", "trends --out X", "show a --out X"),
    *("ls --out X", "view X --no-browser", "questions check questions.json X"),
    *(
        "questions label questions.json X --judge X",
        "compare a b --out X",
        "gate a --out X",
        "export a --out X",
    ),
)
"""Commands that are given a folder, or a file or folder."""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.json").write_text('{"A": [{"question": "How tall?", "answers": [["41 m"]]}]}')
    Path("answers.jsonl").write_text('{"id": "a-01", "answer": "41 m"}\n')
    Path("binary.json").write_bytes(bytes(range(256)))
    Path("folder.json").mkdir()


@pytest.mark.parametrize("call", [*filter(installed, [*CALLS, *FOLDERS])])
def test_what_is_missing_is_2_and_is_named_on_stderr(call: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(call.replace("X", "gone.json").split()) == 2
    assert "gone.json" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["binary.json", "folder.json"])
@pytest.mark.parametrize("call", [*filter(installed, CALLS)])
def test_a_file_that_is_not_what_it_should_be(
    call: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(call.replace("X", what).split()) == CALLS[call]
    assert what in "".join(capsys.readouterr())
    assert not Path("new.json").exists()
