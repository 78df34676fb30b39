from __future__ import annotations

import socket

import pytest

from callblocks.core.errors import CallerError
from callblocks.guard.net.addresses import address_of, listen_at


def test_a_client_reaches_the_address_that_is_told() -> None:
    with listen_at("127.0.0.1", 0) as bound:
        host, _, port = address_of(bound).removeprefix("http://").rpartition(":")
        socket.create_connection((host, int(port))).close()


def test_a_host_may_stand_in_brackets_and_an_address_of_ipv6_does() -> None:
    with listen_at("[127.0.0.1]", 0) as bound:
        assert address_of(bound).startswith("http://127.0.0.1:")
    with listen_at("[::1]", 0) as bound:
        assert address_of(bound).startswith("http://[::1]:")


def test_two_servers_do_not_share_a_port() -> None:
    with listen_at("127.0.0.1", 0) as bound, pytest.raises(CallerError, match="it is in use"):
        listen_at("127.0.0.1", bound.getsockname()[1])


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_had_is_a_mistake_of_the_caller(host: str, port: int) -> None:
    with pytest.raises(CallerError, match="cannot listen at"):
        listen_at(host, port)
