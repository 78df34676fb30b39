"""Whether a page ran text as code or took it as markup.

watch_harm(watch.context)           before a page is opened
assert_harmless(page)
"""

from __future__ import annotations

from playwright.sync_api import BrowserContext, Page

__all__ = ("assert_harmless", "open_all_folds", "watch_harm")

_COUNT = "globalThis.hits = 0; globalThis.pwned = () => { globalThis.hits += 1; };"
# Every element, also those in shadow roots, that could run or load something.
_LOOK = """() => {
  const all = (root) => [...root.querySelectorAll("*")]
    .flatMap((one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
  const bad = [];
  const LOADS = /^(src|data|action|formaction|poster)$/;
  const LINKS = /^(https?:|mailto:|blob:)/;
  const own = (address) => new URL(address, location.href).origin === location.origin;
  for (const one of all(document)) {
    const tag = one.localName;
    const say = (why) => bad.push(`${why}: ${one.outerHTML.slice(0, 120)}`);
    if (/^(embed|base|marquee|video|audio|template|noframes)$/.test(tag)) say("element");
    if (tag === "math" && !one.parentElement.matches(".formula")) say("element");
    if (tag === "script" && !one.src.startsWith(location.origin + "/web/")) say("script");
    if (tag === "meta" && one.httpEquiv === "refresh") say("refresh");
    if (tag === "style" && !one.closest("head")) say("style");
    if (/^(iframe|object)$/.test(tag) && !one.closest("dialog")) say("frame");
    for (const { name, value } of one.attributes) {
      if (name.startsWith("on") || name === "srcdoc") say("handler");
      if (LOADS.test(name) && !/^(data:image\\/png|blob:)/.test(value) && !own(value)) say("loads");
      const isKept = one.hasAttribute("download") || one.rel === "icon";
      if (/href$/.test(name) && !isKept && !LINKS.test(new URL(value, location.href))) say("link");
    }
  }
  return bad;
}"""
_OPEN = """() => {
  const all = (root) => [...root.querySelectorAll("*")]
    .flatMap((one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
  for (const one of all(document)) if (one.localName === "details") one.open = true;
  for (const one of all(document)) if (one.matches("button.call-more")) one.click();
}"""


def watch_harm(context: BrowserContext) -> None:
    """Count what runs, on every page of a profile."""
    context.add_init_script(_COUNT)


def open_all_folds(page: Page) -> None:
    """Open every fold and every cut result, two frames deep."""
    for _ in range(2):
        page.evaluate(_OPEN)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")


def assert_harmless(page: Page) -> None:
    """Fail where something ran, or could."""
    assert page.evaluate("() => globalThis.hits") == 0
    assert page.evaluate(_LOOK) == []
