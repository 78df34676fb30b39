"""The style of a timeline's page: light and dark, wide and narrow, on paper too.

Colours, sizes and spaces are tokens, named once at the top.
"""

from __future__ import annotations

__all__ = ("STYLE",)

STYLE = """
:root {
  color-scheme: light dark;
  --canvas: light-dark(#ffffff, #111415); --sunken: light-dark(#f5f6f6, #0c0e0f);
  --block: light-dark(#f9fafa, #15191a); --raised: light-dark(#ffffff, #191d1f);
  --hover: light-dark(#eceeee, #1f2426); --well: light-dark(#e9ecec, #22282a);
  --line: light-dark(#e2e5e5, #262c2e); --control: light-dark(#7d8688, #6b7578);
  --text: light-dark(#14181a, #e9eded); --text-2: light-dark(#475053, #aeb8ba);
  --text-3: light-dark(#5f696c, #8d989b); --accent: light-dark(#0a6670, #63c5ce);
  --danger: light-dark(#b0241c, #ff9288); --warn: light-dark(#855000, #e9b357);
  --s-1: .25rem; --s-2: .5rem; --s-3: .75rem; --s-4: 1rem; --s-6: 1.5rem; --s-8: 2rem;
  --sans: -apple-system, "Segoe UI", Inter, Roboto, "Noto Sans", system-ui, sans-serif,
    "Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji";
  --mono: "SF Mono", SFMono-Regular, "Cascadia Mono", "JetBrains Mono", Menlo, Consolas,
    "DejaVu Sans Mono", monospace, "Apple Color Emoji", "Segoe UI Emoji", "Noto Color Emoji";
  --t-sm: .75rem; --t-code: .78125rem; --t-ui: .8125rem; --t-prose: .9375rem;
  --lh-code: 1.25rem; --lh-ui: 1.25rem; --lh-prose: 1.5rem;
  --r-2: 6px; --r-3: 10px; --measure: 46rem;
}
@media (prefers-contrast: more) {
  :root { --line: var(--control); --text-2: var(--text); --text-3: var(--text); }
}
*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--canvas); color: var(--text);
  font: var(--t-ui)/var(--lh-ui) var(--sans); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h1, h2 { margin: 0; font-size: var(--t-ui); font-weight: 600; overflow-wrap: anywhere; }
.top { display: flex; flex-wrap: wrap; gap: var(--s-1) var(--s-3); padding: var(--s-3) var(--s-6);
  border-bottom: 1px solid var(--line); }
.sub { color: var(--text-3); font-variant-numeric: tabular-nums; }
.talk { max-width: calc(var(--measure) + 2 * var(--s-6)); margin: 0 auto;
  padding: var(--s-8) var(--s-6); }
.turn { display: grid; gap: var(--s-4); grid-template-columns: minmax(0, 1fr); }
.turn + .turn { margin-top: var(--s-8); }
.turn > h2 { color: var(--text-3); font: 500 var(--t-sm)/var(--lh-ui) var(--mono); }
.msg { display: grid; gap: var(--s-3); grid-template-columns: minmax(0, 1fr); }
.prose { margin: 0; font: var(--t-prose)/var(--lh-prose) var(--sans); white-space: pre-wrap;
  overflow-wrap: anywhere; unicode-bidi: plaintext; }
.msg[data-from="user"] .prose { justify-self: end; max-width: 85%; border-radius: var(--r-3);
  padding: var(--s-2) var(--s-4); background: var(--well); }
.batch { overflow: clip; border: 1px solid var(--line); border-radius: var(--r-3);
  background: var(--block); }
.batch > summary { display: flex; align-items: center; gap: var(--s-2); min-height: 2.25rem;
  padding: var(--s-2) var(--s-3); list-style: none; cursor: pointer; border-radius: var(--r-3); }
.batch > summary::-webkit-details-marker { display: none; }
.batch > summary:hover { background: var(--hover); }
.batch > summary:focus-visible { outline-offset: -2px; }
.batch-icon { flex: none; width: 1.25rem; text-align: center; }
.batch-label { min-width: 0; font-weight: 550; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
.batch-label code { font: inherit; font-family: var(--mono); font-size: var(--t-code); }
.batch-failed { color: var(--danger); }
.batch-toggle { display: inline-grid; flex: none; color: var(--text-3); }
.batch-toggle > * { grid-area: 1 / 1; }
details[open] > summary .when-closed, details:not([open]) > summary .when-open
  { visibility: hidden; }
.calls { display: grid; gap: var(--s-2); grid-template-columns: minmax(0, 1fr); margin: 0;
  padding: var(--s-1) var(--s-3) var(--s-3) calc(var(--s-3) + 1.25rem + var(--s-2));
  list-style: none; }
.call-line { margin: 0; padding-left: 2ch; text-indent: -2ch; color: var(--text-2);
  overflow-wrap: anywhere; }
.call-name { color: var(--text); font-weight: 600; }
.call-arrow { color: var(--text-3); }
.call-out { color: var(--text); }
.call[data-state="failed"] .call-out, .call[data-state="failed"] .call-result
  { color: var(--danger); }
.call-result { max-height: 30rem; margin: var(--s-1) 0 0; padding-left: 2ch; overflow: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; unicode-bidi: plaintext; }
.call-code { padding: var(--s-2) 2ch; border-radius: var(--r-2); background: var(--sunken); }
.notice { margin: 0; padding-left: 2ch; color: var(--warn); overflow-wrap: anywhere; }
.artifact { margin: var(--s-1) 0 0; padding: var(--s-3); border: 1px solid var(--line);
  border-radius: var(--r-3); background: var(--raised); }
.artifact-path { color: var(--text-3); overflow-wrap: anywhere; }
.artifact img { display: block; max-width: 100%; height: auto; margin-top: var(--s-2); }
.lost, .ended { margin: 0; color: var(--danger); overflow-wrap: anywhere; }
.member { margin: 0; font-weight: 600; }
.cut { margin: 0; color: var(--text-3); }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.calls, .call-result, .artifact-path
  { font: var(--t-code)/var(--lh-code) var(--mono); font-variant-ligatures: none; }
@media (width < 40rem) {
  .top, .talk { padding-inline: var(--s-4); }
  .batch > summary { min-height: 2.75rem; }
  .calls { padding-left: var(--s-3); }
  .msg[data-from="user"] .prose { max-width: 92%; }
}
@media (forced-colors: active) { .batch { border-color: CanvasText; } }
@media print { .call-result { max-height: none; } }
"""
"""What stands in the page's only style element."""
