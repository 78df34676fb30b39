"""Records: which texts a model wrote, and lines that are each read once, wherever a file is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callblocks.bulk.records import check_field, columns_of, encode_line, format_of, lines, slots
from callblocks.bulk.storage import LocalStorage
from callblocks.core.errors import CallerError


def _m(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


CASES: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"messages": [{"role": "user", "content": "u"}, _m("a"), _m("b")]}, "", ["a", "b"]),
    (
        {"conversations": [{"from": "human", "value": "u"}, {"from": "gpt", "value": "a"}]},
        "",
        ["a"],
    ),
    ({"messages": [_m([{"type": "text", "text": "a"}, {"type": "image"}])]}, "", ["a"]),
    ({"messages": [{"role": "assistant", "content": None, "tool_calls": [{}]}]}, "", [""]),
    ({"messages": [{"role": "assistant", "content": None}, 7, "x"]}, "", []),
    ({"role": "assistant", "content": "a"}, "", ["a"]),
    ({"role": "user", "content": "a"}, "", []),
    ({"id": 1, "completion": "a", "output": "b"}, "", ["a"]),
    ({"id": 1}, "", []),
    ({"a": {"b": [{"c": "x"}, {"c": 1}, "y"]}}, "a.b[].c", ["x"]),
    ({"a": ["x", 1, "y"]}, "a[]", ["x", "y"]),
    ({"a": "x"}, "a.b", []),
]


@pytest.mark.parametrize(("record", "field", "texts"), CASES)
def test_a_record_has_the_texts_that_a_model_wrote(
    record: dict[str, Any], field: str, texts: list[str]
) -> None:
    found = slots(record, field)
    assert [slot.text for slot in found] == texts
    for slot in found:
        if slot.holder is not None:
            slot.put(f"{slot.text}!")
    assert [slot.text for slot in slots(record, field) if slot.holder is not None] == [
        f"{text}!" for text in texts if text
    ]


@pytest.mark.parametrize("field", ["a..b", "a[0]", ".", "a[].", "[]"])
def test_a_field_that_is_no_path_is_refused(field: str) -> None:
    with pytest.raises(CallerError, match="no path to texts"):
        check_field(field)


def test_the_format_is_told_by_the_name() -> None:
    names = ["A.JSONL", "b.parquet", "c.md", "d.gz", "e"]
    assert [format_of(name) for name in names] == ["jsonl", "parquet", "text", None, None]


def test_only_columns_with_texts_are_read() -> None:
    assert columns_of(["id", "messages", "text"], "") == ["messages"]
    assert columns_of(["id", "text", "output"], "") == ["text", "output"]
    assert columns_of(["role", "content", "x"], "") == ["role", "content"]
    assert columns_of(["a", "b"], "b[].c") == ["b"]
    assert columns_of(["a"], "b") == []


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"a\n\nbb\r\nccc", b"a\rb\nc\n", b"x" * 9 + b"\ny"]
)
def test_each_line_is_read_once_wherever_the_file_is_cut(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    storage, size = LocalStorage(str(tmp_path)), len(content)
    whole = content.splitlines(keepends=True) if b"\r" not in content else content.split(b"\n")
    for part in range(1, size + 2):
        read = [
            line
            for start in range(0, max(size, 1), part)
            for line in lines(storage, "a.jsonl", start, min(size, start + part), size)
        ]
        assert b"".join(line.content for line in read) == content
        assert all(content[line.start :].startswith(line.content) for line in read)
        assert b"\r" in content or [line.content for line in read] == whole


def test_a_line_longer_than_a_block_is_read_whole(tmp_path: Path) -> None:
    content = b"a\n" + b"x" * (5 << 20) + b"\nb\n"
    (tmp_path / "a.jsonl").write_bytes(content)
    read = list(lines(LocalStorage(str(tmp_path)), "a.jsonl", 1, 4 << 20, len(content)))
    assert [(line.start, len(line.content)) for line in read] == [(2, (5 << 20) + 1)]


def test_a_changed_record_keeps_the_end_of_its_line() -> None:
    assert encode_line({"a": "é"}, b"{}\r\n") == '{"a":"é"}\r\n'.encode()
    assert encode_line({"a": "\ud800"}, b"{}") == b'{"a":"\\ud800"}'
