"""Research works: their values, identifiers, stored form, import and retrieval."""

from rifflux.text.schemes import identify, parse_identifier, tagged
from rifflux.works.model import Passage, Work, document_of, work_of

__all__ = ["Passage", "Work", "document_of", "identify", "parse_identifier", "tagged", "work_of"]
