"""Text as the engines see it: words become terms here, once, by the same code for documents and queries."""
