"""Sockets that servers listen on, and the connections accepted from them."""

from __future__ import annotations

import asyncio
import multiprocessing
import socket

import pytest

from rifflux import InvalidArgument
from rifflux.surfaces.shared.network import bound

multiprocessing.allow_connection_pickling()


async def accepted(listener: socket.socket) -> bool:
    """Return whether a connection that asyncio accepts sends small packets at once."""
    found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    server = await asyncio.start_server(note, sock=listener)
    host, port = listener.getsockname()[:2]
    _, writer = await asyncio.open_connection(host, port)
    try:
        return bool(await found)
    finally:
        writer.close()
        server.close()


def note_in_child(listener: socket.socket, found: multiprocessing.SimpleQueue[bool]) -> None:
    found.put(asyncio.run(accepted(listener)))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::", ""])
def test_small_packets_are_sent_at_once(host: str) -> None:
    try:
        with bound(host, 0) as listeners:
            assert len({each.getsockname()[1] for each in listeners}) == 1
            assert all(asyncio.run(accepted(each)) for each in listeners)
    except InvalidArgument:
        if ":" not in host:
            raise
        pytest.skip("this machine has no IPv6")


@pytest.mark.slow
def test_they_are_in_another_process_too() -> None:
    spawn = multiprocessing.get_context("spawn")
    found = spawn.SimpleQueue()
    with bound("127.0.0.1", 0) as (listener,):
        child = spawn.Process(target=note_in_child, args=(listener, found))
        child.start()
        assert found.get()
        child.join()


@pytest.mark.parametrize("host", ["nowhere.invalid", "192.0.2.1", "127.0.0.1:80"])
def test_an_address_that_is_not_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(InvalidArgument, match="choose another host"), bound(host, 0):
        pass


def test_a_port_that_is_taken_is_refused() -> None:
    with bound("127.0.0.1", 0) as (listener,):
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(InvalidArgument, match=str(port)), bound("127.0.0.1", port):
            pass
