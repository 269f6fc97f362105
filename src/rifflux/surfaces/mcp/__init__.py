"""The MCP surface: an agent searches the index, reads what it found, and brings the index up to date."""

from rifflux.surfaces.mcp.callers import Callers
from rifflux.surfaces.mcp.server import serve, server
from rifflux.surfaces.mcp.workspace import Workspace

__all__ = ["Callers", "Workspace", "serve", "server"]
