"""Signing in at Google and out again, with a person and a browser that are played."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import requests

from callblocks.core.errors import CallerError, ToolError
from callblocks.toolkits.office.google import auth
from callblocks.toolkits.office.google.auth import (
    Token,
    connect,
    forget,
    load,
    read_token,
    scopes_for,
    write_token,
)
from callblocks.toolkits.office.google.google_service import Service
from support.google.server import Server
from support.google.sign_in import CLIENT_ID, CLIENT_SECRET
from support.google.state import Refused

SECRETS = ("acc3ss", "r3fresh", "s3cret", "c0de")
MAIL = ["gmail_list", "gmail_send"]


class Person:
    """Somebody with a browser: opens what is said, and allows it (or not)."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.pages: list[str] = []
        self._threads: list[threading.Thread] = []

    def __call__(self, said: str) -> None:
        self.said.append(said)
        self._threads.append(
            threading.Thread(target=self._open, args=(said.rsplit(maxsplit=1)[-1],))
        )
        self._threads[-1].start()

    @property
    def query(self) -> dict[str, str]:
        asked = parse_qs(urlsplit(self.said[0].split()[-1]).query)
        return {name: value for name, (value,) in asked.items()}

    def _open(self, url: str) -> None:
        with requests.Session() as browser:
            self.pages.append(browser.get(url, timeout=120).text)

    def leave(self) -> None:
        for thread in self._threads:
            thread.join()


@pytest.fixture
def server(google_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    # Without it the library asks nothing of an address that is not https.
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    google_server.reset(
        {
            "gmail.users.getProfile": lambda asked: {"emailAddress": "ada@example.org"},
            "drive.about.get": lambda asked: {"user": {"emailAddress": "ada@drive.example"}},
            "calendar.calendarList.get": lambda asked: {"id": "ada@calendar.example"},
            "tasks.tasklists.list": lambda asked: {"items": []},
        }
    )
    return google_server


@pytest.fixture
def client(server: Server, tmp_path: Path) -> Path:
    installed = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "auth_uri": f"{server.base}/auth",
        "token_uri": f"{server.base}/token",
        "redirect_uris": ["http://localhost"],
    }
    file = tmp_path / "client.json"
    file.write_text(json.dumps({"installed": installed}))
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "google.json"


@pytest.fixture
def person() -> Any:
    person = Person()
    yield person
    person.leave()


@pytest.fixture
def token(server: Server, file: Path) -> Token:
    """A sign-in that was kept, for all of mail and of tasks."""
    token = Token(
        token="acc3ss-token-0",
        refresh_token="r3fresh-token-0",
        token_uri=f"{server.base}/token",
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        scopes=list(scopes_for([*MAIL, "tasks_create"])),
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    write_token(file, token)
    return token


def refusal(action: Any, *given: Any, **more: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        action(*given, **more)
    for secret in SECRETS:
        assert secret not in caught.value.message
    return caught.value


def tasks(server: Server, file: Path) -> Service:
    return Service("tasks", "v1", load(file), base=server.base, sleep=lambda _: None)


def listing(api: Any) -> Any:
    return api.tasklists().list()


def test_a_person_signs_in(server: Server, client: Path, file: Path, person: Person) -> None:
    address = connect(client, file, MAIL, open_browser=False, say=person, base=server.base)
    assert address == "ada@example.org"
    assert person.said[0].startswith("Open this address in a browser on this machine")
    person.leave()
    assert person.pages == ["callblocks is connected. You may close this window."]
    assert set(person.query["scope"].split()) == set(scopes_for(MAIL))
    assert (person.query["access_type"], person.query["prompt"]) == ("offline", "consent")
    assert person.query["redirect_uri"].startswith("http://127.0.0.1:")
    kept = read_token(file)
    assert kept.scopes == list(scopes_for(MAIL))
    assert kept.refresh_token == "r3fresh-token-1"


def test_the_code_is_of_use_to_this_program_only(
    server: Server, client: Path, file: Path, person: Person
) -> None:
    connect(client, file, MAIL, open_browser=False, say=person, base=server.base)
    authorised, exchanged = server.sign_in.asked
    assert authorised["code_challenge_method"] == "S256"
    assert "code_verifier" not in authorised
    assert 43 <= len(exchanged["code_verifier"]) <= 128
    assert authorised["state"]


def test_what_is_kept_is_for_the_owner_only(
    server: Server, client: Path, file: Path, person: Person
) -> None:
    before = os.umask(0)
    try:
        connect(client, file, MAIL, open_browser=False, say=person, base=server.base)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("opens", [True, False])
def test_a_browser_is_opened_if_there_is_one(
    server: Server,
    client: Path,
    file: Path,
    person: Person,
    monkeypatch: pytest.MonkeyPatch,
    opens: bool,
) -> None:
    opened: list[str] = []

    def open_one(url: str) -> bool:
        opened.append(url)
        return opens

    monkeypatch.setattr("webbrowser.open", open_one)
    connect(client, file, MAIL, open_browser=True, say=person, base=server.base)
    assert opened == [person.said[0].split()[-1]]
    assert person.said[0].startswith("Sign in in the browser" if opens else "Open this address")


@pytest.mark.parametrize(
    ("names", "address"),
    [
        (["drive_list", "calendar_list"], "ada@drive.example"),
        (["calendar_list", "tasks_list"], "ada@calendar.example"),
        (["tasks_list"], ""),
    ],
)
def test_the_address_is_asked_where_that_is_allowed(
    server: Server, client: Path, file: Path, person: Person, names: list[str], address: str
) -> None:
    given = connect(client, file, names, open_browser=False, say=person, base=server.base)
    assert given == address


def test_a_person_may_allow_less(server: Server, client: Path, file: Path, person: Person) -> None:
    server.sign_in.leaves_out = frozenset(scopes_for(["gmail_list"]))
    names = ["gmail_list", "tasks_list"]
    assert connect(client, file, names, open_browser=False, say=person, base=server.base) == ""
    load(file, ["tasks_list"])
    assert "without the right to gmail_list" in refusal(load, file, names).message


def test_a_person_may_say_no(server: Server, client: Path, file: Path, person: Person) -> None:
    server.sign_in.denies = "access_denied"
    error = refusal(connect, client, file, MAIL, open_browser=False, say=person)
    assert error.code == "sign_in_needed"
    assert "access_denied" in error.message
    assert not file.exists()


def test_a_person_may_not_come(client: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_PATIENCE", 0.05)
    error = refusal(connect, client, file, MAIL, open_browser=False, say=lambda _: None)
    assert error.code == "sign_in_needed"
    assert "nobody signed in" in error.message


@pytest.mark.parametrize("way", ["?code=c0de-9&state=wrong", "?state=x", "favicon.ico", ""])
def test_a_visitor_who_is_not_google_gets_nothing(
    server: Server, client: Path, file: Path, person: Person, way: str
) -> None:
    def say(said: str) -> None:
        (redirect,) = parse_qs(urlsplit(said.rsplit(maxsplit=1)[-1]).query)["redirect_uri"]
        person(f"x {redirect}{way}")

    error = refusal(connect, client, file, MAIL, open_browser=False, say=say)
    assert error.code == "sign_in_needed"
    assert not file.exists()
    assert server.sign_in.access == {"acc3ss-token-0": None}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({}, "did not let callblocks in"),
        ({"access_token": "acc3ss"}, "no token"),
        ({"access_token": "acc3ss", "expires_in": 9}, "no lasting sign-in"),
    ],
)
def test_an_answer_that_lacks_something_is_no_sign_in(
    server: Server,
    client: Path,
    file: Path,
    person: Person,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, Any],
    why: str,
) -> None:
    monkeypatch.setattr(server.sign_in, "token", lambda form: {"token_type": "Bearer", **answer})
    error = refusal(connect, client, file, MAIL, open_browser=False, say=person)
    assert (error.code, why in error.message) == ("sign_in_needed", True)
    assert not file.exists()


def test_a_sign_in_service_that_is_away_is_told_so(
    server: Server, client: Path, file: Path, person: Person
) -> None:
    client.write_text(
        client.read_text().replace(f"{server.base}/token", "http://127.0.0.1:1/token")
    )
    error = refusal(connect, client, file, MAIL, open_browser=False, say=person)
    assert error.code == "network_error"


@pytest.mark.parametrize(
    "content",
    [None, "", "{}", '{"web": {"client_id": "s3cret"}}', '{"installed": {"client_id": "s3cret"}}'],
)
def test_a_file_of_no_desktop_client_is_refused(
    tmp_path: Path, file: Path, content: str | None
) -> None:
    given = tmp_path / "given.json"
    if content is not None:
        given.write_text(content)
    with pytest.raises(CallerError, match='of the type "Desktop app"') as caught:
        connect(given, file, MAIL, open_browser=False, say=lambda _: None)
    assert str(given) in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_without_a_sign_in_the_person_is_asked_for_one(file: Path) -> None:
    for given in (file, None):
        error = refusal(load, given, MAIL)
        assert error.code == "sign_in_needed"
        assert error.message == (
            "no account is connected; the person must run "
            "`callblocks workspace connect CLIENT_FILE`"
        )


@pytest.mark.parametrize("content", [b"", b"{}", b'{"token": 7}', b"\xff", b"[]"])
def test_a_damaged_sign_in_is_none(file: Path, token: Token, content: bytes) -> None:
    file.write_bytes(content)
    error = refusal(load, file)
    assert (error.code, error.message.startswith(f"{file} holds no")) == ("sign_in_needed", True)
    file.unlink()
    file.mkdir(mode=0o700)
    assert refusal(load, file).code == "sign_in_needed"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_sign_in_that_others_can_read_is_not_used(file: Path, token: Token, mode: int) -> None:
    file.chmod(mode)
    error = refusal(load, file)
    assert error.code == "sign_in_needed"
    assert f"chmod 600 {file}" in error.message
    file.chmod(0o400)
    load(file)


def test_a_sign_in_shows_no_secret(file: Path, token: Token) -> None:
    for shown in (repr(token), str(token), repr(load(file))):
        for secret in (token.token, token.refresh_token, token.client_secret):
            assert secret not in shown


def test_a_sign_in_that_lacks_a_right_is_told_so(file: Path, token: Token) -> None:
    load(file, [*MAIL, "tasks_list", "tasks_delete"])
    error = refusal(load, file, ["tasks_list", "drive_list", "docs_read"])
    assert "without the right to drive_list, docs_read;" in error.message


def test_a_new_token_is_kept(server: Server, file: Path, token: Token) -> None:
    past = datetime.now(UTC) - timedelta(hours=1)
    write_token(file, msgspec.structs.replace(token, expiry=past))
    service = tasks(server, file)
    service.call(listing)
    service.close()
    kept = read_token(file)
    assert kept.token == "acc3ss-token-1"
    assert kept.expiry > datetime.now(UTC) + timedelta(minutes=50)
    assert (kept.refresh_token, kept.scopes) == (token.refresh_token, token.scopes)
    assert file.stat().st_mode & 0o777 == 0o600
    service = tasks(server, file)
    service.call(listing)
    service.close()
    assert len(server.sign_in.asked) == 1


@pytest.mark.parametrize("change", ["removed", "other", "damaged"])
def test_a_new_token_does_not_bring_back_a_sign_in_that_ended(
    server: Server, file: Path, token: Token, change: str
) -> None:
    service = tasks(server, file)
    if change == "removed":
        file.unlink()
    elif change == "other":
        write_token(file, msgspec.structs.replace(token, refresh_token="other"))
    else:
        file.write_bytes(b"?")
    before = file.read_bytes() if file.exists() else None
    server.sign_in.access.clear()
    assert service.call(listing) == {"items": []}
    service.close()
    assert (file.read_bytes() if file.exists() else None) == before


def test_a_token_that_cannot_be_kept_still_works(
    server: Server, file: Path, token: Token, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    service = tasks(server, file)
    server.sign_in.access.clear()
    monkeypatch.setattr("os.replace", full)
    assert service.call(listing) == {"items": []}
    service.close()
    assert os.listdir(file.parent) == [file.name]
    assert read_token(file) == token


def test_a_sign_in_that_was_taken_back_needs_the_person(
    server: Server, file: Path, token: Token
) -> None:
    service = tasks(server, file)
    server.sign_in.revoke(token.refresh_token)
    error = refusal(service.call, listing)
    service.close()
    assert error.code == "sign_in_needed"
    assert "callblocks workspace connect CLIENT_FILE" in error.message


def test_a_right_that_google_took_back_needs_the_person(
    server: Server, file: Path, token: Token
) -> None:
    service = tasks(server, file)
    server.allow(scopes_for(MAIL))
    assert refusal(service.call, listing).code == "sign_in_needed"
    service.close()


def test_to_forget_ends_the_sign_in_and_removes_it(
    server: Server, file: Path, token: Token
) -> None:
    assert forget(file) is True
    assert not file.exists()
    assert server.sign_in.asked == [{"revoked": "r3fresh-token-0"}]
    assert forget(file) is False


@pytest.mark.parametrize("content", [b"?", b""])
def test_a_damaged_sign_in_is_forgotten_too(file: Path, token: Token, content: bytes) -> None:
    file.write_bytes(content)
    assert forget(file) is True
    assert not file.exists()


def test_a_sign_in_that_google_does_not_know_is_forgotten(
    server: Server, file: Path, token: Token
) -> None:
    server.sign_in.refresh.clear()
    server.sign_in.access.clear()
    assert forget(file) is True


@pytest.mark.parametrize("fault", ["away", "failing"])
def test_to_forget_works_here_when_google_cannot_be_told(
    server: Server, file: Path, token: Token, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    def failing(token: str) -> None:
        raise Refused(503, "unavailable")

    monkeypatch.setattr(server.sign_in, "revoke", failing)
    if fault == "away":
        away = msgspec.structs.replace(token, token_uri="http://127.0.0.1:1/token")
        write_token(file, away)
    error = refusal(forget, file)
    assert error.code == "network_error"
    assert "https://myaccount.google.com/connections" in error.message
    assert not file.exists()
