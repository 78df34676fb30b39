"""Each state of each page, on a desktop and a phone, in the light and in the dark.

Nothing overflows to the side, axe-core finds nothing, and with CALLBLOCKS_SCREENS set (`make
screens`) the pictures of docs/ are made anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from support.browser import DESKTOP, PHONE, Scheme, Watch
from support.page_states import STATES
from support.pages import ROOT
from support.site import Site

PICTURES = ROOT / "docs" / "pictures"
SIZES = {"desktop": DESKTOP, "phone": PHONE}
LOOKS: list[tuple[str, Scheme]] = [
    ("desktop", "light"),
    ("desktop", "dark"),
    ("phone", "dark"),
    ("phone", "light"),
]
AXED = [("desktop", "light"), ("phone", "dark")]
_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && one.checkVisibility())
  .map((one) => `${one.tagName}.${one.className}`).slice(0, 5)"""


_ONLY_PICTURES = {
    *("answered", "failures", "keys", "preview-text", "running", "thinking"),
    *("results", "rich", "search", "settings", "versions"),
}
"""What other tests look at as well: only their pictures are made here."""
MAKES_PICTURES = bool(os.environ.get("CALLBLOCKS_SCREENS"))


@pytest.mark.parametrize(
    "state", [one for one in STATES if MAKES_PICTURES or one not in _ONLY_PICTURES]
)
def test_a_state_looks_right(
    state: str,
    site: Site,
    profile: Callable[..., Watch],
    axe: Callable[..., list[str]],
) -> None:
    watch = profile(reduced_motion="reduce", color_scheme="light")
    page = watch.open()
    if state == "lost":
        watch.expect("ERR_")
    STATES[state](page, site)
    for size, scheme in LOOKS:
        page.set_viewport_size(SIZES[size])
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert not _overflows(page), f"{state} {size}: {page.evaluate(_WIDE)}"
        if (size, scheme) in AXED:
            assert axe(page) == [], f"{state} {size} {scheme}"
        if MAKES_PICTURES:
            _keep(page, PICTURES / f"{state}-{size}-{scheme}.png")


def _overflows(page: Page) -> bool:
    return page.evaluate(
        "() => document.scrollingElement.scrollWidth > document.scrollingElement.clientWidth"
    )


def _keep(page: Page, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    page.evaluate("() => document.fonts.ready")
    if page.locator("dialog iframe").count():
        # The browser draws a PDF in a process of its own, and tells nobody when it is there.
        page.wait_for_timeout(3_000)
    page.screenshot(path=path, animations="disabled", caret="hide")
