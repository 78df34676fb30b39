from __future__ import annotations

import pytest

from callblocks.core.errors import CallerError
from callblocks.guard.net.addresses import read_allowed


def test_an_entry_is_a_host_with_a_port() -> None:
    entries = ("127.0.0.1:8123", "[::1]:80", "Build.Internal:443", "bücher.example:1")
    assert read_allowed(entries) == {
        ("127.0.0.1", 8123),
        ("::1", 80),
        ("build.internal", 443),
        ("xn--bcher-kva.example", 1),
    }


@pytest.mark.parametrize(
    "entry",
    [
        *("", "127.0.0.1", "localhost", "[::1]", "*:80", "127.0.0.1:*", "127.0.0.0/8:80"),
        *("http://127.0.0.1:80", "127.0.0.1:80/path", "me@127.0.0.1:80", "127.1:80", "a:080"),
        *("127.0.0.1/:80", "127.0.0.1?:80", "127.0.0.1#:80"),
    ],
)
def test_anything_else_opens_nothing(entry: str) -> None:
    with pytest.raises(CallerError, match="opens nothing"):
        read_allowed((entry,))
