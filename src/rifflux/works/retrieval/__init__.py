"""Retrieval of research works: what a question is after, what is cited around the answers, and what to weigh."""
