"""Run folders from anybody and from any disk: damaged, forged, linked, or made by a wrong clock."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from fathoms.cli import main
from fathoms.errors import DataError, StoreError
from fathoms.paths import old_unique_name, safe_name
from fathoms.runs.finding import list_runs, oldest_first
from fathoms.runs.folder import LARGEST_TEXT
from fathoms.runs.run import Run
from fathoms.runs.writing import locked, new_run, write_manifest, write_summary
from fathoms.scoring import score_run
from fathoms.types import Chunk, Failure, Hit, Prompt, Question, Record, Reply
from fathoms.types.run.manifest import Manifest
from fathoms.types.run.summary import Summary
from tests.support.project import Project


def record(name: str = "q1", text: str = "an answer", **changes: Any) -> Record:
    question = Question(id=name, text="why?", category="Text", answers=(("answer",),))
    chunk = Chunk(id="d#1", document="d.pdf", pages=(1,), text="long " * 200)
    one_record = Record(
        question=question,
        hits=(Hit(chunk=chunk, score=0.5, rank=1),),
        prompt=Prompt(messages=(), context="long " * 200),
        answer=Reply(text=text),
    )
    return one_record.model_copy(update=changes)


def make(folder: Path, *records: Record, name: str = "demo", questions: int | None = None) -> Run:
    data = {"name": "d", "asked": questions or len(records), "questions": questions or len(records)}
    run = new_run(folder, name, "abcdef1234567890", {"model": "m", "data": data})
    run.records.append(records)
    return run


def append_and_score(run: Run) -> None:
    run.records.append([record()])
    score_run(run)


def unsealed(line: bytes) -> bytes:
    """A line as fathoms wrote it before lines had checksums."""
    value = json.loads(line)
    del value["crc"]
    return json.dumps(value).encode() + b"\n"


# ----- ids


def test_a_long_id_is_refused_before_it_is_asked(project: Project, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(project.path)
    project.write("questions.json", json.dumps([{"id": "x" * 401, "question": "a?", "answers": ["b"]}]))
    assert main(["run", "tiny.yaml"]) == 1
    assert "has 401 characters, and a name has 200 at most" in capsys.readouterr().err
    assert project.runs() == []


def test_an_id_that_an_older_version_kept_in_a_blob_is_read(tmp_path: Path) -> None:
    """Runs of older versions kept an id of more than 400 characters in a blob."""
    run = make(tmp_path)
    name = "x" * 500
    data = record(name).model_dump(mode="json", exclude_defaults=True)
    data["question"]["id"] = {"blob": run.texts.put(name)}
    (run.path / "journal.jsonl").write_text(json.dumps(data) + "\n")
    (found,) = run.records.all()
    assert found.question.id == name
    run.records.append([record(name, "another")])  # and the id of a new line is never in a blob
    assert run.records.all()[0].answer == Reply(text="another")


def test_no_two_questions_share_a_file(tmp_path: Path) -> None:
    shared = old_unique_name("a/b")
    longer = safe_name("a/b", unique=True)
    ids = ["a/b", "a:b", shared, longer.upper(), longer, "a-b", "x" * 300, "x" * 301]
    run = make(tmp_path, *(record(name) for name in ids))
    score_run(run)
    assert sorted(view["question"]["id"] for view in run.views()) == sorted(ids)
    assert (run.path / "questions" / "a-b.json").is_file()  # ordinary names stay readable


def test_question_files_named_by_an_older_version_are_renamed(tmp_path: Path) -> None:
    run = make(tmp_path, record("a/b"))
    score_run(run)
    (file,) = (run.path / "questions").iterdir()
    file.rename(file.with_name(f"{old_unique_name('a/b')}.json"))
    assert [view["question"]["id"] for view in run.views()] == ["a/b"]
    score_run(run)
    assert [path.name for path in (run.path / "questions").glob("*.json")] == [file.name]


# ----- sizes

SCORED = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
from fathoms.errors import StoreError
from fathoms.scoring import score_run
from fathoms.runs.finding import oldest_first
from fathoms.runs.run import Run
for path in sys.argv[1:]:
    try:
        summary = score_run(Run(Path(path))).plain()
        print(summary["counts"]["answered"], *summary["warnings"])
    except StoreError as error:
        print(error)
"""


def bomb(run: Run) -> str:
    """A blob of 4 MB that is 4 GB, or nearly one: its end is missing. Its name."""
    name = hashlib.sha256(b"nobody knows before it is decoded").hexdigest()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b"\0" * 2**24) + packer.flush(zlib.Z_FULL_FLUSH)
    (run.path / "blobs").mkdir(exist_ok=True)
    (run.path / "blobs" / f"{name}.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * 256)
    return name


@pytest.mark.slow
def test_reading_a_run_takes_bounded_memory(tmp_path: Path) -> None:
    """Four runs of some megabytes, scored in a process of 2 GB."""
    prompt, documents, often, long = (make(tmp_path, record("q1")) for _ in range(4))
    line = json.loads(unsealed((prompt.path / "journal.jsonl").read_bytes()))
    line["prompt"]["context"] = {"blob": bomb(prompt)}
    (prompt.path / "journal.jsonl").write_text(json.dumps(line) + "\n")

    manifest, name = documents.manifest.plain(), bomb(documents)
    manifest["data"]["documents"] = {"d.pdf": {"sha256": "0", "text": name}}
    write_manifest(documents, Manifest.model_validate(manifest))

    line = json.loads(unsealed((often.path / "journal.jsonl").read_bytes()))
    line["hits"][0]["chunk"]["text"] = {"blob": often.texts.put("x" * 2**24)}
    line["hits"] *= 1000
    (often.path / "journal.jsonl").write_text(json.dumps(line) + "\n")

    with (long.path / "journal.jsonl").open("r+b") as file:
        file.seek(2**30)
        file.write(b"\n")  # what lies between is a hole, which is read as zeros
    long.records.append([record("q2")])

    paths = [str(run.path) for run in (prompt, documents, often, long)]
    command = [sys.executable, "-c", SCORED, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    lost = (
        "the prompts and hits of 1 of 1 answers cannot be read, because files in the run's folder 'blobs' are"
        " missing, damaged or too large: what is measured on them leaves these answers out"
    )
    assert (
        done.stdout.splitlines()
        == [
            f"1 {lost}",  # the prompt is not known, and the answer is
            f"{documents.path}: blob {name[:12]} cannot be read: it is larger than 128 MiB",
            f"1 {lost}",
            "2 1 line of journal.jsonl cannot be used: line 2 (it is longer than 128 MiB)",
        ]
    ), done.stderr[-500:]


@pytest.mark.slow
def test_records_that_could_not_be_read_back_are_not_written(tmp_path: Path) -> None:
    run = make(tmp_path)
    (stored,) = run.records.append([record(text="\0" * (LARGEST_TEXT // 6))])
    assert stored.error is not None
    assert "more than a line of a journal can hold" in stored.error.message
    assert run.records.all()[0].error == stored.error
    run.records.append(
        [record("q2", "\0" * 16 * 2**20)]
    )  # the largest answer of a server, at its longest in JSON
    assert len(run.records.all()) == 2


# ----- the journal

BAD = {
    "a list": b"[]\n",
    "no number": b"NaN\n",
    "nested": b'{"question": ' + b"[" * 200_000 + b"\n",
    "an older schema": b'{"question": "q9", "answer": "yes"}\n',
    "no text": b"\0\xff\n",
    "a lost text": b'{"question": {"id": {"blob": "%b"}, "text": "", "category": "c"}}\n' % (b"0" * 64),
}


def test_a_bad_journal_line_is_skipped_and_the_rest_is_kept(tmp_path: Path) -> None:
    for number, (what, line) in enumerate(BAD.items()):
        run = make(tmp_path / str(number), record("q1"), record("q2"), questions=3)
        journal = run.path / "journal.jsonl"
        first, second = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(first + line + second)
        assert list(run.records.entries()) == [("q1", 0), ("q2", 0)], what
        summary = score_run(run).plain()
        assert summary["counts"]["answered"] == 2, what
        (warning,) = summary["warnings"]
        assert warning.startswith("1 line of journal.jsonl cannot be used: line 2 ("), what
        assert warning in summary["incomplete"], what  # it may be the line of what is missing


@pytest.mark.slow
def test_every_flipped_bit_of_a_line_is_found_or_harmless(tmp_path: Path) -> None:
    run = make(tmp_path, record("q1"), record("q2", "41.5 m"), record("q3"))
    journal = run.path / "journal.jsonl"
    whole, records = journal.read_bytes(), run.records.all()
    start = whole.index(b"\n") + 1
    for at in range(start, whole.index(b"\n", start)):
        journal.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        found, flaws = run.records.contents()
        if list(found) == [("q1", 0), ("q3", 0)]:
            assert [flaw.number for flaw in flaws] == [2], at
        else:  # the checksum itself was spoilt
            assert list(run.records.read(found.values())) == records, at


def test_journal_lines_without_a_checksum_are_read(tmp_path: Path) -> None:
    run = make(tmp_path, record("q1"), record("q2", error=Failure(kind="E", message="m"), answer=None))
    before = run.records.all()
    journal = run.path / "journal.jsonl"
    journal.write_bytes(b"".join(map(unsealed, journal.read_bytes().splitlines())))
    assert run.records.all() == before


@pytest.mark.slow
def test_a_damaged_answer_is_asked_again(project: Project, capsys: Any, monkeypatch: Any) -> None:
    """From the shell: named, not scored, not shown, and there again after a resume."""
    monkeypatch.chdir(project.path)
    assert main(["run", "tiny.yaml"]) == 0
    (run,) = project.runs()
    journal = run / "journal.jsonl"
    whole = journal.read_bytes()
    said = b'"answer": {"text": "The Varn tower is 41.'
    journal.write_bytes(whole.replace(said + b"5", said + b"4", 1))
    capsys.readouterr()
    assert main(["score", "latest"]) == 0
    printed = capsys.readouterr()
    line = next(n for n, text in enumerate(whole.splitlines(), start=1) if said in text)
    assert f"1 line of journal.jsonl cannot be used: line {line} (its checksum does not match)" in printed.err
    assert "1 of 4 questions have no answer yet" in " ".join(printed.out.split())
    assert len(list((run / "questions").glob("*.json"))) == 3
    assert len(list((run / "questions").glob("*.stale"))) == 1  # the only copy of the answer is not deleted
    assert main(["run", "--resume", "latest"]) == 0
    assert f"line {line} (its checksum does not match)" in capsys.readouterr().err
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["complete"], summary["counts"]["answered"], len(summary["warnings"])) == (True, 4, 1)


# ----- the other files


@pytest.mark.slow
def test_a_flipped_byte_of_a_question_file_or_summary_is_found(tmp_path: Path) -> None:
    from fathoms.runs.run import Run

    run = make(tmp_path, record("q1"))
    score_run(run)
    for name in ("questions/q1.json", "summary.json", "manifest.json"):
        path = run.path / name
        whole = path.read_bytes()
        for at in range(0, len(whole) - 30, 61):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(StoreError, match=name):
                list(Run.scored(run.path).questions())
        path.write_bytes(whole)
    assert len(list(Run.scored(run.path).questions())) == 1


def test_a_question_file_that_is_gone_or_twice_there_is_missed(tmp_path: Path) -> None:
    from fathoms.compare.question_scores import read_scores
    from fathoms.runs.run import Run

    run = make(tmp_path, record("q1"), record("q2"))
    score_run(run)
    file = run.path / "questions" / "q1.json"
    copy = run.path / "questions" / "q1 copy.json"
    copy.write_bytes(file.read_bytes())
    with pytest.raises(StoreError, match=r"holds a question whose file is q1\.json"):
        read_scores(run)
    copy.unlink()
    file.unlink()
    for read in (lambda: read_scores(run), lambda: list(Run.scored(run.path).questions())):
        with pytest.raises(StoreError, match="counts 2 answers, and its question files hold 1"):
            read()


def test_a_value_of_another_type_is_named_with_its_place(tmp_path: Path) -> None:
    run = make(tmp_path, record("q1"))
    score_run(run)
    view = json.loads((run.path / "questions" / "q1.json").read_text())
    view["repeats"][0]["answer"]["text"] = []
    (run.path / "questions" / "q1.json").write_text(json.dumps(view))
    with pytest.raises(StoreError, match=r"q1.json cannot be used: repeats.0.answer.text: "):
        list(run.views())


def test_a_manifest_whose_scoring_is_wrong_is_named(tmp_path: Path) -> None:
    run = make(tmp_path, record())
    for scoring in (["x"], {"abstention": 3}, {"nothing": 1}):
        write_manifest(run, Manifest.model_validate({**run.manifest.plain(), "config": {"scoring": scoring}}))
        with pytest.raises(StoreError, match=f"manifest.json of {run.id}, config: scoring: "):
            score_run(run)


# ----- links and what is no file


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("precious")
    for name in ("questions", "verdicts", "blobs"):
        run = make(tmp_path / name)
        (run.path / name).symlink_to(outside)
        with pytest.raises(StoreError, match="is a link, which fathoms does not follow"):
            append_and_score(run)
    run = make(tmp_path / "files")
    for name in ("manifest.json", "summary.json", "README.md", ".writer"):
        (run.path / name).unlink(missing_ok=True)
        (run.path / name).symlink_to(outside / "kept")
    write_manifest(run, Manifest.model_validate({"schema": 1}))
    write_summary(run, Summary.model_validate({"schema": 1}))
    with locked(run):
        pass
    for name in ("journal.jsonl", ".lock"):
        (run.path / name).unlink(missing_ok=True)
        (run.path / name).symlink_to(outside / "kept")
    with pytest.raises(StoreError, match="cannot be written: it is a link"):
        run.records.append([record()])
    with pytest.raises(StoreError, match="link"), locked(run):
        pass
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "precious"


def test_links_out_of_the_run_directory_are_not_read(tmp_path: Path) -> None:
    run, other = make(tmp_path, record()), make(tmp_path, record("secret"))
    score_run(run)
    score_run(other)
    for name in ("manifest.json", "summary.json", "journal.jsonl", "questions/q1.json"):
        path = run.path / name
        whole = path.read_bytes()
        path.unlink()
        path.symlink_to((other.path / name.replace("q1", "secret")).resolve())
        run = Run(run.path)
        with pytest.raises(StoreError, match="is a link that leads out"):
            run.manifest.plain(), run.summary.plain(), run.records.entries(), list(run.views())
        path.unlink()
        path.with_name(f"{path.stem}-beside").write_bytes(whole)
        path.symlink_to(f"{path.stem}-beside")  # one that stays inside is read
        run.manifest.plain(), run.summary.plain(), run.records.entries(), list(run.views())


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    for name in (
        "manifest.json",
        "summary.json",
        "journal.jsonl",
        "questions/q1.json",
        ".lock",
        "verdicts/v.json",
    ):
        run = make(tmp_path / Path(name).stem, record())
        score_run(run)
        (run.path / name).unlink(missing_ok=True)
        os.mkfifo(run.path / name)
        with pytest.raises(StoreError, match="is not a regular file"), locked(run):
            (
                run.manifest.plain(),
                run.summary.plain(),
                run.verdicts("v"),
                run.records.entries(),
                list(run.views()),
            )
        if name == "journal.jsonl":
            with pytest.raises(StoreError, match="cannot be written"):
                run.records.append([record()])


# ----- which run is the latest


def test_the_latest_run_is_the_one_that_was_made_last(tmp_path: Path) -> None:
    """A clock that stood in 2099 has named a run; runs of before have no sequence, and come first."""
    wrong = make(tmp_path, record())
    manifest = wrong.manifest.plain()
    far = wrong.path.rename(tmp_path / "20990101T000000000Z_demo_abcdef12")
    write_manifest(Run(far), Manifest.model_validate({**manifest, "created": "2099-01-01T00:00:00+00:00"}))
    now = make(tmp_path, record())
    assert [run.id for run in list_runs(tmp_path)] == [far.name, now.id]
    assert Run.open("latest", tmp_path).id == Run.open("demo", tmp_path).id == now.id
    assert Run.open("demo~1", tmp_path).id == far.name
    del manifest["sequence"]
    write_manifest(Run(far), Manifest.model_validate({**manifest, "created": "2099-01-01T00:00:00+00:00"}))
    assert Run.open("latest", tmp_path).id == now.id
    for run in (Run(far), now):  # two runs of before: by the time that they say
        write_manifest(
            run,
            Manifest.model_validate(
                {key: value for key, value in run.manifest.plain().items() if key != "sequence"}
            ),
        )
    assert Run.open("latest", tmp_path).id == far.name


def test_a_run_without_a_manifest_is_listed_where_it_belongs(tmp_path: Path, capsys: Any) -> None:
    runs = [make(tmp_path, record()) for _ in range(3)]
    for number, spoil in enumerate((lambda path: path.write_text("{"), lambda path: path.unlink())):
        spoil(runs[number].path / "manifest.json")
    assert [run.id for run in list_runs(tmp_path)] == [run.id for run in runs]
    assert main(["ls", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("manifest.json") == 2
    assert [line.split()[0] for line in printed.out.splitlines()[1:]] == ["demo~2", "demo~1", "demo"]


# ----- full disks


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full is Linux's")
def test_output_to_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    make(tmp_path, record())
    command = [sys.executable, "-m", "fathoms", "ls", "--out", str(tmp_path)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "fathoms: the output cannot be written: No space left on device\n",
    )


def test_a_journal_without_a_usable_line_is_an_error(tmp_path: Path) -> None:
    run = make(tmp_path, record())
    (run.path / "journal.jsonl").write_bytes(b"[]\n")
    with pytest.raises(DataError, match=r"holds no answers yet \(1 line of journal.jsonl cannot be used"):
        score_run(run)


def test_nights_are_judged_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    """A night that was made while the clock was wrong is not the last one."""
    some_runs = [new_run(tmp_path, "night", "0" * 8, {"config": {}}) for _ in range(3)]
    first = some_runs[0].path.rename(tmp_path / some_runs[0].id.replace("20", "29", 1))
    runs = [Run(first), *some_runs[1:]]
    assert [run.path for run in oldest_first(reversed(runs))] == [run.path for run in runs]


def test_scoring_says_how_many_answers_have_lost_their_context(tmp_path: Path) -> None:
    short = [Hit(chunk=Chunk(id="d#2", document="d.pdf", pages=(1,), text="short"), score=0.5, rank=1)]
    run = make(tmp_path, record(), record("q2", hits=tuple(short), prompt=None))
    assert "cannot be read" not in " ".join(score_run(run).plain()["warnings"])
    copy = shutil.copytree(run.path, tmp_path / "copy" / run.id, ignore=shutil.ignore_patterns("blobs"))
    (warning,) = (one for one in score_run(Run(copy)).plain()["warnings"] if "cannot be read" in one)
    assert warning.startswith("the prompts and hits of 1 of 2 answers cannot be read")
