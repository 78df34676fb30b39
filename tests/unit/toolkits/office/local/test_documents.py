"""Documents of the local office are Markdown files that any program reads and writes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callblocks.core.errors import ToolError
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.drive.drive import LocalDocuments, LocalDrive
from callblocks.toolkits.office.tools.docs_tools import text_of
from support.google.checking import value_faults
from support.google.discovery import find_route


@pytest.fixture
def drive(tmp_path: Path) -> LocalDrive:
    return LocalDrive(tmp_path)


@pytest.fixture
def documents(drive: LocalDrive) -> LocalDocuments:
    return LocalDocuments(drive)


def test_a_document_is_a_markdown_file(documents: LocalDocuments, tmp_path: Path) -> None:
    made = documents.create("Plan", "# Plan\n\nsteps")
    path = tmp_path / "drive/Plan.md"
    assert path.read_text() == "# Plan\n\nsteps\n"
    path.write_text("by hand")
    assert text_of(documents.document(made["documentId"])) == "by hand"
    documents.append(made["documentId"], "\nmore")
    assert path.read_text() == "by hand\nmore\n"


def test_a_text_file_of_the_drive_is_read_and_changed(
    documents: LocalDocuments, drive: LocalDrive, tmp_path: Path
) -> None:
    (tmp_path / "drive").mkdir()
    (tmp_path / "drive/notes.txt").write_text("one\r\ntwo\r\n")
    file = drive.files(query="", order="", limit=1, page="").items[0]
    assert text_of(documents.document(file["id"])) == "one\r\ntwo\r"
    assert documents.replace(file["id"], "two", "2", match_case=True) == 1
    assert (tmp_path / "drive/notes.txt").read_bytes() == b"one\r\n2\r\n"


def test_a_document_that_is_no_text_is_damaged(documents: LocalDocuments, tmp_path: Path) -> None:
    made = documents.create("Plan", "x")
    (tmp_path / "drive/Plan.md").write_bytes(b"\xff\xfe")
    for change in (
        lambda: documents.document(made["documentId"]),
        lambda: documents.append(made["documentId"], "x"),
    ):
        with pytest.raises(ToolError) as error:
            change()
        assert error.value.code == "workspace_damaged"
    assert (tmp_path / "drive/Plan.md").read_bytes() == b"\xff\xfe"


def test_writers_at_once_lose_nothing(documents: LocalDocuments) -> None:
    made = documents.create("Plan", "start")
    with ThreadPoolExecutor(4) as pool:
        added = [f"\nline {number}" for number in range(12)]
        list(pool.map(lambda text: documents.append(made["documentId"], text), added))
    lines = text_of(documents.document(made["documentId"])).split("\n")
    assert sorted(lines[1:]) == sorted(text[1:] for text in added)


def test_documents_have_the_shape_of_google(documents: LocalDocuments) -> None:
    route = find_route("GET", "/v1/documents/x")
    assert route is not None
    schemas, schema = route.method.document["schemas"], route.method.schema("response")
    assert schema is not None
    made = documents.create("Plan", "👋\n\nb")
    assert list(value_faults(schemas, schema, made, "document", nulls=False)) == []


def test_tables_and_links_are_read_as_text() -> None:
    def cell(text: str) -> Json:
        run = {"textRun": {"content": f"{text}\n"}}
        return {"content": [{"paragraph": {"elements": [run]}}]}

    link = {"richLink": {"richLinkProperties": {"title": "Budget", "uri": "https://x"}}}
    person = {"person": {"personProperties": {"name": "Ada", "email": "a@x"}}}
    text = {"textRun": {"content": " by "}}
    end = {"textRun": {"content": "\n"}}
    content = [
        {"sectionBreak": {}},
        {"tableOfContents": cell("1 Costs")},
        {"paragraph": {"elements": [link, text, person, {"pageBreak": {}}, end]}},
        {"table": {"tableRows": [{"tableCells": [cell("a"), cell("b")]}]}},
    ]
    assert text_of({"body": {"content": content}}) == "1 Costs\nBudget by Ada\na | b"
    assert text_of({}) == ""
