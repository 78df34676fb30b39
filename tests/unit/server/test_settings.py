from __future__ import annotations

import pytest

from callblocks.core.errors import CallerError
from callblocks.server.settings import ServerSettings

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "[::1]"])
def test_only_a_loopback_address_may_do_without_a_token_and_says_so(host: str) -> None:
    with pytest.raises(CallerError, match="every user of this machine"):
        ServerSettings(host=host).check()
    ServerSettings(host=host, no_token=True).check()
    ServerSettings(host=host, token=TOKEN).check()


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.168.1.4", "example.org", "", "::ffff:8.8.8.8"]
)
def test_any_other_address_demands_a_token(host: str) -> None:
    with pytest.raises(CallerError, match="give a token"):
        ServerSettings(host=host, no_token=True).check()
    ServerSettings(host=host, token=TOKEN).check()


@pytest.mark.parametrize("token", ["short", "has a blank in it all", "ünïcödé-is-not-sent"])
def test_a_token_that_cannot_be_one_is_refused(token: str) -> None:
    with pytest.raises(CallerError, match="a token has"):
        ServerSettings(token=token).check()


@pytest.mark.parametrize("origin", ["*", "localhost:1", "http://a/b", "null", "https://a b"])
def test_an_origin_is_a_scheme_a_host_and_a_port(origin: str) -> None:
    with pytest.raises(CallerError, match="is no origin"):
        ServerSettings(origins=(origin,), token=TOKEN).check()
    ServerSettings(origins=("http://localhost:5173", "https://a.example"), token=TOKEN).check()


@pytest.mark.parametrize("url", ["chat.example", "https://a/b", "*"])
def test_a_public_url_is_checked(url: str) -> None:
    with pytest.raises(CallerError, match="is no public URL"):
        ServerSettings(public_urls=(url,), token=TOKEN).check()


def test_a_public_url_demands_a_token_unless_it_is_of_this_machine() -> None:
    urls = ("http://localhost:8080", "https://chat.example")
    with pytest.raises(CallerError, match="give a token"):
        ServerSettings(public_urls=urls, no_token=True).check()
    ServerSettings(public_urls=("https://chat.example",), token=TOKEN).check()
    ServerSettings(public_urls=("http://localhost:8080", "http://[::1]"), no_token=True).check()


def test_only_known_versions_are_spoken() -> None:
    with pytest.raises(CallerError, match="5, 6 or 7"):
        ServerSettings(sdk_version=4, token=TOKEN).check()  # pyright: ignore[reportArgumentType] that is the mistake
