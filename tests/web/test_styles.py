"""The look has one source: the values stand in `tokens.css`, the element takes them from there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CSS = ROOT / "web" / "css"
COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\("
    r"|:\s*(?:white|black|red|green|blue|gr[ae]y)\b",
    re.IGNORECASE,
)


def test_the_module_of_the_element_is_what_the_style_sheets_say() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "web-styles"), "--check"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("sheet", sorted(one.name for one in CSS.glob("*.css")))
def test_no_colour_stands_outside_the_tokens(sheet: str) -> None:
    if sheet == "tokens.css":
        return
    text = re.sub(r"/\*.*?\*/", "", (CSS / sheet).read_text("utf-8"), flags=re.DOTALL)
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", text)
    # Paper is paper, by day and by night.
    wrong = [
        (where, body)
        for where, body in rules
        if COLOUR.search(body) and ".artifact-thumb" not in where
    ]
    assert wrong == []


def test_every_token_that_is_used_is_declared() -> None:
    sheets = {one.name: one.read_text("utf-8") for one in CSS.glob("*.css")}
    declared = set(re.findall(r"(--[\w-]+)\s*:", "".join(sheets.values())))
    used = set(re.findall(r"var\((--[\w-]+)\)", "".join(sheets.values())))
    assert used - declared == set()
