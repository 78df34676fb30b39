"""Google Sheets.

A sheet at Google has a grid of fixed size. Writing beyond it fails, so the grid is enlarged first;
reading or clearing beyond it gives empty cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import read_range
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.google.service import Service

__all__ = ("GoogleSheets",)

# Google's message for a range outside of the grid; there is no code for it.
_OUTSIDE = "exceeds grid limits"
_KNOWN = "spreadsheetId,spreadsheetUrl,properties,sheets(properties)"


class GoogleSheets:
    """The spreadsheets of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def spreadsheet(self, spreadsheet_id: str) -> Json:
        """Return its title and its sheets, without cells."""
        return self._service.call(
            lambda api: api.spreadsheets().get(spreadsheetId=spreadsheet_id, fields=_KNOWN)
        )

    def values(self, spreadsheet_id: str, range: str, *, render: str, major: str) -> Json:
        """Return the cells of a range as a ValueRange; dates are text."""
        empty: Json = {"range": range, "majorDimension": major}
        return _within_grid(
            empty,
            lambda: self._service.call(
                lambda api: (
                    api.spreadsheets()
                    .values()
                    .get(
                        spreadsheetId=spreadsheet_id,
                        range=range,
                        majorDimension=major,
                        valueRenderOption=render,
                        dateTimeRenderOption="FORMATTED_STRING",
                    )
                )
            ),
        )

    def write(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Write cells; enlarge the grid if they lie outside. An UpdateValuesResponse."""
        try:
            return self._update(spreadsheet_id, range, values, entered)
        except ToolError as error:
            if _OUTSIDE not in error.message:
                raise
        self._enlarge(spreadsheet_id, range, values)
        return self._update(spreadsheet_id, range, values, entered)

    def append(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], *, entered: str
    ) -> Json:
        """Add rows below the table in that range; rows below it move down."""
        return self._service.call(
            lambda api: (
                api.spreadsheets()
                .values()
                .append(
                    spreadsheetId=spreadsheet_id,
                    range=range,
                    valueInputOption=entered,
                    insertDataOption="INSERT_ROWS",
                    body={"values": values},
                )
            )
        )

    def create(self, title: str, sheets: Sequence[str]) -> Json:
        """Make a spreadsheet with these sheets."""
        body: Json = {"properties": {"title": title}}
        if sheets:
            body["sheets"] = [{"properties": {"title": name}} for name in sheets]
        return self._service.call(lambda api: api.spreadsheets().create(body=body, fields=_KNOWN))

    def clear(self, spreadsheet_id: str, range: str) -> Json:
        """Empty the cells of a range. A ClearValuesResponse."""
        nothing: Json = {"spreadsheetId": spreadsheet_id, "clearedRange": range}
        return _within_grid(
            nothing,
            lambda: self._service.call(
                lambda api: (
                    api.spreadsheets()
                    .values()
                    .clear(spreadsheetId=spreadsheet_id, range=range, body={})
                ),
                repeatable=True,
            ),
        )

    def _update(
        self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]], entered: str
    ) -> Json:
        return self._service.call(
            lambda api: (
                api.spreadsheets()
                .values()
                .update(
                    spreadsheetId=spreadsheet_id,
                    range=range,
                    valueInputOption=entered,
                    body={"values": values},
                )
            )
        )

    def _enlarge(self, spreadsheet_id: str, range: str, values: Sequence[Sequence[Any]]) -> None:
        """Enlarge the grid of a sheet for values from the start of a range on."""
        wanted = read_range(range)
        properties = _sheet(self.spreadsheet(spreadsheet_id), wanted.sheet)
        grid = properties["gridProperties"]
        top, left = wanted.start
        larger = {
            "rowCount": max(grid["rowCount"], top + len(values) - 1, wanted.bottom or 1),
            "columnCount": max(
                grid["columnCount"], left + max(map(len, values)) - 1, wanted.right or 1
            ),
        }
        change = {
            "properties": {"sheetId": properties["sheetId"], "gridProperties": larger},
            "fields": "gridProperties(rowCount,columnCount)",
        }
        body = {"requests": [{"updateSheetProperties": change}]}
        self._service.call(
            lambda api: api.spreadsheets().batchUpdate(spreadsheetId=spreadsheet_id, body=body),
            repeatable=True,
        )


def _within_grid(outside: Json, ask: Callable[[], Json]) -> Json:
    try:
        return ask()
    except ToolError as error:
        if _OUTSIDE not in error.message:
            raise
        return outside


def _sheet(book: Json, title: str) -> Json:
    """Return the properties of the sheet of that name; "" is the first."""
    sheets: list[Json] = [sheet["properties"] for sheet in book["sheets"]]
    named = (one for one in sheets if one["title"].casefold() == title.casefold())
    return next(named, sheets[0])
