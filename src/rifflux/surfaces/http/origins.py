"""Origins: where a web page that sends a request comes from (RFC 6454)."""

from __future__ import annotations

_PORTS = {"http": ":80", "https": ":443"}


def is_own_origin(origin: str, scheme: str, host: str) -> bool:
    """Return True if a page of `origin` came from the address of the request itself: its scheme, name and port.

    `scheme` is that of the connection, or what a proxy named in the settings says of its own (`X-Forwarded-Proto`).
    """
    own = host.lower().removesuffix(_PORTS.get(scheme, ""))
    return origin.lower().removesuffix(_PORTS.get(scheme, "")) == f"{scheme}://{own}"
