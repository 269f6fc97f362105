#!/usr/bin/env bash
# Install what the tests of the page need, for tests/surfaces/web: Debian's Chromium without a window, which takes a
# third of the processor time of the whole browser, and axe-core, which checks that a page can be used by everybody.
# `scripts/browser.sh`, once; it needs apt and the right to install, and npm. Without them the tests are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v chromium-headless-shell >/dev/null; then
    # The list first: an older one points to packages that are gone.
    apt-get update --quiet --quiet
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --quiet --no-install-recommends \
        chromium-headless-shell >/dev/null
fi
npm install --prefix .browser --no-audit --no-fund --silent axe-core@4.14.1
echo "$(chromium-headless-shell --version) and axe-core in .browser; run: pytest tests/surfaces/web"
