"""The MCP surface: an agent searches the index, reads what it found, and brings the index up to date."""

from rifflux.surfaces.mcp.server import Workspace, serve, server

__all__ = ["Workspace", "serve", "server"]
