"""Importers of research works: one module for each format, found by suffix and by what a file holds."""

from rifflux.works.importers.formats import FORMATS, TEXTS, read_works

__all__ = ["FORMATS", "TEXTS", "read_works"]
