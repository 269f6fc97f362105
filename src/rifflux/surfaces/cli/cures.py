"""Cures as commands."""

from __future__ import annotations

from collections.abc import Mapping

from rifflux import Cure

CURES: Mapping[Cure, str] = {
    Cure.INDEX: "run 'rifflux index'",
    Cure.ADD: "run 'rifflux index PATH', or name another index with --db",
    Cure.FORGET: "bring it back, or run 'rifflux index {path}' to forget it",
    Cure.PRUNE: "bring the files back, or run 'rifflux index {root} --prune' to forget them",
    Cure.EMBED_MESSAGES: "run 'rifflux conversations embed'",
    Cure.IMPORT_WORKS: "run 'rifflux works import PATHS'",
    Cure.REPAIR: "run 'rifflux doctor --repair'",
    Cure.REPAIR_FILE: "run 'rifflux doctor --db {file} --repair'",
    Cure.SALVAGE: "run 'rifflux doctor --repair', which copies what can be read into a new file and keeps this one, or "
    "restore a copy",
    Cure.CHECK: "run 'rifflux doctor'",
    Cure.BUILD: "run 'rifflux doctor --build', or go on without: the tables answer, more slowly",
    Cure.CLOSE_FILES: "run 'rifflux doctor --repair' as their owner, or 'chmod o= {place}*'",
    Cure.HIDE_KEYS: "run 'chmod o= {place}'",
    Cure.INSTALL: "run pip install '{package}'",
    Cure.UPGRADE: "run pip install -U rifflux",
    Cure.SWITCH_MODEL: "put the former model back or name none, or run 'rifflux models switch {model}'",
    Cure.COPY: "run 'rifflux copy {source} {target}'",
    Cure.COPY_SHARDS: "run 'rifflux cluster reindex'",
    Cure.END_SWITCH: "let that finish with 'rifflux models switch {model}', or end it with 'rifflux models abort'",
    Cure.FETCH_MODEL: "run 'rifflux models fetch {model}'",
    Cure.SETTING: "set {settings} in a configuration file, the environment (RIFFLUX_*) or an option",
    Cure.POLICY: "run 'rifflux config set {policy} {value}'",
    Cure.OTHER_INDEX: "choose another file with --db",
    Cure.OTHER_OR_SALVAGE: "choose another file with --db, or run 'rifflux doctor --repair'",
    Cure.OPEN_WRITABLE: "run 'rifflux status' once where it can be written, without a state file",
    Cure.LIST: "'rifflux {things} list' lists them",
    Cure.LIST_WORKS: "'rifflux works list' lists them",
    Cure.NEW_TOKEN: "ask an administrator for another, made with 'rifflux tokens create --user {user}'",
    Cure.MAKE_USER: "make one with 'rifflux tokens create --user {user}' or 'rifflux groups set {user} MEMBER...'",
    Cure.SHARE: "ask {owner} for more, who runs 'rifflux collections share {collection} --with {user} --write'",
    Cure.PUBLISH: "'rifflux collections share NAME --with everyone' shares something",
    Cure.GIVE: "'rifflux index PATH --user {user}' indexes something for {user}, and 'rifflux collections share "
    "library --with {user}' shares what belongs to nobody",
    Cure.MOVE: "run 'rifflux index {root} --collection NAME' with the name of that collection, or remove it there "
    "first with 'rifflux collections remove {collection} {root}'",
    Cure.UNTUNE: "run 'rifflux tune --reset'",
    Cure.JUDGE: "record more with 'rifflux judge QUERY DOCUMENT'",
    Cure.OVERWRITE: "add --force",
    Cure.SAVE_PACK: "save one with 'rifflux retrieve --json'",
    Cure.FORMATS: "see 'rifflux conversations import --help'",
    Cure.AS_USER: "name one with --user",
    Cure.GIVE_TEXT: "write the text to a file first",
}
