"""Importers of research works: one module for each format, found by suffix and by what a file holds."""

from rifflux.ingest.works.formats import FORMATS, read_works

__all__ = ["FORMATS", "read_works"]
