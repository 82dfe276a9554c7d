"""The questions of a large run as lines: nothing is lost, counted twice or found in the wrong place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fathoms.errors import StoreError
from fathoms.runs.question_lines import divided
from fathoms.runs.run import Run
from fathoms.runs.views import WriteView
from fathoms.runs.writing import new_run
from fathoms.scoring import score_run
from fathoms.types import Question, Record, Reply

TEXTS = ["b", 'ä "quoted"', "a"]
FILE = "00001.jsonl"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Answered in another order than asked, scored, and then written as a large run is."""
    one_run = new_run(tmp_path, "x", "0" * 16, {"model": "m", "data": {"name": "d", "asked_ids": TEXTS}})
    one_run.records.append(record(name) for name in sorted(TEXTS))
    score_run(one_run)
    as_lines(one_run, TEXTS)
    return one_run


def record(name: str, text: str = "It is 4.") -> Record:
    return Record(
        question=Question(id=name, text="How many?", category="c", answers=(("4",),)),
        answer=Reply(text=text),
        finished=f"after {text}",
    )


def as_lines(run: Run, wanted: list[str]) -> None:
    records = {found.question.id: found for found in run.records.all()}
    with run.files.writing(FILE) as write:
        for name in wanted:
            write([records[name]], [{"paper": {"correctness": 1.0}}], [{}])
    run.files.set_aside(wanted, {FILE})


def folder(run: Run) -> list[str]:
    return sorted(path.name for path in (run.path / "questions").iterdir())


def test_a_question_is_in_the_file_of_its_number_whether_or_not_others_are_answered() -> None:
    wanted = [f"q{n}" for n in range(1, 3001)]
    answered = ["late", "q3000", *(id for id in wanted[:1500] if id != "q2")]
    found = divided(answered, wanted)
    assert {name: (len(ids), ids[0], ids[-1]) for name, ids in found.items()} == {
        "00001.jsonl": (999, "q1", "q1000"),
        "00002.jsonl": (500, "q1001", "q1500"),
        "00003.jsonl": (1, "q3000", "q3000"),
        "00004.jsonl": (1, "late", "late"),
    }


def test_every_reader_finds_the_questions_in_lines(run: Run) -> None:
    assert folder(run) == [FILE]
    lines = (run.path / "questions" / FILE).read_text("utf-8").splitlines()
    assert [json.loads(line)["question"]["id"] for line in lines] == TEXTS
    scored = Run.scored(run.path)
    assert [view.question.id for view in scored.questions()] == TEXTS
    for name in TEXTS:
        view = run.files.of(name)
        assert view is not None
        assert (view["question"]["id"], view["repeats"][0]["scores"]["paper"]["correctness"]) == (name, 1.0)
        assert scored.question_file(name) == run.path / "questions" / FILE
    assert run.files.of("c") is None


def test_an_answer_that_came_after_scoring_is_shown_without_scores(run: Run) -> None:
    run.records.append([record("a", "It is 5.")])
    view = run.files.of("a")
    assert view is not None
    assert (view["repeats"][0]["answer"]["text"], view["repeats"][0]["scores"]) == ("It is 5.", {})


def test_damage_of_a_line_is_found_and_named(run: Run) -> None:
    path = run.path / "questions" / FILE
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1  # the second line
    for at in range(start, whole.index(b"\n", start) - 20, 61):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StoreError, match=f"{FILE}:2"):
            list(Run.scored(run.path).questions())
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, lines[0]]))
    with pytest.raises(StoreError, match="holds the question 'b' twice"):
        list(Run.scored(run.path).questions())
    path.write_bytes(b"".join(lines[:2]))
    with pytest.raises(StoreError, match="counts 3 answers, and its question files hold 2"):
        list(Run.scored(run.path).questions())


def test_a_brief_reading_has_the_same_questions_answers_and_scores(run: Run) -> None:
    scored = Run.scored(run.path)
    for brief, whole in zip(scored.brief_questions(), scored.questions(), strict=True):
        (few,), (all,) = brief.repeats, whole.repeats
        assert (brief.question, few.repeat, few.answer) == (whole.question, all.repeat, all.answer)
        assert few.under("paper").correctness == all.under("paper").correctness == 1.0


def test_lines_of_answers_that_are_gone_are_kept_aside(run: Run) -> None:
    """By the next scoring as a large run, and by one that writes a file for each question again."""
    whole = (run.path / "questions" / FILE).read_bytes().splitlines(keepends=True)
    as_lines(run, TEXTS[1:])
    assert folder(run) == [FILE, f"{FILE}.stale"]
    assert (run.path / "questions" / FILE).read_bytes() == b"".join(whole[1:])
    assert (run.path / "questions" / f"{FILE}.stale").read_bytes() == whole[0]
    journal = run.path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"id": "a"', b'"id": "?"'))
    score_run(run)
    assert len(list((run.path / "questions").glob("*.json"))) == 2
    assert not (run.path / "questions" / FILE).exists()
    assert (run.path / "questions" / f"{FILE}.stale").read_bytes() == whole[0] + whole[2]


def test_a_failed_scoring_leaves_the_file_as_it_was(run: Run) -> None:
    before = (run.path / "questions" / FILE).read_bytes()

    def stop_after(write: WriteView) -> None:
        write([record("b")], None, None)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), run.files.writing(FILE) as write:
        stop_after(write)
    assert folder(run) == [FILE]
    assert (run.path / "questions" / FILE).read_bytes() == before


def test_nothing_is_written_through_a_link(run: Run, tmp_path: Path) -> None:
    path, outside = run.path / "questions" / FILE, tmp_path / "outside.txt"
    outside.write_text("mine")
    (path.parent / f"{FILE}.stale").symlink_to(outside)
    with pytest.raises(StoreError, match="cannot be written"):
        as_lines(run, TEXTS[1:])
    assert outside.read_text() == "mine"


MISFIT = [{"paper": {"correctness": 1e301}}]


@pytest.mark.parametrize("in_lines", [True, False])
def test_what_fathoms_sealed_in_an_own_run_is_not_compared_with_the_schema(
    run: Run, in_lines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = {found.question.id: [found] for found in run.records.all()}
    if in_lines:
        with run.files.writing(FILE) as write:
            for name in TEXTS:
                write(records[name], MISFIT, [{}])
    else:
        (run.path / "questions" / FILE).unlink()
        for name in TEXTS:
            run.files.write(records[name], MISFIT, [{}])

    def readable() -> None:
        again = Run(run.path)
        assert [view["question"]["id"] for view in again.views()] == TEXTS
        assert (again.files.scored("a") or {})["question"]["id"] == "a"

    def refused() -> None:
        for read in (lambda: list(Run(run.path).views()), lambda: Run(run.path).files.scored("a")):
            with pytest.raises(StoreError, match=r"cannot be used: .*correctness"):
                read()

    readable()
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("FATHOMS_KEY_FILE", str(run.path / "key-of-another-user"))
        refused()
    for path in (run.path / "questions").iterdir():
        path.write_bytes(re.sub(rb',\s+"crc": "[0-9a-f]{8}"', b"", path.read_bytes()))
    refused()
