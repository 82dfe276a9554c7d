"""How requests to a provider are controlled: retries, rate limits, outages, and stopping on request."""
