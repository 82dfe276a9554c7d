"""The abstention classifier: exemplars, labels and why, verdicts that are kept, and how often it is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fathoms.errors import ConfigError, FathomsError
from fathoms.metrics.aggregate import summarise
from fathoms.metrics.nearest_neighbour import OWN_EXEMPLARS, NearestNeighbour, read_exemplars
from fathoms.metrics.profiles import scored_under
from fathoms.metrics.score_records import Scoring, score
from fathoms.models import LexicalEmbedder, LlamaIndexEmbedder, OnnxEmbedder
from fathoms.text.fingerprints import fingerprint
from fathoms.types import Question, Record, Reply, Verdict

PLAIN = {"unit": "answer", "least_cosine": -1}


def record(text: str) -> Record:
    return Record(
        question=Question(id="q", text="?", category="A", answers=(("x",),)), answer=Reply(text=text)
    )


@pytest.fixture
def colours(tmp_path: Path) -> Path:
    path = tmp_path / "exemplars.yaml"
    path.write_text("statement: [the wall is red]\nabstention: [nobody can tell]\n")
    return path


def test_nearest_exemplar_decides_and_is_named(colours: Path) -> None:
    classifier = NearestNeighbour(exemplars=colours, **PLAIN)
    texts = ["the wall is blue", "nobody can tell", "the wall is blue"]
    verdicts = classifier.classify(texts)
    assert [verdict.label for verdict in verdicts] == ["statement", "abstention", "statement"]
    assert [verdict.premise for verdict in verdicts] == [
        "the wall is red",
        "nobody can tell",
        "the wall is red",
    ]
    assert [verdict.claim for verdict in verdicts] == texts
    assert float(verdicts[1].why or 0) == pytest.approx(1, abs=1e-4)
    assert 0 < float(verdicts[0].why or 0) < 1


def test_one_sentence_of_many_abstains(colours: Path) -> None:
    text = "There is much to say about paint, brushes and ladders.\nNobody can tell!"
    assert NearestNeighbour(exemplars=colours).classify([text])[0].label == "abstention"
    assert NearestNeighbour(exemplars=colours).classify(["A ladder is made of wood."])[0].label == "statement"


def test_what_resembles_no_abstention_is_a_statement(colours: Path) -> None:
    text = "Someone can paint."
    near = NearestNeighbour(exemplars=colours, **PLAIN).classify([text])[0]
    assert near.label == "abstention"
    strict = NearestNeighbour(exemplars=colours, unit="answer", least_cosine=0.9).classify([text])[0]
    assert (strict.label, strict.premise, strict.why) == ("statement", near.premise, near.why)


def test_json_and_yaml_are_one_shape(colours: Path, tmp_path: Path) -> None:
    path = tmp_path / "exemplars.json"
    path.write_text(json.dumps({"statement": ["the wall is red"], "abstention": ["nobody can tell"]}))
    assert read_exemplars(path) == read_exemplars(colours)
    assert NearestNeighbour(exemplars=path).key == NearestNeighbour(exemplars=colours).key


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.yaml", "statement: [yes]\nabstention: [b]\n", "a.yaml:1:13: "),
        ("a.yaml", "statement: [a]\nabstentions: [b]\n", "did you mean 'abstention'?"),
        ("a.yaml", "statement: [a]\nabstention: []\n", "a.yaml:2"),
        ("a.json", '{"statement": ["a"]}', "abstention"),
        ("a.json", "[", "a.json:1:2: not valid JSON"),
        ("a.json", "[]", "expected an object"),
    ],
)
def test_exemplars_that_cannot_be_used(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FathomsError) as caught:
        read_exemplars(path)
    assert complaint in str(caught.value)


def test_released_exemplars_are_those_that_were_pulled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    settings = {"abstention": {"kind": "linear", "exemplars": "released"}}
    assert Scoring.model_validate(settings).abstention.exemplars is None
    pulled = tmp_path / "data" / "fathoms-rag" / "statement_abstention_training.json"
    pulled.parent.mkdir(parents=True)
    pulled.write_text('{"statement": ["It is red."], "abstention": ["Nobody knows."]}')
    found = Scoring.model_validate(settings)
    assert found.abstention.exemplars == pulled
    assert found.at(Path("elsewhere")).abstention.exemplars == pulled


def test_missing_file_of_exemplars_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: no such file"):
        NearestNeighbour(exemplars=tmp_path / "nowhere.yaml").classify(["a"])


OWN = scored_under("paper-configured")


def test_known_verdicts_are_not_asked_for_again() -> None:
    records = [record("Paris."), record("Rome."), record("")]
    first = score(records, Scoring())
    # one by the plain rule, one by the configured classifier
    assert sorted(verdict.claim for verdict in first.verdicts.values()) == ["Paris."] * 2 + ["Rome."] * 2
    # a label that the classifier would never give shows where it came from
    verdicts = {
        key: Verdict(claim=verdict.claim, premise="by hand", label="abstention", why="0.5")
        for key, verdict in first.verdicts.items()
        if verdict.claim == "Paris."
    }
    again = score(records, Scoring(), verdicts)
    assert [row["paper-by-words"].abstention for row in again.rows] == ["abstention", "statement", "empty"]
    assert again.rows[0]["paper-by-words"].model_dump(exclude_none=True)["why"] == {
        "nearest": "by hand",
        "cosine": 0.5,
    }
    assert [verdict.claim for verdict in again.verdicts.values()] == ["Rome."] * 2


def test_verdicts_of_another_classifier_are_not_taken(colours: Path) -> None:
    first = score([record("Paris.")], Scoring())
    other = Scoring(abstention=NearestNeighbour(exemplars=colours))
    assert len(score([record("Paris.")], other, first.verdicts, OWN).verdicts) == 2


def test_every_profile_has_its_own_classifier(colours: Path) -> None:
    # as a whole the first is nearer to the statement, by its last sentence to the abstention; the second
    # is a little nearer to the abstention than to the statement, and near to neither
    records = [record("The wall is red, is it not? Nobody can tell."), record("Someone can paint.")]
    scores = score(records, Scoring(abstention=NearestNeighbour(exemplars=colours)), profiles=OWN)
    labels = [{name: row.abstention for name, row in rows.items()} for rows in scores.rows]
    assert labels == [
        {"paper-configured": "statement", "fathoms": "abstention"},
        {"paper-configured": "abstention", "fathoms": "statement"},
    ]
    classifiers = {name: figures.classifier for name, figures in summarise(records, scores).items()}
    assert {name: (rule["unit"], rule["least_cosine"]) for name, rule in classifiers.items()} == {
        "paper-configured": ("answer", -1),
        "fathoms": ("sentence", 0.4),
    }
    assert {rule["exemplars"] for rule in classifiers.values()} == {str(colours)}


def test_a_configured_plain_rule_is_asked_once(colours: Path) -> None:
    scoring = Scoring(abstention=NearestNeighbour(exemplars=colours, **PLAIN))
    scores = score([record("Someone can paint.")], scoring, profiles=OWN)
    assert len(scores.verdicts) == 1
    assert {row.abstention for row in scores.rows[0].values()} == {"abstention"}


@pytest.mark.slow
def test_known_verdicts_need_no_embedder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # neither the class nor its package is anywhere, nor are weights in an empty cache
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    for embed in (
        LlamaIndexEmbedder(target="nowhere.at_all:Embedding", options={"api_key": "${NO_SUCH_KEY}"}),
        OnnxEmbedder(),
    ):
        classifier = NearestNeighbour(embed=embed)
        with pytest.raises(FathomsError):
            classifier.classify(["Paris."])
        verdict = Verdict(claim="Paris.", premise="by hand", label="abstention", why="0.5")
        known = {fingerprint(rule.key, "Paris."): verdict for rule in (classifier, classifier.plain())}
        scores = score([record("Paris.")], Scoring(abstention=classifier), known, OWN)
        assert {row.abstention for row in scores.rows[0].values()} == {"abstention"}
        assert scores.verdicts == {}


class Versioned(LexicalEmbedder):
    """The lexical embedder, as if it came from some version of a library."""

    version: ClassVar[str | None] = None

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "versions": {"library": self.version}}


def test_the_key_outlives_the_library_and_not_the_weights(tmp_path: Path) -> None:
    class Newer(Versioned):
        version: ClassVar[str | None] = "2.0"

    assert NearestNeighbour(embed=Versioned()).key == NearestNeighbour(embed=Newer()).key
    (tmp_path / "tokenizer.json").write_text("{}")
    model = tmp_path / "model.onnx"
    keys = set()
    for weights in (b"one", b"other"):
        model.write_bytes(weights)
        keys.add(NearestNeighbour(embed=OnnxEmbedder(model=str(model))).key)
    assert len(keys) == 2
    model.unlink()
    with pytest.raises(ConfigError, match="no such file"):
        _ = NearestNeighbour(embed=OnnxEmbedder(model=str(model))).key


def test_a_key_follows_the_options() -> None:
    classifier = NearestNeighbour()
    before = classifier.key
    assert classifier.plain().key != before
    assert classifier.plain().key == NearestNeighbour(**PLAIN).key


def test_own_exemplars_are_our_own(shared: Path) -> None:
    own = read_exemplars(OWN_EXEMPLARS)
    released = read_exemplars(shared / "fathoms-rag" / "statement_abstention_training.json")
    assert (len(released.statement), len(released.abstention)) == (56, 34)
    assert not {text.lower() for text in (*own.statement, *own.abstention)} & {
        text.lower() for text in (*released.statement, *released.abstention) if len(text.split()) > 1
    }
    assert len(set(own.statement) | set(own.abstention)) == len(own.statement) + len(own.abstention)


@pytest.mark.parametrize("text", ["12", "Yes.", "no", "None", "7.0%", "- red\n- green", "Vision (images)"])
def test_bare_values_are_statements(text: str) -> None:
    assert NearestNeighbour().classify([text])[0].label == "statement"


def test_labels_agree_with_people_more_often_than_the_released_flags(shared: Path) -> None:
    # incorrect answers that both annotators labelled alike; the released flags reach 0.77 and 0.60 on them
    lines = (shared / "abstention" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row["correctness"] != 1 and row["label"] in ("statement", "abstention")]
    assert len(rows) == 172
    verdicts = NearestNeighbour().classify([row["answer"] for row in rows])
    pairs = [(verdict.label, row["label"]) for verdict, row in zip(verdicts, rows, strict=True)]
    right = sum(ours == theirs for ours, theirs in pairs)
    hits = pairs.count(("abstention", "abstention"))
    f1 = 2 * hits / (2 * hits + len(pairs) - right)
    assert right / len(pairs) >= 0.95
    assert f1 >= 0.90
