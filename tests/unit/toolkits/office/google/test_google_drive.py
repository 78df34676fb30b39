"""What the drive and docs tools ask of Google, and how its faults come out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callblocks.guard.files.root import Root
from callblocks.toolkits.office.google.google_office import GoogleOffice
from support.google.calling import Calling
from support.google.server import Server

DOCUMENT = "application/vnd.google-apps.document"


@pytest.fixture
def call(google_server: Server, tmp_path: Path) -> Iterator[Calling]:
    office = GoogleOffice(google_server.credentials(), google_server.base, sleep=lambda _: None)
    with Root(tmp_path) as root:
        yield Calling(office, root, google_server)
    office.close()


def test_a_file_is_uploaded_with_its_type_in_one_request(
    call: Calling, google_server: Server
) -> None:
    call("drive_create", name="a.csv", content="a,b\n\n--x--\n")
    assert google_server.seen == ["drive.files.create"]
    asked = google_server.asked[0]
    assert (asked.media, asked.media_type) == (b"a,b\n\n--x--\n", "text/csv")
    assert asked.body == {"name": "a.csv", "mimeType": "text/csv", "parents": ["root"]}


def test_a_document_is_uploaded_as_markdown_for_google_to_convert(
    call: Calling, google_server: Server
) -> None:
    made = call("drive_create", name="Plan", content="# x", mimeType=DOCUMENT)
    assert google_server.asked[-1].media_type == "text/markdown"
    assert google_server.asked[-1].body["mimeType"] == DOCUMENT
    call("drive_update", fileId=made["id"], content="y")
    assert google_server.asked[-1].media_type == "text/markdown"


def test_a_list_asks_for_the_fields_it_shows_and_for_shared_drives(
    call: Calling, google_server: Server
) -> None:
    call("drive_list", maxResults=7)
    query = google_server.asked[0].query
    assert query["q"] == "'root' in parents and trashed = false"
    assert (query["pageSize"], query["orderBy"]) == (7, "folder,name")
    assert query["supportsAllDrives"] is query["includeItemsFromAllDrives"] is True
    assert "md5Checksum" in query["fields"]


def test_a_query_is_sent_in_googles_spelling(call: Calling, google_server: Server) -> None:
    call("drive_search", query='name = "it\'s" AND (starred OR modifiedTime > 2024-05-01)')
    assert google_server.asked[0].query["q"] == (
        r"name = 'it\'s' and (starred = true or modifiedTime > '2024-05-01T00:00:00.000Z')"
        " and trashed = false"
    )


def test_a_move_adds_the_new_folder_and_leaves_the_old(
    call: Calling, google_server: Server
) -> None:
    folder = call("drive_create", name="f", mimeType="application/vnd.google-apps.folder")
    made = call("drive_create", name="a", content="x")
    call("drive_update", fileId=made["id"], folderId=folder["id"])
    query = google_server.asked[-1].query
    assert query["addParents"] == folder["id"]
    assert query["removeParents"] == made["parents"][0]


def test_a_failed_creation_is_not_sent_again_where_it_may_have_happened(
    call: Calling, google_server: Server
) -> None:
    google_server.plan(500, "backendError", method="drive.files.create")
    assert call.failure("drive_create", name="a", content="x") == "service_unavailable"
    assert google_server.seen == ["drive.files.create"]
    google_server.plan(429, "rateLimitExceeded", method="drive.files.create")
    assert call("drive_create", name="a", content="x")["name"] == "a"


def test_an_update_is_sent_again(call: Calling, google_server: Server) -> None:
    made = call("drive_create", name="a", content="x")
    google_server.plan(503, "backendError", times=2, method="drive.files.update")
    assert call("drive_delete", fileId=made["id"])["trashed"] is True


def test_a_document_whose_text_was_refused_is_named(call: Calling, google_server: Server) -> None:
    google_server.plan(400, "badRequest", method="docs.documents.batchUpdate")
    error = call.error("docs_create", title="Plan", text="x")
    assert error.code == "invalid_input"
    made = next(iter(google_server.state.documents))
    assert made in error.message
    assert error.details["documentId"] == made


def test_an_export_that_google_does_not_know_is_refused(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="x")
    one = {"fileId": made["documentId"]}
    assert call.failure("drive_read", **one, mimeType="audio/mpeg") == "invalid_input"
    read = call("drive_read", **one, mimeType="application/pdf")
    assert read["content"] == "[9 bytes of application/pdf, kept as kept/Plan.pdf]"


def test_a_file_without_bytes_that_cannot_be_exported_is_said(
    call: Calling, google_server: Server
) -> None:
    made = call("drive_create", name="a", content="x")
    google_server.state.files[made["id"]]["mimeType"] = "application/vnd.google-apps.form"
    assert call.failure("drive_read", fileId=made["id"]) == "invalid_input"


def test_a_file_that_is_too_large_is_not_fetched(call: Calling, google_server: Server) -> None:
    made = call("drive_create", name="a", content="x")
    google_server.state.more["contents"][made["id"]] = bytes(26 * 1024 * 1024)
    assert call.failure("drive_read", fileId=made["id"]) == "file_too_large"
    assert google_server.seen == ["drive.files.create", "drive.files.get"]
