"""Judges with real models: the embedded one with its grammar, a cross-encoder, and a server that fails."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from fathoms.errors import ConfigError
from fathoms.judges.judge import Judge
from fathoms.judges.llm import LLMJudge
from fathoms.judges.nli import NLIJudge
from fathoms.models import Embedded, OpenAICompatibleLLM
from fathoms.models.caller import Caller
from fathoms.models.calling.provider_calls import ExecutionSettings, ProviderCalls
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.hub import library
from fathoms.types import Failure, Judgement, Verdict
from tests.support.fault_server.server import ScriptedServer

pytestmark = pytest.mark.slow  # real models

PREMISE = "The Varn tower was built in 1912 by Ada Lund. It is 41.5 m tall, and its door is painted green."
CLAIMS = [Judgement(claim=text, premise=PREMISE) for text in ("The door is green.", "The tower has a lift.")]


def judged(judge: Judge, caller: Caller | None = None) -> list[Verdict | Failure]:
    async def work() -> list[Verdict | Failure]:
        asking = caller or Caller()
        return [(await judge.judge([claim], asking))[0] for claim in CLAIMS]

    return asyncio.run(work())


def test_a_grammar_holds_the_embedded_model_to_the_labels(smollm: Embedded) -> None:
    """The smallest model judges badly, but it can say nothing but yes or no, with a probability for each."""
    judge = LLMJudge(model=smollm.model_copy(update={"max_tokens": 8}))
    judge.check()
    for verdict in judged(judge):
        assert isinstance(verdict, Verdict)
        assert verdict.label in ("supported", "unsupported")
        assert verdict.p is not None
        assert (verdict.p > 0.5) == (verdict.label == "supported")
        assert verdict.usage is not None
        assert verdict.usage.completion_tokens is not None
        assert verdict.usage.completion_tokens <= 3


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BERT of random weights, with the labels of natural language inference in its own order."""
    library()  # mends torchvision, which transformers imports
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    labels = {0: "CONTRADICTION", 1: "entailment", 2: "neutral"}
    config = BertConfig(
        vocab_size=30522, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        num_labels=3, id2label=labels, label2id={name: number for number, name in labels.items()},
    )  # fmt: skip
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("nli")
    BertForSequenceClassification(config).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(ASSETS["minilm-l6-v2-torch"].folder / name, folder / name)
    return folder


def test_the_probability_of_a_cross_encoder_is_that_of_entailment(classifier: Path) -> None:
    from sentence_transformers import CrossEncoder

    judge = NLIJudge(model=str(classifier), device="cpu")
    judge.check()
    rows = CrossEncoder(str(classifier), device="cpu").predict(
        [(PREMISE, claim.claim) for claim in CLAIMS], apply_softmax=True
    )
    found = asyncio.run(judge.judge(CLAIMS, Caller()))
    for verdict, row in zip(found, rows, strict=True):
        assert isinstance(verdict, Verdict)
        assert verdict.p == pytest.approx(float(row[1]), abs=1e-6)
        assert verdict.label == ["contradiction", "entailment", "neutral"][int(row.argmax())]


def test_a_fact_checker_has_one_label_for_support_and_may_read_one_text(classifier: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    judge = NLIJudge(
        model=str(classifier), device="cpu", supported_label="Neutral", pair="{premise} Is it so? {claim}"
    )
    judge.check()
    texts = [f"{PREMISE} Is it so? {claim.claim}" for claim in CLAIMS]
    tokenizer = AutoTokenizer.from_pretrained(classifier)
    model = AutoModelForSequenceClassification.from_pretrained(classifier)
    logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits
    rows = logits.softmax(dim=-1).tolist()
    for verdict, row in zip(asyncio.run(judge.judge(CLAIMS, Caller())), rows, strict=True):
        assert isinstance(verdict, Verdict)
        assert verdict.p == pytest.approx(float(row[2]), abs=1e-6)
        assert verdict.label == ("supported" if row[2] >= 0.5 else "unsupported")
    with pytest.raises(ConfigError, match="has no label 'label_1'"):
        judge.model_copy(update={"supported_label": "LABEL_1"}).check()


def test_a_cross_encoder_says_which_of_its_verdicts_rest_on_a_part_of_the_premise(classifier: Path) -> None:
    judgements = [Judgement(claim="It is tall.", premise=words) for words in ("tall " * 8, "tall " * 30)]
    found = asyncio.run(
        NLIJudge(model=str(classifier), device="cpu", max_tokens=20).judge(judgements, Caller())
    )
    assert [verdict.why for verdict in found if isinstance(verdict, Verdict)] == [
        None,
        "premise and claim were cut to 20 tokens",
    ]


def test_a_model_without_the_three_labels_is_refused(classifier: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(classifier, other)
    config = json.loads((other / "config.json").read_text())
    config["id2label"]["1"] = "yes"
    (other / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="has no label 'entailment'"):
        NLIJudge(model=str(other), device="cpu").check()


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("429=0.05@0", "supported supported"),
        ("status=503@0", "supported supported"),
        ("reset@0", "supported supported"),
        ("status=400", "ModelError ModelError"),
        ("429=0.01", "RateLimitError RateLimitError"),
        ("html", "ModelError ModelError"),
    ],
)
def test_a_failing_server_is_asked_again_as_for_answers(fault: str, outcome: str) -> None:
    settings = ExecutionSettings(max_attempts=2, first_wait=0.01)
    with ScriptedServer([fault], default="yes").running() as server:
        model = OpenAICompatibleLLM(model="scripted", base_url=f"{server.address}/v1", request_timeout=5)
        found = judged(LLMJudge(model=model), Caller(ProviderCalls(settings)))
    said = [one.label if isinstance(one, Verdict) else one.kind for one in found]
    assert " ".join(said) == outcome
