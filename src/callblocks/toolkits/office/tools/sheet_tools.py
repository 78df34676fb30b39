"""The tools for spreadsheets: read, write, append, create and clear.

    sheets_read     spreadsheetId, range             numbers as numbers, dates as text
    sheets_write    spreadsheetId, range, values     old and new cells are shown before approval
    sheets_append   spreadsheetId, range, values     below the table; nothing is overwritten
    sheets_create   title
    sheets_clear    spreadsheetId, range

Values are read unformatted unless a call says otherwise: a model can compute with 0.12 and
1234.5, not with "12%" and "$1,234.50". Dates are text all the same, as nobody reads 45678.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.backend import SPREADSHEET, Json, Office
from callblocks.toolkits.office.tools.cells import (
    CellValue,
    changes_text,
    contents_text,
    print_box,
    quote_sheet,
    read_range,
    require_cells,
    written_box,
)
from callblocks.toolkits.office.tools.drive_view import whole
from callblocks.toolkits.office.tools.id_suggestions import (
    meant_file,
    must_be_there,
    new_path,
    reaching,
    require_readable,
)
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool, running_context

__all__ = (
    "as_typed",
    "asked",
    "book_of",
    "other_sheets",
    "place_text",
    "require_names",
    "sheets_tools",
    "shown_book",
    "shown_updates",
    "tell_uncomputed",
    "titles_of",
)

# --- Answers about spreadsheets, as a model needs them ---
#
# An unknown sheet is answered with the existing ones; formulas that were not computed are reported.

_NAME_LENGTH = 100
_UPDATES = ("spreadsheetId", "updatedRange", "updatedRows", "updatedColumns", "updatedCells")


def asked(office: Office, spreadsheet_id: str, range: str, ask: Callable[[], Json]) -> Json:
    """Return the answer of an office; for an unknown sheet, name the existing ones."""
    sheet = read_range(range).sheet
    # Every answer contains sheet names, and so do failures.
    if context := running_context():
        context.taint("cells of a spreadsheet")
    try:
        with meant_file(office, spreadsheet_id):
            return ask()
    except ToolError as error:
        if error.code != "invalid_input" or not sheet or "spreadsheetId" in error.details:
            raise
        titles = titles_of(office.sheets.spreadsheet(spreadsheet_id))
        if sheet.casefold() in (title.casefold() for title in titles):
            raise
        why = f"there is no sheet {brief(sheet)}; there are: {', '.join(map(quote_sheet, titles))}"
        raise ToolError("invalid_input", why, range=why) from error


def book_of(office: Office, spreadsheet_id: str) -> Json:
    """Return a spreadsheet with its sheets, without cells."""
    with meant_file(office, spreadsheet_id):
        return office.sheets.spreadsheet(spreadsheet_id)


def as_typed(office: Office, spreadsheet_id: str, range: str, render: str = "FORMULA") -> Json:
    """Return cells as typed or as shown, for a preview."""
    found = asked(
        office,
        spreadsheet_id,
        range,
        lambda: office.sheets.values(spreadsheet_id, range, render=render, major="ROWS"),
    )
    return {"values": [], **found}


def place_text(office: Office, spreadsheet_id: str, range: str) -> str:
    """Describe a range and its spreadsheet."""
    title = whole(book_of(office, spreadsheet_id)["properties"]["title"])
    return f"in the spreadsheet {title}, {range}"


def tell_uncomputed(context: Context, answer: Json) -> None:
    """Remove the count of formulas from an answer and add a notice instead."""
    count = answer.pop("uncomputed", 0)
    if count:
        context.notice(
            "formulas_not_computed",
            "formulas are kept and shown as they were typed; nothing computes them here",
            formulas=count,
        )


def require_names(sheets: Sequence[str]) -> None:
    """Raise `invalid_input` for names that the sheets of one spreadsheet cannot have."""
    seen: set[str] = set()
    for name in sheets:
        known = name.casefold() in seen
        seen.add(name.casefold())
        if known or not name.strip() or len(name) > _NAME_LENGTH or not name.isprintable():
            why = (
                f"{brief(name)} cannot name a sheet: names are different, of one line, and have "
                f"1 to {_NAME_LENGTH} characters"
            )
            raise ToolError("invalid_input", why, sheets=why)


def titles_of(book: Json) -> list[str]:
    """Return the names of the sheets of a spreadsheet."""
    return [sheet["properties"]["title"] for sheet in book["sheets"]]


def other_sheets(book: Json) -> Json:
    """Return all sheets, if a call that named none might overlook one."""
    return {"sheets": shown_book(book)["sheets"]} if len(book.get("sheets", ())) > 1 else {}


def shown_book(book: Json) -> Json:
    """Return a spreadsheet with its title and the names and sizes of its sheets."""
    shown = ("sheetId", "title", "index", "gridProperties")
    sheets = [{key: sheet["properties"].get(key) for key in shown} for sheet in book["sheets"]]
    links = {"spreadsheetUrl": book["spreadsheetUrl"]} if "spreadsheetUrl" in book else {}
    return {
        "spreadsheetId": book["spreadsheetId"],
        "properties": {"title": book["properties"]["title"]},
        "sheets": [{"properties": sheet} for sheet in sheets],
        **links,
    }


def shown_updates(answer: Json) -> Json:
    """Return the written range and counts."""
    return {key: answer[key] for key in _UPDATES if key in answer}


# --- The tools for spreadsheets: read, write, append, create and clear ---

_Values = list[list[CellValue]]
_Entered = Literal["USER_ENTERED", "RAW"]
_Render = Literal["UNFORMATTED_VALUE", "FORMATTED_VALUE", "FORMULA"]
_Major = Literal["ROWS", "COLUMNS"]
_Title = Annotated[str, Field(min_length=1, max_length=200)]
_Id = Annotated[str, Field(min_length=1)]


def sheets_tools(office: Office) -> tuple[Tool, ...]:
    """Return the tools for the spreadsheets of an office."""
    return (_read(office), _write(office), _append(office), _create(office), _clear(office))


def _read(office: Office) -> Tool:
    @tool(
        read_only=True,
        kind="source",
        reaches=reaching(office, "spreadsheetId"),
        precheck=must_be_there(office, "spreadsheetId"),
        origin="builtin",
    )
    def sheets_read(
        spreadsheetId: _Id,
        context: Context,
        range: str = "",
        valueRenderOption: _Render = "UNFORMATTED_VALUE",
        majorDimension: _Major = "ROWS",
        full: bool = False,
    ) -> Json:
        """Read cells of a spreadsheet; empty rows and cells at the end are left out.

        Args:
            spreadsheetId: the id, as drive_list or sheets_create gave it
            range: such as Sheet1!A1:C3, A:C, 2:5, or a sheet's name; all of the first sheet if ""
            valueRenderOption: plain values, texts as a person sees them, or formulas
            majorDimension: whether values is a list of rows or of columns
            full: also the title and all sheets with their sizes
        """
        require_readable(office, context, spreadsheetId)
        book = {} if range and not full else book_of(office, spreadsheetId)
        wanted = range or quote_sheet(titles_of(book)[0])
        found = asked(
            office,
            spreadsheetId,
            wanted,
            lambda: office.sheets.values(
                spreadsheetId, wanted, render=valueRenderOption, major=majorDimension
            ),
        )
        context.taint("cells of a spreadsheet")
        tell_uncomputed(context, found)
        shown = book if full else other_sheets(book)
        return {**shown, "spreadsheetId": spreadsheetId, "values": [], **found}

    return sheets_read


def _write(office: Office) -> Tool:
    def preview(
        spreadsheetId: str, range: str, values: _Values, valueInputOption: str = "USER_ENTERED"
    ) -> str:
        place = read_range(range)
        require_cells(values, place.start)
        box = written_box(place, values)
        at = print_box(place.sheet, box)
        old = as_typed(office, spreadsheetId, at)
        looks = as_typed(office, spreadsheetId, at, "FORMATTED_VALUE")
        changes = changes_text(box, old["values"], looks["values"], values, valueInputOption)
        return f"{place_text(office, spreadsheetId, old['range'])}\n{changes}"

    @tool(
        destructive=True,
        idempotent=True,
        body="values",
        preview=preview,
        reaches=reaching(office, "spreadsheetId"),
        origin="builtin",
    )
    def sheets_write(
        spreadsheetId: _Id,
        range: _Id,
        values: _Values,
        context: Context,
        valueInputOption: _Entered = "USER_ENTERED",
    ) -> Json:
        """Write cells of a spreadsheet; what was in them is replaced.

        Args:
            spreadsheetId: the id, as drive_list or sheets_create gave it
            range: where to write; the first cell is enough, such as Sheet1!A1
            values: rows of cells, [["Name", 3], ["=A1", true]]; null leaves a cell, "" empties it
            valueInputOption: as if typed (numbers, dates, =formulas), or RAW for text as it is
        """
        place = read_range(range)
        require_cells(values, place.start)
        written_box(place, values)
        done = asked(
            office,
            spreadsheetId,
            range,
            lambda: office.sheets.write(spreadsheetId, range, values, entered=valueInputOption),
        )
        tell_uncomputed(context, done)
        return shown_updates(done)

    return sheets_write


def _append(office: Office) -> Tool:
    @tool(
        destructive=False,
        body="values",
        precheck=must_be_there(office, "spreadsheetId"),
        reaches=reaching(office, "spreadsheetId"),
        origin="builtin",
    )
    def sheets_append(
        spreadsheetId: _Id,
        range: _Id,
        values: _Values,
        context: Context,
        valueInputOption: _Entered = "USER_ENTERED",
    ) -> Json:
        """Add rows below a table of a spreadsheet; nothing is overwritten.

        Args:
            spreadsheetId: the id, as drive_list or sheets_create gave it
            range: a sheet's name, or cells of the table, such as Sheet1!A1
            values: the rows to add, [["Ann", 3], ["Bob", 4]]
            valueInputOption: as if typed (numbers, dates, =formulas), or RAW for text as it is
        """
        read_range(range)
        require_cells(values, None)
        done = asked(
            office,
            spreadsheetId,
            range,
            lambda: office.sheets.append(spreadsheetId, range, values, entered=valueInputOption),
        )
        updates: Json = done.get("updates", {})
        tell_uncomputed(context, updates)
        shown: Json = {"tableRange": done["tableRange"]} if done.get("tableRange") else {}
        return {"spreadsheetId": spreadsheetId, **shown, "updates": shown_updates(updates)}

    return sheets_append


def _create(office: Office) -> Tool:
    @tool(
        destructive=False,
        body="values",
        reaches=lambda given: new_path(office, "root", given["title"], SPREADSHEET),
        origin="builtin",
    )
    def sheets_create(
        title: _Title,
        context: Context,
        sheets: list[str] = [],  # noqa: B006 the schema shows it, and nothing changes it
        values: _Values = [],  # noqa: B006 the schema shows it, and nothing changes it
        full: bool = False,
    ) -> Json:
        """Make a spreadsheet, empty or with first rows.

        Args:
            title: its name
            sheets: the names of its sheets; one, Sheet1, if none is given
            values: rows of cells for the first sheet, from A1 on, as if typed
            full: all that is known of it
        """
        require_names(sheets)
        if values:
            require_cells(values, (1, 1))
            written_box(read_range("A1"), values)
        book = office.sheets.create(title, sheets)
        if values:
            at = f"{quote_sheet(titles_of(book)[0])}!A1"
            done = office.sheets.write(book["spreadsheetId"], at, values, entered="USER_ENTERED")
            tell_uncomputed(context, done)
        return book if full else shown_book(book)

    return sheets_create


def _clear(office: Office) -> Tool:
    def preview(spreadsheetId: str, range: str) -> str:
        read_range(range)
        old = as_typed(office, spreadsheetId, range)
        top, left = read_range(old["range"]).start
        held = contents_text((top, left), old["values"])
        return f"{place_text(office, spreadsheetId, old['range'])} is emptied\n{held}"

    @tool(
        destructive=True,
        idempotent=True,
        preview=preview,
        reaches=reaching(office, "spreadsheetId"),
        origin="builtin",
    )
    def sheets_clear(spreadsheetId: _Id, range: _Id) -> Json:
        """Empty cells of a spreadsheet; how they look stays.

        Args:
            spreadsheetId: the id, as drive_list or sheets_create gave it
            range: the cells, such as Sheet1!A2:C, or a sheet's name for all of it
        """
        read_range(range)
        return asked(
            office, spreadsheetId, range, lambda: office.sheets.clear(spreadsheetId, range)
        )

    return sheets_clear
