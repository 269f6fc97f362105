#!/usr/bin/env bash
# Install the official MCP Inspector, for tests/surfaces/mcp/test_inspector.py: `scripts/inspector.sh`, once, with Node.
# Without it the test is skipped: nothing else here needs Node or the npm registry.
set -euo pipefail
cd "$(dirname "$0")/.."
npm install --prefix .inspector --no-audit --no-fund --silent @modelcontextprotocol/inspector@2.12.0
echo "installed in .inspector; run it with: pytest tests/surfaces/mcp/test_inspector.py"
