from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.guard.files.real_path import (
    HERE,
    MAX_DEPTH,
    MAX_NAME,
    MAX_PATH,
    relative,
    unsafe,
)

FINE = {
    "x": "x",
    "./x": "x",
    "././/x": "x",
    "a//b": "a/b",
    "a/./b": "a/b",
    "a/b/": "a/b",
    "a/.": "a",
    ".": ".",
    "./": ".",
    "./.": ".",
    "a..b": "a..b",
    "...": "...",
    "..a": "..a",
    "a..": "a..",
    "a/..b/c": "a/..b/c",
    ".hidden": ".hidden",
    "a b": "a b",
    " ": " ",
    "a ": "a ",
    "a.": "a.",
    "x~": "x~",
    "a/~b": "a/~b",
    "a/C:b": "a/C:b",
    "1:x": "1:x",
    "ab:c": "ab:c",
    "🛠️/👩💻.md": "🛠️/👩💻.md",
    "．．/x": "．．/x",
    "..／x": "..／x",
    "%2e%2e/x": "%2e%2e/x",
    ".. /x": ".. /x",
    "-rf": "-rf",
    "$HOME": "$HOME",
    "*": "*",
    "\xa0": "\xa0",
    "\u202f\u2027\u2065": "\u202f\u2027\u2065",
    "\ud7ff\ue000": "\ud7ff\ue000",
}

REFUSED = {
    "": "empty",
    "..": "..",
    "../x": "..",
    "a/..": "..",
    "a/../b": "..",
    "a//..//b": "..",
    "./..": "..",
    "/": "absolute",
    "/etc/passwd": "absolute",
    "//server/share": "absolute",
    "..\\x": "backslash",
    "a\\b": "backslash",
    "\\\\server\\share": "backslash",
    "~": "home",
    "~/x": "home",
    "~root/x": "home",
    "./~/x": "home",
    ".//./~": "home",
    "C:": "drive",
    "c:/x": "drive",
    "z:x": "drive",
    "A:x": "drive",
    "Z:x": "drive",
    "a:x": "drive",
    "./C:x": "drive",
    "\x00": "control",
    "a\x00b": "control",
    "a\n": "control",
    "\x1f": "control",
    "\x7f": "control",
    "\x80": "control",
    "\x9f": "control",
    "\u2028": "control",
    "\u2029": "control",
    "\u202a": "control",
    "a\u202egnp.exe": "control",
    "\u2066": "control",
    "\u2069": "control",
    "👩\u200d💻.md": "invisible",
    "a\u200b": "invisible",
    "\u200f": "invisible",
    "\ufeffa": "invisible",
    "so\xadft": "invisible",
    "a/\u2060": "invisible",
    "\u206a": "invisible",
    "\U000e0041": "invisible",
    "\ud800": "surrogate",
    "a/\udcff": "surrogate",
    "x\udfff": "surrogate",
}


@pytest.mark.parametrize(("path", "normal"), FINE.items())
def test_a_fine_path_becomes_normal(path: str, normal: str) -> None:
    assert relative(path) == normal


@pytest.mark.parametrize(("path", "reason"), REFUSED.items())
def test_an_unsafe_path_is_refused_with_its_reason(path: str, reason: str) -> None:
    with pytest.raises(ToolError) as raised:
        relative(path)
    assert raised.value.code == "unsafe_path"
    fault = raised.value.message.partition(" is refused: it ")[2]
    assert reason in fault


def test_the_refusal_names_the_path_and_can_be_shown() -> None:
    error = unsafe("a\ud800", "why")
    assert error.message == "the path 'a\\ud800' is refused: why"
    assert error.message.encode()


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_name_may_have_as_many_bytes_as_a_file_system_takes(letter: str) -> None:
    most = letter * (MAX_NAME // len(letter.encode()))
    assert MAX_NAME == 255
    assert relative(f"a/{most}") == f"a/{most}"
    with pytest.raises(ToolError, match="name in it is longer than 255 bytes"):
        relative(f"a/{most}{letter}")


def test_a_path_may_have_as_many_bytes_as_the_kernel_takes() -> None:
    most = "/".join(["é" * 127] * 16)
    assert MAX_PATH == len(most.encode()) + 16 == 4095
    assert relative(most + "/" * 16) == most
    with pytest.raises(ToolError, match="longer than 4095 bytes"):
        relative(most + "/" * 17)
    with pytest.raises(ToolError, match="longer than 4095 bytes"):
        relative("\ud800" * 1366)


def test_a_path_may_be_only_so_deep() -> None:
    most = "/".join("x" * MAX_DEPTH)
    assert MAX_DEPTH == 128
    assert relative(most + "/./") == most
    with pytest.raises(ToolError, match="nested deeper than 128 folders"):
        relative(most + "/x")


@given(st.characters(categories=["Cf"]), st.text(), st.text())
def test_a_character_that_nobody_sees_is_in_no_path(char: str, before: str, after: str) -> None:
    with pytest.raises(ToolError) as raised:
        relative(before + char + after)
    assert raised.value.code == "unsafe_path"


@given(st.text(st.sampled_from("./\\~C: a\x00é🛠\ud800"), max_size=12) | st.text())
@example("./~")
def test_what_passes_is_normal_and_below(path: str) -> None:
    try:
        normal = relative(path)
    except ToolError:
        return
    assert relative(normal) == normal
    assert normal == HERE or not {"", ".", ".."} & set(normal.split("/"))
    # Nothing was cut out: the names are those of the path, in order.
    assert [n for n in path.split("/") if n not in ("", ".")] == [
        n for n in normal.split("/") if n != HERE
    ]
