"""The element `<call-blocks>` alone on a page, without a server.

    stage = open_stage(page)
    stage.show([{"type": "text", "text": "hello"}])

The page has the policy of the real one. What the element tells is kept: `stage.told("answer")`.
"""

from __future__ import annotations

import mimetypes
from functools import cache
from typing import Any

from playwright.sync_api import Locator, Page, Route

from callblocks.server.pages import DIAGRAM, diagram_policy
from support.nodejs import PACKAGES, ROOT, node

__all__ = ("ADDRESS", "POLICY", "Stage", "open_stage")

ADDRESS = "http://localhost"
_ELEMENT = "/web/src/call-blocks.js"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self' blob:; object-src 'self' blob:; font-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>stage</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="/web/css/tokens.css">
<link rel="stylesheet" href="/stage.css">
<script type="module" src="/web/src/call-blocks.js"></script></head>
<body><main><h1>stage</h1><call-blocks></call-blocks></main></body></html>"""
_STYLE = """body { margin: 0; padding: 1rem; background: var(--canvas); color: var(--text); }
main { max-width: 46rem; margin: 0 auto; } h1 { font: 1rem var(--sans); margin: 0 0 1rem; }"""
_LISTEN = """() => {
  window.told = [];
  for (const name of ["answer", "open", "toggle"]) {
    addEventListener(`callblocks-${name}`, (event) => {
      window.told.push({ name, ...event.detail });
      if (window.prevents?.includes(name)) event.preventDefault();
    });
  }
  return customElements.whenDefined("call-blocks").then(() => true);
}"""


class Stage:
    """The element on its page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.element: Locator = page.locator("call-blocks")

    def set(self, name: str, value: Any) -> None:
        """Set a property, and draw."""
        script = "(node, [name, value]) => { node[name] = value; node.flush(); }"
        self.element.evaluate(script, [name, value])

    def show(self, parts: list[dict[str, Any]], *, live: bool = False) -> None:
        """Show parts."""
        self.element.evaluate("(node, live) => node.toggleAttribute('live', live)", live)
        self.set("parts", parts)

    def find(self, selector: str) -> Locator:
        """Nodes within the element."""
        return self.element.locator(selector)

    def told(self, name: str) -> list[dict[str, Any]]:
        """The events of a name, in their order."""
        told: list[dict[str, Any]] = self.page.evaluate("() => window.told")
        return [one for one in told if one["name"] == name]


def open_stage(page: Page) -> Stage:
    """Open the page; nothing of it comes from a network."""
    page.route(f"{ADDRESS}/**", _serve)
    page.goto(f"{ADDRESS}/stage")
    assert page.evaluate(_LISTEN)
    return Stage(page)


@cache
def _bundled() -> str:
    """All modules of the element in one, as packers make it: that is quick to load."""
    packer = PACKAGES / "esbuild" / "bin" / "esbuild"
    options = ("--bundle", "--format=esm", "--log-level=error")
    return node(packer, ROOT / _ELEMENT.lstrip("/"), *options)


def _serve(route: Route) -> None:
    path = route.request.url.removeprefix(ADDRESS)
    if path == "/stage":
        headers = {"content-security-policy": POLICY, "content-type": "text/html"}
        route.fulfill(body=_PAGE, headers=headers)
    elif path == "/stage.css":
        route.fulfill(body=_STYLE, content_type="text/css")
    elif path == _ELEMENT:
        route.fulfill(body=_bundled(), content_type="text/javascript")
    elif path == f"/web/{DIAGRAM}":
        body = (ROOT / "web" / DIAGRAM).read_bytes()
        headers = {"content-security-policy": diagram_policy(body), "content-type": "text/html"}
        route.fulfill(body=body, headers=headers)
    elif (file := ROOT / path.lstrip("/")).is_file():
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        route.fulfill(body=file.read_bytes(), content_type=kind)
    else:
        route.fulfill(status=204, body="")
