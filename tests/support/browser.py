"""A Chromium for tests; a fault of the page fails the test.

    with playing() as driver, chromium(driver) as browser:
        with watched(browser) as watch:
            page = watch.open("http://127.0.0.1:8765/")

At its end `watched` fails on any error on the console, any exception of the page, any request to
another host, and anything that the Content-Security-Policy stopped. A test that causes such a
fault by intent says so before: `watch.expect("ERR_CONNECTION_REFUSED")`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Page,
    Playwright,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

__all__ = (
    "DESKTOP",
    "PHONE",
    "Scheme",
    "Watch",
    "axe_violations",
    "chromium",
    "playing",
    "watched",
)

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

_PATIENCE = 120_000
"""Milliseconds to wait for what must come."""

_AXE = Path(__file__).parents[1] / "node" / "node_modules" / "axe-core" / "axe.min.js"
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing leaves this machine.
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    # The same letters on every machine.
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
)
_MISSING = "there is no {name} on this machine: `apt-get install {name}`, then run again"
_STOPPED = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy stopped ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
_OWN_SCHEMES = ("blob", "data", "about", "chrome-extension", "chrome")

Scheme = Literal["light", "dark"]


@contextmanager
def playing() -> Generator[Playwright]:
    """What drives browsers; there can be one in a process."""
    with sync_playwright() as driver:
        yield driver


@contextmanager
def chromium(driver: Playwright, *, whole: bool = False) -> Generator[Browser]:
    """Debian's Chromium without a window. The `whole` one is slower, and draws PDF files too."""
    name = "chromium" if whole else "chromium-headless-shell"
    found = shutil.which(name)
    assert found is not None, _MISSING.format(name=name)
    browser = driver.chromium.launch(executable_path=found, args=list(_FLAGS))
    try:
        yield browser
    finally:
        browser.close()


class Watch:
    """A fresh profile: its pages, and the faults that were seen in any of them."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.faults: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        context.add_init_script(_STOPPED)
        context.on("console", lambda said: self._see(said.type == "error", said.text))
        context.on("weberror", lambda error: self._see(True, f"raised: {error.error}"))
        context.on("request", self._ask)
        context.on("dialog", self._dismiss)

    def open(self, address: str = "", **size: int) -> Page:
        """Another tab, of a size of its own if one is given."""
        page = self.context.new_page()
        if size:
            page.set_viewport_size({"width": size["width"], "height": size["height"]})
        if address:
            page.goto(address)
        return page

    def expect(self, *patterns: str) -> None:
        """Faults that fit one of these expressions are meant to be."""
        self._expected += [re.compile(one) for one in patterns]

    def check(self) -> None:
        """Fail where a fault was seen that nobody expected."""
        left = [one for one in self.faults if not any(want.search(one) for want in self._expected)]
        assert not left, "the page has faults:\n" + "\n".join(left)

    def _see(self, is_fault: bool, words: str) -> None:
        if is_fault:
            self.faults.append(words)

    def _dismiss(self, dialog: Dialog) -> None:
        self.faults.append(f"opened a dialog: {dialog.message}")
        dialog.dismiss()

    def _ask(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in _OWN_SCHEMES and parts.hostname not in ("127.0.0.1", "localhost"):
            self.faults.append(f"asked a foreign host: {request.url}")


@contextmanager
def watched(browser: Browser, **options: Any) -> Generator[Watch]:
    """A fresh profile; faults of its pages fail at the end. `options` are Playwright's."""
    given = {"viewport": DESKTOP, "locale": "en-GB", "timezone_id": "UTC", **options}
    context = browser.new_context(**given)
    # A busy machine is slow, not wrong: processor work of the server has a low priority.
    context.set_default_timeout(_PATIENCE)
    expect.set_options(timeout=_PATIENCE)
    try:
        watch = Watch(context)
        yield watch
        watch.check()
    finally:
        context.close()


def axe_violations(page: Page, **options: Any) -> list[str]:
    """What axe-core finds in a page as it stands: rule, words and the places; none is good."""
    assert _AXE.is_file(), f"{_AXE} is missing: `make setup` installs it"
    if not page.evaluate("() => Boolean(globalThis.axe)"):
        # By the debugger's way, not as a script element: the page's policy forbids that.
        page.evaluate(_AXE.read_text("utf-8"))
    given = {"runOnly": {"type": "tag", "values": _RULES}, "resultTypes": ["violations"], **options}
    found = page.evaluate("options => axe.run(document, options)", given)
    return [
        f"{one['id']}: {one['help']}: "
        + "; ".join(f"{node['target']} {node['html'][:160]}" for node in one["nodes"][:4])
        for one in found["violations"]
    ]
