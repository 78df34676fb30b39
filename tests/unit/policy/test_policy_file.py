from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import BadPolicy
from callblocks.policy.policy import (
    LARGEST,
    Policy,
    line_of,
    parse_policy,
    read_policy,
    write_policy,
)
from callblocks.policy.rules import Rule
from support.policies import policies

FILE = """\
autoexec = true            # false: nothing runs

[[rule]]
decide = "allow"
tool = ["file_read", "file_list"]
path = "notes/**"
because = "my notes are mine to read"

[[rule]]
decide = "deny"
tool = "terminal_*"
trait = ["exec", "!read_only"]
host = "*.example.org"
tainted = false
argument.command = "rm *"
argument.mail.to = ["a", "b"]
argument."a.b" = "x"
"""
RULES = (
    Rule(
        decide="allow",
        tool=("file_read", "file_list"),
        path=("notes/**",),
        because="my notes are mine to read",
    ),
    Rule(
        decide="deny",
        tool=("terminal_*",),
        trait=("exec", "!read_only"),
        host=("*.example.org",),
        tainted=False,
        argument={"command": ("rm *",), "mail.to": ("a", "b"), "a.b": ("x",)},
    ),
)


def test_a_file_says_what_python_values_say(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(FILE, encoding="utf-8")
    assert read_policy(path) == Policy(RULES, str(path), True)
    assert read_policy(str(path)).name == str(path)


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        ("", False),
        ("autoexec = true", True),
        ("autoexec = false", False),
        ('[[rule]]\ndecide = "ask"', True),
        ('autoexec = false\n[[rule]]\ndecide = "ask"', False),
        ("rule = []", False),
        ('rule = [{decide = "ask"}]', True),
    ],
)
def test_a_file_with_rules_is_on_unless_it_says_otherwise(text: str, enabled: bool) -> None:
    assert parse_policy(text).enabled is enabled
    assert parse_policy(text).name == ""


def test_a_policy_is_written_to_be_read_by_people() -> None:
    assert write_policy(Policy(RULES)) == (
        "autoexec = true\n"
        "\n"
        "[[rule]]\n"
        'decide = "allow"\n'
        'tool = ["file_read", "file_list"]\n'
        'path = "notes/**"\n'
        'because = "my notes are mine to read"\n'
        "\n"
        "[[rule]]\n"
        'decide = "deny"\n'
        'tool = "terminal_*"\n'
        'trait = ["exec", "!read_only"]\n'
        'host = "*.example.org"\n'
        'argument."command" = "rm *"\n'
        'argument."mail.to" = ["a", "b"]\n'
        'argument."a.b" = "x"\n'
        "tainted = false\n"
    )
    assert write_policy(Policy.off()) == "autoexec = false\n"
    assert write_policy(Policy.ask_all()) == "autoexec = true\n"


@given(policies)
def test_what_is_written_is_read_as_the_same(policy: Policy) -> None:
    assert parse_policy(write_policy(policy), policy.name) == policy
    assert parse_policy(write_policy(policy)).digest == policy.digest


@given(st.text() | st.text('[]="\n.{}rule decid', max_size=40))
def test_any_text_is_a_policy_or_is_refused_in_words(text: str) -> None:
    try:
        assert isinstance(parse_policy(text), Policy)
    except BadPolicy as error:
        assert str(error)  # noqa: PT017 most texts are none, some are


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules = []", "'rules' is no key of a policy; did you mean \"rule\"?"),
        ("zzz = 1", "'zzz' is no key of a policy"),
        ('autoexec = "no"', "autoexec: 'no' is not true or false"),
        ("autoexec = 0", "autoexec: 0 is not true or false"),
        ('rule = "x"', "rule: 'x' is no rule; write [[rule]] above each"),
        (
            '[rule]\ndecide = "ask"',
            "rule: {'decide': 'ask'} is no rule; write [[rule]] above each",
        ),
        ("rule = [1]", "rule: 1 is no rule; write [[rule]] above each"),
        ("[[rule]]\ntool = 'x'", "rule 1 (line 1), decide: is missing: allow, ask or deny"),
        (
            '[[rule]]\ndecide = "allow"',
            'rule 1 (line 2), decide: this allows every call; if you mean it, add tool = "*"',
        ),
        (
            '# first\n[[rule]]\ndecide = "ask"\n\n [[ rule ]]\ndecide = "deny"\n\ttools = "x"\n',
            'rule 2 (line 7), tools: no rule has this key; did you mean "tool"?',
        ),
        (
            '[[rule]]\ndecide = "ask"\nargument.a = [""]',
            "rule 1 (line 3), argument.a: an empty pattern fits nothing; leave it out",
        ),
        (
            '[[rule]]\ndecide = "ask"\nargument = {a = ""}',
            "rule 1 (line 1), argument.a: an empty pattern fits nothing; leave it out",
        ),
        (
            'rule = [{decide = "ask"}, {decide = "ask", tool = 1}]',
            "rule 2, tool: 1 is no list of patterns",
        ),
        (
            '[[rule]]\ndecide = "ask"\nbecause = """\n[[rule]]\n"""\ntool = 1',
            "rule 1, tool: 1 is no list of patterns",
        ),
        (
            '[[rule]]\ndecide = "ask"\ntool = []',
            "rule 1 (line 3), tool: no pattern is given; leave the key out",
        ),
        (
            '[[rule]]\ndecide = "ask"\nargument.a = []',
            "rule 1 (line 3), argument.a: no pattern is given; * fits any value",
        ),
        (
            '[[rule]]\ndecide = "ask"\nargument = 1',
            "rule 1 (line 3), argument: 1 names no arguments",
        ),
        (
            '[[rule]]\ndecide = "ask"\nargument.a.b = "x"\nargument."a.b" = "y"',
            "rule 1 (line 1), argument: two names are the same once their dots are read",
        ),
        (
            '[[rule]]\ndecide = "ask"\ntainted = "x"\n[[rule]]\ndecide = "ask"\ntainted = true',
            'rule 1 (line 3), tainted: "x" is not true or false',
        ),
        (
            '[[rule]]\ndecide = "ask"\n[[rule]]\ntool = "x"\n[[rule]]\ndecide = "ask"',
            "rule 2 (line 3), decide: is missing: allow, ask or deny",
        ),
        (
            '[[rule]]\r\ndecide = "ask"\r\ntool = 2030-01-01',
            "rule 1 (line 3), tool: datetime.date(2030, 1, 1) is no list of patterns",
        ),
    ],
)
def test_what_is_not_understood_is_refused_by_rule_line_and_key(text: str, words: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        parse_policy(text)
    assert str(refused.value) == words
    with pytest.raises(BadPolicy) as refused:
        parse_policy(text, "p.toml")
    assert str(refused.value) == f"p.toml: {words}"


def test_what_is_no_toml_is_refused_with_the_place() -> None:
    with pytest.raises(BadPolicy, match=r"^p.toml: not TOML: .*line 2"):
        parse_policy("autoexec = true\nx ? y\n", "p.toml")


def test_a_line_is_told_only_where_it_is_certain() -> None:
    text = '[[rule]]\ndecide = "ask"\n[[rule]]\ntool = 1\n'
    assert line_of(text, 2, 2, "tool") == 4
    assert line_of(text, 1, 2, "tool") == 1
    assert line_of(text, 1, 1, "tool") is None
    assert line_of("rule = [{}]", 1, 1, "tool") is None


def test_a_text_nested_without_end_is_refused() -> None:
    with pytest.raises(BadPolicy, match=r"^p: nested too deep to be a policy$"):
        parse_policy("rule = " + "[" * 100_000, "p")


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPolicy, match=r"policy.toml: cannot be read: No such file or directory$"):
        read_policy(tmp_path / "policy.toml")
    with pytest.raises(BadPolicy, match=r"cannot be read: Is a directory$"):
        read_policy(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b"# \xff")
    with pytest.raises(
        BadPolicy, match=r"policy.toml: not UTF-8 text: invalid start byte at byte 2$"
    ):
        read_policy(path)


def test_a_file_may_be_as_large_as_a_policy_ever_is(tmp_path: Path) -> None:
    assert LARGEST == 1_000_000
    path = tmp_path / "policy.toml"
    path.write_bytes(b"#" * LARGEST)
    assert read_policy(path) == Policy(name=str(path))
    path.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(
        BadPolicy, match=r"policy.toml: larger than 1000000 bytes, which no policy is$"
    ):
        read_policy(path)
