"""A run on disk: what was appended is there, whatever happened around it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathoms.errors import StoreError, UsageError
from fathoms.runs.finding import list_runs
from fathoms.runs.folder import write_file
from fathoms.runs.run import Run
from fathoms.runs.verdicts import verdict_text
from fathoms.runs.views import scored_question
from fathoms.runs.writing import new_run, write_manifest
from fathoms.types import (
    Chunk,
    Citation,
    Evidence,
    Failure,
    Hit,
    Message,
    PageBox,
    Prompt,
    Question,
    Quote,
    Record,
    Reply,
    Verdict,
)
from fathoms.types.run.manifest import Manifest
from tests.support.measured import unmeasured
from tests.support.schemas import schema


def record(name: str = "q1", text: str = "an answer", repeat: int = 0) -> Record:
    question = Question(id=name, text="why?", category="Text", answers=(("a", "b"), ("c",)))
    chunk = Chunk(id="d#1", document="d.pdf", pages=(1,), text="long " * 200)
    return Record(
        question=question,
        repeat=repeat,
        hits=(Hit(chunk=chunk, score=0.5, rank=1),),
        prompt=Prompt(messages=(), context="long " * 200),
        answer=Reply(text=text),
        timings={"generate": 1.5},
    )


def make(tmp_path: Path, name: str = "demo") -> Run:
    return new_run(tmp_path, name, "abcdef1234567890", {"model": "m"})


def test_round_trip(tmp_path: Path) -> None:
    run = make(tmp_path)
    run.records.append([record("q1"), record("q2")])
    assert run.records.all() == [record("q1"), record("q2")]


def test_all_that_a_record_holds_comes_back(tmp_path: Path) -> None:
    """Boxes, citations, and metadata that looks like what a run writes in place of a long text."""
    plain = record()
    question = Question(
        id="q1",
        text="why?",
        category="Text",
        reference="long " * 200,
        evidence=(Evidence(document="d.pdf", page=1, step=2),),
        quotes=(Quote(id="image1", modality="image", image=Path("images/1.png"), gold=True),),
        metadata={"blob": "0" * 64},
    )
    (hit,) = plain.hits or ()
    chunk = hit.chunk.model_copy(update={"boxes": (PageBox(page=1, bbox=(1, 2.5, 3, 4)),)})
    cited = (
        Citation(document="d.pdf", page=1, ranks=(1,), label="1", span=(3, 6), sentence=(0, 3)),
        Citation(label="9", span=(7, 10)),
    )
    hits = (hit.model_copy(update={"chunk": chunk}),)
    whole = plain.model_copy(update={"question": question, "hits": hits, "citations": cited})
    run = make(tmp_path)
    run.records.append([whole])
    assert run.records.all() == [whole]
    run.files.write([whole], [{}])
    (view,) = run.views()
    jsonschema.validate(view, schema("question"))
    (repeat,) = scored_question(view).repeats
    assert repeat.citations == cited
    assert repeat.hits is not None
    assert repeat.hits[0].boxes == chunk.boxes


def test_long_texts_are_kept_once(tmp_path: Path) -> None:
    run = make(tmp_path)
    run.records.append([record(f"q{n}") for n in range(20)])
    assert len(list((run.path / "blobs").iterdir())) == 1
    assert (run.path / "journal.jsonl").stat().st_size < 20 * 1000


def record_of(name: str, hits: list[str], context: str, message: str) -> Record:
    """A record with these texts of hits and this prompt."""
    chunks = [Chunk(id=f"d#{n}", document="d.pdf", pages=(1,), text=text) for n, text in enumerate(hits)]
    return Record(
        question=Question(id=name, text="why?", category="Text"),
        hits=tuple(Hit(chunk=chunk, score=0.5, rank=rank) for rank, chunk in enumerate(chunks, 1)),
        prompt=Prompt(messages=(Message(role="user", text=message),), context=context),
        answer=Reply(text="an answer"),
    )


def test_prompts_share_the_texts_of_their_hits(tmp_path: Path) -> None:
    """Twenty prompts of the same two chunks, with different questions, need only two blobs."""
    run = make(tmp_path)
    first, second = "first " * 200, "second " * 200
    context = f"[d.pdf, page 1]\n{second}\n\n[d.pdf, page 1]\n{first}"
    records = [
        record_of(f"q{n}", [first, second], context, f"Context:\n{context}\nQuestion {n}?") for n in range(20)
    ]
    run.records.append(records)
    assert len(list((run.path / "blobs").iterdir())) == 2
    assert Run(run.path).records.all() == records


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    hits=st.lists(st.text("ab", max_size=4), max_size=4),
    context=st.lists(st.integers(0, 4), max_size=5),
    message=st.lists(st.integers(0, 5), max_size=5),
)
def test_prompts_come_back_however_their_texts_overlap(
    tmp_path: Path, hits: list[str], context: list[int], message: list[int]
) -> None:
    run = make(tmp_path)
    texts = [text * 300 for text in hits]
    of_hits = [*texts, "between ", "b" * 500, "", "", ""]
    whole = "".join(of_hits[number] for number in context)
    said = "".join([*of_hits[:5], "-", "-", "-", "-", whole][number] for number in message) + whole
    expected = record_of("q", texts, whole, said)
    run.records.append([expected])
    assert Run(run.path).records.all() == [expected]


@pytest.mark.parametrize("joined", [["a", 1], ["a", ["b"]], ["a", {"c": "d"}], "ab"])
def test_a_text_that_is_joined_of_something_else_is_no_text(tmp_path: Path, joined: object) -> None:
    run = make(tmp_path)
    run.records.append([record()])
    data = json.loads((run.path / "journal.jsonl").read_text())
    del data["crc"]
    data["prompt"]["context"] = {"joined": joined}
    (run.path / "journal.jsonl").write_text(json.dumps(data) + "\n")
    (found,) = Run(run.path).records.all()
    assert (found.prompt, found.hits, found.answer) == (None, None, Reply(text="an answer"))


def test_a_question_is_shown_before_it_is_scored_and_after_it_is_answered_again(tmp_path: Path) -> None:
    run = make(tmp_path)
    run.records.append([record("q1"), record("q2")])
    assert run.files.of("q3") is None
    assert not (run.path / "questions").exists()
    found = run.files.of("q2")
    assert found is not None
    assert (found["repeats"][0]["answer"]["text"], found["repeats"][0]["scores"]) == ("an answer", {})
    run.files.write([record("q2")], [{"paper": {"correctness": 1.0}}])
    assert json.dumps(run.files.of("q2")).count('"correctness": 1.0') == 1
    run.records.append(
        [record("q2", "another").model_copy(update={"finished": "2026-01-01T00:00:00.000+00:00"})]
    )
    found = run.files.of("q2")
    assert found is not None
    assert (found["repeats"][0]["answer"]["text"], found["repeats"][0]["scores"]) == ("another", {})


def test_an_answer_is_in_the_journal_and_outlives_its_prompt(tmp_path: Path) -> None:
    """A host that loses its power keeps what was synced, and leaves other files empty or short."""
    run = make(tmp_path)
    said = "a long answer " * 100
    run.records.append([record("q1", said), record("q2")])
    assert said in (run.path / "journal.jsonl").read_text()
    (blob,) = (run.path / "blobs").iterdir()
    blob.write_bytes(b"")
    first, second = Run(run.path).records.all()
    assert (first.prompt, first.hits) == (None, None)
    assert first.answer == Reply(text=said)
    assert second.answer == Reply(text="an answer")


def test_light_records_have_all_that_is_scored(tmp_path: Path) -> None:
    run = make(tmp_path)
    run.records.append([record("q1"), record("q2", repeat=1)])
    light = run.records.all(light=True)
    assert [one.model_copy(update={"prompt": None, "hits": ()}) for one in run.records.all()] == [
        one.model_copy(update={"prompt": None}) for one in light
    ]
    assert light[0].prompt == Prompt(messages=())


def test_the_last_record_of_a_question_counts(tmp_path: Path) -> None:
    run = make(tmp_path)
    failed = record("q1").model_copy(
        update={"answer": None, "error": Failure(kind="ModelError", message="x")}
    )
    run.records.append([failed, record("q2")])
    run.records.append([record("q1")])
    assert [(r.question.id, r.error) for r in run.records.all()] == [("q1", None), ("q2", None)]


@pytest.mark.parametrize("keep", [1, 20, 200, -1])
def test_half_a_line_is_not_an_answer_and_spoils_no_other(tmp_path: Path, keep: int) -> None:
    run = make(tmp_path)
    run.records.append([record("q1")])
    journal = run.path / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[:keep])
    run.records.append([record("q2")])
    assert [r.question.id for r in run.records.all()] == ["q1", "q2"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=600))
def test_any_text_survives(tmp_path: Path, text: str) -> None:
    run = make(tmp_path)
    run.records.append([record(text=text)])
    answer = run.records.all()[0].answer
    assert answer is not None
    assert answer.text == text


def test_a_view_reads_by_itself(tmp_path: Path) -> None:
    run = make(tmp_path)
    run.files.write([record()], [{"paper": {"correctness": 1.0}}])
    view = json.loads((run.path / "questions" / "q1.json").read_text())
    assert view["question"]["answers"] == [["a", "b"], ["c"]]
    assert view["repeats"][0]["hits"][0] == {
        "rank": 1,
        "score": 0.5,
        "document": "d.pdf",
        "pages": [1],
        "modality": "text",
        "text": "long " * 200,
    }
    assert view["repeats"][0]["scores"] == {"paper": {"correctness": 1.0}}


def test_hostile_ids_stay_inside(tmp_path: Path) -> None:
    run = make(tmp_path, "../../evil:name")
    for name in ("../../../etc/passwd", "..", "a/b", "a\\b", "a:b", "x" * 400, "\x00", "a b", "a-b"):
        run.files.write([record(name)])
    assert run.path.parent == tmp_path
    assert len(list((run.path / "questions").iterdir())) == 9


def test_two_runs_in_one_second(tmp_path: Path) -> None:
    assert make(tmp_path).id != make(tmp_path).id
    assert len(list_runs(tmp_path)) == 2


def test_find_run(tmp_path: Path) -> None:
    first, second, other = make(tmp_path), make(tmp_path), make(tmp_path, "other")
    assert Run.open("demo", tmp_path).id == second.id
    assert Run.open("demo~1", tmp_path).id == first.id
    assert Run.open("latest", tmp_path).id == other.id
    assert Run.open(first.id, tmp_path).id == first.id
    assert Run.open(str(first.path), Path("nowhere")).id == first.id
    for bad in ("demo~2", "nothing", "demo~x", "latest~9"):
        with pytest.raises(UsageError):
            Run.open(bad, tmp_path)


def test_a_file_is_replaced_only_by_another_content(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    write_file(tmp_path, "notes.txt", b"one")
    first = path.stat()
    write_file(tmp_path, "notes.txt", b"one")
    assert path.stat().st_ino == first.st_ino
    write_file(tmp_path, "notes.txt", b"two")
    assert (path.read_bytes(), path.stat().st_ino == first.st_ino) == (b"two", False)
    path.rename(tmp_path / "elsewhere.txt")
    path.symlink_to("elsewhere.txt")
    write_file(tmp_path, "notes.txt", b"two")
    assert not path.is_symlink(), "a link is replaced, whatever it leads to"


def test_verdicts(tmp_path: Path) -> None:
    run = make(tmp_path)
    assert run.verdicts("abstention") == {}
    verdict = Verdict(claim="c", premise="p", label="statement", why="x")
    run.verdicts("abstention").add({"k": verdict_text("k", verdict)})
    assert run.verdicts("abstention") == {"k": verdict}


def test_what_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the run is incomplete"):
        Run(tmp_path).manifest.plain()
    run = make(tmp_path)
    (run.path / "summary.json").write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        run.summary.plain()
    write_manifest(run, Manifest.model_validate({"schema": 99}))
    with pytest.raises(StoreError, match="newer fathoms"):
        run.manifest.plain()
    for name in ("../../x", "0" * 64):
        with pytest.raises(StoreError):
            run.texts.get(name)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        make(tmp_path / "file")


FULL = """
import resource, sys
from pathlib import Path
from fathoms.errors import StoreError
from tests.support.schemas import schema
from fathoms.runs.run import Run
from fathoms.types import Question, Record, Reply

run = Run(Path(sys.argv[1]))
records = [
    Record(question=Question(id=f"n{n}", text="?", category="c"), answer=Reply(text="y" * 300))
    for n in range(40)
]
size = (run.path / "journal.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5000, resource.RLIM_INFINITY))
try:
    run.records.append(records)
except StoreError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_disk_that_fills_takes_no_part_of_a_record(tmp_path: Path) -> None:
    """The limit of a file's size stands for the end of the disk: the kernel takes a part and then no more."""
    run = new_run(tmp_path, "x", "0" * 16, {})
    run.records.append([record("kept")])
    before = (run.path / "journal.jsonl").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(run.path)],
        env=unmeasured(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{run.path / 'journal.jsonl'} cannot be written: ")
    assert (run.path / "journal.jsonl").read_bytes() == before
    assert [found.question.id for found in run.records.all()] == ["kept"]
