"""Who can reach an address, and the sockets that listen on one."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from rifflux import InvalidArgument

TWO_LENGTHS = "Content-Length and Transfer-Encoding exclude each other: send one of them"


def has_two_lengths(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return True for a request whose body has two lengths, which could smuggle a second request.

    RFC 9112, 6.1: such a request may be refused, and its connection must be closed.
    """
    names = {name.lower() for name, _ in headers}
    return {b"content-length", b"transfer-encoding"} <= names


def is_loopback(host: str) -> bool:
    """Return True if an address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@contextmanager
def bound(host: str, port: int) -> Iterator[Sequence[socket.socket]]:
    """Yield a socket for each address of a host, bound to a port and not listening yet. Port 0 takes a free one.

    The sockets name TCP as their protocol, and so does every connection accepted from them, in other processes too.
    asyncio sends small packets at once (TCP_NODELAY) only on connections that name it; on others, the body of a small
    answer waits some 40 ms for the client to acknowledge the head.

    Raises `InvalidArgument` for an address that cannot be used.
    """
    with ExitStack() as opened:
        try:
            sockets = []
            addresses = _addresses(host, port)
            for family, address in addresses:
                listener = opened.enter_context(socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP))
                if os.name == "posix":
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6 and len(addresses) > 1:
                    # The IPv4 addresses have sockets of their own.
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address[0], port, *address[2:]))
                port = listener.getsockname()[1]
                sockets.append(listener)
        except OSError as error:
            reason = error.strerror or error
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                wrong = "port"
            else:
                wrong = "host"
            raise InvalidArgument(f"cannot listen on {host}:{port} ({reason}): choose another {wrong}") from error
        yield sockets


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
    found = socket.getaddrinfo(
        host.strip("[]") or None, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
    )
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))
