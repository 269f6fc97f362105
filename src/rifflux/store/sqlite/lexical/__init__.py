"""Matching and scoring of chunks by terms."""
