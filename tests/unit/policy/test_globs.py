from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.globs import (
    holds_command,
    holds_host,
    holds_path,
    holds_text,
    is_exact,
    segments,
)


@pytest.mark.parametrize("pattern", ["a*", "a?", "a[b]", "*", "["])
def test_a_pattern_with_a_wildcard_is_not_exact(pattern: str) -> None:
    assert not is_exact(pattern)


def test_a_pattern_without_a_wildcard_is_exact() -> None:
    assert is_exact("a.b-c]!")


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        ("file_*", "file_read", True),
        ("file_*", "file_", True),
        ("file_*", "xfile_read", False),
        ("file_*", "File_read", False),
        ("FILE", "file", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("[ab]c", "bc", True),
        ("[!ab]c", "bc", False),
        ("*", "", True),
        ("a*", "a\nb", True),
        ("a", "a\n", False),
        ("a.c", "abc", False),
    ],
)
def test_a_name_pattern_fits_the_whole_text(pattern: str, text: str, holds: bool) -> None:
    assert holds_text(pattern, text) is holds


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log*", "git log"),
        ("git log*", "git log --format=a/b:c,d+e@f_g.h"),
        ("git log*", "git log naïve 日本"),
        ("*", "make test"),
        ("make tes?", "make test"),
        ("make [a-z]*", "make test"),
        ("make | tee *", "make | tee out.txt"),
        ("*|*", "make|tee"),
        ("a; b; *", "a; b; c"),
        ("ls [*]", "ls *"),
        ("ls [*].py", "ls *.py"),
        ("echo '*'", "echo 'a b'"),
        ("[[]", "["),
        ("a]", "a]"),
        ("[", "["),
        ("[;", "[;"),
    ],
)
def test_a_command_fits_when_its_signs_are_in_the_pattern(pattern: str, command: str) -> None:
    assert holds_command(pattern, command)


@pytest.mark.parametrize("sign", list(";|&$`<>(){}[]\n\r\t\\\"'*?!#~^%\x00\x1b\x7f\u2028；"))
def test_no_wildcard_stands_for_a_sign(sign: str) -> None:
    assert holds_text("git log*", f"git log {sign}x")
    assert not holds_command("git log*", f"git log {sign}x")
    assert not holds_command("git log?", f"git log{sign}")
    assert not holds_command("git log[!a]", f"git log{sign}")
    assert not holds_command("*", sign)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git log", "git logs"),
        ("a|*", "a|b|c"),
        ("a|*", "a|b;c"),
        ("a;b", "a;c"),
        ("[;]*", ";;"),
        ("[;a]", ";"),
        ("[!a]", ";"),
        ("[;-;]", ";"),
        ("[]]", "]"),
        ("[!][;]", "x;"),
        ("[][;]", ";"),
        ("[!];*", "x;"),
        ("*;*", "a;b;c"),
    ],
)
def test_a_command_with_more_signs_than_the_pattern_does_not_fit(
    pattern: str, command: str
) -> None:
    assert not holds_command(pattern, command)


PLAIN = r"[^\W_]|[ _\-./:,=+@]"
PART = st.sampled_from(
    [("*", f"(?:{PLAIN})*"), ("?", f"(?:{PLAIN})"), ("[;]", ";"), ("[[]", r"\[")]
    + [(char, re.escape(char)) for char in "ab ;|'=/\n]"]
)


@given(st.lists(PART, max_size=6), st.text("ab ;|'=/\n[]", max_size=8))
def test_a_wildcard_in_a_command_stands_for_plain_text_only(
    parts: list[tuple[str, str]], command: str
) -> None:
    pattern = "".join(shown for shown, _ in parts)
    meant = "".join(expression for _, expression in parts)
    assert holds_command(pattern, command) == bool(re.fullmatch(meant, command))


@pytest.mark.parametrize(
    ("path", "names"),
    [("", ()), (".", ()), ("a", ("a",)), ("./a//b/", ("a", "b")), ("a..b/...", ("a..b", "..."))],
)
def test_a_path_goes_through_names(path: str, names: tuple[str, ...]) -> None:
    assert segments(path) == names


@pytest.mark.parametrize(
    ("pattern", "path", "holds"),
    [
        ("notes/**", "notes/a", True),
        ("notes/**", "notes/a/b/c", True),
        ("notes/**", "notes", True),
        ("notes/**", "notes2/a", False),
        ("notes/**", "x/notes/a", False),
        ("notes/**", ".", False),
        ("notes/*", "notes/a", True),
        ("notes/*", "notes/a/b", False),
        ("notes/*", "notes", False),
        ("*.md", "a.md", True),
        ("*.md", "x/a.md", False),
        ("*", ".", False),
        ("*", "a", True),
        ("**", ".", True),
        ("**", "", True),
        ("**", "a/b", True),
        (".", ".", True),
        (".", "a", False),
        ("./a", "a", True),
        ("a/", "a", True),
        ("**/x", "x", True),
        ("**/x", "a/b/x", True),
        ("**/x", "a/x/b", False),
        ("**/x", "xx", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/c/d/b", True),
        ("a/**/b", "a/c", False),
        ("a/**/b", "a/b/c", False),
        ("**/a/**/b/**", "x/a/y/b/z", True),
        ("**/**", "a", True),
        ("a?/[bc]", "ax/c", True),
        ("A", "a", False),
        ("a", "a/b", False),
        ("a/b", "a", False),
        ("a*b", "a/b", False),
    ],
)
def test_a_path_pattern_fits_by_segments(pattern: str, path: str, holds: bool) -> None:
    assert holds_path(pattern, path) is holds


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**"]), max_size=5),
    st.lists(st.sampled_from(["a", "b", "c"]), max_size=6),
)
def test_a_path_pattern_means_what_the_plain_definition_says(
    pattern: list[str], path: list[str]
) -> None:
    assert holds_path("/".join(pattern), "/".join(path)) == by_definition(pattern, path)


def by_definition(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(by_definition(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and pattern[0] in ("*", path[0]) and by_definition(pattern[1:], path[1:])


@pytest.mark.parametrize(
    ("pattern", "host", "holds"),
    [
        ("example.org", "example.org", True),
        ("example.org", "a.example.org", False),
        ("example.org", "example.org.evil.net", False),
        ("*.example.org", "a.example.org", True),
        ("*.example.org", "b.a.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "evilexample.org", False),
        ("*", "example.org", True),
        ("*", "::1", True),
        ("::1", "::1", True),
    ],
)
def test_a_host_pattern_fits_one_host_or_all_below(pattern: str, host: str, holds: bool) -> None:
    assert holds_host(pattern, host) is holds
