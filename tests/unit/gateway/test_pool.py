"""The open models of a gateway: who answers, who is passed over, what stays open."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from callblocks.gateway.config import GatewayConfig, parse_gateway
from callblocks.gateway.exchange import GatewayFault
from callblocks.gateway.pool import Pool
from callblocks.models.scripted import ScriptedModel

TWO = """
[models.m]
upstreams = [{address = "http://127.0.0.1:1/v1#x", weight = 3}, {address = "http://127.0.0.1:2/v1#x"}]
"""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _addresses(pool: Pool, conversation: str) -> list[str]:
    ranked = pool.route("m").order(conversation)
    return [one.connection.entry.address[17:18] for one in ranked]


def test_a_conversation_stays_with_its_upstream() -> None:
    pool = Pool(parse_gateway(TWO))
    assert len({tuple(_addresses(pool, "one conversation")) for _ in range(10)}) == 1


def test_conversations_are_shared_out_by_weight() -> None:
    pool = Pool(parse_gateway(TWO))
    first = Counter(_addresses(pool, str(number))[0] for number in range(2000))
    assert first["1"] / 2000 == pytest.approx(0.75, abs=0.04)


def test_an_upstream_that_failed_comes_last_for_a_while() -> None:
    clock = Clock()
    pool = Pool(parse_gateway(TWO), clock)
    first = pool.route("m").order("c")[0].connection
    first.failed()
    assert pool.route("m").order("c")[1].connection is first
    clock.now += 2
    assert pool.route("m").order("c")[0].connection is first
    first.failed()
    clock.now += 2
    assert pool.route("m").order("c")[1].connection is first
    first.worked()
    assert pool.route("m").order("c")[0].connection is first


def test_the_one_that_recovers_first_is_asked_where_all_failed() -> None:
    clock = Clock()
    pool = Pool(parse_gateway(TWO), clock)
    first, second = (one.connection for one in pool.route("m").order("c"))
    second.failed()
    clock.now += 1
    first.failed()
    assert pool.route("m").order("c")[0].connection is second


def test_an_unknown_name_suggests_what_was_meant() -> None:
    pool = Pool(parse_gateway(TWO + "[models.coder]\naddress = 'scripted'"))
    with pytest.raises(GatewayFault) as caught:
        pool.route("codr")
    assert caught.value.status == 404
    assert "did you mean coder?" in caught.value.message


def test_a_model_that_cannot_be_opened_tells_its_client_nothing_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    text = '[models.m]\naddress = "http://127.0.0.1:1/v1#x"\nkey_env = "NO_SUCH_KEY"'
    pool = Pool(parse_gateway(text))
    with pytest.raises(GatewayFault) as caught:
        asyncio.run(pool.route("m").order("")[0].upstream())
    assert caught.value.status == 502
    assert "NO_SUCH_KEY" not in caught.value.message


def test_what_is_the_same_in_a_new_config_stays_open() -> None:
    async def run() -> None:
        old = parse_gateway('[models.a]\naddress = "scripted"\n')
        pool = Pool(old)
        model = (await pool.route("a").order("")[0].upstream()).model
        renamed = parse_gateway('[models.b]\naddress = "scripted"\nretries = 5\n')
        pool.update(renamed)
        upstream = await pool.route("b").order("")[0].upstream()
        assert upstream.model is model
        assert upstream.settings.retries == 5
        await pool.close()

    asyncio.run(run())


def test_a_model_that_is_gone_closes_after_its_last_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def close(self: ScriptedModel) -> None:
        closed.append(self.name)

    monkeypatch.setattr(ScriptedModel, "close", close)

    async def run() -> None:
        pool = Pool(parse_gateway('[models.a]\naddress = "scripted"\n'))
        backend = pool.route("a").order("")[0]
        with backend.connection.held():
            await backend.upstream()
            pool.update(GatewayConfig())
            await asyncio.sleep(0.1)
            assert not closed
        async with asyncio.timeout(10):
            while not closed:
                await asyncio.sleep(0.01)
        await pool.close()

    asyncio.run(run())
    assert closed == ["scripted"]
