"""What can be done with messages and with chats: versions, a queue, search, renaming, deletion.

One server and one profile serve all tests of this file, each in a chat of its own.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from callblocks.core.blocks import Block
from support.browser import Watch, axe_violations, watched
from support.site import MortalSite, Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    with open_site(tmp_path_factory.mktemp("site"), SCRIPTS) as site:
        yield site


@pytest.fixture(scope="module")
def shared_watch(browser: Browser) -> Generator[Watch]:
    with watched(browser) as watch:
        yield watch


@pytest.fixture
def tab(shared_watch: Watch) -> Generator[Page]:
    page = shared_watch.open()
    yield page
    page.close()


def said(page: Page, text: str) -> None:
    box = page.locator("textarea#say")
    box.fill(text)
    box.press("Enter")


def messages(page: Page) -> list[str]:
    return [one.strip() for one in page.locator("article .prose").all_inner_texts()]


def test_an_edited_message_is_a_version_and_the_first_is_one_press_away(
    tab: Page, shared_site: Site
) -> None:
    shared_site.say("First", "edited")
    shared_site.say("Second", "edited")
    tab.goto(shared_site.page("edited"))
    tab.locator("article").first.get_by_role("button", name="Edit").click()
    form = tab.locator("form.edit")
    expect(form).to_contain_text("Sent as version 2. The first stays, with its answer.")
    form.get_by_role("textbox").fill("First, edited")
    form.get_by_role("button", name="Send").click()
    expect(tab.get_by_text("You said: First, edited")).to_be_visible()
    expect(tab.locator("article")).to_have_count(2)
    versions = tab.get_by_role("group", name="Versions of your message")
    expect(versions).to_contain_text("2/2")
    assert axe_violations(tab) == []
    versions.get_by_role("button", name="Version before").click()
    expect(tab.get_by_text("You said: Second")).to_be_visible()
    # What is said now follows what is shown.
    said(tab, "Third")
    expect(tab.get_by_text("You said: Third")).to_be_visible()
    assert messages(tab)[:5:2] == ["First", "Second", "Third"]


def test_escape_leaves_a_message_as_it_was(tab: Page, shared_site: Site) -> None:
    shared_site.say("First", "left")
    tab.goto(shared_site.page("left"))
    edit = tab.get_by_role("button", name="Edit")
    edit.click()
    tab.locator("form.edit textarea").press("Escape")
    expect(edit).to_be_focused()
    assert messages(tab) == ["First", "You said: First"]


def test_an_answer_is_asked_for_again(tab: Page, shared_site: Site) -> None:
    shared_site.say("Make one call", "again")
    tab.goto(shared_site.page("again"))
    expect(tab.locator(".meta-facts").last).to_contain_text("script")
    tab.get_by_role("button", name="Regenerate").click()
    expect(tab.get_by_role("group", name="Versions of this answer")).to_contain_text("2/2")
    expect(tab.get_by_text("It said: the only result.")).to_have_count(1)


def test_messages_wait_for_the_turn_and_are_sent_in_order(tab: Page, shared_site: Site) -> None:
    tab.goto(shared_site.page())
    said(tab, "Speak slowly")
    expect(tab.get_by_text("The first sentence is here.")).to_be_visible()
    said(tab, "One more")
    tab.locator("textarea#say").fill("And another")
    tab.get_by_role("button", name="Queue", exact=True).click()
    queued = tab.locator("[data-queued]")
    expect(queued).to_have_count(2)
    expect(queued.first).to_contain_text("Queued. Sent when this turn ends.")
    queued.last.get_by_role("button", name="Edit").click()
    expect(tab.locator("textarea#say")).to_have_value("And another")
    tab.get_by_role("button", name="Queue", exact=True).click()
    assert axe_violations(tab) == []
    shared_site.free()
    expect(tab.get_by_text("You said: And another")).to_be_visible()
    # While the answer is written, an empty line may stand behind it.
    expect(tab.locator("article .prose")).to_have_count(7)
    assert messages(tab)[-4:] == [
        "One more",
        "You said: One more",
        "And another",
        "You said: And another",
    ]
    expect(queued).to_have_count(0)


def test_chats_are_found_renamed_and_deleted(tab: Page, shared_site: Site) -> None:
    shared_site.say("Where do puffins nest?", "birds")
    tab.goto(shared_site.page())
    tab.get_by_role("searchbox", name="Search all chats").fill("puffins")
    expect(tab.get_by_role("status").get_by_text("1 chat found")).to_be_visible()
    expect(tab.locator("mark.hit").first).to_have_text("puffins")
    assert axe_violations(tab) == []
    tab.get_by_role("searchbox", name="Search all chats").press("Escape")
    row = tab.locator(".chat-row", has_text="puffins")
    row.hover()
    row.get_by_role("button", name="Rename or delete").click()
    tab.get_by_role("button", name="Rename", exact=True).click()
    tab.get_by_role("textbox", name="Title of the chat").fill("Sea birds")
    tab.keyboard.press("Enter")
    row = tab.locator(".chat-row", has_text="Sea birds")
    expect(row).to_be_visible()
    row.hover()
    row.get_by_role("button", name="Rename or delete").click()
    tab.get_by_role("button", name="Delete…").click()
    dialog = tab.get_by_role("dialog")
    expect(dialog).to_contain_text("callblocks timeline show birds")
    assert axe_violations(tab) == []
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)


def test_a_chat_of_another_tab_appears_by_itself(tab: Page, shared_site: Site) -> None:
    tab.goto(shared_site.page())
    expect(tab.get_by_role("button", name="Send")).to_be_visible()
    shared_site.say("From elsewhere", "elsewhere")
    expect(tab.locator(".chat-row", has_text="From elsewhere")).to_be_visible()


def test_the_first_of_three_thousand_messages_is_one_press_away(
    tab: Page, shared_site: Site
) -> None:
    blocks: list[Block] = []
    for at in range(1500):
        base = {"turn_id": f"turn_{at + 1}", "ts": "2030-01-31T12:00:00Z"}
        prompt = {"type": "user.prompt", "author": "user", "text": f"Question {at + 1}"}
        answer = {"type": "assistant.completion", "author": "assistant", "text": f"Answer {at + 1}"}
        blocks += [Block(**base, **prompt), Block(**base, **answer)]  # pyright: ignore[reportArgumentType] the fields of a block
        blocks.append(
            Block(**base, type="timeline.turn", author="timeline", meta={"status": "answered"})
        )
    shared_site.service.host.store.append("long", blocks)
    tab.goto(shared_site.page("long"))
    expect(tab.get_by_text("2,940 earlier messages")).to_be_attached()
    tab.get_by_role("button", name="Go to the first").click()
    expect(tab.locator("article").get_by_text("Question 1", exact=True)).to_be_in_viewport()
    expect(tab.locator("article")).to_have_count(60)
    tab.get_by_role("button", name="Go to the last").click()
    expect(tab.get_by_text("Answer 1500")).to_be_in_viewport()


def test_what_was_on_the_screen_stays_when_the_server_dies(
    page: Page, mortal_site: MortalSite, watch: Watch
) -> None:
    watch.expect(r"Failed to load resource|ERR_")
    page.goto(mortal_site.url)
    said(page, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_visible()
    page.wait_for_function("() => Object.keys(sessionStorage).some((key) => key.includes('seen.'))")
    mortal_site.kill()
    mortal_site.begin()
    expect(page.get_by_text("This turn was interrupted")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("The first sentence is here.")).to_have_count(1)
    expect(page.locator(".kept")).to_have_count(1)
    page.reload()
    expect(page.get_by_text("The first sentence is here.")).to_have_count(1)
    expect(page.locator(".kept")).to_have_count(1)


def test_what_is_written_in_one_tab_stays_when_another_edits_the_same_message(
    tab: Page, shared_watch: Watch, shared_site: Site
) -> None:
    shared_site.say("First", "both")
    tab.goto(shared_site.page("both"))
    other = shared_watch.open(shared_site.page("both"))
    for page, words in ((tab, "From the first tab"), (other, "From the second tab")):
        page.get_by_role("button", name="Edit").click()
        page.locator("form.edit textarea").fill(words)
    tab.locator("form.edit").get_by_role("button", name="Send").click()
    expect(other.get_by_text("You said: From the first tab")).to_be_visible()
    expect(other.locator("textarea#say")).to_have_value("From the second tab")
    expect(other.get_by_text("That message was changed elsewhere.")).to_be_visible()
    other.close()


def test_whoever_reads_a_deleted_chat_is_told_and_a_branch_has_branches(
    tab: Page, shared_site: Site
) -> None:
    shared_site.say("First", "gone")
    tab.goto(shared_site.page("gone"))
    versions = tab.get_by_role("group", name="Versions of your message")
    for number, words in enumerate(("Second", "Third"), 2):
        tab.get_by_role("button", name="Edit").first.click()
        tab.locator("form.edit textarea").fill(words)
        tab.locator("form.edit").get_by_role("button", name="Send").click()
        expect(versions).to_contain_text(f"{number}/{number}")
        expect(tab.get_by_text(f"You said: {words}")).to_be_visible()
    said(tab, "Below the third")
    expect(tab.get_by_role("button", name="Edit")).to_have_count(2)
    tab.get_by_role("button", name="Edit").last.click()
    tab.locator("form.edit textarea").fill("Below the third, again")
    tab.locator("form.edit").get_by_role("button", name="Send").click()
    expect(versions.last).to_contain_text("2/2")
    versions.first.get_by_role("button", name="Version before").click()
    expect(tab.get_by_text("You said: Second")).to_be_visible()
    assert messages(tab) == ["Second", "You said: Second"]
    assert shared_site.client.post("/api/chat/gone/delete", json={}).status_code == 200
    expect(tab.get_by_text("This chat was deleted elsewhere.")).to_be_visible()


def test_long_names_and_words_from_right_to_left_stay_in_their_place(
    tab: Page, shared_site: Site
) -> None:
    shared_site.script("arabic", "- واحد\n- اثنان\n\n| اسم | عدد |\n|---|---|\n| ا | 1 |\n")
    shared_site.say(f"{'A very long name ' * 20}{'مرحبا بالعالم ' * 9} arabic", "arabic")
    tab.goto(shared_site.page("arabic"))
    item = tab.locator("article li").first
    expect(item).to_have_text("واحد")
    assert item.evaluate("(node) => getComputedStyle(node).direction") == "rtl"
    for width in (1280, 640, 320):
        tab.set_viewport_size({"width": width, "height": 700})
        assert tab.evaluate("() => document.scrollingElement.scrollWidth <= innerWidth"), width
