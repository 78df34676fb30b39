from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.search import refresh as reading
from callblocks.toolkits.search.index import PLACE
from callblocks.toolkits.search.text_readers import MAX_BYTES
from callblocks.toolkits.search_tools import finding_tools
from callblocks.tools.context import Context
from support.roots import code_of
from support.search_files import Finding, age, docx_of, pdf_of
from support.tool_runtime import call, run_one


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as root:
        yield root


@pytest.fixture
def find(root: Root) -> Finding:
    return Finding(root)


def fill(root: Root) -> None:
    root.write("docs/a.md", b"# A\n\nharbour")
    root.write("docs/b.html", b"<h1>B</h1>harbour")
    root.write("docs/c.docx", docx_of(("", "harbour")))
    root.write("docs/deep/d.pdf", pdf_of("harbour", "gulls"))
    root.write("docs/bad.pdf", b"not a pdf")
    root.write("docs/bin.dat", b"\0\1\2")


def test_a_folder_is_read_with_all_that_is_in_it(root: Root, find: Finding) -> None:
    fill(root)
    said: list[str] = []
    report = find("file_ingest", Context(report=said.append), path="docs")
    skipped = {one["path"]: one["code"] for one in report.pop("skipped")}
    assert skipped == {"docs/bad.pdf": "file_invalid", "docs/bin.dat": "not_text"}
    assert report == {
        "files": 4,
        "passages": 5,
        "paths": ["docs/a.md", "docs/b.html", "docs/c.docx", "docs/deep/d.pdf"],
    }
    assert said[0] == "file 1 of 6: docs/a.md\n"
    assert said[-2:] == ["page 1 of 2\n", "page 2 of 2\n"]
    assert len(find.paths("harbour")) == 4
    (page,) = find("search", query="gulls")["results"]
    assert (page["path"], page["page"]) == ("docs/deep/d.pdf", 2)


def test_only_the_folder_itself_where_that_is_asked(root: Root, find: Finding) -> None:
    fill(root)
    assert find("file_ingest", path="docs", recursive=False)["files"] == 3


def test_what_did_not_change_is_not_read_again(
    root: Root, find: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(root)
    age(tmp_path)
    find("file_ingest", path="docs")
    before = (tmp_path / PLACE).read_bytes()
    read: list[str] = []
    whole = root.read

    def watched(path: str, limit: int | None = None) -> bytes:
        read.append(path)
        return whole(path, limit)

    monkeypatch.setattr(root, "read", watched)
    report = find("file_ingest", path="docs")
    assert (report["files"], report["unchanged"]) == (0, 4)
    # Those that could not be read are tried again.
    assert sorted(read) == ["docs/bad.pdf", "docs/bin.dat"]
    os.utime(tmp_path / "docs/a.md", (1_600_000_000, 1_600_000_000))
    read.clear()
    monkeypatch.setattr(reading, "put", None)
    assert find("file_ingest", path="docs/a.md")["unchanged"] == 1
    assert read == ["docs/a.md"]
    assert len(before) == (tmp_path / PLACE).stat().st_size


_FILES = st.dictionaries(
    st.sampled_from(("a.md", "b.txt", "c.csv", "d/e.md")), st.text(max_size=50), max_size=4
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(_FILES)
def test_reading_twice_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("work")
    with Root(folder) as root:
        for name, text in files.items():
            root.write(name, text.encode("utf-8", "replace").replace(b"\0", b""))
        find = Finding(root)
        first = find("file_ingest", path=".")
        found = find("search", query="a OR 0 OR e")
        second = find("file_ingest", path=".")
        assert second["files"] == 0
        assert second.get("unchanged", 0) == first["files"]
        assert find("search", query="a OR 0 OR e") == found


def test_what_vanished_is_dropped(root: Root, find: Finding, tmp_path: Path) -> None:
    fill(root)
    find("file_ingest", path="docs")
    (tmp_path / "docs/c.docx").unlink()
    (tmp_path / "docs/deep/d.pdf").unlink()
    assert find("file_ingest", path="docs")["dropped"] == 2
    assert sorted(find.paths("harbour")) == ["docs/a.md", "docs/b.html"]


def test_a_title_and_tags_stay_until_others_are_given(root: Root, find: Finding) -> None:
    root.write("a.txt", b"harbour")
    assert find("file_ingest", path="a.txt", title="The sea", tags=["blue", "Blue"])["files"] == 1
    assert find("search", query="sea blue")["results"][0]["title"] == "The sea"
    assert find("file_ingest", path="a.txt")["unchanged"] == 1
    root.write("a.txt", b"gulls")
    assert find.paths("gulls", scope="#blue") == ["a.txt"]
    assert find("file_ingest", path="a.txt", tags=["red"])["files"] == 1
    assert find.paths("sea", scope="#red") == ["a.txt"]
    assert find.paths("sea", scope="#blue") == []


def test_a_title_is_for_one_file(root: Root, find: Finding) -> None:
    root.write("docs/a.md", b"x")
    with pytest.raises(ToolError) as raised:
        find("file_ingest", path="docs", title="T")
    assert code_of(raised) == "invalid_input"
    assert "title" in raised.value.details


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nothing.md", "path_not_found"),
        ("../up.md", "unsafe_path"),
        ("/etc/passwd", "unsafe_path"),
        ("out/passwd", "unsafe_path"),
        ("pipe", "wrong_file_type"),
        ("bin.dat", "not_text"),
        ("bad.pdf", "file_invalid"),
        ("large.txt", "file_too_large"),
    ],
)
def test_one_file_that_cannot_be_read_is_a_failure(
    root: Root, find: Finding, tmp_path: Path, path: str, code: str
) -> None:
    root.write("bin.dat", b"\0")
    root.write("bad.pdf", b"x")
    (tmp_path / "out").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large.txt").open("wb") as large:
        large.truncate(MAX_BYTES + 1)
    with pytest.raises(ToolError) as raised:
        find("file_ingest", path=path)
    assert code_of(raised) == code


def test_links_in_a_folder_are_not_followed(root: Root, find: Finding, tmp_path: Path) -> None:
    root.write("docs/a.md", b"harbour")
    (tmp_path / "docs/out").symlink_to("/etc")
    (tmp_path / "docs/passwd").symlink_to("/etc/passwd")
    (tmp_path / "docs/up").symlink_to("..")
    assert find("file_ingest", path="docs")["paths"] == ["docs/a.md"]


def test_a_link_to_a_file_inside_is_read_as_that_file(
    root: Root, find: Finding, tmp_path: Path
) -> None:
    root.write("keys/k.md", b"harbour")
    (tmp_path / "link.md").symlink_to("keys/k.md")
    assert find("file_ingest", path="link.md")["paths"] == ["keys/k.md"]


def test_a_folder_swapped_for_a_link_is_not_read_through(
    root: Root, find: Finding, tmp_path: Path
) -> None:
    root.write("keys/a.md", b"harbour secret")
    root.write("notes/a.md", b"harbour")
    age(tmp_path)
    assert len(find.paths("harbour")) == 2
    (tmp_path / "notes/a.md").unlink()
    (tmp_path / "notes").rmdir()
    (tmp_path / "notes").symlink_to("keys")
    assert find.paths("harbour") == ["keys/a.md"]
    with pytest.raises(ToolError) as raised:
        reading.load(root, "notes/a.md")
    assert code_of(raised) == "unsafe_path"


def test_the_policy_is_asked_about_every_file(root: Root) -> None:
    root.write("a.md", b"harbour")
    root.write("keys/k.md", b"harbour")
    root.write("drafts/d.md", b"harbour")
    policy = Policy(
        (
            Rule(decide="deny", path=("keys/**",)),
            Rule(decide="ask", path=("drafts/**",)),
            Rule(decide="allow", tool=("file_ingest",)),
        )
    )
    outcome = run_one(
        finding_tools(root), call("file_ingest", path="."), policy=policy, resolve=root.resolve
    )
    assert outcome.output["paths"] == ["a.md"]
    # What is denied is not even named; what can be asked for is.
    assert [one["path"] for one in outcome.output["skipped"]] == ["drafts/d.md"]
    assert [one["code"] for one in outcome.output["skipped"]] == ["policy_denied"]


def test_a_run_that_nobody_waits_for_stops(root: Root, find: Finding) -> None:
    fill(root)
    context = Context()

    def stop(_: str) -> None:
        context.cancelled = True

    context = Context(report=stop)
    assert find("file_ingest", context, path="docs")["files"] == 1


def test_a_file_without_text_says_so(root: Root, find: Finding) -> None:
    root.write("scan.pdf", pdf_of(""))
    assert find("file_ingest", path="scan.pdf")["passages"] == 0
    assert find.notices == ["no_text"]


def test_a_search_goes_on_while_files_are_read(root: Root, find: Finding) -> None:
    for number in range(60):
        root.write(f"docs/f{number}.txt", b"harbour")
    other = Finding(root)
    reading = threading.Thread(target=lambda: other("file_ingest", path="docs"))
    reading.start()
    while reading.is_alive():
        find.paths("harbour")
    reading.join()
    assert len(find.paths("harbour", limit=100)) == 60
