"""How the tests run: hypothesis profiles, what coverage watches, and recording corpus results.

`pytest --hypothesis-profile=nightly` looks further than a developer would wait for.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import sys
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

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


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Try the same examples each time, and measure them once."""
    if settings().derandomize:
        # Hypothesis tries constants of the modules that are loaded, and those differ by worker.
        providers._get_local_constants = lambda: providers._local_constants
    control = _measuring(session)
    if control and hasattr(session.config, "workerinput"):
        # It began before the worker knew that it is one; nothing else would ever stop it.
        control.cov.stop()


def _measuring(session: pytest.Session) -> Any:
    """What measures coverage, if anything does."""
    plugin: Any = session.config.pluginmanager.getplugin("_cov")
    return plugin and plugin.cov_controller


_TESTS = Path(__file__).parent
_WATCHED = (
    "corpus",
    "faults/test_approval_display.py",
    "faults/test_path_races.py",
    "faults/test_retention.py",
    "faults/test_taint_of_runs.py",
    "faults/test_taint_of_stores.py",
    "faults/test_turned_links.py",
    "laws/test_reasoning.py",
    "laws/test_truncation.py",
    "unit/dialects",
    "unit/approvals",
    "unit/core",
    "unit/guard",
    "unit/parsing",
    "unit/policy",
    "unit/runtime",
    "unit/session/test_taint_of_talks.py",
    "unit/session/test_waiting_calls.py",
    "unit/session/test_book_asker.py",
    "unit/timeline/test_plain_json.py",
    "unit/toolkits/test_files.py",
    "unit/test_parser.py",
    "unit/test_plugins.py",
    "unit/tools",
)
"""Whose tests cover each branch of what is held to it; others run three times as fast."""
_WAITING = "browser", "clients", "docs", "faults", "flows", "web"
_LOOK_AFTER = 10_000, 5, 5
"""When Python looks for garbage, as a server sets it: the first server test changes nothing."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Find the tests without looking for garbage; all that is there then stays.

    Twenty thousand tests are millions of objects. The collector would go through them again and
    again while they are made, and in each full collection while the tests run.
    """
    gc.disable()
    try:
        return (yield from _watched_collection(session))
    finally:
        gc.freeze()
        gc.set_threshold(*_LOOK_AFTER)
        gc.enable()


def _watched_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let coverage see what it watches being loaded, and then pause until a test needs it."""
    control = _measuring(session)
    if not control or not control.started:
        return (yield)
    for folder in control.cov.get_option("run:source"):
        package = folder.removeprefix("src/").replace("/", ".")
        for module in pkgutil.walk_packages([folder], f"{package}."):
            importlib.import_module(module.name)
    control.pause()
    return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have two of four workers begin with the tests that wait.

    Each worker begins with an equal share of the tests in a row, and takes half of another's rest
    when it is done. So each second share begins with one half of those that wait: processes,
    browsers, servers. Two workers are busy meanwhile, and none waits at the end.
    """
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT") != "4":
        return
    waiting = [item for item in items if _waits(item.path)]
    others = [item for item in items if not _waits(item.path)]
    half, share = len(waiting) // 2, len(items) // 2 - len(waiting) // 2
    items[:] = waiting[:half] + others[:share] + waiting[half:] + others[share:]


@cache
def _waits(path: Path) -> bool:
    return path.relative_to(_TESTS).parts[0] in _WAITING


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Let coverage look at the watched tests only, and not at what pytest does around them."""
    control = _measuring(item.session)
    if not control:
        return (yield)
    if _is_watched(item.path):
        control.resume()
    try:
        return (yield)
    finally:
        # After a test that is marked with `no_cover`, the plugin has resumed.
        if control.started:
            control.pause()


@pytest.fixture(autouse=True)
def _forget_registered_dialects() -> Iterator[None]:
    """Forget the dialects that a test, or an example of a page, registered."""
    yield
    table: Any = sys.modules.get("callblocks.dialects.table")
    if table and table._registered:
        table._registered.clear()
        table._spellings.cache_clear()


@cache
def _is_watched(path: Path) -> bool:
    return any(path.is_relative_to(_TESTS / name) for name in _WATCHED)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--accept`."""
    parser.addoption(
        "--accept",
        action="store_true",
        help="write what the corpus tests get as what they expect; read every difference",
    )
