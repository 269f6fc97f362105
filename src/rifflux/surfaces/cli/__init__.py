"""The command line: data on stdout, everything else on stderr."""

from rifflux.surfaces.cli.main import main

__all__ = ["main"]
