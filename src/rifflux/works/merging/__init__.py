"""Matching, merging and splitting the records of works."""
