"""Sentence Transformers for real: the packaged MiniLM, and a cross-encoder whose scores can be foretold."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from fathoms.errors import ConfigError, MissingWeightsError, ModelError, ServerError
from fathoms.judges.nli import NLIJudge
from fathoms.metrics.abstention import NearestNeighbour
from fathoms.models import CrossEncoder, Embedder, OnnxEmbedder, SentenceTransformersEmbedder
from fathoms.models.weights.assets import ASSETS
from fathoms.models.weights.hub import library
from fathoms.models.weights.weights import is_installed
from fathoms.retrieve import BM25, Index, Rerank
from fathoms.types import Chunk, Judgement, Question

NAME = "minilm-l6-v2-torch"
TEXTS = ["A cat sat on the mat.", "The flux capacitor needs 1.21 GW. " * 60, "ok", "東京 🙂 \x00", ""]

pytestmark = pytest.mark.slow  # importing torch and transformers takes about 10 s


@pytest.fixture(scope="module")
def torch_minilm() -> SentenceTransformersEmbedder:
    if not is_installed(NAME):
        pytest.skip(f"no weights: run 'fathoms models pull {NAME}'")
    return SentenceTransformersEmbedder(device="cpu")


def test_the_published_similarities(torch_minilm: SentenceTransformersEmbedder) -> None:
    """The quickstart of Sentence Transformers prints these for all-MiniLM-L6-v2."""
    vectors = torch_minilm.embed(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )
    published = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    np.testing.assert_allclose(vectors @ vectors.T, published, atol=1e-4)


def test_unit_vectors_as_the_onnx_model_has_them(
    torch_minilm: SentenceTransformersEmbedder, minilm: OnnxEmbedder
) -> None:
    vectors = torch_minilm.embed(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert ((vectors * minilm.embed(TEXTS)).sum(axis=1) > 0.99).all()
    assert torch_minilm.embed([]).shape == (0, 384)


def test_batches_change_nothing(torch_minilm: SentenceTransformersEmbedder) -> None:
    one = torch_minilm.model_copy(update={"batch_size": 1})
    np.testing.assert_allclose(one.embed(TEXTS), torch_minilm.embed(TEXTS), atol=1e-5)
    assert one.identity() == torch_minilm.identity()


def test_a_text_is_cut_at_max_tokens(torch_minilm: SentenceTransformersEmbedder) -> None:
    """Six tokens are two marks and four words."""
    short = torch_minilm.model_copy(update={"max_tokens": 6})
    whole = torch_minilm.embed(["one two three four", "one two three four five"])
    np.testing.assert_allclose(short.embed(["one two three four five"])[0], whole[0], atol=1e-6)
    assert np.abs(whole[0] - whole[1]).max() > 1e-3
    assert short.identity() != torch_minilm.identity()


def test_prompts(torch_minilm: SentenceTransformersEmbedder, tmp_path: Path) -> None:
    own = torch_minilm.model_copy(update={"query_prompt": "query: ", "document_prompt": "passage: "})
    plain = torch_minilm.embed(["query: depth", "passage: depth"])
    np.testing.assert_allclose(own.embed_queries(["depth"])[0], plain[0], atol=1e-6)
    np.testing.assert_allclose(own.embed(["depth"])[0], plain[1], atol=1e-6)
    folder = tmp_path / "with-prompts"
    shutil.copytree(ASSETS[NAME].folder, folder)
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: "}}')
    saved = SentenceTransformersEmbedder(model=str(folder), device="cpu")
    np.testing.assert_allclose(saved.embed_queries(["depth"])[0], plain[0], atol=1e-6)
    none = saved.model_copy(update={"query_prompt": ""})
    np.testing.assert_allclose(none.embed_queries(["depth"]), torch_minilm.embed(["depth"]), atol=1e-6)


def test_identity_is_of_the_files(torch_minilm: SentenceTransformersEmbedder, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(ASSETS[NAME].folder, folder)
    (folder / "README.md").write_text("A model.")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("")
    copy = SentenceTransformersEmbedder(model=str(folder))
    assert copy.identity() == torch_minilm.identity()
    (folder / "modules.json").write_text("[]")
    assert copy.identity() != torch_minilm.identity()
    hub = SentenceTransformersEmbedder(model="intfloat/e5-small-v2")
    assert hub.identity()["weights"] == {"hub": "intfloat/e5-small-v2", "revision": None}
    assert hub.model_copy(update={"hub_revision": "abc"}).identity() != hub.identity()


def test_the_abstention_classifier_takes_it(
    torch_minilm: SentenceTransformersEmbedder, minilm: OnnxEmbedder
) -> None:
    embed = {"kind": "sentence-transformers", "model": NAME, "device": "cpu"}
    classifier = NearestNeighbour.model_validate({"embed": embed, "least_cosine": 0.35})
    classifier.check()
    texts = ["I'm sorry, the documents do not say.", "The yield was 2.91 t/ha.", "It is blue.", "No idea!"]
    verdicts = classifier.classify(texts)
    assert [verdict.label for verdict in verdicts[:2]] == ["abstention", "statement"]
    rounded = classifier.model_copy(update={"embed": minilm}).classify(texts)
    assert [verdict.premise for verdict in verdicts] == [verdict.premise for verdict in rounded]


def test_a_config_is_the_component() -> None:
    adapter = TypeAdapter(Embedder)
    model = adapter.validate_python({"kind": "sentence-transformers", "query_prompt": "query: "})
    assert isinstance(model, SentenceTransformersEmbedder)
    assert adapter.validate_python(model.model_dump(mode="json")) == model


@pytest.mark.parametrize("kind", [SentenceTransformersEmbedder, CrossEncoder])
def test_what_is_missing_is_named(kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="nowhere: no such folder"):
        kind(model=str(tmp_path / "nowhere")).check()
    with pytest.raises(ConfigError, match="no model 'all-MiniLM-L6-v2': give a name"):
        kind(model="all-MiniLM-L6-v2").check()
    with pytest.raises(ConfigError, match="could not be loaded: "):
        kind(model=str(tmp_path)).check()
    monkeypatch.setenv("FATHOMS_CACHE_DIR", str(tmp_path))
    with pytest.raises(MissingWeightsError):
        kind(model=NAME).check()


@pytest.mark.parametrize("kind", [SentenceTransformersEmbedder, CrossEncoder])
def test_a_hub_that_does_not_have_it_ends_soon(kind: Any) -> None:
    """With a network the hub says that there is no such model, without one nothing says anything."""
    started = time.perf_counter()
    with pytest.raises(ServerError, match=r"'fathoms-tests/no-such-model' is not on this machine.*path of a"):
        kind(model="fathoms-tests/no-such-model").check()
    assert time.perf_counter() - started < 55  # the hub's own client tries for more than a minute


@pytest.mark.parametrize("kind", ["embedder", "reranker", "judge"])
def test_a_batch_that_does_not_fit_is_said(kind: str) -> None:
    """With the error that torch raises on a GPU whose memory is full."""
    library()
    import torch

    def full(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    model = SimpleNamespace(encode_document=full, predict=full, probabilities=full)
    given: dict[str, Any] = {"model": "a/b"}
    calls: dict[str, Callable[[], object]] = {
        "embedder": lambda: _with(SentenceTransformersEmbedder, model)(**given).embed(["a"]),
        "reranker": lambda: _with(CrossEncoder, model)(**given).scores([("a", "b")]),
        "judge": lambda: _with(NLIJudge, model)(**given).judge_here([Judgement(claim="a", premise="b")]),
    }
    with pytest.raises(ModelError, match=r"a batch does not fit.*stop what else uses it, lower 'batch_size'"):
        calls[kind]()


def _with(component: Any, model: Any) -> Any:
    """A component whose loaded model is this one."""
    return type("Full", (component,), {"_model": lambda self: model, "__module__": __name__})


WORD = "water"


@pytest.fixture(scope="module")
def reader(torch_minilm: SentenceTransformersEmbedder, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a cross-encoder that scores a pair by the share of its tokens that are "water".

    A real BERT with hand-set weights: every token is one of two vectors, "water" or not; the queries of the
    attention are 0, so it takes the plain mean over the tokens; the feed-forward layer adds 0; the
    pooler hands on the first token, and the head takes "water" minus "not". All layer norms keep the
    direction in the plane of the two vectors, so the score rises with the share and with nothing else.
    """
    library()
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=30522,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
        num_labels=1,
    )
    model = BertForSequenceClassification(config)
    folder = tmp_path_factory.mktemp("reader")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(ASSETS[NAME].folder / name, folder / name)
    vocabulary = (folder / "vocab.txt").read_text().split("\n")
    layer = model.bert.encoder.layer[0]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" not in name:
                weight.zero_()
        words = model.bert.embeddings.word_embeddings.weight
        words[:, 1] = 1.0
        words[vocabulary.index(WORD)] = torch.eye(8)[0]
        for square in (layer.attention.self.value, layer.attention.output.dense, model.bert.pooler.dense):
            square.weight.copy_(torch.eye(8))
        model.classifier.weight[0, :2] = torch.tensor([1.0, -1.0])
    model.save_pretrained(folder)
    return str(folder)


PASSAGES = ["dry dry dry", "water dry dry", "water water water", "dry", "water water dry", "water"]
BY_SHARE = [2, 4, 5, 1, 3, 0]
"""Question, three marks and passage: 3/8, 2/8, 1/6, 1/8 of the tokens are "water", and none of 6 or of 8."""


def test_the_scores_are_the_librarys_own(reader: str) -> None:
    pairs = [("how dry", passage) for passage in PASSAGES]
    scores = CrossEncoder(model=reader, device="cpu").scores(pairs)
    theirs = library().CrossEncoder(reader, device="cpu").predict(pairs)
    assert scores == pytest.approx(theirs.tolist(), abs=1e-6)
    by_score = sorted(range(len(PASSAGES)), key=lambda index: -scores[index])
    assert by_score[:4] == BY_SHARE[:4]
    assert scores[0] == pytest.approx(scores[3], abs=1e-6)
    assert all(0 < score < 1 for score in scores)
    assert CrossEncoder(model=reader).scores([]) == []


def test_reranked_by_a_cross_encoder(reader: str, tmp_path: Path) -> None:
    chunks = [Chunk(id=f"c{n}", document="d", pages=(1,), text=text) for n, text in enumerate(PASSAGES)]
    index = Index((), chunks, None, lambda texts: np.zeros((0, 0), np.float32), tmp_path)
    question = Question(id="q", text="how dry", category="c")
    by = CrossEncoder(model=reader, device="cpu")
    retriever = Rerank(first=BM25(top_k=4), by=by, top_k=2)
    retriever.check()
    (first,) = retriever.first.search(index, [question])
    (found,) = retriever.search(index, [question])
    assert {hit.chunk.id for hit in first} == {"c0", "c1", "c3", "c4"}  # those with the word "dry"
    assert [hit.chunk.id for hit in found] == ["c4", "c1"]
    assert retriever.identity()["by"]["weights"].keys() >= {"config.json", "model.safetensors"}


def test_a_longer_pair_is_cut(reader: str) -> None:
    """Eight tokens: three marks, two words of the question, three of the passage."""
    long, short = ("how dry", "dry dry dry water water"), ("how dry", "dry dry dry")
    whole, cut = CrossEncoder(model=reader), CrossEncoder(model=reader, max_tokens=8)
    assert whole.scores([long])[0] > whole.scores([short])[0] + 1e-3
    assert cut.scores([long]) == pytest.approx(whole.scores([short]), abs=1e-6)


def test_an_encoder_without_a_head_is_no_reranker() -> None:
    """The library would give it a head of random weights."""
    if not is_installed(NAME):
        pytest.skip(f"no weights: run 'fathoms models pull {NAME}'")
    with pytest.raises(ConfigError, match="is not a reranker: it was saved without a head"):
        CrossEncoder(model=NAME).check()


def test_several_scores_a_pair_are_refused(reader: str, tmp_path: Path) -> None:
    library()
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    config = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(reader).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="gives 2 scores per pair"):
        CrossEncoder(model=str(tmp_path)).check()
