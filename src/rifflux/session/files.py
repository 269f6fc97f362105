"""The default profile: folders of notes, documents and code."""

from rifflux.session.profile import Profile

__all__ = ["FILES"]

FILES = Profile("files", facets=("author", "language", "tags"))
