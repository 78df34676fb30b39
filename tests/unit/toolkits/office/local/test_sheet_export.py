"""Spreadsheets as files for other programs."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Office
from callblocks.toolkits.office.local.sheet_file import CSV, XLSX, export_sheet
from support.google.calling import Calling

ROWS = [
    ["name", "share", "paid", "sum"],
    ['Ann, "A"\nB', "12%", True, "=B2*2"],
    [],
    ["@cmd", "$1,234.50", 7],
]


@pytest.fixture
def office(local_office: Office) -> Office:
    return local_office


@pytest.fixture
def file(tmp_path: Path, call: Calling) -> Path:
    # Names that differ here may not in Excel.
    names = ["First", "a/b:c", "a_b_c", "x" * 40]
    book = call("sheets_create", title="Plan", sheets=names, values=ROWS)["spreadsheetId"]
    raw = {"spreadsheetId": book, "values": [["=1+1", "a\x01b", "#N/A"]]}
    call("sheets_write", range="a_b_c!A1", valueInputOption="RAW", **raw)
    return tmp_path / "office" / "drive" / "Plan.sheet"


def test_a_csv_has_the_first_sheet_as_a_person_sees_it(file: Path) -> None:
    read = list(csv.reader(io.StringIO(export_sheet(file, CSV).decode(), newline="")))
    assert read == [
        ["name", "share", "paid", "sum"],
        ['Ann, "A"\nB', "12%", "TRUE", "=B2*2"],
        ["", "", "", ""],
        ["@cmd", "$1,234.50", "7", ""],
    ]


def test_a_workbook_has_all_sheets_with_types_and_patterns(file: Path) -> None:
    book = load_workbook(io.BytesIO(export_sheet(file, XLSX)))
    assert book.sheetnames == ["First", "a_b_c", "a_b_c (2)", "x" * 31]
    first: Any = book["First"]
    assert [[cell.value for cell in row] for row in first.iter_rows()] == [
        ["name", "share", "paid", "sum"],
        ['Ann, "A"\nB', 0.12, True, "=B2*2"],
        [None] * 4,
        ["@cmd", 1234.5, 7, None],
    ]
    assert (first["B2"].number_format, first["B4"].number_format) == ("0%", "$#,##0.00")
    assert first["D2"].data_type == "f"
    raw: Any = book["a_b_c (2)"]
    assert [cell.value for cell in raw[1]] == ["=1+1", "a\ufffdb", "#N/A"]
    assert [cell.data_type for cell in raw[1]] == ["s", "s", "s"]


def test_an_empty_spreadsheet_is_exported(tmp_path: Path, call: Calling) -> None:
    call("sheets_create", title="Plan")
    file = tmp_path / "office" / "drive" / "Plan.sheet"
    assert export_sheet(file, CSV) == b""
    assert load_workbook(io.BytesIO(export_sheet(file, XLSX))).sheetnames == ["Sheet1"]


def test_other_types_are_refused(file: Path) -> None:
    with pytest.raises(ToolError, match="choose from: text/csv") as caught:
        export_sheet(file, "application/pdf")
    assert caught.value.code == "invalid_input"


def test_what_excel_cannot_hold_is_refused_by_name(tmp_path: Path, call: Calling) -> None:
    call("sheets_create", title="Plan", values=[["x", "y" * 40_000]])
    file = tmp_path / "office" / "drive" / "Plan.sheet"
    with pytest.raises(ToolError, match="the cell B1 of 'Sheet1'") as caught:
        export_sheet(file, XLSX)
    assert caught.value.code == "invalid_input"


def test_without_openpyxl_the_way_out_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "callblocks.toolkits.office.local.sheet_excel", raising=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ToolError, match="ask for text/csv"):
        export_sheet(file, XLSX)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.sheet"
    file.write_bytes(b"no database, but long enough")
    with pytest.raises(ToolError, match=r"x\.sheet") as caught:
        export_sheet(file, CSV)
    assert caught.value.code == "workspace_damaged"
