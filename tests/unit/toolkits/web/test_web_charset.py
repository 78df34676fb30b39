from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.toolkits.web.web_page import decoded

SETS = {
    "utf-8": "utf-8",
    "UTF8": "utf-8",
    "iso-8859-1": "cp1252",
    "windows-1251": "cp1251",
    "ISO-8859-2": "iso8859-2",
    "koi8-r": "koi8-r",
    "gb2312": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-jp": "euc-jp",
    "euc-kr": "cp949",
    "windows-874": "cp874",
}
WORDS = {
    "windows-1251": "Прилив",
    "koi8-r": "Прилив",
    "ISO-8859-2": "Przypływ źródło",
    "gb2312": "潮汐表",
    "big5": "潮汐表",
    "shift_jis": "潮汐の表",
    "euc-jp": "潮汐の表",
    "euc-kr": "조수표",
    "windows-874": "น้ำขึ้น",
}


@pytest.mark.parametrize("named", SETS)
def test_a_page_is_read_in_the_set_that_its_header_or_it_itself_names(named: str) -> None:
    words = WORDS.get(named, "Flut für fünf")
    plain = f"<p>{words}</p>".encode(SETS[named])
    assert decoded(plain, named) == f"<p>{words}</p>"
    for head in (
        f'<meta charset="{named}">',
        f"<META http-equiv=content-type content='text/html; charset={named}'>",
        f'<?xml version="1.0" encoding="{named}"?>',
    ):
        page = head.encode() + plain
        assert decoded(page) == f"{head}<p>{words}</p>"
        assert decoded(page, "no-such-set") == f"{head}<p>{words}</p>"


@given(st.text())
@example("\ufeffdouble mark")
def test_a_byte_order_mark_comes_before_all_that_is_said(words: str) -> None:
    words = words.encode("utf-8", "ignore").decode()
    for mark, charset in (
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe", "utf-16-le"),
    ):
        assert decoded(mark + words.encode(charset), "koi8-r") == words


@given(st.text(), st.sampled_from(["", "utf-8", "iso-8859-1", "windows-1252", "utf-7", "rot13"]))
def test_whole_utf8_is_utf8_though_a_set_of_single_bytes_is_named(words: str, named: str) -> None:
    words = words.encode("utf-8", "ignore").decode().lstrip("\ufeff")
    body = f"å{words}".encode()
    assert decoded(body, named) == f"å{words}"


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_are_some_text(body: bytes, named: str) -> None:
    assert isinstance(decoded(body, named), str)


def test_a_wrong_set_is_passed_over_for_one_that_fits() -> None:
    assert decoded("für".encode("cp1252"), "utf-8") == "f\ufffdr"
    page = "<meta charset=windows-1251>Прилив".encode("cp1251")
    assert decoded(page, "utf-8").endswith("Прилив")
    assert decoded(b"f\xfcr") == "für"
    assert decoded('<meta charset="utf-16">für'.encode()).endswith("für")


@pytest.mark.parametrize("named", ["utf-7", "idna", "punycode", "unicode_escape", "base64", "zlib"])
def test_what_is_no_character_set_is_never_used(named: str) -> None:
    assert decoded(b"+ADw-script+AD4- \\u0041 xn--a", named) == "+ADw-script+AD4- \\u0041 xn--a"
