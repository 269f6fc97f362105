"""Research works: what one is, what names it, and how it is stored as a document."""

from rifflux.text.schemes import identify, parse_identifier, tagged
from rifflux.works.model import Passage, Work, document_of, work_of

__all__ = ["Passage", "Work", "document_of", "identify", "parse_identifier", "tagged", "work_of"]
