"""The cost of tokens in US dollars, by a price in the config or by the vendor's list price.

List prices come from the installed release of the package `genai-prices`; nothing is fetched. An unknown
price is `None`, never 0. A model on this machine costs 0 unless the config gives a price, and a
self-hosted one elsewhere has no price without it.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from fathoms.component import Component, package_version
from fathoms.types import Usage

PACKAGE = "genai-prices"
_MILLION = 1_000_000


class Price(BaseModel):
    """Prices in US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    """Price of prompt tokens."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """Price of reply tokens, including reasoning."""
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of prompt tokens that the vendor read from its cache; the price of `input` if not given."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of prompt tokens that the vendor wrote to its cache; the price of `input` if not given."""

    def cost(self, usage: Usage) -> float | None:
        """Return the cost in US dollars; `None` if the number of prompt or reply tokens is not known."""
        if usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        read, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.prompt_tokens - read - written)
        dollars = plain * self.input + usage.completion_tokens * self.output
        dollars += read * (self.input if self.cached_input is None else self.cached_input)
        dollars += written * (self.input if self.cache_write is None else self.cache_write)
        return dollars / _MILLION


class Priced(Component):
    """Base class of components whose tokens may cost money."""

    price: Price | None = None
    """Prices in US dollars per million tokens that replace the list price, for example
    `{input: 0.4, output: 1.6}`."""

    def identity(self) -> dict[str, Any]:
        """Leave the price out of the identity, because it does not change the replies."""
        whole = super().identity()
        return {**whole, "options": {key: value for key, value in whole["options"].items() if key != "price"}}

    @property
    def is_local(self) -> bool:
        """Whether the tokens are those of a model on this machine, which cost nothing. False for pipelines
        and gateways, because what is behind their address is not known."""
        return False

    def cost(self, usage: Usage, named: str | None = None) -> float | None:
        """Return the cost of these tokens in US dollars; `None` if the price or the number of tokens is
        unknown.

        `named` is the model name that the server reported. It is looked up if the configured name has no list
        price.
        """
        if self.price is not None:
            return self.price.cost(usage)
        if self.is_local:
            return 0.0
        address = next(filter(None, (getattr(self, key, None) for key in ("address", "base_url", "url"))), "")
        models = dict.fromkeys(filter(None, (getattr(self, "model", None), named)))
        known = (listed(usage, model, address) for model in models)
        return next((cost for cost in known if cost is not None), None)


def listed(usage: Usage, model: str, address: str) -> float | None:
    """Return the cost in US dollars by the list price of a model at an address; `None` if there is no list
    price.

    A gateway has another address than the vendor and therefore no list price.
    """
    if usage.prompt_tokens is None or usage.completion_tokens is None or not address:
        return None
    if not _has_price(model, address):
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


def on_this_machine(address: str) -> bool:
    """Return whether a server is at a loopback address."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=1024)
def _has_price(model: str, address: str) -> bool:
    """Whether a model has a list price at an address; cached because it is asked for every reply."""
    if on_this_machine(address):
        return False  # known without loading the prices of all vendors, which takes a tenth of a second
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    try:
        calc_price(Tokens(input_tokens=1, output_tokens=1), model, provider_api_url=address)
    except LookupError:
        return False
    except ValueError:
        return True  # a price of other units, which the true counts may fit
    return True


def price_data() -> str | None:
    """Return name and version of the package with the list prices; `None` if it is not installed."""
    version = package_version(PACKAGE)
    return None if version is None else f"{PACKAGE} {version}"
