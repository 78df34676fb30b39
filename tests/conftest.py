"""How the tests run: hypothesis profiles, what coverage watches, and recording corpus results.

`pytest --hypothesis-profile=nightly` looks further than a developer would wait for.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

# No deadlines: a slow machine is no failure.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=30, database=None)
settings.register_profile(
    "nightly",
    derandomize=False,
    deadline=None,
    max_examples=10_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# A failure is enough for `make mutate`; nobody reads its smallest example.
settings.register_profile(
    "mutate", settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("ci")

_UNWATCHED = ("browser", "docs", "faults", "flows", "web")
"""Folders whose tests run faster, because no branch is held to be covered by them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let coverage pause where it need not look."""
    folders = tuple(config.rootpath / "tests" / name for name in _UNWATCHED)
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in folders):
            item.add_marker(pytest.mark.no_cover)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--accept`."""
    parser.addoption(
        "--accept",
        action="store_true",
        help="write what the corpus tests get as what they expect; read every difference",
    )
