"""What a model's server can do wrong, and what is told of it: a code, words, and never the key."""

from __future__ import annotations

import asyncio
import gzip
import socket
import traceback
from contextlib import ExitStack, aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ModelError
from callblocks.models.model import MODEL_CODES, Piece, Spoken, Stopped
from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoints import ChatEndpoint, CompletionEndpoint
from support.model_replies import HELLO, reply_of, spoken
from support.model_server import DONE, ModelServer, Step, chat_chunk, chat_events, event

KEY = "kEy-of-the-test_0123456789"
HEADER = "second-secret-of-a-header"
PATIENT = {"connect_seconds": 60.0, "first_seconds": 60.0, "stall_seconds": 60.0}


def endpoint(url: str, **settings: Any) -> ChatEndpoint:
    given = {
        "retry_seconds": 0.01,
        **PATIENT,
        "key": KEY,
        "headers": {"x-secret": HEADER},
        **settings,
    }
    return ChatEndpoint(EndpointSettings(base_url=url, model="test", **given))


def fault(server: ModelServer, **settings: Any) -> tuple[str, ModelError]:
    """The text that came, and the error after it, which shows no secret."""
    model = endpoint(server.url, **settings)
    pieces, error = reply_of(model)
    assert error is not None
    check_words(error)
    return spoken(pieces), error


def check_words(error: ModelError) -> None:
    said = "".join((*traceback.format_exception(error), repr(error), str(error.details)))
    assert KEY not in said
    assert HEADER not in said
    assert error.code in MODEL_CODES
    assert "http://127.0.0.1" in error.message
    assert error.message.isprintable()
    assert len(error.message) < 700


def broken_off(*steps: Step, raw: bool = False, **settings: Any) -> tuple[str, ModelError]:
    with ModelServer() as server:
        server.answer(*steps, raw=raw)
        return fault(server, **settings)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


def test_a_server_that_is_not_there_is_unreachable() -> None:
    pieces, error = reply_of(endpoint(f"http://127.0.0.1:{free_port()}/v1"))
    assert error is not None
    assert not pieces
    check_words(error)
    assert error.code == "model_unreachable"
    assert "check the address" in error.message


def test_a_host_without_an_address_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    _, error = reply_of(endpoint("http://nobody.invalid/v1", tries=1))
    assert error is not None
    assert error.code == "model_unreachable"
    assert "http://nobody.invalid/v1" in error.message


@pytest.mark.parametrize("host", ["a..b", "a" * 80])
def test_a_host_that_is_none_is_unreachable(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    _, error = reply_of(endpoint(f"http://{host}/v1", tries=1))
    assert error is not None
    assert error.code == "model_unreachable"


def test_a_host_that_takes_no_connection_is_given_up() -> None:
    """Once its queue is full, a server that accepts nobody leaves the next one waiting."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, ExitStack() as waiting:
        address = full.getsockname()
        for _ in range(3):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(address)
        _, error = reply_of(endpoint(f"http://127.0.0.1:{address[1]}/v1", connect_seconds=0.1))
    assert error is not None
    check_words(error)
    assert error.code == "model_timeout"
    assert "no connection in time" in error.message


def test_a_server_that_hangs_up_at_once_is_asked_again() -> None:
    with ModelServer() as server:
        server.answer("cut", raw=True)
        pieces, error = reply_of(endpoint(server.url))
    assert error is None
    assert spoken(pieces) == "Hello"
    assert len(server.requests) == 2


def test_a_server_that_always_hangs_up_is_asked_no_more_than_twice() -> None:
    with ModelServer() as server:
        for _ in range(4):
            server.answer("cut", raw=True)
        _, error = fault(server)
    assert error.code == "model_unreachable"
    assert len(server.requests) == 2


def test_a_server_that_dies_in_the_middle_is_told_after_its_text() -> None:
    """Nothing is asked twice once a part of the reply was given."""
    with ModelServer() as server:
        server.answer(*chat_events("Hel", "lo", end=False), 0.05, "cut")
        text, error = fault(server)
    assert text == "Hello"
    assert error.code == "model_unreachable"
    assert len(server.requests) == 1


def test_a_server_that_dies_after_the_reason_lost_nothing() -> None:
    with ModelServer() as server:
        end = event(chat_chunk({}, "stop"))
        server.answer(*chat_events("Hi", end=False), end, 0.05, "cut")
        pieces, error = reply_of(endpoint(server.url))
    assert error is None
    assert spoken(pieces) == "Hi"


@pytest.mark.parametrize(
    "steps",
    [
        ("hold",),
        (*chat_events("Hi", end=False), "hold"),
        (event({})[:9], "hold"),
    ],
)
def test_a_server_that_stalls_is_given_up(steps: tuple[Step, ...]) -> None:
    with ModelServer() as server:
        server.answer(*steps)
        text, error = fault(
            server, first_seconds=0.5 if len(steps) == 1 else 60.0, stall_seconds=0.5
        )
        assert server.left.wait(120)
    assert text == ("Hi" if len(steps) > 2 else "")
    assert error.code == "model_timeout"
    assert len(server.requests) <= 1


def test_a_server_that_never_answers_is_given_up() -> None:
    with ModelServer() as server:
        server.answer("hold", raw=True)
        _, error = fault(server, first_seconds=0.5)
        assert server.left.wait(120)
    assert error.code == "model_timeout"
    assert "0.5 s" in error.message


def test_comments_keep_a_slow_reply_alive() -> None:
    with ModelServer() as server:
        waiting: list[Step] = [b": wait\n\n", 0.2] * 5
        server.answer(*waiting, *chat_events("Hi"))
        pieces, error = reply_of(endpoint(server.url, first_seconds=60.0, stall_seconds=0.8))
    assert error is None
    assert spoken(pieces) == "Hi"


@pytest.mark.parametrize(
    "half",
    [
        b'data: {"choices": [{"del',
        b"data: {}}\n\n",
        b"data: no json\n\n",
        b"data: [1, 2]\n\n",
        b'data: "text"\n\n',
        b'data: {"choices": 5}\n\n',
        b'data: {"choices": [{"delta": {"content": 5}}]}\n\n',
        b"data: " + b"[" * 200_000 + b"\n\n",
        b'data: {"x": ' + b"[" * 200_000 + b"\n\n",
        b"data: \xff\xfe\n\n",
    ],
)
def test_half_an_event_and_what_is_no_json_is_broken(half: bytes) -> None:
    text, error = broken_off(*chat_events("Hi", end=False), half)
    assert text == "Hi"
    assert error.code == "model_broken"


@pytest.mark.parametrize("end", [b"", b"data", b": bye\n\n", b"event: x\n\n"])
def test_an_end_without_a_reason_is_broken(end: bytes) -> None:
    text, error = broken_off(*chat_events("Hi", end=False), *([end] if end else []))
    assert text == "Hi"
    assert error.code == "model_broken"


CHUNKS = st.sampled_from(
    [
        *chat_events("Hi", "🙂"),
        *(
            b"\n",
            b"\r",
            b": x\n",
            b"data:",
            b"{",
            b"}",
            b"[",
            b"<",
            b'"',
            b"null",
            b"\xff",
            b"\x00",
        ),
        *(event(None), event([]), event({"choices": [None]}), event({"error": {"error": []}})),
        event({"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [1]}]}}]}),
        event({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": 1e300}}]}}]}),
        event({"usage": {"prompt_tokens": -1, "completion_tokens": 1e300}}),
        b'data: {"usage": {"prompt_tokens": 1e999}}\n\n',
        b'data: {"choices": [{"text": "\\ud83d"}]}\n\n',
    ]
)


@given(st.lists(CHUNKS | st.binary(min_size=1, max_size=20), max_size=8), st.booleans())
def test_whatever_a_server_sends_is_a_reply_or_a_fault_with_a_code(
    pieces: list[bytes], is_error: bool
) -> None:
    with ModelServer() as server:
        server.answer(*pieces, status=500 if is_error else 200)
        came, error = reply_of(endpoint(server.url))
    if error is not None:
        check_words(error)
    else:
        assert isinstance(came[-1], Stopped)


def test_an_empty_reply_is_broken() -> None:
    assert broken_off()[1].code == "model_broken"


@pytest.mark.parametrize("filler", [b"x", b"\xf0\x9f\x99\x82", b" " * 900 + b"\ndata: x"])
def test_ten_megabytes_without_an_end_are_too_long(filler: bytes) -> None:
    junk = b"data: " + filler * (10_000_000 // len(filler))
    pieces = [junk[at : at + 65536] for at in range(0, len(junk), 65536)]
    start = chat_events("Hi", end=False)
    text, error = broken_off(*start, *pieces, line_limit=1 << 20)
    assert text == "Hi"
    assert error.code == "model_too_long"


def test_a_reply_that_never_ends_is_too_long() -> None:
    text, error = broken_off(*chat_events(*["x" * 50] * 9, end=False), "hold", reply_limit=200)
    assert text == "x" * 200
    assert error.code == "model_too_long"
    assert "reply_limit" in error.message


@pytest.mark.parametrize("start", [b"{", b'{"a": "'])
def test_an_object_that_never_ends_is_too_long(start: bytes) -> None:
    assert broken_off(start, *[b"x" * 1000] * 9, reply_limit=5000)[1].code == "model_too_long"


def test_native_calls_that_never_end_are_too_long() -> None:
    call = event(chat_chunk({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 100}}]}))
    assert broken_off(*[call] * 9, reply_limit=500)[1].code == "model_too_long"


@pytest.mark.parametrize("function", [{"arguments": ""}, {}, {"name": ""}])
def test_native_calls_that_say_nothing_are_too_long_in_the_end(function: dict[str, str]) -> None:
    calls = (
        event(chat_chunk({"tool_calls": [{"index": index, "function": function}]}))
        for index in range(90)
    )
    assert broken_off(*calls, reply_limit=500)[1].code == "model_too_long"


def test_a_small_reply_that_unpacks_to_a_huge_one_is_too_long() -> None:
    packed = gzip.compress(b"data: " + b"x" * 50_000_000)
    with ModelServer() as server:
        server.answer(packed, headers={"content-encoding": "gzip"})
        _, error = fault(server)
    assert error.code == "model_too_long"


def test_what_is_not_compressed_as_it_says_is_broken() -> None:
    with ModelServer() as server:
        server.answer(*chat_events("Hi"), headers={"content-encoding": "gzip"})
        _, error = fault(server)
    assert error.code == "model_broken"


PAGE = b"<!DOCTYPE html><html><head><title>Sign in &amp; go</title></head><body>x</body></html>"


def test_a_page_is_no_reply() -> None:
    with ModelServer() as server:
        server.answer(PAGE, kind="text/html")
        _, error = fault(server)
    assert error.code == "model_broken"
    assert "Sign in & go" in error.message
    assert "text/html" in error.message


@pytest.mark.parametrize("body", [b"{}", b'{"status": "ok"}', b'{"choices": []}', b"hello", b"[]"])
def test_something_else_is_no_reply(body: bytes) -> None:
    with ModelServer() as server:
        server.answer(body, kind="application/json")
        _, error = fault(server)
    assert error.code == "model_broken"


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n",
        f"HTTP/1.1 {KEY} x\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\n{KEY} {HEADER}\r\n\r\n".encode(),
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ndata: ",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100_000,
        b"\x16\x03\x01\x02\x00",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
)
def test_what_is_no_http_is_unreachable(raw: bytes) -> None:
    with ModelServer() as server:
        for _ in range(2):
            server.answer(raw, raw=True)
        _, error = fault(server)
    assert error.code == "model_unreachable"


@pytest.mark.parametrize(
    ("status", "code", "asked"),
    [
        *((400, "model_refused", 1), (401, "model_refused", 1), (403, "model_refused", 1)),
        *((404, "model_refused", 1), (422, "model_refused", 1), (408, "model_timeout", 1)),
        *((429, "model_busy", 2), (503, "model_busy", 2), (529, "model_busy", 1)),
        *((500, "model_failed", 1), (502, "model_failed", 1), (504, "model_timeout", 1)),
        *((201, "model_broken", 1), (202, "model_broken", 1)),
    ],
)
def test_each_status_has_its_code_and_the_server_s_words(
    status: int, code: str, asked: int
) -> None:
    said = f'{{"error": {{"message": "no: {KEY} \\u001b[31m {HEADER}", "type": "x"}}}}'.encode()
    with ModelServer() as server:
        for _ in range(2):
            server.answer(said, status=status, kind="application/json")
        _, error = fault(server)
    assert error.code == code
    assert error.details["status"] == status
    assert f"({status})" in error.message
    assert "no: ••••••••" in error.message
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "loading"}', "loading"),
        (b'{"error": {"message": "bad"}}', "bad"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"msg": "field required"}]}', "field required"),
        (b'{"object": "error", "message": "too long"}', "too long"),
        (b'[{"error": {"message": "in a list"}}]', "in a list"),
        (b"plain words", "plain words"),
        (PAGE, "Sign in & go"),
        (b"<html><style>b{}</style><p>Bad <b>gateway</b></p>", "Bad gateway"),
        (b'{"half": ', '{"half":'),
        (b"x" * 100_000, "…"),
        (b"[" * 100_000, "…"),
        (b"", "(500)"),
        (b'{"error": {"code": 7}}', '{"code":7}'),
    ],
)
def test_a_failure_says_what_the_server_says(body: bytes, words: str) -> None:
    with ModelServer() as server:
        server.answer(*([body] if body else []), status=500, kind="text/plain")
        _, error = fault(server)
    assert words in error.message


def test_a_server_that_was_busy_is_asked_again() -> None:
    with ModelServer() as server:
        server.answer(status=503)
        pieces, error = reply_of(endpoint(server.url))
    assert error is None
    assert spoken(pieces) == "Hello"


@pytest.mark.parametrize(
    ("after", "asked"),
    [("0", 2), ("0.01", 2), ("-5", 2), ("never", 2), ("3600", 1), ("nan", 1)],
)
def test_a_short_wait_is_waited_and_a_long_one_is_not(after: str, asked: int) -> None:
    with ModelServer() as server:
        server.answer(b"slow down", status=429, headers={"retry-after": after})
        reply_of(endpoint(server.url))
    assert len(server.requests) == asked


@pytest.mark.parametrize("date", ["Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_wait_may_be_a_date(date: str) -> None:
    with ModelServer() as server:
        server.answer(status=503, headers={"retry-after": date})
        reply_of(endpoint(server.url))
    assert len(server.requests) == (2 if "1970" in date else 1)


@pytest.mark.parametrize(
    ("told", "code"),
    [
        (event({"error": {"message": "out of memory", "type": "server_error"}}), "model_failed"),
        (event({"error": {"message": "slow", "type": "rate_limit_exceeded"}}), "model_busy"),
        (event({"error": {"message": "slow", "code": 429}}), "model_busy"),
        (event({"error": {"message": "long", "type": "invalid_request_error"}}), "model_refused"),
        (event({"error": "overloaded"}), "model_failed"),
        (event({"object": "error", "message": "bad", "code": 400}), "model_refused"),
        (b'event: error\ndata: {"error": {"type": "overloaded_error"}}\n\n', "model_busy"),
        (b"event: error\ndata: it broke\n\n", "model_failed"),
        (b'error: {"code": 500, "message": "slot failed"}\n\n', "model_failed"),
        (event({"error": {"message": f"key {KEY} is bad"}}), "model_failed"),
    ],
)
def test_an_error_in_the_stream_is_told_after_the_text(told: bytes, code: str) -> None:
    text, error = broken_off(*chat_events("Hi", end=False), told, DONE)
    assert text == "Hi"
    assert error.code == code
    assert "told an error" in error.message


def test_an_error_in_place_of_a_reply_is_told() -> None:
    assert broken_off(b'{"error": {"message": "no such model"}}')[1].code == "model_failed"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_takes_the_key_to_another_server(status: int) -> None:
    with ModelServer() as other, ModelServer() as server:
        goal = other.url.replace("//", "//user:hunter2pw@") + "/chat/completions?k=hunter2pw"
        server.answer(status=status, headers={"location": goal})
        _, error = fault(server)
        assert other.connections == 0
    assert error.code == "model_refused"
    assert f"{other.url}/chat/completions" in error.message
    assert "hunter2pw" not in error.message


def test_secrets_are_hidden_however_a_server_writes_them() -> None:
    said = b'Basic bWU6aHVudGVyMiJwdw== me:hunter2%22pw hunter2\\"pw hunter2"pw'
    with ModelServer() as server:
        url = server.url.replace("//", "//me:hunter2%22pw@")
        server.answer(said, status=401)
        _, error = reply_of(ChatEndpoint(EndpointSettings(base_url=url, model="test")))
    assert error is not None
    assert "hunter2" not in error.message
    assert "bWU6" not in error.message


def test_closing_early_ends_the_request() -> None:
    async def run(server: ModelServer) -> None:
        model = endpoint(server.url)
        async with aclosing(model.reply(HELLO)) as pieces:
            assert await anext(pieces) == Spoken("Hi")
        assert await asyncio.to_thread(server.left.wait, 60)
        await model.close()

    with ModelServer() as server:
        server.answer(*chat_events("Hi", end=False), "hold")
        asyncio.run(run(server))


@pytest.mark.parametrize("steps", [("hold",), (*chat_events("Hi", end=False), "hold")])
def test_a_cancelled_reply_ends_the_request(steps: tuple[Step, ...]) -> None:
    async def run(server: ModelServer) -> None:
        model = endpoint(server.url)
        came: list[Piece] = []

        async def read() -> None:
            async with aclosing(model.reply(HELLO)) as pieces:
                came.append(await anext(pieces))
                await anext(pieces)

        task = asyncio.create_task(read())
        while not server.requests or (len(steps) > 1 and not came):
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.left.wait, 60)
        await model.close()

    with ModelServer() as server:
        server.answer(*steps)
        asyncio.run(run(server))


def test_the_test_server_refuses_what_the_api_does_not_know() -> None:
    with pytest.raises(AssertionError, match="banana"), ModelServer() as server:  # noqa: PT012 - the end of the block is what raises
        _, error = fault(server, extra={"banana": 1})
        assert error.code == "model_refused"
    with pytest.raises(AssertionError, match="temperature"), ModelServer() as server:
        fault(server, extra={"temperature": "hot"})


def test_a_completion_endpoint_has_the_same_faults() -> None:
    with ModelServer() as server:
        server.answer(b'{"error": "nope"}', status=404)
        settings = EndpointSettings(base_url=server.url, model="test", key=KEY)
        _, error = reply_of(CompletionEndpoint(settings))
    assert error is not None
    check_words(error)
    assert error.code == "model_refused"


def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://me:hunter2pw@127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "gopher://me:hunter2pw@127.0.0.1:9")
    _, error = reply_of(endpoint("http://model.invalid/v1", tries=1))
    assert error is not None
    assert error.code == "model_unreachable"
    assert "HTTP_PROXY" in error.message
    assert "hunter2pw" not in "".join(traceback.format_exception(error))
