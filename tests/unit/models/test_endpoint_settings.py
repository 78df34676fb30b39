from __future__ import annotations

from typing import Any

import msgspec
import pytest
from rich.pretty import pretty_repr

from callblocks.core.errors import CallerError
from callblocks.models.openai.endpoint import EndpointSettings, is_loopback_url, plain_url

KEY = "the-secret-key-12345"
SECRET = EndpointSettings(
    base_url="https://me:hunter2pw@model.test/v1?sig=abcdef99",
    model="m",
    key=KEY,
    headers={"x-api-key": "another-secret"},
    extra={"user": "somebody-secret"},
)


@pytest.mark.parametrize("show", [repr, str, pretty_repr, "{}".format])
def test_no_repr_shows_a_secret(show: Any) -> None:
    said = show(SECRET)
    assert "https://model.test/v1" in said
    assert "x-api-key" in said
    for secret in (KEY, "hunter2pw", "abcdef99", "another-secret", "somebody-secret"):
        assert secret not in said


@pytest.mark.parametrize(
    "url",
    [
        *("model.test/v1", "ftp://model.test", "http://", "http:///v1", "http://h/v1#m"),
        *("http://h:port/v1", "http://h:99999/v1", "http://[::1/v1", "http://h/a b", "http://h/\n"),
        *("http://ä.test/v1",),
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(CallerError, match="http://host:port/v1"):
        EndpointSettings(base_url=url, model="m")


def test_a_refused_address_does_not_show_its_password() -> None:
    with pytest.raises(CallerError) as raised:
        EndpointSettings(base_url="ftp://me:hunter2pw@h/v1", model="m")
    assert "hunter2pw" not in str(raised.value)


@pytest.mark.parametrize("key", ["a b", "a\nb", "schlüssel", "a\r\nx: y", "\x00"])
def test_a_key_that_cannot_be_a_header_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(CallerError) as raised:
        EndpointSettings(key=f"secretpart{key}")
    assert "secretpart" not in str(raised.value)


@pytest.mark.parametrize(
    "headers", [{"a b": "c"}, {"": "c"}, {"a": "b\r\nc: d"}, {"a": "ä"}, {"a": " b"}, {"a:": "b"}]
)
def test_a_header_that_is_none_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(CallerError, match="header"):
        EndpointSettings(headers=headers)


@pytest.mark.parametrize(
    "wrong",
    [
        {"connect_seconds": 0},
        {"first_seconds": -1},
        {"stall_seconds": float("nan")},
        {"tries": 0},
        {"line_limit": 0},
        {"reply_limit": 0},
        {"extra": {"messages": []}},
        {"extra": {"prompt": ""}},
        {"extra": {"model": "other"}},
        {"extra": {"temperature": object()}},
    ],
)
def test_a_setting_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(CallerError, match=next(iter(wrong))):
        EndpointSettings(**wrong)


def test_a_change_is_checked_too() -> None:
    with pytest.raises(CallerError):
        msgspec.structs.replace(SECRET, base_url="nowhere")


@pytest.mark.parametrize(
    "url",
    ["http://localhost:1/v1", "http://127.0.0.1/v1", "http://127.9.9.9", "http://[::1]:8080/v1"],
)
def test_this_machine_is_known_by_its_names(url: str) -> None:
    assert is_loopback_url(url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1.test/", "http://10.0.0.1/", "https://a.test", ""]
)
def test_another_machine_is_not_this_one(url: str) -> None:
    assert not is_loopback_url(url)


def test_an_address_is_shown_without_secrets() -> None:
    assert plain_url("https://a:b@h.test:8/v1/?key=c#d") == "https://h.test:8/v1/"
    assert plain_url("http://[") == ""
