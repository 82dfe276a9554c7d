"""What tokens cost, in US dollars: the config's own price, or the list price of the address that is asked.

List prices are those in the package `genai-prices`, as it was released: nothing is ever fetched. A price
that nobody knows is `None`, never 0; a model of one's own has none, unless the config gives it one.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from fathoms.config import Component, package_version
from fathoms.types import Usage

PACKAGE = "genai-prices"
_MILLION = 1_000_000


class Price(BaseModel):
    """US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    input: float = Field(ge=0, allow_inf_nan=False)
    """Tokens of prompts."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """Tokens of replies, reasoning included."""
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Tokens that the vendor read from its cache; as `input` if not given."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Tokens that the vendor wrote to its cache; as `input` if not given."""

    def cost(self, usage: Usage) -> float | None:
        """Dollars; `None` where the tokens of prompt or reply are not known."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        read, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.prompt_tokens - read - written)
        dollars = plain * self.input + usage.completion_tokens * self.output
        dollars += read * (self.input if self.cached_input is None else self.cached_input)
        dollars += written * (self.input if self.cache_write is None else self.cache_write)
        return dollars / _MILLION


class Priced(Component):
    """A component whose tokens may cost money."""

    price: Price | None = None
    """US dollars for a million tokens, in place of the list price: `{input: 0.4, output: 1.6}`."""

    def identity(self) -> dict[str, Any]:
        """A price changes no answer."""
        whole = super().identity()
        return {**whole, "options": {key: value for key, value in whole["options"].items() if key != "price"}}

    def cost(self, usage: Usage, named: str | None = None) -> float | None:
        """Dollars for these tokens, `None` where price or tokens are not known.

        `named` is the model that the server says it is, which counts where the configured name has no price.
        """
        if self.price is not None:
            return self.price.cost(usage)
        address = next(filter(None, (getattr(self, key, None) for key in ("address", "base_url", "url"))), "")
        known = (listed(usage, model, address) for model in (getattr(self, "model", None), named) if model)
        return next((cost for cost in known if cost is not None), None)


def listed(usage: Usage, model: str, address: str) -> float | None:
    """Dollars by the list price of a model at an address, `None` where there is none.

    A gateway's address is not the vendor's: what it charges is its own matter.
    """
    if usage.prompt_tokens is None or usage.completion_tokens is None or not address:
        return None
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=usage.cached_tokens or 0,
        cache_write_tokens=usage.cache_write_tokens or 0,
    )
    try:
        return float(calc_price(tokens, model, provider_api_url=address).total_price)
    except (LookupError, ValueError):  # no such price, or counts that contradict one another
        return None


def price_data() -> str | None:
    """The release of the package that the list prices are from."""
    version = package_version(PACKAGE)
    return None if version is None else f"{PACKAGE} {version}"
