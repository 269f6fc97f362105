"""Importers of research works, one module per format, chosen by file suffix and content."""

from rifflux.works.importers.formats import FORMATS, TEXTS, read_works

__all__ = ["FORMATS", "TEXTS", "read_works"]
