"""Explanations of a document's rank."""
