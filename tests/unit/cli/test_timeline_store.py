from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.cli.options.state_folder import Readable, open_timelines, shown_store
from callblocks.core import extras
from callblocks.core.errors import TimelineError
from callblocks.timeline.log.open_store import server_address
from support.command import run

SECRET = "s3cr3t-w0rd"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"postgres://u:{SECRET}@127.0.0.1:1/db",
        f"postgresql://127.0.0.1:1/db?password={SECRET}",
        f"postgresql://127.0.0.1:1/db?PASSWORD={SECRET}&x=1",
        f"postgresql://u:{SECRET}@[::1/db",
        f"postgresql://u:{SECRET}%@127.0.0.1:1/db",
        f"postgresql://u:{SECRET}/x@127.0.0.1:1/db",
        f"postgresql://u:{SECRET}@127.0.0.1:port/db",
        f"postgresql://u:x%20{SECRET}@127.0.0.1:1/db?sslmode=odd",
        f"postgresql://:{SECRET}@127.0.0.1:1",
        f"postgresql+psycopg://u:{SECRET}@127.0.0.1:1/db",
        f"POSTGRESQL://u:{SECRET}@127.0.0.1:1/db",
        f" postgresql://u:{SECRET}@127.0.0.1:1/db",
        f"postgresql:/u:{SECRET}@127.0.0.1:1/db",
        f"postgresql//u:{SECRET}@127.0.0.1:1/db",
        f"postgresql:u:{SECRET}@127.0.0.1:1/db",
        f"'postgresql://u:{SECRET}@127.0.0.1:1/db'",
        f"mysql://u:{SECRET}@127.0.0.1:1/db",
        f"host=127.0.0.1 port=1 password={SECRET}",
        f"password = {SECRET}",
        f"/x/postgresql://u:{SECRET}@127.0.0.1:1/db",
    ],
)
def test_a_password_is_never_printed(address: str) -> None:
    result = run("timeline", "list", "--store", address)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("callblocks: store_unavailable: ")
    assert SECRET not in line
    assert SECRET not in shown_store(address)


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql:/u:{SECRET}@127.0.0.1/db",
        f"host=127.0.0.1 password={SECRET}",
        f"mysql://u:{SECRET}@127.0.0.1/db",
    ],
)
def test_what_is_nearly_an_address_makes_no_folder_and_is_not_shown(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat.txt").write_text("hello")
    (tmp_path / "trip.jsonl").write_text("")
    for command in (
        ("run", "--timeline", "trip", "--store", address, "chat.txt"),
        ("timeline", "import", "trip.jsonl", "--store", address),
    ):
        result = run(*command)
        assert result.exit_code
        assert SECRET not in result.output + result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.txt", "trip.jsonl"]


@pytest.mark.parametrize(
    "address",
    ["postgresql+psycopg://u@host/db", "POSTGRES://u@host/db", " postgresql://u@host/db\n"],
)
def test_what_is_an_address_in_other_letters_is_one(address: str) -> None:
    assert server_address(address) == "postgresql://u@host/db"


@pytest.mark.parametrize(
    "path", ["a:b@c.sqlite", "user=me/t.sqlite", "C:/t.sqlite", "./postgres:x", "/a/b:/c", "pg.db"]
)
def test_what_looks_like_a_path_is_one(path: str) -> None:
    assert server_address(path) is None


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=3))
def test_no_password_shows_in_the_name_of_a_store(password: str) -> None:
    shown = shown_store(f"postgresql://qq:{password}@zz/jj")
    assert shown == "postgresql://qq:…@zz/jj" or password not in shown


def test_an_address_without_a_password_is_shown() -> None:
    address = "postgresql://user@host:5432/db?sslmode=require"
    assert shown_store(address) == address


def test_a_file_is_shown_as_it_is(tmp_path: Path) -> None:
    assert shown_store("a:b@c.sqlite") == "a:b@c.sqlite"


def test_without_a_driver_the_way_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "fault_of", lambda extra: "needs packages that are not installed")
    result = run("timeline", "list", "--store", "postgresql://host/db")
    assert result.exit_code == 2
    assert result.stderr.endswith("pip install 'callblocks[postgres]'\n")


def test_an_error_of_a_file_keeps_its_words(tmp_path: Path) -> None:
    path = tmp_path / "a:b@c"
    path.mkdir()
    with pytest.raises(TimelineError) as caught, open_timelines(str(path)):
        pass
    assert str(path) in caught.value.message


def test_what_can_be_read_comes_before_what_went_wrong() -> None:
    def torn() -> object:
        yield 1
        raise TimelineError("store_damaged", "torn")

    readable = Readable(torn())  # pyright: ignore[reportArgumentType] a generator
    assert list(readable) == [1]
    with pytest.raises(TimelineError):
        readable.check()
    Readable([1]).check()
