"""Chat models: one module per provider, and the modules that the providers share."""
