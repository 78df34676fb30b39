"""Colours of code, formulas and footnotes: loaded when needed, drawn, and never read as markup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.browser import PHONE, Watch
from support.element import Stage, open_stage

Axe = Callable[..., list[str]]
TEXT = r"""Low water is at 08:27.[^1] The height is $h(t) = h_0 + 1$, a sum:

$$
h(t)
= h_0 + \sum_{k=1}^{37} A_k \cos(\omega_k t + \varphi_k)
$$

```python
def window(low, margin=90):  # minutes
    return "dry", low - margin
```

It costs $5 and $6, in $HOME/$PATH. A pair: \(\begin{pmatrix}1&2\\3&4\end{pmatrix}\).

[^1]: Ninety minutes before, as *your* notes say.
"""


@pytest.fixture
def stage(page: Page) -> Stage:
    return open_stage(page)


def test_code_is_coloured_and_stays_the_text_that_it_was(stage: Stage) -> None:
    stage.show([{"type": "text", "text": TEXT}])
    code = stage.find("pre code")
    expect(code.locator(".k").first).to_have_text("def")
    expect(code.locator(".s")).to_have_text('"dry"')
    expect(code.locator(".n")).to_have_text("90")
    expect(code.locator(".c")).to_have_text("# minutes")
    written = TEXT.partition("```python\n")[2].partition("```")[0]
    assert code.text_content() == written


def test_a_formula_is_mathml_and_money_is_not(stage: Stage) -> None:
    stage.show([{"type": "text", "text": TEXT}])
    expect(stage.find("math")).to_have_count(3)
    own = stage.find('math[display="block"]')
    expect(own).to_have_count(1)
    assert "37" in (own.locator("munderover").text_content() or "")
    expect(stage.find("mtable mtr")).to_have_count(2)
    expect(stage.find(".prose")).to_contain_text("It costs $5 and $6, in $HOME/$PATH.")


def test_a_formula_that_cannot_be_drawn_stays_its_source(stage: Stage) -> None:
    stage.show([{"type": "text", "text": r"Here $\nosuch{x}$ and $\frac{1$ and $x$."}])
    expect(stage.find("math")).to_have_count(1)
    expect(stage.find(".formula[data-drawn=not]")).to_have_text([r"\nosuch{x}", r"\frac{1"])


def test_a_footnote_is_reached_from_its_number_and_leads_back(stage: Stage) -> None:
    stage.show([{"type": "text", "text": TEXT}])
    stage.find("sup").get_by_role("button", name="Footnote 1", exact=True).click()
    note = stage.find("ol.footnote")
    expect(note).to_be_focused()
    expect(note).to_contain_text("as your notes say")
    note.get_by_role("button", name="Back to the text").click()
    expect(stage.find("sup button")).to_be_focused()


def test_it_is_drawn_the_same_however_it_arrives(stage: Stage) -> None:
    stage.show([{"type": "text", "text": TEXT}])
    expect(stage.find("math")).to_have_count(3)
    expect(stage.find("code .k").first).to_be_visible()
    html = "(node) => node.innerHTML"
    whole = stage.find(".prose").evaluate(html)
    stage.show([], live=True)
    fed = """async (node, text) => {
      node.feed({ type: "text-start", id: "1" });
      for (let at = 0; at < text.length; at += 7) {
        node.feed({ type: "text-delta", id: "1", delta: text.slice(at, at + 7) });
        node.flush();
      }
      node.feed({ type: "text-end", id: "1" });
      node.feed({ type: "finish" });
      node.close();
      node.flush();
    }"""
    stage.element.evaluate(fed, TEXT)
    assert stage.find(".prose").evaluate(html) == whole
    # Its end comes with its last words, and they explain what stood before.
    half = [{"type": "text", "text": TEXT[: TEXT.index("[^1]:")], "state": "streaming"}]
    stage.show(half, live=True)
    stage.show([{"type": "text", "text": TEXT, "state": "done"}])
    assert stage.find(".prose").evaluate(html) == whole


DIAGRAM = """```mermaid
flowchart LR
  A[Ask] -->|yes| B(Run)
  click A href "javascript:pwned()"
```
"""


def test_a_diagram_is_a_picture_and_its_source_one_press_away(stage: Stage) -> None:
    broken = DIAGRAM.replace("A[Ask]", "A[Ask")
    stage.show([{"type": "text", "text": f"{DIAGRAM}\n{broken}\n```mermaid\npie\n```\n"}])
    box = stage.find(".code").first
    picture = box.locator("img")
    expect(picture).to_have_attribute("alt", "Diagram: flowchart LR")
    assert picture.evaluate("(node) => node.decode().then(() => node.naturalWidth)") > 100
    expect(box.locator("pre")).to_be_hidden()
    box.get_by_role("button", name="Source").click()
    expect(box.locator("pre")).to_contain_text("A[Ask] -->|yes| B(Run)")
    expect(picture).to_be_hidden()
    faults = stage.find(".diagram-fault")
    expect(faults).to_have_count(2)
    expect(faults.first).to_contain_text("Not drawn: Parse error on line 2")
    expect(stage.find("pre").nth(1)).to_be_visible()
    frame = stage.page.locator("iframe")
    expect(frame).to_have_count(1)
    expect(frame).to_have_attribute("sandbox", "allow-scripts")
    inside = stage.page.frames[1]
    assert inside.evaluate("() => origin") == "null"


def test_a_diagram_is_drawn_when_its_text_ends_and_again_in_the_dark(stage: Stage) -> None:
    stage.show([{"type": "text", "text": DIAGRAM}], live=True)
    expect(stage.find("img")).to_have_count(0)
    stage.show([{"type": "text", "text": DIAGRAM}])
    expect(stage.find("img")).to_have_count(1)
    light = stage.find("img").get_attribute("src")
    stage.page.emulate_media(color_scheme="dark")
    expect(stage.find("img")).not_to_have_attribute("src", light or "")


def test_nothing_is_loaded_for_a_text_that_needs_nothing(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    stage = open_stage(page)
    # The modules as they are served, not the one file that the other tests load.
    page.evaluate("() => import('/web/src/markdown.js')")
    draw = """async (text) => {
      const { MarkdownView } = await import("/web/src/markdown.js");
      const view = new MarkdownView();
      document.querySelector("main").append(view.node);
      view.update(text);
    }"""
    page.evaluate(draw, "Prose, `code`, and\n\n```\nno language\n```\n")
    stage.page.wait_for_load_state("networkidle")
    assert not [url for url in asked if "highlight" in url or "temml" in url]
    page.evaluate(draw, "$x$")
    expect(page.locator("main math")).to_have_count(1)
    assert [url.rsplit("/", 1)[1] for url in asked if "/vendor/" in url][-1:] == ["temml.js"]


def test_what_is_far_too_long_is_shown_and_left_plain(stage: Stage) -> None:
    diff = "```diff\n" + "".join(f"+line {n}\n-line {n}\n" for n in range(10_000)) + "```"
    deep = "$" + "{" * 900 + "x" + "}" * 900 + "$"
    stage.show([{"type": "text", "text": one} for one in (diff, deep, "$" * 50_000, "[^" * 50_000)])
    assert (stage.find("pre code").text_content() or "").count("\n") == 20_000
    expect(stage.find("pre code span")).to_have_count(0)


@pytest.mark.parametrize("look", ["light", "dark", "phone", "200 %"])
def test_axe_finds_nothing(
    profile: Callable[..., Watch], axe: Axe, look: str, tmp_path: Path
) -> None:
    options = {"viewport": PHONE} if look == "phone" else {}
    if look == "200 %":
        options = {"viewport": {"width": 640, "height": 400}, "device_scale_factor": 2}
    page = profile(color_scheme="dark" if look == "dark" else "light", **options).open()
    stage = open_stage(page)
    stage.show([{"type": "text", "text": f"{TEXT}\n{DIAGRAM if look == 'phone' else ''}"}])
    expect(stage.find("math")).to_have_count(3)
    expect(stage.find("code .k").first).to_be_visible()
    expect(stage.find(".diagram img")).to_have_count(int(look == "phone"))
    page.screenshot(path=tmp_path / "rich.png", full_page=True)
    assert axe(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
