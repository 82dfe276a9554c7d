"""Metrics against a reference answer, on examples of the papers and worked by hand."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathoms.answers import read
from fathoms.errors import ConfigError
from fathoms.importers import Imported, keep
from fathoms.metrics.metric import Facts, Metric
from fathoms.metrics.reference.bertscore import BertScore
from fathoms.metrics.reference.bleu import sentence_bleu
from fathoms.metrics.reference.rouge import RougeL
from fathoms.metrics.reference.squad import normalised
from fathoms.metrics.registry import distinct, named
from fathoms.metrics.score_records import RecordScore
from fathoms.models.sentences import ABBREVIATIONS
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.hub import library
from fathoms.scoring import score_run
from fathoms.types import Failure, Question, Record, Reply, Score


def scored(name: str, answer: str | None, reference: str | None) -> Score:
    question = Question(id="q", text="?", category="A", reference=reference)
    reply = None if answer is None else Reply(text=answer)
    error = Failure(kind="Timeout", message="late") if answer is None else None
    (metric,) = named([name])
    return metric.of(Facts(Record(question=question, answer=reply, error=error), RecordScore()))


def value(name: str, answer: str, reference: str) -> float:
    found = scored(name, answer, reference).value
    assert found is not None
    return found


def test_squad_normalisation_drops_articles_punctuation_and_case() -> None:
    assert normalised("The  Eiffel-Tower, in a  Paris!") == "eiffeltower in paris"


def test_exact_match_and_token_f1() -> None:
    assert value("exact-match", "The Broncos.", "broncos") == 1
    assert value("exact-match", "Denver Broncos", "Broncos") == 0
    found = scored("token-f1", "the Denver Broncos won", "Denver Broncos")
    assert found.value == pytest.approx(0.8)  # 2 of 3 words are right, and 2 of 2 are there
    assert found.parts == {"precision": pytest.approx(2 / 3), "recall": 1}
    assert value("token-f1", "Rams", "Broncos") == 0


def test_rouge_l_of_lins_example() -> None:
    # Lin 2004, section 3: S1 is "police killed the gunman"; F with beta 1
    assert value("rouge-l", "police kill the gunman", "police killed the gunman") == pytest.approx(1)
    assert value("rouge-l", "the gunman kill police", "police killed the gunman") == pytest.approx(0.5)
    assert value("rouge-2", "the gunman police killed", "police killed the gunman") == pytest.approx(2 / 3)
    assert value("rouge-1", "police", "police killed the gunman") == pytest.approx(2 * 0.25 / 1.25)


def test_rouge_of_a_script_without_spaces_is_not_zero() -> None:
    assert value("rouge-l", "สวัสดี", "สวัสดี") == pytest.approx(1)
    assert value("rouge-1", "город_Москва", "Москва") == pytest.approx(2 / 3)  # "_" is no letter
    assert value("rouge-l", "Москва столица", "столица Москва") == pytest.approx(0.5)
    assert value("rouge-1", "towers fall ж", "tower falls ж") == pytest.approx(
        1
    )  # one letter turns off no stems


def test_bleu_of_papinenis_clipped_unigrams() -> None:
    # "the" occurs twice in the reference, so that 2 of 7 count, and no longer n-gram is shared
    assert value("bleu", "the the the the the the the", "The cat is on the mat.") < 1e-70
    assert value("bleu", "The cat is on the mat.", "The cat is on the mat.") == pytest.approx(1)
    # 4 of 5 words, 3 of 4 pairs, 2 of 3 triples and 1 of 2 runs of four are in the reference
    assert value("bleu", "a b c d x", "a b c d e") == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


def test_sacrebleu_smooths_and_is_a_share() -> None:
    found = value("sacrebleu", "the the the the the the the", "The cat is on the mat.")
    assert 0 < found < 0.1
    assert value("sacrebleu", "The cat is on the mat.", "The cat is on the mat.") == pytest.approx(1)


def test_semantic_similarity_by_a_real_model() -> None:
    near = value("semantic-similarity", "The tower is 41 metres tall.", "The height of the tower is 41 m.")
    far = value("semantic-similarity", "The tower is 41 metres tall.", "Ore costs 17 crowns a ton.")
    assert value("semantic-similarity", "", "The height of the tower is 41 m.") == 0
    assert far < 0.4 < 0.7 < near <= 1


@pytest.mark.slow
def test_bertscore_is_that_of_the_paper() -> None:
    """Equations 2 to 4 of Zhang et al. 2020, computed from the vectors of the same layer."""
    library()
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = str(ASSETS["minilm-l6-v2-torch"].folder)
    texts = ["The tower is 41 metres tall.", "It has a height of 41 m."]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder)
    rows = []
    for text in texts:
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        rows.append(torch.nn.functional.normalize(states[4][0, 1:-1], dim=-1))  # without [CLS] and [SEP]
    cosines = rows[0] @ rows[1].T
    precision, recall = float(cosines.max(dim=1).values.mean()), float(cosines.max(dim=0).values.mean())
    found = BertScore(model="minilm-l6-v2-torch", layer=4).compare(*texts)
    assert found[1] == {
        "precision": pytest.approx(precision, abs=1e-5),
        "recall": pytest.approx(recall, abs=1e-5),
    }
    assert found[0] == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)
    with pytest.raises(ConfigError, match="is not known to the library: set 'layer'"):
        BertScore(model="minilm-l6-v2-torch").check()


@pytest.mark.parametrize("metric", named(["text", "sacrebleu", "semantic-similarity", "bertscore"]), ids=str)
def test_a_failed_call_scores_0_and_a_missing_reference_none(metric: Metric) -> None:
    failed = scored(metric.name, None, "gold")
    assert (failed.value, failed.why) == (0, {"failed": "Timeout"})
    for nothing in (None, "", " "):
        missing = scored(metric.name, "an answer", nothing)
        assert (missing.value, missing.why) == (None, {"lacks": "a reference answer"})


@pytest.mark.slow
def test_a_set_goes_without_bertscore_where_its_model_is_missing(tmp_path: Path) -> None:
    (named_alone,) = named(["bertscore"])
    in_set = next(metric for metric in named(["mirage-quick"]) if metric.name == "bertscore")
    assert [getattr(metric, "optional", None) for metric in (named_alone, in_set)] == [False, True]
    assert distinct([in_set, named_alone]) == distinct([named_alone, in_set]) == (named_alone,)
    in_set.check()  # which raises nothing, although no model is there
    question = Question(id="q", text="How tall?", category="A", reference="41.5 m")
    record = Record(question=question, answer=Reply(text="41.5 m"), hits=None)
    run = keep(Imported("mine", None, (record,), (question,)), "data", tmp_path)
    summary = score_run(
        run, metrics=[BertScore(model="nowhere", optional=True), *named(["exact-match"])]
    ).plain()
    assert summary["metrics"]["exact-match"]["overall"]["value"] == 1
    assert "bertscore" not in summary["metrics"]
    why = "bertscore was left out, the other metrics stand: bertscore: nowhere is not known to the library"
    assert any(warning.startswith(why) for warning in summary["warnings"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # NLTK's, where no run of four words is shared
@given(*[st.lists(st.sampled_from("abcde"), max_size=12)] * 2)
def test_bleu_and_the_longest_subsequence_are_those_of_the_libraries(
    one: list[str], other: list[str]
) -> None:
    # imported here, because NLTK imports scipy and sklearn
    from nltk.translate.bleu_score import sentence_bleu as nltk_bleu
    from rouge_score.rouge_scorer import RougeScorer

    assert sentence_bleu(other, one) == pytest.approx(float(nltk_bleu([other], one)), rel=1e-12)
    scorer = RougeScorer(["rougeL"])
    theirs = scorer.score(" ".join(other), " ".join(one))["rougeL"]
    ours = RougeL().compare(" ".join(one), " ".join(other))
    assert ours[0] == pytest.approx(theirs.fmeasure)
    assert ours[1] == pytest.approx({"precision": theirs.precision, "recall": theirs.recall})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_long_answers_of_real_models_are_compared_as_by_the_libraries(shared: Path) -> None:
    """The answers of each model with those of another as references, to the last bit."""
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
    from nltk.translate.bleu_score import sentence_bleu as nltk_bleu
    from rouge_score.rouge_scorer import RougeScorer

    paths = sorted((shared / "mmdocrag" / "responses").glob("*.jsonl"))
    released = [[json.loads(line)["response"] for line in path.read_text().splitlines()] for path in paths]
    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATIONS)
    punkt, treebank = PunktSentenceTokenizer(parameters), NLTKWordTokenizer()
    scorer = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)
    pairs = [pair for n, one in enumerate(released) for pair in zip(one, released[n - 1], strict=True)]
    for answer, reference in pairs[::80]:
        ours, gold = (  # of what the answer says, without its citations and its mark-up
            [word for sentence in punkt.tokenize(text) for word in treebank.tokenize(sentence)]
            for text in (read(answer, ()).plain, reference)
        )
        assert value("bleu", answer, reference) == nltk_bleu([gold], ours)
    for answer, reference in pairs[::400]:
        latin = re.sub(r"[^\x00-\x7f]", " ", answer), re.sub(r"[^\x00-\x7f]", " ", reference)
        for name, score in scorer.score(latin[1], read(latin[0], ()).plain).items():
            found = scored(f"rouge-{name[5:].lower()}", *latin)
            assert (found.value, found.parts["precision"]) == (score.fmeasure, score.precision)


@pytest.mark.slow
def test_long_answers_are_compared_fast(shared: Path) -> None:
    path, other = sorted((shared / "mmdocrag" / "responses").glob("*.jsonl"))[:2]
    texts = (
        [json.loads(line)["response"] for line in one.read_text().splitlines()[:200]] for one in (path, other)
    )
    pairs = list(zip(*texts, strict=True))
    started = time.process_time()
    for answer, reference in pairs:
        value("bleu", answer, reference)
        value("rouge-l", answer, reference)
    assert time.process_time() - started < 5  # 0.3 to 1 s with coverage; the libraries take 20 times as long
