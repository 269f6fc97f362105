#!/bin/sh
# Indexes the repository's own documents into a temporary index and searches them by words, by meaning, and by both.
set -eu
rifflux=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export RIFFLUX_DB="$folder/demo.db"

run() {
    printf '\n$ rifflux'
    for word; do
        case $word in *\ *) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$rifflux" "$@"
}

run index README.md docs src/rifflux/retrieve
run search 'reciprocal rank' --mode lexical -k 1
run search 'what happens to my notes when I press Ctrl-C' --mode semantic -k 1
run search 'how do I delete everything of a user' -k 1 --explain
