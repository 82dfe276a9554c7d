"""How a provider is called: retries, rate limits, outages, and stopping on request."""
