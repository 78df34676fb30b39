"""The drive tools do the same on a local office and on Google."""

from __future__ import annotations

import base64
from collections.abc import Callable

from callblocks.toolkits.office.backend import Office
from callblocks.tools.tool import Context
from support.google.calling import Calling

FOLDER = "application/vnd.google-apps.folder"
DOCUMENT = "application/vnd.google-apps.document"

Failure = Callable[..., str]


def names(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [file["name"] for file in answer["files"]]


def test_an_empty_drive_lists_nothing(call: Calling) -> None:
    assert call("drive_list") == {"files": []}


def test_a_file_is_read_as_it_was_created(call: Calling) -> None:
    made = call("drive_create", name="notes.md", content="# Köln\n\nhello\n")
    read = call("drive_read", fileId=made["id"])
    assert read["text"] == "# Köln\n\nhello\n"
    assert (read["name"], read["mimeType"], read["size"]) == ("notes.md", "text/markdown", "15")


def test_the_type_is_guessed_from_the_name_and_else_plain_text(call: Calling) -> None:
    assert call("drive_create", name="a.csv", content="a,b")["mimeType"] == "text/csv"
    assert call("drive_create", name="a", content="a")["mimeType"] == "text/plain"
    given = call("drive_create", name="a", content="a", mimeType="application/x-mine")
    assert given["mimeType"] == "application/x-mine"


def test_a_trimmed_file_has_few_fields_and_a_full_one_many(call: Calling) -> None:
    made = call("drive_create", name="a.txt", content="a")
    trimmed = {"id", "name", "mimeType", "size", "modifiedTime", "parents"}
    assert set(call("drive_list")["files"][0]) - {"localPath"} == trimmed
    full = call("drive_list", full=True)["files"][0]
    assert trimmed | {"md5Checksum", "createdTime", "webViewLink", "trashed"} <= set(full)
    assert full["id"] == made["id"]
    assert full["md5Checksum"] == "0cc175b9c0f1b6a831c399e269772661"


def test_folders_come_first_and_hold_files(call: Calling) -> None:
    call("drive_create", name="a.txt", content="a")
    folder = call("drive_create", name="z", mimeType=FOLDER)
    call("drive_create", name="inner.txt", content="b", folderId=folder["id"])
    assert names(call("drive_list")) == ["z", "a.txt"]
    assert names(call("drive_list", folderId=folder["id"])) == ["inner.txt"]


def test_pages_follow_each_other_and_the_last_has_no_token(call: Calling) -> None:
    for number in range(5):
        call("drive_create", name=f"{number}.txt", content="x")
    first = call("drive_list", maxResults=2)
    second = call("drive_list", maxResults=2, pageToken=first["nextPageToken"])
    third = call("drive_list", maxResults=2, pageToken=second["nextPageToken"])
    assert [names(one) for one in (first, second, third)] == [
        ["0.txt", "1.txt"],
        ["2.txt", "3.txt"],
        ["4.txt"],
    ]
    assert "nextPageToken" not in third


def test_a_list_has_the_order_that_is_asked_for(call: Calling) -> None:
    for name in ("b", "a", "c"):
        call("drive_create", name=name, content="x")
    assert names(call("drive_list", orderBy="name desc")) == ["c", "b", "a"]
    assert names(call("drive_list", orderBy="createdTime desc"))[0] in {"a", "b", "c"}


def test_two_files_of_a_folder_may_have_one_name(call: Calling) -> None:
    first = call("drive_create", name="a.txt", content="1")
    second = call("drive_create", name="a.txt", content="2")
    assert names(call("drive_list")) == ["a.txt", "a.txt"]
    assert call("drive_read", fileId=first["id"])["text"] == "1"
    assert call("drive_read", fileId=second["id"])["text"] == "2"


def test_any_name_is_kept(call: Calling) -> None:
    given = ["a/b", "..", ".bashrc", "CON:x", "a\tb", "n" * 400, "🛠️ Plan", "x.sheet-journal", "~"]
    for name in given:
        made = call("drive_create", name=name, content=f"in {name}")
        assert made["name"] == name
    listed = call("drive_list")["files"]
    assert sorted(one["name"] for one in listed) == sorted(given)
    for one in listed:
        assert call("drive_read", fileId=one["id"])["text"] == f"in {one['name']}"


def test_content_name_and_folder_are_updated(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    made = call("drive_create", name="a.txt", content="old")
    changed = call(
        "drive_update",
        fileId=made["id"],
        content="new",
        name="b.txt",
        folderId=folder["id"],
        description="d",
    )
    assert (changed["id"], changed["name"], changed["size"]) == (made["id"], "b.txt", "3")
    assert (changed["parents"], changed["description"]) == ([folder["id"]], "d")
    assert call("drive_read", fileId=made["id"])["text"] == "new"
    assert names(call("drive_list")) == ["f"]


def test_a_move_to_the_folder_it_is_in_changes_nothing(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    made = call("drive_create", name="a", content="x", folderId=folder["id"])
    moved = call("drive_update", fileId=made["id"], folderId=folder["id"])
    assert moved["parents"] == [folder["id"]]
    back = call("drive_update", fileId=made["id"], folderId="root")
    assert back["parents"] != [folder["id"]]


def test_a_deleted_file_is_in_the_trash_and_can_be_brought_back(call: Calling) -> None:
    made = call("drive_create", name="a.txt", content="x")
    gone = call("drive_delete", fileId=made["id"])
    assert gone == {"id": made["id"], "name": "a.txt", "trashed": True}
    assert call("drive_list") == {"files": []}
    assert names(call("drive_list", trashed=True)) == ["a.txt"]
    assert call("drive_search", query="name = 'a.txt'") == {"files": []}
    assert names(call("drive_search", query="name = 'a.txt' and trashed = true")) == ["a.txt"]
    call("drive_update", fileId=made["id"], trashed=False)
    assert names(call("drive_list")) == ["a.txt"]
    assert call("drive_read", fileId=made["id"])["text"] == "x"


def test_a_folder_takes_its_files_to_the_trash_and_back(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    inner = call("drive_create", name="i", content="x", folderId=folder["id"])
    call("drive_delete", fileId=folder["id"])
    assert call("drive_search", query="name = 'i'") == {"files": []}
    read = call("drive_read", fileId=inner["id"])
    assert (read["text"], read["trashed"]) == ("x", True)
    call("drive_update", fileId=folder["id"], trashed=False)
    assert names(call("drive_list", folderId=folder["id"])) == ["i"]


def test_what_is_deleted_for_ever_is_gone_with_all_that_is_in_it(
    call: Calling, failure: Failure
) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    inner = call("drive_create", name="i", content="x", folderId=folder["id"])
    gone = call("drive_delete", fileId=folder["id"], permanent=True)
    assert gone == {"id": folder["id"], "name": "f", "deleted": True}
    assert call("drive_list", trashed=True) == {"files": []}
    for one in (folder, inner):
        assert failure("drive_read", fileId=one["id"]) == "not_found"


def test_a_binary_file_is_kept_and_described(call: Calling) -> None:
    png = b"\x89PNG\r\n\x1a\n\0\0"
    content = base64.b64encode(png).decode()
    made = call("drive_create", name="p.png", content=content, encoding="base64")
    read = call("drive_read", fileId=made["id"])
    assert read["content"] == "[10 bytes of image/png, kept as kept/p.png]"
    assert "text" not in read
    assert call.kept == {"p.png": png}


def test_a_document_is_made_of_markdown_and_read_as_such(call: Calling) -> None:
    made = call("drive_create", name="Plan", content="# Plan\n\nsteps", mimeType=DOCUMENT)
    assert made["mimeType"] == DOCUMENT
    assert call("drive_read", fileId=made["id"])["text"].strip() == "# Plan\n\nsteps"
    assert call("docs_read", documentId=made["id"])["text"] == "# Plan\n\nsteps"
    call("drive_update", fileId=made["id"], content="other")
    plain = call("drive_read", fileId=made["id"], mimeType="text/plain")
    assert plain["text"].strip() == "other"
    assert plain["name"] == "Plan"


def test_a_document_of_the_docs_tools_is_a_file_of_the_drive(call: Calling) -> None:
    made = call("docs_create", title="Plan", text="hello")
    assert names(call("drive_list")) == ["Plan"]
    assert names(call("drive_search", query=f"mimeType = '{DOCUMENT}'")) == ["Plan"]
    assert call("drive_read", fileId=made["documentId"])["text"].strip() == "hello"


def test_a_spreadsheet_is_read_as_csv(call: Calling) -> None:
    made = call("sheets_create", title="Costs")
    one = {"spreadsheetId": made["spreadsheetId"], "range": "A1"}
    call("sheets_write", **one, values=[["a", "b"], ["1", "x, y"]])
    read = call("drive_read", fileId=made["spreadsheetId"])
    assert read["text"].strip() == 'a,b\n1,"x, y"'
    assert read["name"] == "Costs"


QUERIES = {
    "name contains 'rep'": ["annual report.pdf", "report.md"],
    "name contains 'port'": [],
    "name = 'REPORT.md'": ["report.md"],
    "name != 'report.md' and mimeType contains 'text/'": ["it's.txt"],
    r"name = 'it\'s.txt'": ["it's.txt"],
    'name = "it\'s.txt"': ["it's.txt"],
    "mimeType = 'application/pdf' or name contains 'it'": ["annual report.pdf", "it's.txt"],
    "not mimeType = 'application/pdf' and not name contains 'it'": ["f", "report.md"],
    f"mimeType = '{FOLDER}'": ["f"],
    "fullText contains 'budget'": ["report.md"],
    "fullText contains 'BUDGET plan'": ["report.md"],
    "fullText contains '\"the plan\"'": ["report.md"],
    "fullText contains '\"plan the\"'": [],
    "fullText contains 'budg'": [],
    "modifiedTime > '2020-01-01T00:00:00' and name contains 'annual'": ["annual report.pdf"],
    "modifiedTime < 2020-01-01": [],
    "createdTime >= '2020-01-01' and starred = false and name = 'f'": ["f"],
    "'root' in parents and (name = 'f' or name = 'report.md')": ["f"],
    "'me' in owners and name = 'f'": ["f"],
    "sharedWithMe": [],
}


def test_a_query_finds_what_drive_finds(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    call("drive_create", name="annual report.pdf", content="x")
    text = "the plan of the budget"
    call("drive_create", name="report.md", content=text, folderId=folder["id"])
    call("drive_create", name="it's.txt", content="nothing")
    found = {query: sorted(names(call("drive_search", query=query))) for query in QUERIES}
    assert found == QUERIES
    assert call.context.notices == []


def test_files_of_a_folder_are_searched_by_its_id(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    call("drive_create", name="a", content="x", folderId=folder["id"])
    assert names(call("drive_search", query=f"'{folder['id']}' in parents")) == ["a"]


def test_plain_words_search_text_and_names_and_it_is_said(call: Calling) -> None:
    call("drive_create", name="budget.txt", content="x")
    call("drive_create", name="b.txt", content="our budget")
    call("drive_create", name="c.txt", content="other")
    assert sorted(names(call("drive_search", query="budget"))) == ["b.txt", "budget.txt"]
    assert [notice.code for notice in call.context.notices] == ["read_as_words"]


def test_a_wrong_query_names_the_place(call: Calling) -> None:
    places = {
        "name contains budget": 15,
        "title = 'x'": 1,
        "name = 'x": 8,
        "name > 'x'": 6,
        "(name = 'x'": 12,
        "name = 'x' name = 'y'": 12,
        "modifiedTime > 'yesterday'": 16,
        "trashed = maybe": 11,
    }
    for query, place in places.items():
        error = call.error("drive_search", query=query)
        assert error.code == "invalid_input"
        assert f"at character {place}:" in error.details["query"]


def test_an_unknown_id_is_not_found(failure: Failure) -> None:
    assert failure("drive_read", fileId="1nothing") == "not_found"
    assert failure("drive_update", fileId="1nothing", content="x") == "not_found"
    assert failure("drive_delete", fileId="1nothing") == "not_found"


def test_an_unknown_folder_is_not_found(failure: Failure) -> None:
    assert failure("drive_list", folderId="1nothing") == "not_found"
    assert failure("drive_create", name="a", content="x", folderId="1nothing") == "not_found"


def test_a_wrong_new_file_is_refused(call: Calling, failure: Failure) -> None:
    for given in (
        {"name": ""},
        {"name": " "},
        {"name": "\ud800"},
        {"name": "a", "content": "*", "encoding": "base64"},
        {"name": "a", "mimeType": "no type"},
        {"name": "a", "mimeType": "application/vnd.google-apps.spreadsheet"},
        {"name": "a", "mimeType": FOLDER, "content": "x"},
    ):
        assert failure("drive_create", **given) == "invalid_input"
    assert call("drive_list") == {"files": []}


def test_a_file_is_no_folder_and_a_folder_no_file(call: Calling, failure: Failure) -> None:
    file = call("drive_create", name="a", content="x")
    folder = call("drive_create", name="f", mimeType=FOLDER)
    assert failure("drive_create", name="b", content="x", folderId=file["id"]) == "invalid_input"
    assert failure("drive_read", fileId=folder["id"]) == "invalid_input"
    assert failure("drive_update", fileId=folder["id"], content="x") == "invalid_input"
    assert failure("drive_update", fileId=file["id"]) == "invalid_input"
    assert failure("drive_delete", fileId="root") == "invalid_input"
    assert failure("drive_list", orderBy="size") == "invalid_input"
    assert failure("drive_list", pageToken="nonsense") == "invalid_input"


def test_words_have_no_other_order_than_the_best_first(failure: Failure) -> None:
    assert failure("drive_search", query="fullText contains 'x'", orderBy="name") == "invalid_input"


def test_more_than_the_largest_file_is_refused(call: Calling, failure: Failure) -> None:
    large = "x" * (25 * 1024 * 1024 + 1)
    assert failure("drive_create", name="a", content=large) == "file_too_large"
    assert call("drive_list") == {"files": []}


def test_what_files_hold_is_text_of_others(call: Calling) -> None:
    made = call("drive_create", name="a", content="x")
    assert call.context.taints == []
    for name, given in (
        ("drive_list", {}),
        ("drive_read", {"fileId": made["id"]}),
        ("drive_search", {"query": "name = 'a'"}),
    ):
        call(name, **given)
        assert call.context.taints == ["files of others"]


def test_an_answer_that_says_more_of_a_file_than_the_call_did_is_text_of_others(
    call: Calling,
) -> None:
    made = call("drive_create", name="a", content="x")
    assert call.context.taints == []
    call("drive_update", fileId=made["id"], description="mine")
    assert call.context.taints == ["files of others"]
    call("drive_delete", fileId=made["id"])
    assert call.context.taints == ["files of others"]


def test_a_preview_shows_what_a_change_would_do(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    made = call("drive_create", name="a.txt", content="old\n")
    given = {"fileId": made["id"], "content": "new\n", "name": "b.txt", "folderId": folder["id"]}
    shown = call.preview("drive_update", **given)
    assert "name: 'a.txt' becomes 'b.txt'" in shown
    assert "it moves to the folder 'f'" in shown
    assert "-old\n+new" in shown
    assert call("drive_read", fileId=made["id"])["text"] == "old\n"


def test_a_preview_names_what_would_be_deleted(call: Calling) -> None:
    folder = call("drive_create", name="f", mimeType=FOLDER)
    made = call("drive_create", name="a.txt", content="x", folderId=folder["id"])
    shown = call.preview("drive_delete", fileId=made["id"])
    assert shown == "move to the trash the file 'a.txt' (text/plain, 1 bytes)"
    shown = call.preview("drive_delete", fileId=folder["id"], permanent=True)
    assert shown.startswith("delete for ever the folder 'f' with 1 files and folders right in it")
    assert "not_found" in call.refused("drive_delete", fileId="1nothing")
    assert "invalid_input" in call.refused("drive_delete", fileId="root")
    assert "not_found" in call.refused("drive_update", fileId="1nothing", content="x")
    assert "nothing to change" in call.refused("drive_update", fileId=made["id"])


def test_traits_tell_what_is_destructive(call: Calling, office: Office) -> None:
    traits = {name: call.tool(f"drive_{name}").traits for name in ("list", "create", "update")}
    assert traits["list"].read_only
    assert not traits["create"].destructive
    assert traits["update"].destructive
    assert call.tool("drive_delete").traits.destructive


def test_a_binary_file_is_described_where_nothing_keeps_files(
    call: Calling, office: Office
) -> None:
    made = call("drive_create", name="p.png", content="AAAA", encoding="base64")
    read = call.tool("drive_read")(fileId=made["id"], context=Context())
    assert read["content"] == "[3 bytes of image/png, not kept]"


def test_a_folder_moves_and_is_described(call: Calling) -> None:
    outer = call("drive_create", name="outer", mimeType=FOLDER, description="all of it")
    inner = call("drive_create", name="inner", mimeType=FOLDER)
    moved = call("drive_update", fileId=inner["id"], folderId=outer["id"], mimeType=FOLDER)
    assert moved["parents"] == [outer["id"]]
    assert call("drive_list")["files"][0]["description"] == "all of it"
    assert "holds no text" in call.refused("drive_update", fileId=outer["id"], content="x")
