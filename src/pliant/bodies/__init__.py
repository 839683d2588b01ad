"""Body models: how matter gives way."""
