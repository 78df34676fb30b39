"""A file that a model writes goes into the files of the current turn, or nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import BadPath
from callblocks.core.paths import FilePath, written_path


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("x.md", "x.md"),
        (" x.md\n", "x.md"),
        ("./x.md", "x.md"),
        ("files/x.md", "x.md"),
        ("./files//x.md", "x.md"),
        ("charts/x.md", "charts/x.md"),
        ("attachments/x.md", "attachments/x.md"),
        ("outputs/a/x.md", "outputs/a/x.md"),
        ("docs/files/x.md", "docs/files/x.md"),
        ("turn_1/files/x.md", "x.md"),
        ("./turn_1/files/x.md", "x.md"),
        ("turn_1/files/files/x.md", "files/x.md"),
        ("turn_1", "turn_1"),
        ("turn_!/files/x.md", "turn_!/files/x.md"),
        ("files", "files"),
        ("turn_1.md", "turn_1.md"),
        ("turn_1.files", "turn_1.files"),
        ("turn_1.code.abc", "turn_1.code.abc"),
        ("docs.files/x.md", "docs.files/x.md"),
        ("Report: rain.md", "Report: rain.md"),
    ],
)
def test_a_plain_name_is_a_file_of_this_turn(written: str, name: str) -> None:
    path = written_path(written, "turn_1")
    assert (path.path, path.rewritten) == (FilePath("turn_1", name), False)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("turn_0/files/x.md", "x.md"),
        ("./turn_0/files/a/x.md", "a/x.md"),
        ("turn_0/x.md", "x.md"),
        ("turn_1/x.md", "x.md"),
        ("turn_1/outputs/x.md", "outputs/x.md"),
        ("turn_1/attachments/x.md", "x.md"),
        ("turn_0/attachments/x.md", "x.md"),
        ("fi:turn_1.files/x.md", "x.md"),
        ("fi:turn_0.files/a/x.md", "a/x.md"),
        ("fi:turn_9.user.attachments/x.md", "x.md"),
        ("fi:x.md", "x.md"),
        ("fi:files/x.md", "x.md"),
        ("fi:turn_0/files/x.md", "x.md"),
        ("turn_1.files/q.md", "q.md"),
        ("turn_0.files/a/q.md", "a/q.md"),
        ("turn_0.user.attachments/q.md", "q.md"),
    ],
)
def test_another_place_becomes_this_turn_and_is_said(written: str, name: str) -> None:
    path = written_path(written, "turn_1")
    assert (path.path, path.rewritten) == (FilePath("turn_1", name), True)


def test_a_turn_of_another_name_is_known_when_it_is_told() -> None:
    assert written_path("t6/files/x", "t7").path.name == "t6/files/x"
    assert written_path("t6/files/x", "t7", turns=["t6"]).path.name == "x"
    assert written_path("t7/files/x", "t7").path.name == "x"
    assert written_path("t6.files/x", "t7").path.name == "t6.files/x"
    assert written_path("t6.files/x", "t7", turns=["t6"]).path.name == "x"


@pytest.mark.parametrize(
    "written",
    [
        "",
        " ",
        ".",
        "..",
        "../x",
        "a/../x",
        "/x",
        "/turn_1/files/x",
        "a\\b",
        "a\x00",
        "\ud800",
        "~",
        "~/x",
        "C:x",
        "C:/x",
        "https://example.com/x",
        "file:///etc/passwd",
        "./fi:x",
        "files/",
        "files/.",
        "q/",
        "q/.",
        "fi:turn_1.files/q/",
        "turn_1/files/q/",
        "turn_1.files/q/",
        "turn_1.files/../q",
        "files/..",
        "turn_1/files",
        "turn_1/files/",
        "turn_1/..",
        "turn_0/files/../x",
        "fi:",
        "fi:..",
        "fi:/x",
        "fi:fi:x",
        "fi:tc:x",
        "fi:turn_1.files/../x",
        "fi:turn_1.files/",
        "fi:turn_1.code.abc",
        "tc:turn_1.abc.result",
        "ar:turn_1.user.prompt",
        "so:sources_pool[1]",
        "sk:a.b",
    ],
)
def test_what_is_no_place_in_a_turn_is_unsafe(written: str) -> None:
    with pytest.raises(BadPath) as caught:
        written_path(written, "turn_1")
    assert caught.value.code == "unsafe_path"


@given(
    st.lists(
        st.sampled_from(
            ["turn_1", "turn_0", "files", "attachments", "fi:", "..", ".", "", "x", "/"]
        )
        | st.text(st.characters(), max_size=4),
        max_size=6,
    ),
    st.sampled_from(["/", "."]),
)
def test_a_written_path_is_always_below_the_files_of_the_turn(
    parts: list[str], separator: str
) -> None:
    written = separator.join(parts)
    try:
        path = written_path(written, "turn_1").path
    except BadPath:
        with pytest.raises(BadPath, check=lambda error: error.code == "unsafe_path"):
            written_path(written, "turn_1")
        return
    assert path.physical.startswith("turn_1/files/")
    assert ".." not in path.physical.split("/")


@given(st.from_regex(r"\A[a-z]{1,5}(/[a-z]{1,5}){0,3}\Z").filter(lambda name: name != "files"))
def test_the_place_of_a_file_is_written_back_as_itself(name: str) -> None:
    path = FilePath("turn_1", name)
    again = written_path(path.physical, "turn_1")
    assert (again.path, again.rewritten) == (path, False)
    assert written_path(str(path), "turn_1").path == path
