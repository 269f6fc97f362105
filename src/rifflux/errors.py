"""Every error Rifflux raises on purpose: a message, a stable code, and what mends it.

RiffluxError
├── InvalidArgument (also ValueError)   a wrong value in a call
│   ├── Conflict                        what is to be made is there already, or was changed meanwhile
│   ├── NothingImported                 an import found nothing that it could take
│   └── OutsideRoots                    a path outside the folders that are allowed
├── OutOfScope                          a view of one owner was asked for what is not the owner's
├── TokenExpired                        a token was valid, and is no more
├── NotFound (also LookupError)         no such chunk, document, file or model
├── MissingExtra                        an optional package is not installed
├── Unreadable                          one file could not be read; the run goes on
├── ModelError                          a model could not be loaded or used
│   └── ModelMismatch                   the index holds vectors of another model
└── UnusableIndex                        the index as a whole cannot be used
    ├── NotAnIndex                      the file is not a Rifflux index
    ├── NewerIndex                      the file was written by a newer Rifflux
    ├── DamagedIndex                    the database is corrupt
    ├── ReadOnlyIndex                   the index can only be read
    ├── DiskFull                        the disk has no room for a change
    └── Busy                            another process holds the index
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = [
    "Busy",
    "Conflict",
    "DamagedIndex",
    "DiskFull",
    "InvalidArgument",
    "MissingExtra",
    "ModelError",
    "ModelMismatch",
    "NewerIndex",
    "NotAnIndex",
    "NotFound",
    "NothingImported",
    "OutOfScope",
    "OutsideRoots",
    "ReadOnlyIndex",
    "RiffluxError",
    "TokenExpired",
    "Unreadable",
    "UnusableIndex",
]


class _Placeholders(dict[str, object]):
    """The values of a sentence; one that is missing is its name in capitals."""

    def __missing__(self, name: str) -> str:
        return name.upper()


class Cure(StrEnum):
    """What mends a condition; each surface has a table of words for its users.

    The names in braces are the keys of `data` that the words use.
    """

    INDEX = "index"  #: read the known files again and make missing vectors
    ADD = "add"  #: index something for the first time
    FORGET = "forget"  #: forget a {path} that is gone
    PRUNE = "prune"  #: forget what is gone from the folder {root}
    EMBED_MESSAGES = "embed-messages"
    IMPORT_WORKS = "import-works"
    REPAIR = "repair"
    REPAIR_FILE = "repair-file"  #: repair the {file} beside the index
    SALVAGE = "salvage"  #: copy what can be read into a new file
    CHECK = "check"
    BUILD = "build"  #: build the derived files
    CLOSE_FILES = "close-files"  #: take the right to read {place} from others
    HIDE_KEYS = "hide-keys"  #: the same for the configuration file {place}
    INSTALL = "install"  #: install the {package}
    UPGRADE = "upgrade"
    SWITCH_MODEL = "switch-model"  #: make vectors of another {model}
    END_SWITCH = "end-switch"  #: finish or abort the switch to {model}
    COPY = "copy"  #: run the copy of the index {source} to {target}, again or to another place
    COPY_SHARDS = "copy-shards"  #: copy the index {address} on a cluster to other shards, or finish that
    FETCH_MODEL = "fetch-model"
    SETTING = "setting"  #: give {settings} a value
    POLICY = "policy"  #: an administrator sets {policy}
    OTHER_INDEX = "other-index"
    OTHER_OR_SALVAGE = "other-or-salvage"
    OPEN_WRITABLE = "open-writable"
    LIST = "list"  #: list the {things}
    LIST_WORKS = "list-works"
    NEW_TOKEN = "new-token"  #: make a token of {user}
    MAKE_USER = "make-user"  #: make the user or group {user}
    SHARE = "share"  #: share {collection} with {user} to write
    PUBLISH = "publish"  #: share something with everyone
    GIVE = "give"  #: index or share something for {user}
    MOVE = "move"  #: move {root} of the collection {collection} to another one
    UNTUNE = "untune"
    JUDGE = "judge"
    OVERWRITE = "overwrite"
    SAVE_PACK = "save-pack"
    FORMATS = "formats"  #: look up which formats can be imported
    AS_USER = "as-user"  #: do it as a user
    GIVE_TEXT = "give-text"  #: give the text as a document

    def advice(self, words: Mapping[Cure, str], data: Mapping[str, object]) -> str:
        """Return what a table of words says about the cure, with the values of `data`."""
        return words[self].format_map(_Placeholders(data))


#: What a program does.
IN_PYTHON: Mapping[Cure, str] = {
    Cure.INDEX: "call index.add() with the folders again",
    Cure.ADD: "call index.add(PATH)",
    Cure.FORGET: "bring it back, or call index.add({path!r}) to forget it",
    Cure.PRUNE: "bring the files back, or call index.add({root!r}, prune=True) to forget them",
    Cure.EMBED_MESSAGES: "call index.conversations.embed()",
    Cure.IMPORT_WORKS: "call index.works.import_files(PATHS) again",
    Cure.REPAIR: "call index.admin.repair()",
    Cure.REPAIR_FILE: "call rifflux.repair({file!r})",
    Cure.SALVAGE: "call rifflux.repair(PATH), which copies what can be read into a new file, or restore a copy",
    Cure.CHECK: "call index.admin.check()",
    Cure.BUILD: "call index.admin.accelerate()",
    Cure.CLOSE_FILES: "take the right to read {place} from others",
    Cure.HIDE_KEYS: "take the right to read {place} from others",
    Cure.INSTALL: "pip install '{package}'",
    Cure.UPGRADE: "pip install -U rifflux",
    Cure.SWITCH_MODEL: "open the index with model= set to the former model, or call index.admin.switch({model!r})",
    Cure.COPY: "call rifflux.open({source!r}).admin.copy({target!r})",
    Cure.COPY_SHARDS: "call rifflux.index.cluster.cluster_of({address!r}).reindex()",
    Cure.END_SWITCH: "finish it with index.admin.switch({model!r}), or call index.admin.abort_switch()",
    Cure.FETCH_MODEL: "run 'rifflux models fetch {model}'",
    Cure.SETTING: "give {settings} to rifflux.open",
    Cure.POLICY: "call index.policies.set({policy!r}, VALUE)",
    Cure.OTHER_INDEX: "open another file",
    Cure.OTHER_OR_SALVAGE: "open another file, or call rifflux.repair(PATH)",
    Cure.OPEN_WRITABLE: "open it once where it can be written, without a state file",
    Cure.LIST: "list the {things}",
    Cure.LIST_WORKS: "index.works.all() lists them",
    Cure.NEW_TOKEN: "make another token for {user}",
    Cure.MAKE_USER: "make a token for the user {user}, or a group of that name",
    Cure.SHARE: "have {collection} shared with {user}, to write",
    Cure.PUBLISH: "share a collection with everyone",
    Cure.GIVE: "add something in the scope of {user}, or share a collection with {user}",
    Cure.MOVE: "add {root} to another collection and remove it from {collection}",
    Cure.UNTUNE: "forget what was tuned",
    Cure.JUDGE: "record more judgements",
    Cure.OVERWRITE: "pass force=True",
    Cure.SAVE_PACK: "save what Index.retrieve returned",
    Cure.FORMATS: "see rifflux.conversations.importers.FORMATS",
    Cure.AS_USER: "take index.scoped(rifflux.Scope(USER))",
    Cure.GIVE_TEXT: "to add a text, give rifflux.Document(KEY, TEXT)",
}


class RiffluxError(Exception):
    """The root of every error of Rifflux.

    `code` is stable. `cure` is what mends it and `data` holds the values that its words need; the words for programs
    are a note of the exception, which tracebacks print.
    """

    code = "error"

    def __init__(self, message: str = "", *, cure: Cure | None = None, **data: object) -> None:
        super().__init__(message)
        self.cure = cure
        self.data = data
        if cure:
            self.add_note(cure.advice(IN_PYTHON, data))


class InvalidArgument(RiffluxError, ValueError):
    """An argument has a value that cannot be used."""

    code = "invalid"


class Conflict(InvalidArgument):
    """What is to be made is there already, or was changed by somebody else meanwhile."""

    code = "conflict"


class OutsideRoots(InvalidArgument):
    """A path lies outside the folders this process may read."""

    code = "forbidden"


class NothingImported(InvalidArgument):
    """An import found nothing that it could take; its message says what was found instead."""


class OutOfScope(RiffluxError):
    """A view of one owner's rows was used for what is not that owner's to do."""

    code = "out_of_scope"


class TokenExpired(RiffluxError):
    """A token was valid until a moment that has passed."""

    code = "token_expired"


class NotFound(RiffluxError, LookupError):
    """No chunk, document, file or model has this name."""

    code = "not_found"


class MissingExtra(RiffluxError):
    """An optional package is needed and not installed."""

    code = "not_installed"


class Unreadable(RiffluxError):
    """One file could not be read; its message is the reason for the user, and its `kind` the sort of reason.

    Kinds are `broken` (cut off, damaged, or not what its name says), `empty`, `encrypted`, `no-text` (images only),
    `encoding` (binary data, or no known encoding), `large` (too much text, passages or memory) and `slow`.
    """

    code = "unreadable"

    def __init__(self, message: str = "", *, kind: str = "broken", cure: Cure | None = None, **data: object) -> None:
        super().__init__(message, cure=cure, **data)
        self.kind = kind


class ModelError(RiffluxError):
    """A model could not be loaded or did not answer.

    The message is for whoever asked; `cause` is for the log alone: where the model is, and what its server said.
    """

    code = "model"

    def __init__(self, message: str = "", *, cause: str = "", cure: Cure | None = None, **data: object) -> None:
        super().__init__(message, cure=cure, **data)
        self.cause = cause or message


class ModelMismatch(ModelError):
    """The index holds vectors of another model than the one in use."""


class UnusableIndex(RiffluxError):
    """The index as a whole cannot be used."""

    code = "unusable_index"


class NotAnIndex(UnusableIndex):
    """The file exists, and is not a Rifflux index."""


class NewerIndex(UnusableIndex):
    """The index was written by a newer version of Rifflux."""


class DamagedIndex(UnusableIndex):
    """The database file is corrupt."""


class ReadOnlyIndex(UnusableIndex):
    """The index was to be changed, and can only be read."""

    code = "read_only"


class DiskFull(UnusableIndex):
    """The disk has no room for a change, so nothing was changed; what is there can still be read."""

    code = "disk_full"


class Busy(UnusableIndex):
    """Another process holds the index for longer than the busy timeout."""

    code = "busy"
