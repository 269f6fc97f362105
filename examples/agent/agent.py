"""Look something up in a folder of code over MCP: python agent.py FOLDER QUESTION."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool; return its answer, or raise with the server's reason."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(f"{tool}: {result.content[0]}")
    return dict(result.structured_content or {})


async def look_up(folder: Path, question: str) -> None:
    """Index a folder, search it, and print the document of the best passage from there on."""
    arguments = ["-m", "rifflux", "mcp", "--root", str(folder), "--db", str(folder / ".rifflux" / "index.db")]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder)
    async with Client(server) as client:
        tools = (await client.list_tools()).tools
        print("tools:", ", ".join(sorted(tool.name for tool in tools)))

        report = await call(client, "reindex", path=str(folder))
        print("indexed:", report["indexed_files"])

        found = await call(client, "search", query=question, top_k=3, max_tokens=2000)
        for hit in found["results"]:
            print(f"- {hit['path']}  {hit['heading_path']}")
        if found["results"]:
            best = found["results"][0]
            read = await call(client, "get_document", document=best["path"], start=best["chunk_index"], max_tokens=1000)
            print(f"\n{read['path']}, from chunk {read['start']} of {read['chunk_count']}:\n\n{read['text']}")


if __name__ == "__main__":
    asyncio.run(look_up(Path(sys.argv[1]).resolve(), " ".join(sys.argv[2:])))
