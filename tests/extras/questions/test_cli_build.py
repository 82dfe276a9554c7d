"""`fathoms build` from PDFs to a question set: exact funnels, interruptions, limits and updates."""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from fathoms.corpora import read_questions, write_questions
from fathoms.extras.questions.making.drafts import read_drafts
from fathoms.extras.questions.making.manifest import read_manifest
from fathoms.paths import sha256_file
from tests.extras.questions.building import recipe, scripted
from tests.extras.questions.editing import decide, editing
from tests.pipeline.test_cut_outs_searched import drawn
from tests.support import damage
from tests.support.project import Project, write_pdf
from tests.support.seer import seeing

pytestmark = pytest.mark.slow  # commands that make whole sets, of which each splits texts with LlamaIndex

PAGES = {
    "varn.pdf": [
        "The Varn tower stands beside the harbour wall, and its seven bells were cast in the year 1741.",
        "Every visitor climbs the narrow staircase twice, because the upper gallery closes at noon for"
        " lunch.",
        "A copper weathercock turns above the lantern room, which the keeper paints white every other"
        " spring.",
    ],
    "lune.pdf": [
        "Miners from Lune carried silver along the old ridge road until the railway tunnel opened below it.",
        "Heavy rain floods the lower shaft each autumn, so engineers drain it with four electric pumps.",
    ],
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    pdfs = tmp_path / "pdfs"
    pdfs.mkdir()
    for name, pages in PAGES.items():
        write_pdf(pdfs / name, pages)
    return Project(tmp_path)


def write(project: Project, **settings: Any) -> str:
    project.write(
        "recipe.yaml", yaml.safe_dump({"documents": ["pdfs"], **recipe(**settings)}, sort_keys=False)
    )
    return "recipe.yaml"


def test_a_set_is_made_of_pdfs_in_one_command(project: Project) -> None:
    """Five pages give five drafts; four answerable questions and one without an answer are wanted."""
    done = project.fathoms(
        "build", write(project, n=5, unanswerable={"share": 0.2}), "--out", "set.json", "--json"
    )
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert (parsed["questions"], parsed["wanted"], parsed["version"]) == (5, 5, 1)
    assert parsed["dropped"] == {}
    questions = read_questions(project.path / "set.json").questions
    assert [one.answerable for one in questions].count(False) == 1
    assert {one.evidence[0].document for one in questions if one.answerable} == {"varn.pdf", "lune.pdf"}
    checked = project.fathoms("questions", "check", "set.json", "pdfs", "--ignore", "few-questions")
    assert checked.returncode == 0, checked.stdout


def test_a_target_steers_what_is_drafted_and_chosen(project: Project) -> None:
    """Three of six questions shall be on a document of which most pages state nothing. Soon
    there are enough questions, and more are drafted from that document until the target is met."""
    text = (
        "amber anvil apple badge basin beach cabin camel cargo daisy dance depot eagle earth elbow "
        "fable fancy ferry gavel ghost globe habit hazel honey ideal image index jelly jewel joker "
        "kayak knife label lemon linen maple medal motor noble north nylon ocean olive organ panel "
        "peach pearl quail radio raven river salad scarf shell table tiger torch umber union vapor "
    )
    words = text.split()
    rest = "is what stands in this place and nowhere else in all of these documents, made for a test."
    pages = [f"{' '.join(words[at : at + 3])} {rest}" for at in range(0, 60, 3)]
    write_pdf(project.path / "pdfs" / "varn.pdf", pages[:10])
    write_pdf(project.path / "pdfs" / "lune.pdf", pages[10:])
    empty = "|".join(page.split()[0] for page in pages[13:])
    target = {"document": {"lune.pdf": 0.5}, "type": {"why": 0.5}}
    model = scripted()
    model["patterns"] = {rf"(?s)({empty}) .*Write one question": '{"worth": "no"}', **model["patterns"]}
    name = write(project, n=6, seed=3, model=model, unanswerable={"share": 0}, balance={"target": target})
    done = project.fathoms("build", name, "--out", "set.json", "--json")
    parsed = json.loads(done.stdout)
    assert parsed["coverage"]["document"] == {"lune.pdf": 3, "varn.pdf": 3}
    assert parsed["short"] == {"type why": [0, 3]}
    assert (parsed["drafts"], parsed["dropped"]) == (14, {"components: worth asking about": 7})


def test_what_people_edit_is_in_the_changelog_and_stays_after_an_update(project: Project) -> None:
    name = write(project, n=3, unanswerable={"share": 0})
    assert project.fathoms("build", name, "--out", "set.json").returncode == 0
    path = project.path / "set.json"
    first, second, third = read_questions(path).questions
    session = editing(path, drafts=read_drafts(path))
    left_over = [entry["id"] for entry in session.state()["entries"] if not entry["listed"]]
    decide(session, 0, "drop")
    decide(session, 3, "accept")
    session.write()
    manifest = read_manifest(path)
    assert manifest.version == 2
    assert manifest.questions == sha256_file(path)
    assert set(manifest.changelog[-1].changes) == {
        f"dropped {first.id}: people decided so",
        f"took in {left_over[0]}",
    }
    done = project.fathoms("build", name, "--out", "set.json", "--update", "--json")
    assert json.loads(done.stdout)["changes"] == []
    assert [one.id for one in read_questions(path).questions] == [second.id, third.id, left_over[0]]
    assert editing(path, drafts=read_drafts(path)).state()["decided"] == 1


def test_a_scan_needs_ocr_and_the_option_is_named(project: Project) -> None:
    scan = damage.one_page(damage.stream(b""))
    (project.path / "pdfs" / "scan.pdf").write_bytes(scan)
    said = "scan.pdf: no page has text: a scan, which needs OCR (ingest: {kind: docling})"
    done = project.fathoms("build", write(project, n=2), "--out", "set.json")
    assert done.returncode == 0, done.stderr
    assert f"note: {said}" in done.stderr
    assert f"note: {said}" in project.fathoms("build", "recipe.yaml", "--out", "o.json", "--dry-run").stderr
    for name in PAGES:
        (project.path / "pdfs" / name).write_bytes(scan)
    nothing = project.fathoms("build", "recipe.yaml", "--out", "other.json")
    assert nothing.returncode == 1
    assert said in nothing.stderr


def test_fewer_than_asked_is_said_and_fails(project: Project) -> None:
    name = write(project, n=9, unanswerable={"share": 0})
    done = project.fathoms("build", name, "--out", "set.json")
    assert done.returncode == 1
    assert "5 of 9 questions" in done.stderr
    assert len(read_questions(project.path / "set.json").questions) == 5
    allowed = project.fathoms("build", name, "--out", "other.json", "--allow-fewer")
    assert allowed.returncode == 0


def test_nothing_that_passed_is_no_success(project: Project) -> None:
    done = project.fathoms(
        "build",
        write(project, n=2, model={"kind": "scripted", "default": '{"worth": "no"}'}),
        "--out",
        "set.json",
    )
    assert done.returncode == 1
    assert "5 components: worth asking about" in done.stderr
    assert not (project.path / "set.json").exists()
    assert len(read_drafts(project.path / "set.json")) == 5


def test_a_plan_asks_nothing(project: Project) -> None:
    done = project.fathoms("build", write(project, n=2), "--out", "set.json", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert parsed["total"]["minutes"] > 0
    assert parsed["stages"]["drafts"]["calls"] == 5  # two questions, a fifth to spare, of which half pass
    assert not (project.path / "set.build").exists()


def stored_replies(cache: Path) -> int:
    """How many replies of its model a build has kept so far."""
    if not cache.exists():
        return 0
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{cache}?mode=ro", uri=True)) as opened:
        (found,) = opened.execute("SELECT count(*) FROM sealed WHERE kind = 'reply'").fetchone()
        return int(found)
    return 0


def test_a_killed_build_goes_on_and_pays_nothing_twice(project: Project) -> None:
    """The model takes a while, and the build is killed in the middle."""
    slow = {**scripted(), "latency": 0.1, "max_concurrency": 1}
    name = write(project, n=4, unanswerable={"share": 0}, model=slow)
    running = project.start("build", name, "--out", "set.json", stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not stored_replies(project.path / "set.build" / "cache.sqlite") and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    again = project.fathoms("build", name, "--out", "set.json")
    assert again.returncode == 2
    assert "add --resume" in again.stderr
    done = project.fathoms("build", name, "--out", "set.json", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    spent = json.loads(done.stdout)["spent"]
    whole = project.fathoms("build", name, "--out", "other.json", "--json")
    assert whole.returncode == 0, whole.stderr
    reused = sum(one["reused"] for one in spent.values())
    assert reused > 0
    assert reused + sum(one["calls"] for one in spent.values()) == sum(
        one["calls"] for one in json.loads(whole.stdout)["spent"].values()
    )
    assert (project.path / "set.json").read_bytes() == (project.path / "other.json").read_bytes()


def test_a_stopped_build_says_how_it_goes_on(project: Project) -> None:
    """By SIGTERM, which becomes what Ctrl-C raises."""
    slow = {**scripted(), "latency": 0.5, "max_concurrency": 1}
    name = write(project, n=4, unanswerable={"share": 0}, model=slow)
    running = project.start("build", name, "--out", "set.json", stderr=subprocess.PIPE)
    recipe_file = project.path / "set.build" / "recipe.json"
    until = time.monotonic() + 60
    while not recipe_file.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(signal.SIGTERM)
    _, reported = running.communicate(timeout=300)
    assert running.returncode == 143
    assert "the same command with --resume goes on" in reported
    assert "Traceback" not in reported


def test_a_damaged_recipe_is_said(project: Project) -> None:
    folder = project.path / "set.build"
    folder.mkdir()
    (folder / "recipe.json").write_text("{")
    done = project.fathoms("build", "--out", "set.json", "--resume")
    assert done.returncode == 1
    assert "recipe.json is damaged: delete it" in done.stderr


def test_an_update_remakes_only_what_changed(project: Project) -> None:
    name = write(project, n=4, unanswerable={"share": 0})
    assert project.fathoms("build", name, "--out", "set.json").returncode == 0
    before = {one.id: one for one in read_questions(project.path / "set.json").questions}
    same = project.fathoms("build", name, "--out", "set.json", "--update", "--json")
    assert same.returncode == 0, same.stderr
    parsed = json.loads(same.stdout)
    assert (parsed["version"], parsed["changes"]) == (1, [])  # nothing to do is no new version
    assert sum(one["calls"] for one in parsed["spent"].values()) == 0

    # a page is put in before the others of one document, and the other document is gone
    new = (
        "Salt merchants rented the western cellar from autumn until spring, and paid with barrels of herring."
    )
    write_pdf(project.path / "pdfs" / "varn.pdf", [new, *PAGES["varn.pdf"]])
    (project.path / "pdfs" / "lune.pdf").unlink()
    done = project.fathoms("build", name, "--out", "set.json", "--update", "--json", "--allow-fewer")
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert parsed["changes"][:2] == ["document varn.pdf changed", "document lune.pdf is gone"]
    after = {one.id: one for one in read_questions(project.path / "set.json").questions}
    moved = before.keys() & after.keys()
    assert moved
    for id in moved:
        assert after[id].evidence[0].page == (before[id].evidence[0].page or 0) + 1
    assert not any(one.evidence[0].document == "lune.pdf" for one in after.values())
    assert any(new.startswith("Salt") and one.evidence[0].page == 1 for one in after.values())
    assert after.keys() <= {draft.question.id for draft in read_drafts(project.path / "set.json")}
    manifest = read_manifest(project.path / "set.json")
    assert [entry.version for entry in manifest.changelog] == [1, 2]
    assert (project.path / "set.build" / "versions" / "set.v1.json").exists()


def test_what_people_took_out_does_not_come_back(project: Project) -> None:
    """By hand here, and the settings are those of the set."""
    assert (
        project.fathoms(
            "build", write(project, n=3, unanswerable={"share": 0}), "--out", "set.json"
        ).returncode
        == 0
    )
    path = project.path / "set.json"
    first, *rest = read_questions(path).questions
    path.unlink()
    write_questions(path, rest)
    for _ in range(2):
        done = project.fathoms("build", "--out", "set.json", "--update", "--json")
        assert done.returncode == 0, done.stderr
        ids = {one.id for one in read_questions(path).questions}
        assert len(ids) == 3
        assert first.id not in ids
    drafts = [draft.question.id for draft in read_drafts(path)]
    assert len(drafts) == len(set(drafts)) == 5  # those that were not needed stay, too


def test_a_document_with_another_name_keeps_its_questions(project: Project) -> None:
    assert (
        project.fathoms(
            "build", write(project, n=4, unanswerable={"share": 0}), "--out", "set.json"
        ).returncode
        == 0
    )
    before = {one.id: one for one in read_questions(project.path / "set.json").questions}
    (project.path / "pdfs" / "varn.pdf").rename(project.path / "pdfs" / "varn of 2027.pdf")
    done = project.fathoms("build", "--out", "set.json", "--update", "--json")
    assert done.returncode == 0, done.stderr
    parsed = json.loads(done.stdout)
    assert parsed["changes"][0] == "document varn.pdf is now varn of 2027.pdf"
    after = {one.id: one for one in read_questions(project.path / "set.json").questions}
    assert after.keys() == before.keys()
    assert {one.evidence[0].document for one in after.values()} == {"varn of 2027.pdf", "lune.pdf"}


def test_documents_that_cannot_be_read_now_are_not_gone(project: Project) -> None:
    assert (
        project.fathoms(
            "build", write(project, n=4, unanswerable={"share": 0}), "--out", "set.json"
        ).returncode
        == 0
    )
    before = (project.path / "set.json").read_bytes()
    (project.path / "pdfs" / "varn.pdf").write_bytes(b"%PDF-1.4 nothing")
    done = project.fathoms("build", "--out", "set.json", "--update", "--allow-fewer")
    assert done.returncode == 1
    assert "was not changed" in done.stderr
    other = project.path / "other"
    other.mkdir()
    write_pdf(
        other / "new.pdf",
        ["A page that has nothing to do with any of the documents of before, or ever will."],
    )
    assert project.fathoms("build", "other", "--out", "set.json", "--update").returncode == 1
    assert (project.path / "set.json").read_bytes() == before


def test_an_interruption_between_set_and_manifest_is_put_right(project: Project) -> None:
    assert (
        project.fathoms(
            "build", write(project, n=4, unanswerable={"share": 0}), "--out", "set.json"
        ).returncode
        == 0
    )
    folder = project.path / "set.build"
    (folder / "manifest.json").rename(folder / "manifest.next.json")
    done = project.fathoms("build", "--out", "set.json", "--update", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["version"] == 1


def test_a_model_that_cannot_be_reached_ends_the_build(project: Project) -> None:
    """What was paid for stays, and the build can go on; a few failed calls are said."""
    name = write(
        project, n=3, unanswerable={"share": 0}, model={**scripted(), "fail_on": {"Write one": "no answer"}}
    )
    done = project.fathoms("build", name, "--out", "set.json", "--allow-fewer")
    assert done.returncode == 1
    assert "all calls of the stage 'drafts' failed (5): no answer" in done.stderr
    some = {**scripted(), "fail_on": {"bells were cast": "no answer"}}
    again = project.fathoms(
        "build",
        write(project, n=3, unanswerable={"share": 0}, model=some),
        "--out",
        "set.json",
        "--resume",
        "--allow-fewer",
    )
    assert again.returncode == 1
    assert "failed: no answer" in again.stderr
    # also lost is a question for which that page had to be judged
    assert len(read_questions(project.path / "set.json").questions) == 2


def test_a_set_mostly_of_questions_without_an_answer(project: Project) -> None:
    done = project.fathoms("build", write(project, n=4, unanswerable={"share": 0.75}), "--out", "set.csv")
    assert done.returncode == 0, done.stderr
    assert [one.answerable for one in read_questions(project.path / "set.csv").questions].count(False) == 3
    assert (project.path / "set.csv.build").is_dir()


SEEN = {  # by the size of the picture: question, answer, quote
    (84, 624): ("How is the tower of Varn drawn?", "in ink", "drawn in ink"),
    (584, 84): ("What does a ton of ore cost in Varn?", "17 crowns", "ore 17 crowns"),
}


def says(pictures: list[bytes], text: str) -> str:
    """What a model says that sees two pictures, each of one size."""
    if "from what you know" in text:
        return "I do not know. Confidence: 0.1"
    if not pictures:
        return "no"
    (picture,) = pictures
    with Image.open(io.BytesIO(picture)) as image:
        question, answer, quote = SEEN[image.size]
    if "Write one question" in text:
        return json.dumps({"question": question, "answer": answer, "quote": quote})
    if "Write the gold answer" in text:
        return json.dumps({"short": answer, "long": f"It is {answer}.", "phrases": [[answer]]})
    if "Which of these passages" in text:
        return json.dumps({"answers": [{"passage": 1, "answer": answer}]})
    return "yes"


def test_figures_and_tables_are_shown_to_a_model_that_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figure has no words that a parser finds, so the evidence is its box."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    project = drawn(tmp_path)
    with seeing(says) as seer:
        model = {"kind": "openai-compatible", "base_url": f"{seer.address}/v1", "model": "seer"}
        components = {"modalities": ["table", "figure"], "dpi": 144}
        layout = {"kind": "python", "target": "layout"}
        name = write(
            project, n=2, unanswerable={"share": 0}, model=model, ingest=layout, components=components
        )
        done = project.fathoms("build", name, "--out", "set.json")
        assert done.returncode == 0, done.stderr
    figure, table = sorted(read_questions(project.path / "set.json").questions, key=lambda one: one.category)
    assert (figure.category, table.category) == ("Images", "Tables")
    assert (figure.text, figure.answers) == (SEEN[84, 624][0], (("in ink",),))
    assert figure.evidence[0].bbox == (50, 50, 80, 350)
    assert table.evidence[0].bbox == (10, 360, 290, 390)
    assert table.evidence[0].modality == "table"


def target(shares: str) -> list[str]:
    return ["--set", f"balance.target={{{shares}}}"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pdfs", "--out", "set.json"], "add --model"),
        (["pdfs", "--out", "set.json", "--model", "opnai:gpt"], "did you mean 'openai'"),
        (["recipe.yaml", "--out", "set.json", "--hops", "two"], "expected whole numbers"),
        (["recipe.yaml", "--out", "set.json", "--unanswerable", "x"], "expected a share"),
        (["recipe.yaml", "--out", "set.json", *target('hops: {"3": 0.5}')], "3 is not in walks.hops"),
        (["recipe.yaml", "--out", "set.json", *target("modality: {table: 1}")], "table is not in components"),
        (["recipe.yaml", "--out", "set.json", *target("type: {why: 0.6, how: 0.5}")], "add up to 1.10"),
        (["recipe.yaml", "--out", "set.txt"], "set.txt"),
        (["recipe.yaml", "--out", "set.json", "--update"], "no such question file"),
        (["recipe.yaml", "--out", "set.json", "--resume"], "nothing to resume"),
        (["recipe.yaml", "--out", "set.json", "--set", "clarity.tops=1"], "clarity.tops"),
        (["recipe.yaml", "--out", "set.json", "--language", "German"], "drafts.language"),
        (["recipe.yaml", "--out", "set.json", "--modalities", "figure"], "use ingest: {kind: docling}"),
        (["pdfs", "--out", "set.json", "--model", "openai:"], "add the name of the model"),
    ],
)
def test_calls_that_cannot_work(project: Project, arguments: list[str], message: str) -> None:
    write(project)
    done = project.fathoms("build", *arguments)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr
