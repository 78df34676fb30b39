"""Google Sheets, played: grids of fixed size, cells as typed; a sum of two numbers is computed."""

from __future__ import annotations

import re
from typing import Any

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.tools.cells import (
    CELLS,
    Box,
    Cell,
    Range,
    enter,
    print_box,
    read_range,
    rendered,
    typed,
)
from support.google.state import Asked, Json, Method, Refused, State

__all__ = ("sheets_methods",)

_SUM = re.compile(r"=(\d+)\+(\d+)")


class _Sheet:
    def __init__(self, sheet_id: int, title: str) -> None:
        self.id, self.title = sheet_id, title
        self.rows, self.columns = 1000, 26
        self.cells: dict[tuple[int, int], Cell] = {}


def sheets_methods(state: State) -> dict[str, Method]:
    """The methods that the tools use."""
    fake = _Fake(state)
    values = "sheets.spreadsheets.values"
    return {
        "sheets.spreadsheets.get": fake.get,
        "sheets.spreadsheets.create": fake.create,
        "sheets.spreadsheets.batchUpdate": fake.batch_update,
        f"{values}.get": fake.values,
        f"{values}.update": fake.update,
        f"{values}.append": fake.append,
        f"{values}.clear": fake.clear,
    }


class _Fake:
    def __init__(self, state: State) -> None:
        self.state = state

    def get(self, asked: Asked) -> Json:
        return self._resource(asked.path["spreadsheetId"])

    def create(self, asked: Asked) -> Json:
        made = self.state.new_id("1S")
        title = asked.body.get("properties", {}).get("title", "Untitled spreadsheet")
        named = [one["properties"]["title"] for one in asked.body.get("sheets", [])]
        sheets = [_Sheet(number, name) for number, name in enumerate(named or ["Sheet1"])]
        self.state.spreadsheets[made] = {"title": title, "sheets": sheets}
        return self._resource(made)

    def batch_update(self, asked: Asked) -> Json:
        for request in asked.body["requests"]:
            change = request["updateSheetProperties"]["properties"]
            book = self._book(asked)
            sheet = next(one for one in book["sheets"] if one.id == change["sheetId"])
            grid = change["gridProperties"]
            more = grid["rowCount"] * grid["columnCount"] - sheet.rows * sheet.columns
            if sum(one.rows * one.columns for one in book["sheets"]) + more > CELLS:
                raise Refused(400, "invalid", f"above the limit of {CELLS} cells")
            sheet.rows, sheet.columns = grid["rowCount"], grid["columnCount"]
        return {"spreadsheetId": asked.path["spreadsheetId"], "replies": [{}]}

    def values(self, asked: Asked) -> Json:
        sheet, _, box = self._place(asked)
        major = asked.query.get("majorDimension", "ROWS")
        render = asked.query.get("valueRenderOption", "FORMATTED_VALUE")
        rows = [
            [_shown(sheet.cells.get((row, column)), render) for column in _columns(box)]
            for row in range(box.top, box.bottom + 1)
        ]
        lines = rows if major == "ROWS" else [list(line) for line in zip(*rows, strict=True)]
        answer = {"range": print_box(sheet.title, box), "majorDimension": major}
        kept = _trimmed([_trimmed(line) for line in lines])
        return answer | {"values": kept} if kept else answer

    def update(self, asked: Asked) -> Json:
        sheet, wanted, box = self._place(asked)
        return self._put(asked, sheet, wanted, box, asked.body.get("values", []))

    def append(self, asked: Asked) -> Json:
        if asked.query.get("insertDataOption") != "INSERT_ROWS":
            raise Refused(400, "invalid", "only INSERT_ROWS is played here: nothing is lost by it")
        sheet, wanted, box = self._place(asked)
        table = _table(sheet, box)
        top, left = (table.bottom + 1, table.left) if table else wanted.start
        values = asked.body["values"]
        count = len(values)
        sheet.cells = {
            (row + count if row >= top else row, column): cell
            for (row, column), cell in sheet.cells.items()
        }
        sheet.rows += count
        sheet.columns = max(sheet.columns, left - 1 + max(map(len, values)))
        place = Range(sheet.title, top, left, top, left)
        box = Box(top, left, top, left)
        answer = {
            "spreadsheetId": asked.path["spreadsheetId"],
            "updates": self._put(asked, sheet, place, box, values),
        }
        return answer | {"tableRange": print_box(sheet.title, table)} if table else answer

    def clear(self, asked: Asked) -> Json:
        sheet, _, box = self._place(asked)
        for row, column in list(sheet.cells):
            if box.top <= row <= box.bottom and box.left <= column <= box.right:
                del sheet.cells[row, column]
        cleared = print_box(sheet.title, box)
        return {"spreadsheetId": asked.path["spreadsheetId"], "clearedRange": cleared}

    def _put(
        self, asked: Asked, sheet: _Sheet, wanted: Range, box: Box, values: list[list[Any]]
    ) -> Json:
        read = enter if asked.query["valueInputOption"] == "USER_ENTERED" else typed
        width = max(map(len, values))
        last = Box(box.top, box.left, box.top + len(values) - 1, box.left + width - 1)
        if last.bottom > sheet.rows or last.right > sheet.columns:
            raise _outside(asked, sheet)
        if not wanted.is_cell and (last.bottom > box.bottom or last.right > box.right):
            raise Refused(400, "invalid", f"Requested writing within range [{wanted}]")
        places = {
            (box.top + number, box.left + at): value
            for number, row in enumerate(values)
            for at, value in enumerate(row)
            if value is not None
        }
        for place, value in places.items():
            sheet.cells.pop(place, None)
            if value != "":
                sheet.cells[place] = read(value)
        return {
            "spreadsheetId": asked.path["spreadsheetId"],
            "updatedRange": print_box(sheet.title, last),
            "updatedRows": len({row for row, _ in places}),
            "updatedColumns": len({column for _, column in places}),
            "updatedCells": len(places),
        }

    def _place(self, asked: Asked) -> tuple[_Sheet, Range, Box]:
        try:
            wanted = read_range(asked.path["range"])
        except ToolError as error:
            raise Refused(400, "invalid", f"Unable to parse range: {error}") from error
        sheets: list[_Sheet] = self._book(asked)["sheets"]
        if wanted.sheet:
            sheets = [one for one in sheets if one.title.lower() == wanted.sheet.lower()]
        if not sheets:
            raise Refused(400, "invalid", f"Unable to parse range: {asked.path['range']}")
        box = wanted.within(sheets[0].rows, sheets[0].columns)
        if box.top > sheets[0].rows or box.left > sheets[0].columns:
            raise _outside(asked, sheets[0])
        return sheets[0], wanted, box

    def _book(self, asked: Asked) -> Json:
        return self._known(asked.path["spreadsheetId"])

    def _known(self, wanted: str) -> Json:
        if wanted in self.state.spreadsheets:
            return self.state.spreadsheets[wanted]
        if wanted in {**self.state.files, **self.state.documents}:
            raise Refused(
                400, "failedPrecondition", "This operation is not supported for this file"
            )
        raise Refused(404, "notFound", "Requested entity was not found.")

    def _resource(self, made: str) -> Json:
        book = self._known(made)
        return {
            "spreadsheetId": made,
            "spreadsheetUrl": f"https://docs.google.com/spreadsheets/d/{made}/edit",
            "properties": {"title": book["title"], "locale": "en_US", "timeZone": "Etc/GMT"},
            "sheets": [
                {
                    "properties": {
                        "sheetId": sheet.id,
                        "title": sheet.title,
                        "index": index,
                        "sheetType": "GRID",
                        "gridProperties": {"rowCount": sheet.rows, "columnCount": sheet.columns},
                    }
                }
                for index, sheet in enumerate(book["sheets"])
            ],
        }


def _outside(asked: Asked, sheet: _Sheet) -> Refused:
    return Refused(
        400,
        "invalid",
        f"Range ({asked.path['range']}) exceeds grid limits. "
        f"Max rows: {sheet.rows}, max columns: {sheet.columns}",
    )


def _table(sheet: _Sheet, box: Box) -> Box | None:
    """The box around the cells that touch each other, from the last one in the range on."""
    inside = [
        (row, column)
        for row, column in sheet.cells
        if box.top <= row <= box.bottom and box.left <= column <= box.right
    ]
    if not inside:
        return None
    row, column = max(inside)
    found = Box(row, column, row, column)
    while True:
        near = [
            place
            for place in sheet.cells
            if found.top - 1 <= place[0] <= found.bottom + 1
            and found.left - 1 <= place[1] <= found.right + 1
        ]
        rows, columns = [row for row, _ in near], [column for _, column in near]
        wider = Box(min(rows), min(columns), max(rows), max(columns))
        if wider == found:
            return found
        found = wider


def _columns(box: Box) -> range:
    return range(box.left, box.right + 1)


def _shown(cell: Cell | None, render: str) -> Any:
    if cell is None:
        return ""
    if cell.kind == "formula" and render != "FORMULA":
        found = _SUM.fullmatch(str(cell.value))
        return int(found[1]) + int(found[2]) if found else "#NAME?"
    return rendered(cell, render)


def _trimmed(line: list[Any]) -> list[Any]:
    """Without what is empty at its end: cells that are "", rows that have none."""
    end = len(line)
    while end and line[end - 1] in ("", []):
        end -= 1
    return line[:end]
