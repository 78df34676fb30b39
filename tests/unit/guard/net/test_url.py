from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.core.urls import Url, follow_url, read_url

READ = {
    "http://example.com": "http://example.com/",
    "HTTPS://Example.COM/Path": "https://example.com/Path",
    "https://example.com.": "https://example.com/",
    "https://example.com:443/a": "https://example.com/a",
    "http://example.com:443/": "http://example.com:443/",
    "http://example.com:080/": "http://example.com/",
    "http://example.com?q=1": "http://example.com/?q=1",
    "http://example.com#part": "http://example.com/",
    "http://example.com/a#b?c": "http://example.com/a",
    "http://example.com/a?b#c#d": "http://example.com/a?b",
    "http://example.com/a@b:c": "http://example.com/a@b:c",
    "http://example.com/a..b/...": "http://example.com/a..b/...",
    "http://example.com/ä?ö": "http://example.com/%C3%A4?%C3%B6",
    "http://example.com/%C3%A4%2f": "http://example.com/%C3%A4%2f",
    'http://example.com/"<>^`{|}': "http://example.com/%22%3C%3E%5E%60%7B%7C%7D",
    "http://bücher.example/": "http://xn--bcher-kva.example/",
    "http://例え.テスト/": "http://xn--r8jz45g.xn--zckzah/",
    "http://１.１.１.１/": "http://1.1.1.1/",
    "http://[2606:4700::0:1111]:8080/": "http://[2606:4700::1111]:8080/",
    "http://my_host.example/": "http://my_host.example/",
}
INVALID = {
    "": "starts with http",
    "example.com": "starts with http",
    "ftp://example.com/": "starts with http",
    "http:example.com": "starts with http",
    "http://": "after //",
    "http:///path": "after //",
    "http://:80/": "after //",
    "http://example.com:/": "after //",
    "http://example.com:8a/": "after //",
    "http://example.com:123456/": "after //",
    "http://[::1/": "after //",
    "http://[::1]a/": "after //",
    "http://example.com:0/": "between 1 and 65535",
    "http://example.com:65536/": "between 1 and 65535",
    "http://me@example.com/": "user name",
    "http://exa mple.com/": "U+0020) at 10",
    "http://example.com/\u200b": "U+200B",
    "http://example.com/\ud800": "U+D800",
    "http://example.com\\a": "backslash at 18",
    "http://example.com/../a": "'..'",
    "http://example.com/./a": "'..'",
    "http://example.com/%2E%2e/a": "'..'",
    "http://example.com/a/.%2e": "'..'",
    "http://example..com/": "DNS",
    "http://.com/": "DNS",
    "http://-a.com/": "DNS",
    "http://a%2eb.com/": "DNS",
    "http://" + "a" * 64 + ".com/": "DNS",
    "http://" + "a." * 127 + "com/": "DNS",
    "http://xn--\u00e4.com/": "DNS",
    "http://127.1/": "four decimal",
    "http://0x7f.0.0.1/": "four decimal",
    "http://1.2.3.4.5/": "four decimal",
    "http://a.0x/": "four decimal",
    "http://[::1%25lo]/": "zone id",
    "http://[fe80::1%1]/": "zone id",
    "http://[v1.a]/": "IPv6",
    "http://[]/": "IPv6",
    "http://example.com/" + "a" * 9000: "may have 8192",
}


@pytest.mark.parametrize("text", READ)
def test_a_url_is_read_into_one_spelling(text: str) -> None:
    assert str(read_url(text)) == READ[text]


@pytest.mark.parametrize("text", INVALID)
def test_what_programs_disagree_on_is_refused_with_words(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_url(text)
    assert caught.value.code == "invalid_url"
    assert INVALID[text] in caught.value.message
    assert len(caught.value.message) < 400


def test_the_parts_of_a_url_are_what_is_sent() -> None:
    url = read_url("https://Example.com:8443/a/b?c=d#e")
    assert url == Url("https", "example.com", 8443, "/a/b?c=d")
    assert (url.authority, url.origin) == ("example.com:8443", "https://example.com:8443")


def test_a_password_is_not_shown() -> None:
    for text in ("http://me:hidden1@example.com/", "ftp://me:hidden1@example.com/"):
        with pytest.raises(ToolError) as caught:
            read_url(text)
        assert "hidden1" not in caught.value.message


def said(read: Callable[..., Url], *texts: object) -> str:
    """The URL that is read, or the code of the error."""
    try:
        return str(read(*texts))
    except ToolError as error:
        return error.code


@given(st.text(max_size=40))
def test_reading_any_text_gives_a_url_or_its_own_error(text: str) -> None:
    for whole in (text, f"http://{text}", f"https://example.com/{text}"):
        url = said(read_url, whole)
        assert url.isascii()
        assert url.isprintable()


@given(st.text("aä./?#%2e:@[]1x-_", max_size=30))
def test_what_was_read_reads_as_itself(text: str) -> None:
    try:
        url = read_url(f"http://{text}")
    except ToolError:
        return
    assert read_url(str(url)) == url


FOLLOWED = {
    "": "http://example.com/a/b?c",
    "#top": "http://example.com/a/b?c",
    "?d": "http://example.com/a/b?d",
    "d": "http://example.com/a/d",
    "d?e#f": "http://example.com/a/d?e",
    "/d": "http://example.com/d",
    "../d": "http://example.com/d",
    "./d": "http://example.com/a/d",
    "..": "http://example.com/",
    ".": "http://example.com/a/",
    "../../../d": "http://example.com/d",
    "%2e%2E/d": "http://example.com/d",
    "/d/../e?f=../g": "http://example.com/e?f=../g",
    "/..//other.example/": "http://example.com//other.example/",
    "d:e": None,
    "//other.example": "http://other.example/",
    "https://other.example/x": "https://other.example/x",
    "mailto:me@example.com": None,
    "//me@other.example/": None,
    "/d e": None,
    "/d\\e": None,
    "//other.example/../x": None,
}


@pytest.mark.parametrize("location", FOLLOWED)
def test_a_location_is_read_from_where_it_was_said(location: str) -> None:
    base = read_url("http://example.com/a/b?c")
    expected = FOLLOWED[location]
    if expected is not None:
        assert str(follow_url(base, location)) == expected
        return
    with pytest.raises(ToolError) as caught:
        follow_url(base, location)
    assert caught.value.code == "invalid_url"


@given(st.text("a./?#%2e:@[]\\ ", max_size=30))
def test_a_location_without_two_slashes_or_a_scheme_stays_at_its_server(location: str) -> None:
    base = read_url("https://example.com/a/b")
    if location.startswith("//") or ":" in location:
        return
    url = said(follow_url, base, location)
    assert url == "invalid_url" or url.startswith(base.origin + "/")
