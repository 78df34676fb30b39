"""The style of a timeline's page: that of the chat, and a little for what stands around it.

Colours, sizes and spaces are the tokens of the chat. Nothing in it names an address.
"""

from __future__ import annotations

import re
from functools import cache

from callblocks.views.web_folder import web_folder

__all__ = ("style",)

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_AROUND = """
*, ::before, ::after { box-sizing: border-box; }
html { scrollbar-gutter: stable; -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--canvas); color: var(--text);
  font: var(--t-ui)/var(--lh-ui) var(--sans); }
h1, h2 { margin: 0; font-size: var(--t-ui); font-weight: 600; overflow-wrap: anywhere; }
.top { display: flex; flex-wrap: wrap; align-items: center; gap: var(--s-1) var(--s-3);
  min-height: 3rem; padding: var(--s-2) var(--s-6); border-bottom: 1px solid var(--line); }
.sub { color: var(--text-3); font-variant-numeric: tabular-nums; }
.talk { max-width: calc(var(--measure) + 2 * var(--s-6)); margin: 0 auto;
  padding: var(--s-8) var(--s-6) var(--s-12); }
.turn { display: grid; gap: var(--s-8); grid-template-columns: minmax(0, 1fr); }
.turn + .turn { margin-top: var(--s-12); }
.turn > h2 { margin-bottom: calc(-1 * var(--s-4)); color: var(--text-3);
  font: 500 var(--t-sm)/var(--lh-ui) var(--mono); }
.msg { display: grid; gap: var(--s-3); grid-template-columns: minmax(0, 1fr); }
.msg[data-from="user"] { justify-items: end; }
.msg[data-from="user"] > .prose { max-width: 85%; padding: var(--s-2) var(--s-4);
  border-radius: var(--r-3); background: var(--well); }
.msg > p { margin: 0; overflow-wrap: anywhere; }
.cut { color: var(--text-3); }
.prose .plain { white-space: pre-wrap; }
.call-code { padding-block: var(--s-1); border-left: 2px solid var(--line); }
.call[data-state="failed"] .call-result { color: var(--danger); }
.call-result:has(+ .call-rest[open]) { mask-image: none; }
.call-rest > summary { list-style: none; cursor: pointer; }
.call-rest > summary::-webkit-details-marker { display: none; }
.preview > div { max-height: 30rem; margin-top: var(--s-1); overflow: auto;
  padding: var(--s-3) var(--s-4); border: 1px solid var(--line); border-radius: var(--r-2); }
.preview > div > pre { margin: 0; font: var(--t-code)/var(--lh-code) var(--mono);
  font-variant-ligatures: none; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; }
.artifact-image { max-width: 100%; height: auto; border: 1px solid var(--line);
  border-radius: var(--r-2); }
@media (width < 40rem) {
  .top, .talk { padding-inline: var(--s-4); }
  .turn { gap: var(--s-6); }
  .msg[data-from="user"] > .prose { max-width: 92%; }
}
@media print { .preview > div { max-height: none; } }
"""


@cache
def style() -> str:
    """What stands in the page's only style element."""
    folder = web_folder() / "css"
    parts = (folder / "tokens.css", folder / "blocks.css")
    sheets = "".join(part.read_text("utf-8") for part in parts)
    return _COMMENT.sub("", sheets) + _AROUND
