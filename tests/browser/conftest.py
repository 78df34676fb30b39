"""What tests in a browser take: a page that has no faults, the real server, and axe.

    def test_a_prompt_is_answered(page: Page, site: Site) -> None:
        page.goto(site.page())

`page` is a tab of a fresh profile (`watch`), desktop size; `watch.expect(…)` names a fault that the
test causes by intent, `watch.open(…)` is another tab. `profile(**options)` is another fresh profile
with Playwright's options: `profile(viewport=PHONE, color_scheme="dark")`. Playwright keeps an event
loop in this thread: nothing here may call `asyncio.run`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright

from support.browser import Watch, axe_violations, chromium, playing, watched
from support.site import MortalSite, Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")


@pytest.fixture(scope="package")
def driver() -> Generator[Playwright]:
    """What drives the browsers of this worker."""
    with playing() as driver:
        yield driver


@pytest.fixture(scope="package")
def browser(driver: Playwright) -> Generator[Browser]:
    """One Chromium for all tests of this worker; for pictures, the one that draws everything."""
    with chromium(driver, whole=bool(os.environ.get("CALLBLOCKS_SCREENS"))) as browser:
        yield browser


@pytest.fixture
def profile(browser: Browser) -> Generator[Callable[..., Watch]]:
    """Makes fresh profiles; faults of their pages fail the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(watched(browser, **options))


@pytest.fixture
def watch(profile: Callable[..., Watch]) -> Watch:
    """The profile of `page`."""
    return profile()


@pytest.fixture
def page(watch: Watch) -> Page:
    """An empty tab that fails its test on any fault of what is shown in it."""
    return watch.open()


@pytest.fixture
def site(tmp_path: Path) -> Generator[Site]:
    """The real server with the scripts of this folder."""
    with open_site(tmp_path / "site", SCRIPTS) as site:
        yield site


@pytest.fixture
def mortal_site(tmp_path: Path) -> Generator[MortalSite]:
    """The same in a process that a test kills and begins again."""
    site = MortalSite(tmp_path / "mortal", SCRIPTS)
    try:
        yield site
    finally:
        site.kill()


@pytest.fixture
def axe() -> Callable[..., list[str]]:
    """What axe-core finds in a page; `assert axe(page) == []`."""

    def run(page: Page, **options: Any) -> list[str]:
        return axe_violations(page, **options)

    return run
