"""Text is text on every page of the real server, wherever it comes from: nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from browser.payloads import PAYLOADS
from callblocks.core.calls import Call
from callblocks.core.outcomes import Artifact, Failure, Notice, Outcome
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.turn_files import open_recorder
from support.browser import Watch
from support.page_injection import assert_harmless, open_all_folds, watch_harm
from support.page_states import ask, read_text
from support.site import Site

# A line of its own for each, with enough around it that no payload ends another.
WORDS = "\n\n".join(f"{number}. {payload}" for number, payload in enumerate(PAYLOADS, 1))


@pytest.fixture
def page(profile: Callable[..., Watch]) -> Page:
    watch = profile()
    watch_harm(watch.context)
    return watch.open()


def test_nothing_runs_that_a_model_says_or_a_tool_brings(page: Page, site: Site) -> None:
    site.script("say all", f"{WORDS}\n\n{_fences('say', 'text')}\n<!-- results -->\n\nOver.\n")
    ask(page, site, "say all")
    expect(page.get_by_text("Over.", exact=True)).to_be_visible()
    open_all_folds(page)
    assert_harmless(page)


@pytest.mark.parametrize(
    "kinds", [(("fail", "message"), ("make", "name")), (("page", "text"), ("page", "url"))]
)
def test_nothing_runs_that_a_failure_a_name_or_a_page_says(
    page: Page, site: Site, kinds: tuple[tuple[str, str], ...]
) -> None:
    calls = "\n".join(_fences(tool, key, 40) for tool, key in kinds)
    site.script("bring all", f"{calls}\n<!-- results -->\n\nOver.\n")
    ask(page, site, "bring all")
    expect(page.get_by_text("Over.", exact=True)).to_be_visible(timeout=120_000)
    open_all_folds(page)
    assert_harmless(page)


def test_nothing_runs_that_a_question_shows(page: Page, site: Site) -> None:
    # With a NUL in it a file would be binary, and have no diff.
    text = WORDS.replace("\0", "")
    (site.workspace / "plan.md").write_text(text, "utf-8")
    change = _input(path="plan.md", content=text.swapcase())
    calls = (f"file_write one\n{change}", f"act two\n{_input(what=WORDS)}")
    fences = "\n".join(f"```tool {call}\n```\n" for call in calls)
    site.script("ask all", f"{fences}\n<!-- results -->\n\nOver.\n")
    ask(page, site, "ask all")
    expect(page.locator(".approval").get_by_text("onerror=pwned()").first).to_be_visible()
    assert_harmless(page)
    for tool, reason in zip(("file_write", "act"), _reasons(), strict=True):
        expect(page.locator(".approval", has_text=tool)).to_be_visible()
        page.get_by_label("Reason").fill(reason)
        page.get_by_role("button", name="Deny").click()
    expect(page.get_by_text("Over.", exact=True)).to_be_visible()
    open_all_folds(page)
    assert_harmless(page)
    for first in (PAYLOADS[0], PAYLOADS[len(PAYLOADS) // 2]):
        expect(page.get_by_text(first).first).to_be_attached()


@pytest.mark.parametrize("address", ["/?chat=all", "/api/timelines/all/page"])
def test_nothing_runs_that_a_timeline_has(page: Page, site: Site, address: str) -> None:
    with open_recorder(site.folder / "state", "all") as recorder:
        _write_all(recorder)
    page.goto(f"{site.url}{address}")
    expect(page.get_by_text("The end of it.").first).to_be_visible()
    open_all_folds(page)
    assert_harmless(page)


def test_nothing_runs_in_the_inspector(page: Page, site: Site) -> None:
    with open_recorder(site.folder / "state", "all") as recorder:
        _write_all(recorder)
    page.goto(f"{site.url}/timeline?name=all")
    expect(page.get_by_role("gridcell", name="react.notes").first).to_be_visible()
    page.focus("#raw")
    page.keyboard.press("Home")
    for number in range(1, 200):
        expect(page.locator(f"#raw [aria-selected=true][data-seq='{number}']")).to_be_attached()
        assert_harmless(page)
        page.keyboard.press("ArrowDown")
    page.get_by_role("searchbox", name="Find in paths and text").fill("onerror=pwned()")
    open_all_folds(page)
    assert_harmless(page)


def test_nothing_runs_that_is_the_title_of_a_chat(page: Page, site: Site) -> None:
    for number, payload in enumerate(PAYLOADS[:40]):
        with open_recorder(site.folder / "state", f"chat-{number}") as recorder:
            recorder.prompt(recorder.new_turn(), payload or "-")
    page.goto(site.page("chat-0"))
    expect(page.locator("nav[aria-label=Chats] a")).to_have_count(40)
    expect(page).to_have_title(f"{PAYLOADS[0]} · callblocks")
    assert_harmless(page)


def test_nothing_runs_that_is_the_name_of_a_file(page: Page, site: Site) -> None:
    page.goto(site.page())
    # The server refuses what cannot be seen, and says so; that is shown as well.
    names = [payload.replace("/", "∕") for payload in PAYLOADS]
    plain = [name for name in names if name.isprintable() and "\\" not in name][:50]
    files = [{"name": name, "mimeType": "text/plain", "buffer": b"x"} for name in plain]
    page.locator("input[type=file]").set_input_files(files)  # pyright: ignore[reportArgumentType] a list of files
    expect(page.locator(".composer .files li")).to_have_count(len(files))
    assert_harmless(page)
    ask(page, site, "Here they are")
    expect(page.get_by_text("You said: Here they are")).to_be_visible()
    assert_harmless(page)


def test_nothing_runs_in_the_playground(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/playground")
    fences = _fences("say", "text")
    read_text(page, f"{WORDS}\n\n{fences}\n\n<tool>{WORDS}</tool>")
    expect(page.locator("#src")).to_contain_text(PAYLOADS[0])
    for part in range(5):
        page.locator("#marked").evaluate("(one, at) => { one.scrollTop = at; }", 4000 * part)
        assert_harmless(page)
    for tab in page.get_by_role("tab").all():
        tab.click()
        open_all_folds(page)
        assert_harmless(page)


def _reasons() -> tuple[str, str]:
    """All payloads, in the two answers that a person gives."""
    half = len(PAYLOADS) // 2
    return " · ".join(PAYLOADS[:half]), " · ".join(PAYLOADS[half:])


def _fences(tool: str, key: str, count: int = len(PAYLOADS)) -> str:
    """A call for each payload, as many as a turn may have."""
    more = {"make": {"kind": "text"}, "page": {"url": "https://ok.example/", "text": "x"}}
    inputs = [_input(**more.get(tool, {}) | {key: payload}) for payload in PAYLOADS[:count]]
    return "\n".join(
        f"```tool {tool} {tool}-{key}-{at}\n{one}\n```\n" for at, one in enumerate(inputs)
    )


def _input(**given: str) -> str:
    """An input on one line: what a reader of YAML takes for the end of one is escaped."""
    text = json.dumps(given, ensure_ascii=False)
    odd = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFEFF)}
    return f"input: {text.translate(odd)}"


def _write_all(recorder: Recorder) -> None:
    """A turn in which every field of every block has each payload."""
    turn = recorder.new_turn()
    with recorder.together():
        recorder.prompt(turn, WORDS)
        for number, payload in enumerate(PAYLOADS):
            _write_call(recorder, turn, number, payload)
        _write_sources(recorder, turn)
        recorder.completion(turn, f"{WORDS}\n\nThe end of it.")
    recorder.end_turn(turn, status="answered")


def _write_call(recorder: Recorder, turn: str, number: int, payload: str) -> None:
    name = "say" if number % 2 else f"say {payload}"
    call = Call(id=f"c{number}", name=name, input={payload: payload})
    code = "not_found" if number % 2 else "approval_denied"
    failure = Failure(code=code, message=payload, where=payload)
    outcome = Outcome(
        id=call.id,
        name=call.name,
        output=payload if number % 3 else None,
        error=None if number % 3 else failure,
        notices=(Notice(code="lines_left_out", message=payload),),
        artifacts=(Artifact(path=payload, size=3, digest=f"{number:064x}", mime="text/html"),),
    )
    recorder.notes(turn, call, payload)
    recorder.ended(turn, call, outcome)


def _write_sources(recorder: Recorder, turn: str) -> None:
    """A search whose every row has a payload as its address, its title and its text."""
    rows = [{"url": one, "title": one, "text": one, "date": one} for one in PAYLOADS]
    for number, base in enumerate(("", "https://ok.example/")):
        found = [row | {"url": base + row["url"]} for row in rows]
        call = Call(id=f"s{number}", name="web_tools.web_search", input={"queries": ["all"]})
        recorder.ended(turn, call, Outcome(id=call.id, name=call.name, output=found))
