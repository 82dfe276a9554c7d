"""The prompts of judges: files with versions and examples, each of which a user can replace."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import ValidationError

from fathoms.answers.citations import parse_citations
from fathoms.cli import main
from fathoms.judges import prompts
from fathoms.judges.asking import Bench, Judged, Spending, decomposer
from fathoms.judges.cascade import Cascade
from fathoms.judges.journal import VerdictJournal
from fathoms.judges.llm import LLMJudge
from fathoms.judges.prompts import places, shipped
from fathoms.judges.scripted import ScriptedJudge
from fathoms.metrics.metric import JudgedMetric
from fathoms.metrics.registry import judged_kinds, named
from fathoms.models import ScriptedModel
from fathoms.models.caller import Caller
from fathoms.runs.run import Run
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Chunk, Hit, Judgement, Nugget, Question, Record, Reply, Rubric
from tests.support.project import Project

RUBRICS = sorted({*get_args(Rubric)} - {"support"})
# a text that changes raises its version, or verdicts by the earlier text would pass for those by the new one
PINNED = {
    "abstention": (2, "02876ce2"),
    "citing": (2, "4cc06999"),
    "claims": (2, "f6b79230"),
    "correct": (2, "6354fc68"),
    "crossed-binary": (1, "5c410ea9"),
    "crossed-three-way": (1, "5e300213"),
    "extent": (1, "81059cca"),
    "grade": (2, "bc033654"),
    "nugget": (2, "82631b72"),
    "quality": (2, "b4310d5e"),
    "questions": (1, "2cdb5a5e"),
    "quoted-binary": (1, "e75428aa"),
    "quoted-three-way": (1, "322549ac"),
    "relevance": (1, "bcec1bb8"),
    "relevant-sentences": (2, "f6140ea2"),
    "several-binary": (1, "8ecf7027"),
    "several-three-way": (1, "3b64027a"),
    "support-binary": (2, "34a80888"),
    "support-three-way": (2, "a1e3ca29"),
    "unanswerable": (2, "a84d84a7"),
}
REPLIES = {
    "quality": json.dumps(
        dict.fromkeys(
            ("Fluency", "Citation Quality", "Text-Image Coherence", "Reasoning Logic", "Factuality"), 3
        )
    ),
    "relevant-sentences": '{"sentences": [1]}',
    "questions": '{"noncommittal": false, "questions": ["What?"]}',
    "grade": "7",
    "abstention": '{"sentence": 1, "label": "statement"}',
    "citing": "none",
    "relevance": '{"1": "2"}',
    "extent": '{"1": "partial"}',
}


def own(name: str) -> str:
    """A user's prompt with all places of the one of fathoms."""
    return f"MY {name}: " + " ".join(f"{{{place}}}" for place in sorted(places(shipped(name).whole)))


def labels_and_calls(judge: Any, folder: Path, *judgements: Judgement) -> tuple[list[str], int]:
    """The labels of verdicts, and the number of calls."""
    judged, spending = Judged(), Spending()
    bench = Bench(judge, VerdictJournal(folder), Caller(), spending, asks_again=False)
    asyncio.run(bench.ask(judgements, judged))
    return [judged.verdicts[one].label for one in judgements], spending.calls


def test_each_prompt_is_a_file_with_examples_and_a_version_that_a_changed_text_raises() -> None:
    names = {path.stem for path in Path(str(prompts.__file__)).parent.glob("*.yaml")}
    kinds = {
        f"{kind}-{labels}"
        for kind in ("support", "several", "crossed", "quoted")
        for labels in ("binary", "three-way")
    }
    assert names == {*RUBRICS, "claims", *kinds}
    assert {name: (shipped(name).version, fingerprint(shipped(name).whole)[:8]) for name in names} == PINNED
    for name in names:
        examples = shipped(name).examples.strip()
        assert examples, name
        assert examples in shipped(name).whole, name


@pytest.mark.parametrize("rubric", RUBRICS)
def test_each_rubric_can_be_replaced_and_asks_anew_for_its_own_verdicts_alone(
    rubric: Rubric, tmp_path: Path
) -> None:
    judgement = Judgement(claim="It is tall.", premise="It is tall.", context="How?", rubric=rubric)
    claim = Judgement(claim="It is tall.", premise="It is tall.")
    model = ScriptedModel(replies={f"MY {rubric}:": REPLIES.get(rubric, "yes")}, default="by ours")
    ours, mine = LLMJudge(model=model), LLMJudge(model=model, prompts={rubric: own(rubric)})
    assert labels_and_calls(ours, tmp_path, judgement, claim) == (["unparsed", "unparsed"], 2)
    (label, of_claim), calls = labels_and_calls(mine, tmp_path, judgement, claim)
    assert (label != "unparsed", of_claim, calls) == (True, "unparsed", 1)
    assert (
        labels_and_calls(mine, tmp_path, judgement, claim)[1]
        == labels_and_calls(ours, tmp_path, judgement, claim)[1]
        == 0
    )
    assert mine.prompt_of(rubric) == f"own prompt for {rubric}"
    assert mine.prompt_of("support") == ours.prompt_of("support") == "crossed-binary 1"
    assert mine.identity() != ours.identity()


def test_texts_are_split_by_the_prompt_of_the_user(tmp_path: Path) -> None:
    model = ScriptedModel(replies={"MY claims": '{"1": ["It is mine"]}'}, default='{"1": ["It is ours"]}')
    mine = LLMJudge(model=model, prompts={"claims": own("claims")})
    cascade = Cascade(cheap=ScriptedJudge(), dear=mine)
    text = ("It is tall.", "How tall?")
    for judge, claim in ((LLMJudge(model=model), "ours"), (mine, "mine"), (cascade, "mine")):
        judged, spending = Judged(), Spending()
        bench = Bench(judge, VerdictJournal(tmp_path), Caller(), spending)
        asyncio.run(bench.split([text], "model", judged))
        assert [one.text for one in judged.claims[text]] == [f"It is {claim}"]
    assert decomposer(mine).endswith(" with a prompt of your own")
    assert cascade.prompt_of("claims") == "own prompt for claims"


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        ({"grade": "{claim}: a grade?"}, r"grade: must contain \{premise\}"),
        (
            {"citing": "{premise} {claim} {context}"},
            r"citing: nothing is filled in for \{context\}, only for \{claim\}, \{premise\}",
        ),
        ({"claims": "{question}"}, r"claims: must contain \{sentences\}"),
        ({"support": "{claim} {premise}"}, "support: 'prompt' replaces this one"),
        ({"graed": "{claim}"}, "grade"),
    ],
)
def test_a_prompt_with_wrong_places_is_refused(replaced: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LLMJudge(model=ScriptedModel(), prompts=replaced)  # type: ignore[arg-type]


def test_a_later_version_of_a_prompt_asks_anew(tmp_path: Path) -> None:
    """Also where the verdict was stored before a rubric had an identity of its own."""

    class Later(LLMJudge):
        def version_of(self, rubric: Rubric) -> int:
            return super().version_of(rubric) + 1

    judgement = Judgement(claim="It is tall.", rubric="grade")
    model = ScriptedModel(default="7")
    assert labels_and_calls(LLMJudge(model=model), tmp_path, judgement)[1] == 1
    assert labels_and_calls(LLMJudge(model=model), tmp_path, judgement)[1] == 0
    assert labels_and_calls(Later(model=model), tmp_path, judgement)[1] == 1


def test_metrics_name_all_that_they_ask_for() -> None:
    answer = "The tower is old [1]. It is red. It is not known who built it [2]."
    hits = [
        Hit(chunk=Chunk(id=text, document="a.pdf", pages=(1,), text=text), score=1.0, rank=rank)
        for rank, text in enumerate(("It is old.", "It is red."), start=1)
    ]
    nuggets = (Nugget(question="How old?", answers=("old",)), Nugget(question="Who built it?"))
    question = Question(id="q", text="What of it?", category="A", reference="It is old.", nuggets=nuggets)
    record = Record(
        question=question,
        answer=Reply(text=answer),
        hits=tuple(hits),
        citations=parse_citations(answer, hits),
    )
    found: set[Rubric] = set()
    for metric in named(judged_kinds()):
        assert isinstance(metric, JudgedMetric)
        if metric.lacks(record) is None:
            rubrics = {one.rubric for one in metric.judgements(record, {})}
            assert rubrics <= metric.rubrics, metric.name
            found |= rubrics
    assert found == {*RUBRICS, "support"} - {"correct", "abstention"}


CONFIG = """\
name: told
data: {questions: q.json, documents: pdfs}
retrieve: {kind: none}
generate: {kind: scripted, default: It is 41.5 m tall.}
metrics: [fathoms, correctness-judged, ragchecker.precision]
judge:
  kind: llm
  model:
    kind: scripted
    replies: {numbered sentences: '{"1": ["It is tall"]}', gold answer: "9"}
    default: "yes"
"""


def test_reports_name_the_prompts_and_their_versions(
    project: Project, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.path)
    project.write("q.json", json.dumps([{"id": "a", "question": "How tall?", "reference": "41.5 m."}]))
    for name, replaced in (("ours", {}), ("mine", {"grade": f"The gold answer? {own('grade')}"})):
        config = yaml.safe_load(CONFIG)
        config["name"] = name
        config["judge"]["prompts"] = replaced
        project.write(f"{name}.yaml", json.dumps(config))
        assert main(["run", f"{name}.yaml"]) == 0
    shown = " ".join(capfd.readouterr().out.split())
    assert "judged by llm scripted (prompts grade 2), never checked" in shown
    assert "judged by llm scripted (prompts crossed-binary 1, claims 2), never checked" in shown
    assert "judged by llm scripted (prompts own prompt for grade), never checked" in shown
    ours, mine = (Run.scored(path).metrics()["correctness-judged"] for path in project.runs())
    assert (ours.prompts, mine.prompts) == (("grade 2",), ("own prompt for grade",))
    assert ours.rules != mine.rules
