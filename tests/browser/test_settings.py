"""The page of settings: models that are tested, tools with verdicts, the look, and the token."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from callblocks.protocols.mcp.server_link import McpServers
from support.browser import PHONE, Watch
from support.mcp_servers import entry_of
from support.site import Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")


def test_a_model_is_tested_and_its_words_stand_beside_it(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/settings")
    row = page.locator(".model-row")
    row.get_by_role("button", name="Test").click()
    expect(row.get_by_role("status")).to_contain_text("answered without a call")


def test_tools_say_what_the_policy_says(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/settings")
    page.get_by_role("searchbox", name="Find a tool").fill("file_read")
    row = page.locator(".tool").first
    expect(row).to_contain_text("allow")
    expect(row).to_contain_text("it changes nothing")
    page.get_by_role("searchbox", name="Find a tool").fill("")
    page.get_by_label("Verdict").select_option("ask")
    expect(page.locator(".tool .tag").first).to_have_text("ask")


def test_a_tool_of_an_mcp_server_is_switched_off(page: Page, tmp_path: Path) -> None:
    servers = McpServers([entry_of("evil-words", "notes")], tmp_path / "known")
    with open_site(tmp_path / "site", SCRIPTS, host={"mcp": servers}) as site:
        page.goto(f"{site.url}/settings")
        part = page.locator("#mcp")
        tool = part.get_by_role("switch", name="Use the tool notes.say")
        part.get_by_text("1 tools").click()
        expect(part).to_contain_text("Reads notes.")
        tool.uncheck()
        # The list stays open, and the switch has the focus, when the page is drawn anew.
        expect(tool).to_be_focused()
        expect(tool).not_to_be_checked()
        assert servers.tools() == []
        part.get_by_role("switch", name="Use the server notes").uncheck()
        expect(part.locator(".says")).to_have_text("off")
    servers.close()


def test_the_language_and_the_theme_are_kept(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/settings")
    page.get_by_text("Deutsch").click()
    expect(page.get_by_role("heading", name="Einstellungen")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.get_by_text("Dunkel").click()
    page.goto(site.page())
    expect(page.get_by_role("button", name="Senden")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_server_with_a_token_asks_for_it(page: Page, watch: Watch, tmp_path: Path) -> None:
    watch.expect(r"401")
    with open_site(tmp_path / "site", SCRIPTS, token="a-token-that-is-long-enough") as site:
        page.goto(f"{site.url}/settings")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Token").fill("another token")
        dialog.get_by_role("button", name="Enter").click()
        expect(dialog.get_by_role("alert")).to_have_text("Not accepted")
        dialog.get_by_label("Token").fill("a-token-that-is-long-enough")
        dialog.get_by_role("button", name="Enter").click()
        expect(page.locator(".tool").first).to_be_visible()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing(
    profile: Callable[..., Watch], site: Site, axe: Callable[..., list[str]], look: str
) -> None:
    options = {"viewport": PHONE} if look == "phone" else {}
    page = profile(color_scheme="dark" if look == "dark" else "light", **options).open()
    page.goto(f"{site.url}/settings")
    expect(page.locator(".tool").first).to_be_visible()
    expect(page.get_by_text(re.compile("None is configured"))).to_be_visible()
    page.screenshot(path=site.folder / "settings.png", full_page=True)
    assert axe(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
