"""Names of tools as native APIs allow them: reversible, and never two tools under one."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.calls import Call
from callblocks.core.specs import ToolSpec
from callblocks.models.model import NativeNames

NAMES = st.lists(
    st.one_of(st.text("ab._:/-é", min_size=1, max_size=6), st.text("a.", min_size=60, max_size=70)),
    unique=True,
)


@given(NAMES)
def test_every_name_is_allowed_and_leads_back(names: list[str]) -> None:
    book = NativeNames(ToolSpec(name) for name in names)
    native = [book.native(Call(id="c", name=name)).name for name in names]
    assert [spec.name for spec in book.specs] == native
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", name) for name in native)
    assert [book.own(name) for name in native] == names
    readable = {spec.name for spec in book.read_specs}
    assert readable >= {*native, *(name for name in names if name not in native)}


def test_a_name_that_is_allowed_stays() -> None:
    book = NativeNames([ToolSpec("a.b"), ToolSpec("a_b")])
    assert [spec.name for spec in book.specs] == ["a_b_2", "a_b"]


def test_a_tool_that_the_model_made_up_keeps_its_name() -> None:
    book = NativeNames([ToolSpec("ls")])
    assert book.own("nothing") == "nothing"
    assert book.own("functions.ls") == "ls"
    assert book.native(Call(id="c", name="no.thing")).name == "no_thing"
