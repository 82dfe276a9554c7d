"""A ColQwen2 of random weights: that of the released size, or a small one.

How long a page takes does not depend on the values of the weights. Which page is found does, and means
nothing here. The tokenizer is trained on the texts that it is given; the other rows of the full vocabulary
are never read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fathoms.models.weights.hub import library, quiet

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
)
WORDS = 4000
"""Tokens of the tokenizer, at most."""

# the configuration of vidore/colqwen2-v1.0-hf, 2,209,182,336 parameters
FULL: dict[str, Any] = {
    "text": {
        "vocab_size": 151_936,
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "num_key_value_heads": 2,
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24], "rope_theta": 1e6},
    },
    "vision": {"depth": 32, "embed_dim": 1280, "hidden_size": 1536, "num_heads": 16, "mlp_ratio": 4},
    "width": 128,
}
SMALL: dict[str, Any] = {
    "text": {
        "vocab_size": WORDS,
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e4},
    },
    "vision": {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 1},
    "width": 16,
}
SIZES = {"full": FULL, "small": SMALL}


def make(folder: Path, size: str, texts: Iterable[str], device: str) -> int:
    """Save a model of the size in bfloat16, and return the number of its parameters."""
    library()
    import torch
    from transformers import ColQwen2Config, ColQwen2ForRetrieval, ColQwen2Processor, Qwen2VLImageProcessor

    sizes, tokens = SIZES[size], tokenizer(texts)
    ids = dict(zip(SPECIAL, tokens.convert_tokens_to_ids(list(SPECIAL)), strict=True))
    inner = {
        "model_type": "qwen2_vl",
        "text_config": {
            "model_type": "qwen2_vl_text",
            **sizes["text"],
            "bos_token_id": ids["<|endoftext|>"],
            "eos_token_id": ids["<|im_end|>"],
        },
        "vision_config": {"model_type": "qwen2_vl_vision", "patch_size": 14, **sizes["vision"]},
        "image_token_id": ids["<|image_pad|>"],
        "video_token_id": ids["<|endoftext|>"],
        "vision_start_token_id": ids["<|vision_start|>"],
        "vision_end_token_id": ids["<|vision_end|>"],
        "tie_word_embeddings": True,
    }
    torch.manual_seed(5)
    with quiet(), torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        try:
            model = ColQwen2ForRetrieval(ColQwen2Config(vlm_config=inner, embedding_dim=sizes["width"]))
        finally:
            torch.set_default_dtype(torch.float32)
        pictures = Qwen2VLImageProcessor(
            patch_size=14, merge_size=2, min_pixels=56 * 56, max_pixels=768 * 28 * 28
        )
        model.save_pretrained(folder)
        ColQwen2Processor(image_processor=pictures, tokenizer=tokens).save_pretrained(folder)
    return sum(weights.numel() for weights in model.parameters())


def tokenizer(texts: Iterable[str]) -> Any:
    """A byte-level tokenizer that was trained on the texts."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    one_tokenizer = Tokenizer(models.BPE())
    one_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    one_tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=one_tokenizer, pad_token="<|endoftext|>", eos_token="<|im_end|>", padding_side="left"
    )
