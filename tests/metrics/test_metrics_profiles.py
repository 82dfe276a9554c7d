"""A name of a profile stands for one abstention classifier, whatever is installed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fathoms.errors import MissingWeightsError
from fathoms.metrics.cues import Cues
from fathoms.metrics.linear import Linear
from fathoms.metrics.nearest_neighbour import NearestNeighbour
from fathoms.metrics.profiles import PROFILES, headline, profile_named
from fathoms.metrics.score_records import Scoring, score
from fathoms.models import LexicalEmbedder, OnnxEmbedder, SentenceTransformersEmbedder
from fathoms.types import Question, Record, Reply
from tests.support.project import Project

OWN = SentenceTransformersEmbedder(model="minilm-l6-v2-torch")


@pytest.mark.parametrize(
    "configured",
    [Linear(), Cues(), NearestNeighbour(unit="answer"), Cues(embed=OWN), Linear(exemplars=Path("mine.yaml"))],
)
def test_the_configured_classifier_changes_nothing_under_paper(configured: Linear) -> None:
    for name in ("paper", "released-code"):
        found = profile_named(name).classifier(configured)
        assert found == NearestNeighbour(embed=OnnxEmbedder(), unit="answer", least_cosine=-1)
    by_words = profile_named("paper-by-words").classifier(configured)
    assert by_words == NearestNeighbour(embed=LexicalEmbedder(), unit="answer", least_cosine=-1)


def test_no_two_profiles_of_one_rule_share_a_classifier() -> None:
    of_paper = [one for one in PROFILES if one.name.startswith("paper")]
    keys = {one.name: one.classifier(Linear(embed=OWN)).key for one in of_paper}
    assert len(set(keys.values())) == len(of_paper) == 3


def test_the_default_is_named_by_what_judges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))  # no weights here
    assert headline("fathoms-rag") == "paper-by-words"
    assert headline("fathoms-rag", scored=True) == "paper"
    assert headline("fathoms-rag", "paper") == "paper"
    assert headline("fathoms-rag", None, Linear(embed=OWN)) == "paper-configured"
    assert headline("fathoms-rag", None, Linear(embed=LexicalEmbedder())) == "paper-by-words"
    assert headline("sample") == "fathoms"


def test_paper_asked_by_name_says_which_weights_it_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingWeightsError, match="fathoms models pull minilm-l6-v2"):
        Scoring(profile="paper").check()
    record = Record(
        question=Question(id="q", text="?", category="A", answers=(("x",),)), answer=Reply(text="No.")
    )
    with pytest.raises(MissingWeightsError, match="fathoms models pull minilm-l6-v2"):
        score([record], Scoring(), profiles=(profile_named("paper"),))
    assert score([record], Scoring()).rows[0].keys() == {"paper-by-words", "fathoms"}


@pytest.mark.slow
def test_the_command_that_compare_gives_works(shared: Path, tmp_path: Path) -> None:
    project = Project(tmp_path)
    names = ("gemma3-1b__LlamaIndex_RAG", "gemma3-4b__LlamaIndex_RAG")
    files = [str(shared / "fathoms-rag" / "results" / f"{name}.json") for name in names]
    assert project.fathoms("import", "fathoms-rag", *files, "--out", "runs").returncode == 0
    first, other = (path.name for path in project.runs())
    assert project.fathoms("compare", first, other).returncode == 0
    by_cues = ("--set", "abstention.kind=cues", "--profile", "fathoms")
    assert project.fathoms("score", first, *by_cues).returncode == 0
    for complaint in ("under the profile", "different rules"):
        refused = project.fathoms("compare", first, other)
        assert complaint in refused.stderr
        command = re.search(r"fathoms (score [^']+(?:'[^']+')?)", refused.stderr.replace("\n", " "))
        assert command is not None, refused.stderr
        wanted = command[1].split("' judges")[0]
        done = project.fathoms(*shlex.split(wanted))
        assert done.returncode == 0, done.stderr
        assert project.fathoms("compare", first, other).returncode == 0
        assert project.fathoms("score", other, "--profile", "fathoms").returncode == 0
        assert project.fathoms("score", first, *by_cues).returncode == 0
