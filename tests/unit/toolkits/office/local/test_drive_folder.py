"""The local drive and what people do by hand in its folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.office.backend import Json
from callblocks.toolkits.office.local.drive import drive_folder
from callblocks.toolkits.office.local.drive.drive import LocalDrive
from callblocks.toolkits.office.local.local_office import LocalOffice
from support.google.calling import Calling
from support.google.checking import value_faults
from support.google.discovery import find_route

FOLDER = "application/vnd.google-apps.folder"
DOCUMENT = "application/vnd.google-apps.document"
SHEET = "application/vnd.google-apps.spreadsheet"


@pytest.fixture
def office(tmp_path: Path) -> Path:
    return tmp_path / "office"


@pytest.fixture
def files(office: Path) -> Path:
    """The drive's folder, as somebody makes it by hand."""
    (office / "drive").mkdir(parents=True)
    return office / "drive"


@pytest.fixture
def drive(office: Path) -> LocalDrive:
    return LocalDrive(office)


def listed(drive: LocalDrive, query: str = "", order: str = "name") -> list[Json]:
    return drive.files(query=query, order=order, limit=100, page="").items


def ids(drive: LocalDrive) -> dict[str, str]:
    return {one["name"]: one["id"] for one in listed(drive)}


def make(drive: LocalDrive, name: str, content: bytes = b"x", folder: str = "root") -> Json:
    metadata = {"name": name, "mimeType": "text/plain", "parents": [folder]}
    return drive.create(metadata, content)


def make_folder(drive: LocalDrive, name: str) -> Json:
    return drive.create({"name": name, "mimeType": FOLDER}, None)


def code(error: pytest.ExceptionInfo[ToolError]) -> str:
    return error.value.code


def test_reading_makes_nothing(drive: LocalDrive, office: Path) -> None:
    assert listed(drive) == []
    assert drive.file("root")["name"] == "My Drive"
    assert listed(drive, "fullText contains 'x'") == []
    assert not office.exists()


def test_files_put_there_by_hand_get_ids_that_stay(drive: LocalDrive, files: Path) -> None:
    (files / "notes").mkdir()
    (files / "notes/a.md").write_text("hello")
    (files / "b").write_bytes(b"\0")
    first = ids(drive)
    assert set(first) == {"notes", "a.md", "b"}
    assert all(len(one) == 28 for one in first.values())
    assert ids(LocalDrive(files.parent)) == first
    kinds = {one["name"]: one["mimeType"] for one in listed(drive)}
    assert kinds == {"notes": FOLDER, "a.md": "text/markdown", "b": "application/octet-stream"}
    assert drive.content(first["a.md"], "") == (b"hello", "text/markdown")


def test_a_file_renamed_or_moved_by_hand_keeps_its_id(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a.txt")
    folder = make_folder(drive, "f")
    (files / "a.txt").rename(files / "b.md")
    found = drive.file(made["id"])
    assert (found["name"], found["mimeType"]) == ("b.md", "text/markdown")
    (files / "b.md").rename(files / "f/b.md")
    assert drive.file(made["id"])["parents"] == [folder["id"]]


def test_a_folder_renamed_by_hand_keeps_all_ids(drive: LocalDrive, files: Path) -> None:
    folder = make_folder(drive, "f")
    made = make(drive, "a.txt", folder=folder["id"])
    before = ids(drive)
    (files / "f").rename(files / "g")
    assert drive.file(made["id"])["parents"] == [folder["id"]]
    assert ids(drive) == {"g": before["f"], "a.txt": before["a.txt"]}
    (files / "g").rename(files / "h")
    (files / "h/new").write_text("also changed")
    assert ids(drive)["h"] == before["f"]
    assert ids(drive)["a.txt"] == before["a.txt"]


def test_a_new_file_with_the_inode_of_an_old_one_is_a_new_file(
    drive: LocalDrive, files: Path
) -> None:
    made = make(drive, "a.txt")
    status = (files / "a.txt").stat()
    # As where a file is deleted and the next one gets its inode.
    (files / "a.txt").rename(files / "b.txt")
    os.utime(files / "b.txt", ns=(0, status.st_mtime_ns + 1))
    assert ids(drive)["b.txt"] != made["id"]


def test_a_file_replaced_by_an_editor_keeps_its_id(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a.txt")
    (files / "a.txt").rename(files / "a.txt~")
    (files / "a.txt").write_text("edited")
    assert drive.content(made["id"], "")[0] == b"edited"
    assert drive.file(made["id"])["size"] == "6"


def test_a_file_edited_in_place_is_seen_as_it_is(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a.txt")
    os.utime(files / "a.txt", (0, 0))
    before = drive.file(made["id"])
    assert before["modifiedTime"] == "1970-01-01T00:00:00.000Z"
    assert listed(drive, "modifiedTime < '1990-01-01'") == [before]
    (files / "a.txt").write_text("pumpernickel")
    after = drive.file(made["id"])
    assert (after["size"], after["id"]) == ("12", made["id"])
    assert after["md5Checksum"] != before["md5Checksum"]
    assert listed(drive, "fullText contains 'pumpernickel'") == [after]
    assert listed(drive, "fullText contains 'x'") == []


def test_of_very_many_files_each_is_looked_at_now_and_then(
    drive: LocalDrive, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive_folder, "_MANY", 0)
    make(drive, "a.txt")
    assert listed(drive, "fullText contains 'later'") == []
    (files / "a.txt").write_text("later")
    assert listed(drive)[0]["size"] == "5"
    monkeypatch.setattr(drive_folder, "_RECENT", 0.0)
    assert len(listed(drive, "fullText contains 'later'")) == 1


def test_a_file_removed_by_hand_is_not_found(drive: LocalDrive, files: Path) -> None:
    folder = make_folder(drive, "f")
    made = make(drive, "a.txt", folder=folder["id"])
    (files / "f/a.txt").unlink()
    (files / "f").rmdir()
    for one in (folder, made):
        with pytest.raises(ToolError) as error:
            drive.file(one["id"])
        assert code(error) == "not_found"


def test_a_file_that_became_a_folder_is_another_thing(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a")
    (files / "a").unlink()
    (files / "a").mkdir()
    assert listed(drive)[0]["mimeType"] == FOLDER
    assert listed(drive)[0]["id"] != made["id"]


def test_links_pipes_and_unfinished_files_are_not_listed(
    drive: LocalDrive, files: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    (files / "link").symlink_to(secret / "key")
    (files / "folder").symlink_to(secret)
    os.mkfifo(files / "pipe")
    (files / "Costs.sheet-journal").write_text("x")
    (files / ".callblocks-0123456789abcdef.tmp").write_text("x")
    assert listed(drive) == []


def test_a_file_that_became_a_link_is_gone(drive: LocalDrive, files: Path, tmp_path: Path) -> None:
    made = make(drive, "a.txt")
    (tmp_path / "secret").write_text("secret")
    (files / "a.txt").unlink()
    (files / "a.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(ToolError) as error:
        drive.update(made["id"], {}, b"mine")
    assert code(error) == "not_found"
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize("name", ["", "drive", "trash"])
def test_a_folder_of_the_office_that_is_a_link_is_refused(
    drive: LocalDrive, office: Path, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if name:
        office.mkdir()
    (office / name).symlink_to(elsewhere)
    with pytest.raises(ToolError):
        make(drive, "a.txt")
    assert list(elsewhere.iterdir()) == []


def test_a_name_that_is_no_text_is_told_and_left_out(drive: LocalDrive, files: Path) -> None:
    (files / os.fsdecode(b"\xff")).write_text("x")
    (files / "a").write_text("x")
    page = drive.files(query="", order="", limit=10, page="")
    assert [one["name"] for one in page.items] == ["a"]
    assert len(page.faults) == 1
    assert "not UTF-8" in page.faults[0]


def test_what_is_written_is_for_its_owner_alone(drive: LocalDrive, office: Path) -> None:
    folder = make_folder(drive, "f")
    make(drive, "a.txt", folder=folder["id"])
    for path in ("", "drive", "trash", "drive/f"):
        assert stat.S_IMODE((office / path).stat().st_mode) == 0o700
    for path in ("drive.sqlite", "drive/f/a.txt"):
        assert stat.S_IMODE((office / path).stat().st_mode) == 0o600


def test_a_change_keeps_the_mode_of_a_file(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a.txt")
    (files / "a.txt").chmod(0o640)
    drive.update(made["id"], {}, b"new")
    assert stat.S_IMODE((files / "a.txt").stat().st_mode) == 0o640


def test_two_files_of_one_name_lie_side_by_side(drive: LocalDrive, files: Path) -> None:
    for content in (b"1", b"2", b"3"):
        make(drive, "a.txt", content)
    assert sorted(path.name for path in files.iterdir()) == [
        "a (2).txt",
        "a (3).txt",
        "a.txt",
    ]
    assert {one["name"] for one in listed(drive)} == {"a.txt"}
    changed = drive.update(ids(drive)["a.txt"], {"name": "b.txt"}, None)
    assert changed["name"] == "b.txt"
    assert len(list(files.glob("b.txt"))) == 1


def test_trash_moved_by_hand_is_trash(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a.txt")
    trash = files.parent / "trash"
    (files / "a.txt").rename(trash / "a.txt")
    (trash / "own").write_text("x")
    assert {one["name"] for one in listed(drive, "trashed = true")} == {"a.txt", "own"}
    (trash / "a.txt").rename(files / "a.txt")
    assert drive.file(made["id"])["trashed"] is False


def test_a_restored_file_finds_its_folder_or_the_topmost(drive: LocalDrive, files: Path) -> None:
    folder = make_folder(drive, "f")
    made = make(drive, "a.txt", folder=folder["id"])
    drive.update(made["id"], {"trashed": True}, None)
    assert drive.file(made["id"])["parents"] == [folder["id"]]
    assert (files.parent / "trash/a.txt").exists()
    make(drive, "a.txt", b"other", folder["id"])
    assert drive.update(made["id"], {"trashed": False}, None)["parents"] == [folder["id"]]
    assert (files / "f/a (2).txt").read_bytes() == b"x"
    drive.update(made["id"], {"trashed": True}, None)
    drive.update(folder["id"], {"trashed": True}, None)
    drive.delete(folder["id"])
    back = drive.update(made["id"], {"trashed": False}, None)
    assert back["parents"] == [drive.file("root")["id"]]


def test_what_lies_in_a_trashed_folder_is_restored_with_it(drive: LocalDrive) -> None:
    folder = make_folder(drive, "f")
    made = make(drive, "a.txt", folder=folder["id"])
    drive.update(folder["id"], {"trashed": True}, None)
    with pytest.raises(ToolError, match="restore that one"):
        drive.update(made["id"], {"trashed": False}, None)
    with pytest.raises(ToolError, match="restore it first"):
        make(drive, "b.txt", folder=folder["id"])


def test_what_is_deleted_for_ever_leaves_nothing(drive: LocalDrive, office: Path) -> None:
    folder = make_folder(drive, "f")
    make(drive, "a.txt", folder=folder["id"])
    left = office / "trash/.removing-0"
    left.mkdir()
    (left / "x").write_text("left by a process that died")
    drive.delete(folder["id"])
    assert list((office / "drive").iterdir()) == list((office / "trash").iterdir()) == []


def test_a_folder_cannot_be_moved_into_itself(drive: LocalDrive) -> None:
    outer = make_folder(drive, "outer")
    inner = drive.create({"name": "i", "mimeType": FOLDER, "parents": [outer["id"]]}, None)
    for target in (outer, inner):
        with pytest.raises(ToolError, match="into itself"):
            drive.update(outer["id"], {}, None, add=target["id"])


def test_the_topmost_folder_cannot_be_deleted(drive: LocalDrive) -> None:
    for root in ("root", drive.file("root")["id"]):
        with pytest.raises(ToolError) as error:
            drive.delete(root)
        assert code(error) == "forbidden"


def test_a_type_changes_only_between_files_with_bytes(drive: LocalDrive) -> None:
    made = make(drive, "a")
    assert drive.update(made["id"], {"mimeType": "text/csv"}, None)["mimeType"] == "text/csv"
    with pytest.raises(ToolError, match="cannot become"):
        drive.update(made["id"], {"mimeType": FOLDER}, None)


def test_a_spreadsheet_in_use_is_not_moved(drive: LocalDrive, files: Path) -> None:
    made = drive.adopt("Costs", ".sheet", SHEET, lambda path: path.touch())
    path = drive.place(made["id"], (SHEET,))
    assert path == files / "Costs.sheet"
    journal = files / "Costs.sheet-journal"
    journal.touch()
    with pytest.raises(ToolError) as error:
        drive.update(made["id"], {"trashed": True}, None)
    assert code(error) == "busy"
    with pytest.raises(ToolError, match="is a spreadsheet"):
        drive.update(made["id"], {}, b"x")


def test_a_place_is_given_for_its_type_only(drive: LocalDrive) -> None:
    made = make(drive, "a.txt")
    with pytest.raises(ToolError, match="is text/plain, not"):
        drive.place(made["id"], (SHEET,))
    with pytest.raises(ToolError) as error:
        drive.place("1nothing", (SHEET,))
    assert code(error) == "not_found"


def test_an_adopted_file_that_fails_leaves_nothing(drive: LocalDrive, office: Path) -> None:
    def write(path: Path) -> None:
        path.write_text("half")
        raise ToolError("disk_full", "no room")

    with pytest.raises(ToolError, match="no room"):
        drive.adopt("a", ".sheet", SHEET, write)
    assert list((office / ".index").iterdir()) == []
    assert listed(drive) == []


def test_a_touched_file_was_changed_now(drive: LocalDrive, files: Path) -> None:
    made = make(drive, "a.txt")
    os.utime(files / "a.txt", (0, 0))
    drive.touch(made["id"])
    assert drive.file(made["id"])["modifiedTime"] > "2020"


def test_a_file_of_more_than_the_limit_is_not_read(drive: LocalDrive, files: Path) -> None:
    with (files / "large.bin").open("wb") as large:
        large.truncate(26 * 1024 * 1024)
    file = listed(drive)[0]
    assert "md5Checksum" not in file
    with pytest.raises(ToolError) as error:
        drive.content(file["id"], "")
    assert code(error) == "file_too_large"


def test_a_page_belongs_to_its_question(drive: LocalDrive) -> None:
    for name in "abc":
        make(drive, name)
    token = drive.files(query="", order="name", limit=1, page="").next
    for query, order, page in (("", "", token), ("trashed = false", "name", token), ("", "", "x")):
        with pytest.raises(ToolError, match="no page of this list"):
            drive.files(query=query, order=order, limit=1, page=page)


def test_every_order_and_natural_numbers(drive: LocalDrive) -> None:
    for name in ("a10", "a9", "B"):
        make(drive, name)
    make_folder(drive, "z")
    names = [one["name"] for one in listed(drive, order="folder,name_natural")]
    assert names == ["z", "a9", "a10", "B"]
    assert len(listed(drive, order="recency desc,quotaBytesUsed,starred,viewedByMeTime")) == 4


def test_starred_files_are_found(drive: LocalDrive) -> None:
    made = make(drive, "a")
    make(drive, "b")
    drive.update(made["id"], {"starred": True}, None)
    assert [one["name"] for one in listed(drive, "starred = true")] == ["a"]
    assert [one["name"] for one in listed(drive, "starred != true")] == ["b"]


def test_files_have_the_shape_of_google(drive: LocalDrive) -> None:
    folder = make_folder(drive, "f")
    make(drive, "a.txt", folder=folder["id"])
    drive.adopt("Costs", ".sheet", SHEET, lambda path: path.touch())
    route = find_route("GET", "/drive/v3/files/x")
    assert route is not None
    schema = route.method.schema("response")
    assert schema is not None
    for file in (*listed(drive), drive.file("root")):
        # Where it lies is told to the other tools; Google has no such field.
        file.pop("localPath", None)
        schemas = route.method.document["schemas"]
        assert list(value_faults(schemas, schema, file, "file", nulls=False)) == []


def test_a_new_file_steps_aside_for_a_link_of_its_name(
    drive: LocalDrive, files: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (files / "a.txt").symlink_to(tmp_path / "secret")
    made = make(drive, "a.txt", b"mine")
    assert (files / "a (2).txt").read_text() == "mine"
    (files / "b.txt").symlink_to(tmp_path / "secret")
    assert drive.update(made["id"], {"name": "b.txt"}, None)["name"] == "b.txt"
    assert (files / "b (2).txt").read_text() == "mine"
    assert (files / "b.txt").is_symlink()
    assert (tmp_path / "secret").read_text() == "secret"


def test_a_new_name_that_is_stored_as_the_old_one_moves_nothing(
    drive: LocalDrive, files: Path
) -> None:
    made = make(drive, "a/b")
    assert drive.update(made["id"], {"name": "a_b"}, None)["name"] == "a_b"
    assert [path.name for path in files.iterdir()] == ["a_b"]


def test_a_document_keeps_its_type_while_it_is_markdown(drive: LocalDrive, files: Path) -> None:
    made = drive.create({"name": "Plan", "mimeType": DOCUMENT}, b"x")
    (files / "Plan.md").rename(files / "Other.md")
    found = drive.file(made["id"])
    assert (found["name"], found["mimeType"]) == ("Other", DOCUMENT)
    (files / "Other.md").rename(files / "Other.txt")
    found = drive.file(made["id"])
    assert (found["name"], found["mimeType"]) == ("Other.txt", "text/plain")


def test_a_folder_has_no_content_and_a_document_few_types(drive: LocalDrive) -> None:
    folder = make_folder(drive, "f")
    document = drive.create({"name": "Plan", "mimeType": DOCUMENT}, b"x")
    for file_id, mime in ((folder["id"], ""), (document["id"], "image/png")):
        with pytest.raises(ToolError) as error:
            drive.content(file_id, mime)
        assert code(error) == "invalid_input"
    with pytest.raises(ToolError) as error:
        drive.update(folder["id"], {}, b"x")
    assert code(error) == "invalid_input"
    with pytest.raises(ToolError) as error:
        make(drive, "a", bytes(26 * 1024 * 1024))
    assert code(error) == "file_too_large"


def test_a_folder_that_cannot_be_read_is_told_and_its_files_are_kept(
    drive: LocalDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(drive, "f")
    inner = drive.create({"name": "i", "mimeType": FOLDER, "parents": [folder["id"]]}, None)
    made = make(drive, "a.txt", folder=inner["id"])
    real = os.open

    def refuse(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "f":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        page = drive.files(query="", order="name", limit=9, page="")
        assert [one["name"] for one in page.items] == ["a.txt", "f", "i"]
        assert page.faults == ("the folder 'f' cannot be read: Permission denied",)
    assert drive.file(made["id"])["name"] == "a.txt"


def test_a_folder_moved_while_another_took_its_place(drive: LocalDrive, files: Path) -> None:
    folder = make_folder(drive, "f")
    (files / "f").rename(files / "a")
    (files / "f").mkdir()
    found = ids(drive)
    assert found["a"] == folder["id"]
    assert found["f"] != folder["id"]


def test_a_page_says_where_its_files_lie(drive: LocalDrive, files: Path) -> None:
    (files / "inner").mkdir()
    (files / "inner" / "a.txt").write_text("a")
    gone = make(drive, "b.txt")["id"]
    drive.update(gone, {"trashed": True}, None)
    page = drive.files(query="name contains '.txt'", order="name", limit=9, page="")
    assert [one["name"] for one in page.items] == ["a.txt", "b.txt"]
    # What was thrown away counts as where it was before, too.
    assert page.paths[0] == ("office/drive/inner/a.txt",)
    assert page.paths[1][-1] == "office/drive/b.txt"
    assert list(page.paths) == [tuple(paths) for paths in drive.paths(map(_id, page.items))]


def test_a_search_looks_through_the_folders_once(
    office: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "a.txt").write_text("a")
    looks: list[int] = []
    plain = drive_folder.scan

    def counted(*given: Any, **more: Any) -> Any:
        looks.append(1)
        return plain(*given, **more)

    with Root(office.parent) as root:
        call = Calling(LocalOffice(office), root)
        assert len(call("drive_search", query="name contains 'a'")["files"]) == 1
        monkeypatch.setattr(drive_folder, "scan", counted)
        call("drive_search", query="name contains 'a'")
    assert looks == [1]


def _id(file: Json) -> str:
    return file["id"]
