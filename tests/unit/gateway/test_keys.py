"""Clients of a gateway: their keys, and their limits."""

from __future__ import annotations

import pytest

from callblocks.gateway.config import ClientEntry
from callblocks.gateway.exchange import GatewayFault
from callblocks.gateway.operation import Client, Clients
from callblocks.models.model import Usage

DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 10 * DAY

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _client(clock: Clock, **limits: int) -> Client:
    return Client("a", ClientEntry(key_env="A", **limits), clock)  # pyright: ignore[reportArgumentType] limits of a test


def test_without_clients_everybody_may_ask() -> None:
    clients = Clients({})
    assert clients.is_open
    assert clients.find({}).name == ""


@pytest.mark.parametrize(
    "headers",
    [{"authorization": "Bearer k1"}, {"authorization": "bearer  k1 "}, {"x-api-key": "k1"}],
)
def test_a_key_comes_in_either_header(
    headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A", "k1")
    assert Clients({"a": ClientEntry(key_env="A")}).find(headers).name == "a"


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer "}, {"authorization": "Basic k1"}, {"x-api-key": "k"}]
)
def test_another_key_is_refused(headers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "k1")
    with pytest.raises(GatewayFault) as caught:
        Clients({"a": ClientEntry(key_env="A")}).find(headers)
    assert caught.value.status == 401


def test_a_variable_that_is_not_set_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A", raising=False)
    clients = Clients({"a": ClientEntry(key_env="A")})
    assert not clients.is_open
    with pytest.raises(GatewayFault):
        clients.find({"x-api-key": ""})


def test_the_key_of_the_command_has_no_limits() -> None:
    clients = Clients({}, key="secret")
    assert not clients.is_open
    assert clients.find({"x-api-key": "secret"}).entry.streams is None


def test_requests_of_a_minute_come_back_evenly(clock: Clock) -> None:
    client = _client(clock, requests_per_minute=2)
    for _ in range(2):
        with client.request():
            pass
    with pytest.raises(GatewayFault) as caught, client.request():
        pass
    assert (caught.value.status, caught.value.retry_after) == (429, pytest.approx(30))
    clock.now += 30
    with client.request():
        pass


def test_tokens_of_a_day_come_back_with_the_next(clock: Clock) -> None:
    client = _client(clock, tokens_per_day=10)
    clock.now += DAY / 2
    with client.request():
        client.used(Usage(6, 5))
    with pytest.raises(GatewayFault) as caught, client.request():
        pass
    assert caught.value.retry_after == pytest.approx(DAY / 2)
    clock.now += DAY / 2
    with client.request():
        pass


def test_streams_are_given_back(clock: Clock) -> None:
    client = _client(clock, streams=1)
    with client.request(), pytest.raises(GatewayFault), client.request():
        pass
    with client.request():
        assert client.streams == 1
    assert client.streams == 0


def test_a_model_is_for_those_who_may_name_it(clock: Clock) -> None:
    client = Client("a", ClientEntry(key_env="A", models=("m",)), clock)
    client.check_model("m")
    assert not client.may_see("other")
    with pytest.raises(GatewayFault) as caught:
        client.check_model("other")
    assert caught.value.status == 403


def test_what_a_client_used_stays_where_the_config_is_read_again(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A", "k1")
    entry = ClientEntry(key_env="A", requests_per_minute=1)
    clients = Clients({"a": entry}, clock=clock)
    with clients.find({"x-api-key": "k1"}).request():
        pass
    clients.update({"a": entry, "b": ClientEntry(key_env="B")})
    with pytest.raises(GatewayFault), clients.find({"x-api-key": "k1"}).request():
        pass
