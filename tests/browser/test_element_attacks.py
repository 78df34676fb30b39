"""Text is text: in every field of every part, nothing runs, and nothing leaves the page."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page

from support.browser import Watch
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
    hr i img input label li ol p pre section span strong summary sup table tbody td th thead tr ul
"""
# What a formula may be made of; and nothing of it is an address, a handler or a name.
FORMULA = """
    math merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow mspace
    msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none
"""
FORMULA_ATTRIBUTES = """
    accent accentunder class columnalign depth display displaystyle fence form height largeop
    linethickness lspace mathvariant maxsize minsize movablelimits rowspacing rspace scriptlevel
    separator stretchy style symmetric voffset width
"""
ATTRIBUTES = """
    aria-pressed aria-describedby aria-disabled aria-expanded aria-hidden aria-label aria-live
    alt autocomplete class data-cut data-depth data-diagram data-drawn data-from data-kind
    data-language data-live dir
    data-many data-n data-state data-status decoding download for hidden href id loading maxlength
    height name open placeholder rel role src start tabindex target title type width
"""
# Shows each value, opens every fold and every cut result, and says what of it may not be there.
LOOK = """async (node, [name, values, tags, attributes, maths, mathAttributes]) => {
  const isLink = (one) => /^(https?:\\/\\/|mailto:)/.test(one.getAttribute("href"))
    || (one.getAttribute("href").startsWith("data:") && one.hasAttribute("download"));
  const isDiagram = (one) => one.matches(".diagram > img")
    && one.src.startsWith("data:image/svg+xml;");
  const isSource = (one) => isDiagram(one)
    || /^(http:\\/\\/localhost\\/|data:image\\/png;base64,)/.test(one.src);
  const isFormula = (one) => one.closest(".formula > math") && maths.includes(one.localName)
    && [...one.attributes].every(({ name }) => mathAttributes.includes(name))
    && !/url|var|attr/.test(one.getAttribute("style") ?? "");
  const isAllowed = (one) => isFormula(one) || tags.includes(one.localName)
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
    lists = [one.split() for one in (ALLOWED, ATTRIBUTES, FORMULA, FORMULA_ATTRIBUTES)]
    seen, found = stage.element.evaluate(LOOK, [name, values, *lists])
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


FORMS = (
    'flowchart TD\n  A["{0}"] -->|"{0}"| B\n  click A href "{0}" "{0}"\n  click B call pwned()',
    'flowchart LR\n  A@{{ img: "https://evil.example/a.png", label: "{0}", w: 60, h: 60 }}',
    "flowchart LR\n  A:::x --> B\n  classDef x fill:url(https://evil.example/x),stroke:{0}",
    "sequenceDiagram\n  A->>B: {0}\n  link A: Press @ javascript:pwned()\n  Note over A: {0}",
    'classDiagram\n  class A {{\n    {0}\n  }}\n  link A "javascript:pwned()" "{0}"',
    'stateDiagram-v2\n  state "{0}" as s1\n  [*] --> s1',
    'erDiagram\n  A ||--o{{ B : "{0}"',
    'gantt\n  title {0}\n  section {0}\n  A :a1, 2026-01-01, 3d\n  click a1 href "{0}"',
    "timeline\n  title {0}\n  2002 : {0}",
    "journey\n  title {0}\n  section {0}\n    Go: 5: {0}",
    '%%{{init: {{"securityLevel": "loose", "htmlLabels": true, "themeCSS": "{0}", "theme": "{0}",'
    ' "fontFamily": "{0}", "look": "handDrawn", "layout": "elk"}}}}%%\nflowchart LR\n  A["{0}"]',
    "---\ntitle: {0}\nconfig:\n  securityLevel: loose\n---\nflowchart LR\n  A[`{0}`]",
)
# Draws each, and waits until it is a picture, or stays its source.
DRAW = """async (node, text) => {
  node.parts = [{ type: "text", text }];
  node.flush();
  const isOver = (one) => ["drawn", "not"].includes(one.dataset.diagram);
  for (;;) {
    const boxes = [...node.shadowRoot.querySelectorAll(".code")];
    if (boxes.length && boxes.every(isOver)) return boxes.map((one) => one.dataset.diagram);
    await new Promise((done) => setTimeout(done, 20));
  }
}"""
INSIDE = """() => [...document.querySelectorAll("*")].map((one) => one.localName)
  .filter((name) => /^(img|iframe|object|embed|a|link|form)$/.test(name))"""


def test_no_payload_runs_in_a_diagram(stage: Stage, watch: Watch) -> None:
    # The frame's own policy is what stops them, before anything is sent.
    watch.expect("policy stopped (script-src-attr|img-src|style-src)", "asked a foreign host")
    watch.expect("violates the following Content Security Policy", "attribute .*: Expected")
    stopped: list[str | None] = []
    stage.page.on("requestfailed", lambda one: stopped.append(one.failure))
    asked: list[str] = []
    stage.page.on("request", lambda one: asked.append(one.url) if "evil" in one.url else None)
    rng = Random(24)
    texts = [form.format(one) for form in FORMS for one in rng.sample(payloads.PAYLOADS, 3)]
    # Fuzzed: pieces of all of them in any order.
    words = [word for text in texts for word in re.split(r"(\s+|[\[\](){}\"|:;])", text) if word]
    texts += ["flowchart TD\n" + "".join(rng.choices(words, k=60)) for _ in range(12)]
    fenced = "\n\n".join(f"~~~~mermaid\n{one}\n~~~~" for one in texts)
    states = stage.element.evaluate(DRAW, fenced)
    assert len(states) == len(texts)
    assert states.count("drawn") > len(FORMS)
    assert_harmless(stage, "parts", [[{"type": "text", "text": fenced}]])
    assert stopped == ["csp"] * len(asked)
    # Nothing is left of the texts in the frame that drew them.
    for frame in stage.page.frames[1:]:
        assert frame.evaluate(INSIDE) == []


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


def ask(id: str, call: str, **more: Any) -> dict[str, Any]:
    asked = {"id": id, "toolCallId": call, "toolName": "act", "input": {}, "reason": "it may"}
    return {"type": "data-approval", "id": id, "data": {**asked, **more}}


def test_a_card_shows_which_value_is_which_text_and_what_stands_at_its_edges(stage: Stage) -> None:
    given = {"a": "5", "b": 5, "c": "true", "path": "a.txt ", "path ": "b", "d": " ", "e": '"x"'}
    given["f"] = "9007199254740993"
    stage.show([ask("q", "1", input=given)], live=True)
    card = stage.find(".approval")
    values = ['"5"', "5", '"true"', '"a.txt "', "b", '" "', '"\\"x\\""', "9007199254740993"]
    assert card.locator("dd").all_inner_texts() == values
    assert card.locator("dt").all_inner_texts() == ["a", "b", "c", "path", '"path "', "d", "e", "f"]


def test_a_card_shows_input_of_any_depth(stage: Stage) -> None:
    deep = """(node) => {
      const input = { k: JSON.parse("[".repeat(20000) + "]".repeat(20000)) };
      const data = { id: "q", toolCallId: "1", toolName: "act", input, reason: "it may" };
      node.parts = [{ type: "data-approval", id: "q", data }];
      node.flush();
    }"""
    stage.element.evaluate(deep)
    assert stage.find(".approval :is(dd, .rows > span)").first.inner_text().startswith("[[[[")
    assert stage.find(".approval").get_by_role("button", name="Approve").is_visible()


def test_no_line_of_a_preview_is_left_out_or_beyond_the_edge(stage: Stage) -> None:
    wide = f"+ok = 1{' ' * 600}; evil()"
    diff = f"this runs evil()\n--- a\n+++ a\n+++ more\n@@ -1,1 +1,2 @@\n-x\n{wide}\n++++ b"
    stage.show([ask("q", "1", preview=diff)], live=True)
    shown = stage.find(".approval .diff .rows > span").all_text_contents()
    assert shown[:2] == ["this runs evil()", "+++ more"]
    assert shown[-1] == "+ +++ b"
    is_wide = "(node) => node.scrollWidth > node.clientWidth"
    assert not stage.find(".approval .diff .rows").evaluate(is_wide)


def test_the_second_press_of_two_does_not_answer_the_next_question(stage: Stage) -> None:
    stage.show([ask("q1", "1"), ask("q2", "2")], live=True)
    approve = stage.find(".ask[open]").get_by_role("button", name="Approve")
    approve.click()
    stage.show([ask("q1", "1", approved=True), ask("q2", "2")], live=True)
    # The next question opens where the first one was.
    approve.hover()
    stage.page.mouse.down(click_count=2)
    stage.page.mouse.up(click_count=2)
    assert [one["approval"]["id"] for one in stage.told("answer")] == ["q1"]
    approve.click()
    assert [one["approval"]["id"] for one in stage.told("answer")] == ["q1", "q2"]


def test_a_word_without_an_end_is_shown_soon(stage: Stage) -> None:
    # Reading them in the square of their length would take minutes.
    pieces = ("!", "_a", "**a", "a~", "https://a.example/(")
    stage.show([{"type": "text", "text": one * (200_000 // len(one))} for one in pieces])
    for shown in stage.find(".prose").all():
        assert len(shown.text_content() or "") > 199_000


def test_a_cell_without_an_end_is_shown_soon(stage: Stage) -> None:
    table = """async () => {
      const { tableView } = await import("/web/page/preview-views.js");
      const { view } = tableView(`a,b\n1,${" ".repeat(500_000)}x\n`, "a.csv");
      return view.querySelectorAll("td").length;
    }"""
    assert stage.page.evaluate(table) == 2
