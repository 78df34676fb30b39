"""The played Google can refuse: each check of a request fails on a planted fault."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from support.google.discovery import DOCUMENTS, all_methods, find_route
from support.google.server import Server
from support.google.state import Answer, Asked, Refused

SHEET = "/v4/spreadsheets/s1/values/A1"
EVENTS = "/calendar/v3/calendars/primary/events"
SEND = "/gmail/v1/users/me/messages/send"


def echo(asked: Asked) -> dict[str, Any]:
    return {}


@pytest.fixture
def server(google_server: Server) -> Server:
    google_server.reset(
        {
            "gmail.users.messages.send": echo,
            "gmail.users.messages.list": echo,
            "drive.files.list": lambda asked: {
                "kind": "drive#fileList",
                "files": [{"id": "f1", "name": "a", "size": "3", "kind": "drive#file"}],
            },
            "drive.files.get": lambda asked: {"id": "f1", "name": "a", "size": "3"},
            "calendar.events.list": echo,
            "calendar.events.insert": echo,
            "sheets.spreadsheets.values.get": echo,
            "sheets.spreadsheets.values.update": echo,
            "tasks.tasks.insert": echo,
            "tasks.tasks.delete": lambda asked: None,
        }
    )
    return google_server


def ask(
    server: Server,
    method: str,
    path: str,
    body: Any = None,
    token: str = "acc3ss-token-0",
    **headers: str,
) -> requests.Response:
    given = {"Authorization": f"Bearer {token}"} if token else {}
    with requests.Session() as session:
        session.trust_env = False
        return session.request(
            method, server.base + path, json=body, headers={**given, **headers}, timeout=10
        )


def refusal(server: Server, method: str, path: str, body: Any = None) -> str:
    answer = ask(server, method, path, body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert server.seen == []
    return error["message"]


def test_every_method_of_the_documents_has_a_route() -> None:
    assert len(DOCUMENTS) == 6
    for method in all_methods().values():
        path = f"/{method.document['servicePath']}{method.entry['path']}"
        for name in method.parameters("path"):
            path = path.replace(f"{{{name}}}", "x1").replace(f"{{+{name}}}", "x1")
        route = find_route(method.http_method, path)
        assert route is not None
        assert route.method.id == method.id


@pytest.mark.parametrize(
    ("path", "body", "fault"),
    [
        (SEND, {"rwa": "aGk="}, "body.rwa: no such field in Message"),
        (SEND, {"raw": 7}, "body.raw: 7 is no string"),
        (SEND, {"raw": "not base64!"}, "body.raw: 'not base64!' is no byte"),
        (SEND, {"payload": {"parts": [{"bdy": {}}]}}, "body.payload.parts[0].bdy: no such field"),
        (SEND, ["raw"], "body: ['raw'] is no object"),
        (EVENTS, {"start": {"dateTime": "tomorrow"}}, "body.start.dateTime: 'tomorrow' is no"),
        (EVENTS, {"start": {"date": "2030-13-01"}}, "body.start.date: '2030-13-01' is no date"),
        (EVENTS, {"sequence": True}, "body.sequence: True is no integer"),
        (EVENTS, {"sequence": 2**31}, "body.sequence: 2147483648 is no int32"),
        (EVENTS, {"attendees": {"email": "a@b.c"}}, "body.attendees: {'email': 'a@b.c'} is no"),
    ],
)
def test_a_wrong_body_is_refused(server: Server, path: str, body: Any, fault: str) -> None:
    assert refusal(server, "POST", path, body).startswith(fault)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/gmail/v1/users/me/messages?querry=x", "query.querry: gmail.users.messages.list has no"),
        ("/gmail/v1/users/me/messages?maxResults=ten", "maxResults: 'ten' is no integer"),
        ("/gmail/v1/users/me/messages?maxResults=-1", "maxResults: -1 is no uint32"),
        ("/gmail/v1/users/me/messages?maxResults=1&maxResults=2", "maxResults: given 2 times"),
        ("/gmail/v1/users/me/messages?includeSpamTrash=yes", "includeSpamTrash: 'yes' is no"),
        (f"{SHEET}?majorDimension=DIAGONALS", "majorDimension: 'DIAGONALS' is none of DIMENSION"),
        (f"{EVENTS}?maxResults=0", "maxResults: 0 is below 1"),
        (f"{EVENTS}?timeMin=2030-01-01", "timeMin: '2030-01-01' is no date-time"),
        ("/drive/v3/files?pageSize=1001", "pageSize: 1001 is above 1000"),
        ("/drive/v3/files?fields=fiels(id)", "Invalid field selection fiels"),
        ("/drive/v3/files?fields=files(id,nam)", "Invalid field selection nam"),
        ("/drive/v3/files?fields=files(id", "Invalid field selection files(id"),
        ("/drive/v3/files?fields=files(id))", "Invalid field selection files(id))"),
        ("/drive/v3/files?fields=a b", "Invalid field selection a b"),
    ],
)
def test_a_wrong_parameter_is_refused(server: Server, path: str, fault: str) -> None:
    assert refusal(server, "GET", path).startswith(fault)


def test_a_missing_parameter_is_refused(server: Server) -> None:
    path = "/drive/v3/files/f1/export"
    assert refusal(server, "GET", path) == "query.mimeType: drive.files.export requires it"


def test_a_body_where_there_is_none_is_refused(server: Server) -> None:
    path = "/tasks/v1/lists/l/tasks/t"
    assert refusal(server, "DELETE", path, {"a": 1}) == "body: tasks.tasks.delete takes none"


def test_a_body_that_is_no_json_is_refused(server: Server) -> None:
    headers = {"Authorization": "Bearer acc3ss-token-0", "Content-Type": "application/json"}
    for content, kind, fault in (
        (b"{", "application/json", "parseError"),
        (b"{}", "text/plain", "badContent"),
    ):
        answer = requests.post(
            server.base + SEND, content, headers={**headers, "Content-Type": kind}, timeout=9
        )
        assert answer.status_code == 400
        assert answer.json()["error"]["errors"][0]["reason"] == fault


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/gmail/v1/users/me/mesages"),
        ("PUT", "/gmail/v1/users/me/messages"),
        ("GET", "/gmail/v2/users/me/messages"),
        ("GET", "/drive/v3/files/a/b"),
        ("GET", "/"),
    ],
)
def test_an_unknown_path_is_refused(server: Server, method: str, path: str) -> None:
    assert ask(server, method, path).status_code == 404


@pytest.mark.parametrize("token", ["", "wrong", "acc3ss-token-00"])
def test_a_request_without_a_right_token_is_refused(server: Server, token: str) -> None:
    answer = ask(server, "GET", "/drive/v3/files", token=token)
    assert answer.status_code == 401
    assert server.seen == []


def test_a_request_without_a_scope_is_refused(server: Server) -> None:
    server.allow(["https://www.googleapis.com/auth/gmail.readonly"])
    assert ask(server, "GET", "/gmail/v1/users/me/messages").status_code == 200
    answer = ask(server, "POST", SEND, {"raw": ""})
    assert answer.status_code == 403
    assert answer.json()["error"]["errors"][0]["reason"] == "insufficientPermissions"


def test_values_arrive_with_their_types(server: Server) -> None:
    path = (
        "/gmail/v1/users/me%2Fx/messages?maxResults=3&includeSpamTrash=true&labelIds=A&labelIds=B"
    )
    assert ask(server, "GET", path).status_code == 200
    (asked,) = server.asked
    assert asked.path == {"userId": "me/x"}
    assert asked.query == {"maxResults": 3, "includeSpamTrash": True, "labelIds": ["A", "B"]}


def test_what_only_the_service_sets_is_left_out(server: Server) -> None:
    path = "/tasks/v1/lists/l/tasks"
    assert ask(server, "POST", path, {"title": "a", "links": []}).ok
    assert server.asked[0].body == {"title": "a"}


def test_an_answer_has_the_fields_that_were_asked_for(server: Server) -> None:
    few = ask(server, "GET", "/drive/v3/files/f1").json()
    assert few == {"id": "f1", "name": "a"}
    assert ask(server, "GET", "/drive/v3/files/f1?fields=size").json() == {"size": "3"}
    assert ask(server, "GET", "/drive/v3/files/f1?fields=*").json() == {**few, "size": "3"}
    listed = ask(server, "GET", "/drive/v3/files?fields=files/id,files(size)").json()
    assert listed == {"files": [{"id": "f1", "size": "3"}]}
    assert "kind" in ask(server, "GET", "/drive/v3/files?fields=*").json()


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"fils": []}, "answer.fils: no such field in FileList"),
        ({"files": [{"size": 3}]}, "answer.files[0].size: 3 is no string"),
        ({"files": [{"createdTime": "now"}]}, "answer.files[0].createdTime: 'now' is no date"),
        ({"nextPageToken": None}, "answer.nextPageToken: None is no string"),
        (Answer(media=b"x"), "a download that nobody asked for"),
    ],
)
def test_a_fake_cannot_answer_what_google_would_not(
    server: Server, answer: Any, complaint: str
) -> None:
    server.methods["drive.files.list"] = lambda asked: answer
    assert ask(server, "GET", "/drive/v3/files").status_code == 501
    (said,) = server.complaints
    server.complaints.clear()
    assert said.startswith(f"drive.files.list: {complaint}")


def test_a_fault_of_a_fake_is_told_from_a_fault_of_the_request(server: Server) -> None:
    def broken(asked: Asked) -> dict[str, Any]:
        raise KeyError(asked.path["id"])

    def refuses(asked: Asked) -> dict[str, Any]:
        raise Refused(404, "notFound", "no message x")

    server.methods["gmail.users.messages.get"] = refuses
    assert ask(server, "GET", "/gmail/v1/users/me/messages/x").status_code == 404
    assert server.complaints == []
    server.methods["gmail.users.messages.get"] = broken
    assert ask(server, "GET", "/gmail/v1/users/me/messages/x").status_code == 501
    assert ask(server, "GET", "/gmail/v1/users/me/labels").status_code == 501
    assert server.complaints == [
        "gmail.users.messages.get: KeyError: 'x'",
        "gmail.users.labels.list: no fake has this method",
    ]
    server.complaints.clear()


def test_an_upload_of_another_shape_is_refused(server: Server) -> None:
    def upload(path: str, content: bytes, kind: str) -> str:
        headers = {"Authorization": "Bearer acc3ss-token-0", "Content-Type": kind}
        answer = requests.post(server.base + path, content, headers=headers, timeout=120)
        assert answer.status_code == 400
        return answer.json()["error"]["message"]

    path = "/upload/drive/v3/files"
    assert upload(path, b"x", "text/plain") == "no upload of uploadType= and text/plain"
    path += "?uploadType=multipart"
    assert upload(path, b"x", "multipart/related") == "multipart without a boundary"
    one = b"--b\n\n{}\n--b--"
    assert upload(path, one, "multipart/related; boundary=b") == "1 parts, not two"
    two = b"--b\nContent-Type: application/json\n\n{\n--b\n\nx\n--b--"
    assert "no JSON" in upload(path, two, "multipart/related; boundary=b")
