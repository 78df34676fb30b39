"""Talking on the chat page: typing, blocks that live, questions, stopping, files."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from support.browser import Watch
from support.site import Site

_SAID = """() => [...document.querySelectorAll("call-blocks")]
  .map((one) => one.shadowRoot.querySelector(".blocks").innerText.replace(/\\d+ s$/gm, ""))
  .join("\\n")"""
_DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name, {type: "text/plain"}));
  for (const type of ["dragenter", "dragover"])
    document.body.dispatchEvent(
      new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
  globalThis.dropped = data;
}"""
_LET_FALL = """() => document.body.dispatchEvent(
  new DragEvent("drop", {dataTransfer: globalThis.dropped, bubbles: true, cancelable: true}))"""


def say(page: Page, text: str) -> None:
    """Type and send."""
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def said(page: Page) -> str:
    """All that stands in the conversation, but for seconds that count and times of calls."""
    return re.sub(r"\b[\d.,]+ m?s\b", "", str(page.evaluate(_SAID)))


def ended(page: Page) -> None:
    """Wait for the end of a turn."""
    expect(page.get_by_role("button", name="Send")).to_be_visible()


def test_a_batch_lives_from_its_first_call_to_its_result(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Make a slow batch")
    batch = page.locator("details.batch")
    expect(batch.locator("summary")).to_contain_text("3 tool calls")
    expect(batch.locator("summary")).to_contain_text("wait")
    expect(batch).to_have_attribute("data-state", "running")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    site.let_go("slow")
    expect(page.get_by_text("It is done: slow result.")).to_be_visible()
    expect(batch).to_have_attribute("data-state", "done")
    ended(page)
    expect(page.locator("#sub")).to_contain_text("turn 1")


def test_a_batch_opens_and_closes_by_keyboard_and_stays_open(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Make a slow batch")
    batch = page.locator("details.batch")
    batch.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(batch.get_by_role("img", name="running")).to_have_count(1)
    site.let_go("slow")
    expect(batch.get_by_text("slow result")).to_be_visible()
    ended(page)
    expect(batch).to_have_attribute("open", "")
    expect(batch.locator("summary")).to_be_focused()
    page.keyboard.press("Space")
    expect(batch).not_to_have_attribute("open", "")


def test_a_reload_in_the_middle_of_a_call_shows_the_same(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Make a slow batch")
    page.locator("details.batch summary").click()
    expect(page.get_by_role("img", name="running")).to_have_count(1)
    page.get_by_role("textbox", name="Message", exact=True).fill("not sent yet")
    before = said(page)
    page.reload()
    expect(page.get_by_text("again result", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name="running")).to_have_count(1)
    assert said(page) == before
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("not sent yet")
    site.let_go("slow")
    expect(page.get_by_text("It is done: slow result.")).to_have_count(1)


def test_one_call_is_approved_and_another_denied_with_a_reason(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Ask two questions")
    expect(page.get_by_text("1 to approve")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.locator("details.answered summary")).to_contain_text("approved")
    page.get_by_label("Reason for denying").fill("not today")
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_text("First: did the first thing.")).to_be_visible()
    answered = page.locator("details.answered summary")
    expect(answered.last).to_contain_text("not today")
    ended(page)
    # Also in the chat that is loaded, long after the turn.
    page.reload()
    expect(answered).to_have_count(2)
    expect(answered.first).to_contain_text("approved")
    expect(answered.last).to_contain_text("not today")


def test_ten_minutes_cover_the_next_call_of_the_tool(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Ask two questions")
    note = page.get_by_text("Ten minutes: any act that comes after this one, in this workspace")
    expect(note.first).to_be_visible()
    page.get_by_role("button", name="Allow for 10 minutes").first.click()
    expect(page.get_by_text("Second: did the second thing.")).to_be_visible()
    # What the note says: another chat does not ask either.
    page.goto(site.page())
    say(page, "Ask two questions")
    expect(page.get_by_text("Second: did the second thing.")).to_be_visible()
    expect(page.locator(".approval, details.answered")).to_have_count(0)
    # Each call says what let it through, and the grant can be taken back there.
    page.locator("details.batch > summary").click()
    allowed = page.locator(".verdict")
    expect(allowed).to_have_count(2)
    lasting = re.compile(r"allowed by your 10-minute grant, \d+:\d\d left · Revoke")
    expect(allowed.first).to_contain_text(lasting)
    page.get_by_role("button", name="Revoke").last.click()
    expect(allowed).to_have_text(["allowed by your 10-minute grant, revoked"] * 2)
    page.reload()
    page.locator("details.batch > summary").click()
    expect(allowed).to_have_text(["allowed by your 10-minute grant, revoked"] * 2)
    page.goto(site.page())
    say(page, "Ask two questions")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()


def test_an_answer_that_fails_says_why_and_can_be_given_again(
    page: Page, site: Site, watch: Watch
) -> None:
    watch.expect("409")
    fault = '{"error": {"code": "store_unavailable", "message": "the store is away"}}'
    page.goto(site.page())
    page.route("**/api/approvals/*", lambda route: route.fulfill(status=409, body=fault), times=1)
    say(page, "Edit the plan")
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("The store is away.")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("The tool said")).to_be_visible()
    assert (site.workspace / "plan.md").read_text().startswith("# Plan")


def test_stop_stands_where_send_was_and_ends_the_turn(page: Page, site: Site) -> None:
    page.goto(site.page())
    before = page.get_by_role("button", name="Send").bounding_box()
    say(page, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_visible()
    stop = page.get_by_role("button", name="Stop")
    assert stop.bounding_box() == before
    page.wait_for_timeout(600)
    stop.click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    ended(page)


def test_escape_stops_a_turn(page: Page, site: Site) -> None:
    page.goto(site.page())
    say(page, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("Stopped.")).to_be_visible()


def test_files_come_by_the_chooser_and_by_dropping_and_can_be_removed(
    page: Page, site: Site, tmp_path: Path
) -> None:
    given = tmp_path / "notes.txt"
    given.write_text("low water 06:12\n")
    page.goto(site.page())
    page.locator("input[type=file]").set_input_files(given)
    page.evaluate(_DROP, ["dropped.txt", "dropped words\n"])
    expect(page.get_by_text("Drop to attach")).to_be_visible()
    page.evaluate(_LET_FALL)
    expect(page.get_by_text("Drop to attach")).to_be_hidden()
    files = page.get_by_role("list", name="Attached files")
    expect(files.get_by_role("listitem")).to_have_count(2)
    files.get_by_role("button", name="Remove dropped.txt").click()
    expect(files.get_by_role("listitem")).to_have_count(1)
    say(page, "Make one call")
    ended(page)
    expect(files).to_be_hidden()
    for _ in ("while only this page has it", "from the server"):
        page.get_by_role("link", name="notes.txt").click()
        expect(page.get_by_role("dialog")).to_contain_text("low water 06:12")
        page.reload()


def test_files_stand_beside_each_other(page: Page, site: Site, tmp_path: Path) -> None:
    names = ("one.txt", "two.txt", f"{'with a long name ' * 8}.txt")
    for name in names:
        (tmp_path / name).write_text("words\n")
    page.goto(site.page())
    page.locator("input[type=file]").set_input_files([tmp_path / name for name in names])
    say(page, "Make one call")
    ended(page)
    files = page.locator(".file")
    expect(files).to_contain_text(list(names))
    # Measured at once: the page may scroll, or replace what it had by what the server has.
    one, two, long = files.evaluate_all(
        "(files) => files.map((file) => file.getBoundingClientRect().toJSON())"
    )
    assert one["y"] == two["y"]
    assert long["y"] + long["height"] == one["y"] + one["height"]
    assert long["width"] <= 26 * 16


def test_what_is_too_large_is_told_in_the_words_of_the_server(
    page: Page, site: Site, watch: Watch
) -> None:
    watch.expect("413")
    fault = '{"error": {"code": "body_too_large", "message": "the body has 9 MB, more than 2"}}'
    page.goto(site.page())
    page.route("**/api/chat", lambda route: route.fulfill(status=413, body=fault), times=1)
    say(page, "Make one call")
    expect(page.get_by_role("alert")).to_have_text("Not sent. The body has 9 MB, more than 2.")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("Make one call")
    expect(page.locator("article")).to_have_count(0)


def test_a_suggested_prompt_is_sent_by_a_click(page: Page, site: Site) -> None:
    page.goto(site.page())
    page.get_by_role("button", name="Five calls at once").click()
    expect(page.locator("details.batch summary")).to_contain_text("5 tool calls")
    expect(page.get_by_role("heading", name="Make five calls")).to_be_visible()
    assert "?chat=" in page.url
    # Its card is gone; one goes on writing.
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()


def test_shift_enter_and_composing_do_not_send(page: Page, site: Site) -> None:
    page.goto(site.page())
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.fill("one")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two")
    box.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    expect(box).to_have_value("one\ntwo")
    expect(page.locator("article")).to_have_count(0)
