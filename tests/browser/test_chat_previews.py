"""Looking at files on the chat page, and keys that work all over it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Playwright, expect

from support.browser import chromium, watched
from support.site import Site


def say(page: Page, text: str) -> None:
    """Type and send."""
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


@pytest.fixture
def files(page: Page, site: Site) -> Page:
    """A chat with a file of each kind."""
    page.goto(site.page())
    say(page, "Make files")
    expect(page.get_by_text("There they are.")).to_be_visible()
    return page


def test_a_file_of_each_kind_is_looked_at(files: Page) -> None:
    dialog = files.get_by_role("dialog")

    def look(name: str) -> None:
        files.get_by_role("link", name=f"Preview {name}").click()
        expect(dialog.get_by_role("heading", name=name)).to_be_visible()

    look("tides.csv")
    expect(dialog.get_by_role("cell", name="Skerry Point")).to_be_visible()
    files.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(files.get_by_role("link", name="Preview tides.csv")).to_be_focused()
    look("plan.md")
    expect(dialog.locator("strong", has_text="Check")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    look("crossing.py")
    expect(dialog.locator(".ln").first).to_have_text("def crossing(low: str) -> str:")
    files.keyboard.press("Escape")
    look("raw.bin")
    expect(dialog.get_by_text("no preview of this kind")).to_be_visible()
    files.keyboard.press("Escape")
    look("map.png")
    expect(dialog.get_by_role("img", name="map.png")).to_have_js_property("complete", True)
    files.keyboard.press("Escape")


def test_a_pdf_is_drawn_in_a_frame(driver: Playwright, site: Site) -> None:
    with chromium(driver, whole=True) as browser, watched(browser) as watch:
        page = watch.open(site.page())
        say(page, "Make files")
        page.get_by_role("link", name="Preview tides.pdf").click()
        frame = page.get_by_role("dialog").locator("iframe")
        expect(frame).to_have_attribute("title", "tides.pdf")
        inner = frame.element_handle().content_frame()
        assert inner is not None
        # A browser that cannot draw it saves it instead, and goes nowhere.
        inner.wait_for_url("**/api/artifacts/*?name=tides.pdf")


def test_a_file_and_the_whole_chat_are_saved(files: Page) -> None:
    with files.expect_download() as saved:
        files.get_by_role("link", name="Download tides.csv").click()
    assert saved.value.suggested_filename == "tides.csv"
    with files.expect_download() as shared:
        files.get_by_role("button", name="Share").click()
    assert shared.value.suggested_filename == "Make files.html"
    text = shared.value.path().read_text("utf-8")
    assert "There they are." in text
    assert "<title>Make files · callblocks</title>" in text


def test_the_whole_of_a_text_is_copied(files: Page) -> None:
    page, dialog = files, files.get_by_role("dialog")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("link", name="Preview crossing.py").click()
    dialog.get_by_role("button", name="Copy").click()
    expect(dialog.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()").startswith("def crossing(")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Preview map.png").click()
    expect(dialog.get_by_role("img", name="map.png")).to_be_visible()
    expect(dialog.get_by_role("button", name="Copy")).to_be_hidden()


def test_a_new_file_is_shown_by_its_name_not_by_its_digest(files: Page) -> None:
    card = files.get_by_role("region", name="Artifact tides.csv")
    expect(card).to_contain_text("tides.csv")
    assert not re.search("[0-9a-f]{16}", card.inner_text())


def test_keys_are_listed_and_work(page: Page, site: Site) -> None:
    page.goto(site.page())
    page.locator("h1").click()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_contain_text("New chat")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("")
