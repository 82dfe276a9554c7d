"""Fact checkers with small random weights, saved as those on the hub: real architectures and tokenizers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fathoms.models.weights.hub import transformers

TEXT = (
    "The Varn tower was built in 1912 by Ada Lund. It is 41.5 m tall, and its door is painted green."
    " Predict the hypothesis from the paragraph above, given this premise: yes or no. The answer is this."
)
SPREAD = 0.4
"""The standard deviation of random weights, twenty times as large as usual: what is read then decides."""


def seeded() -> Any:
    """Return torch with a seed, after mending torchvision, which transformers imports."""
    transformers()
    import torch

    torch.manual_seed(5)
    return torch


def t5_tokenizer(folder: Path) -> None:
    """Save a T5 tokenizer with the words of the tests, where token 3 is a space and 209 is 1 as in the real
    one."""
    seeded()
    from transformers import T5Tokenizer

    pieces = [f"▁{word}" for word in dict.fromkeys(TEXT.split())]
    pieces += list(map(chr, range(33, 127)))
    pieces = [piece for piece in pieces if piece != "▁1"][: 209 - 4]
    pieces += [f"▁filler{number}" for number in range(209 - 4 - len(pieces))] + ["▁1"]
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    vocabulary += [(piece, -3.0 - number / 100) for number, piece in enumerate(pieces)]
    T5Tokenizer(vocab=vocabulary, extra_ids=0).save_pretrained(folder)


def t5_config(**more: Any) -> Any:
    """The configuration of a small Flan-T5."""
    from transformers import T5Config

    return T5Config(
        vocab_size=256, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=0, **more,
    )  # fmt: skip


def minicheck(folder: Path) -> Path:
    """Save a small T5 with the vocabulary that MiniCheck needs."""
    seeded()
    from transformers import T5ForConditionalGeneration

    t5_tokenizer(folder)
    T5ForConditionalGeneration(t5_config()).save_pretrained(folder)
    return folder


def hhem(folder: Path) -> Path:
    """Save a small HHEM as Vectara's is: weights with a prefix and the embedding once, a configuration that
    names its foundation, and code that must not be run; the foundation is a folder beside them."""
    seeded()
    from safetensors.torch import save_file
    from transformers import T5ForTokenClassification

    t5_tokenizer(folder / "foundation")
    t5_config().save_pretrained(folder / "foundation")
    state = T5ForTokenClassification(t5_config(num_labels=2)).state_dict()
    state.pop("transformer.encoder.embed_tokens.weight", None)
    weights = {f"t5.{name}": values.contiguous() for name, values in state.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    settings = {
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {
            "AutoModelForSequenceClassification": "modeling_hhem_v2.HHEMv2ForSequenceClassification"
        },
        "model_type": "HHEMv2Config",
        "foundation": "foundation",
    }
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "modeling_hhem_v2.py").write_text("raise SystemExit('this code must not be run')\n")
    return folder


def lettucedetect(folder: Path) -> Path:
    """Save a small ModernBERT with two labels for each token, and its byte-level tokenizer."""
    seeded()
    from transformers import ModernBertConfig, ModernBertForTokenClassification

    tokenizer = _byte_level_tokenizer()
    tokenizer.save_pretrained(folder)
    config = ModernBertConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_labels=2, pad_token_id=tokenizer.pad_token_id,
        cls_token_id=tokenizer.cls_token_id, sep_token_id=tokenizer.sep_token_id, bos_token_id=None,
        eos_token_id=None, initializer_range=SPREAD,
    )  # fmt: skip
    ModernBertForTokenClassification(config).save_pretrained(folder)
    return folder


def _byte_level_tokenizer() -> Any:
    """A small byte-level tokenizer that writes pairs as ModernBERT's does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    texts = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [TEXT],
        trainers.BpeTrainer(
            vocab_size=400, special_tokens=texts, initial_alphabet=alphabet, show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def factcg(folder: Path) -> Path:
    """Save a small DeBERTa-v3 with two labels, and a tokenizer for it."""
    seeded()
    from transformers import DebertaV2Config, DebertaV2ForSequenceClassification

    tokenizer = _byte_level_tokenizer()
    tokenizer.save_pretrained(folder)
    config = DebertaV2Config(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_labels=2, type_vocab_size=0, relative_attention=True,
        position_buckets=16, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"],
        position_biased_input=False, pad_token_id=tokenizer.pad_token_id, initializer_range=SPREAD,
    )  # fmt: skip
    DebertaV2ForSequenceClassification(config).save_pretrained(folder)
    return folder


def copied(folder: Path, to: Path) -> Path:
    """Copy a checker, to damage it."""
    return Path(shutil.copytree(folder, to))
