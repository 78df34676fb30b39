from __future__ import annotations

from typing import Any

import pytest

from callblocks.policy.rules import hint, rule_fault

PATH_OUT = "leaves the workspace: a path is relative to it, without .."
HOST_TIP = "is no host as it is compared: no scheme, no port, * only as in *.name"
TRAITS = "read_only, destructive, idempotent, open_world, plain, writer, exec, source"


@pytest.mark.parametrize(
    ("fields", "key", "problem"),
    [
        ({"decide": "alow"}, "decide", '"alow" is none of allow, ask, deny; did you mean "allow"?'),
        ({"decide": "zzz"}, "decide", '"zzz" is none of allow, ask, deny'),
        ({"decide": None}, "decide", "None is none of allow, ask, deny"),
        ({"decide": ["deny"]}, "decide", "['deny'] is none of allow, ask, deny"),
        (
            {"decide": "allow"},
            "decide",
            'this allows every call; if you mean it, add tool = "*"',
        ),
        (
            {"decide": "allow", "tainted": False, "because": "x", "tool": (), "argument": {}},
            "decide",
            'this allows every call; if you mean it, add tool = "*"',
        ),
        ({"tool": "x"}, "tool", '"x" is no list of patterns; write ("x",)'),
        ({"tool": 7}, "tool", "7 is no list of patterns"),
        ({"tool": ("a", "")}, "tool", "an empty pattern fits nothing; leave it out"),
        ({"tool": ("a", 7)}, "tool", "7 is no text"),
        (
            {"tool": ("a\ud800",)},
            "tool",
            "'a\\ud800' has half a character in it, which no file can hold",
        ),
        (
            {"tool": ("\udfff",)},
            "tool",
            "'\\udfff' has half a character in it, which no file can hold",
        ),
        ({"trait": "exec"}, "trait", '"exec" is no list of patterns; write ("exec",)'),
        ({"trait": ("exe",)}, "trait", f'"exe" is none of {TRAITS}; did you mean "exec"?'),
        (
            {"trait": ("!open_word",)},
            "trait",
            f'"!open_word" is none of {TRAITS}; did you mean "open_world"?',
        ),
        ({"trait": ("!!exec",)}, "trait", f'"!!exec" is none of {TRAITS}; did you mean "exec"?'),
        ({"argument": ("a",)}, "argument", "('a',) names no arguments"),
        ({"argument": {"": ("a",)}}, "argument.", "an argument has a name"),
        ({"argument": {7: ("a",)}}, "argument.7", "7 is no text"),
        (
            {"argument": {"a": ("x",), "b": "x"}},
            "argument.b",
            '"x" is no list of patterns; write ("x",)',
        ),
        ({"argument": {"a": ()}}, "argument.a", "no pattern is given; * fits any value"),
        ({"path": ("/a",)}, "path", f'"/a" {PATH_OUT}'),
        ({"path": ("../a",)}, "path", f'"../a" {PATH_OUT}'),
        ({"path": ("a/..",)}, "path", f'"a/.." {PATH_OUT}'),
        ({"path": ("a\0",)}, "path", f"'a\\x00' {PATH_OUT}"),
        (
            {"path": ("a/**.md",)},
            "path",
            '"a/**.md": ** stands alone between slashes; within a name write *',
        ),
        (
            {"host": ("Example.org",)},
            "host",
            '"Example.org" is no host as it is compared; write "example.org"',
        ),
        (
            {"host": ("*.Example.org",)},
            "host",
            '"*.Example.org" is no host as it is compared; write "*.example.org"',
        ),
        (
            {"host": ("example.org:80",)},
            "host",
            f'"example.org:80" {HOST_TIP}',
        ),
        ({"host": ("http://example.org",)}, "host", f'"http://example.org" {HOST_TIP}'),
        ({"host": ("a.*.org",)}, "host", f'"a.*.org" {HOST_TIP}'),
        ({"host": ("*example.org",)}, "host", f'"*example.org" {HOST_TIP}'),
        ({"host": ("*.",)}, "host", f'"*." {HOST_TIP}'),
        ({"host": ("[::1]",)}, "host", f'"[::1]" {HOST_TIP}'),
        ({"host": ("0:0::1",)}, "host", '"0:0::1" is no host as it is compared; write "::1"'),
        ({"tainted": "yes"}, "tainted", '"yes" is not true or false'),
        ({"tainted": 1}, "tainted", "1 is not true or false"),
        ({"because": 7}, "because", "7 is no text"),
        ({"because": None}, "because", "None is no text"),
    ],
)
def test_a_fault_names_the_key_the_value_and_the_way_out(
    fields: dict[str, Any], key: str, problem: str
) -> None:
    fault = rule_fault({"decide": "deny", **fields})
    assert fault is not None
    assert (fault.key, fault.problem) == (key, problem)


@pytest.mark.parametrize(
    "fields",
    [
        {"decide": "ask"},
        {"decide": "deny"},
        {"decide": "allow", "tool": ("*",)},
        {"decide": "allow", "trait": ("read_only", "!plain", "writer", "!source")},
        {"decide": "allow", "argument": {"a.b": ("x", "é\ue000")}},
        {"decide": "allow", "path": ("**", "a..b", ".", "a/**/b*")},
        {"decide": "allow", "host": ("*", "example.org", "*.example.org", "::1", "127.0.0.1")},
        {"decide": "ask", "tainted": True, "because": ""},
        {"decide": "ask", "tainted": False},
        {"decide": "ask", "tainted": None},
    ],
)
def test_what_can_be_meant_has_no_fault(fields: dict[str, Any]) -> None:
    assert rule_fault(fields) is None


def test_a_long_value_is_cut() -> None:
    fault = rule_fault({"decide": "x" * 200})
    assert fault is not None
    assert fault.problem == f'"{"x" * 80}" is none of allow, ask, deny'


def test_a_hint_is_given_only_for_a_close_word() -> None:
    assert hint("tol", ("tool", "path")) == '; did you mean "tool"?'
    assert hint("zzz", ("tool", "path")) == ""
