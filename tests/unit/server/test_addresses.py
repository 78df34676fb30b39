from __future__ import annotations

import pytest

from callblocks.server.addresses import host_of, is_loopback


@pytest.mark.parametrize(
    "name",
    ["localhost", "LOCALHOST.", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "::ffff:127.0.0.1"],
)
def test_names_of_this_machine(name: str) -> None:
    assert is_loopback(name)


@pytest.mark.parametrize(
    "name",
    [
        "0.0.0.0",
        "::",
        "localhost.evil.net",
        "evil-localhost",
        "127.0.0.1.nip.io",
        "1",
        "",
        "2130706433",
    ],
)
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_loopback(name)


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("localhost", "localhost"),
        ("localhost:8765", "localhost"),
        ("[::1]:80", "[::1]"),
        ("a b", None),
        ("localhost:port", None),
        ("user@localhost", None),
        ("localhost/../x", None),
        ("", None),
        ("localhost:80:80", None),
    ],
)
def test_the_host_of_a_header(header: str, host: str | None) -> None:
    assert host_of(header) == host
