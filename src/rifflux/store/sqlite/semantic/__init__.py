"""Ranking of chunks by vectors."""
