#!/usr/bin/env bash
# Build the source distribution and two wheels, with compiled kernels and without; with every Python 3.11 to 3.13 that is
# there, install each into an empty environment and search with it.
set -euo pipefail
builder=$1
outer=${PYTHON:-python3}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A name on the path may be a shim without an interpreter behind it; pyenv's own are looked for too.
found() {
    for candidate in "python$1" "$(pyenv root 2>/dev/null || echo ~/.pyenv)"/versions/"$1".*/bin/python; do
        "$candidate" -c 'import sys; print(sys.executable)' 2>/dev/null && return
    done
    true
}

rm -rf "$root/dist"
"$builder" -m build --outdir "$root/dist" "$root"
RIFFLUX_PURE=1 "$builder" -m build --wheel --outdir "$root/dist" "$root"
"$builder" -m twine check --strict "$root"/dist/*

tried=0
for version in 3.11 3.12 3.13; do
    python=$(found "$version")
    [ -n "$python" ] || { echo "python$version: not here, not tried"; continue; }
    for file in "$root"/dist/*.whl "$root"/dist/*.tar.gz; do
        environment="$work/$version-$(basename "$file")"
        "$python" -m venv --without-pip "$environment"
        "$outer" -m pip --python "$environment/bin/python" --disable-pip-version-check install --quiet "$file"
        cd "$work"
        export RIFFLUX_DB="$environment/index.db"
        "$environment/bin/rifflux" index "$root/examples/notes" --json > "$work/indexed.json"
        "$environment/bin/rifflux" search "letting dough rise slowly in the cold" -k 1 --json > "$work/found.json"
        grep -q 'kitchen/bread.md' "$work/found.json" || { echo "$version: $file found nothing"; exit 1; }
        kernels=$("$environment/bin/python" -c 'from rifflux import kernels; print(kernels.description)')
        case "$file:$kernels" in
            *-none-any.whl:numpy* | *-abi3-*.whl:compiled* | *.tar.gz:*) ;;
            *) echo "$version: $file computes by $kernels"; exit 1 ;;
        esac
        echo "python$version: $(basename "$file") installs and searches; it computes by $kernels"
        tried=$((tried + 1))
        rm -rf "$environment"
    done
done
[ "$tried" -gt 0 ] || { echo "no Python 3.11 to 3.13 on the path: nothing was tried"; exit 1; }
