"""Every path can be written and read again, and nothing else is a path."""

from __future__ import annotations

import re
import string
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from callblocks.core.errors import BadPath
from callblocks.core.paths import (
    CallPath,
    CodePath,
    FilePath,
    MessagePath,
    NotesPath,
    Path,
    SkillPath,
    SourcesPath,
    call_segment,
    file_path,
    is_turn_id,
    normalize_path,
    parse_path,
    parse_physical,
    ranges_of,
)

turns = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_-]{0,12}\Z")
calls = st.from_regex(r"\A[\w:+~@-][\w.:+~@-]{0,12}\Z", alphabet=string.printable)
segments = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=20
)
names = (
    st.lists(segments.filter(lambda text: not set(text) & {"/", "\\"}), min_size=1, max_size=4)
    .map("/".join)
    .filter(lambda name: not re.search(r"(?:\A|/)\.{1,2}(?:/|\Z)| (?:/|\Z)", name))
)
files = st.builds(FilePath, turns, names, st.sampled_from(["files", "attachments"]))
paths: st.SearchStrategy[Path] = st.one_of(
    st.builds(MessagePath, turns, st.sampled_from(["user.prompt", "assistant.completion"])),
    st.builds(NotesPath, turns, calls),
    st.builds(CallPath, turns, calls, st.sampled_from(["call", "notice", "result"])),
    files,
    st.builds(CodePath, turns, calls),
    st.sets(st.integers(0, 30), min_size=1).map(ranges_of).map(SourcesPath),
    st.from_regex(r"\A[A-Za-z0-9][a-z0-9_.-]{0,12}\Z").map(SkillPath),
)
anything = st.text(st.characters())
"""Any text, half characters and controls too."""

EXAMPLES: dict[str, Path] = {
    "ar:turn_1.user.prompt": MessagePath("turn_1", "user.prompt"),
    "ar:turn_1.assistant.completion": MessagePath("turn_1", "assistant.completion"),
    "ar:turn_1.react.notes.abc": NotesPath("turn_1", "abc"),
    "tc:turn_1.abc.call": CallPath("turn_1", "abc", "call"),
    "tc:turn_1.abc.notice": CallPath("turn_1", "abc", "notice"),
    "tc:turn_1.abc.result": CallPath("turn_1", "abc", "result"),
    "fi:turn_1.files/charts/a b.png": FilePath("turn_1", "charts/a b.png"),
    "fi:turn_1.user.attachments/notes.txt": FilePath("turn_1", "notes.txt", "attachments"),
    "fi:turn_1.code.abc": CodePath("turn_1", "abc"),
    "so:sources_pool[1,3-5]": SourcesPath(((1, 1), (3, 5))),
    "sk:writing.reports": SkillPath("writing.reports"),
}


@pytest.mark.parametrize(("text", "path"), EXAMPLES.items())
def test_each_form_is_read_and_written(text: str, path: Path) -> None:
    assert parse_path(text) == path
    assert str(path) == text


@given(paths)
def test_what_is_written_is_read_the_same(path: Path) -> None:
    assert parse_path(str(path)) == path
    assert normalize_path(f" {path}\n") == str(path)


@given(paths)
def test_a_path_is_one_line_of_whole_characters(path: Path) -> None:
    assert len(str(path).splitlines()) == 1
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in str(path))


@given(paths, paths)
def test_two_things_never_have_the_same_path(one: Path, other: Path) -> None:
    assert (str(one) == str(other)) == (one == other)


@given(
    st.tuples(
        st.sampled_from(["", "ar:", "tc:", "fi:", "so:", "sk:", "fi:t.files/", "so:sources_pool["]),
        anything,
        st.sampled_from(["", "]", ".call", ".files/x"]),
    ).map("".join)
)
@example("fi:t.files/\ud800")
@example("ar:\x00.user.prompt")
def test_any_text_is_a_path_or_a_bad_path(text: str) -> None:
    try:
        path = parse_path(text)
    except BadPath:
        return
    assert parse_path(str(path)) == path


@given(anything)
def test_any_text_is_a_physical_path_or_a_bad_path(text: str) -> None:
    for physical in (text, f"turn_1/files/{text}"):
        try:
            path = parse_physical(physical)
        except BadPath:
            continue
        assert parse_physical(path.physical) == path


@given(files)
def test_logical_and_physical_name_the_same_file(path: FilePath) -> None:
    assert parse_physical(path.physical) == path == parse_path(str(path))


def test_the_place_on_disk() -> None:
    assert FilePath("turn_1", "a/b.md").physical == "turn_1/files/a/b.md"
    assert FilePath("turn_1", "b.md", "attachments").physical == "turn_1/attachments/b.md"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fi",
        "fi:",
        "FI:turn_1.files/a",
        "xx:turn_1.files/a",
        "turn_1/files/a",
        "ar:turn_1.user.prompt.x",
        "ar:turn_1.react.notes.",
        "ar:.user.prompt",
        "ar:turn.1.user.prompt",
        "tc:turn_1.abc",
        "tc:turn_1.call",
        "tc:turn_1..call",
        "tc:turn_1.a b.call",
        "tc:turn_1.ä.call",
        "tc:turn_1.abc.output",
        "fi:turn_1.attachments/a",
        "fi:turn 1.files/a",
        "fi:turn_1.code.",
        "fi:turn_1.code.a/b",
        "so:sources_pool[]",
        "so:sources_pool[x]",
        "so:sources_pool[1",
        "so:sources_pool[1]]",
        "so:pool[1]",
        "sk:",
        "sk:../x",
        "sk:a/b",
        f"ar:{'t' * 101}.user.prompt",
    ],
)
def test_what_is_no_path_is_a_bad_path(text: str) -> None:
    with pytest.raises(BadPath) as caught:
        parse_path(text)
    assert caught.value.code == "bad_path"


@pytest.mark.parametrize(
    "name",
    ["..", "../a", "a/../b", "a/..", "/a", "//a", "a\\b", "a\x00", "a\nb", "", ".", "./", "\ud800"],
)
@pytest.mark.parametrize("start", ["fi:t.files/", "fi:t.user.attachments/"])
def test_what_leads_out_of_its_folder_is_unsafe(start: str, name: str) -> None:
    for read, text in ((parse_path, start + name), (parse_physical, f"t/files/{name}")):
        with pytest.raises(BadPath) as caught:
            read(text)
        assert caught.value.code == "unsafe_path"


@pytest.mark.parametrize("text", ["turn_1", "turn_1/a", "turn_1/files", "/files/a", "a.b/files/a"])
def test_what_is_no_place_on_disk_is_a_bad_path(text: str) -> None:
    with pytest.raises(BadPath) as caught:
        parse_physical(text)
    assert caught.value.code == "bad_path"


def test_names_that_look_like_other_forms_stay_names() -> None:
    assert parse_path("fi:t.files/code.x") == FilePath("t", "code.x")
    assert parse_path("fi:t.files/files/code.x") == FilePath("t", "files/code.x")
    assert parse_path("fi:t.files/user.attachments/x") == FilePath("t", "user.attachments/x")
    assert parse_path("tc:t.a.call.result") == CallPath("t", "a.call", "result")
    assert parse_path("tc:t.call.call") == CallPath("t", "call", "call")
    assert parse_path("ar:t.react.notes.user.prompt") == NotesPath("t", "user.prompt")
    assert parse_path("fi:t.code.files:x") == CodePath("t", "files:x")


def test_the_unicode_form_of_a_name_is_kept() -> None:
    composed, apart = "fi:t.files/\u00e9", "fi:t.files/e\u0301"
    assert normalize_path(composed) == composed
    assert normalize_path(apart) == apart


def test_a_file_may_be_named_in_any_spelling() -> None:
    assert file_path("t", "./a//b/./c ") == FilePath("t", "a/b/c")
    assert file_path("t", " a") == FilePath("t", " a") == parse_path("fi:t.files/ a")
    assert file_path("t", "x", "attachments") == FilePath("t", "x", "attachments")
    assert normalize_path("fi:t.files/./a//b") == "fi:t.files/a/b"


@pytest.mark.parametrize("name", ["./a", "a/", "a//b", "../a", ""])
def test_a_path_of_a_file_is_made_of_its_normal_name_only(name: str) -> None:
    with pytest.raises(BadPath) as caught:
        FilePath("t", name)
    assert caught.value.code == "unsafe_path"


@pytest.mark.parametrize("ranges", [(), ((3, 1),), ((5, 5), (1, 1)), ((1, 2), (3, 3)), ((-1, 1),)])
def test_sources_are_named_by_the_fewest_ranges(ranges: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(BadPath):
        SourcesPath(ranges)


def test_a_selector_has_one_spelling() -> None:
    assert normalize_path("so:sources_pool[ 5 - 3 , 1,2 ]") == "so:sources_pool[1-5]"


@given(anything)
@example("")
@example("a.b")
@example("a" * 500)
def test_any_id_of_a_call_can_stand_in_a_path(id: str) -> None:
    path = CallPath("t", call_segment("t", id), "call")
    assert parse_path(str(path)) == path


@given(anything, anything)
def test_different_ids_have_different_segments(one: str, other: str) -> None:
    assume(one != other)
    assert call_segment("t", one) != call_segment("t", other)


@pytest.mark.parametrize("id", ["tool-call-1", "tool-call-12-2", "a b", "", "x" * 200, "\ud800"])
def test_an_id_that_is_no_name_for_a_call_has_one_made_of_turn_and_id(id: str) -> None:
    made = call_segment("turn_1", id)
    assert re.fullmatch("tc_[0-9a-f]{12}", made)
    assert made == call_segment("turn_1", id) != call_segment("turn_2", id)


@pytest.mark.parametrize("id", ["abc", "tc_0123456789ab", "tool-call-x", "functions.get:0", "a.b."])
def test_a_usual_id_stands_for_itself(id: str) -> None:
    assert call_segment("t", id) == id


def test_a_turn_has_no_dot() -> None:
    assert is_turn_id("turn_1")
    assert not is_turn_id("turn.1")
    assert not is_turn_id("turn_1\n")


@pytest.mark.parametrize(
    "text",
    [
        "fi:t.files/" + "a/" * 200_000,
        "so:sources_pool[" + "1-2," * 100_000 + "x]",
        ":" * 1_000_000,
        "so:sources_pool[" + " " * 1_000_000 + "]",
        "tc:" + "." * 1_000_000 + "call",
    ],
    ids=["deep", "ranges", "colons", "blanks", "dots"],
)
def test_a_huge_text_is_refused(text: str) -> None:
    with pytest.raises(BadPath) as caught:
        parse_path(text)
    assert len(str(caught.value)) < 300
