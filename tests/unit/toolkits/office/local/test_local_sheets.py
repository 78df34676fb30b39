"""Spreadsheets of the local office: their files, what is wrong with them, and many writers."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json, Office
from callblocks.toolkits.office.local.sheets import SUFFIX, LocalSheets
from support.google.calling import Calling


@pytest.fixture
def office(local_office: Office) -> Office:
    return local_office


@pytest.fixture
def here(call: Calling) -> Calling:
    return call


@pytest.fixture
def book(here: Calling) -> str:
    return here("sheets_create", title="Plan", values=[["a", 1], ["b", "12%"]])["spreadsheetId"]


@pytest.fixture
def file(tmp_path: Path, book: str) -> Path:
    return tmp_path / "office" / "drive" / "Plan.sheet"


class _OneFile:
    """A drive of one spreadsheet, for tests that make many."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"one{SUFFIX}"

    def place(self, file_id: str, mime_prefixes: Any) -> Path:
        return self.path

    def adopt(self, name: str, suffix: str, mime: str, write: Callable[[Path], None]) -> Json:
        write(self.path)
        return {"id": "one", "name": name}

    def touch(self, file_id: str) -> None: ...

    def file(self, file_id: str) -> Json:
        return {"id": file_id, "name": "one"}


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> LocalSheets:
    made = LocalSheets(_OneFile(tmp_path_factory.mktemp("sheets")))
    made.create("one", ["Sheet1"])
    return made


CELLS = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
    | st.sampled_from(["=", "=A1", "'", "'x", "a\r\nb\n", "👩‍👩‍👧", "TRUE", "5%", " "])
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_raw_cell_is_read_as_it_was_written(sheets: LocalSheets, rows: list[list[Any]]) -> None:
    sheets.clear("one", "Sheet1")
    sheets.write("one", "B2", rows, entered="RAW")
    read = sheets.values("one", "B2:F6", render="UNFORMATTED_VALUE", major="ROWS")["values"]
    assert read == rows
    assert [[isinstance(cell, bool) for cell in row] for row in read] == [
        [isinstance(cell, bool) for cell in row] for row in rows
    ]


def test_the_file_is_readable_with_sqlite_and_by_its_owner_only(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("select title from sheets").fetchall() == [("Sheet1",)]
        assert connection.execute(
            "select row, col, value, kind, pattern from cells"
        ).fetchall() == [
            (1, 1, "a", "text", ""),
            (1, 2, 1, "number", ""),
            (2, 1, "b", "text", ""),
            (2, 2, 0.12, "number", "0%"),
        ]
    assert file.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in file.parent.iterdir()] == ["Plan.sheet"]


def test_cells_put_there_by_hand_are_read(here: Calling, book: str, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("insert into cells values (1, 3, 30, 'far', 'text', '')")
        connection.execute("insert into cells values (1, 3, 1, x'616263', 'text', '')")
        connection.commit()
    read = here("sheets_read", spreadsheetId=book)["values"]
    assert read[2] == ["abc", *[""] * 28, "far"]


def test_formulas_are_told_to_be_not_computed(here: Calling, book: str) -> None:
    given = {"spreadsheetId": book, "range": "C1", "values": [["=B1*2", "x"]]}
    done = here("sheets_write", **given)
    assert "uncomputed" not in done
    assert [one.code for one in here.context.notices] == ["formulas_not_computed"]
    read = here("sheets_read", spreadsheetId=book, range="C1:D1")
    assert read["values"] == [["=B1*2", "x"]]
    assert "uncomputed" not in read
    (notice,) = here.context.notices
    assert (notice.code, notice.details) == ("formulas_not_computed", {"formulas": 1})
    here("sheets_read", spreadsheetId=book, range="C1:D1", valueRenderOption="FORMULA")
    assert not here.context.notices
    here("sheets_append", spreadsheetId=book, range="A1", values=[["=1"]])
    assert here.context.notices
    here("sheets_create", title="f", values=[["=1"]])
    assert here.context.notices


def test_rows_do_not_move_where_formulas_would_break(here: Calling, book: str) -> None:
    here("sheets_write", spreadsheetId=book, range="A9", values=[["=B1"]])
    given = {"spreadsheetId": book, "range": "A1", "values": [["c"]]}
    assert here.failure("sheets_append", **given) == "conflict"
    assert here("sheets_read", spreadsheetId=book, range="A3:A9")["values"][-1] == ["=B1"]
    below = {"spreadsheetId": book, "range": "Sheet1", "values": [["c"]]}
    assert here("sheets_append", **below)["updates"]["updatedRange"] == "Sheet1!A10"


@pytest.mark.parametrize(
    "content",
    [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4096],
    ids=["empty", "text", "torn"],
)
def test_a_damaged_file_is_named_and_others_are_unharmed(
    here: Calling, book: str, file: Path, content: bytes
) -> None:
    other = here("sheets_create", title="Other", values=[[1]])["spreadsheetId"]
    file.write_bytes(content)
    for name, more in [
        ("sheets_read", {}),
        ("sheets_write", {"range": "A1", "values": [[1]]}),
        ("sheets_append", {"range": "A1", "values": [[1]]}),
        ("sheets_clear", {"range": "A1"}),
    ]:
        error = here.error(name, spreadsheetId=book, **more)
        assert error.code == "workspace_damaged"
        assert "Plan.sheet" in error.message
    assert file.read_bytes() == content
    assert here("sheets_read", spreadsheetId=other)["values"] == [[1]]


@pytest.mark.parametrize(
    "harm",
    [
        "create trigger t after insert on cells begin delete from cells; end",
        "create view v as select 1",
        "delete from sheets",
        "drop table cells",
        "alter table cells rename column value to worth",
        "update cells set value = cast(x'ff' as text) where col = 1",
    ],
)
def test_a_file_with_other_tables_is_damaged(
    here: Calling, book: str, file: Path, harm: str
) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(harm)
        connection.commit()
    assert here.failure("sheets_read", spreadsheetId=book, range="A1:B2") == "workspace_damaged"


def test_a_file_that_was_made_by_hand_is_read_as_far_as_it_makes_sense(
    here: Calling, book: str, file: Path
) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "drop table cells; create table cells (sheet, row, col, value, kind, pattern);"
            "insert into cells values (1, 1, 1, 9e999, 'number', ''), (1, 1, 2, null, null, null),"
            "(1, 1, 3, 0.5, 'number', '%'), (1, 1.5, 4, 7, 'other', 5), (1, 'x', 1, 1, '', ''),"
            "(1, 2, 1, 1, 'boolean', ''), (1, -3, 1, 'above', 'text', '');"
            "drop table sheets; create table sheets (id, title, position, rows, columns);"
            "insert into sheets values (1, 5, null, 'many', null)"
        )
    options = {"valueRenderOption": "FORMATTED_VALUE", "range": "A1:D2"}
    read = here("sheets_read", spreadsheetId=book, **options)
    assert read["values"] == [["#NUM!", "#NUM!", "50%", "7"], ["TRUE"]]


def test_cells_far_apart_do_not_fill_the_memory(here: Calling, book: str, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executemany(
            "insert into cells values (1, ?, 18278, 1, 'number', '')",
            [(row,) for row in range(1, 601)],
        )
        connection.commit()
    assert here.failure("sheets_read", spreadsheetId=book) == "invalid_input"
    assert here("sheets_read", spreadsheetId=book, range="A1:B2")["values"][0] == ["a", 1]


def test_a_file_that_another_program_holds_is_busy(
    here: Calling, book: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callblocks.toolkits.office.local.database._WAIT", 0.01)
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("begin exclusive")
        given = {"spreadsheetId": book, "range": "A1", "values": [[1]]}
        assert here.failure("sheets_append", **given) == "busy"
        holder.execute("rollback")
    here("sheets_append", **given)


_APPENDING = """
import sys
from pathlib import Path
from callblocks.toolkits.office.local.local_office import LocalOffice
sheets = LocalOffice(Path(sys.argv[1])).sheets
for number in range(15):
    sheets.append(sys.argv[2], "Sheet1", [[f"{sys.argv[3]}{number}", number]], entered="RAW")
"""


def test_two_processes_that_append_at_once_lose_nothing(
    tmp_path: Path, here: Calling, book: str
) -> None:
    office = str(tmp_path / "office")
    writers = [
        subprocess.Popen([sys.executable, "-c", _APPENDING, office, book, name], env=os.environ)
        for name in "xy"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    names = [row[0] for row in here("sheets_read", spreadsheetId=book)["values"]]
    assert names[:2] == ["a", "b"]
    assert sorted(names[2:]) == sorted(f"{name}{number}" for name in "xy" for number in range(15))
    # Each one's rows stand in the order in which it wrote them.
    assert [name for name in names if name[0] == "x"] == [f"x{number}" for number in range(15)]


def test_a_call_that_fails_half_way_changes_nothing(sheets: LocalSheets) -> None:
    sheets.clear("one", "Sheet1")
    sheets.write("one", "A1", [["kept"]], entered="RAW")
    with pytest.raises(ToolError):
        sheets.append("one", "A1", [["x"] * 20_000], entered="RAW")
    read = sheets.values("one", "Sheet1", render="UNFORMATTED_VALUE", major="ROWS")
    assert read["values"] == [["kept"]]
