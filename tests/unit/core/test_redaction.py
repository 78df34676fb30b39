from __future__ import annotations

import json
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callblocks.core.redaction import REDACTED, is_secret_key, redact, redact_start
from support.reference_redaction import plainly_redacted

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
)


@pytest.mark.parametrize("secret", SHAPES)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("see ", " there"), ('"', '"'), ("\n", "\n"), ("x=", ",")]
)
def test_a_secret_is_known_by_its_shape(secret: str, before: str, after: str) -> None:
    assert redact(before + secret + after) == before + REDACTED + after


def test_each_line_of_a_private_key_is_covered() -> None:
    begin, first, second, end = KEY_BLOCK.split("\n")
    assert redact(f"x={KEY_BLOCK},") == f"x={begin}\n{REDACTED}\n{REDACTED}\n{end},"
    assert redact(json.dumps(f"{begin}\n{first}\n{end}\n")) == json.dumps(
        f"{begin}\n{REDACTED}\n{end}\n", ensure_ascii=False
    )
    assert redact(f"{begin}\n{second}") == f"{begin}\n{REDACTED}"


@pytest.mark.parametrize("secret", SHAPES)
def test_a_secret_on_its_own_line_is_found_inside_json_too(secret: str) -> None:
    assert redact(json.dumps({"stdout": f"first\n{secret}\nlast"})) == (
        '{"stdout": "first\\n••••••••\\nlast"}'
    )


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("api_key=abc123xyz", "api_key=••••••••"),
        ("API_KEY: abc123xyz", "API_KEY: ••••••••"),
        ("GITHUB_TOKEN=abc123xyz ls", "GITHUB_TOKEN=•••••••• ls"),
        ('{"password": "hunter2", "user": "me"}', '{"password": "••••••••", "user": "me"}'),
        ('{"password": "a\\"b c"}', '{"password": "••••••••\\"•••••••• ••••••••"}'),
        ("{'clientSecret': 'x y'}", "{'clientSecret': '•••••••• ••••••••'}"),
        (r"{\"token\": \"abc\"}", r"{\"token\": \"••••••••\"}"),
        ('os.environ["API_KEY"] = "abc"', 'os.environ["API_KEY"] = "••••••••"'),
        ("https://host/?token=abc123xyz&page=2", "https://host/?token=••••••••&page=2"),
        ("https://me:pw@host/path", "https://me:••••••••@host/path"),
        ("Authorization: Basic dXNlcjpwdw==", "Authorization: Basic ••••••••"),
        ('-H "authorization: Token abc" url', '-H "authorization: Token ••••••••" url'),
        ('{"Authorization": "Bearer a b"}', '{"Authorization": "Bearer •••••••• ••••••••"}'),
        ("use Bearer abc123def456 here", "use Bearer •••••••• here"),
        ("token: Bearer abc123def456", "token: Bearer ••••••••"),
        ('password="cut off', 'password="•••••••• ••••••••'),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx", "••••••••"),
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
        "PWD=/home/me pwd=~/x OLDPWD=../y pwd=C:\\work pwd=$PWD",
        "pwd=os.getcwd() and pwd==other",
        "password:\n  required: true\n  length: 12",
        "password:\n  - letters12\n  - digits",
        "Password:\n  Enter the password of your account",
        "credentials:\n  production\n",
        "docker run -u 1000:1000 image; mkdir -parents x",
        "curl https://host | docker run -u 1000:1000 image",
        "curl -u me:$TOKEN https://host",
        "curling -u a:b is a sport",
        "https://me@host/ ssh://deploy2024@host git+https://git@host/x",
        "<th>Password</th><td>at least 8</td>",
        "<secret>The lost city</secret>",
        "if token>limit</p>",
        "mysql -p -h host",
        '{"nextPageToken": "1731412800-76aafcc7ca1744b1"}',
        "pageToken=abc123xyz next_page_token: abc123xyz\nsync-token := 'abc123xyz'",
        json.dumps('{"a": 1}\nnextPageToken: abc123xyz'),
        "<pageToken>abc123xyz</pageToken>",
        "list --page-token=abc123xyz --page-token abc123xyz",
        "nextSyncToken:\n  abc123xyz\n",
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


PLACES = (
    *("pageToken", "nextPageToken", "page_token", "next_page_token", "next-page-token"),
    *("NEXT_PAGE_TOKEN", "prevPageToken", "newStartPageToken", "syncToken", "nextSyncToken"),
    *("NextToken", "continuationToken", "NextContinuationToken", "answer.nextPageToken"),
)


@pytest.mark.parametrize("key", PLACES)
def test_a_token_that_says_where_a_list_goes_on_is_no_secret(key: str) -> None:
    assert not is_secret_key(key)
    assert redact(f'{{"{key}": "CAUQAA-0123456789"}}') == f'{{"{key}": "CAUQAA-0123456789"}}'


@pytest.mark.parametrize(
    "key",
    [
        *(
            "token",
            "access_token",
            "refreshToken",
            "id_token",
            "nexttime_token",
            "page_access_token",
        ),
        *("homepageToken", "my_page_token", "x-page-token", "pageTokenSecret", "page token"),
        *("async_token", "contextToken", "api_next_token", "page.token", "nextPage_api_key"),
    ],
)
def test_a_token_of_any_other_name_stays_a_secret(key: str) -> None:
    assert is_secret_key(key)
    assert redact(f'{{"{key}": "CAUQAA-0123456789"}}') == f'{{"{key}": "••••••••"}}'


def test_a_secret_is_hidden_under_the_name_of_a_place_too() -> None:
    for secret in SHAPES:
        assert redact(f"pageToken={secret}") == "pageToken=••••••••"
    assert redact("pageToken: token=abc123xyz") == "pageToken: token=••••••••"


@given(
    st.integers(0, 3000),
    st.integers(0, 3000),
    st.sampled_from([*SHAPES, KEY_BLOCK, "eyJhbGciOiJIUzI1NiJ9." + "a" * 5000 + ".b"]),
)
def test_the_start_of_a_long_text_shows_no_secret(before: int, after: int, secret: str) -> None:
    text = "." * before + secret + "." * after
    assert redact_start(text, 100)[:100] == redact(text)[:100]


def test_a_start_that_shrinks_is_made_from_more_text() -> None:
    blocks = KEY_BLOCK.replace("IBAAKC", "A" * 5000) + " "
    text = blocks * 20 + "the end"
    masked = KEY_BLOCK.replace("MIIEow", REDACTED).replace("IBAAKC", REDACTED) + " "
    assert redact_start(text, 500) == redact(text) == masked * 20 + "the end"


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
        ("login --password hunter2 now", "login --password •••••••• now"),
        ("deploy --api-key abcd1234", "deploy --api-key ••••••••"),
        ("deploy --token --force", "deploy --token --force"),
        ("Set-Cookie: sid=38afes7a8; Path=/", "Set-Cookie: sid=••••••••; ••••••••"),
        ("cookie: a=bcdef\nhost: x", "cookie: a=••••••••\nhost: x"),
        ("the cookie: yes, it is good", "the cookie: yes, it is good"),
        ("DB_PASS=hunter2x", "DB_PASS=••••••••"),
        ("compass=north", "compass=north"),
        ("Cookie: a; sid=38afes7a8", "Cookie: a; sid=••••••••"),
        ("password:\n  hunter2hunter2\n", "password:\n  ••••••••\n"),
        ("password: >-\r\n    hunter2hunter2", "password: >-\r\n    ••••••••"),
        ('"password:\\n  hunter2hunter2\\n"', '"password:\\n  ••••••••\\n"'),
        ("token:\n  'hunter2hunter2'", "token:\n  '••••••••'"),
        ("Server=x;Pwd=hunter2x;Uid=me", "Server=x;Pwd=••••••••;Uid=me"),
        ('pwd="hunter2x"', 'pwd="••••••••"'),
        ("Passwort: hunter2x", "Passwort: ••••••••"),
        ("<password>hunter2</password>", "<password>••••••••</password>"),
        (
            '<ns:dbPassword a="b">\n hunter2 </ns:dbPassword>',
            '<ns:dbPassword a="b">\n •••••••• </ns:dbPassword>',
        ),
        ("curl -s -u me:hunter2 https://h", "curl -s -u me:•••••••• https://h"),
        ("/usr/bin/curl --user 'me:hunter2' h", "/usr/bin/curl --user 'me:••••••••' h"),
        ("curl -ume:hunter2 h", "curl -ume:•••••••• h"),
        ("mysqldump -h x -phunter2 db", "mysqldump -h x -p•••••••• db"),
        ("https://hunter2hunter2@host/", "https://••••••••@host/"),
        (f"http://{'a' * 20}@host/", "http://••••••••@host/"),
    ],
)
def test_options_of_commands_cookies_and_pass_are_secrets(text: str, shown: str) -> None:
    assert redact(text) == shown


PIECES = (
    *(*SHAPES, KEY_BLOCK),
    *("Authorization", "Bearer ", "bearer\t", "Basic dTpw", "://", "https://me:", "pw@host", "@"),
    *("api", "API_", "-key", "Key", "access", "private", "signing", "encryption", "SECRET"),
    *("secret", "toKen", "toKEN", "token", "paſſword", "password", "passwd", "passphrase"),
    *("credentıal", "credentIals", "CREDENTİALS", "-pass", "_pass", "---pass", "--", "-----"),
    *("-----BEGIN ", "PRIVATE KEY-----", "-----END ", "set-cookie: ", "Cookie: sid=", "\\n", "\\"),
    *(
        "pwd=",
        "curl",
        "curl -u me:",
        " --user=",
        "mysql",
        " -p",
        "password:\n ",
        "<token>",
        "</token>",
        "next",
        "Page",
        "sync_",
    ),
    *("sk-", "sk_live_", "rk_test_", "ghp_", "xoxoxb-", "AKIAKIA", "ASIASIA", "AIza", "hf_", "eyJ"),
    *("=", ": ", ":=", " => ", "'", '"', '\\"', "[", "]", "(", ".", " ", "\n", "/", "é", "Σ", "😀"),
    *("hunter2", "abc123xyz456", "string", "A" * 40, "0" * 20, "a.b.c", "_" * 9),
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=16).map("".join))
@settings(max_examples=max(200, settings().max_examples))
def test_looking_only_where_a_secret_can_start_finds_the_same_as_looking_everywhere(
    text: str,
) -> None:
    assert redact(text) == plainly_redacted(text)


@given(st.text(max_size=300), st.sampled_from([*SHAPES, KEY_BLOCK]), st.text(max_size=300))
def test_a_planted_secret_is_found_in_any_text_as_by_looking_everywhere(
    before: str, secret: str, after: str
) -> None:
    for text in (before + secret + after, f"{before}\n{secret}\n{after}"):
        assert redact(text) == plainly_redacted(text)


def test_each_character_that_a_pattern_takes_for_a_letter_is_found() -> None:
    every = "".join(map(chr, (*range(0xD800), *range(0xE000, sys.maxunicode + 1))))
    for letter in "abcdefghijklmnopqrstuvwxyz":
        for other in re.findall(f"(?i:{letter})", every):
            for word in ("authorization", "set-cookie", "encryption_key", "--passphrase", "token"):
                text = f"{other}é {word.replace(letter, other)}: a=123456 abc123xyz"
                assert redact(text) == plainly_redacted(text)


def test_a_text_in_small_letters_keeps_its_places() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    assert len(redact(f"{every} token=abc123xyz")) == len(f"{every} token=••••••••")
