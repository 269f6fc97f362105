"""The address of an index on a cluster: hosts, the index's name, and who connects."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from rifflux.errors import InvalidArgument

#: The environment's user and password of the cluster; they are never part of an address.
USER = "RIFFLUX_OPENSEARCH_USER"
PASSWORD = "RIFFLUX_OPENSEARCH_PASSWORD"
#: A file with the certificates of authorities to trust besides the usual ones.
AUTHORITIES = "RIFFLUX_OPENSEARCH_CA"
PORT = 9200
#: The schemes without TLS and with it.
_SCHEMES = ("opensearch", "opensearch+https")
_SYNTAX = "HOST:PORT,HOST:PORT/NAME"
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
# The names that OpenSearch takes, and without a leading dot, which is for its own.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where an index is: the hosts of the cluster, and the name of the index there."""

    hosts: tuple[tuple[str, int], ...]
    name: str
    is_secure: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    authorities: str = ""

    @classmethod
    def of(cls, text: str, *, is_secure: bool) -> ClusterAddress:
        """Read `HOST:PORT,HOST:PORT/NAME`. Raises `InvalidArgument`, never with a password."""
        scheme = _SCHEMES[is_secure]
        if "@" in text:
            raise InvalidArgument(
                f"a cluster's address holds no user or password: give {scheme}://{_SYNTAX}, and set {USER} and "
                f"{PASSWORD}"
            )
        listed, slash, name = text.partition("/")
        if not slash or not listed or not name:
            raise InvalidArgument(f"a cluster's address is {scheme}://{_SYNTAX}")
        if not _NAME.fullmatch(name):
            raise InvalidArgument(
                f"OpenSearch has no index named {name!r}: use lower-case letters, digits, '-', '_' and '.', beginning "
                "with a letter or digit"
            )
        hosts = []
        for each in listed.split(","):
            found = _HOST.fullmatch(each)
            if found is None or int(found["port"] or PORT) not in range(1, 65_536):
                raise InvalidArgument(f"{each!r} is not a host: give {scheme}://{_SYNTAX}")
            hosts.append((found["name"], int(found["port"] or PORT)))
        environment = (os.environ.get(variable, "") for variable in (USER, PASSWORD, AUTHORITIES))
        return cls(tuple(hosts), name, is_secure, *environment)

    def __str__(self) -> str:
        """Return the address without secrets."""
        scheme = _SCHEMES[self.is_secure]
        return f"{scheme}://{','.join(f'{host}:{port}' for host, port in self.hosts)}/{self.name}"
