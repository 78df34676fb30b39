"""The playground: any text, read as it would have arrived."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PHONE, Watch, watched
from support.site import Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")
TEXT = "Hi\n🛠[ls src]\nbody🛠[/end]\n🛠[/end] then\n🛠[save a.txt]\nhalf\nof it"
SPAN = "#src [data-k={}]"
XSS = "<img src=x onerror=alert(1)>\n🛠[<script>alert(2)</script> <b>]\n<svg onload=alert(3)>🛠[/end]"


_PASTE = """(text) => {
  const editor = document.querySelector("#editor");
  editor.value = text;
  editor.dispatchEvent(new InputEvent("input", {inputType: "insertFromPaste", bubbles: true}));
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """One server for all tests here: what they do in it does not meet."""
    with open_site(tmp_path_factory.mktemp("served") / "site", SCRIPTS) as site:
        yield site


@pytest.fixture(scope="module")
def opened(browser: Browser, site: Site) -> Generator[tuple[Watch, Page]]:
    """The playground, loaded once."""
    with watched(browser) as watch:
        yield watch, watch.open(f"{site.url}/playground")


@pytest.fixture
def play(opened: tuple[Watch, Page]) -> Generator[Page]:
    """The same page with the text of these tests, and its events shown."""
    watch, page = opened
    page.click("#t-ev")
    _give(page)
    yield page
    watch.check()


def _give(page: Page, text: str = TEXT) -> None:
    expect(page.locator("#dialect option")).not_to_have_count(1)
    page.click("#clear")
    # As a paste: typing so much takes a browser long.
    page.evaluate(_PASTE, text)
    expect(page.locator("#where")).to_have_text(f"{len(text):,} of {len(text):,}")
    expect(page.locator("#marked")).to_be_visible()
    # The events come from the server, and set the position to the end.
    expect(page.locator("#known")).not_to_have_text("0")


def _move(page: Page, position: int) -> None:
    page.locator("#pos").fill(str(position))


def test_a_sample_is_there_to_begin_with(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/playground")
    expect(page.locator("#why")).to_contain_text("auto → emoji-bracket: 3 calls")
    expect(page.locator("#problems")).to_have_text("Problems 2 of 2")
    page.select_option("#sample", label="tool-fence")
    expect(page.locator("#why")).to_contain_text("auto → tool-fence: 2 calls")


def test_calls_and_problems_are_marked_in_the_text(play: Page) -> None:
    expect(play.locator(SPAN.format("start"))).to_have_text(["🛠[ls src]", "🛠[save a.txt]"])
    expect(play.locator(SPAN.format("ready"))).to_have_text(["🛠[/end]"])
    expect(play.locator("#src [data-problem]")).to_have_text(["🛠[/end]", "of it"])
    expect(play.locator("#src .note").first).to_contain_text("emoji-bracket.stray-end")


def test_a_hint_says_what_a_call_would_be_read_with_and_its_button_reads_it(play: Page) -> None:
    _give(play, '{"name": "get_tides", "parameters": {"days": 3}}')
    expect(play.locator("#why")).to_contain_text("no call found. A call of get_tides would be read")
    play.get_by_role("button", name="Read as llama3_json").click()
    expect(play.locator("#why")).to_have_text("Read as llama3_json only: 1 call.")
    play.select_option("#dialect", "auto")
    play.fill("#model", "llama-3.1-8b")
    expect(play.locator("#why")).to_contain_text("asked first because the model is llama-3.1-8b")
    play.fill("#model", "")
    play.get_by_role("button", name="Tools").click()
    play.fill("#declared", "[{")
    expect(play.locator("#tools-note")).to_contain_text("This is no JSON yet")
    play.fill("#declared", "get_tides")
    expect(play.locator("#tools-note")).to_have_text("1 tool. Arguments are typed by it.")
    expect(play.locator("#why")).to_contain_text("auto → llama3_json: 1 call")
    play.fill("#declared", "")
    play.keyboard.press("Escape")


def test_a_call_is_arriving_ready_or_not_whole_and_never_running(play: Page) -> None:
    play.click("#t-bl")
    head = play.locator("call-blocks summary").last
    expect(head).to_contain_text("save · 1 not whole")
    head.click()
    expect(play.locator("call-blocks .call-line").last).to_contain_text(
        "✗ not whole: the text stops"
    )
    _move(play, 14)
    expect(play.locator("call-blocks summary", has_text="ls · 1 arriving")).to_be_visible()
    expect(play.locator("call-blocks .hourglass")).to_have_count(0)


def test_what_has_not_arrived_is_grey_and_not_known(play: Page) -> None:
    _move(play, 5)
    expect(play.locator(SPAN.format("start"))).to_have_count(0)
    expect(play.locator("#known")).to_have_text("1")
    expect(play.locator("#src [data-later]").first).to_have_text("ls src]\n")
    play.click("#next")
    expect(play.locator("#where")).to_contain_text("12 of")
    expect(play.locator(SPAN.format("start"))).to_have_text(["🛠[ls src]"])
    expect(play.locator("#events tr[data-later]").first).to_contain_text("CallInput")
    play.click("#prev")
    expect(play.locator("#where")).to_have_text(f"1 of {len(TEXT)}")


def test_it_plays_to_the_end(play: Page) -> None:
    play.select_option("#pace", "2000")
    play.click("#play")
    expect(play.locator("#play")).to_have_attribute("aria-pressed", "false")
    expect(play.locator("#where")).to_have_text(f"{len(TEXT)} of {len(TEXT)}")


def test_blocks_and_the_conversion_are_beside_it_by_keyboard(play: Page) -> None:
    play.focus("#t-ev")
    play.keyboard.press("ArrowRight")
    expect(play.locator("#p-bl")).to_be_visible()
    expect(play.locator("call-blocks summary").first).to_contain_text("ls")
    play.keyboard.press("End")
    expect(play.locator("#p-co .out")).to_contain_text("```tool ls tool-call-1")
    expect(play.locator("#p-co .notes")).to_contain_text("'save', which did not end")
    play.get_by_label("Into").select_option("chat-blocks")
    expect(play.locator("#p-co .out")).to_contain_text('<tool id="tool-call-1">')


def test_a_link_holds_the_text_and_the_dialect_and_is_sent_nowhere(
    profile: Callable[..., Watch], site: Site
) -> None:
    watch = profile(permissions=["clipboard-read", "clipboard-write"])
    page = watch.open(f"{site.url}/playground")
    text = f"{TEXT}\n{'é🛠 long ' * 2000}"
    _give(page, text)
    page.select_option("#dialect", "tool-fence")
    page.fill("#model", "qwen3-coder")
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#share-note")).to_contain_text("the model, in a link of")
    page.click("#copy-link")
    expect(page.locator("#copy-link")).to_have_text("Copied")
    link = page.evaluate("() => navigator.clipboard.readText()")
    assert "#dialect=tool-fence&model=qwen3-coder&text=" in link
    asked: list[str] = []
    other = watch.open()
    other.on("request", lambda request: asked.append(request.url))
    other.goto(link)
    expect(other.locator("#where")).to_contain_text(f"{len(text):,}")
    expect(other.locator("#dialect")).to_have_value("tool-fence")
    expect(other.locator("#model")).to_have_value("qwen3-coder")
    assert all("text=" not in one.partition("#")[0] for one in asked)


def test_a_broken_link_shows_a_sample(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/playground#dialect=auto&text=%%%")
    expect(page.locator("#why")).to_contain_text("emoji-bracket")


_KEPT = """
() => [sessionStorage, localStorage].some((all) =>
  Object.keys(all).some((key) => all.getItem(key).includes("save a.txt")))
"""


def test_a_text_survives_a_reload(play: Page) -> None:
    # It is kept a moment after it was shown.
    play.wait_for_function(_KEPT)
    play.reload()
    expect(play.locator(SPAN.format("start")).first).to_have_text("🛠[ls src]")


def test_text_of_a_model_is_never_markup(play: Page) -> None:
    _give(play, f"{XSS}\n\u202eturned\u001b[31m")
    for tab in ("#t-bl", "#t-co", "#t-ev"):
        play.click(tab)
    expect(play.locator("#src")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(play.locator("#src")).to_contain_text("⟨U+202E⟩turned␛[31m")
    assert play.locator("#src img, #src script, #src svg, #events script, #p-co svg").count() == 0


def test_a_long_text_is_built_only_where_it_is_seen(play: Page) -> None:
    _give(play, "🛠[ls src]\nbody\n🛠[/end]\n" * 2000)
    expect(play.locator("#whole")).to_contain_text("when the text is whole")
    assert play.evaluate("() => document.querySelectorAll('*').length") < 4000
    _move(play, 20_000)
    expect(play.locator("#src .cut")).to_have_count(1)


def test_nothing_is_wrong_for_those_who_hear_or_have_a_narrow_screen(
    profile: Callable[..., Watch], site: Site, axe: Callable[..., list[str]]
) -> None:
    narrow = {"viewport": PHONE, "color_scheme": "dark"}
    for options, tabs in (({}, ("#t-ev", "#t-bl", "#t-co")), (narrow, ("#t-ev",))):
        page = profile(**options).open(f"{site.url}/playground")
        expect(page.locator("#src .ln").first).to_be_visible()
        for tab in tabs:
            page.click(tab)
            assert axe(page) == []
        page.click("#edit")
        assert axe(page) == []
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
