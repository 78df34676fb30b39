from __future__ import annotations

import io
from typing import get_args

from rich.console import Console

from callblocks.cli.terminal.paint import STYLES, paint
from callblocks.views.rows import Kind


def test_every_kind_has_its_style() -> None:
    assert set(STYLES) == set(get_args(Kind))


def test_colour_is_left_out_where_none_is_wanted() -> None:
    rows = [(("error", "[b]no[/b]"), ("plain", " :x:")), (), (("mark", "m"),)]
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, no_color=True, markup=False, emoji=False)
    console.print(paint(rows), soft_wrap=True)
    assert out.getvalue() == "[b]no[/b] :x:\n\nm\n"
