"""Hosts as a server hears of them."""

from __future__ import annotations

import pytest

from callblocks.core.urls import host_of, is_loopback


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST.", "::ffff:127.0.0.1"],
)
def test_names_of_this_machine_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.0.2", "example.com", "localhost.example"]
)
def test_every_other_name_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_a_host_header_has_a_host_and_perhaps_a_port() -> None:
    assert host_of("127.0.0.1:8787") == "127.0.0.1"
    assert host_of("[::1]") == "[::1]"
    assert host_of("a b") is None
