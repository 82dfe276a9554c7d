"""Small models of page pictures and texts: real architectures and processors with random weights.

The processes of one test run share what the first of them made, because importing torch and transformers
takes ten seconds.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from fathoms.models.weights.hub import library, quiet

KINDS = ("colqwen2", "colpali", "clip", "siglip", "bert")
_QWEN = ("<|endoftext|>", "<|im_start|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")
_CLIP = ("<pad>", "<bos>", "<eos>", "<image>")


@cache
def tiny_models() -> dict[str, str]:
    """The folder of each model, by its kind."""
    if find_spec("sentence_transformers") is None:
        pytest.skip("no torch: pip install 'fathoms[sentence-transformers]'")
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    path = Path(tempfile.gettempdir(), f"fathoms-tiny-pages-{run}")
    with FileLock(f"{path}.lock"):
        if not path.exists():
            unfinished = path.with_suffix(".unfinished")
            _make(unfinished)
            unfinished.rename(path)
            atexit.register(shutil.rmtree, path, ignore_errors=True)
    return {kind: str(path / kind) for kind in KINDS}


def _make(folder: Path) -> None:
    """Write the models, each into a folder of its own."""
    library()  # mends torchvision, which transformers imports
    import torch

    with quiet():
        for kind in KINDS:
            torch.manual_seed(len(kind))
            model, processor = globals()[f"_{kind}"]()
            model.save_pretrained(folder / kind)
            processor.save_pretrained(folder / kind)


def _tokenizer(special: tuple[str, ...], **roles: Any) -> Any:
    """A tokenizer whose tokens are the bytes of a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    vocabulary = {token: at for at, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(list(special))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)


def _sizes(**more: Any) -> dict[str, Any]:
    """The sizes that most configurations share."""
    layers = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return {**layers, **more}


def _colqwen2() -> tuple[Any, Any]:
    from transformers import ColQwen2Config, ColQwen2ForRetrieval, ColQwen2Processor, Qwen2VLImageProcessor

    tokens = _tokenizer(_QWEN, pad_token=_QWEN[0], eos_token=_QWEN[0], padding_side="left")
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    text = _sizes(
        model_type="qwen2_vl_text",
        vocab_size=len(tokens),
        num_key_value_heads=1,
        rope_parameters=rope,
        bos_token_id=0,
        eos_token_id=0,
    )
    vision = {"model_type": "qwen2_vl_vision", "depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2}
    inner = {
        "model_type": "qwen2_vl",
        "text_config": text,
        "vision_config": {**vision, "patch_size": 8, "mlp_ratio": 1},
        "image_token_id": _QWEN.index("<|image_pad|>"),
        "video_token_id": 0,
        "vision_start_token_id": _QWEN.index("<|vision_start|>"),
        "vision_end_token_id": _QWEN.index("<|vision_end|>"),
    }
    # pictures become at most 36 patches of 16 pixels
    pictures = Qwen2VLImageProcessor(patch_size=8, merge_size=2, min_pixels=32 * 32, max_pixels=96 * 96)
    model = ColQwen2ForRetrieval(ColQwen2Config(vlm_config=inner, embedding_dim=16))
    return model, ColQwen2Processor(image_processor=pictures, tokenizer=tokens)


def _colpali() -> tuple[Any, Any]:
    from transformers import ColPaliConfig, ColPaliForRetrieval, ColPaliProcessor, SiglipImageProcessor

    tokens = _tokenizer(_CLIP, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>")
    pictures = SiglipImageProcessor(size={"height": 64, "width": 64})
    pictures.image_seq_length = 16
    processor = ColPaliProcessor(image_processor=pictures, tokenizer=tokens)
    text = _sizes(model_type="gemma", vocab_size=len(tokens), num_key_value_heads=1, head_dim=16)
    vision = _sizes(model_type="siglip_vision_model", image_size=64, patch_size=16, projection_dim=32)
    inner = {
        "model_type": "paligemma",
        "text_config": text,
        "vision_config": vision,
        "image_token_id": _CLIP.index("<image>"),
        "projection_dim": 32,
        "hidden_size": 32,
    }
    return ColPaliForRetrieval(ColPaliConfig(vlm_config=inner, embedding_dim=16)), processor


def _clip() -> tuple[Any, Any]:
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

    tokens, text = _clip_text()
    vision = _sizes(image_size=64, patch_size=16, projection_dim=16)
    config = CLIPConfig(text_config={**text, "projection_dim": 16}, vision_config=vision, projection_dim=16)
    pictures = CLIPImageProcessor(size={"shortest_edge": 64}, crop_size={"height": 64, "width": 64})
    return CLIPModel(config), CLIPProcessor(image_processor=pictures, tokenizer=tokens)


def _siglip() -> tuple[Any, Any]:
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    tokens, text = _clip_text()
    tokens.model_input_names = ["input_ids"]  # as those on the hub: it is trained without a mask
    config = SiglipConfig(text_config=text, vision_config=_sizes(image_size=64, patch_size=16))
    pictures = SiglipImageProcessor(size={"height": 64, "width": 64})
    return SiglipModel(config), SiglipProcessor(image_processor=pictures, tokenizer=tokens)


def _bert() -> tuple[Any, Any]:
    """A model of texts alone."""
    from transformers import BertConfig, BertModel

    tokens, _ = _clip_text()
    return BertModel(BertConfig(**_sizes(vocab_size=len(tokens)))), tokens


def _clip_text() -> tuple[Any, dict[str, Any]]:
    """A tokenizer for CLIP and SigLIP, and the configuration of a text model."""
    tokens = _tokenizer(_CLIP, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", model_max_length=64)
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return tokens, _sizes(vocab_size=len(tokens), max_position_embeddings=64, **ids)
