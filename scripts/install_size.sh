#!/usr/bin/env bash
# Build the wheel, install it into an empty environment with the extras given, compile its bytecode, and print what
# it weighs in MB (2^20 bytes): all of it, then the largest packages.
#
#     scripts/install_size.sh            the base install
#     scripts/install_size.sh code,serve with these extras
set -euo pipefail

extras="${1:-}"
root="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/builder"
"$work/builder/bin/pip" install --quiet --upgrade pip build
"$work/builder/bin/python" -m build --quiet --wheel --outdir "$work" "$root" >/dev/null
python3 -m venv --without-pip "$work/empty"
wheel="$(echo "$work"/rifflux-*.whl)"
"$work/builder/bin/pip" --python "$work/empty/bin/python" install --quiet "$wheel${extras:+[$extras]}"
"$work/empty/bin/python" -m compileall -q -j 0 "$work/empty" >/dev/null || true
site="$("$work/empty/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
printf 'rifflux%s: %s MB\n' "${extras:+[$extras]}" "$(du -s --block-size=1M "$site" | cut -f1)"
cd "$site"
du -s --block-size=1k -- * | sort -rn | head -n "${LARGEST:-10}" | awk '{ printf "%8.1f  %s\n", $1 / 1024, $2 }'
