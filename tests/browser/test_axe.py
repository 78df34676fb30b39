"""What axe-core finds where a state has more to it than what is first seen: nothing.

`test_screens.py` runs it on every state, in the light on a desktop and in the dark on a phone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from support.browser import PHONE, Watch
from support.page_injection import open_all_folds
from support.page_states import STATES, ask
from support.site import Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")
Axe = Callable[[Page], list[str]]


def test_the_drawer_of_a_phone(profile: Callable[..., Watch], site: Site, axe: Axe) -> None:
    site.say("Make one call", "trip")
    page = profile(viewport=PHONE, color_scheme="dark").open(site.page("trip"))
    expect(page.get_by_text("It said: the only result.")).to_be_visible()
    page.get_by_role("button", name="Chats and pages").click()
    expect(page.get_by_role("link", name="Playground")).to_be_visible()
    assert axe(page) == []


def test_a_shared_page_with_all_open(page: Page, site: Site, axe: Axe) -> None:
    site.say("Make five calls", "trip")
    page.goto(f"{site.url}/api/timelines/trip/page")
    open_all_folds(page)
    expect(page.get_by_text("second result").first).to_be_visible()
    assert axe(page) == []


def test_every_tab_of_the_playground(page: Page, site: Site, axe: Axe) -> None:
    STATES["playground"](page, site)
    for tab in page.get_by_role("tab").all():
        tab.click()
        open_all_folds(page)
        assert axe(page) == [], tab.inner_text()


def test_a_team_and_what_its_members_did(page: Page, tmp_path: Path, axe: Axe) -> None:
    with open_site(tmp_path / "team", SCRIPTS, members=("ann", "bob")) as site:
        ask(page, site, "Ask the team")
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        expect(page.get_by_text("ann").first).to_be_visible()
        open_all_folds(page)
        assert axe(page) == []


def test_a_batch_that_is_reached_and_opened_by_keyboard(page: Page, site: Site, axe: Axe) -> None:
    ask(page, site, "Make five calls")
    expect(page.get_by_text("All five came back")).to_be_visible()
    page.locator("summary", has_text="5 tool calls").focus()
    page.keyboard.press("Enter")
    expect(page.locator("li.call", has_text="second result")).to_be_visible()
    assert axe(page) == []
    page.keyboard.press("Space")
    expect(page.locator("li.call", has_text="second result")).to_be_hidden()
