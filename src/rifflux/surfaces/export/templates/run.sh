#!/bin/sh
# Serves this folder, which is only read: what is written goes to the state folder, the environment too, made once.
#
#     ./run.sh [--port N] [--state DIR] [OPTION OF serve]...
#     ./run.sh [--state DIR] COMMAND [ARGUMENT]...            another command, such as: tokens create --user ann
#
# PYTHON names the Python to use.
set -eu
umask 077

folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
port={{ port }}
state=${XDG_STATE_HOME:-${HOME:-/nonexistent}/.local/state}/rifflux$(printf %s "$folder" | tr / -)
while [ $# -gt 0 ]; do
    case $1 in
        --port) port=${2:?--port takes a number}; shift 2 ;;
        --port=*) port=${1#*=}; shift ;;
        --state) state=${2:?--state takes a folder}; shift 2 ;;
        --state=*) state=${1#*=}; shift ;;
        *) break ;;
    esac
done
case $state in /*) ;; *) state=$PWD/$state ;; esac
mkdir -p -- "$state" || { echo "run.sh: the state folder $state cannot be made: name another with --state" >&2; exit 1; }

# Of the Pythons that are here, the one that the lock was made with comes first.
python=${PYTHON:-}
for each in python{{ python }} python3 python; do
    [ -n "$python" ] || python=$(command -v "$each" || true)
done
version=$("${python:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || {
    echo "run.sh: Python {{ python }} is needed: install it, or name it in PYTHON" >&2; exit 1
}

environment=$state/environment-{{ build }}-$version
if [ ! -x "$environment/bin/python" ]; then
    [ "$version" = {{ python }} ] || echo "run.sh: made with Python {{ python }}, tried with $version" >&2
    echo "run.sh: making the environment $environment, once" >&2
    # It gets its name when it is whole; whoever makes it at the same time makes another.
    new=$state/new.$$
    trap 'rm -rf -- "$new"' EXIT
    trap 'exit 1' HUP INT TERM
    # A Debian without python3-venv can make an environment, only not put pip in it: the outer pip serves then.
    "$python" -m venv "$new" >/dev/null 2>&1 || "$python" -m venv --without-pip --clear "$new"
    pip() {
        if [ -x "$new/bin/pip" ]; then "$new/bin/python" -m pip "$@"; else "$python" -m pip --python "$new/bin/python" "$@"; fi
    }
    pip --disable-pip-version-check install --quiet {{ pip }}--constraint "$folder/rifflux.lock" "$folder/{{ ours }}" >&2 || {
        echo "run.sh: the packages cannot be installed, see above: without a network, export with --offline;" >&2
        echo "another Python than {{ python }} may need other versions" >&2
        exit 1
    }
    "$python" -c 'import os, sys; os.rename(*sys.argv[1:])' "$new" "$environment" 2>/dev/null || [ -x "$environment/bin/python" ]
    rm -rf -- "$new"
    trap - EXIT HUP INT TERM
    for each in "$state"/environment-*; do
        [ "$each" = "$environment" ] || rm -rf -- "$each"
    done
fi

cd -- "$folder/index"
export RIFFLUX_DB="$folder/index/index.db" RIFFLUX_CONFIG="$folder/index/config.toml" RIFFLUX_STATE="$state/state.db"
case ${1:-} in
    ''|-*) exec "$environment/bin/python" -m rifflux serve --port "$port" "$@" ;;
    *) exec "$environment/bin/python" -m rifflux "$@" ;;
esac
