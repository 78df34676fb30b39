from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.model.redaction import (
    REDACTED,
    is_secret_key,
    redact,
    redact_start,
    without_secrets,
)

KEY_BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

SHAPES = (
    "sk-proj-abcDEF1234567890",
    "sk-ant-api03-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0123456789_abcdef",
    "glpat-abcdefghij0123456789",
    "xoxb-123456789012-abcdef",
    "xoxp-123456789012-abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "sk_live_abcdefghij1234",
    JWT,
    KEY_BLOCK,
)


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("see ", " there"), ('"', '"'), ("\n", "\n"), ("x=", ",")]
)
def test_a_secret_is_known_by_its_shape(secret: str, before: str, after: str) -> None:
    assert redact(before + secret + after) == before + REDACTED + after


@pytest.mark.parametrize("secret", SHAPES)
def test_a_secret_on_its_own_line_is_found_inside_json_too(secret: str) -> None:
    assert redact(json.dumps({"stdout": f"first\n{secret}\nlast"})) == (
        '{"stdout": "first\\n[redacted]\\nlast"}'
    )


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("api_key=abc123xyz", "api_key=[redacted]"),
        ("API_KEY: abc123xyz", "API_KEY: [redacted]"),
        ("GITHUB_TOKEN=abc123xyz ls", "GITHUB_TOKEN=[redacted] ls"),
        ('{"password": "hunter2", "user": "me"}', '{"password": "[redacted]", "user": "me"}'),
        ('{"password": "a\\"b c"}', '{"password": "[redacted]"}'),
        ("{'clientSecret': 'x y'}", "{'clientSecret': '[redacted]'}"),
        (r"{\"token\": \"abc\"}", r"{\"token\": \"[redacted]\"}"),
        ('os.environ["API_KEY"] = "abc"', 'os.environ["API_KEY"] = "[redacted]"'),
        ("https://host/?token=abc123xyz&page=2", "https://host/?token=[redacted]&page=2"),
        ("https://me:pw@host/path", "https://me:[redacted]@host/path"),
        ("Authorization: Basic dXNlcjpwdw==", "Authorization: [redacted]"),
        ('-H "authorization: Token abc" url', '-H "authorization: [redacted]" url'),
        ('{"Authorization": "Bearer a b"}', '{"Authorization": "[redacted]"}'),
        ("use Bearer abc123def456 here", "use Bearer [redacted] here"),
        ("token: Bearer abc123def456", "token: [redacted] [redacted]"),
        ('password="cut off in the mid', 'password="[redacted]'),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", "[redacted]"),
    ],
)
def test_a_secret_is_known_by_what_stands_before_it(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=1000000",
        "def login(token: str, secret: string) -> None: ...",
        "token = get_token()",
        'token = os.environ["TOKEN"]',
        "Bearer authentication is required",
        "the task-list-of-2024-01-02 is long",
        "sk-circle-fade-dot",
        'password=""',
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "https://host:8080/a@b",
        'run_shell_command(args=["pwd"]) → /app',
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("key", ["api_key", "apiKey", "X-Api-Key", "dbPassword", "GITHUB_TOKEN"])
def test_a_key_says_that_its_value_is_secret(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize("key", ["max_tokens", "key", "tokenizer", "secretary", "path"])
def test_an_ordinary_key_says_nothing(key: str) -> None:
    assert not is_secret_key(key)


@given(
    st.integers(0, 3000),
    st.integers(0, 3000),
    st.sampled_from([*SHAPES, "eyJhbGciOiJIUzI1NiJ9." + "a" * 5000 + ".b"]),
)
def test_the_start_of_a_long_text_shows_no_secret(before: int, after: int, secret: str) -> None:
    text = "." * before + secret + "." * after
    assert redact_start(text, 100)[:100] == redact(text)[:100]


def test_a_start_that_shrinks_is_made_from_more_text() -> None:
    blocks = KEY_BLOCK.replace("IBAAKC", "A" * 5000) + " "
    text = blocks * 20 + "the end"
    assert redact_start(text, 500) == redact(text) == "[redacted] " * 20 + "the end"


@given(st.text(alphabet="abc \n\"'\\:=.-_[](){}0123@/", max_size=60))
def test_text_without_names_or_shapes_of_secrets_stays(text: str) -> None:
    assert redact(text) == text or "://" in text


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    assert isinstance(redact(text), str)


def test_what_is_called_is_no_secret_and_costs_nothing() -> None:
    assert redact("token = read_token(path)") == "token = read_token(path)"
    many = "token=" * 20_000 + "("
    assert redact(many) == many


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("login --password hunter2 now", "login --password [redacted] now"),
        ("deploy --api-key abcd1234", "deploy --api-key [redacted]"),
        ("deploy --token --force", "deploy --token --force"),
        ("Set-Cookie: sid=38afes7a8; Path=/", "Set-Cookie: [redacted]"),
        ("cookie: a=bcdef\nhost: x", "cookie: [redacted]\nhost: x"),
        ("the cookie: yes, it is good", "the cookie: yes, it is good"),
        ("DB_PASS=hunter2x", "DB_PASS=[redacted]"),
        ("compass=north", "compass=north"),
    ],
)
def test_options_of_commands_cookies_and_pass_are_secrets(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_secrets_go_by_their_key_and_by_their_look() -> None:
    given = {
        "password": "hunter2hunter2",
        "token": 12345,
        "api_key": "",
        "secret": True,
        "credentials": {"password": "x1x2x3x4"},
        "log": ["password=hunter2hunter2"],
        "count": 3,
    }
    found = without_secrets(given)
    assert "hunter2" not in str(found)
    assert "x1x2x3x4" not in str(found)
    assert (found["api_key"], found["secret"], found["count"]) == ("", True, 3)
    assert found["token"] == found["password"] == "[redacted]"
