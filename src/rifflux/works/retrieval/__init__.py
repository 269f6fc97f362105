"""Retrieval of research works: intent, citation graph, and scores."""
