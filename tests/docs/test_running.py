"""What runs the examples finds an example that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.examples import Examples

RIGHT = {
    "a value": "```python\n1 + 1  # -> 2\n```\n",
    "a value over lines": "```python\nmax(\n    1,\n    2,\n)  # -> 2\n```\n",
    "a print": "```python\nprint(1)\n```\n\n```text\n1\n```\n",
    "one namespace": "```python\nx = 1\n```\n\nand\n\n```python\nx  # -> 1\n```\n",
    "a command": "```console\n$ echo a; echo b\na\nb\n$ echo c\nc\n```\n",
    "a text of many lines": "```console\n$ cat <<'END'\na\n b\nEND\na\n b\n$ echo c\nc\n```\n",
    "a longer fence": "````console\n$ echo '```'\n```\n````\n",
    "text that follows nothing": "```text\nanything\n```\n",
}
WRONG = {
    "a value": "```python\n1 + 1  # -> 3\n```\n",
    "a value where there is none": "```python\nx = 1  # -> 1\n```\n",
    "a value inside a statement": "```python\nif True:\n    1  # -> 1\n```\n",
    "a print": "```python\nprint(1)\n```\n\n```text\n2\n```\n",
    "a print that is not shown": "```python\nprint(1)\n```\n",
    "a print that is shown elsewhere": "```python\nprint(1)\n```\n\nthen\n\n```text\n1\n```\n",
    "an exception": "```python\n1 / 0\n```\n",
    "a command that says less": "```console\n$ echo a\na\nb\n```\n",
    "a text of many lines": "```console\n$ cat <<'END'\na\nEND\nb\n```\n",
    "a command that says more": "```console\n$ echo a\n```\n",
    "a command that fails": "```console\n$ false\n```\n",
}


@pytest.mark.parametrize("page", RIGHT.values(), ids=list(RIGHT))
def test_what_is_right_passes(page: str, tmp_path: Path) -> None:
    _run(page, tmp_path)


@pytest.mark.parametrize("page", WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_fails(page: str, tmp_path: Path) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        _run(page, tmp_path)


def _run(page: str, folder: Path) -> None:
    path = folder / "page.md"
    path.write_text(page, "utf-8")
    Examples(path, folder).run()
