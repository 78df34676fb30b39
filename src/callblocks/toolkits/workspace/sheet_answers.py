"""Answers about spreadsheets, as a model needs them.

An unknown sheet is answered with the existing ones; formulas that were not computed are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.a1 import quote_sheet, read_range
from callblocks.toolkits.workspace.backend import Json, Office
from callblocks.toolkits.workspace.meant import meant_file
from callblocks.toolkits.workspace.told_change import whole
from callblocks.tools.context import Context, running_context

__all__ = (
    "as_typed",
    "asked",
    "book_of",
    "other_sheets",
    "place_text",
    "require_names",
    "shown_book",
    "shown_updates",
    "tell_uncomputed",
    "titles_of",
)

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
