/**
 * What people and models say: Markdown, with a cursor at its end while more is to come.
 *
 * @module
 */

import { h, set } from "../dom.js";
import { MarkdownView } from "../markdown.js";

/** @typedef {import("../types.js").Prose} Prose */

// So many blocks are laid out only where they are seen.
const LONG = 100;
const BLOCKS = "p, ul, ol, li, blockquote, h2, h3, h4, h5, h6, .code, pre, pre > code";

const cursorNode = () => h("span", { class: "cursor", "aria-hidden": "true" });

/** The cursor alone, where the next words will stand. */
export function cursorView() {
  return { node: h("p", { class: "prose" }, cursorNode()), update() {} };
}

/** @returns {import("../dom.js").View<Prose>} */
export function proseView() {
  const text = new MarkdownView();
  const cursor = cursorNode();
  // Where a text ends that its model had not finished.
  const end = h("span", { class: "kept" });
  return {
    node: text.node,
    update(prose) {
      cursor.remove();
      text.update(prose.text, { live: prose.live });
      set(text.node, "data-long", text.node.childElementCount > LONG);
      set(text.node, "aria-live", prose.live ? "polite" : null);
      if (prose.live) lastLine(text.node).append(cursor);
      if (!prose.kept) end.remove();
      else if (!end.isConnected) lastLine(text.node).append(end);
    },
  };
}

/**
 * Where the last letter stands.
 * @param {HTMLElement} node
 * @returns {Element}
 */
function lastLine(node) {
  let at = /** @type {Element} */ (node);
  for (let next = lastOf(at); next; next = lastOf(at)) at = next;
  return at;
}

/** @param {Element} node */
function lastOf(node) {
  const last = node.lastElementChild;
  const behind = last?.nextSibling?.textContent ?? "";
  return last?.matches(BLOCKS) && !behind.trim() ? last : null;
}
