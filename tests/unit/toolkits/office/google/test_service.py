"""What comes of a request to Google when something goes wrong, and what is sent twice."""

from __future__ import annotations

import email.utils
import gzip
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.google import google_service as module
from callblocks.toolkits.office.google.google_service import Service
from callblocks.toolkits.office.google.transport import Transport
from support.google.server import Server
from support.google.state import Answer, Asked, Refused

Services = Callable[..., Service]


def listing(api: Any) -> Any:
    return api.tasklists().list()


def creating(api: Any) -> Any:
    return api.tasklists().insert(body={"title": "a"})


def changing(api: Any) -> Any:
    return api.tasklists().patch(tasklist="l1", body={"title": "b"})


def putting(api: Any) -> Any:
    return api.tasklists().update(tasklist="l1", body={"title": "b"})


def deleting(api: Any) -> Any:
    return api.tasklists().delete(tasklist="l1")


class Lists:
    """Lists of tasks: the ones that were made are counted."""

    def __init__(self) -> None:
        self.titles: list[str] = ["l1"]

    def methods(self) -> dict[str, Any]:
        return {
            "tasks.tasklists.list": lambda asked: {"items": [{"id": t} for t in self.titles]},
            "tasks.tasklists.insert": self.insert,
            "tasks.tasklists.patch": lambda asked: {"id": "l1", "title": asked.body["title"]},
            "tasks.tasklists.update": lambda asked: {"id": "l1", "title": asked.body["title"]},
            "tasks.tasklists.delete": self.delete,
        }

    def insert(self, asked: Asked) -> dict[str, Any]:
        self.titles.append(asked.body["title"])
        return {"id": f"l{len(self.titles)}"}

    def delete(self, asked: Asked) -> None:
        if asked.path["tasklist"] not in self.titles:
            raise Refused(404, "notFound", "Task list not found.")
        self.titles.remove(asked.path["tasklist"])


@pytest.fixture
def lists() -> Lists:
    return Lists()


@pytest.fixture
def server(google_server: Server, lists: Lists) -> Server:
    google_server.reset(lists.methods())
    return google_server


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def service(server: Server, waits: list[float]) -> Iterator[Service]:
    opened = Service("tasks", "v1", server.credentials(), base=server.base, sleep=waits.append)
    yield opened
    opened.close()


def fails(service: Service, ask: Any, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        service.call(ask, **more)
    for secret in ("acc3ss", "r3fresh", "s3cret"):
        assert secret not in f"{caught.value.message} {caught.value.details}"
    return caught.value


def test_an_answer_is_what_google_said(service: Service) -> None:
    assert service.call(listing) == {"items": [{"id": "l1"}]}
    assert service.call(deleting) == {}
    assert service.call(listing) == {"items": []}


def test_several_requests_are_answered_in_their_order(service: Service, server: Server) -> None:
    server.methods["tasks.tasklists.get"] = lambda asked: {"id": asked.path["tasklist"]}
    names = [f"l{number}" for number in range(20)]
    asks = [lambda api, name=name: api.tasklists().get(tasklist=name) for name in names]
    assert [answer["id"] for answer in service.calls(asks)] == names
    assert service.calls(asks[:1]) == [{"id": "l0"}]
    assert service.calls([]) == []


def test_many_threads_may_ask_at_once(service: Service, lists: Lists) -> None:
    threads = [threading.Thread(target=service.call, args=(creating,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lists.titles == ["l1", *"a" * 8]


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        (400, "invalid", "invalid_input"),
        (404, "notFound", "not_found"),
        (410, "deleted", "not_found"),
        (409, "duplicate", "conflict"),
        (412, "conditionNotMet", "conflict"),
        (413, "uploadTooLarge", "file_too_large"),
        (403, "forbidden", "forbidden"),
        (403, "accessNotConfigured", "forbidden"),
        (403, "insufficientPermissions", "sign_in_needed"),
        (403, "dailyLimitExceeded", "quota_exceeded"),
        (403, "storageQuotaExceeded", "disk_full"),
        (302, "found", "service_unavailable"),
        (418, "teapot", "service_unavailable"),
    ],
)
def test_a_lasting_refusal_is_a_code_and_asked_once(
    service: Service, server: Server, status: int, reason: str, code: str
) -> None:
    server.plan(status, reason, message="because  of\n that.")
    error = fails(service, listing)
    assert error.code == code
    assert code == "sign_in_needed" or ": because of that" in error.message
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "reason", "code"),
    [
        (429, "rateLimitExceeded", "quota_exceeded"),
        (403, "rateLimitExceeded", "quota_exceeded"),
        (403, "userRateLimitExceeded", "quota_exceeded"),
        (500, "backendError", "service_unavailable"),
        (502, "badGateway", "service_unavailable"),
        (503, "backendError", "service_unavailable"),
        (504, "deadline", "service_unavailable"),
    ],
)
def test_a_passing_refusal_is_asked_again_a_few_times(
    service: Service, server: Server, waits: list[float], status: int, reason: str, code: str
) -> None:
    server.plan(status, reason, times=3)
    assert service.call(listing) == {"items": [{"id": "l1"}]}
    assert len(server.seen) == 4
    assert [int(wait) for wait in waits] == [1, 2, 4]
    server.plan(status, reason, times=100)
    assert fails(service, listing).code == code
    assert len(server.seen) == 8


def test_google_says_how_long_to_wait(service: Service, server: Server, waits: list[float]) -> None:
    server.plan(429, "rateLimitExceeded", retry_after=7)
    server.plan(503, "backendError", retry_after=email.utils.formatdate(time.time() + 9))
    server.plan(503, "backendError", retry_after="soon")
    service.call(listing)
    assert waits[0] == 7
    assert 5 <= waits[1] <= 9
    assert 4 <= waits[2] < 5


def test_a_long_wait_is_left_to_the_caller(
    service: Service, server: Server, waits: list[float]
) -> None:
    server.plan(429, "rateLimitExceeded", retry_after=3600)
    error = fails(service, listing)
    assert (error.code, error.details, waits) == ("quota_exceeded", {"retry_after": 3600}, [])
    assert error.message.endswith("try again in 3600 seconds")


@pytest.mark.parametrize("ask", [creating, changing])
@pytest.mark.parametrize("plan", [{"status": 500}, {"status": 502}, {"cut": True}, {"raw": b"<"}])
def test_what_may_be_done_is_not_sent_again(
    service: Service, server: Server, ask: Any, plan: dict[str, Any]
) -> None:
    server.plan(**{"status": 200, "after": True, "times": 100, **plan})
    error = fails(service, ask)
    assert error.code in ("service_unavailable", "network_error")
    assert error.message.endswith("it may have been done all the same: look before you ask again")
    assert error.details["may_be_done"] is True
    assert len(server.seen) == 1


def test_a_cut_connection_creates_one_thing_only(
    service: Service, server: Server, lists: Lists
) -> None:
    service.call(listing)  # the next request goes over a connection that was used before
    server.plan(cut=True, after=True)
    assert fails(service, creating).code == "network_error"
    assert lists.titles == ["l1", "a"]


@pytest.mark.parametrize(
    ("status", "reason"),
    [(429, "rateLimitExceeded"), (403, "rateLimitExceeded"), (503, "backendError")],
)
def test_what_is_surely_not_done_is_sent_again(
    service: Service, server: Server, lists: Lists, status: int, reason: str
) -> None:
    server.plan(status, reason, times=2)
    service.call(creating)
    assert lists.titles == ["l1", "a"]
    assert len(server.seen) == 3


@pytest.mark.parametrize("ask", [listing, putting])
@pytest.mark.parametrize("plan", [{"status": 500}, {"cut": True}, {"raw": b"<html>"}])
def test_what_may_be_done_twice_is_sent_again(
    service: Service, server: Server, ask: Any, plan: dict[str, Any]
) -> None:
    server.plan(**{"status": 200, "after": True, "times": 2, **plan})
    assert service.call(ask)
    assert len(server.seen) == 3


def test_what_an_earlier_request_may_have_done_is_not_forgotten(
    service: Service, server: Server
) -> None:
    server.plan(500, after=True)
    server.plan(503, times=3)
    error = fails(service, putting)
    assert (len(server.seen), error.details) == (4, {"may_be_done": True})
    server.plan(500, times=4)
    assert fails(service, listing).details == {}


def test_a_caller_may_say_that_twice_is_once(service: Service, server: Server) -> None:
    server.plan(500, after=True)
    assert service.call(changing, repeatable=True) == {"id": "l1", "title": "b"}
    server.plan(500, after=True)
    assert fails(service, putting, repeatable=False).code == "service_unavailable"


def test_a_delete_that_was_done_before_the_fault_is_done(service: Service, server: Server) -> None:
    server.plan(cut=True, after=True)
    assert service.call(deleting) == {}
    assert len(server.seen) == 2
    assert fails(service, deleting).code == "not_found"


def test_a_token_that_ended_is_renewed_in_the_middle(service: Service, server: Server) -> None:
    service.call(listing)
    server.sign_in.access.clear()
    service.call(creating)
    assert [asked["grant_type"] for asked in server.sign_in.asked] == ["refresh_token"]
    assert server.seen == ["tasks.tasklists.list", "tasks.tasklists.insert"]


def test_a_token_known_to_have_ended_is_renewed_before(server: Server) -> None:
    credentials = server.credentials()
    credentials.expiry = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=1)
    Service("tasks", "v1", credentials, base=server.base).call(listing)
    assert server.refused == []
    assert len(server.sign_in.asked) == 1


def test_a_refused_renewal_needs_the_person(service: Service, server: Server) -> None:
    server.sign_in.access.clear()
    server.sign_in.refresh.clear()
    error = fails(service, listing)
    assert error.code == "sign_in_needed"
    assert error.message.endswith("the person must run `callblocks workspace connect CLIENT_FILE`")


def test_a_token_refused_time_and_again_needs_the_person(service: Service, server: Server) -> None:
    server.plan(401, "authError", times=2)
    assert fails(service, creating).code == "sign_in_needed"
    assert len(server.seen) == 2


def test_a_sign_in_service_that_fails_is_not_the_persons_fault(
    service: Service, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(form: dict[str, str]) -> Any:
        raise Refused(500, "server_error")

    server.sign_in.access.clear()
    monkeypatch.setattr(server.sign_in, "token", refused)
    monkeypatch.setattr("google.auth._exponential_backoff.time.sleep", lambda _: None)
    assert fails(service, creating).code == "service_unavailable"


DEEP = b'{"a":' + b"[" * 200_000


@pytest.mark.parametrize("raw", [b"<html>Sorry</html>", b"", b'{"a":', b"\xff\xfe", b"[1]", DEEP])
def test_an_answer_of_another_kind_is_a_fault(service: Service, server: Server, raw: bytes) -> None:
    server.plan(200, raw=raw, times=100)
    assert fails(service, listing).code == "service_unavailable"
    server.plans.clear()
    server.plan(502, raw=raw, times=100)
    assert fails(service, listing).code == "service_unavailable"


def test_an_answer_that_is_too_long_is_not_read(
    service: Service, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LIMIT", 10_000)
    server.methods["tasks.tasklists.list"] = lambda asked: {"etag": "x" * 9_000}
    service.call(listing)
    server.methods["tasks.tasklists.list"] = lambda asked: {"etag": "x" * 10_001}
    error = fails(service, listing)
    assert (error.code, len(server.seen)) == ("response_too_large", 2)


def test_a_short_answer_that_unpacks_to_a_long_one_is_not_read(
    service: Service, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LIMIT", 2**20)
    bomb = gzip.compress(b" " * 2**21 + b"{}")
    assert len(bomb) < 10_000
    server.plan(200, raw=bomb, headers={"Content-Encoding": "gzip"})
    assert fails(service, listing).code == "response_too_large"


def test_a_file_is_fetched_whole_and_only_up_to_a_size(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = os.urandom(100_000)
    media = Answer(media=content, media_type="image/png")
    server.reset({"drive.files.get": lambda asked: media})
    drive = Service("drive", "v3", server.credentials(), base=server.base)
    assert drive.media(lambda api: api.files().get_media(fileId="f/1")) == content
    assert (server.asked[0].download, server.asked[0].path) == (True, {"fileId": "f/1"})
    monkeypatch.setattr(module, "MEDIA_LIMIT", 99_999)
    with pytest.raises(ToolError, match="more than 99999 bytes") as caught:
        drive.media(lambda api: api.files().get_media(fileId="f1"))
    assert caught.value.code == "file_too_large"
    server.plan(404, "notFound")
    with pytest.raises(ToolError) as caught:
        drive.media(lambda api: api.files().get_media(fileId="f1"))
    assert caught.value.code == "not_found"
    drive.close()


def test_an_upload_arrives_byte_for_byte(server: Server) -> None:
    server.reset({"drive.files.create": lambda asked: {"id": "f1"}})
    drive = Service("drive", "v3", server.credentials(), base=server.base)

    @given(st.binary(max_size=300))
    def arrives(content: bytes) -> None:
        media = drive.upload(content, "text/x-y")
        drive.call(lambda api: api.files().create(body={"name": "ä"}, media_body=media))
        drive.call(lambda api: api.files().create(media_body=media))
        with_body, alone = server.asked[-2:]
        assert (with_body.media, with_body.media_type) == (content, "text/x-y")
        assert with_body.body == {"name": "ä"}
        assert (alone.media, alone.media_type, alone.body) == (content, "text/x-y", {})

    arrives()
    drive.close()


def test_pages_follow_each_other(service: Service, server: Server) -> None:
    def page(asked: Asked) -> dict[str, Any]:
        start = int(asked.query.get("pageToken", "0"))
        more = {"nextPageToken": str(start + 2)} if start < 4 else {}
        return {"items": [{"id": str(start)}, {"id": str(start + 1)}], **more}

    server.methods["tasks.tasklists.list"] = page
    found: list[str] = []
    token: str | None = ""
    while token is not None:
        asked = token or None
        answer = service.call(lambda api, asked=asked: api.tasklists().list(pageToken=asked))
        found += [item["id"] for item in answer["items"]]
        token = answer.get("nextPageToken")
    assert found == ["0", "1", "2", "3", "4", "5"]


def test_a_long_query_arrives_whole(server: Server) -> None:
    server.reset({"gmail.users.messages.list": lambda asked: {}})
    mail = Service("gmail", "v1", server.credentials(), base=server.base, sleep=lambda _: None)
    query = "ä&" * 3000
    server.plan(500)
    mail.call(lambda api: api.users().messages().list(userId="me", q=query, labelIds=["A", "B"]))
    mail.close()
    assert [asked.query["q"] for asked in server.asked] == [query, query]
    assert server.asked[1].query["labelIds"] == ["A", "B"]


@pytest.mark.parametrize("ask", [listing, creating])
def test_a_server_that_is_not_there_is_asked_again(ask: Any, server: Server) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    waits: list[float] = []
    service = Service(
        "tasks", "v1", server.credentials(), base=f"http://127.0.0.1:{port}", sleep=waits.append
    )
    error = fails(service, ask)
    assert (error.code, error.message) == ("network_error", "Google cannot be reached")
    assert error.details == {}
    assert len(waits) == 3


def test_a_server_without_tls_is_a_fault(server: Server) -> None:
    base = server.base.replace("http:", "https:")
    service = Service("tasks", "v1", server.credentials(), base=base, sleep=lambda _: None)
    assert fails(service, creating).code == "network_error"


def test_an_answer_that_stops_in_the_middle_is_a_fault(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def half() -> None:
            for _ in range(2):
                opened, _address = listener.accept()
                with opened:
                    opened.recv(65536)
                    opened.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"items":')

        thread = threading.Thread(target=half)
        thread.start()
        base = f"http://127.0.0.1:{listener.getsockname()[1]}"
        service = Service("tasks", "v1", server.credentials(), base=base, sleep=lambda _: None)
        assert fails(service, creating).code == "network_error"
        assert fails(service, listing, repeatable=False).code == "network_error"
        thread.join()


@pytest.mark.parametrize("name", ["..", "."])
def test_an_id_cannot_lead_elsewhere(service: Service, server: Server, name: str) -> None:
    error = fails(service, lambda api: api.tasklists().get(tasklist=name))
    assert error.code == "invalid_input"
    assert server.seen == []


@pytest.mark.parametrize("name", ["a/../b", "a?b=c", "a#b", "a%2F..", "ä b", "a:b", "%2e%2e", "é"])
def test_an_id_arrives_as_it_was_given(service: Service, server: Server, name: str) -> None:
    server.methods["tasks.tasklists.get"] = lambda asked: {"id": asked.path["tasklist"]}
    answer = service.call(lambda api: api.tasklists().get(tasklist=name))
    assert answer == {"id": name}


def test_a_value_that_the_client_refuses_is_wrong_input(server: Server) -> None:
    sheets = Service("sheets", "v4", server.credentials(), base=server.base)

    def wrong(api: Any) -> Any:
        return api.spreadsheets().values().get(spreadsheetId="s", range="A1", majorDimension="X")

    error = fails(sheets, wrong)
    assert error.code == "invalid_input"
    assert "majorDimension" in error.message


def test_a_mistake_of_the_program_is_not_hidden(service: Service) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        service.call(lambda api: api.tasklists().list(limit=3))
    with pytest.raises(LookupError):
        Service("task", "v1", None).call(listing)  # pyright: ignore[reportArgumentType] no credentials are needed


def test_neither_passwords_nor_tokens_go_to_other_hosts(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where a host sends the request on; `localhost` is another host than `127.0.0.1`."""
    netrc = tmp_path / "netrc"
    netrc.write_text("default login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("NO_PROXY", "*")
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as pool:
        heard = pool.submit(_answer_once, other)
        address = f"http://localhost:{other.getsockname()[1]}/"
        server.plan(302, raw=b"", headers={"Location": address})
        transport = Transport(server.credentials(), direct=False)
        asked = transport.limited(10_000).request
        response, _ = asked(f"{server.base}/tasks/v1/users/@me/lists")
        transport.close()
        assert response.status == 200
        assert server.asked[0].headers["authorization"].startswith("Bearer ")
        assert b"authorization" not in heard.result().lower()


def _answer_once(listener: socket.socket) -> bytes:
    opened, _ = listener.accept()
    with opened:
        heard = opened.recv(65_536)
        opened.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
    return heard
