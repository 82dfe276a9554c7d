"""Fact checkers by name, with small random weights: what they read, and the probabilities of a forward pass
that the tests make with the library itself. The formats are those of the released code of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fathoms.errors import ConfigError
from fathoms.judges.nli import NLIJudge
from fathoms.judges.nli.judge import CHECKERS, CheckerKind
from fathoms.judges.nli.parts import fitted
from fathoms.models.caller import Caller
from fathoms.types import Judgement, Verdict
from tests.support import fact_checkers

pytestmark = pytest.mark.slow  # transformers is imported

PREMISE = "The Varn tower was built in 1912 by Ada Lund.\nIt is 41.5 m tall, and its door is painted green."
CLAIMS = ("The door is green.", "The tower has a lift.", "It is 41.5 m tall.")
MAKERS: dict[CheckerKind, Callable[[Path], Path]] = {
    "minicheck": fact_checkers.minicheck,
    "hhem": fact_checkers.hhem,
    "lettucedetect": fact_checkers.lettucedetect,
    "factcg": fact_checkers.factcg,
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[CheckerKind, Path]:
    return {kind: make(tmp_path_factory.mktemp(kind)) for kind, make in MAKERS.items()}


def verdicts(
    folder: Path, checker: CheckerKind, judgements: list[Judgement], **options: Any
) -> list[Verdict]:
    judge = NLIJudge(model=str(folder), checker=checker, device="cpu", **options)
    judge.check()
    found = asyncio.run(judge.judge(judgements, Caller()))
    assert all(isinstance(one, Verdict) for one in found)
    return [one for one in found if isinstance(one, Verdict)]


def judgements_of(premise: str, claims: tuple[str, ...] = CLAIMS) -> list[Judgement]:
    return [Judgement(claim=claim, premise=premise) for claim in claims]


@cache
def loaded(kind: str, folder: Path) -> Any:
    """A model or tokenizer as transformers loads it."""
    fact_checkers.seeded()
    import transformers

    return getattr(transformers, kind).from_pretrained(folder)


def of_minicheck(folder: Path, premise: str, claim: str) -> float:
    import torch

    inputs = loaded("AutoTokenizer", folder)(f"predict: {premise}</s>{claim}", return_tensors="pt")
    model = loaded("T5ForConditionalGeneration", folder).eval()
    with torch.no_grad():
        logits = model(**inputs, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
    return float(torch.stack([logits[3], logits[209]]).softmax(0)[1])


def of_hhem(folder: Path, premise: str, claim: str) -> float:
    import torch
    from safetensors.torch import load_file
    from transformers import T5EncoderModel

    text = (
        "<pad> Determine if the hypothesis is true given the premise?"
        f"\n\nPremise: {premise}\n\nHypothesis: {claim}"
    )
    inputs = loaded("AutoTokenizer", folder / "foundation")(text, return_tensors="pt")
    assert inputs["input_ids"][0, 0] == 0  # the padding token, whose logits are the decision
    weights = load_file(folder / "model.safetensors")
    encoder = T5EncoderModel(fact_checkers.t5_config()).eval()
    state = {name.removeprefix("t5.transformer."): values for name, values in weights.items()}
    state["encoder.embed_tokens.weight"] = weights["t5.transformer.shared.weight"]
    encoder.load_state_dict({name: state[name] for name in encoder.state_dict()})
    with torch.no_grad():
        first = encoder(**inputs).last_hidden_state[0, 0]
    logits = weights["t5.classifier.weight"] @ first + weights["t5.classifier.bias"]
    return float(logits.softmax(0)[1])


def of_factcg(folder: Path, premise: str, claim: str) -> float:
    import torch

    lines = premise.replace(". ", ".\n")  # the sentences of these premises end so
    text = (
        f"{lines}\n\nChoose your answer: based on the paragraph above can we conclude that"
        f' "{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
    )
    inputs = loaded("AutoTokenizer", folder)(text, return_tensors="pt")
    with torch.no_grad():
        logits = loaded("DebertaV2ForSequenceClassification", folder).eval()(**inputs).logits[0]
    return float(logits.softmax(0)[1])


def token_probabilities(folder: Path, premise: str, claim: str) -> list[tuple[str, float]]:
    """The tokens of a claim, as they stand in it, with the probability that they are not supported."""
    import torch

    tokenizer = loaded("AutoTokenizer", folder)
    prompt = f"Summarize the following text:\npassage 1: {premise}\noutput:"
    inputs = tokenizer(prompt, claim, return_tensors="pt")
    with torch.no_grad():
        logits = loaded("ModernBertForTokenClassification", folder).eval()(**inputs).logits[0]
    alone = tokenizer(claim, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    flagged = logits.softmax(-1)[-len(alone) - 1 : -1, 1].tolist()  # the last token is a mark
    return [(claim[start:end], p) for (start, end), p in zip(alone, flagged, strict=True)]


def of_lettucedetect(folder: Path, premise: str, claim: str) -> float:
    return 1 - max(p for _, p in token_probabilities(folder, premise, claim))


BY_HAND: dict[CheckerKind, Callable[[Path, str, str], float]] = {
    "minicheck": of_minicheck,
    "hhem": of_hhem,
    "factcg": of_factcg,
    "lettucedetect": of_lettucedetect,
}


@pytest.mark.parametrize("kind", list(MAKERS))
def test_a_checker_gives_the_probability_of_a_forward_pass(
    kind: CheckerKind, folders: dict[CheckerKind, Path]
) -> None:
    """Batches with padding give what single texts give, and half of the probability decides."""
    found = verdicts(folders[kind], kind, judgements_of(PREMISE))
    wanted = [BY_HAND[kind](folders[kind], PREMISE, claim) for claim in CLAIMS]
    assert [one.p for one in found] == pytest.approx(wanted, abs=1e-5)
    assert len({round(p, 4) for p in wanted}) == 3  # so the claim was read
    assert [one.label for one in found] == ["supported" if p >= 0.5 else "unsupported" for p in wanted]


def test_the_words_that_are_not_supported_are_kept_in_the_verdict(folders: dict[CheckerKind, Path]) -> None:
    folder = folders["lettucedetect"]
    claims = (*CLAIMS, *PREMISE.split())  # other versions of torch make other weights of a seed
    found = verdicts(folder, "lettucedetect", judgements_of(PREMISE, claims))
    for claim, verdict in zip(claims, found, strict=True):
        spans = "".join(
            text if p > 0.5 else "|" for text, p in token_probabilities(folder, PREMISE, claim)
        ).split("|")
        listed = ", ".join(f"'{span.strip()}'" for span in spans if span)
        assert verdict.why == (f"not supported: {listed}" if listed else None)
        assert (verdict.why is None) == (verdict.label == "supported")
    assert {one.label for one in found} == {"supported", "unsupported"}


SENTENCES = [f"The tower number {number} was built in {number} by Ada Lund." for number in range(120)]
LONG = " ".join(SENTENCES)


@pytest.mark.parametrize("kind", ["minicheck", "factcg"])
def test_the_best_of_the_parts_of_a_premise_counts(
    kind: CheckerKind, folders: dict[CheckerKind, Path]
) -> None:
    """Of sentences with 11 words, MiniCheck reads 45 in a part of at most 500 words, and FactCG, which counts
    the full stop, 45 in a part of at most 550."""
    (found,) = verdicts(folders[kind], kind, judgements_of(LONG, CLAIMS[:1]), max_tokens=20_000)
    parts = [" ".join(SENTENCES[at : at + 45]) for at in (0, 45, 90)]
    each = [BY_HAND[kind](folders[kind], part, CLAIMS[0]) for part in parts]
    assert found.p == pytest.approx(max(each), abs=1e-5)
    assert min(each) < max(each) - 0.01
    assert found.why is None


def test_lettucedetect_takes_the_part_that_supports_a_claim_best(folders: dict[CheckerKind, Path]) -> None:
    """Two of six sentences fit into 110 tokens with the prompt and the claim."""
    folder = folders["lettucedetect"]
    premise = " ".join(SENTENCES[:6])
    (found,) = verdicts(folder, "lettucedetect", judgements_of(premise, CLAIMS[:1]), max_tokens=110)
    parts = [" ".join(SENTENCES[at : at + 2]) for at in (0, 2, 4)]
    each = [of_lettucedetect(folder, part, CLAIMS[0]) for part in parts]
    assert found.p == pytest.approx(max(each), abs=1e-5)
    assert min(each) < max(each) - 0.01


@pytest.mark.parametrize("kind", list(MAKERS))
def test_a_premise_is_cut_and_never_the_claim(kind: CheckerKind, folders: dict[CheckerKind, Path]) -> None:
    """What is said of a sentence that is too long depends on the claim still, and the verdict says that it
    was cut."""
    found = verdicts(folders[kind], kind, judgements_of("tall green door " * 60), max_tokens=150)
    assert [one.why and one.why.split("; ")[-1] for one in found] == [
        "premise and claim were cut to 150 tokens"
    ] * 3
    assert len({round(one.p or 0, 4) for one in found}) == 3


def test_as_much_of_a_premise_is_kept_as_fits(folders: dict[CheckerKind, Path]) -> None:
    """For this tokenizer, a letter that stands alone is two tokens, a space and the letter."""
    tokenizer = loaded("AutoTokenizer", folders["minicheck"])

    def write(premise: str) -> str:
        return f"a: {premise} :z"

    room = len(tokenizer(write(""))["input_ids"])
    text, is_cut = fitted(tokenizer, write, "q x q x q x q x", room + 5 * 2)
    assert (text, is_cut) == ("a: q x q x q :z", True)
    assert fitted(tokenizer, write, "q x q", room + 5 * 2) == ("a: q x q :z", False)


@pytest.mark.parametrize(("name", "hub"), [(name, known.hub) for name, known in CHECKERS.items()])
def test_a_name_and_the_hubs_own_mean_the_same(name: str, hub: str) -> None:
    by_name, by_hub = NLIJudge(model=name), NLIJudge(model=hub)
    assert by_name == by_hub
    assert by_name.identity() == by_hub.identity()
    assert by_name.read_as == CHECKERS[name].kind


def test_a_model_with_options_of_its_own_is_read_by_them() -> None:
    """Configurations that described FactCG by hand mean what they meant, and their verdicts are found."""
    judge = NLIJudge(model="yaxili96/FactCG-DeBERTa-v3-Large", supported_label="LABEL_1", max_tokens=2048)
    assert judge.read_as is None
    assert judge.identity()["options"] == {
        "kind": "nli", "supported_label": "LABEL_1", "max_tokens": 2048
    }  # fmt: skip
    assert NLIJudge().identity()["options"] == {"kind": "nli", "max_tokens": 512}


def test_code_that_comes_with_a_model_is_not_run(folders: dict[CheckerKind, Path]) -> None:
    """Its code would end the process."""
    assert (folders["hhem"] / "modeling_hhem_v2.py").read_text().startswith("raise SystemExit")
    assert len(verdicts(folders["hhem"], "hhem", judgements_of(PREMISE))) == 3


def test_weights_of_another_model_are_refused(folders: dict[CheckerKind, Path], tmp_path: Path) -> None:
    def check(folder: Path, checker: CheckerKind) -> None:
        NLIJudge(model=str(folder), checker=checker, device="cpu").check()

    with pytest.raises(ConfigError, match="its vocabulary is not that of Flan-T5"):
        check(folders["factcg"], "minicheck")
    with pytest.raises(ConfigError, match="has no weights for classif"):
        check(folders["minicheck"], "factcg")
    with pytest.raises(ConfigError, match=r"is not HHEM-2\.1-open: its weights are not those"):
        check(_of_other_foundation(folders["hhem"], tmp_path / "hhem"), "hhem")
    bare = fact_checkers.copied(folders["hhem"], tmp_path / "bare")
    (bare / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"has no file model\.safetensors"):
        check(bare, "hhem")
    with pytest.raises(ConfigError, match="leave out supported_label and pair"):
        NLIJudge(model=str(folders["factcg"]), checker="factcg", supported_label="LABEL_1").check()


def _of_other_foundation(folder: Path, to: Path) -> Path:
    """A copy of HHEM whose foundation has more layers than its weights."""
    result = fact_checkers.copied(folder, to)
    path = result / "foundation" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"num_layers": 3}))
    return result
