from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.models.openai.endpoint import EndpointSettings
from callblocks.models.openai.endpoint_faults import Faults

KEY = "Zq7-wolf_under.the+moon/42"


def faults() -> Faults:
    return Faults(EndpointSettings(base_url="http://127.0.0.1:1/v1", model="m", key=KEY))


@given(st.integers(0, len(KEY) - 8), st.integers(8, len(KEY)), st.sampled_from(["", "…", "x"]))
def test_no_part_of_a_key_that_a_server_quotes_is_shown(start: int, size: int, edge: str) -> None:
    part = KEY[start : start + size]
    shown = faults().hide(f"wrong key: {edge}{part}{edge} and {part}, sorry")
    assert shown == f"wrong key: {edge}••••••••{edge} and ••••••••, sorry"


@pytest.mark.parametrize("text", ["", "the wolf", "under a moon", KEY[:7], f"{KEY[:7]} {KEY[-7:]}"])
def test_what_only_looks_a_little_like_the_key_stays(text: str) -> None:
    assert faults().hide(text) == text
