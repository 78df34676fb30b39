"""A name says of the value beside it that it is a secret, however the two are put."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.redaction import mask_secrets, without_secrets

SECRET = "hunter2hunter2"
HIDDEN = "••••••••"


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
    assert found["token"] == found["password"] == "••••••••"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"password": [SECRET, 5]}, {"password": [HIDDEN, HIDDEN]}),
        ({"token": {"access": SECRET, "ok": True}}, {"token": {"access": HIDDEN, "ok": True}}),
        ({"secret": None}, {"secret": None}),
        (["login", "--password", SECRET], ["login", "--password", HIDDEN]),
        (["x", "-password", SECRET], ["x", "-password", HIDDEN]),
        (["x", "--token", "--force"], ["x", "--token", "--force"]),
        (["/bin/curl", "-u", f"me:{SECRET}"], ["/bin/curl", "-u", f"me:{HIDDEN}"]),
        ({"env": [["DB_PASSWORD", SECRET]]}, {"env": [["DB_PASSWORD", HIDDEN]]}),
        (
            [{"name": "Authorization", "value": f"Basic {SECRET}"}],
            [{"name": "Authorization", "value": f"Basic {HIDDEN}"}],
        ),
        ({"key": "API_TOKEN", "val": 12345}, {"key": "API_TOKEN", "val": HIDDEN}),
        ({"name": "Cookie", "value": f"sid={SECRET}"}, {"name": "Cookie", "value": HIDDEN}),
        ({"Set-Cookie": [f"sid={SECRET}"]}, {"Set-Cookie": [HIDDEN]}),
        ({"cookies": {"sid": SECRET, "n": 3}}, {"cookies": {"sid": HIDDEN, "n": 3}}),
        (
            {"cookies": [{"name": "sid", "value": SECRET, "domain": "a.example"}]},
            {"cookies": [{"name": "sid", "value": HIDDEN, "domain": "a.example"}]},
        ),
        ({"pwd": SECRET, "dbPwd": SECRET}, {"pwd": HIDDEN, "dbPwd": HIDDEN}),
        ({f"token={SECRET}": 1}, {f"token={HIDDEN}": 1}),
    ],
)
def test_a_secret_is_found_beside_its_name(value: Any, shown: Any) -> None:
    assert without_secrets(value) == shown


@pytest.mark.parametrize(
    "value",
    [
        {"pwd": "/home/me", "PWD": "C:\\work", "OLDPWD": "~", "cwd": SECRET, "empty_pwd": ""},
        {"cookie": "chocolate and nuts", "cookies": 3, "Cookies": {"oat": "with butter"}},
        {"properties": {"token": {"type": "string", "description": "of the account"}}},
        [["password", "varchar"], ["password", "email"], ["token", 512], ["user", SECRET]],
        ["docker", "-u", "1000:1000"],
        ["mkdir", "-p", "password/of/x"],
        ["password", "username", "a new password is needed"],
        {"name": "report", "value": SECRET},
        {"name": "password", "type": "varchar", "max_tokens": 5},
        [[], [1, 2], ["a"], None, True, 1.5],
        {"messages": [], "nextPageToken": SECRET, "page_token": [SECRET], "maxTokens": 2000},
        [["pageToken", SECRET], {"name": "nextSyncToken", "value": SECRET}],
        ["list", "--page-token", SECRET],
    ],
)
def test_what_is_no_secret_value_stays(value: Any) -> None:
    assert without_secrets(value) == value


def test_names_that_are_equal_once_redacted_are_counted() -> None:
    given: dict[str, int] = {f"token={SECRET}{n}": n for n in range(3)}
    given |= {f"token={HIDDEN} (2)": 3}
    assert without_secrets(given) == {
        f"token={HIDDEN}": 0,
        f"token={HIDDEN} (2)": 1,
        f"token={HIDDEN} (3)": 2,
        f"token={HIDDEN} (2) (2)": 3,
    }


def test_a_page_about_passwords_is_no_password() -> None:
    page = {"content": "choose one", "token": SECRET}
    shown = without_secrets({"https://a.example/reset-password": page, "my-password": page})
    assert shown["https://a.example/reset-password"] == {**page, "token": HIDDEN}
    assert shown["my-password"] == {"content": f"{HIDDEN} {HIDDEN}", "token": HIDDEN}
    assert without_secrets({"https://a.example/token": SECRET}) == {
        "https://a.example/token": HIDDEN
    }


texts = st.sampled_from(
    (SECRET, "password", "--token", "name", "value", "cookies", "pwd", "curl", "-u", f"me:{SECRET}")
) | st.text(max_size=4)
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_what_is_redacted_stays_as_it_is(value: Any) -> None:
    once = without_secrets(value)
    assert without_secrets(once) == once


def test_json_in_a_text_is_judged_by_what_it_says() -> None:
    for text in ('{"token": "abc123 | sh"}', '{"user": "a", "password": "hunter2"}'):
        assert mask_secrets({"body": text}).value["body"] != text


def test_the_head_of_a_key_alone_covers_nothing() -> None:
    text = "http:// -----BEGIN PRIVATE KEY-----"
    assert mask_secrets({"body": text}).value["body"] == text
