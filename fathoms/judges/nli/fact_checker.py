"""What all fact checkers share: they read a premise in parts, and the part with the most support counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fathoms.errors import ConfigError
from fathoms.judges.nli.parts import fitted
from fathoms.models.weights.hub import best_device, read, transformers

_TOKENS_AT_ONCE = 8_192
"""Most tokens of a batch with its padding; attention over a batch of 8,192 takes about a gigabyte."""


class Reading(NamedTuple):
    """What a checker says of a claim: the probability that the premise supports it, whether the premise had
    to be cut, and, for a checker that marks words, the words that it does not find supported."""

    p: float
    is_cut: bool = False
    unsupported: tuple[str, ...] = ()


class Encoded(NamedTuple):
    """One part of a premise with the claim, as tokens. `words` are the claim's tokens, for a checker that
    marks words: the place of each in `ids`, and its beginning and end in the claim."""

    ids: list[int]
    claim: str
    is_cut: bool
    words: tuple[tuple[int, int, int], ...] = ()


class FactChecker(ABC):
    """A loaded model that gives the probability that a premise supports a claim."""

    def __init__(self, model: Any, tokenizer: Any, max_tokens: int) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens

    @abstractmethod
    def encoded(self, premise: str, claim: str) -> list[Encoded]:
        """Return the parts of a premise, at least one, each with the claim."""

    @abstractmethod
    def readings(self, inputs: Any, rows: Sequence[Encoded]) -> list[Reading]:
        """Return what the model says of a padded batch of parts."""

    def check_all(self, pairs: Sequence[tuple[str, str]], batch_size: int) -> list[Reading]:
        """Return a reading for each pair of premise and claim, that of the part with the highest
        probability."""
        import torch

        found: list[list[Reading]] = [[] for _ in pairs]
        rows = [(at, row) for at, pair in enumerate(pairs) for row in self.encoded(*pair)]
        for batch in batches([len(row.ids) for _, row in rows], batch_size):
            chosen = [rows[number] for number in batch]
            inputs = self.tokenizer.pad(
                {"input_ids": [row.ids for _, row in chosen]}, padding_side="right", return_tensors="pt"
            )
            with torch.inference_mode():
                read = self.readings(inputs.to(self.model.device), [row for _, row in chosen])
            for (at, _), reading in zip(chosen, read, strict=True):
                found[at].append(reading)
        best = [max(of_pair, key=lambda reading: reading.p) for of_pair in found]
        return [
            reading._replace(is_cut=any(one.is_cut for one in of_pair))
            for reading, of_pair in zip(best, found, strict=True)
        ]


class OneText(FactChecker):
    """A checker that reads premise and claim as one text."""

    @abstractmethod
    def parts(self, premise: str) -> list[str]:
        """Return the parts that a premise is read in, at least one."""

    @abstractmethod
    def text(self, premise: str, claim: str) -> str:
        """Return the text of a part and the claim that the model was trained on."""

    def encoded(self, premise: str, claim: str) -> list[Encoded]:
        """Return the parts of a premise with the claim; where they are too long, the premise is cut."""
        found = []
        for part in self.parts(premise):
            text, is_cut = fitted(
                self.tokenizer, lambda shown: self.text(shown, claim), part, self.max_tokens
            )
            ids = self.tokenizer(text, truncation=True, max_length=self.max_tokens)["input_ids"]
            found.append(Encoded(ids, claim, is_cut))
        return found


def batches(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Group numbers of texts into batches of at most `most` texts that are alike in length."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda at: (lengths[at], at)):
        if batch and (len(batch) == most or (len(batch) + 1) * lengths[number] > _TOKENS_AT_ONCE):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def network(kind: str, model: str, revision: str | None, device: str | None) -> Any:
    """Load a model with a class of transformers, in single precision; code that comes with it is not run.

    Raises ConfigError if the files lack some of its weights, which the library would make up at random, and
    the errors of `read`.
    """
    make = getattr(transformers(), kind).from_pretrained
    import torch

    loaded, report = read(make, model, revision, output_loading_info=True, dtype=torch.float32)
    if missing := sorted(report["missing_keys"]):
        raise ConfigError(f"{model} is not a model of this kind: it has no weights for {missing[0]}")
    return loaded.eval().to(device or best_device())


def tokenizer_of(model: str, revision: str | None) -> Any:
    """Load the tokenizer of a model; raises the errors of `read`."""
    return read(transformers().AutoTokenizer.from_pretrained, model, revision)


def require_two_labels(model: Any, name: str) -> None:
    """Raise ConfigError for a classifier without exactly two labels."""
    if model.config.num_labels != 2:
        raise ConfigError(f"{name} has {model.config.num_labels} labels; this fact checker has two")
