"""An office is chosen by its name, and opened when a part of it is asked for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callblocks.core import extras
from callblocks.core.errors import CallerError, ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.open_office import LateOffice, has_office, open_office
from callblocks.toolkits.standard import standard_tools
from callblocks.tools.tool import Context

PARTS = ("mail", "drive", "calendars", "documents", "sheets", "tasks")


def test_the_local_office_is_in_the_workspace_and_looking_makes_nothing(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        office = open_office(root, "local")
        assert not has_office(root)
        assert office.tasks.lists(limit=5, page="").items == []
        assert list(tmp_path.iterdir()) == []
        office.tasks.create("@default", {"title": "Order fenders"}, parent="", previous="")
        assert (tmp_path / "office" / "tasks.sqlite").exists()
        assert has_office(root)


def test_the_index_of_a_search_is_no_office(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("The tide is low.")
    with Root(tmp_path) as root:
        standard_tools(root)["search"](query="tide", context=Context())
        assert (tmp_path / "office" / ".index").is_dir()
        assert not has_office(root)
        (tmp_path / "office" / "drive").mkdir()
        assert has_office(root)


def test_an_office_is_opened_once_by_many_threads() -> None:
    opened: list[object] = []
    together = threading.Barrier(8)

    class Parts:
        mail = drive = calendars = documents = sheets = tasks = "a part"

    def make() -> Office:
        time.sleep(0.01)
        opened.append(Parts())
        return opened[-1]  # pyright: ignore[reportReturnType] it need not work

    office = LateOffice(make)

    def ask(_: int) -> object:
        together.wait()
        return office.mail

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(8)))
    assert len(opened) == 1


def test_an_office_is_opened_once_and_not_before_a_part_is_asked_for() -> None:
    opened: list[int] = []

    class Parts:
        mail = drive = calendars = documents = sheets = tasks = "a part"

    def make() -> Office:
        opened.append(1)
        return Parts()  # pyright: ignore[reportReturnType] it need not work

    office = LateOffice(make)
    assert opened == []
    assert [getattr(office, part) for part in PARTS] == ["a part"] * 6
    assert opened == [1]


def test_an_office_of_no_known_name_is_refused(tmp_path: Path) -> None:
    with Root(tmp_path) as root, pytest.raises(CallerError, match="one of local, google"):
        open_office(root, "goggle")


def test_google_without_its_packages_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "fault_of", lambda extra: "needs more")
    with Root(tmp_path) as root, pytest.raises(CallerError, match="pip install 'callblocks"):
        open_office(root, "google")


def test_google_without_an_account_fails_at_the_first_call_and_not_before(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        office = open_office(root, "google", tmp_path / "token.json")
        with pytest.raises(ToolError) as caught:
            _ = office.mail
    assert caught.value.code == "sign_in_needed"
