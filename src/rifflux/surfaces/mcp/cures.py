"""Cures as tools that an agent can call; `who` it works for, or an administrator, must do all others."""

from __future__ import annotations

from collections.abc import Mapping

from rifflux import Cure

CURES: Mapping[Cure, str] = {
    Cure.INDEX: "ask {who} to index again",
    Cure.ADD: "ask {who} to index something",
    Cure.FORGET: "ask {who} to bring it back, or to index again to forget it",
    Cure.PRUNE: "ask {who} to bring the files back, or to run 'rifflux index {root} --prune'",
    Cure.EMBED_MESSAGES: "ask {who} to make the vectors of the messages ('rifflux conversations embed')",
    Cure.IMPORT_WORKS: "ask {who} to import the works again",
    Cure.REPAIR: "ask {who} to run 'rifflux doctor --repair'",
    Cure.REPAIR_FILE: "ask {who} to run 'rifflux doctor --db {file} --repair'",
    Cure.SALVAGE: "ask {who} to run 'rifflux doctor --repair'",
    Cure.CHECK: "ask {who} to run 'rifflux doctor'",
    Cure.BUILD: "ask {who} to run 'rifflux doctor --build', or go on without: answers are the same, but slower",
    Cure.CLOSE_FILES: "ask {who} to run 'rifflux doctor --repair'",
    Cure.HIDE_KEYS: "ask {who} to close {place} to others",
    Cure.INSTALL: "ask {who} to install '{package}'",
    Cure.UPGRADE: "ask {who} to upgrade Rifflux",
    Cure.SWITCH_MODEL: "ask {who} to put the former model back, or to run 'rifflux models switch {model}'",
    Cure.COPY: "ask {who} to run 'rifflux copy {source} {target}'",
    Cure.COPY_SHARDS: "ask {who} to run 'rifflux cluster reindex'",
    Cure.END_SWITCH: "ask {who} to finish the switch of models, or to end it with 'rifflux models abort'",
    Cure.FETCH_MODEL: "ask {who} to run 'rifflux models fetch {model}'",
    Cure.SETTING: "ask {who} to configure {settings}",
    Cure.POLICY: "ask {who} to change the policy {policy}",
    Cure.OTHER_INDEX: "name another index",
    Cure.OTHER_OR_SALVAGE: "name another index, or ask {who} to run 'rifflux doctor --repair'",
    Cure.OPEN_WRITABLE: "ask {who} to open it once where it can be written",
    Cure.LIST: "ask {who} for a list of the {things}",
    Cure.LIST_WORKS: "ask {who} for a list of the works",
    Cure.NEW_TOKEN: "ask an administrator for another",
    Cure.MAKE_USER: "ask an administrator to make a token for {user}",
    Cure.SHARE: "ask {owner} for more",
    Cure.PUBLISH: "ask {who} to share a collection with everyone",
    Cure.GIVE: "ask an administrator to index something for {user}, or to share something with {user}",
    Cure.MOVE: "ask {who} to move it",
    Cure.UNTUNE: "ask {who} to run 'rifflux tune --reset'",
    Cure.JUDGE: "ask {who} to judge more results",
    Cure.OVERWRITE: "name another file",
    Cure.SAVE_PACK: "pass one as retrieve returns it",
    Cure.FORMATS: "ask {who} to see 'rifflux conversations import --help'",
    Cure.AS_USER: "ask {who} to start this server with 'rifflux mcp --user NAME'",
    Cure.GIVE_TEXT: "write the text to a file first",
}

#: The cures for a caller who may index files of this machine.
WHO_MAY_INDEX: Mapping[Cure, str] = {
    **CURES,
    Cure.INDEX: "call reindex",
    Cure.ADD: "call reindex",
    Cure.FORGET: "call reindex",
}

#: The tools that list things for agents.
LISTS: Mapping[str, str] = {"memories": "recall lists them"}
