/**
 * What Markdown's nodes need before they are shown.
 *
 *     links      lead outside, tell nobody where from, and say their real address
 *     code       has the name of its language and a button that copies it
 *     formulas   are kept apart for `rich.js`
 *     footnotes  are reached from their numbers, and lead back
 *     tables     scroll in a frame of their own
 *     headings   follow each other without gaps: `###` first is a level 2
 *
 * @module
 */

import { h } from "./dom.js";
import { outsideHref, visible, visibleLine } from "./safe.js";

const COPIED_FOR = 1500;

/**
 * Finish the nodes of a block; gives the level of its last heading.
 * @param {DocumentFragment} fragment
 * @param {number} level of the heading above
 * @returns {number}
 */
export function finish(fragment, level) {
  for (const text of textsOf(fragment)) {
    const safe = visible(text.data);
    if (safe !== text.data) text.data = safe;
  }
  for (const link of fragment.querySelectorAll("a")) finishLink(link);
  for (const pre of fragment.querySelectorAll("pre:not(.formula)")) finishCode(/** @type {HTMLPreElement} */ (pre));
  for (const table of fragment.querySelectorAll("table")) finishTable(table);
  // Bullets, columns and the line of a quotation stand at the side where their words begin.
  for (const node of fragment.querySelectorAll("ul, ol, table, blockquote")) node.setAttribute("dir", "auto");
  for (const number of fragment.querySelectorAll("sup")) finishReference(number);
  for (const note of fragment.querySelectorAll("ol.footnote")) finishNote(/** @type {HTMLOListElement} */ (note));
  for (const node of fragment.querySelectorAll("[class]:not(.code, .code *, .table, .formula, .footnote, .footnote .btn, .note)")) {
    node.removeAttribute("class");
  }
  let last = level;
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    last = finishHeading(heading, last);
  }
  for (const cell of fragment.querySelectorAll("[align]")) finishCell(cell);
  return last;
}

/**
 * @param {DocumentFragment} fragment
 * @returns {Text[]}
 */
function textsOf(fragment) {
  const walker = document.createTreeWalker(fragment, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */
  const texts = [];
  while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
  return texts;
}

/** @param {HTMLAnchorElement} link */
function finishLink(link) {
  const href = outsideHref(link.getAttribute("href"));
  if (!href) {
    link.replaceWith(...link.childNodes);
    return;
  }
  const host = new URL(href).host;
  link.setAttribute("href", href);
  link.setAttribute("rel", "noopener noreferrer nofollow");
  link.setAttribute("target", "_blank");
  link.setAttribute("title", visibleLine(safeDecode(href)));
  if (namesAnother(link.textContent ?? "", host)) link.append(` (${host})`);
}

/**
 * Whether the words of a link are an address of another host than it leads to.
 * @param {string} words
 * @param {string} host
 */
function namesAnother(words, host) {
  const named = /^\s*(?:[a-z]+:\/\/)?((?:[^\s/@:]+\.)+[a-z]{2,})(?=[\s/:?#]|$)/i.exec(words)?.[1];
  if (!named || !host) return false;
  const bare = (/** @type {string} */ one) => one.toLowerCase().replace(/^www\./, "");
  return bare(named) !== bare(host.replace(/:\d+$/, ""));
}

/** @param {string} href */
function safeDecode(href) {
  try {
    return decodeURI(href);
  } catch {
    return href;
  }
}

/** @param {HTMLPreElement} pre */
function finishCode(pre) {
  const code = pre.querySelector("code");
  const language = /^language-(.+)$/.exec(code?.className ?? "")?.[1] ?? "";
  const name = visibleLine(language).slice(0, 40);
  code?.removeAttribute("class");
  const kind = name.split(/[\s,{]/, 1)[0]?.toLowerCase();
  if (code && kind) code.setAttribute("data-language", kind);
  const button = h("button", { type: "button", class: "btn copy", "data-kind": "quiet" }, "Copy");
  button.addEventListener("click", () => void copy(button, code?.textContent ?? ""));
  const box = h("div", { class: "code" });
  pre.replaceWith(box);
  box.append(h("div", { class: "code-head" }, h("span", {}, name), button), pre);
  focusable(pre, name ? `Code, ${name}` : "Code");
}

/**
 * The number of a footnote: it leads to the note, wherever that stands in the message.
 * @param {Element} number
 */
function finishReference(number) {
  const words = number.textContent ?? "";
  const button = h("button", { type: "button", class: "note", "aria-label": `Footnote ${words}` }, words);
  button.addEventListener("click", () => go(button, `.footnote[start="${Number(words)}"]`));
  number.replaceChildren(button);
}

/** @param {HTMLOListElement} note */
function finishNote(note) {
  note.tabIndex = -1;
  const words = note.getAttribute("start") ?? "";
  const back = h("button", { type: "button", class: "note", "aria-label": `Back to the text of footnote ${words}` }, "↩");
  back.addEventListener("click", () => go(back, `sup button[aria-label="Footnote ${Number(words)}"]`));
  const last = note.querySelector("li > p:last-child") ?? note.querySelector("li");
  last?.append(" ", back);
}

/**
 * @param {Element} from
 * @param {string} selector of what is gone to, in the same text
 */
function go(from, selector) {
  const to = from.closest(".prose")?.querySelector(selector);
  if (!(to instanceof HTMLElement)) return;
  to.scrollIntoView({ block: "nearest" });
  to.focus({ preventScroll: true });
}

/**
 * Copy what is shown: nothing that cannot be seen gets into the clipboard.
 * @param {HTMLButtonElement} button
 * @param {string} text
 */
async function copy(button, text) {
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = "Not copied";
  }
  button.textContent = said;
  setTimeout(() => (button.textContent = "Copy"), COPIED_FOR);
}

/** @param {HTMLTableElement} table */
function finishTable(table) {
  const box = h("div", { class: "table" });
  table.replaceWith(box);
  box.append(table);
  focusable(box, "Table");
}

/**
 * A region that may scroll can be reached by the keyboard, and has a name.
 * @param {HTMLElement} node
 * @param {string} label
 */
function focusable(node, label) {
  node.tabIndex = 0;
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", label);
}

/**
 * @param {Element} heading
 * @param {number} above
 */
function finishHeading(heading, above) {
  const depth = Number(heading.tagName.slice(1));
  const level = Math.min(depth + 1, above + 1, 6);
  const shown = document.createElement(`h${level}`);
  shown.dataset.depth = String(depth);
  shown.append(...heading.childNodes);
  heading.replaceWith(shown);
  return level;
}

/** @param {Element} cell */
function finishCell(cell) {
  const side = cell.getAttribute("align");
  cell.removeAttribute("align");
  if (side === "right") cell.className = "num";
  if (side === "center") cell.className = "mid";
}
