"""The types of the page's code hold: tsc -p web, and the same for its tests."""

from __future__ import annotations

import pytest

from support.nodejs import PACKAGES, node


@pytest.mark.parametrize("project", ["web", "tests/web"])
def test_the_types_hold(project: str) -> None:
    node(PACKAGES / "typescript" / "bin" / "tsc", "-p", project, "--noEmit")
