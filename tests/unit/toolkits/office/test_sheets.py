"""Spreadsheets, the same on both offices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from callblocks.toolkits.office.backend import SPREADSHEET, Office
from callblocks.toolkits.office.tools.sheet_tools import sheets_tools
from support.google.calling import Calling

Rows = list[list[Any]]

ROWS: Rows = [["Name", "Count"], ["Ann", 3], ["Bob", 4]]


@pytest.fixture
def book(call: Calling) -> str:
    """A spreadsheet with two sheets; the first has a table at A1."""
    made = call("sheets_create", title="Budget", sheets=["Sheet1", "My sheet"], values=ROWS)
    return made["spreadsheetId"]


@pytest.fixture
def read(call: Calling, book: str) -> Callable[..., Rows]:
    """The values of a range."""
    return lambda range="Sheet1", **more: call(
        "sheets_read", spreadsheetId=book, range=range, **more
    )["values"]


@pytest.fixture
def write(call: Calling, book: str) -> Callable[..., Any]:
    """Write values to a range."""
    return lambda range, values, **more: call(
        "sheets_write", spreadsheetId=book, range=range, values=values, **more
    )


def test_a_new_spreadsheet_has_its_title_and_one_sheet(call: Calling) -> None:
    made = call("sheets_create", title="Plan")
    assert made["properties"] == {"title": "Plan"}
    (sheet,) = made["sheets"]
    grid = {"rowCount": 1000, "columnCount": 26}
    assert sheet["properties"]["title"] == "Sheet1"
    assert sheet["properties"]["gridProperties"] == grid
    read = call("sheets_read", spreadsheetId=made["spreadsheetId"])
    assert read == {
        "spreadsheetId": made["spreadsheetId"],
        "range": "Sheet1!A1:Z1000",
        "majorDimension": "ROWS",
        "values": [],
    }


def test_reading_without_a_range_gives_the_first_sheet_and_names_the_others(
    call: Calling, book: str
) -> None:
    read = call("sheets_read", spreadsheetId=book)
    assert read["values"] == ROWS
    assert [one["properties"]["title"] for one in read["sheets"]] == ["Sheet1", "My sheet"]


def test_full_tells_of_the_spreadsheet_too(call: Calling, book: str) -> None:
    read = call("sheets_read", spreadsheetId=book, range="A1", full=True)
    assert read["values"] == [["Name"]]
    assert read["properties"]["title"] == "Budget"
    assert read["sheets"][1]["properties"]["sheetType"] == "GRID"


RANGES: list[tuple[str, str, Rows]] = [
    ("Sheet1!A1:B2", "Sheet1!A1:B2", ROWS[:2]),
    ("b3", "Sheet1!B3", [[4]]),
    ("A:A", "Sheet1!A1:A1000", [["Name"], ["Ann"], ["Bob"]]),
    ("2:3", "Sheet1!A2:Z3", ROWS[1:]),
    ("A2:B", "Sheet1!A2:B1000", ROWS[1:]),
    ("A2:3", "Sheet1!A2:Z3", ROWS[1:]),
    ("B3:A2", "Sheet1!A2:B3", ROWS[1:]),
    ("$A$1:$B$1", "Sheet1!A1:B1", ROWS[:1]),
    ("sheet1", "Sheet1!A1:Z1000", ROWS),
    ("'My sheet'!A1:B2", "'My sheet'!A1:B2", []),
    ("A1:B5000", "Sheet1!A1:B1000", ROWS),
]


def test_ranges_mean_what_they_mean_in_google_sheets(call: Calling, book: str) -> None:
    for range, shown, values in RANGES:
        read = call("sheets_read", spreadsheetId=book, range=range)
        assert (range, read["range"], read["values"]) == (range, shown, values)


def test_cells_beyond_the_grid_are_empty(read: Callable[..., Rows]) -> None:
    assert read("AZ2000:BA2001") == []


def test_columns_come_as_lists_where_that_is_asked(read: Callable[..., Rows]) -> None:
    assert read("A1:B3", majorDimension="COLUMNS") == [["Name", "Ann", "Bob"], ["Count", 3, 4]]


def test_what_is_empty_at_the_end_is_left_out_and_between_it_is_not(
    read: Callable[..., Rows], write: Callable[..., Any]
) -> None:
    write("'My sheet'!B2", [["x", "", "y", ""], [], ["", "z"], [""]])
    assert read("'My sheet'!A1:F9") == [[], ["", "x", "", "y"], [], ["", "", "z"]]
    assert read("'My sheet'!A1:F9", majorDimension="COLUMNS") == [
        [],
        ["", "x"],
        ["", "", "", "z"],
        ["", "y"],
    ]


def test_writing_tells_what_was_updated(write: Callable[..., Any], book: str) -> None:
    assert write("B2", [[5, "new"], [6]]) == {
        "spreadsheetId": book,
        "updatedRange": "Sheet1!B2:C3",
        "updatedRows": 2,
        "updatedColumns": 2,
        "updatedCells": 3,
    }


def test_null_leaves_a_cell_and_an_empty_text_empties_it(
    read: Callable[..., Rows], write: Callable[..., Any]
) -> None:
    write("A2", [[None, 5], ["", None]])
    assert read() == [["Name", "Count"], ["Ann", 5], ["", 4]]


ENTERED: list[tuple[Any, Any, str]] = [
    ("12", 12, "12"),
    (" -3.5 ", -3.5, "-3.5"),
    ("1,234.5", 1234.5, "1,234.50"),
    ("12%", 0.12, "12%"),
    ("7.1%", 0.071, "7.10%"),
    ("$1,234.50", 1234.5, "$1,234.50"),
    ("-€5", -5, "-€5"),
    ("1e3", 1000, "1000"),
    ("true", True, "TRUE"),
    ("'007", "007", "007"),
    ("2030-01-31", "2030-01-31", "2030-01-31"),
    ("12345678901234567890", "12345678901234567890", "12345678901234567890"),
    ("1.2.3", "1.2.3", "1.2.3"),
    ("% ", "% ", "% "),
    (2.0, 2, "2"),
    (0.1, 0.1, "0.1"),
    (False, False, "FALSE"),
]


def test_values_are_taken_as_if_typed(read: Callable[..., Rows], write: Callable[..., Any]) -> None:
    write("D1", [[entered] for entered, _, _ in ENTERED])
    values = [value for (value,) in read("D1:D")]
    assert values == [plain for _, plain, _ in ENTERED]
    assert [type(value) for value in values] == [type(plain) for _, plain, _ in ENTERED]
    shown = read("D1:D", valueRenderOption="FORMATTED_VALUE")
    assert shown == [[text] for _, _, text in ENTERED]


def test_raw_text_stays_as_it_is(read: Callable[..., Rows], write: Callable[..., Any]) -> None:
    texts = ["=1+2", "12%", "TRUE", "'x", " 5 ", "a\r\nb", "🧮\t", "=", "\x01", "'"]
    write("D1", [texts], valueInputOption="RAW")
    assert read("D1:Z1") == [texts]


def test_a_formula_is_given_back_as_typed(
    read: Callable[..., Rows], write: Callable[..., Any]
) -> None:
    write("D1", [["=1+2"]])
    assert read("D1", valueRenderOption="FORMULA") == [["=1+2"]]


def test_the_grid_grows_with_what_is_written(
    read: Callable[..., Rows], write: Callable[..., Any]
) -> None:
    assert write("AB1500", [[1], [2]])["updatedRange"] == "Sheet1!AB1500:AB1501"
    assert read("AB1499:AB1502") == [[], [1], [2]]


def test_rows_are_appended_below_the_table(
    call: Calling, book: str, read: Callable[..., Rows]
) -> None:
    added = [["Cyd", 5], ["Dan"]]
    done = call("sheets_append", spreadsheetId=book, range="Sheet1", values=added)
    assert done["tableRange"] == "Sheet1!A1:B3"
    assert done["updates"]["updatedRange"] == "Sheet1!A4:B5"
    assert done["updates"]["updatedCells"] == 3
    assert read() == [*ROWS, *added]


@pytest.mark.parametrize(
    ("range", "at"),
    [
        # As Google's guide has it, for the tables A1:C2 and B4:D6.
        ("Tables", "Tables!B7"),
        ("Tables!B4", "Tables!B7"),
        ("Tables!C5:D5", "Tables!B7"),
        ("Tables!B2:D4", "Tables!B7"),
        ("Tables!A3:G10", "Tables!B7"),
        ("Tables!A1", "Tables!A3"),
        ("Tables!E4", "Tables!E4"),
    ],
)
def test_the_last_table_that_a_range_touches_is_appended_to(
    call: Calling, range: str, at: str
) -> None:
    first, second = [["x"] * 3] * 2, [["y"] * 3] * 3
    book = call("sheets_create", title="Tables", sheets=["Tables"], values=first)["spreadsheetId"]
    call("sheets_write", spreadsheetId=book, range="Tables!B4", values=second)
    done = call("sheets_append", spreadsheetId=book, range=range, values=[["new"]])
    assert done["updates"]["updatedRange"] == at
    held = [cell for row in call("sheets_read", spreadsheetId=book)["values"] for cell in row]
    assert (held.count("x"), held.count("y"), held.count("new")) == (6, 9, 1)


def test_rows_appended_to_an_empty_sheet_start_at_its_first_cell(call: Calling, book: str) -> None:
    done = call("sheets_append", spreadsheetId=book, range="'My sheet'", values=[[1]])
    assert "tableRange" not in done
    assert done["updates"]["updatedRange"] == "'My sheet'!A1"


def test_what_lies_below_a_table_moves_down_when_rows_are_appended(
    call: Calling, book: str, read: Callable[..., Rows], write: Callable[..., Any]
) -> None:
    write("A5", [["below"]])
    call("sheets_append", spreadsheetId=book, range="A1", values=[["c", 1], ["d", 2], ["e", 3]])
    assert read() == [*ROWS, ["c", 1], ["d", 2], ["e", 3], [], ["below"]]


def test_clearing_empties_a_range(call: Calling, book: str, read: Callable[..., Rows]) -> None:
    cleared = call("sheets_clear", spreadsheetId=book, range="A2:B")
    assert cleared == {"spreadsheetId": book, "clearedRange": "Sheet1!A2:B1000"}
    assert read() == ROWS[:1]
    assert call("sheets_clear", spreadsheetId=book, range="ZZ5000")["spreadsheetId"] == book


def test_what_is_no_range_is_invalid_input(call: Calling, book: str) -> None:
    for range in ("A0", "!A1", "'x", "Sheet1!", "Sheet1!x", "A:2", "A10000001", "A1:B2:C3", ":"):
        for name in ("sheets_read", "sheets_clear"):
            error = call.error(name, spreadsheetId=book, range=range)
            assert error.code == "invalid_input"
            assert "range" in error.details


def test_an_unknown_sheet_is_answered_with_those_there_are(call: Calling, book: str) -> None:
    for range in ("Nope", "'No such'!A:B", "AAAA1"):
        for name, more in [
            ("sheets_read", {}),
            ("sheets_write", {"values": [[1]]}),
            ("sheets_append", {"values": [[1]]}),
            ("sheets_clear", {}),
        ]:
            error = call.error(name, spreadsheetId=book, range=range, **more)
            assert error.code == "invalid_input"
            assert "Sheet1, 'My sheet'" in error.message


REFUSED: list[tuple[str, Any]] = [
    ("A1:B2", [[1], [2], [3]]),
    ("A1:B2", [[1, 2, 3]]),
    ("A:B", [[1, 2, 3]]),
    ("1:1", [[1], [2]]),
    ("ZZZ1", [[1, 2]]),
    ("A9999999", [[1]]),
    ("A1", []),
    ("A1", [[], []]),
    ("A1", [["x" * 50_001]]),
    ("A1", [["a\0b"]]),
    ("A1", [[2**53 + 1]]),
    ("A1", [[10**400]]),
    ("A1", [[{"a": 1}]]),
    ("A1", ["flat"]),
    ("A1", [[float("nan")]]),
    ("", [[1]]),
]


def test_what_a_sheet_cannot_hold_is_invalid_input_and_changes_nothing(
    failure: Callable[..., str], book: str, read: Callable[..., Rows]
) -> None:
    for range, values in REFUSED:
        given = {"spreadsheetId": book, "range": range, "values": values}
        assert failure("sheets_write", **given) == "invalid_input"
    assert read() == ROWS


def test_a_cell_that_cannot_be_is_named(call: Calling, book: str) -> None:
    error = call.error("sheets_write", spreadsheetId=book, range="C4", values=[[1], [2, "\0"]])
    assert "D5, values[1][1]" in error.message
    error = call.error("sheets_append", spreadsheetId=book, range="C4", values=[[1], [2, "\0"]])
    assert "values[1][1]" in error.message


def test_names_of_sheets_are_checked(failure: Callable[..., str]) -> None:
    for sheets in (["a", "A"], [""], ["  "], ["x" * 101], ["a\nb"]):
        assert failure("sheets_create", title="x", sheets=sheets) == "invalid_input"


def test_sheets_may_have_odd_names(call: Calling) -> None:
    names = ["Q1", "It's", "a!b", "5", "Größe 📏"]
    book = call("sheets_create", title="Odd", sheets=names)["spreadsheetId"]
    for name in names:
        quoted = "'" + name.replace("'", "''") + "'"
        given = {"spreadsheetId": book, "range": f"{quoted}!A1", "values": [[f"in {name}"]]}
        done = call("sheets_write", **given)
        assert call("sheets_read", spreadsheetId=book, range=quoted)["values"] == [[f"in {name}"]]
        assert done["updatedRange"] == f"{quoted}!A1"


def test_an_unknown_id_is_not_found(failure: Callable[..., str]) -> None:
    given: list[tuple[str, dict[str, Any]]] = [
        ("sheets_read", {}),
        ("sheets_read", {"range": "A1"}),
        ("sheets_write", {"range": "Sheet1!A1", "values": [[1]]}),
        ("sheets_append", {"range": "Sheet1", "values": [[1]]}),
        ("sheets_clear", {"range": "A1"}),
    ]
    for name, more in given:
        assert failure(name, spreadsheetId="1nope", **more) == "not_found"


def test_a_file_of_another_type_is_no_spreadsheet(call: Calling) -> None:
    file = call("drive_create", name="a.txt", content="text", mimeType="text/plain")
    for range in ("", "A1", "Sheet1!A1"):
        error = call.error("sheets_read", spreadsheetId=file["id"], range=range)
        assert error.code == "invalid_input"


def test_a_spreadsheet_is_a_file_of_the_drive(call: Calling, book: str) -> None:
    (file,) = [one for one in call("drive_list")["files"] if one["id"] == book]
    assert (file["name"], file["mimeType"]) == ("Budget", SPREADSHEET)
    assert "Ann,3" in str(call("drive_read", fileId=book))


def test_the_preview_of_a_write_shows_the_cells_that_change(
    call: Calling, book: str, read: Callable[..., Rows]
) -> None:
    shown = call.preview(
        "sheets_write",
        spreadsheetId=book,
        range="Sheet1!A2",
        values=[["Ann", "5", None], ["", 4, True]],
    )
    assert shown.splitlines() == [
        "in the spreadsheet 'Budget', Sheet1!A2:C3",
        "B2: 3 → 5",
        "A3: 'Bob' → (empty)",
        "C3: (empty) → True",
    ]
    assert read() == ROWS
    unchanged = call.preview("sheets_write", spreadsheetId=book, range="A1", values=ROWS)
    assert unchanged.endswith("\nno cell changes")


def test_a_preview_shows_many_cells_and_counts_the_rest(call: Calling, book: str) -> None:
    many = [[number] for number in range(405)]
    shown = call.preview("sheets_write", spreadsheetId=book, range="F1", values=many)
    assert len(shown.splitlines()) == 402
    assert shown.endswith("… and 5 more")


def test_the_preview_of_clearing_shows_what_is_lost(call: Calling, book: str) -> None:
    shown = call.preview("sheets_clear", spreadsheetId=book, range="B2:C")
    assert shown.splitlines() == [
        "in the spreadsheet 'Budget', Sheet1!B2:C1000 is emptied",
        "B2: 3",
        "B3: 4",
    ]
    assert "empty already" in call.preview("sheets_clear", spreadsheetId=book, range="H1:H2")


def test_the_preview_of_what_would_fail_says_so(call: Calling) -> None:
    given: list[tuple[str, dict[str, Any]]] = [
        ("sheets_write", {"range": "A1", "values": [[1]]}),
        ("sheets_write", {"range": "A0", "values": [[1]]}),
        ("sheets_write", {"range": "A1", "values": [[]]}),
        ("sheets_clear", {"range": "A1"}),
    ]
    for name, more in given:
        refused = call.refused(name, spreadsheetId="1nope", **more)
        assert refused.startswith(("not_found: ", "invalid_input: "))


def test_reading_taints_and_writing_does_not(call: Calling, book: str) -> None:
    call("sheets_read", spreadsheetId=book)
    assert call.context.taints
    call("sheets_append", spreadsheetId=book, range="A1", values=[[1]])
    assert not call.context.taints


def test_a_policy_knows_which_tools_overwrite(office: Office) -> None:
    traits = {tool.name: tool.traits for tool in sheets_tools(office)}
    assert [name for name, one in traits.items() if one.read_only] == ["sheets_read"]
    assert [name for name, one in traits.items() if one.destructive] == [
        "sheets_write",
        "sheets_clear",
    ]
    previews = [tool.name for tool in sheets_tools(office) if tool.preview]
    assert previews == ["sheets_write", "sheets_clear"]
