"""What an answer takes: seconds, tokens and US dollars, as the model's server reports them.

Replies from the cache are left out, because they took nothing. A question with several requests counts with
their sum.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal

from fathoms.metrics.metric import Direction, Facts, Metric, Need, Pooling, shared_score
from fathoms.types import Reply, Score


class Spending(Metric):
    """Base class of what an answer takes. The figure of a run is the mean over its questions."""

    direction: ClassVar[Direction] = "lower"
    pooling: ClassVar[Pooling] = "questions"
    needs: ClassVar[tuple[Need, ...]] = ("answer",)

    @abstractmethod
    def value(self, reply: Reply) -> float | None:
        """Return what one reply took, `None` if it is not known."""

    def score(self, facts: Facts) -> Score:
        """Return what the answer took; `None` for a cached answer, or if the server did not say."""
        reply = facts.record.answer
        if reply is None or reply.cached:
            return shared_score(self.name, None, lacks="an answer that is not from the cache")
        found = self.value(reply)
        if found is None:
            return shared_score(self.name, None, lacks=f"a known number of {self.unit}")
        return Score(metric=self.name, value=found)


class Latency(Spending):
    """Seconds from the request to the last token of the answer."""

    unit: ClassVar[str] = "seconds"

    kind: Literal["latency"] = "latency"

    def value(self, reply: Reply) -> float | None:
        """Return the seconds that the reply took."""
        return reply.latency


class PromptTokens(Spending):
    """Tokens of the prompt, cached ones included."""

    unit: ClassVar[str] = "tokens"

    kind: Literal["prompt-tokens"] = "prompt-tokens"

    def value(self, reply: Reply) -> float | None:
        """Return the number of tokens in the prompt."""
        return reply.usage.prompt_tokens


class CompletionTokens(Spending):
    """Tokens of the reply, reasoning included."""

    unit: ClassVar[str] = "tokens"

    kind: Literal["completion-tokens"] = "completion-tokens"

    def value(self, reply: Reply) -> float | None:
        """Return the number of tokens in the answer."""
        return reply.usage.completion_tokens


class Cost(Spending):
    """US dollars of an answer."""

    unit: ClassVar[str] = "US dollars"

    kind: Literal["cost"] = "cost"

    def value(self, reply: Reply) -> float | None:
        """Return the cost of the reply in US dollars."""
        return reply.cost
