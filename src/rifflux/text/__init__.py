"""Text analysis: words become terms by the same code for documents and queries."""
