"""Agreement of a judge with people: the figures, and what reports and the gate do with them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fathoms.judges.agreement import agree, figures, intervals
from fathoms.judges.cascade import Cascade
from fathoms.judges.llm import LLMJudge
from fathoms.judges.people import LabelledClaim, PeopleJudge
from fathoms.judges.scripted import ScriptedJudge
from fathoms.models import ScriptedModel
from tests.support.project import Project, write_project

pytestmark = pytest.mark.slow  # real commands with judges

PEOPLE = [True, True, True, False, False, False, False, True]
SAID = [True, True, False, True, False, False, False, True]
P = [0.9, 0.8, 0.4, 0.7, 0.2, 0.1, 0.4, 0.6]


def test_the_figures_of_a_table_worked_by_hand() -> None:
    # both yes 3, only people 1, only the judge 1, both no 3
    found = figures(PEOPLE, SAID, P)
    assert found["balanced_accuracy"] == (3 / 4 + 3 / 4) / 2
    assert (found["precision"], found["recall"], found["f1"]) == (3 / 4, 3 / 4, 3 / 4)
    assert found["kappa"] == pytest.approx((6 / 8 - 1 / 2) / (1 - 1 / 2))
    # 16 pairs: .4 loses to .7 and ties with .4, .6 loses to .7, all others are in order
    assert found["auc"] == pytest.approx((16 - 2 - 0.5) / 16)


def test_the_figures_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    found = figures(PEOPLE, SAID, P)
    assert found["balanced_accuracy"] == pytest.approx(metrics.balanced_accuracy_score(PEOPLE, SAID))
    assert found["kappa"] == pytest.approx(metrics.cohen_kappa_score(PEOPLE, SAID))
    assert found["f1"] == pytest.approx(metrics.f1_score(PEOPLE, SAID))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(PEOPLE, P))


def test_a_judge_that_always_says_yes_is_worth_nothing() -> None:
    found = figures(PEOPLE, [True] * 8, [1.0] * 8)
    assert (found["balanced_accuracy"], found["recall"], found["kappa"], found["auc"]) == (0.5, 1, 0, 0.5)


def test_intervals_resample_groups_and_need_two() -> None:
    wide = intervals(PEOPLE, SAID, P, list("aaaabbbb"))["f1"]
    assert wide is not None
    assert wide[0] < 0.75 < wide[1]
    assert intervals(PEOPLE, SAID, P, ["a"] * 8)["f1"] is None
    assert figures([], [], [])["f1"] is None


LABELS = [
    {"claim": "The tower is tall.", "premise": "The tower is tall.", "label": "supported", "group": "1"},
    {"claim": "The door is green.", "premise": "The door is green.", "label": "supported", "group": "2"},
    {"claim": "The door is red.", "premise": "The door is green.", "label": "unsupported", "group": "3"},
    {"claim": "Ore is cheap.", "premise": "Ore is dear.", "label": "unsupported", "group": "4"},
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = write_project(tmp_path_factory.mktemp("judged"))
    text = project.config.read_text()
    project.config.write_text(text + "metrics: [faithfulness]\njudge: {kind: scripted}\n")
    project.write("labels.jsonl", "".join(json.dumps(row) + "\n" for row in LABELS))
    project.write("judge.yaml", "kind: scripted\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(project.path / "data"))
        for name in ("one", "two"):
            done = project.fathoms("run", "tiny.yaml", "--set", f"name={name}")
            assert done.returncode == 0, done.stderr
        yield project


def test_a_report_names_a_judge_that_was_never_checked_and_the_gate_refuses_it(judged: Project) -> None:
    said = " ".join(judged.fathoms("report", "one").stdout.split())
    assert "judged by scripted, never checked against people" in said
    shown = judged.fathoms("show", "one", "--only", "metrics").stdout
    assert "faithfulness: judged by scripted, never checked against people" in " ".join(shown.split())
    # how the claims were split, and what is known of it, from `metrics/claims/extraction.yaml`
    assert "claims by sentences: 25 % of them match claims of MiRAGE" in " ".join(shown.split())
    (reported,) = judged.json("report", "one")
    assert reported["judging"]["claims"]["decomposer"] == "sentences"
    gate = ["gate", "two", "--baseline", "one", "--metric", "faithfulness", "--margin", "0.9"]
    refused = judged.fathoms(*gate)
    assert refused.returncode == 1
    assert "was never checked against people on what it is asked for" in refused.stderr
    assert "run 'fathoms agree LABELS --judge FILE'" in refused.stderr
    assert judged.fathoms(*gate, "--allow-unchecked-judge").returncode == 0
    assert judged.json("compare", "one", "two", "--metric", "faithfulness")["tests"][0]["overall"]["n"] == 4


def test_a_checked_judge_is_reported_with_its_figure_and_the_gate_accepts_it(judged: Project) -> None:
    found = judged.json("agree", "labels.jsonl", "--judge", "judge.yaml")
    assert (found["balanced_accuracy"], found["n"], found["differ"]) == (1, 4, [])
    assert found["always_yes"]["balanced_accuracy"] == 0.5
    for name in ("one", "two"):
        assert judged.fathoms("score", name).returncode == 0
    shown = " ".join(judged.fathoms("report", "one").stdout.split())
    assert "judged by scripted, balanced accuracy 1.00 against people (n = 4)" in shown
    gate = ["gate", "two", "--baseline", "one", "--metric", "faithfulness", "--margin", "0.9"]
    assert judged.fathoms(*gate).returncode == 0


@pytest.mark.parametrize("metric", ["correctness-judged", "ragas.context-relevance"])
def test_a_check_on_claims_does_not_vouch_for_what_people_did_not_label(judged: Project, metric: str) -> None:
    """Neither grades nor relevant sentences are claims, although the same judge says them."""
    judged.json("agree", "labels.jsonl", "--judge", "judge.yaml")
    for name in ("one", "two"):
        assert judged.fathoms("score", name, "--metric", metric).returncode == 0
    shown = " ".join(judged.fathoms("report", "one").stdout.split())
    assert f"{metric}: judged by scripted, never checked against people" in shown
    assert "faithfulness: judged by scripted, balanced accuracy 1.00 against people (n = 4)" in shown
    gate = ["gate", "two", "--baseline", "one", "--metric", metric, "--margin", "0.9"]
    refused = judged.fathoms(*gate)
    assert (refused.returncode, "was never checked against people" in refused.stderr) == (1, True)


def test_the_disagreements_are_printed(judged: Project) -> None:
    judged.write("other.yaml", "kind: scripted\nlabels_by: {'Ore is cheap': supported}\n")
    shown = judged.fathoms("agree", "labels.jsonl", "--judge", "other.yaml").stdout
    assert "people unsupported, judge supported: Ore is cheap." in shown
    assert "4 claims, of which people support 2; 0 without a verdict" in shown


def test_probabilities_are_compared_with_what_people_say(judged: Project) -> None:
    """By hand: three claims have the probability 1, of which people support two, and one has 0, which they do
    not. The calibration error is 3/4 x 1/3 = 0.25; probabilities of 0 and 1 are never off by chance."""
    judged.write("other.yaml", "kind: scripted\nlabels_by: {'Ore is cheap': supported}\n")
    arguments = ("agree", "labels.jsonl", "--judge", "other.yaml", "--plot")
    shown = judged.fathoms(*arguments, "bins.svg").stdout
    assert "expected calibration error 0.250 over 4 claims in bins of 0.10" in " ".join(shown.split())
    rows = [line.split()[:7] for line in shown.splitlines() if line.strip()[:3] in ("0.0", "0.9")]
    assert rows == [
        ["0.0", "to", "0.1", "1", "0.00", "0.00", "0.00"],
        ["0.9", "to", "1.0", "3", "1.00", "0.67", "0.14"],
    ]
    drawn = (judged.path / "bins.svg").read_text()
    assert "calibration error 0.250, 4 claims" in drawn
    refused = judged.fathoms(*arguments, "bins.bmp")
    assert (refused.returncode, "ends with .svg, .png or .pdf" in refused.stderr) == (2, True)


def test_a_judge_without_probabilities_has_no_diagram(judged: Project) -> None:
    judged.write("people.yaml", "kind: people\nlabels: labels.jsonl\n")
    arguments = ("agree", "labels.jsonl", "--judge", "people.yaml")
    shown = judged.fathoms(*arguments).stdout
    assert "this judge gives none, so that nothing says whether they are right" in " ".join(shown.split())
    refused = judged.fathoms(*arguments, "--plot", "bins.svg")
    assert (refused.returncode, "there is no diagram to draw" in refused.stderr) == (1, True)


@pytest.mark.parametrize("label", ["failed", "unparsed"])
def test_a_check_that_lacks_verdicts_ends_with_1_and_vouches_for_nothing(judged: Project, label: str) -> None:
    judged.write("sick.yaml", f"kind: scripted\nlabels_by: {{'Ore is cheap': {label}}}\n")
    done = judged.fathoms("agree", "labels.jsonl", "--judge", "sick.yaml")
    assert (done.returncode, "3 claims, of which people support 2; 1 without" in done.stdout) == (1, True)
    assert "1 of 4 rows have no verdict of the judge" in done.stderr
    assert judged.fathoms("score", "one", "--judge", "sick.yaml").returncode == 0
    summary = json.loads((judged.runs()[0] / "summary.json").read_text())
    assert summary["judging"]["checked"] is None
    assert judged.fathoms("score", "one").returncode == 0


def test_the_probe_says_how_often_a_label_turns(judged: Project) -> None:
    judged.write(
        "yes.yaml",
        "kind: llm\nclaims_a_call: 1\n"
        "model: {kind: scripted, default: 'yes', replies: {it can be said: 'no'}}\n",
    )
    found = judged.json("agree", "labels.jsonl", "--judge", "yes.yaml", "--probe")
    assert found["probes"]["parts swapped"]["to_unsupported"] == 0
    assert found["probes"]["claim padded"] == {"n": 4, "unjudged": 0, "to_supported": 0, "to_unsupported": 4}


def test_the_threshold_of_a_cascade_is_chosen_on_one_half_and_reported_on_the_other(judged: Project) -> None:
    rows = [{**row, "group": f"{number} {row['group']}"} for number in range(5) for row in LABELS]
    for number, row in enumerate(rows):
        row["claim"] = f"{number} {row['claim']}"
        row["premise"] = f"{number} {row['premise']}"
    judged.write("many.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    dear = "{kind: llm, model: {kind: scripted, default: 'yes'}}"
    judged.write("cascade.yaml", f"kind: cascade\ncheap: {{kind: scripted}}\ndear: {dear}\n")
    found = judged.json("agree", "many.jsonl", "--judge", "cascade.yaml")["threshold"]
    assert (found["cascade"], found["cheap"], found["share_dear"]) == (1, 1, 0)
    assert found["chosen_on"] == found["reported_on"] == 10


def test_a_cascade_is_measured_on_claims_of_one_group_too(judged: Project) -> None:
    judged.write("one.jsonl", "".join(json.dumps({**row, "group": "all"}) + "\n" for row in LABELS))
    judged.write("cascade.yaml", "kind: cascade\ncheap: {kind: scripted}\ndear: {kind: scripted}\n")
    done = judged.fathoms("agree", "one.jsonl", "--judge", "cascade.yaml")
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert "no threshold was chosen: a threshold needs labelled claims of at least two groups" in shown
    assert "cascade asks the dear judge about 0 claims" in shown


def test_damaged_lines_of_the_verdicts_are_said_once(judged: Project) -> None:
    run = judged.runs()[0]
    path = run / "verdicts" / "judge.jsonl"
    whole = path.read_bytes()
    first, *rest = whole.splitlines(keepends=True)
    path.write_bytes(b"".join([first.replace(b'"label": "', b'"label": "x'), b"no json\n", *rest]))
    assert judged.fathoms("score", run.name).returncode == 0
    said = [line for line in json.loads((run / "summary.json").read_text())["warnings"] if "verdicts" in line]
    path.write_bytes(whole)
    assert said == [
        "2 lines of the journal of verdicts cannot be used; verdicts that were in them are asked for again"
    ]


def test_too_many_unjudged_claims_are_bounded_and_refused(judged: Project) -> None:
    judged.write("broken.yaml", "kind: scripted\nlabels_by: {Nobody: failed}\n")
    done = judged.fathoms("score", "two", "--judge", "broken.yaml")
    assert done.returncode == 1
    assert "; 2 of 4 items have no verdict" in " ".join(judged.fathoms("report", "two").stdout.split())
    shown = " ".join(judged.fathoms("show", "two", "--only", "metrics").stdout.split())
    assert "50.0 % of 4 items have no verdict: between" in shown
    refused = judged.fathoms("gate", "two", "--baseline", "one", "--metric", "faithfulness")
    assert refused.returncode == 1
    assert "judged by different rules" in refused.stderr  # another judge, before anything else
    assert judged.fathoms("score", "two").returncode == 0


def test_the_verdicts_are_stored_with_the_answer(judged: Project) -> None:
    run = judged.runs()[0]
    views = [json.loads(path.read_text()) for path in (run / "questions").glob("*.json")]
    found = {view["question"]["text"]: view["repeats"][0] for view in views}
    tall = found["How tall is the Varn tower?"]
    assert (tall["metrics"]["faithfulness"]["value"], "why" in tall["metrics"]["faithfulness"]) == (1, False)
    row = {"claim": "The Varn tower is 41.5 m tall.", "label": "supported", "p": 1.0, "sentence": 0}
    row |= {"premise": "the whole context", "premises": 1}
    assert tall["claims"]["compared"] == [{"of": "answer", "by": "context", "claims": [row]}]
    took = {"prompt_tokens": None, "completion_tokens": None, "cost": 0, "seconds": None}
    assert tall["claims"]["judging"] == {"verdicts": 1, "lists": 0, **took}
    assert len(list(Path(run / "verdicts").glob("judge.jsonl"))) == 1


def test_what_judging_took_stands_beside_what_answering_took(judged: Project) -> None:
    model = "{kind: scripted, default: 'yes', price: {input: 1, output: 1}}"
    judged.write("paid.yaml", f"kind: llm\nclaims: sentences\nmodel: {model}\n")
    before = json.loads((judged.runs()[1] / "summary.json").read_text())
    assert judged.fathoms("score", "two", "--judge", "paid.yaml").returncode == 0
    after = json.loads((judged.runs()[1] / "summary.json").read_text())
    parts = after["usage_by_purpose"]
    # two pairs of answers are alike and have the same context: what is judged twice is paid for once
    assert (parts["answer"]["calls"], parts["judge"]["calls"]) == (4, 2)
    assert parts["judge"]["cost"] > 0
    assert after["cost"] == before["cost"]  # the cost of the pipeline is not that of its judge
    assert judged.fathoms("score", "two").returncode == 0


def test_two_judges_are_compared_on_the_same_claims(tmp_path: Path) -> None:
    claims = ["a", "b", "c", "d"]
    rows = [
        LabelledClaim(claim=claim, premise="p", label="supported", group=group)
        for claim, group in zip(claims, ["g", "g", "h", "h"], strict=True)
    ]
    one = ScriptedJudge(labels_by={"a": "supported", "b": "supported", "d": "unparsed"})
    other = ScriptedJudge(labels_by={"a": "supported", "b": "unsupported"})
    found = agree(one, rows, tmp_path, others=[other])
    # both have a verdict on a, b and c; they say the same of a (yes) and c (no)
    with_judge = found["others"][0]["with_judge"]
    assert (with_judge["n"], with_judge["same"]) == (3, 2 / 3)
    # expected by chance: (2/3 * 1/3) + (1/3 * 2/3) = 4/9; kappa = (6/9 - 4/9) / (5/9)
    assert with_judge["kappa"] == pytest.approx(2 / 5)
    assert with_judge["interval"] == (0.5, 1.0)
    assert (found["asked"], found["others"][0]["asked"]) == (4, 4)


def test_two_judges_are_compared_by_their_balanced_accuracy_on_the_same_claims(tmp_path: Path) -> None:
    """Of two groups with a claim of each label, the other judge misses the supported claim of the first."""
    rows = [
        LabelledClaim(claim=claim, premise="p", label=label, group=claim[0])
        for claim, label in {
            "good": "supported",
            "grim": "unsupported",
            "hard": "supported",
            "hush": "unsupported",
        }.items()
    ]
    labels = {"good": "supported", "hard": "supported"}
    one = ScriptedJudge(labels_by=labels)
    other = ScriptedJudge(labels_by=labels | {"good": "unsupported"})
    found = agree(one, rows, tmp_path, others=[other])
    # recall 1 and 1/2, specificity 1 and 1; of resampled groups, gg has recall 1 and 0, hh 1 and 1
    gain = found["others"][0]["with_judge"]["balanced_accuracy"]
    assert gain == {"difference": 0.25, "interval": (0.0, 0.5)}
    found = agree(one, rows[:2], tmp_path, others=[other])
    assert found["others"][0]["with_judge"]["balanced_accuracy"] == {"difference": 0.5, "interval": None}
    found = agree(one, rows[::2], tmp_path, others=[other])
    assert found["others"][0]["with_judge"]["balanced_accuracy"] == {"difference": None, "interval": None}


def test_a_cascade_is_compared_with_both_of_its_judges_which_are_asked_once(tmp_path: Path) -> None:
    rows = [LabelledClaim(claim=claim, premise="p", label="supported", group=claim) for claim in "abc"]
    model = ScriptedModel(default="no")  # without a probability, so that it is never sure
    cascade = Cascade(cheap=LLMJudge(model=model), dear=ScriptedJudge(labels_by={"a": "supported"}))
    found = agree(cascade, rows, tmp_path)
    assert [one["asked"] for one in (found, *found["others"])] == [0, 3, 3]
    assert [one["recall"] for one in (found, *found["others"])] == [1 / 3, 0, 1 / 3]
    assert [one["with_judge"]["same"] for one in found["others"]] == [2 / 3, 1]


def test_a_cascade_has_a_verdict_where_only_the_cheap_judge_failed(tmp_path: Path) -> None:
    rows = [LabelledClaim(claim=claim, premise="p", label="supported", group=claim) for claim in "abc"]
    (tmp_path / "labels.jsonl").write_text('{"claim": "a", "premise": "p", "label": "supported"}\n')
    cascade = Cascade(cheap=PeopleJudge(labels=tmp_path / "labels.jsonl"), dear=ScriptedJudge())
    found = agree(cascade, rows, tmp_path)
    assert [(one["n"], one["unjudged"]) for one in (found, *found["others"])] == [(3, 0), (1, 2), (3, 0)]
