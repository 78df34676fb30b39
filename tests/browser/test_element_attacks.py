"""Text is text: in every field of every part, nothing runs, and nothing leaves the page."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from support.element import Stage, open_stage


def _payloads() -> Any:
    spec = spec_from_file_location("payloads", Path(__file__).with_name("payloads.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


payloads = _payloads()
ALLOWED = """
    a b blockquote br button code dd del details div dl dt em figcaption figure form h2 h3 h4 h5 h6
    hr i img input label li ol p pre section span strong summary table tbody td th thead tr ul
"""
ATTRIBUTES = """
    alt aria-disabled aria-expanded aria-hidden aria-label aria-live autocomplete class data-cut
    data-depth data-from data-kind data-live data-many data-n data-state data-status decoding
    download for hidden href id loading maxlength open placeholder rel role src start tabindex
    target title type
"""
# Shows each value, opens every fold and every cut result, and says what of it may not be there.
LOOK = """async (node, [name, values, tags, attributes]) => {
  const isLink = (one) => /^(https?:\\/\\/|mailto:)/.test(one.getAttribute("href"))
    || (one.getAttribute("href").startsWith("data:") && one.hasAttribute("download"));
  const isSource = (one) => /^(http:\\/\\/localhost\\/|data:image\\/png;base64,)/.test(one.src);
  const isAllowed = (one) => tags.includes(one.localName)
    && [...one.attributes].every(({ name }) => attributes.includes(name))
    && (!one.hasAttribute("href") || isLink(one)) && (!one.hasAttribute("src") || isSource(one));
  const found = [];
  let seen = 0;
  for (const value of values) {
    if (name === "feed") for (const chunk of value) { node.feed(chunk); node.flush(); }
    else node[name] = value, node.flush();
    for (const fold of node.shadowRoot.querySelectorAll("details")) fold.open = true;
    await new Promise((done) => setTimeout(done));
    for (const more of node.shadowRoot.querySelectorAll("button.call-more")) more.click();
    const all = [...node.shadowRoot.querySelectorAll("*")];
    seen += all.length;
    found.push(...all.filter((one) => !isAllowed(one)).map((one) => one.outerHTML));
    if (window.hits) return [seen, [`ran: ${JSON.stringify(value)}`]];
  }
  return [seen, found];
}"""


@pytest.fixture
def stage(page: Page) -> Stage:
    stage = open_stage(page)
    page.evaluate("() => { window.hits = 0; window.pwned = () => { window.hits += 1; }; }")
    return stage


def assert_harmless(stage: Stage, name: str, values: list[Any]) -> None:
    """Faults that the browser itself sees, such as requests, fail at the end of the test."""
    seen, found = stage.element.evaluate(LOOK, [name, values, ALLOWED.split(), ATTRIBUTES.split()])
    assert found == []
    assert seen > 10 * len(values), "the element shows too little to say anything"


def test_no_payload_runs_in_any_field(stage: Stage) -> None:
    assert len(payloads.PAYLOADS) >= 30
    assert_harmless(stage, "parts", [payloads.fields(one) for one in payloads.PAYLOADS])


def test_no_payload_runs_in_a_chat_text_or_a_timeline(stage: Stage) -> None:
    assert_harmless(stage, "text", [payloads.chat_text(one) for one in payloads.PAYLOADS])
    assert_harmless(stage, "timeline", [payloads.timeline_items(one) for one in payloads.PAYLOADS])


def test_no_payload_runs_while_it_arrives_in_small_pieces(stage: Stage) -> None:
    text = "\n\n".join(payloads.PAYLOADS)
    pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
    chunks = [{"type": "text-delta", "id": "1", "delta": piece} for piece in pieces]
    assert_harmless(stage, "feed", [chunks])


def test_what_cannot_be_seen_is_shown(stage: Stage) -> None:
    text = "\u202egnp.exe pay\u200bpal \x1b[31m &#x202e;turned"
    output = [
        {"type": "dynamic-tool", "toolCallId": "1", "toolName": "a\u200bb", "input": {"k": text}}
    ]
    stage.show([{"type": "text", "text": text}, *output])
    shown = stage.find(".prose").inner_text()
    assert shown == "⟨U+202E⟩gnp.exe pay⟨U+200B⟩pal ␛[31m ⟨U+202E⟩turned"
    stage.find("summary").click()
    line = stage.find(".call-line").inner_text()
    assert "a⟨U+200B⟩b(k=" in line
    assert not re.search("[\u200b\u202e\x1b]", line)


def test_joined_emoji_and_scripts_stay_whole(stage: Stage) -> None:
    text = "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 می‌خواهم ❤️"
    stage.show([{"type": "text", "text": text}])
    assert stage.find(".prose").inner_text() == text


def test_a_link_that_names_another_host_says_where_it_leads(stage: Stage) -> None:
    text = "[https://bank.example/login](https://evil.example/) [docs](https://docs.example/)"
    stage.show([{"type": "text", "text": text}])
    links = stage.find(".prose a")
    assert links.all_inner_texts() == ["https://bank.example/login (evil.example)", "docs"]
    assert links.first.get_attribute("rel") == "noopener noreferrer nofollow"
