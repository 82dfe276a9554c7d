"""Embedders of page pictures: their vectors are those of the transformers library, with small random weights
of the real architectures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import UnidentifiedImageError
from pydantic import TypeAdapter

from fathoms.errors import ConfigError, ModelError
from fathoms.models import ImageTextEmbedder, MultiVectorEmbedder, PageEmbedder
from fathoms.models.embed import process as embedding
from fathoms.models.embed.pages import in_batches, page_keys
from fathoms.models.page_patches import located_cached
from fathoms.models.weights.hub import library, quiet, read
from fathoms.retrieve.heatmap import heatmap, heatmaps_of
from fathoms.retrieve.max_sim import max_sim
from fathoms.retrieve.multi_vectors import MultiVectors
from fathoms.retrieve.page_search import PageSearch
from fathoms.runs.cache import Cache
from fathoms.types import Document, Page
from tests.support.tiny_pages import tiny_models

slow = pytest.mark.slow  # importing torch and transformers takes about 10 s
QUESTIONS = ["How deep is the trench?", "Wie tief?", ""]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A tall page, a wide one, and a small one in another mode, each with lines of its own."""
    from PIL import Image, ImageDraw

    folder, paths = tmp_path_factory.mktemp("pictures"), []
    for number, (size, mode) in enumerate([((90, 150), "RGB"), ((220, 90), "RGB"), ((40, 40), "L")]):
        page = Image.new(mode, size, "white")
        for line in range(3):
            box = [4, 8 + 9 * line, 10 + 20 * (line + number), 12 + 9 * line]
            ImageDraw.Draw(page).rectangle(box, "black")
        paths.append(folder / f"{number}.png")
        page.save(paths[-1])
    return paths


def opened(pictures: Sequence[Path]) -> list[Any]:
    """The pictures as the library takes them."""
    from PIL import Image

    return [Image.open(path).convert("RGB") for path in pictures]


def late_interaction(folder: str, inputs: dict[str, Any]) -> list[Any]:
    """The vectors that the transformers library gives for one page or text at a time."""
    library()
    import torch
    import transformers

    name = {"colqwen2": "ColQwen2", "colpali": "ColPali"}[Path(folder).name]
    with quiet():
        model = getattr(transformers, f"{name}ForRetrieval").from_pretrained(folder)
        processor = getattr(transformers, f"{name}Processor").from_pretrained(folder)
    (argument, items) = next(iter(inputs.items()))
    found = []
    for item in items:
        with torch.inference_mode():
            batch = processor(**{argument: [item]})
            batch.pop("labels", None)
            found.append(model(**batch).embeddings[0].numpy())
    return found


def their_scores(folder: str, questions: Sequence[Any], pages: Sequence[Any]) -> Any:
    """The scores of the transformers library, shape (questions, pages)."""
    import torch
    from transformers import AutoProcessor

    processor = AutoProcessor.from_pretrained(folder)
    tensors = [[torch.tensor(vectors) for vectors in each] for each in (questions, pages)]
    return processor.score_retrieval(*tensors).numpy()


def single_vectors(folder: str, inputs: dict[str, Any]) -> list[Any]:
    """The unit vectors that the transformers library gives for one page or text at a time."""
    library()
    import torch
    from transformers import AutoModel, AutoProcessor

    with quiet():
        model, processor = AutoModel.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    (argument, items) = next(iter(inputs.items()))
    features = {"images": model.get_image_features, "text": model.get_text_features}[argument]
    found = []
    for item in items:
        with torch.inference_mode():
            # as the cards of the models show it; the text model of SigLIP was trained with the full length
            batch = processor(**{argument: [item]}, return_tensors="pt", padding="max_length")
            row = features(**batch).pooler_output.numpy()
        found.append(row / np.linalg.norm(row))
    return found


@slow
@pytest.mark.parametrize("kind", ["colqwen2", "colpali"])
def test_many_vectors_are_the_librarys_own(kind: str, pictures: list[Path], tmp_path: Path) -> None:
    """The vectors, and the scores that the processor of the model computes of them."""
    folder = tiny_models()[kind]
    embedder = MultiVectorEmbedder(model=folder, device="cpu")
    pages, questions = embedder.embed_pages(pictures), embedder.embed_questions(QUESTIONS)
    theirs = late_interaction(folder, {"images": opened(pictures)})
    wanted = late_interaction(folder, {"text": QUESTIONS})
    for own, their in zip([*pages, *questions], [*theirs, *wanted], strict=True):
        assert own.dtype == np.float32
        np.testing.assert_allclose(own, their, atol=1e-5)
    assert len({vectors.tobytes() for vectors in pages}) == len(pictures)  # no two pages are alike
    scores = max_sim(questions, MultiVectors.write(tmp_path / "store", pages))
    np.testing.assert_allclose(scores, their_scores(folder, wanted, theirs), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(pages[0], axis=1), 1, atol=1e-5)


@slow
@pytest.mark.parametrize("kind", ["clip", "siglip"])
def test_single_vectors_are_the_librarys_own(kind: str, pictures: list[Path]) -> None:
    folder = tiny_models()[kind]
    embedder = ImageTextEmbedder(model=folder, device="cpu")
    pages, questions = embedder.embed_pages(pictures), embedder.embed_questions(QUESTIONS[:2])
    theirs = single_vectors(folder, {"images": opened(pictures)})
    wanted = single_vectors(folder, {"text": QUESTIONS[:2]})
    for own, their in zip([*pages, *questions], [*theirs, *wanted], strict=True):
        np.testing.assert_allclose(own, their, atol=1e-5)


@slow
def test_the_worker_process_gives_the_same(pictures: list[Path], tmp_path: Path) -> None:
    """Vectors, errors and checks of the process that has the model."""
    models = tiny_models()
    embedder = MultiVectorEmbedder(model=models["colqwen2"], device="cpu", batch_size=2)
    embedding.check(embedder)
    own = embedder.model_copy(update={"batch_size": 1}).embed_pages(pictures)
    assert embedding.runs_on(embedder) == "cpu, float32"
    for found, vectors in zip(embedding.embed_pages(embedder, pictures), own, strict=True):
        np.testing.assert_allclose(found, vectors, atol=1e-5)
    own = embedder.embed_questions(QUESTIONS)
    for found, vectors in zip(embedding.embed_questions(embedder, QUESTIONS), own, strict=True):
        np.testing.assert_allclose(found, vectors, atol=1e-5)
    assert embedding.embed_pages(embedder, []) == []
    single = ImageTextEmbedder(model=models["clip"], device="cpu")
    assert [vectors.shape for vectors in embedding.embed_pages(single, pictures)] == [(1, 16)] * 3
    with pytest.raises(ConfigError, match="embeds no pictures"):
        embedding.check(ImageTextEmbedder(model=models["bert"]))
    (tmp_path / "page.png").write_bytes(b"not a picture")
    with pytest.raises(ModelError, match="embedding failed: UnidentifiedImageError"):
        embedding.embed_pages(embedder, [tmp_path / "page.png"])


@slow
@pytest.mark.parametrize(
    ("kind", "grids"), [("colqwen2", [(4, 7, 7), (9, 3, 7)]), ("colpali", [(4, 4, 0)] * 2)]
)
def test_the_vectors_of_patches_and_words_are_known(
    kind: str, grids: list[tuple[int, int, int]], pictures: list[Path]
) -> None:
    """ColQwen2 makes patches of 16 pixels, ColPali always 4 times 4; the token ids say where they stand.

    A question of 23 bytes has as many words here, because each byte is a token of the tiny models.
    """
    embedder = MultiVectorEmbedder(model=tiny_models()[kind], device="cpu")
    sizes = [(90, 150), (220, 90)]
    found, [words] = embedding.patches_and_words(embedder, sizes, QUESTIONS[:1])
    assert found == grids
    assert words.end - words.first == len(QUESTIONS[0]) == 23
    [vectors], [question] = embedder.embed_pages(pictures[:1]), embedder.embed_questions(QUESTIONS[:1])
    columns, rows, first = grids[0]
    patches = vectors[first : first + columns * rows]
    heat = heatmap(question[words.first : words.end], patches, columns, rows)
    from sentence_transformers.multi_vector_encoder.interpretability import maxsim_similarity_map
    from torch import from_numpy

    theirs = maxsim_similarity_map(
        from_numpy(question[words.first : words.end].copy()), from_numpy(patches.copy()), (columns, rows)
    )
    their = theirs.amax(dim=0).numpy()
    scaled = 100 * (their - their.min()) / (their.max() - their.min())
    np.testing.assert_allclose(np.reshape(heat.values, (rows, columns)), scaled, atol=0.5 + 1e-3)


def their_map(kind: str, picture: Path, question: str) -> Any:
    """The map (rows, columns) from 0 to 100 of the vectors of the transformers library.

    The patches are the vectors at image tokens. The words are those at the tokens of the question's bytes,
    which are the tokens of the small models.
    """
    library()
    import torch
    import transformers

    folder = tiny_models()[kind]
    name = {"colqwen2": "ColQwen2", "colpali": "ColPali"}[kind]
    with quiet():
        model = getattr(transformers, f"{name}ForRetrieval").from_pretrained(folder)
        processor = getattr(transformers, f"{name}Processor").from_pretrained(folder)
    seen, wanted = processor(images=opened([picture])), processor(text=[question])
    seen.pop("labels", None)
    with torch.inference_mode():
        vectors, words = model(**seen).embeddings[0].numpy(), model(**wanted).embeddings[0].numpy()
    patches = vectors[(seen["input_ids"][0] == processor.image_token_id).numpy()]
    tokens, ids = processor.tokenizer(question, add_special_tokens=False)["input_ids"], wanted["input_ids"][0]
    (at,) = [n for n in range(len(ids)) if ids[n : n + len(tokens)].tolist() == tokens]
    best = (words[at : at + len(tokens)] @ patches.T).max(axis=0)
    _, rows, columns = (seen["image_grid_thw"][0] // 2).tolist() if kind == "colqwen2" else (1, 4, 4)
    return (100 * (best - best.min()) / (best.max() - best.min())).reshape(rows, columns)


@slow
@pytest.mark.parametrize("kind", ["colqwen2", "colpali"])
def test_the_heatmap_is_that_of_the_librarys_vectors(kind: str, pictures: list[Path], tmp_path: Path) -> None:
    """Vectors that are equal to 1e-5 give the same map, up to rounding to whole numbers."""
    embedder = MultiVectorEmbedder(model=tiny_models()[kind], device="cpu")
    cache, sizes = Cache(tmp_path / "cache"), [picture.size for picture in opened(pictures[:2])]
    pages = PageSearch(
        names=["a.pdf"],
        places=[(0, 1), (0, 2)],
        store=MultiVectors.write(tmp_path / "store", embedder.embed_pages(pictures[:2])),
        embed=embedder.embed_questions,
        picture=lambda *_: None,
        locate=lambda of, texts: located_cached(embedder, [sizes[n - 1] for _, n in of], texts, cache),
    )
    document = Document(id="a.pdf", path=Path("a.pdf"), sha256="0", pages=(Page(number=1, text=""),))
    wanted, found = QUESTIONS[:2], [[(0, 2), (0, 1)], [(0, 2)]]
    result = heatmaps_of(pages, [document], wanted, embedder.embed_questions(wanted), found)
    assert list(map(len, result)) == [2, 1]
    for question, row, maps in zip(wanted, found, result, strict=True):
        for (_, number), one in zip(row, maps, strict=True):
            expected = their_map(kind, pictures[number - 1], question)
            assert one is not None
            assert (one.rows, one.columns) == expected.shape
            np.testing.assert_allclose(np.reshape(one.values, expected.shape), expected, atol=0.5 + 1e-2)
    no_words = heatmaps_of(pages, [document], [""], embedder.embed_questions([""]), [[(0, 1)]])
    assert no_words == [[None]]


@slow
def test_a_query_prompt_is_no_word() -> None:
    """The prompt is read with the question and compared with no patch: its vectors stand before the words."""
    plain = MultiVectorEmbedder(model=tiny_models()["colqwen2"], device="cpu")
    prompted = plain.model_copy(update={"query_prompt": "page: "})
    [without], [within] = plain.words(["deep"]), prompted.words(["deep"])
    assert within.first - without.first == len("page: ")
    assert within.end - within.first == without.end - without.first == len("deep")
    assert plain.words(["deep"]) == [without]  # the prompt did not stay in the model


@slow
def test_a_query_prompt_stands_before_the_question() -> None:
    embedder = MultiVectorEmbedder(model=tiny_models()["colqwen2"], device="cpu")
    (wanted,) = embedder.embed_questions(["page: deep"])
    (found,) = embedder.model_copy(update={"query_prompt": "page: "}).embed_questions(["deep"])
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@slow
def test_half_precision_is_near(pictures: list[Path]) -> None:
    """bfloat16 has 8 significant bits."""
    embedder = ImageTextEmbedder(model=tiny_models()["siglip"], device="cpu", dtype="bfloat16")
    exact = embedder.model_copy(update={"dtype": "float32"})
    for found, wanted in zip(embedder.embed_pages(pictures), exact.embed_pages(pictures), strict=True):
        assert 0 < np.abs(found - wanted).max() < 0.05
    assert embedder.identity() != exact.identity()


@slow
def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    """The library would load each of these, and give some of them layers of random weights."""
    models = tiny_models()
    for kind in ("colqwen2", "colpali"):
        with pytest.raises(ConfigError, match=r"is a model of late interaction.*kind: multi-vector"):
            ImageTextEmbedder(model=models[kind]).check()
    with pytest.raises(ConfigError, match=r"was not saved as a model of late interaction.*kind: image-text"):
        MultiVectorEmbedder(model=models["clip"]).check()
    with pytest.raises(ConfigError, match="embeds no pictures"):
        MultiVectorEmbedder(model=models["bert"]).check()
    with pytest.raises(ConfigError, match="nowhere: no such folder"):
        MultiVectorEmbedder(model=str(tmp_path / "nowhere")).check()


def test_a_batch_is_halved_until_it_fits() -> None:
    """A device that holds three at a time: 8 do not fit, 4 do not, 2 do, and then only 2 are tried."""
    tried: list[int] = []

    def run(part: Sequence[int]) -> list[int]:
        tried.append(len(part))
        if len(part) > 3:
            raise MemoryError
        return [item * item for item in part]

    def lacks(error: BaseException) -> bool:
        return isinstance(error, MemoryError)

    fewer: list[int] = []
    assert in_batches(range(8), run, 16, lacks, fewer.append) == [0, 1, 4, 9, 16, 25, 36, 49]
    assert tried == [8, 4, 2, 2, 2, 2]
    assert fewer == [4, 2]
    assert in_batches([], run, 16, lacks) == []
    with pytest.raises(ModelError, match="a single page does not fit"):
        in_batches([1, 2], lambda part: run([*part] * 4), 2, lacks)
    with pytest.raises(ZeroDivisionError):
        in_batches([1], lambda part: [1 // 0 for _ in part], 2, lacks)


class Narrow(MultiVectorEmbedder):
    """Holds three pages at a time, and gives the width of each."""

    def _model(self) -> Any:
        return SimpleNamespace(encode_document=None)

    def _encoded(self, encode: Any, inputs: list[Any], **options: Any) -> list[Any]:
        TRIED.append([picture.width for picture in inputs])
        if len(inputs) > 3:
            raise MemoryError
        return [np.full((1, 1), picture.width, np.float32) for picture in inputs]


TRIED: list[list[int]] = []


@slow
def test_the_next_pages_begin_with_what_fitted(pictures: list[Path]) -> None:
    """Pages come in blocks, and each batch that does not fit costs the time of one that does."""
    embedder = Narrow(model="narrow", batch_size=8)
    assert [int(page[0, 0]) for page in embedder.embed_pages(pictures * 2)] == [90, 220, 40] * 2
    assert TRIED == [[220, 220, 90, 90, 40, 40], [220, 220, 90], [90, 40, 40]]  # the largest first
    TRIED.clear()
    embedder.embed_pages(pictures * 2)
    assert list(map(len, TRIED)) == [3, 3]
    with pytest.raises(UnidentifiedImageError):
        embedder.embed_pages([*pictures, Path(__file__)])


@slow
@pytest.mark.parametrize("model", ["folder", "organisation/name"])
def test_a_model_that_does_not_fit_is_said(model: str, tmp_path: Path) -> None:
    """With the error that torch raised on a GPU whose memory was full."""

    def make(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in the docs")

    place = str(tmp_path) if model == "folder" else model
    with pytest.raises(ConfigError, match="does not fit into the memory of the device: stop what else"):
        read(make, place, None)


@slow
def test_float32_is_float32_on_a_gpu() -> None:
    """torch computes convolutions with 10 bits of each number there unless it is told otherwise."""
    library()
    import torch

    assert not torch.backends.cudnn.allow_tf32


def test_a_config_is_the_component() -> None:
    adapter: TypeAdapter[PageEmbedder] = TypeAdapter(PageEmbedder)
    model = adapter.validate_python({"kind": "multi-vector", "model": "vidore/colqwen2-v1.0-hf"})
    assert isinstance(model, MultiVectorEmbedder)
    assert adapter.validate_python(model.model_dump(mode="json")) == model


def test_the_key_of_a_page_has_all_that_its_vectors_depend_on() -> None:
    embedder = MultiVectorEmbedder(model="vidore/colqwen2-v1.0-hf")
    other = embedder.model_copy(update={"model": "vidore/colpali-v1.3-hf"})
    pages = [("a" * 64, 1), ("b" * 64, 1), ("a" * 64, 2)]
    keys = page_keys(embedder, pages, 150)
    keys += page_keys(other, pages, 150)
    keys += page_keys(embedder.model_copy(update={"dtype": "float16"}), pages, 150)
    keys += page_keys(embedder, pages, 100)
    keys += page_keys(embedder, pages, 150, "another renderer")
    assert len(set(keys)) == 15
    same = embedder.model_copy(update={"batch_size": 9, "device": "cuda"})  # these change nothing
    assert page_keys(same, pages, 150) == keys[:3]
