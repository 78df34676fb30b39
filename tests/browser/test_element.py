"""`<call-blocks>` alone: what it shows of a message, and what survives while the message grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.browser import PHONE, Watch
from support.element import Stage, open_stage

DIFF = """--- pyproject.toml
+++ pyproject.toml
@@ -16,2 +16,2 @@
 requires = [
-  "wheel==0.43.0",
+  "wheel>=0.43.0,<1",
"""


@pytest.fixture
def stage(page: Page) -> Stage:
    return open_stage(page)


def call(id: str, output: Any = "ok", **more: Any) -> dict[str, Any]:
    base = {"type": "dynamic-tool", "toolCallId": id, "toolName": "run", "input": {"n": id}}
    return {**base, "state": "output-available", "output": output, **more}


def running(id: str, **more: Any) -> dict[str, Any]:
    base = {"type": "dynamic-tool", "toolCallId": id, "toolName": "make", "input": {}}
    return {**base, "state": "input-available", **more}


def question(id: str, call_id: str, **more: Any) -> dict[str, Any]:
    asked = {"id": id, "toolCallId": call_id, "toolName": "edit_file", "reason": "It writes."}
    given = {"input": {"path": "pyproject.toml", "new": "<1"}, "preview": DIFF, **more}
    return {"type": "data-approval", "id": id, "data": {**asked, **given}}


def header(stage: Stage) -> str:
    return stage.find(".batch > summary").first.inner_text().replace("\n", " ")


def test_a_batch_says_how_many_calls_failed_and_which_one_runs(stage: Stage) -> None:
    stage.show([call("1")])
    assert stage.find(".batch-label").inner_text() == "run"
    failed = call("2", state="output-error", errorText="exit_128: no fast-forward")
    stage.show([call("1"), failed, running("3")], live=True)
    assert stage.find(".batch-label").inner_text() == "run ×2, make · 3 tool calls, 1 failed"
    expect(stage.find(".batch-running")).to_have_text("running ⏳ make")
    expect(stage.find(".batch")).to_have_attribute("data-state", "running")
    stage.find("summary").press("Enter")
    expect(stage.find(".call")).to_have_count(3)
    lines = [" ".join(one.split()) for one in stage.find(".call-line").all_inner_texts()]
    assert lines[0] == "run(n=1) → ok"
    assert lines[1] == "run(n=2) → ✗ failed: exit_128: no fast-forward"
    expect(stage.find(".call").nth(2).get_by_role("img", name="running")).to_be_visible()
    stage.show([call("1"), failed, call("3", "")])
    assert "→ ✓" in stage.find(".call-line").nth(2).inner_text()
    expect(stage.page.locator("[role=status] p")).to_have_text("Ended: 3 tool calls, 1 failed")


def test_a_header_does_not_move_when_its_fold_opens(stage: Stage) -> None:
    where = """(node) => [...node.shadowRoot.querySelectorAll(".batch summary, .batch summary *")]
      .map((one) => { const { x, y, width, height } = one.getBoundingClientRect();
                      return [x, y, width, height]; })"""
    stage.show([call("1"), running("2")], live=True)
    before = stage.element.evaluate(where)
    stage.find("summary").click()
    expect(stage.find(".calls")).to_be_visible()
    assert stage.element.evaluate(where) == before
    assert stage.told("toggle") == [{"name": "toggle", "key": "batch:1", "open": True}]


def test_what_is_open_focused_and_selected_stays_while_a_message_grows(stage: Stage) -> None:
    text = {"type": "text", "text": "first paragraph\n\nsecond", "state": "streaming"}
    stage.show([text, call("1")], live=True)
    stage.find("summary").focus()
    stage.find("summary").press("Space")
    keep = """(node) => {
      const root = node.shadowRoot;
      window.kept = [...root.querySelectorAll("p, summary, .call, .batch")].slice(0, 5);
      const { firstChild: words } = root.querySelector(".prose p:last-child");
      getSelection().setBaseAndExtent(words, 0, words, 6);
    }"""
    stage.element.evaluate(keep)
    for words in ("second and", "second and **more**\n\n- third\n- fourth"):
        grown = {**text, "text": f"first paragraph\n\n{words}"}
        stage.show([grown, call("1"), call("2"), running("3")], live=True)
    same = """(node) => window.kept.slice(0, 4).every((one) => one.isConnected)
      && node.shadowRoot.activeElement?.localName === "summary"
      && node.shadowRoot.querySelector("details").open"""
    assert stage.element.evaluate(same)
    selected = "(node) => node.shadowRoot.getSelection().toString()"
    assert stage.element.evaluate(selected) == "second"
    expect(stage.find(".call")).to_have_count(3)
    expect(stage.find(".prose li:last-child .cursor")).to_have_count(1)
    stage.set("openKeys", [])
    assert not stage.find("details").evaluate("(fold) => fold.open")
    stage.set("openKeys", ["batch:1"])
    expect(stage.find(".call")).to_have_count(3)


def test_a_text_that_grows_ends_as_the_same_text_read_at_once(stage: Stage) -> None:
    text = (
        "# Title\n\nA *para* with [a ref][r] and\nmore.\n\n1. one\n\n2. two\n   - in\n\n     deep\n"
        "\n"
        "```py\na = 1\n\n\nb = 2\n```\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n> quote\nlazy\n\n"
        "    code\n\n    more\n\nSetext\n---\n\n* * *\n\n- x\n\n\n- y\n\n<div>\n\nhtml</div>\n\n"
        "last ***word*** ~~gone~~ https://a.example/b\n\n[r]: https://r.example/\n"
    )
    grow = """async (_node, text) => {
      const { MarkdownView, markdown } = await import("/web/src/markdown.js");
      const whole = document.createElement("div");
      whole.append(markdown(text));
      const wrong = [];
      for (const step of [1, 2, 3, 7, 40]) {
        const view = new MarkdownView();
        for (let at = step; at < text.length; at += step) {
          view.update(text.slice(0, at), { live: true });
        }
        view.update(text);
        if (view.node.innerHTML !== whole.innerHTML) wrong.push([step, view.node.innerHTML]);
      }
      return [wrong, whole.innerHTML];
    }"""
    wrong, whole = stage.element.evaluate(grow, text)
    assert wrong == []
    assert '<a href="https://r.example/"' in whole
    assert '<td class="num">1</td>' in whole


def test_text_that_is_too_deep_or_too_dense_to_read_is_shown_all_the_same(stage: Stage) -> None:
    stage.show(
        [{"type": "text", "text": "> " * 9000 + "deep"}, {"type": "text", "text": "_a*" * 9000}]
    )
    deep, dense = stage.find(".prose").all()
    assert (deep.text_content() or "").endswith("deep")
    assert len(dense.text_content() or "") == 27_000


def test_blocks_that_are_over_are_not_drawn_again(stage: Stage) -> None:
    count = """async () => {
      const { MarkdownView } = await import("/web/src/markdown.js");
      const view = new MarkdownView();
      document.body.append(view.node);
      let text = Array.from({ length: 300 }, (_, i) => `paragraph ${i}\\n\\n`).join("");
      view.update(text, { live: true });
      const seen = new Set();
      const watch = new MutationObserver((records) => {
        for (const one of records) for (const node of one.removedNodes) seen.add(node.textContent);
      });
      watch.observe(view.node, { childList: true });
      for (let i = 0; i < 50; i += 1) view.update((text += "word "), { live: true });
      await new Promise((done) => setTimeout(done));
      return [...seen].filter((one) => one.startsWith("paragraph"));
    }"""
    assert stage.page.evaluate(count) == []


def test_a_question_says_the_rule_in_the_words_of_the_policy(stage: Stage) -> None:
    words = ("rule 2 of the policy asks: it may change something", "rule 2 says ask: it costs")
    for at, reason in enumerate(words):
        stage.show([running("1"), question(f"q{at}", "1", reason=reason)], live=True)
        expect(stage.find(".ask-why").last).to_have_text(reason)


def test_a_question_is_answered_by_the_person_alone(stage: Stage) -> None:
    stage.show([running("1"), question("q", "1", tainted=["web.example"])], live=True)
    card = stage.find(".approval")
    assert card.locator("dd").all_inner_texts() == ["pyproject.toml", "<1"]
    assert card.locator(".diff .del").inner_text() == '-   "wheel==0.43.0",'
    assert card.locator(".diff .add").get_attribute("data-n") == "17"
    assert "web.example" in card.locator(".ask-taint").inner_text()
    expect(stage.page.locator("[role=status] p")).to_have_text("Approve edit_file?")
    reason = card.get_by_label("Reason for denying")
    reason.fill("not now")
    reason.press("Enter")
    assert stage.told("answer") == []
    card.get_by_role("button", name="Deny").click()
    card.get_by_role("button", name="Approve").click(force=True)
    [told] = stage.told("answer")
    assert (told["approval"]["id"], told["verdict"], told["reason"]) == ("q", "deny", "not now")
    stage.element.evaluate("(node) => node.refuse('q', 'The server is gone.')")
    stage.element.evaluate("(node) => { node.setAttribute('show', 'all'); node.flush(); }")
    expect(card.get_by_role("alert")).to_have_text("The server is gone.")
    card.get_by_role("button", name="Allow for 10 minutes").click()
    assert stage.told("answer")[1]["verdict"] == "while"
    assert stage.told("answer")[1]["minutes"] == 10
    stage.show([call("1"), question("q", "1", approved=True)], live=True)
    line = stage.find(".answered summary")
    assert line.inner_text().replace("\n", " ").startswith("edit_file approved")
    assert stage.element.evaluate("(node) => node.shadowRoot.activeElement?.localName") == "summary"
    line.press("Enter")
    expect(stage.find(".answered dd").first).to_be_visible()


def answers(stage: Stage) -> list[str]:
    return [f"{told['approval']['id']} {told['verdict']}" for told in stage.told("answer")]


def test_answers_of_a_card_that_moved_do_nothing_for_a_moment(stage: Stage) -> None:
    page = stage.page
    page.clock.install()
    stage.show([running("1"), question("p", "1"), running("2"), question("q", "2")], live=True)
    press = "node => node.shadowRoot.querySelector('.ask[open] .btn').click()"
    stage.element.evaluate(press)
    assert answers(stage) == []
    page.clock.run_for(600)
    stage.element.evaluate(press)
    assert answers(stage) == ["p once"]
    # The first is answered, the second opens in its place: a press comes too soon for it.
    stage.show(
        [running("1"), question("p", "1", approved=True), running("2"), question("q", "2")],
        live=True,
    )
    page.clock.run_for(100)
    stage.element.evaluate(press)
    assert answers(stage) == ["p once"]
    page.clock.run_for(600)
    stage.element.evaluate(press)
    assert answers(stage) == ["p once", "q once"]


def test_several_questions_can_be_denied_at_once_but_not_approved(stage: Stage) -> None:
    stage.show([running("1"), question("p", "1"), running("2"), question("q", "2")], live=True)
    expect(stage.find(".queue-head:visible")).to_contain_text("2 calls wait for you")
    expect(stage.find(".approval").first.get_by_role("button", name="Approve")).to_be_enabled()
    stage.element.get_by_role("button", name="Deny all").first.click()
    assert answers(stage) == ["p deny", "q deny"]


def test_a_question_that_nobody_answered_is_no_denial(stage: Stage) -> None:
    words = {
        "nobody answered in 10 minutes": "not answered in 10 minutes",
        "the turn was stopped": "cancelled by you",
        "not today": "denied by you: not today",
    }
    for answer, shown in words.items():
        stage.show([running("1"), question("p", "1", approved=False, answer=answer)])
        expect(stage.find(".answered-word")).to_have_text(shown)


def test_the_rest_of_a_result_opens_in_place_or_where_the_page_says(stage: Stage) -> None:
    stage.show([call("1", "\n".join(f"line {n}" for n in range(15)))])
    stage.find("summary").click()
    more = stage.find(".call-more")
    assert more.inner_text() == "... (12 more lines)"
    stage.page.evaluate("() => { window.prevents = ['open']; }")
    more.click()
    assert stage.told("open")[0]["result"]["id"] == "1"
    assert "line 14" not in stage.find(".call-result").inner_text()
    stage.page.evaluate("() => { window.prevents = []; }")
    more.click()
    assert "line 14" in stage.find(".call-result").inner_text()
    kept = f"{'x' * 600}\n... (2.3KB in all, kept as fi:t1.files/out.txt)"
    file = {"path": "fi:t1.files/out.txt", "mime": "text/plain", "size": 2355, "digest": "d" * 64}
    artifact = {"type": "data-artifact", "id": "1:d", "data": {"toolCallId": "1", **file}}
    stage.show([call("1", kept), artifact])
    href = stage.find("a.call-more").get_attribute("href")
    assert href == f"http://localhost/api/artifacts/{'d' * 64}"
    expect(stage.find(".artifact")).to_have_count(0)


def test_ten_thousand_calls_are_drawn_when_they_are_opened(stage: Stage) -> None:
    many = """(node) => {
      node.parts = Array.from({ length: 10000 }, (_, i) => ({ type: "dynamic-tool", toolName: "run",
        toolCallId: `c${i}`, state: "output-available", input: { i }, output: "ok" }));
      node.flush();
      return node.shadowRoot.querySelectorAll("*").length;
    }"""
    assert stage.element.evaluate(many) < 50
    assert stage.find(".batch-label").inner_text() == "run ×10000 · 10000 tool calls"
    stage.find("summary").click()
    expect(stage.find(".call")).to_have_count(221)
    assert stage.find(".call-line").last.text_content() == "run(i=9999) → ok"
    more = stage.find(".call-more")
    assert more.text_content() == "... (9780 more calls)"
    more.click()
    expect(stage.find(".call")).to_have_count(721)
    stage.find("summary").click()
    expect(stage.find(".call")).to_have_count(0)


def test_seconds_are_counted_by_one_timer(page: Page) -> None:
    page.clock.install(time="2026-01-01T12:00:00Z")
    stage = open_stage(page)
    begin = """(node) => {
      const real = setInterval;
      window.timers = 0;
      window.setInterval = (...given) => { window.timers += 1; return real(...given); };
      for (const id of ["1", "2"]) node.feed({ type: "tool-input-available", toolCallId: id,
        toolName: "make", input: {}, dynamic: true });
      node.feed({ type: "data-approval", id: "q", data: { id: "q", toolCallId: "2",
        toolName: "make", input: {}, reason: "" } });
      node.flush();
    }"""
    stage.element.evaluate(begin)
    stage.find(".batch > summary").click()
    page.clock.run_for(42_000)
    assert stage.find(".call-time").first.inner_text() == "42 s"
    assert stage.find(".ask-wait").inner_text() == "waiting 0:42"
    assert page.evaluate("window.timers") == 1


def test_a_stream_that_breaks_off_leaves_no_call_running(stage: Stage) -> None:
    feed = """(node) => {
      node.feed({ type: "start", messageId: "m" });
      node.flush();
      const wasLive = node.shadowRoot.querySelectorAll(".cursor").length;
      node.feed({ type: "tool-input-available", toolCallId: "1", toolName: "make", input: {} });
      node.close();
      node.flush();
      return [wasLive, node.shadowRoot.querySelectorAll(".cursor").length];
    }"""
    assert stage.element.evaluate(feed) == [1, 0]
    assert header(stage).startswith("🔧 make, failed")
    expect(stage.find(".ending")).to_have_text("The connection ended before the turn did.")


def test_an_element_may_leave_prose_to_the_page_and_be_filled_before_it_is_defined(
    stage: Stage,
) -> None:
    fill = """(_node, parts) => {
      // In a document without a window nothing is defined.
      const late = document.implementation.createHTMLDocument().createElement("call-blocks");
      late.setAttribute("show", "calls");
      late.parts = parts;
      late.from = "user";
      if (!Object.hasOwn(late, "parts")) return ["it was defined already"];
      document.querySelector("main").append(late);
      const shown = [...late.shadowRoot.querySelectorAll(".blocks > *")];
      return [late.from, ...shown.map((one) => one.className)];
    }"""
    parts = [{"type": "text", "text": "hello"}, call("1"), question("q", "1")]
    assert stage.element.evaluate(fill, parts) == ["user", "batch", "approval-place"]


def test_axe_finds_nothing_and_nothing_moves_where_that_is_not_wanted(
    profile: Callable[..., Watch], axe: Callable[..., list[str]]
) -> None:
    watch = profile(viewport=PHONE, color_scheme="dark", reduced_motion="reduce", has_touch=True)
    page = watch.open()
    stage = open_stage(page)
    text = "### Deep\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\nx = 1\n```\n\n# Top\n\n[x](https://a.example)"
    made = {"toolCallId": "1", "path": "a.pdf", "mime": "application/pdf", "size": 9, "digest": "d"}
    stage.show(
        [
            {"type": "reasoning", "text": "hm", "state": "done"},
            {"type": "text", "text": text, "state": "done"},
            call("1", "a\nb\nc\nd\ne"),
            call("2", state="output-error", errorText="no"),
            {"type": "data-artifact", "id": "1:d", "data": made},
            running("3"),
            question("q", "4", tainted=["x"]),
            question("p", "2", approved=False, answer="no"),
            {"type": "data-member", "id": "critic", "data": {"name": "critic", "status": "failed"}},
            {"type": "data-problem", "id": "x", "data": {"code": "bad", "detail": "No call."}},
        ],
        live=True,
    )
    for fold in stage.find("details").all():
        fold.evaluate("(fold) => { fold.open = true; }")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    moving = "() => document.getAnimations().filter((one) => one.playState === 'running').length"
    assert page.evaluate(moving) == 0
