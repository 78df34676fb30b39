from __future__ import annotations

import pytest

from callblocks.server.settings import PublicUrl, host_of, is_loopback, name_of, read_public_url


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


@pytest.mark.parametrize(
    ("url", "name", "origin"),
    [
        ("https://chat.example", "chat.example", "https://chat.example"),
        ("HTTPS://Chat.Example.:443/", "chat.example", "https://chat.example"),
        ("http://chat.example:443", "chat.example", "http://chat.example:443"),
        ("http://chat.example:0080", "chat.example", "http://chat.example"),
        ("https://[2001:DB8::0:1]:8443", "2001:db8::1", "https://[2001:db8::1]:8443"),
        ("https://192.0.2.7", "192.0.2.7", "https://192.0.2.7"),
        ("https://bücher.example", "xn--bcher-kva.example", "https://xn--bcher-kva.example"),
    ],
)
def test_a_public_url_is_read_as_browsers_write_it(url: str, name: str, origin: str) -> None:
    assert read_public_url(url) == PublicUrl(name, origin)


@pytest.mark.parametrize(
    "url",
    [
        *("", "chat.example", "//chat.example", "ftp://chat.example", "https://", "https://:80"),
        *("https://chat.example/path", "https://chat.example?", "https://chat.example#"),
        *("https://me@chat.example", "https://me:pass@chat.example", "https://chat.example:"),
        *("https://chat.example:65536", "https://chat.example:x", "https://[::1", "https://[::1]x"),
        *("https://a b", " https://a", "https://a\n", "https://1.2.3", "https://[fe80::1%eth0]"),
        *("https://*.example", "*", "https://a..b"),
    ],
)
def test_what_is_no_public_url_is_none(url: str) -> None:
    assert read_public_url(url) is None


@pytest.mark.parametrize(
    ("host", "name"),
    [("Chat.Example", "chat.example"), ("[2001:DB8::1]", "2001:db8::1"), ("..", ""), ("", "")],
)
def test_a_host_is_compared_in_one_spelling(host: str, name: str) -> None:
    assert name_of(host) == name
