"""A page has one address, whoever writes it; other pages keep theirs."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.sources import canonical_url

HOST = "https://example.com"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTPS://Example.COM", f"{HOST}/"),
        (" https://example.com/ \n", f"{HOST}/"),
        ("https://example.com.", f"{HOST}/"),
        ("https://example.com:443/a", f"{HOST}/a"),
        ("https://example.com:/a", f"{HOST}/a"),
        ("https://example.com:0443/a", f"{HOST}/a"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("https://me:pw@example.com/a", f"{HOST}/a"),
        ("https://example.com/a#top", f"{HOST}/a"),
        ("https://example.com#top?x=1", f"{HOST}/"),
        ("https://example.com/a/", f"{HOST}/a"),
        ("https://example.com/a//", f"{HOST}/a"),
        ("https://example.com/a/./b/../c", f"{HOST}/a/c"),
        ("https://example.com/a/%2e%2E/c", f"{HOST}/c"),
        ("https://example.com/../../c", f"{HOST}/c"),
        ("https://example.com//a", f"{HOST}//a"),
        ("https://example.com/A", f"{HOST}/A"),
        ("https://example.com/%7euser/%e4%2f", f"{HOST}/~user/%E4%2F"),
        ("https://example.com/ä b", f"{HOST}/%C3%A4%20b"),
        ("https://example.com/100%", f"{HOST}/100%25"),
        ("https://example.com/a%5Cb?q=\\", f"{HOST}/a%5Cb?q=%5C"),
        ("https://exam\tple.com/a\r\nb", f"{HOST}/ab"),
        ("https://example.com/a\u00a0", f"{HOST}/a%C2%A0"),
        ("https://me@you@example.com/a", f"{HOST}/a"),
        ("https://example.com/#/doc/1#x", f"{HOST}/#/doc/1%23x"),
        ("https://example.com/a?q=1#!inbox/ä", f"{HOST}/a?q=1#!inbox/%C3%A4"),
        ("https://example.com/a#:~:text=x", f"{HOST}/a"),
        ("https://example.com/\ud800", f"{HOST}/%ED%A0%80"),
        ("https://example.com?", f"{HOST}/"),
        ("https://example.com/?&&a=1&", f"{HOST}/?a=1"),
        ("https://example.com/?b=2&a=1", f"{HOST}/?b=2&a=1"),
        ("https://example.com/?q=%61+b%20c", f"{HOST}/?q=a+b%20c"),
        ("https://example.com/?q=a/b?c", f"{HOST}/?q=a/b?c"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://BÜCHER。example/", "http://xn--bcher-kva.example/"),
        ("http://[::0:1]:80/", "http://[::1]/"),
        ("http://192.0.2.1:8080/", "http://192.0.2.1:8080/"),
        ("http://my_host/", "http://my_host/"),
    ],
)
def test_one_spelling(text: str, canonical: str) -> None:
    assert canonical_url(text) == canonical


@pytest.mark.parametrize(
    "name",
    [
        "utm_source",
        "UTM_Campaign",
        "utm%5Fid",
        "gclid",
        "dclid",
        "fbclid",
        "msclkid",
        "gbraid",
        "mc_eid",
        "igshid",
        "_hsenc",
        "yclid",
        "srsltid",
        "_ga",
        "_gl",
    ],
)
def test_a_tracking_parameter_is_left_out(name: str) -> None:
    assert canonical_url(f"{HOST}/a?{name}=x") == f"{HOST}/a"
    assert canonical_url(f"{HOST}/a?p=1&{name}=x&q=2&{name}") == f"{HOST}/a?p=1&q=2"


@pytest.mark.parametrize(
    "query", ["id=1", "ref=x", "q=utm_source", "my_utm_x=1", "page=2", "gclidx"]
)
def test_other_parameters_stay(query: str) -> None:
    assert canonical_url(f"{HOST}/?{query}") == f"{HOST}/?{query}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "rain",
        "example.com/a",
        "//example.com/a",
        "mailto:me@example.com",
        "ftp://example.com/A/",
        "https://",
        "https:///a",
        "https://./a",
        "https://a../",
        "https://a b/",
        "https://a\\b/",
        "https://evil.example\\@good.example/p",
        "https://example.com/a\\..\\b",
        "https://example.com\\",
        "https://-a/",
        "https://example.com:x/",
        "https://a:1:2/",
        "https://[::1/",
        "https://[1.2]/",
        "httpſ://a/",
        "https://a\x00b/",
        f"https://{'a' * 300}/",
        f"https://{'ä' * 100}/",
        "https://a%2eb/",
    ],
)
def test_what_is_no_address_stays_as_it_is(text: str) -> None:
    assert canonical_url(f" {text} ") == text


@given(
    st.lists(
        st.sampled_from(
            [
                "https://",
                "http://",
                "example.com",
                "ä.example",
                ":443",
                ":80",
                "/",
                "//",
                "..",
                ".",
                "%",
                "%2e",
                "%2F",
                "%7e",
                "?",
                "&",
                "=",
                "utm_x=1",
                "#",
                "@",
                "[::1]",
                " ",
                "\\",
            ]
        )
        | st.text(st.characters(), max_size=4),
        max_size=10,
    ).map("".join)
)
@example("https://a../")
@example("https://example.com/a/ /")
@example("https://example.com/?utm_x%3D1")
def test_the_one_spelling_is_its_own(text: str) -> None:
    for address in (text, f"https://example.com/{text}", f"https://{text}/"):
        once = canonical_url(address)
        assert canonical_url(once) == once


@given(st.text(st.characters(exclude_characters="\\")))
def test_the_path_of_an_address_is_plain_ascii(text: str) -> None:
    canonical = canonical_url(f"{HOST}/{text}")
    assert canonical.startswith(f"{HOST}/")
    assert canonical.isascii()
    assert canonical.isprintable()
    assert " " not in canonical


@pytest.mark.parametrize("piece", ["../", "a/", "%", "%2e", "?&", "@", ":", "[", "ä", "."])
@pytest.mark.no_cover  # the same ways as of a short text, many times
def test_a_huge_address_is_read_to_its_end(piece: str) -> None:
    for start in (f"{HOST}/", "https://"):
        address = start + piece * 50_000
        assert canonical_url(canonical_url(address)) == canonical_url(address)
