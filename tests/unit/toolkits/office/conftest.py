"""One set of expectations, two offices: a folder, and Google Workspace played on loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.local_office import LocalOffice
from support.google.calling import Calling, drop_mail
from support.google.server import Server
from support.google.state import State


@pytest.fixture(scope="session")
def google_session() -> Iterator[Server]:
    """One server for all tests of a process."""
    with Server() as server:
        yield server


@pytest.fixture
def google_server(google_session: Server) -> Iterator[Server]:
    """The server, empty; a fault of a fake fails the test."""
    google_session.reset()
    yield google_session
    assert google_session.complaints == []


@pytest.fixture
def google_state(google_server: Server) -> State:
    """What the played account holds."""
    return google_server.state


@pytest.fixture
def google_office(google_server: Server) -> Iterator[Office]:
    """The office on the played Google Workspace."""
    from callblocks.toolkits.office.google.google_office import GoogleOffice

    office = GoogleOffice(google_server.credentials(), google_server.base, sleep=lambda _: None)
    yield office
    office.close()


@pytest.fixture
def local_office(tmp_path: Path) -> Office:
    """The office in a folder that is not there yet."""
    return LocalOffice(tmp_path / "office")


@pytest.fixture(params=["local", "google"])
def office(request: pytest.FixtureRequest) -> Office:
    """Both offices, one after the other."""
    return request.getfixturevalue(f"{request.param}_office")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    """The workspace: the local office is in it, and what is attached to a mail."""
    with Root(tmp_path) as root:
        yield root


@pytest.fixture
def call(office: Office, root: Root, request: pytest.FixtureRequest) -> Calling:
    """Run a tool by name on the office: `call("gmail_list", maxResults=3)`."""
    if isinstance(office, LocalOffice):
        return Calling(office, root)
    return Calling(office, root, request.getfixturevalue("google_server"))


@pytest.fixture
def failure(call: Calling) -> Callable[..., str]:
    """The code that a call fails with; it must fail."""
    return call.failure


@pytest.fixture
def receive(office: Office, request: pytest.FixtureRequest) -> Callable[[bytes], None]:
    """Let a mail arrive, as whole bytes with headers."""
    if isinstance(office, LocalOffice):
        return lambda raw: drop_mail(office.folder / "mail", raw)
    state: State = request.getfixturevalue("google_state")

    def arrive(raw: bytes) -> None:
        from support.google import gmail

        gmail.receive(state, raw)

    return arrive
