from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from callblocks.approvals import book as store
from callblocks.approvals.approval import ApprovalsUnavailable, BadApproval, HiddenCall
from callblocks.approvals.book import ApprovalBook, Store
from callblocks.core.errors import CallblocksError, CallerError
from support.policies import sqlite_of


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def ask(book: ApprovalBook, fingerprint: str = "f") -> str:
    return book.request(fingerprint=fingerprint, grant_key="g", tool="act", shown="now").id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "approvals.db"


def test_what_goes_wrong_says_whose_fault_it_is() -> None:
    assert issubclass(ApprovalsUnavailable, CallblocksError)
    assert issubclass(ApprovalsUnavailable, OSError)
    assert not issubclass(ApprovalsUnavailable, CallerError)
    assert issubclass(BadApproval, CallerError)


def test_the_file_is_for_its_owner_only(path: Path) -> None:
    before = os.umask(0)
    try:
        with ApprovalBook(path / "deep" / "er.db") as book:
            ask(book)
            folder = path / "deep"
            assert mode(folder) == 0o700
            assert {mode(file) for file in folder.iterdir()} == {0o600}
    finally:
        os.umask(before)


def test_what_was_approved_is_there_the_next_time(path: Path) -> None:
    with ApprovalBook(str(path)) as book:
        book.approve(ask(book))
    with ApprovalBook(path) as book:
        assert book.take("f", "g").ok
    with ApprovalBook(path) as book:
        assert not book.take("f", "g").ok


def test_memory_is_forgotten_and_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ApprovalBook(":memory:") as book:
        ask(book)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_a_folder_that_others_can_write_to_is_refused(path: Path, bits: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o700 | bits)
    with pytest.raises(
        ApprovalsUnavailable,
        match=f"{path}: others can write to the folder; run: chmod go-w {path.parent}$",
    ):
        ApprovalBook(path)
    assert not path.exists()


def test_a_folder_that_others_can_only_read_will_do(path: Path) -> None:
    path.parent.mkdir()
    path.parent.chmod(0o755)
    ApprovalBook(path).close()
    assert mode(path.parent) == 0o755


@pytest.mark.parametrize("bits", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
def test_a_file_that_is_open_to_others_is_refused(path: Path, bits: int) -> None:
    ApprovalBook(path).close()
    path.chmod(0o600 | bits)
    with pytest.raises(
        ApprovalsUnavailable, match=f"others can read or write the file; run: chmod 600 {path}$"
    ):
        ApprovalBook(path)


def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ApprovalBook(path).close()
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(ApprovalsUnavailable, match=r"the file belongs to another user$"):
        ApprovalBook(path)


def test_a_link_is_refused(path: Path) -> None:
    ApprovalBook(path).close()
    link = path.with_name("link.db")
    link.symlink_to(path)
    with pytest.raises(ApprovalsUnavailable, match=r"not a regular file$"):
        ApprovalBook(link)


def test_a_folder_in_the_place_of_the_file_is_refused(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ApprovalsUnavailable, match=r"not a regular file$"):
        ApprovalBook(path)


def test_a_file_in_the_place_of_the_folder_is_refused(path: Path) -> None:
    path.parent.write_text("x", encoding="ascii")
    with pytest.raises(ApprovalsUnavailable, match=f"^approvals in {path}: "):
        ApprovalBook(path)


def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(ApprovalsUnavailable, match=r"a path has no NUL in it$"):
        ApprovalBook("a\0b")


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    path.write_bytes(b"not a database at all" * 100)
    path.chmod(0o600)
    with pytest.raises(ApprovalsUnavailable, match=r"file is not a database$"):
        ApprovalBook(path)
    assert path.read_bytes().startswith(b"not a database")


def database(path: Path, *statements: str) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    path.chmod(0o600)


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE other (a)",),
        ("PRAGMA application_id = 7",),
        ("PRAGMA user_version = 1",),
        ("PRAGMA user_version = 1", "CREATE TABLE other (a)"),
        ("PRAGMA application_id = 1667394667", "PRAGMA user_version = 3"),
    ],
)
def test_a_database_of_others_or_of_later_is_refused(
    path: Path, statements: tuple[str, ...]
) -> None:
    database(path, *statements)
    with pytest.raises(
        ApprovalsUnavailable,
        match=f"^approvals in {path}: not a file of approvals that this version can read$",
    ):
        ApprovalBook(path)


def test_a_file_of_the_first_version_is_read_and_its_hidden_parts_stay_hidden(path: Path) -> None:
    with ApprovalBook(path) as book:
        ids = [
            book.request(fingerprint=word, grant_key="g", tool="act", shown=word).id
            for word in ("all of it", "authorization: [redacted]")
        ]
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE approvals DROP COLUMN is_whole")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    with ApprovalBook(path) as book:
        assert book.approve(ids[0]).state == "approved"
        with pytest.raises(HiddenCall, match="is covered as a secret"):
            book.approve(ids[1])
        with pytest.raises(HiddenCall):
            book.approve_for(ids[1], 10)
        assert book.deny(ids[1]).state == "denied"


def test_a_file_says_what_it_is(path: Path) -> None:
    ApprovalBook(path).close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (0x63626C6B,)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


def test_a_file_that_was_broken_meanwhile_approves_nothing(path: Path) -> None:
    with ApprovalBook(path) as book:
        book.approve(ask(book))
    content = bytearray(path.read_bytes())
    content[200:] = b"\xff" * (len(content) - 200)
    path.write_bytes(content)
    with pytest.raises(ApprovalsUnavailable), ApprovalBook(path) as book:
        book.take("f", "g")


def test_a_record_that_makes_no_sense_approves_nothing(path: Path) -> None:
    with ApprovalBook(path) as book:
        book.approve(ask(book))
        database(path, "UPDATE approvals SET minutes = 'many'")
        with pytest.raises(ApprovalsUnavailable, match="Expected `int`"):
            book.list()


def test_a_state_that_there_is_not_cannot_be_written(path: Path) -> None:
    with ApprovalBook(path) as book:
        ask(book)
        with pytest.raises(sqlite3.IntegrityError):
            database(path, "UPDATE approvals SET state = 'fine'")


def test_a_call_cannot_have_two_open_questions(path: Path) -> None:
    with ApprovalBook(path) as book:
        ask(book)
        with (
            pytest.raises(ApprovalsUnavailable, match="UNIQUE constraint failed"),
            book._tables.transaction() as connection,
        ):
            connection.execute(
                "INSERT INTO approvals SELECT 9, 'x', state, fingerprint, grant_key, tool, "
                "shown, asked_at, answered_at, expires_at, reason, minutes, tainted, "
                "is_whole, since, boot, steady_expires FROM approvals",
                {},
            )
        assert len(book.list()) == 1


def test_a_file_that_another_holds_approves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store._WAIT_SECONDS == 5.0
    monkeypatch.setattr(store, "_WAIT_SECONDS", 0.01)
    with ApprovalBook(path) as book:
        book.approve(ask(book))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            ApprovalsUnavailable, match=f"^approvals in {path}: database is locked$"
        ):
            book.take("f", "g")
        other.close()
        assert book.take("f", "g").ok


def test_a_full_disk_uses_nothing_up(path: Path) -> None:
    with ApprovalBook(path) as book:
        book.approve(ask(book))
        pages = sqlite_of(book).execute("PRAGMA page_count").fetchone()[0]
        sqlite_of(book).execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(ApprovalsUnavailable, match=r"database or disk is full$"):
            book.request(fingerprint="x", grant_key="g", tool="act", shown="x" * 100_000)
        assert len(book.list()) == 1
        assert book.take("f", "g").ok


def test_a_commit_that_fails_uses_nothing_up(path: Path) -> None:
    with ApprovalBook(path) as book:
        book.approve(ask(book))
        # A reader that does not let go keeps the commit from being written.
        sqlite_of(book).execute("PRAGMA busy_timeout = 10")
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM approvals").fetchall()
        with pytest.raises(ApprovalsUnavailable, match=r"database is locked$"):
            book.take("f", "g")
        reader.close()
        assert book.take("f", "g").ok


def test_a_closed_book_approves_nothing(path: Path) -> None:
    book = ApprovalBook(path)
    book.close()
    with pytest.raises(ApprovalsUnavailable, match="closed"):
        book.take("f", "g")


def test_a_book_is_not_carried_into_another_process(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ApprovalBook(path) as book:
        parent = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: parent + 1)
        with pytest.raises(
            ApprovalsUnavailable,
            match=f"^approvals in {path}: opened by another process; open it anew in this one$",
        ):
            book.list()


def test_whatever_stops_a_transaction_leaves_nothing_of_it() -> None:
    opened = Store(":memory:")

    def stopped() -> None:
        with opened.transaction() as connection:
            connection.execute("PRAGMA user_version = 9")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    with opened.transaction() as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 2
    opened.close()


def test_every_change_is_on_the_disk_before_it_is_done(path: Path) -> None:
    opened = Store(path)
    with opened.transaction() as connection:
        extra = 3
        assert connection.execute("PRAGMA synchronous").fetchone()[0] == extra
        assert connection.execute("PRAGMA trusted_schema").fetchone()[0] == 0
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
    opened.close()


def test_threads_take_turns(path: Path) -> None:
    with ApprovalBook(path) as book:
        ids = [ask(book, str(number)) for number in range(3)]
        for id in ids:
            book.approve(id)
        taken: list[bool] = []

        def take() -> None:
            taken.extend(book.take(str(number), "g").ok for number in range(3))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (sum(taken), len(taken)) == (3, 12)


TRY = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], timeout=0.01, isolation_level=None)
try:
    other.execute("BEGIN IMMEDIATE")
    print("free")
except sqlite3.OperationalError as error:
    print(error)
finally:
    other.close()
"""


def test_opening_a_second_book_does_not_drop_the_locks_of_the_first(path: Path) -> None:
    with ApprovalBook(path) as book, book._tables.transaction() as connection:
        connection.execute("DELETE FROM approvals", {})
        # Opening and closing the file by hand would end the lock that is held here.
        store._make_private(path)
        tried = subprocess.run(
            [sys.executable, "-c", TRY, str(path)], capture_output=True, text=True, check=True
        )
        assert tried.stdout == "database is locked\n"


def test_what_sqlite_undid_itself_is_not_undone_again() -> None:
    opened = Store(":memory:")

    def undone() -> None:
        with opened.transaction() as connection:
            connection.execute("ROLLBACK")
            raise KeyError("disk")

    with pytest.raises(KeyError, match="disk"):
        undone()
    opened.close()
