"""What tokens cost: worked by hand, and from the package's own list."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from fathoms.models import AnthropicLLM, Embedded, OllamaLLM, OpenAICompatibleLLM, OpenAILLM, ScriptedModel
from fathoms.models.prices import Price, listed, price_data
from fathoms.types import Usage

PRICE = Price(input=2, output=8, cached_input=0.5, cache_write=2.5)


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(prompt_tokens=1000, completion_tokens=100), 0.0028),
        # 200 plain, 500 read, 300 written, 100 said: 400 + 250 + 750 + 800 millionths
        (
            Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=500, cache_write_tokens=300),
            0.0022,
        ),
        (Usage(prompt_tokens=0, completion_tokens=0), 0.0),
        (Usage(prompt_tokens=1000), None),
        (Usage(completion_tokens=10), None),
    ],
)
def test_a_price_of_ones_own(usage: Usage, dollars: float | None) -> None:
    assert PRICE.cost(usage) == (None if dollars is None else pytest.approx(dollars))


def test_cached_tokens_cost_as_others_where_nothing_else_is_said() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=0, cached_tokens=400, cache_write_tokens=100)
    assert Price(input=2, output=8).cost(usage) == pytest.approx(0.002)


@pytest.mark.parametrize("wrong", [{"input": -1, "output": 1}, {"input": 1}, {"input": 1, "output": "nan"}])
def test_invalid_prices_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Price.model_validate(wrong)


def test_list_prices() -> None:
    """gpt-4.1, as its vendor has it on its page of prices: 2, 8 and 0.5 dollars a million."""
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000, cached_tokens=500_000)
    model = OpenAILLM(model="gpt-4.1")
    assert model.cost(usage) == pytest.approx(1.0 + 0.25 + 8.0)
    sonnet = AnthropicLLM(model="claude-sonnet-4-20250514")
    assert sonnet.cost(Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)) == pytest.approx(18.0)
    assert (price_data() or "").startswith("genai-prices ")


def test_the_cost_is_unknown_without_a_price_or_counts() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100)
    assert OpenAILLM(model="gpt-nobody-knows").cost(usage) is None
    assert OpenAILLM(model="gpt-nobody-knows").cost(usage, "gpt-4.1") == pytest.approx(0.0028)
    assert OpenAILLM(model="gpt-4.1").cost(Usage()) is None
    assert OpenAILLM(model="gpt-4.1", base_url="https://gateway.example/v1").cost(usage) is None
    assert ScriptedModel().cost(usage) is None
    assert OllamaLLM(model="llama3.2", base_url="http://10.0.0.7:11434").cost(usage) is None
    own = OpenAICompatibleLLM(model="m", base_url="http://127.0.0.1:1/v1", price=Price(input=0, output=0))
    assert own.cost(usage) == 0.0
    # a gateway on this machine, as far as is known, and the cloud of Ollama
    gateway = OpenAICompatibleLLM(model="m", base_url="http://127.0.0.1:1/v1", api_key_env="GATEWAY_KEY")
    assert gateway.cost(usage) is None
    assert OllamaLLM(model="gpt-oss:120b-cloud", base_url="http://127.0.0.1:11434").cost(usage) is None
    # counts that contradict one another
    assert listed(Usage(prompt_tokens=1, completion_tokens=1, cached_tokens=9), "gpt-4.1", "x") is None


def test_a_price_is_in_no_fingerprint() -> None:
    plain, priced = ScriptedModel(), ScriptedModel(price=PRICE)
    assert plain.identity() == priced.identity()
    server = {"model": "m", "base_url": "http://127.0.0.1:1/v1"}
    assert OpenAICompatibleLLM(**server).identity() == OpenAICompatibleLLM(**server, price=PRICE).identity()
    assert OllamaLLM(model="m").identity() == OllamaLLM(model="m", price=PRICE).identity()


@pytest.mark.slow
def test_no_price_is_fetched() -> None:
    """In a process that can open no connection, and that needs the package for nothing else."""
    script = (
        "import sys, socket\n"
        "def refuse(*given): raise OSError('no network')\n"
        "sys.addaudithook(lambda event, given: refuse() if event == 'socket.connect' else None)\n"
        "import fathoms.cli, fathoms.models\n"
        "assert 'genai_prices' not in sys.modules\n"
        "from fathoms.models import OpenAILLM\n"
        "from fathoms.types import Usage\n"
        "print(OpenAILLM(model='gpt-4.1').cost(Usage(prompt_tokens=1000, completion_tokens=100)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(0.0028)


def test_a_model_on_this_machine_costs_nothing() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100)
    for address in (
        "http://127.0.0.1:1/v1",
        "http://localhost:1/v1",
        "http://[::1]:1/v1",
        "http://127.9.9.9:1",
    ):
        assert OpenAICompatibleLLM(model="m", base_url=address).cost(usage) == 0.0
    assert Embedded().cost(usage) == 0.0
    assert OllamaLLM(model="gpt-4.1", base_url="http://127.0.0.1:11434").cost(usage) == 0.0
    priced = OpenAICompatibleLLM(model="m", base_url="http://127.0.0.1:1", price=Price(input=1e6, output=0))
    assert priced.cost(usage) == 1000
    for address in ("http://127.example.org/v1", "http://localhost.example.org/v1", "http://10.0.0.1/v1"):
        assert OpenAICompatibleLLM(model="m", base_url=address).cost(usage) is None
