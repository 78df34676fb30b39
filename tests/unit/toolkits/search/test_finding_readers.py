from __future__ import annotations

import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.toolkits.search.chunks import kind_of
from callblocks.toolkits.search.format_readers import read_html
from callblocks.toolkits.search.reader_process import read_apart
from callblocks.toolkits.search.text_readers import Content, read_content
from callblocks.tools.tool import Context
from support.roots import code_of
from support.search_files import docx_of, docx_with, pdf_objects, pdf_of


def read(name: str, content: bytes | str, context: Context | None = None) -> Content:
    given = content.encode() if isinstance(content, str) else content
    return read_content(kind_of(name), given, context or Context())


def places(content: Content) -> list[tuple[str, int, str]]:
    return [(one.heading, one.line, one.text) for one in content.passages]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.md", "markdown"),
        ("A.PDF", "pdf"),
        ("a/b.docx", "docx"),
        ("x.htm", "html"),
        ("t.tsv", "csv"),
        ("README", "text"),
        ("pdf", "text"),
        ("a.pdf/x", "text"),
        (".md", "markdown"),
        ("x.py", "text"),
    ],
)
def test_a_kind_is_told_by_the_name(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_text_is_read_with_its_lines() -> None:
    long = "word " * 239
    assert places(read("a.txt", f"\ufeffone\r\ntwo\r\n\r\n{long}")) == [
        ("", 1, "one\ntwo"),
        ("", 4, long.strip()),
    ]


def test_markdown_has_a_title_and_sections_under_their_headings() -> None:
    text = "before\n# Plan\nwhat\n\n## Tides ##\nlow\n```\n# no heading\n```\n# Packing\n"
    content = read("a.md", text)
    assert content.title == "Plan"
    assert places(content) == [
        ("", 1, "before"),
        ("Plan", 2, "# Plan\nwhat"),
        ("Plan › Tides", 5, "## Tides ##\nlow\n```\n# no heading\n```"),
        ("Packing", 10, "# Packing"),
    ]


def test_rows_of_a_table_stand_under_its_columns() -> None:
    rows = "".join(f"2024-05-{day:02};high;3.2\n" for day in range(1, 31))
    content = read("tides.csv", "date;tide;height\n" + rows * 3)
    assert {one.heading for one in content.passages} == {"date | tide | height"}
    assert content.passages[0].text.startswith("date | tide | height\n2024-05-01 | high | 3.2\n")
    assert sum(one.text.count("\n") + 1 for one in content.passages) == 91
    second = content.passages[1]
    assert second.text.startswith(f"2024-05-{(second.line - 2) % 30 + 1:02}")


def test_a_field_of_many_lines_is_one_cell() -> None:
    assert read("a.csv", 'a,b\n"x\ny",z\n').passages[0].text == "a | b\nx\ny | z"


@given(st.text())
@example("<![x")
@example("<![CDATA[a]]> <!x <?y </z <a b='")
def test_any_text_is_read_as_text_markdown_and_html(text: str) -> None:
    content = text.encode("utf-8", "replace").replace(b"\0", b"")
    for name in ("a.txt", "a.md"):
        read(name, content)
    list(read_html(content))


def refusal(name: str, content: bytes) -> str:
    try:
        read(name, content)
    except ToolError as error:
        return error.code
    return ""


@given(st.text())
def test_any_text_is_read_as_a_table_or_refused(text: str) -> None:
    content = text.encode("utf-8", "replace").replace(b"\0", b"")
    assert refusal("a.csv", content) in ("", "file_invalid")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a\0b", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(ToolError) as raised:
        read("a.bin", content)
    assert code_of(raised) == "not_text"


def test_a_field_of_a_table_may_not_be_endless() -> None:
    with pytest.raises(ToolError) as raised:
        read("a.csv", "x" * 200_000)
    assert code_of(raised) == "file_invalid"


def test_html_is_read_without_scripts() -> None:
    page = """<!doctype html><title>Tides &amp; sands</title><style>p {}</style>
    <h1>Low <b>water</b></h1><p>Cross   now.<script>evil()</script></p><ul><li>one<li>two</ul>
    <h2>High</h2><table><tr><td>a<td>b</tr></table><!-- hidden -->"""
    content = read("a.html", page)
    assert content.title == "Tides & sands"
    assert places(content) == [
        ("Low water", 0, "Low water\n\nCross now.\n\n- one\n- two"),
        ("High", 0, "High\n\na b"),
    ]


def test_a_pdf_is_read_page_by_page_with_progress() -> None:
    said: list[str] = []
    context = Context(report=said.append)
    content = read("a.pdf", pdf_of("first page", "", "third caf\xe9"), context)
    assert [(one.page, one.text) for one in content.passages] == [
        (1, "first page"),
        (3, "third café"),
    ]
    assert said == ["page 1 of 3\n", "page 2 of 3\n", "page 3 of 3\n"]


def test_a_docx_is_read_with_headings_and_tables() -> None:
    content = read(
        "a.docx",
        docx_of(
            ("Heading 1", "Plan"),
            ("", "cross at low water"),
            ("Heading 2", "Times"),
            title="A walk",
            table=[["day", "low"], ["1", "05:10"]],
        ),
    )
    assert content.title == "A walk"
    assert places(content) == [
        ("Plan", 0, "Plan\n\ncross at low water"),
        ("Times", 0, "Times\n\nday | low\n\n1 | 05:10"),
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", b""),
        ("a.pdf", b"no pdf at all"),
        ("a.pdf", b"%PDF-1.4\n" + b"\xff" * 1000),
        ("a.pdf", pdf_of("words")[:200]),
        ("a.pdf", pdf_objects([b"<< /Type /Catalog >>"])),
        ("a.docx", b""),
        ("a.docx", b"PK\x03\x04 broken"),
        ("a.docx", docx_of(("", "words"))[:-200]),
        ("a.docx", docx_with(b"<no/>")),
        ("a.docx", docx_with(b"<broken")),
        ("a.html", b"<p>a\0b"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(name: str, content: bytes) -> None:
    with pytest.raises(ToolError) as raised:
        read(name, content)
    assert code_of(raised) == "file_invalid"
    assert raised.value.message


def test_reading_stops_when_nobody_waits() -> None:
    context = Context()
    context.cancelled = True
    with pytest.raises(ToolError) as raised:
        read_apart("pdf", pdf_of("words"), context)
    assert code_of(raised) == "cancelled"


def test_reading_has_its_time() -> None:
    with pytest.raises(ToolError, match="too long"):
        read_apart("pdf", pdf_of("words"), Context(), seconds=-1)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("/nowhere/python", "file_error"),
        ("/bin/false", "file_invalid"),
        ("/bin/echo", "file_invalid"),
    ],
)
def test_a_reader_that_breaks_is_a_failure(
    program: str, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(ToolError) as raised:
        read_apart("pdf", pdf_of("words"), Context())
    assert code_of(raised) == code
