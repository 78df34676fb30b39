"""The chat page over a network that fails, in two tabs, and what it remembers."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from support.browser import Watch
from support.site import MortalSite, Site

SCRIPTS = Path(__file__).with_name("scripts")
_SAID = """() => [...document.querySelectorAll("call-blocks")]
  .map((one) => one.shadowRoot.querySelector(".blocks").innerText).join("\\n")"""
_CUTTABLE = """
const asked = globalThis.fetch;
const cuts = [];
globalThis.headersSent = [];
globalThis.cutStreams = () => cuts.splice(0).forEach((cut) => cut());
globalThis.fetch = async (address, init) => {
  const response = await asked(address, init);
  const isStream = /event-stream/.test(response.headers.get("content-type") ?? "");
  if (!isStream || /chats/.test(response.url)) return response;
  globalThis.headersSent.push(new Headers(init?.headers).get("last-event-id"));
  const start = (end) => cuts.push(() => end.error(new Error("cut")));
  const pipe = new TransformStream({ start });
  response.body.pipeTo(pipe.writable).catch(() => {});
  return new Response(pipe.readable, response);
};
"""
_OUTAGE = ("ERR_", "Failed to load resource", "503")


def say(page: Page, text: str) -> None:
    """Type and send."""
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def said(page: Page) -> str:
    """All that stands in the conversation, but for times of calls."""
    return re.sub(r"\b[\d.,]+ m?s\b", "", str(page.evaluate(_SAID)))


@pytest.fixture
def mortal(tmp_path: Path) -> Generator[MortalSite]:
    """A server that can be killed."""
    site = MortalSite(tmp_path / "mortal", SCRIPTS)
    try:
        yield site
    finally:
        site.free()
        site.kill()


def test_a_turn_whose_server_died_is_kept_and_goes_on(
    page: Page, watch: Watch, mortal: MortalSite
) -> None:
    watch.expect(*_OUTAGE)
    page.goto(mortal.url)
    say(page, "Make a slow batch")
    expect(page.locator("details.batch summary")).to_contain_text("wait")
    mortal.kill()
    banner = page.locator("#banner")
    expect(banner).to_contain_text("Reconnecting.")
    expect(banner).to_contain_text("is kept.")
    expect(page.locator("details.batch summary")).to_contain_text("3 tool calls")
    mortal.begin()
    banner.locator("button").dispatch_event("click")  # also where it is hidden again
    page.get_by_role("button", name="Resume").click()
    mortal.let_go("slow")
    expect(page.get_by_text("It is done: slow result.")).to_have_count(1)
    expect(page.locator("article")).to_have_count(2)
    expect(page.get_by_role("button", name="Resume")).to_be_hidden()
    assert said(page).count("This takes a while.") == 1


def test_a_stream_that_is_cut_in_a_text_is_told_anew(page: Page, site: Site) -> None:
    page.add_init_script(_CUTTABLE)
    page.goto(site.page())
    say(page, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_visible()
    page.evaluate("cutStreams()")
    expect(page.locator("#banner")).to_contain_text("Reconnecting.")
    site.go_on()
    expect(page.get_by_text("The second one came later.")).to_be_visible()
    expect(page.locator("#banner")).to_contain_text("Connected again.")
    site.go_on()
    expect(page.get_by_text("The third one is the last.")).to_be_visible()
    for words in ("The first sentence", "The second one", "The third one"):
        assert said(page).count(words) == 1


def test_a_stream_that_is_cut_in_a_call_goes_on_after_its_last_event(
    page: Page, site: Site
) -> None:
    page.add_init_script(_CUTTABLE)
    page.goto(site.page())
    say(page, "Make a slow batch")
    page.locator("details.batch summary").click()
    expect(page.get_by_role("img", name="running")).to_have_count(1)
    page.evaluate("cutStreams()")
    page.locator("#banner button").dispatch_event("click")  # also where it is hidden again
    expect(page.locator("#banner")).to_contain_text("Connected again.")
    site.let_go("slow")
    expect(page.get_by_text("It is done: slow result.")).to_have_count(1)
    expect(page.locator("details.batch")).to_have_attribute("open", "")
    first, again = page.evaluate("headersSent")
    assert first is None
    assert again.partition(".")[0].isdigit()


def test_a_message_that_never_arrived_is_back_in_the_composer(
    page: Page, watch: Watch, mortal: MortalSite
) -> None:
    watch.expect(*_OUTAGE)
    page.goto(mortal.url)
    expect(page.get_by_role("list", name="Prompts to begin with")).to_be_visible()
    mortal.kill()
    say(page, "Make one call")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("Make one call")
    expect(page.locator("#banner")).to_contain_text("Reconnecting.")
    mortal.begin()
    expect(page.locator("#banner")).to_be_hidden(timeout=120_000)
    page.get_by_role("button", name="Send").click()
    expect(page.locator("details.batch")).to_have_count(1)


def test_two_tabs_show_one_chat(page: Page, watch: Watch, site: Site) -> None:
    page.goto(site.page())
    say(page, "Make one call")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    other = watch.open(page.url)
    expect(other.locator("details.batch")).to_have_count(1)
    say(page, "Ask two questions")
    expect(other.get_by_role("button", name="Approve")).to_be_visible()
    other.get_by_role("button", name="Allow for 10 minutes").click()
    for tab in (page, other):
        expect(tab.get_by_text("Second: did the second thing.")).to_have_count(1)
    assert said(page) == said(other)


def test_the_theme_goes_round_and_is_kept(page: Page, site: Site) -> None:
    page.goto(site.page())
    button = page.locator("button.theme")
    button.click()
    button.click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(button).to_have_accessible_name("Theme: dark")
    button.click()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")


def test_a_choice_is_remembered_and_counts(page: Page, site: Site) -> None:
    page.goto(site.page())
    page.get_by_label("Dialect").select_option("emoji-bracket")
    page.reload()
    expect(page.get_by_label("Dialect")).to_have_value("emoji-bracket")
    page.get_by_label("Scenario").select_option(label="One call")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("Make one call")
    with page.expect_request("**/api/chat") as sent:
        say(page, "anything else")
    body = json.loads(sent.value.post_data or "{}")
    assert (body["scenario"], body["dialect"]) == ("one-call", "emoji-bracket")


def test_a_link_to_no_chat_says_so(page: Page, site: Site, watch: Watch) -> None:
    watch.expect("404")
    page.goto(f"{site.url}/?chat=not-here")
    expect(page.get_by_role("heading", name="This chat is not here")).to_be_visible()
    say(page, "Make one call")
    expect(page.locator("details.batch summary")).to_be_visible()


def test_a_name_that_no_chat_has_is_a_new_chat(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/?chat=..%2F..%2Fetc")
    expect(page.get_by_role("heading", name="What shall we do?")).to_be_visible()
    expect(page.locator("#banner")).to_be_hidden()
    assert page.url == f"{site.url}/"


def test_a_chat_that_is_loading_does_not_look_empty(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Make one call")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/chat/*", hold)
    with page.expect_response("**/api/models"):
        page.reload()
    expect(page.get_by_text("Scenario")).to_be_visible()
    expect(page.locator(".first")).to_have_count(0)
    for one in held:
        one.continue_()
    expect(page.locator("details.batch summary")).to_be_visible()
