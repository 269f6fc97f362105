"""Every error Rifflux raises on purpose; each message says what to do next.

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


class RiffluxError(Exception):
    """The root of every error of Rifflux."""


class InvalidArgument(RiffluxError, ValueError):
    """An argument has a value that cannot be used."""


class Conflict(InvalidArgument):
    """What is to be made is there already, or was changed by somebody else meanwhile."""


class OutsideRoots(InvalidArgument):
    """A path lies outside the folders this process may read."""


class NothingImported(InvalidArgument):
    """An import found nothing that it could take; its message says what was found instead."""


class OutOfScope(RiffluxError):
    """A view of one owner's rows was asked for what is not that owner's to ask."""


class TokenExpired(RiffluxError):
    """A token was valid until a moment that has passed."""


class NotFound(RiffluxError, LookupError):
    """No chunk, document, file or model has this name."""


class MissingExtra(RiffluxError):
    """An optional package is needed and not installed."""


class Unreadable(RiffluxError):
    """One file could not be read; its message is the reason shown to the user."""


class ModelError(RiffluxError):
    """A model could not be loaded or did not answer.

    The message is for whoever asked; `cause` is for the log alone: where the model is, and what its server said.
    """

    def __init__(self, message: str, *, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause or message


class ModelMismatch(ModelError):
    """The index holds vectors of another model than the one in use."""


class UnusableIndex(RiffluxError):
    """The index as a whole cannot be used."""


class NotAnIndex(UnusableIndex):
    """The file exists, and is not a Rifflux index."""


class NewerIndex(UnusableIndex):
    """The index was written by a newer version of Rifflux."""


class DamagedIndex(UnusableIndex):
    """The database file is corrupt."""


class ReadOnlyIndex(UnusableIndex):
    """The index was to be changed, and can only be read."""


class DiskFull(UnusableIndex):
    """The disk has no room for a change, so nothing was changed; what is there can still be read."""


class Busy(UnusableIndex):
    """Another process holds the index for longer than the busy timeout."""
