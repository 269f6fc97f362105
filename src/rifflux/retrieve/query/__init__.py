"""Understand a question: parse, classify, expand."""
