"""The MCP surface: an agent searches the index, reads what it found, and brings the index up to date."""

from rifflux.surfaces.mcp.server import Callers, Workspace, serve, server

__all__ = ["Callers", "Workspace", "serve", "server"]
