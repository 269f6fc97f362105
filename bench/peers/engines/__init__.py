"""One module an engine, each with a class `Engine`."""
