from __future__ import annotations

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.policy.rules import host_of

LABEL = "a" * 63
LONGEST = ".".join((LABEL, LABEL, LABEL, "a" * 61))
TOO_LONG = ".".join((LABEL, LABEL, LABEL, "a" * 62))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.org", "example.org"),
        ("HTTPS://Docs.Example.ORG/a", "docs.example.org"),
        ("http://example.org?x", "example.org"),
        ("http://example.org#x", "example.org"),
        ("http://example.org/a b".replace(" ", "%20"), "example.org"),
        ("http://example.org:8080/", "example.org"),
        ("http://example.org:65535/", "example.org"),
        ("http://example.org./", "example.org"),
        ("http://localhost", "localhost"),
        ("http://a_b.example.org", "a_b.example.org"),
        ("http://a-b.example.org", "a-b.example.org"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://BÜCHER.example/", "xn--bcher-kva.example"),
        ("http://evil。example/", "evil.example"),
        ("http://ａ.example/", "a.example"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://[::1]:80/", "::1"),
        ("http://[2001:DB8:0::1]/", "2001:db8::1"),
        ("http://[::ffff:10.0.0.1]/", "10.0.0.1"),
        ("http://0x7f.example/", "0x7f.example"),
        ("http://1.2.3.example/", "1.2.3.example"),
        (f"http://{LABEL}.org/", f"{LABEL}.org"),
        (f"http://{LONGEST}/", LONGEST),
        (f"http://{LONGEST}./", LONGEST),
    ],
)
def test_a_url_asks_one_host(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    "url",
    [
        None,
        7,
        b"http://example.org",
        "",
        "example.org",
        "//example.org/",
        "/a",
        "http:example.org",
        "http:/example.org",
        "http:///example.org",
        "http://",
        "http://?x",
        "http://@/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "file://example.org/etc/passwd",
        "javascript://example.org/%0aalert(1)",
        "httpſ://example.org/",
        "xhttp://example.org/",
        " http://example.org/",
        "http://example.org/ ",
        "http://example.org\n",
        "http://example.org/a\tb",
        "http://exa\nmple.org/",
        "http://example.org\x00.evil.example/",
        "http://example.org/\x7f",
        "http://good.example\\@evil.example/",
        "http://evil.example\\.good.example/",
        "http://good.example/\\a",
        "http:\\\\example.org",
        "http://a@b@example.org/",
        "http://example.org:65536/",
        "http://example.org:123456/",
        "http://example.org:8a/",
        "http://example.org:-1/",
        "http://example.org:80:80/",
        "http://example%2eorg/",
        "http://example..org/",
        "http://.example.org/",
        "http://example.org../",
        "http://-a.example/",
        "http://a-.example/",
        "http://exa$mple.org/",
        "http://*.example.org/",
        f"http://{LABEL}a.org/",
        f"http://{TOO_LONG}/",
        "http://" + "é" * 300 + "/",
        "http://example.org:/",
        "http://me@example.org/",
        "http://me:p:w@example.org/",
        "http://good.example:80@evil.example/",
        "http://\u202eexample.org/",
        "http://\ud800.example/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x/",
        "http://0177.0.0.1/",
        "http://1.2.3.0x4/",
        "http://1.2.3.4.5/",
        "http://256.1.1.1/",
        "http://[::1/",
        "http://::1/",
        "http://[::1]a/",
        "http://a[::1]/",
        "http://[]/",
        "http://[::1%25eth0]/",
        "http://[v1.a]/",
        "http://[1:2]/",
    ],
)
def test_what_clients_may_read_differently_has_no_host(url: object) -> None:
    assert host_of(url) is None


def test_what_is_too_long_for_a_name_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def encode(host: str, **_: object) -> bytes:
        seen.append(len(host))
        return b"a.example"

    monkeypatch.setattr(idna, "encode", encode)
    assert host_of("http://" + "é" * 254) == "a.example"
    assert host_of("http://" + "é" * 255) is None
    assert seen == [254]


PIECES = st.sampled_from(
    (
        *("http://", "https:", "example.org", "evil.net", "[::1]", "127.0.0.1", "0x7f", "80"),
        *(
            "@",
            ":",
            ".",
            "/",
            "//",
            "\\",
            "?",
            "#",
            "[",
            "]",
            "-",
            "ü",
            "。",
            "%2e",
            "\t",
            " ",
            "A",
        ),
    )
)


@given(st.lists(PIECES, max_size=8).map("".join).map("http://".__add__) | st.text())
def test_a_host_is_one_name_in_lower_case_without_ornaments(url: str) -> None:
    host = host_of(url)
    assert host is None or (host == host.lower() and not set(host) & set("@/\\[]%?# "))
